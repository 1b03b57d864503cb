//! What the kernel announces of interfaces, addresses, routes and rules: that something changed, and
//! of which interface.
//!
//! An announcement is never taken for the state: it is the reason for another look.

use std::io::{self, ErrorKind};
use std::os::fd::AsFd as _;

use nix::libc::ENOBUFS;
use rtnetlink::sys::{Socket, protocols::NETLINK_ROUTE};
use tokio::net::unix::pipe;

use super::NetlinkError;

/// `RTNLGRP_LINK`, `_IPV4_IFADDR`, `_IPV4_ROUTE`, `_IPV4_RULE`, `_IPV6_IFADDR`, `_IPV6_ROUTE`, `_IPV6_RULE`
/// of `include/uapi/linux/rtnetlink.h`.
const GROUPS: [u32; 7] = [1, 5, 7, 8, 9, 11, 19];

/// What the kernel keeps of announcements that are not read yet, in bytes.
const BUFFER: usize = 256 * 1024;

/// What is read of one datagram. A longer one is cut, which counts as lost.
const DATAGRAM_BYTES: usize = 8 * 1024;

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

/// A socket that hears what the kernel announces in the network namespace that it was opened in.
#[derive(Debug)]
pub struct Watch {
    /// To wait for and to read, a netlink socket is what a pipe is; tokio has no other type that takes
    /// any descriptor and needs no unsafe code.
    socket: pipe::Receiver,
    datagram: Vec<u8>,
}

impl Watch {
    /// Begins to listen. Must be called inside a tokio runtime with an I/O driver.
    ///
    /// # Errors
    /// When the kernel gives no socket.
    pub fn open() -> Result<Self, NetlinkError> {
        Self::with_buffer(BUFFER)
    }

    /// As [`Watch::open`], with room for so many bytes that are not read yet.
    ///
    /// # Errors
    /// As [`Watch::open`].
    pub fn with_buffer(bytes: usize) -> Result<Self, NetlinkError> {
        Self::listen(bytes)
            .map_err(|error| NetlinkError::socket("hear what changes by netlink", &error))
    }

    fn listen(bytes: usize) -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.set_non_blocking(true)?;
        // The kernel gives less where its own limit is lower, and says nothing.
        socket.set_rx_buf_sz(i32::try_from(bytes).unwrap_or(i32::MAX))?;
        socket.bind_auto()?;
        for group in GROUPS {
            socket.add_membership(group)?;
        }
        let descriptor = socket.as_fd().try_clone_to_owned()?;
        Ok(Self {
            socket: pipe::Receiver::from_owned_fd_unchecked(descriptor)?,
            datagram: vec![0; DATAGRAM_BYTES],
        })
    }

    /// Waits until something is announced that `concerns` says yes to.
    ///
    /// What else is there by then is read too, so that one look answers all of it. It is safe to give
    /// up waiting.
    ///
    /// # Errors
    /// When the socket breaks.
    pub async fn heard(&mut self, concerns: impl Fn(Change) -> bool) -> io::Result<()> {
        loop {
            self.socket.readable().await?;
            let mut concerned = false;
            // Bounded: somebody who announces faster than is read must not keep us here.
            for _ in 0..1024 {
                match self.socket.try_read(&mut self.datagram) {
                    Ok(length) => {
                        let datagram = self.datagram.get(..length).unwrap_or_default();
                        concerned = concerned || changes(datagram).any(&concerns);
                    }
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(error) if error.raw_os_error() == Some(ENOBUFS) => {
                        concerned = concerned || concerns(Change::Lost);
                    }
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
            if concerned {
                return Ok(());
            }
        }
    }
}

/// The announcements in a datagram. What is cut or cannot be read counts as lost.
fn changes(mut datagram: &[u8]) -> impl Iterator<Item = Change> {
    std::iter::from_fn(move || {
        if datagram.is_empty() {
            return None;
        }
        // `struct nlmsghdr`: the length with the header in four bytes, the type in two; 16 in all.
        let message = number(datagram, 0)
            .and_then(|length| usize::try_from(length).ok())
            .filter(|length| *length >= 16)
            .and_then(|length| datagram.get(..length));
        let Some(message) = message else {
            datagram = &[];
            return Some(Change::Lost);
        };
        let next = message.len().next_multiple_of(4);
        datagram = datagram.get(next..).unwrap_or_default();
        Some(change(message).unwrap_or(Change::Lost))
    })
}

/// The types of `include/uapi/linux/rtnetlink.h`. `struct ifinfomsg` and `struct ifaddrmsg` have the
/// interface's index in their bytes 4 to 7.
fn change(message: &[u8]) -> Option<Change> {
    let kind: [u8; 2] = message.get(4..6)?.try_into().ok()?;
    match u16::from_ne_bytes(kind) {
        16 | 17 => number(message, 16 + 4).map(Change::Link),
        20 | 21 => number(message, 16 + 4).map(Change::Address),
        24 | 25 => message
            .get(16 + 12..)
            .map(|attributes| Change::Route(outgoing(attributes))),
        32 | 33 => Some(Change::Rule),
        _ => None,
    }
}

/// `RTA_OIF` among the attributes of a route.
fn outgoing(mut attributes: &[u8]) -> Option<u32> {
    const RTA_OIF: [u8; 2] = 4_u16.to_ne_bytes();
    while let Some([a, b, kind @ ..]) = attributes.first_chunk::<4>() {
        if *kind == RTA_OIF {
            return number(attributes, 4);
        }
        let length = usize::from(u16::from_ne_bytes([*a, *b])).max(4);
        attributes = attributes.get(length.next_multiple_of(4)..)?;
    }
    None
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_ne_bytes(*bytes))
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
        changes(datagram).collect()
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
}
