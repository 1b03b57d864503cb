//! A network interface, as `RTM_NEWLINK` describes it.

use rtnetlink::packet_core::DecodeError;
use rtnetlink::packet_route::link::{LinkFlags, LinkHeader};

use super::attribute::{attributes, nested, nested_text, number, number_at};

/// `struct ifinfomsg`.
const HEADER_BYTES: usize = 16;

// Attributes: include/uapi/linux/if_link.h.
const IFLA_ADDRESS: u16 = 1;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_LINK: u16 = 5;
const IFLA_MASTER: u16 = 10;
const IFLA_LINKINFO: u16 = 18;
const IFLA_AF_SPEC: u16 = 26;
const IFLA_LINK_NETNSID: u16 = 37;
const IFLA_MIN_MTU: u16 = 50;
const IFLA_MAX_MTU: u16 = 51;
const IFLA_PROP_LIST: u16 = 52;
const IFLA_ALT_IFNAME: u16 = 53;
const IFLA_PERM_ADDRESS: u16 = 54;
const IFLA_PARENT_DEV_NAME: u16 = 56;
const IFLA_PARENT_DEV_BUS_NAME: u16 = 57;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const IFLA_INFO_SLAVE_KIND: u16 = 4;
const IFLA_INFO_SLAVE_DATA: u16 = 5;
const IFLA_VRF_TABLE: u16 = 1;
const IFLA_BOND_SLAVE_PERM_HWADDR: u16 = 4;
const IFLA_INET_CONF: u16 = 1;
const IFLA_INET6_CONF: u16 = 2;

// Address families: include/linux/socket.h.
const AF_INET: u16 = 2;
const AF_INET6: u16 = 10;

// Places in the arrays of sysctls: `IPV4_DEVCONF_RP_FILTER`, which counts from 1
// (include/uapi/linux/ip.h), and `DEVCONF_…` (include/uapi/linux/ipv6.h).
const RP_FILTER: usize = 7;
const ACCEPT_RA: usize = 3;
const DISABLE_IPV6: usize = 26;

/// A network interface.
///
/// Only what the agent uses is read. An attribute that cannot be read is passed over: what a driver
/// says of its queues or virtual functions must not hide its interface.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Link {
    /// The kernel's index.
    pub index: u32,
    /// The name; bytes that are no UTF-8 are replaced.
    pub name: String,
    /// Further names.
    pub alternative_names: Vec<String>,
    /// `IFLA_INFO_KIND`; absent for hardware.
    pub kind: Option<String>,
    /// The index of the bond, bridge or other controller that it belongs to.
    pub controller: Option<u32>,
    /// The routing table of a VRF.
    pub vrf_table: Option<u32>,
    /// The hardware address that a bond's port had before it joined, and gets back; empty for another.
    pub address_before_bond: Vec<u8>,
    /// The hardware address as it is; empty when there is none.
    pub address: Vec<u8>,
    /// The hardware address that it was made with; empty when the driver does not say.
    pub permanent_address: Vec<u8>,
    /// The name of the device that it sits on (`0000:81:00.0`, `virtio2`); since Linux 5.14.
    pub parent: Option<String>,
    /// The bus of that device (`pci`, `virtio`, `usb`); since Linux 5.14.
    pub parent_bus: Option<String>,
    /// The index of the interface that it is made on, where that is in the same namespace; the peer
    /// of a veth.
    pub lower: Option<u32>,
    /// Administratively up.
    pub up: bool,
    /// Whether it has a carrier (`IFF_LOWER_UP`).
    pub carrier: bool,
    /// The loopback interface, whatever its name.
    pub loopback: bool,
    /// In bytes.
    pub mtu: u32,
    /// The smallest MTU; 0 when there is no bound.
    pub min_mtu: u32,
    /// The largest MTU; 0 when there is no bound.
    pub max_mtu: u32,
    /// The sysctl `net.ipv4.conf.NAME.rp_filter`.
    pub rp_filter: Option<u32>,
    /// What IPv6 is set to; absent where the kernel has none for this interface.
    pub ipv6: Option<Ipv6Settings>,
}

/// The sysctls of `net.ipv6.conf.NAME` that matter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ipv6Settings {
    /// `disable_ipv6`.
    pub disabled: bool,
    /// `accept_ra`.
    pub accept_ra: Option<u32>,
}

impl Link {
    /// Reads the payload of an `RTM_NEWLINK`.
    pub(super) fn parse(payload: &[u8]) -> Result<Self, DecodeError> {
        let header = LinkHeader::parse(payload)?;
        let mut link = Self {
            index: header.index,
            up: header.flags.contains(LinkFlags::Up),
            carrier: header.flags.contains(LinkFlags::LowerUp),
            loopback: header.flags.contains(LinkFlags::Loopback),
            ..Self::default()
        };
        let mut lower_is_elsewhere = false;
        for attribute in attributes(payload.get(HEADER_BYTES..).unwrap_or_default()) {
            let (kind, value) = attribute?;
            lower_is_elsewhere |= kind == IFLA_LINK_NETNSID;
            link.take(kind, value);
        }
        if lower_is_elsewhere {
            link.lower = None;
        }
        Ok(link)
    }

    fn take_families(&mut self, value: &[u8]) {
        if let Some(ipv4) = nested(value, AF_INET).next() {
            let settings = nested(ipv4, IFLA_INET_CONF).next();
            self.rp_filter = settings.and_then(|values| number_at(values, RP_FILTER));
        }
        if let Some(ipv6) = nested(value, AF_INET6).next() {
            let settings = nested(ipv6, IFLA_INET6_CONF).next().unwrap_or_default();
            self.ipv6 = Some(Ipv6Settings {
                disabled: number_at(settings, DISABLE_IPV6).is_some_and(|value| value != 0),
                accept_ra: number_at(settings, ACCEPT_RA),
            });
        }
    }

    fn take_kind(&mut self, value: &[u8]) {
        self.kind = nested_text(value, IFLA_INFO_KIND).next();
        if self.kind.as_deref() == Some("vrf") {
            let data = nested(value, IFLA_INFO_DATA).next().unwrap_or_default();
            self.vrf_table = nested(data, IFLA_VRF_TABLE).next().and_then(number);
        }
        // Without room for a text: most interfaces are no bond's.
        let mut controllers = nested(value, IFLA_INFO_SLAVE_KIND);
        if controllers.any(|kind| kind.starts_with(b"bond\0")) {
            let data = nested(value, IFLA_INFO_SLAVE_DATA).next();
            let before = nested(data.unwrap_or_default(), IFLA_BOND_SLAVE_PERM_HWADDR).next();
            self.address_before_bond = before.unwrap_or_default().to_vec();
        }
    }

    fn take(&mut self, kind: u16, value: &[u8]) {
        match kind {
            IFLA_ADDRESS => self.address = value.to_vec(),
            IFLA_IFNAME => self.name = super::text(value),
            IFLA_MTU => self.mtu = number(value).unwrap_or_default(),
            IFLA_LINK => self.lower = number(value).filter(|index| *index != 0),
            IFLA_MASTER => self.controller = number(value).filter(|index| *index != 0),
            IFLA_LINKINFO => self.take_kind(value),
            IFLA_AF_SPEC => self.take_families(value),
            IFLA_MIN_MTU => self.min_mtu = number(value).unwrap_or_default(),
            IFLA_MAX_MTU => self.max_mtu = number(value).unwrap_or_default(),
            IFLA_PROP_LIST => {
                self.alternative_names = nested_text(value, IFLA_ALT_IFNAME).collect();
            }
            IFLA_PERM_ADDRESS => self.permanent_address = value.to_vec(),
            IFLA_PARENT_DEV_NAME => self.parent = Some(super::text(value)),
            IFLA_PARENT_DEV_BUS_NAME => self.parent_bus = Some(super::text(value)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
