//! What is wanted of each device: the document's word, then the policy's over it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use device_attributes::read::{Form, Reading};
use device_attributes::{
    Device, DeviceIdentity, InterfaceAddress, InterfaceName, MacAddress, PciAddress,
};

use super::PinningWanted;
use crate::netlink::Routes;
use crate::numa::{Clues, HostToGuest};
use crate::observe::{About, Asked, IPV6_LEAST_MTU, Interface};
use crate::policy::{
    AlternativeName, Coexistence, PinTarget, Policy, ReversePathFilter, Route, RouterAnnouncements,
    RoutingRule, Rule,
};

/// What is wanted of one device.
#[allow(clippy::struct_excessive_bools, reason = "each is a key of the policy")]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The device, in the host's terms.
    pub identity: DeviceIdentity,
    /// The MAC address that names it in the guest.
    pub mac_address: Option<MacAddress>,
    /// The PCI address that names it in the guest. Never the host's.
    pub guest_pci_address: Option<PciAddress>,
    /// Whether the interface at the PCI address is given the MAC address.
    pub set_mac: bool,
    /// It is found and reported, and left as it is.
    pub hands_off: bool,
    /// The document has entries that cannot be used: what is no device's may be that of one of them.
    pub is_beside_broken: bool,
    /// The agent as a whole can be ready without it.
    pub optional: bool,
    /// Who has it when a network manager is there for it.
    pub coexistence: Coexistence,
    /// The interface's name.
    pub name: Option<InterfaceName>,
    /// Further names that it must have; it may have others.
    pub alternative_names: Vec<AlternativeName>,
    /// The interface's MTU, in bytes.
    pub mtu: Option<u32>,
    /// The addresses that it must have; it may have others.
    pub addresses: Vec<InterfaceAddress>,
    /// The routes through it.
    pub routes: Vec<Route>,
    /// The policy rules that come with it.
    pub rules: Vec<RoutingRule>,
    /// Whether what is sent from its addresses leaves through it.
    pub source_routing: bool,
    /// `net.ipv4.conf.NAME.rp_filter`.
    pub rp_filter: Option<ReversePathFilter>,
    /// `net.ipv6.conf.NAME.accept_ra`.
    pub accept_ra: Option<RouterAnnouncements>,
    /// What is wanted of what serves it.
    pub pinning: PinningWanted,
    /// What the document says of where it is.
    pub clues: Clues,
    /// Which nodes of the guest the host's are.
    pub host_to_guest: Arc<HostToGuest>,
    /// Who works with it, and is to run near it.
    pub pin: Vec<PinTarget>,
    /// Where each wish stands, by the policy's name of it.
    pub sources: BTreeMap<&'static str, String>,
}

impl Wanted {
    /// Whether it is left to a network manager that is there for it.
    pub fn is_yielding(&self) -> bool {
        self.coexistence == Coexistence::Leave
    }

    /// Whether routes or policy rules are wanted of it.
    pub fn has_routing(&self) -> bool {
        self.source_routing || !self.routes.is_empty() || !self.rules.is_empty()
    }

    /// Whether sysctls are wanted of it.
    pub fn has_sysctls(&self) -> bool {
        !self.hands_off && (self.rp_filter.is_some() || self.accept_ra.is_some())
    }

    /// What may be looked at of it, more than of every one.
    fn abouts(&self) -> impl Iterator<Item = About> {
        let mac = self.mac_address.map(About::Mac);
        let function = self.guest_pci_address.map(About::Function);
        mac.into_iter().chain(function)
    }

    /// Whether it may be this interface.
    pub(super) fn is_about(&self, interface: &Interface) -> bool {
        self.abouts().any(|about| about.is(interface))
    }

    /// Whether a network interface is wanted, not merely a device.
    pub fn is_network(&self) -> bool {
        self.mac_address.is_some()
            || self.name.is_some()
            || !self.alternative_names.is_empty()
            || self.mtu.is_some()
            || !self.addresses.is_empty()
            || !self.routes.is_empty()
    }
}

/// What is wanted of the devices that were read, in the document's order.
pub fn wanted(reading: &Reading, policy: &Policy) -> Vec<Wanted> {
    // A config drive says which devices there are, and nothing of their network: to take one from the network manager
    // that has it would leave it without an address.
    let coexistence = match reading.form {
        Form::ConfigDrive => Coexistence::Leave,
        Form::Document | Form::Stream | Form::Flat => Coexistence::HandOver,
    };
    let document = &reading.document;
    let map = Arc::new(HostToGuest::new(policy.host_nodes(), document));
    document
        .devices
        .iter()
        .map(|device| wanted_of(device, policy, coexistence, &map))
        .map(|wanted| Wanted {
            is_beside_broken: !reading.rejected.is_empty(),
            ..wanted
        })
        .collect()
}

fn wanted_of(
    device: &Device,
    policy: &Policy,
    coexistence: Coexistence,
    map: &Arc<HostToGuest>,
) -> Wanted {
    let identity = device.identity();
    let rule = policy.rule_for(&identity);
    let network = &device.network;
    Wanted {
        sources: sources(device, &rule),
        hands_off: !rule.is_managed(),
        optional: !rule.is_required(),
        coexistence: rule.coexist.unwrap_or(coexistence),
        mac_address: network.mac_address,
        guest_pci_address: device.guest.pci_address,
        set_mac: rule.set_mac.unwrap_or_default(),
        name: rule.rename.or_else(|| network.interface_name.clone()),
        alternative_names: rule.alternative_names.unwrap_or_default(),
        mtu: rule.mtu,
        addresses: rule
            .addresses
            .unwrap_or_else(|| network.ip_addresses.clone()),
        routes: rule.routes.unwrap_or_default(),
        rules: rule.rules.unwrap_or_default(),
        source_routing: rule.source_routing.unwrap_or_default(),
        rp_filter: rule.rp_filter,
        accept_ra: rule.accept_ra,
        pinning: PinningWanted {
            interrupts: rule.irq.unwrap_or_default(),
            queues: rule.queues.unwrap_or_default(),
            xps: rule.xps.unwrap_or_default(),
            rps: rule.rps.unwrap_or_default(),
            rfs: rule.rfs,
        },
        clues: Clues::of_document(device),
        host_to_guest: map.clone(),
        pin: rule.pin.unwrap_or_default(),
        identity,
        ..Wanted::default()
    }
}

/// The policy's place, or the attribute's name where the policy says nothing.
fn sources(device: &Device, rule: &Rule) -> BTreeMap<&'static str, String> {
    let network = &device.network;
    let mut sources = BTreeMap::new();
    for (key, is_there, attribute) in [
        (
            "rename",
            network.interface_name.is_some(),
            "network.interfaceName",
        ),
        (
            "addresses",
            !network.ip_addresses.is_empty(),
            "network.ipAddresses",
        ),
    ] {
        if is_there {
            sources.insert(key, format!("attribute {attribute}"));
        }
    }
    let places = rule.places.iter();
    sources.extend(places.map(|(key, place)| (*key, place.to_string())));
    sources
}

/// What the observation must show for these devices.
pub fn asked(wanted: &[Wanted]) -> Asked {
    let managed = || wanted.iter().filter(|wanted| !wanted.hands_off);
    let has_routing = |wanted: &Wanted| wanted.source_routing || !wanted.routes.is_empty();
    let takes_ipv6 = |wanted: &Wanted| wanted.mtu.is_some_and(|mtu| mtu < IPV6_LEAST_MTU);
    Asked {
        functions: wanted
            .iter()
            .filter_map(|wanted| wanted.guest_pci_address)
            .collect(),
        routes: if managed().any(has_routing) || managed().any(takes_ipv6) {
            Routes::All
        } else {
            Routes::Own
        },
        rp_filter: managed().any(|wanted| wanted.rp_filter.is_some()),
        ipv6_settings: managed()
            .filter(|wanted| takes_ipv6(wanted))
            .flat_map(Wanted::abouts)
            .collect(),
        pinned: managed()
            .filter(|wanted| wanted.pinning.is_any())
            .flat_map(Wanted::abouts)
            .collect(),
        unmovable: BTreeSet::new(),
    }
}
