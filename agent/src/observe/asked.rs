//! What a look at the kernel is to show.

use std::collections::BTreeSet;

use device_attributes::{MacAddress, PciAddress};

use super::Interface;
use crate::netlink::Routes;

/// What a look is to show beside the interfaces, their addresses and the rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// These PCI functions.
    pub functions: Vec<PciAddress>,
    /// These routes. All are needed where some are wanted; else those that were wanted before.
    pub routes: Routes,
    /// Whether it is to show [`super::Observation::rp_filter_of_all`].
    pub rp_filter: bool,
    /// The interfaces whose IPv6 settings it is to show, and with them those that are made on them.
    pub ipv6_settings: Vec<About>,
    /// The devices whose interrupts and queues it is to show.
    pub pinned: Vec<About>,
    /// Interrupts that the kernel has refused to move: those that it manages are not known before Linux
    /// 6.8 (`irqbalance(1)` learned it the same way).
    pub unmovable: BTreeSet<u32>,
}

impl Asked {
    /// All that the kernel tells; no PCI function.
    pub fn all() -> Self {
        Self {
            functions: Vec::new(),
            routes: Routes::All,
            rp_filter: true,
            ipv6_settings: Vec::new(),
            pinned: Vec::new(),
            unmovable: BTreeSet::new(),
        }
    }
}

/// A device that more is asked about than of every one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum About {
    /// The interface with this MAC address.
    Mac(MacAddress),
    /// The PCI function, and an interface on it.
    Function(PciAddress),
    /// The interface of this index.
    Interface(u32),
}

impl About {
    /// Whether it may be this interface.
    pub fn is(&self, interface: &Interface) -> bool {
        match self {
            Self::Mac(mac) => {
                [interface.permanent_mac_address, interface.mac_address].contains(&Some(*mac))
            }
            Self::Function(address) => interface.pci_address == Some(*address),
            Self::Interface(index) => interface.index == *index,
        }
    }
}
