//! A network interface, as `RTM_NEWLINK` describes it.

use rtnetlink::packet_core::{DecodeError, NlaBuffer, NlasIterator};
use rtnetlink::packet_route::link::{LinkFlags, LinkHeader};

/// `struct ifinfomsg`.
const HEADER_BYTES: usize = 16;

// Attributes: include/uapi/linux/if_link.h.
const IFLA_ADDRESS: u16 = 1;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_MASTER: u16 = 10;
const IFLA_LINKINFO: u16 = 18;
const IFLA_MIN_MTU: u16 = 50;
const IFLA_MAX_MTU: u16 = 51;
const IFLA_PROP_LIST: u16 = 52;
const IFLA_ALT_IFNAME: u16 = 53;
const IFLA_PERM_ADDRESS: u16 = 54;
const IFLA_PARENT_DEV_NAME: u16 = 56;
const IFLA_PARENT_DEV_BUS_NAME: u16 = 57;
const IFLA_INFO_KIND: u16 = 1;

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
    /// The hardware address as it is; empty when there is none.
    pub address: Vec<u8>,
    /// The hardware address that it was made with; empty when the driver does not say.
    pub permanent_address: Vec<u8>,
    /// The name of the device that it sits on (`0000:81:00.0`, `virtio2`); since Linux 5.14.
    pub parent: Option<String>,
    /// The bus of that device (`pci`, `virtio`, `usb`); since Linux 5.14.
    pub parent_bus: Option<String>,
    /// Administratively up.
    pub up: bool,
    /// The loopback interface, whatever its name.
    pub loopback: bool,
    /// In bytes.
    pub mtu: u32,
    /// The smallest MTU; 0 when there is no bound.
    pub min_mtu: u32,
    /// The largest MTU; 0 when there is no bound.
    pub max_mtu: u32,
}

impl Link {
    /// Reads the payload of an `RTM_NEWLINK`.
    pub(super) fn parse(payload: &[u8]) -> Result<Self, DecodeError> {
        let header = LinkHeader::parse(payload)?;
        let mut link = Self {
            index: header.index,
            up: header.flags.contains(LinkFlags::Up),
            loopback: header.flags.contains(LinkFlags::Loopback),
            ..Self::default()
        };
        let attributes = payload.get(HEADER_BYTES..).unwrap_or_default();
        for attribute in NlasIterator::new(attributes) {
            link.take(&attribute?);
        }
        Ok(link)
    }

    fn take(&mut self, attribute: &NlaBuffer<&[u8]>) {
        let value = attribute.value();
        match attribute.kind() {
            IFLA_ADDRESS => self.address = value.to_vec(),
            IFLA_IFNAME => self.name = super::text(value),
            IFLA_MTU => self.mtu = number(value).unwrap_or_default(),
            IFLA_MASTER => self.controller = number(value).filter(|index| *index != 0),
            IFLA_LINKINFO => self.kind = nested(value, IFLA_INFO_KIND).next(),
            IFLA_MIN_MTU => self.min_mtu = number(value).unwrap_or_default(),
            IFLA_MAX_MTU => self.max_mtu = number(value).unwrap_or_default(),
            IFLA_PROP_LIST => self.alternative_names = nested(value, IFLA_ALT_IFNAME).collect(),
            IFLA_PERM_ADDRESS => self.permanent_address = value.to_vec(),
            IFLA_PARENT_DEV_NAME => self.parent = Some(super::text(value)),
            IFLA_PARENT_DEV_BUS_NAME => self.parent_bus = Some(super::text(value)),
            _ => {}
        }
    }
}

fn number(value: &[u8]) -> Option<u32> {
    value.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes))
}

/// The texts of one kind among nested attributes.
fn nested(value: &[u8], kind: u16) -> impl Iterator<Item = String> {
    NlasIterator::new(value)
        .map_while(Result::ok)
        .filter(move |attribute| attribute.kind() == kind)
        .map(|attribute| super::text(attribute.value()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(u16::try_from(value.len() + 4).unwrap().to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn header(index: u32, flags: u32) -> Vec<u8> {
        let mut bytes = vec![0; 4];
        bytes.extend(index.to_ne_bytes());
        bytes.extend(flags.to_ne_bytes());
        bytes.extend([0; 4]);
        bytes
    }

    #[test]
    fn every_attribute_has_its_place() {
        let mut payload = header(7, 0);
        let kind = attribute(IFLA_INFO_KIND, b"bond\0");
        let names = [
            attribute(IFLA_ALT_IFNAME, b"one\0"),
            attribute(IFLA_ALT_IFNAME, b"two\0"),
        ];
        for (kind, value) in [
            (IFLA_IFNAME, &b"net1\0"[..]),
            (IFLA_ADDRESS, &[2, 0, 0, 0, 0, 1]),
            (IFLA_PERM_ADDRESS, &[2, 0, 0, 0, 0, 2]),
            (IFLA_MTU, &1400_u32.to_ne_bytes()),
            (IFLA_MIN_MTU, &68_u32.to_ne_bytes()),
            (IFLA_MAX_MTU, &9000_u32.to_ne_bytes()),
            (IFLA_MASTER, &3_u32.to_ne_bytes()),
            // NLA_F_NESTED, which the kernel sets on some and not on others.
            (IFLA_LINKINFO, &kind),
            (IFLA_PROP_LIST | 0x8000, &names.concat()),
            (IFLA_PARENT_DEV_NAME, b"0000:81:00.0\0"),
            (IFLA_PARENT_DEV_BUS_NAME, b"pci\0"),
        ] {
            payload.extend(attribute(kind, value));
        }
        assert_eq!(
            Link::parse(&payload).unwrap(),
            Link {
                index: 7,
                name: "net1".into(),
                alternative_names: vec!["one".into(), "two".into()],
                kind: Some("bond".into()),
                controller: Some(3),
                address: vec![2, 0, 0, 0, 0, 1],
                permanent_address: vec![2, 0, 0, 0, 0, 2],
                parent: Some("0000:81:00.0".into()),
                parent_bus: Some("pci".into()),
                up: false,
                loopback: false,
                mtu: 1400,
                min_mtu: 68,
                max_mtu: 9000,
            }
        );
    }

    #[test]
    fn a_broken_attribute_does_not_hide_the_interface() {
        let mut payload = header(7, 1);
        payload.extend(attribute(IFLA_MTU, &[1]));
        payload.extend(attribute(IFLA_LINKINFO, &[0xff; 5]));
        payload.extend(attribute(999, &[0xff; 3]));
        payload.extend(attribute(IFLA_IFNAME, b"n\xffme\0"));
        let link = Link::parse(&payload).unwrap();
        assert_eq!(
            link,
            Link {
                index: 7,
                name: "n\u{fffd}me".into(),
                up: true,
                ..Link::default()
            }
        );
    }

    #[test]
    fn a_cut_message_is_an_error_and_no_panic() {
        let mut payload = header(7, 8);
        payload.extend(attribute(IFLA_IFNAME, b"net1\0"));
        assert!(Link::parse(&payload).unwrap().loopback);
        for length in 0..payload.len() - 3 {
            if length != HEADER_BYTES {
                assert!(Link::parse(&payload[..length]).is_err(), "{length}");
            }
        }
    }
}
