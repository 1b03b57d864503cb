//! What the status says of where a device is.

use crate::exit::{Ended, Exit};
use crate::numa::{By, CpuList, NodeList};
use crate::report::{DeviceStatus, LocalityStatus, Status};
use crate::roots::Roots;

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

/// The status that the service or an `apply` has written.
pub(super) fn status(roots: &Roots) -> Result<Status, Ended> {
    let none = |message: String| Ended {
        exit: Exit::NoAttributes,
        message,
    };
    let status = Status::read(roots).map_err(Ended::failed)?.ok_or_else(|| {
        let path = Status::path(roots);
        none(format!(
            "there is no {}: the agent has not run yet",
            path.display()
        ))
    })?;
    match status.problem {
        Some(problem) if status.document_digest.is_none() => Err(none(problem)),
        _ => Ok(status),
    }
}

/// Where the device is.
///
/// # Errors
/// With why it is nowhere in the guest.
pub(super) fn near(device: &DeviceStatus) -> Result<Near, String> {
    let report = &device.report;
    if report.interface_name.is_none() && report.guest_pci_address.is_none() {
        return Err(format!("{}: {}", report.reason, report.message));
    }
    match &device.locality {
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
