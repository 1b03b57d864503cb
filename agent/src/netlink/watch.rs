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
use super::announcement::{Change, Removal, changes};

/// `RTNLGRP_LINK`, `_IPV4_IFADDR`, `_IPV4_ROUTE`, `_IPV4_RULE`, `_IPV6_IFADDR`, `_IPV6_ROUTE`, `_IPV6_RULE`
/// of `include/uapi/linux/rtnetlink.h`.
const GROUPS: [u32; 7] = [1, 5, 7, 8, 9, 11, 19];

/// What the kernel keeps of announcements that are not read yet, in bytes.
const BUFFER: usize = 256 * 1024;

/// What is read of one datagram. A longer one is cut, which counts as lost.
const DATAGRAM_BYTES: usize = 8 * 1024;

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

    /// Waits until something is announced that `concerns` says yes to; it is asked for every announcement.
    ///
    /// What else is there by then is read too, so that one look answers all of it. It is safe to give
    /// up waiting.
    ///
    /// # Errors
    /// When the socket breaks.
    pub async fn heard(
        &mut self,
        mut concerns: impl FnMut(Change, Option<Removal>) -> bool,
    ) -> io::Result<()> {
        loop {
            self.socket.readable().await?;
            let mut concerned = false;
            // Bounded: somebody who announces faster than is read must not keep us here.
            for _ in 0..1024 {
                match self.socket.try_read(&mut self.datagram) {
                    Ok(length) => {
                        let datagram = self.datagram.get(..length).unwrap_or_default();
                        for (change, removal) in changes(datagram) {
                            concerned |= concerns(change, removal);
                        }
                    }
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(error) if error.raw_os_error() == Some(ENOBUFS) => {
                        concerned |= concerns(Change::Lost, None);
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
