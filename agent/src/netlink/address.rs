//! An address of an interface, as `RTM_NEWADDR` describes it.

use std::net::IpAddr;

use rtnetlink::packet_core::{DecodeError, NlasIterator, Parseable};
use rtnetlink::packet_route::address::{
    AddressAttribute, AddressFlags, AddressHeader, AddressMessage, AddressProtocol, AddressScope,
};

/// `struct ifaddrmsg`.
const HEADER_BYTES: usize = 8;

/// An address of an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// The interface's index.
    pub interface: u32,
    /// The interface's own address; absent in a message that has none.
    pub ip: Option<IpAddr>,
    /// The prefix length in bits.
    pub prefix: u8,
    /// `IFA_F_…`.
    pub flags: AddressFlags,
    /// The message, for putting the address back as it was.
    pub(super) message: AddressMessage,
}

impl Address {
    /// Reads the payload of an `RTM_NEWADDR`.
    pub(super) fn parse(payload: &[u8]) -> Result<Self, DecodeError> {
        let mut message = AddressMessage::default();
        message.header = AddressHeader::parse(payload)?;
        let attributes = payload.get(HEADER_BYTES..).unwrap_or_default();
        for attribute in NlasIterator::new(attributes) {
            // One that cannot be read does not hide the address.
            if let Ok(attribute) = AddressAttribute::parse(&attribute?) {
                message.attributes.push(attribute);
            }
        }
        let header = &message.header;
        let mut address = Self {
            interface: header.index,
            ip: None,
            prefix: header.prefix_len,
            flags: AddressFlags::from_bits_retain(header.flags.bits().into()),
            message: AddressMessage::default(),
        };
        for attribute in &message.attributes {
            match attribute {
                // With a peer, IFA_ADDRESS is the peer's and IFA_LOCAL the interface's.
                AddressAttribute::Local(ip) => address.ip = Some(*ip),
                AddressAttribute::Address(ip) => address.ip = address.ip.or(Some(*ip)),
                // All the bits, of which the header has eight.
                AddressAttribute::Flags(flags) => address.flags = *flags,
                _ => {}
            }
        }
        address.message = message;
        Ok(address)
    }

    /// Whether duplicate address detection found that another host of the link has it. The kernel
    /// keeps such an address and does not use it.
    pub fn is_duplicate(&self) -> bool {
        self.flags.contains(AddressFlags::Dadfailed)
    }

    /// Whether duplicate address detection has not come to its end.
    pub fn is_tentative(&self) -> bool {
        self.flags.contains(AddressFlags::Tentative) && !self.is_duplicate()
    }

    /// Whether it goes away when its interface is set down and does not come back by itself: an
    /// IPv6 address of global scope that was not made from a router's announcement.
    pub fn is_lost_when_down(&self) -> bool {
        self.ip.is_some_and(|ip| ip.is_ipv6())
            && self.message.header.scope == AddressScope::Universe
            && !self.message.attributes.iter().any(|attribute| {
                matches!(
                    attribute,
                    AddressAttribute::Protocol(AddressProtocol::RouterAnnouncement)
                )
            })
            // Temporary addresses (RFC 8981) and, before Linux 5.18 gave addresses a protocol,
            // the SLAAC address that they are made from.
            && !self
                .flags
                .intersects(AddressFlags::Secondary | AddressFlags::Managetempaddr)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtnetlink::packet_core::Emitable;

    fn bytes(scope: AddressScope, attributes: Vec<AddressAttribute>) -> Vec<u8> {
        let mut message = AddressMessage::default();
        message.header.index = 3;
        message.header.prefix_len = 64;
        message.header.scope = scope;
        message.attributes = attributes;
        let mut bytes = vec![0; message.buffer_len()];
        message.emit(&mut bytes);
        bytes
    }

    #[test]
    fn the_interfaces_own_address_is_taken_and_not_its_peers() {
        let local: IpAddr = "192.0.2.1".parse().unwrap();
        let peer: IpAddr = "192.0.2.9".parse().unwrap();
        for attributes in [
            vec![
                AddressAttribute::Address(peer),
                AddressAttribute::Local(local),
            ],
            vec![
                AddressAttribute::Local(local),
                AddressAttribute::Address(peer),
            ],
            vec![AddressAttribute::Address(local)],
        ] {
            let address = Address::parse(&bytes(AddressScope::Universe, attributes)).unwrap();
            assert_eq!((address.interface, address.ip), (3, Some(local)));
        }
    }

    #[test]
    fn only_global_addresses_that_nobody_brings_back_are_lost() {
        let ip = AddressAttribute::Address("2001:db8::5".parse().unwrap());
        let lost = |scope, more: Option<AddressAttribute>| {
            let attributes = [ip.clone()].into_iter().chain(more).collect();
            Address::parse(&bytes(scope, attributes))
                .unwrap()
                .is_lost_when_down()
        };
        assert!(lost(AddressScope::Universe, None));
        assert!(lost(
            AddressScope::Universe,
            Some(AddressAttribute::Flags(AddressFlags::Permanent))
        ));
        assert!(!lost(AddressScope::Link, None));
        assert!(!lost(
            AddressScope::Universe,
            Some(AddressAttribute::Flags(AddressFlags::Managetempaddr))
        ));
        assert!(!lost(
            AddressScope::Universe,
            Some(AddressAttribute::Protocol(
                AddressProtocol::RouterAnnouncement
            ))
        ));
    }

    #[test]
    fn a_cut_message_is_an_error_and_no_panic() {
        let whole = bytes(
            AddressScope::Universe,
            vec![AddressAttribute::Address("192.0.2.1".parse().unwrap())],
        );
        for length in 0..whole.len() {
            if length != HEADER_BYTES {
                assert!(Address::parse(&whole[..length]).is_err(), "{length}");
            }
        }
    }
}
