//! What is wanted of each device: the document's word, then the policy's over it.

use device_attributes::{
    Device, DeviceIdentity, Document, InterfaceAddress, InterfaceName, MacAddress, PciAddress,
};

use crate::policy::{Coexistence, Policy};

/// What is wanted of one device.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The device, in the host's terms.
    pub identity: DeviceIdentity,
    /// The MAC address that names it in the guest.
    pub mac_address: Option<MacAddress>,
    /// The PCI address that names it in the guest. Never the host's.
    pub guest_pci_address: Option<PciAddress>,
    /// The interface's name.
    pub name: Option<InterfaceName>,
    /// The interface's MTU, in bytes.
    pub mtu: Option<u32>,
    /// The addresses that it must have; it may have others.
    pub addresses: Vec<InterfaceAddress>,
    /// It is found and reported, and left as it is.
    pub hands_off: bool,
    /// The agent as a whole can be ready without it.
    pub optional: bool,
    /// Who has it when a network manager is there for it.
    pub coexistence: Coexistence,
}

impl Wanted {
    /// Whether a network interface is wanted, not merely a device.
    pub fn is_network(&self) -> bool {
        self.mac_address.is_some()
            || self.name.is_some()
            || self.mtu.is_some()
            || !self.addresses.is_empty()
    }
}

/// What is wanted of the document's devices, in the document's order.
pub fn wanted(document: &Document, policy: &Policy) -> Vec<Wanted> {
    document
        .devices
        .iter()
        .map(|device| wanted_of(device, policy))
        .collect()
}

fn wanted_of(device: &Device, policy: &Policy) -> Wanted {
    let identity = device.identity();
    let rule = policy.rule_for(&identity);
    let found_by = Wanted {
        mac_address: device.network.mac_address,
        guest_pci_address: device.guest.pci_address,
        optional: !rule.is_required(),
        coexistence: rule.coexist.unwrap_or_default(),
        ..Wanted::default()
    };
    if !rule.is_managed() {
        return Wanted {
            hands_off: true,
            identity,
            ..found_by
        };
    }
    Wanted {
        name: rule
            .rename
            .or_else(|| device.network.interface_name.clone()),
        mtu: rule.mtu,
        addresses: rule
            .addresses
            .unwrap_or_else(|| device.network.ip_addresses.clone()),
        identity,
        ..found_by
    }
}

/// The PCI functions that the observation must look at for these devices.
pub fn functions(wanted: &[Wanted]) -> Vec<PciAddress> {
    wanted
        .iter()
        .filter_map(|wanted| wanted.guest_pci_address)
        .collect()
}
