//! Where the document's devices are. Of the guest's topology as little is read as answers that: a pass
//! looks at it each time.

use std::cell::OnceCell;
use std::path::Path;

use device_attributes::{Document, NodeId, PciAddress};

use super::topology::online_nodes;
use super::{Clues, CpuList, HostToGuest, Locality, NodeList, NotThere, Topology, locality};
use crate::policy::HostNodes;
use crate::small_file;

/// What one pass knows of it.
#[derive(Debug)]
pub struct Places<'a> {
    sys: &'a Path,
    document: &'a Document,
    host_nodes: &'a HostNodes,
    online: OnceCell<NodeList>,
    topology: OnceCell<Topology>,
    map: OnceCell<HostToGuest>,
}

impl<'a> Places<'a> {
    /// Nothing is looked at yet.
    pub fn new(sys: &'a Path, document: &'a Document, host_nodes: &'a HostNodes) -> Self {
        Self {
            sys,
            document,
            host_nodes,
            online: OnceCell::new(),
            topology: OnceCell::new(),
            map: OnceCell::new(),
        }
    }

    /// The guest's CPUs and nodes.
    pub fn topology(&self) -> &Topology {
        self.topology.get_or_init(|| Topology::read(self.sys))
    }

    /// Where the device at `place` in the document is, that was found at `address` with `sysfs_node`.
    ///
    /// # Errors
    /// When what answers names a node or CPUs that the guest does not have.
    pub fn of(
        &self,
        place: usize,
        address: Option<PciAddress>,
        sysfs_node: Option<NodeId>,
    ) -> Result<Locality, NotThere> {
        let device = self.document.devices.get(place);
        let clues = Clues {
            sysfs_node,
            ..device.map(Clues::of_document).unwrap_or_default()
        };
        let online = self.online.get_or_init(|| online_nodes(self.sys));
        // What sysfs says needs no check.
        let has_claim = clues.guest_node.is_some() || !clues.aligned_cpus.is_empty();
        if online.len() < 2 && (sysfs_node.is_some() || !has_claim) {
            return Ok(Locality::Everywhere);
        }
        let local_cpus = (sysfs_node, address);
        let local_cpus = match local_cpus {
            (None, Some(address)) => local_cpus_of(self.sys, address),
            _ => None,
        };
        let clues = Clues {
            local_cpus,
            ..clues
        };
        let map = self
            .map
            .get_or_init(|| HostToGuest::new(self.host_nodes, self.document));
        locality(&clues, map, self.topology())
    }
}

/// `local_cpulist` of a PCI function (`Documentation/ABI/testing/sysfs-bus-pci`).
fn local_cpus_of(sys: &Path, address: PciAddress) -> Option<CpuList> {
    let path = sys.join(format!("bus/pci/devices/{address}/local_cpulist"));
    let bytes = small_file::read(&path).ok()?;
    std::str::from_utf8(&bytes).ok()?.parse().ok()
}
