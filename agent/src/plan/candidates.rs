//! The interfaces that can be a device, by the addresses that they are known by.

use std::collections::{BTreeMap, BTreeSet};

use device_attributes::{MacAddress, PciAddress};

use crate::observe::{Interface, Observation};

/// The interfaces that can be a device, each list in the order of the observation.
#[derive(Debug)]
pub(super) struct Candidates<'a> {
    permanent: BTreeMap<MacAddress, Vec<&'a Interface>>,
    current: BTreeMap<MacAddress, Vec<&'a Interface>>,
    functions: BTreeMap<PciAddress, Vec<&'a Interface>>,
}

impl<'a> Candidates<'a> {
    /// Hardware, or the guest's end of a virtual Ethernet pair. A bond, a bridge or a VLAN carries
    /// the MAC of the device below it, and so does the controller that `net_failover` makes.
    pub(super) fn of(observation: &'a Observation) -> Self {
        let interfaces = observation.interfaces.iter();
        let controllers: BTreeSet<u32> = interfaces.filter_map(|it| it.controller).collect();
        let mut candidates = Self {
            permanent: BTreeMap::new(),
            current: BTreeMap::new(),
            functions: BTreeMap::new(),
        };
        for interface in &observation.interfaces {
            let kind_fits = matches!(interface.kind.as_deref(), None | Some("veth"));
            if !kind_fits || controllers.contains(&interface.index) {
                continue;
            }
            if let Some(mac) = interface.permanent_mac_address {
                candidates.permanent.entry(mac).or_default().push(interface);
            }
            // A bond gives its ports its own, and later each its own again.
            let current = interface.mac_address_before_bond.or(interface.mac_address);
            if let Some(mac) = current {
                candidates.current.entry(mac).or_default().push(interface);
            }
            if let Some(address) = interface.pci_address {
                candidates
                    .functions
                    .entry(address)
                    .or_default()
                    .push(interface);
            }
        }
        candidates
    }

    /// Those with this MAC: those that were made with it, else those that have it now, or had before a bond gave them its
    /// own.
    ///
    /// Where hardware and a virtual Ethernet pair both answer, the hardware is meant.
    pub(super) fn with_mac(&self, mac: MacAddress) -> Vec<&'a Interface> {
        let hits = self.permanent.get(&mac).or_else(|| self.current.get(&mac));
        let mut hits = hits.cloned().unwrap_or_default();
        if hits.iter().any(|interface| interface.kind.is_none()) {
            hits.retain(|interface| interface.kind.is_none());
        }
        hits
    }

    /// Those on this PCI function.
    pub(super) fn on_function(&self, address: PciAddress) -> &[&'a Interface] {
        self.functions.get(&address).map_or(&[], Vec::as_slice)
    }
}
