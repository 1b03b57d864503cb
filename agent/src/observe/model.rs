//! What the guest has, at one moment.
//!
//! `inspect --json` prints it and the planner's cases read it: a state seen on a real machine
//! becomes a case as it is.

use std::collections::BTreeMap;
use std::ops::Not;

use device_attributes::{InterfaceAddress, MacAddress, NodeId, PciAddress};
use serde::{Deserialize, Serialize};

use super::ipv6_settings::Ipv6Settings;
use super::pinning::Pinning;
use crate::journal::Ledger;
use crate::routing::{Route, RoutingRule};

/// What the guest has, at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Observation {
    /// Every network interface but `lo`, by index.
    pub interfaces: Vec<Interface>,
    /// The addresses of the loopback interface, but for those that every one has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loopback_addresses: Vec<InterfaceAddress>,
    /// The PCI functions that were asked about; one that the guest does not have is absent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub pci_functions: BTreeMap<PciAddress, PciFunction>,
    /// The routes that were asked about, in the kernel's order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<Route>,
    /// The policy rules that a policy could name, in the kernel's order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RoutingRule>,
    /// The sysctl `net.ipv4.conf.all.rp_filter`, where it was asked about: the kernel takes the
    /// greater of it and the interface's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rp_filter_of_all: Option<u32>,
    /// Whether the kernel has refused an alternative name because it has none; the look at it does not tell.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub without_alternative_names: bool,
    /// What pinning needs, where it was asked about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pinning: Option<Pinning>,
    /// What the agent has changed since the machine came up and not changed back, by its journal; the
    /// look at the kernel leaves it empty.
    #[serde(default, skip_serializing_if = "Ledger::is_empty")]
    pub journal: Ledger,
}

impl Observation {
    /// The interface of an index.
    pub fn interface(&self, index: u32) -> Option<&Interface> {
        // They are in that order, but for those of a file that somebody wrote.
        let place = self.interfaces.binary_search_by_key(&index, |it| it.index);
        let found = place.ok().and_then(|place| self.interfaces.get(place));
        found.or_else(|| self.interfaces.iter().find(|it| it.index == index))
    }
}

/// One network interface, as the kernel describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Interface {
    /// The kernel's index, which outlives a rename.
    pub index: u32,
    /// The current name.
    pub name: String,
    /// Further names (`IFLA_ALT_IFNAME`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alternative_names: Vec<String>,
    /// `IFLA_INFO_KIND` (`bond`, `bridge`, `veth`, …); absent for hardware.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The index of the bond, bridge or other controller that it belongs to (`IFLA_MASTER`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controller: Option<u32>,
    /// The routing table of a VRF, where its members' routes are (`IFLA_VRF_TABLE`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vrf_table: Option<u32>,
    /// The index of the interface that it is made on (`IFLA_LINK`): a VLAN's, a macvlan's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lower: Option<u32>,
    /// The current MAC address; absent when it is zero or not 48 bits long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac_address: Option<MacAddress>,
    /// The MAC address that the hardware was made with (`IFLA_PERM_ADDRESS`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permanent_mac_address: Option<MacAddress>,
    /// The MAC address that a bond's port had before it joined (`IFLA_BOND_SLAVE_PERM_HWADDR`): the current one may be
    /// the bond's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac_address_before_bond: Option<MacAddress>,
    /// The PCI function it sits on, directly or through virtio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pci_address: Option<PciAddress>,
    /// The guest's NUMA node of that function; absent when the kernel says -1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numa_node: Option<NodeId>,
    /// Whether it is administratively up (`IFF_UP`).
    pub up: bool,
    /// Whether it has a carrier. Without one, duplicate address detection does not begin.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub carrier: bool,
    /// In bytes.
    pub mtu: u32,
    /// The smallest MTU the device takes; absent when it has no bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_mtu: Option<u32>,
    /// The largest MTU the device takes; absent when it has no bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_mtu: Option<u32>,
    /// Whether it can have IPv6 addresses; absent when it can.
    #[serde(default, skip_serializing_if = "is_enabled")]
    pub ipv6: Ipv6,
    /// The sysctl `net.ipv4.conf.NAME.rp_filter`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rp_filter: Option<u32>,
    /// The sysctl `net.ipv6.conf.NAME.accept_ra`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accept_ra: Option<u32>,
    /// All that its IPv6 is set to, where it was asked about and the interface has IPv6.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipv6_settings: Option<Ipv6Settings>,
    /// Its addresses, in the kernel's order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<InterfaceAddress>,
    /// Those of its addresses that duplicate address detection (RFC 4862) has not come to an end with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tentative_addresses: Vec<InterfaceAddress>,
    /// Addresses that it was given and cannot use, since another host of the link has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub duplicate_addresses: Vec<InterfaceAddress>,
}

/// Whether an interface can have IPv6 addresses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Ipv6 {
    /// It can.
    #[default]
    Enabled,
    /// The sysctl `net.ipv6.conf.NAME.disable_ipv6` is set.
    Disabled,
    /// Its MTU is below 1280 bytes, with which the kernel takes IPv6 from it (RFC 8200, section 5).
    BelowMinimumMtu,
    /// The kernel has no IPv6, or was started with `ipv6.disable=1`.
    NotInKernel,
}

// serde hands out references.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_enabled(ipv6: &Ipv6) -> bool {
    *ipv6 == Ipv6::Enabled
}

/// A PCI function, with or without a network interface.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PciFunction {
    /// The driver it is bound to; absent when unbound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// The guest's NUMA node; absent when the kernel says -1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numa_node: Option<NodeId>,
}
