//! What the status says of where a device is.

use crate::numa::{By, CpuList, NodeList};
use crate::report::{LocalityStatus, Whereabouts};

/// What is near a device.
pub(super) enum Near {
    /// Nodes, and the CPUs where those are not all that the nodes have.
    Nodes {
        nodes: NodeList,
        cpus: Option<CpuList>,
    },
    /// All that the guest has.
    Everywhere,
    /// Nothing says, and why.
    Unknown(String),
}

/// Where the device is.
///
/// # Errors
/// With why it is nowhere in the guest.
pub(super) fn near(device: &impl Whereabouts) -> Result<Near, String> {
    if device.interface_name().is_none() && device.guest_pci_address().is_none() {
        let (reason, message) = device.outcome();
        return Err(format!("{reason}: {message}"));
    }
    match device.locality() {
        None => Ok(Near::Everywhere),
        Some(LocalityStatus::Near(near)) => Ok(Near::Nodes {
            nodes: near.nodes.clone(),
            // Those of nodes are read anew: CPUs come and go.
            cpus: matches!(near.by, By::LocalCpus | By::AlignedCpus).then(|| near.cpus.clone()),
        }),
        Some(LocalityStatus::Unknown(why)) => Ok(Near::Unknown(why.clone())),
        Some(LocalityStatus::NotThere(why)) => Err(why.clone()),
    }
}
