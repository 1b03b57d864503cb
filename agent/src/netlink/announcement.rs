//! An announcement of the kernel: what changed, of which interface, and by whose request where the kernel tells.

use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroU32;

use device_attributes::InterfaceAddress;

use super::attribute::{nested, number, number_at};
use crate::routing::PROTOCOL;

/// One announcement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// An interface came, changed or went; by its index.
    Link(u32),
    /// An address of an interface came, changed or went.
    Address(u32),
    /// A route came, changed or went; the interface that it goes out by, where it has one.
    Route(Option<u32>),
    /// A rule came or went.
    Rule,
    /// Announcements were lost (`ENOBUFS`), or one could not be read: anything may have changed.
    Lost,
}

/// Something that the agent may have made was removed by somebody's request.
///
/// The kernel says whose of addresses of IPv4, routes and rules; not of an interface's settings, nor of an address of
/// IPv6 (`inet6_ifa_notify` in `net/ipv6/addrconf.c`). What it removes itself, with an address or an interface that
/// goes down, is nobody's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Removal {
    /// What it was.
    pub removed: Removed,
    /// The netlink port that the request came by.
    pub port: NonZeroU32,
}

/// What was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Removed {
    /// An address of IPv4, from the interface with this index.
    Address(u32, InterfaceAddress),
    /// A route with the agent's protocol number, and the interface that it went out by, where it had one.
    Route(Option<u32>),
    /// A rule with the agent's protocol number.
    Rule,
}

/// The announcements in a datagram. What is cut or cannot be read counts as lost.
pub(super) fn changes(mut datagram: &[u8]) -> impl Iterator<Item = (Change, Option<Removal>)> {
    std::iter::from_fn(move || {
        if datagram.is_empty() {
            return None;
        }
        // `struct nlmsghdr`: the length with the header in four bytes, the type in two; 16 in all.
        let message = number(datagram)
            .and_then(|length| usize::try_from(length).ok())
            .filter(|length| *length >= HEADER_BYTES)
            .and_then(|length| datagram.get(..length));
        let Some(message) = message else {
            datagram = &[];
            return Some((Change::Lost, None));
        };
        let next = message.len().next_multiple_of(4);
        datagram = datagram.get(next..).unwrap_or_default();
        Some((change(message).unwrap_or(Change::Lost), removal(message)))
    })
}

/// Of `struct nlmsghdr`.
const HEADER_BYTES: usize = 16;
/// `RTA_OIF`.
const OUTGOING: u16 = 4;

/// The types of `include/uapi/linux/rtnetlink.h`. `struct ifinfomsg` and `struct ifaddrmsg` have the
/// interface's index in their bytes 4 to 7.
fn change(message: &[u8]) -> Option<Change> {
    let payload = message.get(HEADER_BYTES..)?;
    match kind(message)? {
        16 | 17 => number_at(payload, 1).map(Change::Link),
        20 | 21 => number_at(payload, 1).map(Change::Address),
        24 | 25 => payload
            .get(12..)
            .map(|attributes| Change::Route(nested(attributes, OUTGOING).find_map(number))),
        32 | 33 => Some(Change::Rule),
        _ => None,
    }
}

/// Who had what removed: `RTM_DELADDR`, `RTM_DELROUTE`, `RTM_DELRULE`, and `nlmsg_pid`.
fn removal(message: &[u8]) -> Option<Removal> {
    const IFA_LOCAL: u16 = 2;
    const FRA_PROTOCOL: u16 = 21;
    let port = NonZeroU32::new(number_at(message, 3)?)?;
    let payload = message.get(HEADER_BYTES..)?;
    let removed = match kind(message)? {
        21 => {
            let (prefix, index) = (*payload.get(1)?, number_at(payload, 1)?);
            // Four bytes are an address of IPv4.
            let local = nested(payload.get(8..)?, IFA_LOCAL).next()?;
            let ip: Ipv4Addr = <[u8; 4]>::try_from(local).ok()?.into();
            Removed::Address(index, InterfaceAddress::new(IpAddr::V4(ip), prefix).ok()?)
        }
        25 if payload.get(5) == Some(&PROTOCOL) => {
            Removed::Route(nested(payload.get(12..)?, OUTGOING).find_map(number))
        }
        33 if nested(payload.get(12..)?, FRA_PROTOCOL).any(|protocol| protocol == [PROTOCOL]) => {
            Removed::Rule
        }
        _ => return None,
    };
    Some(Removal { removed, port })
}

fn kind(message: &[u8]) -> Option<u16> {
    let kind = message.get(4..)?.first_chunk()?;
    Some(u16::from_ne_bytes(*kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u16, payload: &[u8]) -> Vec<u8> {
        let mut bytes = u32::try_from(16 + payload.len())
            .unwrap()
            .to_ne_bytes()
            .to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.resize(16, 0);
        bytes.extend(payload);
        bytes
    }

    fn read(datagram: &[u8]) -> Vec<Change> {
        changes(datagram).map(|(change, _)| change).collect()
    }

    /// A message of a program with the port 812.
    fn wish(kind: u16, payload: &[&[u8]]) -> Vec<u8> {
        let mut bytes = message(kind, &payload.concat());
        bytes[12..16].copy_from_slice(&812_u32.to_ne_bytes());
        bytes
    }

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let length = u16::try_from(4 + value.len()).unwrap();
        let mut bytes = [length.to_ne_bytes(), kind.to_ne_bytes()].concat();
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    #[test]
    fn the_interface_of_each_kind_is_found() {
        let index = 7_u32.to_ne_bytes();
        let about = [&[0; 4][..], &index].concat();
        let route = [
            &[0; 12][..],
            &8_u16.to_ne_bytes(),
            &1_u16.to_ne_bytes(),
            &[0; 4],
        ]
        .concat();
        let out = [
            &route[..],
            &8_u16.to_ne_bytes(),
            &4_u16.to_ne_bytes(),
            &index,
        ]
        .concat();
        let all = [
            message(16, &about),
            message(21, &about),
            message(24, &route),
            message(25, &out),
            message(32, &[]),
        ];
        assert_eq!(
            read(&all.concat()),
            [
                Change::Link(7),
                Change::Address(7),
                Change::Route(None),
                Change::Route(Some(7)),
                Change::Rule,
            ]
        );
    }

    #[test]
    fn any_bytes_come_to_an_end() {
        assert_eq!(read(&[]), []);
        assert_eq!(read(&[0; 64]), [Change::Lost]);
        assert_eq!(read(&[0xff; 64]), [Change::Lost]);
        assert_eq!(read(&message(16, &[])), [Change::Lost]);
        assert_eq!(read(&message(24, &[0; 16])), [Change::Route(None)]);
        let cut = &message(16, &[0; 16])[..20];
        assert_eq!(read(cut), [Change::Lost]);
    }

    #[test]
    fn who_removed_what_is_known_where_the_kernel_says_it() {
        let removed = |datagram: &[u8]| {
            let (_, removal) = changes(datagram).next().unwrap();
            removal.map(|removal| {
                assert_eq!(removal.port.get(), 812);
                removal.removed
            })
        };
        let about = [&[2, 24, 0, 0][..], &7_u32.to_ne_bytes()].concat();
        let local = attribute(2, &[192, 0, 2, 5]);
        let address = Removed::Address(7, "192.0.2.5/24".parse().unwrap());
        assert_eq!(removed(&wish(21, &[&about, &local])), Some(address));
        // One that comes, one that the kernel removes, one that is none, and one of IPv6.
        assert_eq!(removed(&wish(20, &[&about, &local])), None);
        let by_kernel = message(21, &[&about[..], &local].concat());
        assert_eq!(removed(&by_kernel), None);
        assert_eq!(removed(&wish(21, &[&about, &attribute(2, &[0; 4])])), None);
        assert_eq!(
            removed(&wish(21, &[&about, &attribute(2, &[0x20; 16])])),
            None
        );
        let route = |protocol| [0, 0, 0, 0, 254, protocol, 0, 0, 0, 0, 0, 0];
        let out = attribute(4, &7_u32.to_ne_bytes());
        assert_eq!(
            removed(&wish(25, &[&route(PROTOCOL), &out])),
            Some(Removed::Route(Some(7)))
        );
        assert_eq!(removed(&wish(25, &[&route(4), &out])), None);
        let rule = |protocol| wish(33, &[&[0; 12], &attribute(21, &[protocol])]);
        assert_eq!(removed(&rule(PROTOCOL)), Some(Removed::Rule));
        assert_eq!(removed(&rule(0)), None);
    }
}
