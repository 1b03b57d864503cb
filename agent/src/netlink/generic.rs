//! One question to a generic netlink family, and its answer (`Documentation/userspace-api/netlink/`).
//!
//! The kernel carries a request out inside `sendto` and has the answer ready when that returns
//! (`net/netlink/genetlink.c`): nothing is waited for but the kernel itself.

use std::convert::Infallible;
use std::io;

use bytes::BytesMut;
use nix::errno::Errno;
use nix::libc::MSG_DONTWAIT;
use rtnetlink::packet_core::{
    DefaultNla, Emitable, NLM_F_ACK, NLM_F_REQUEST, NetlinkDeserializable, NetlinkHeader,
    NetlinkMessage, NetlinkPayload, NetlinkSerializable,
};
use rtnetlink::sys::{Socket, SocketAddr, protocols::NETLINK_GENERIC};

use super::attribute::nested;
use super::{Cause, NetlinkError, error};

/// `struct genlmsghdr` of `include/uapi/linux/genetlink.h`: command, version, two bytes of nothing.
const HEADER_BYTES: usize = 4;
const VERSION: u8 = 1;

/// The family of the families, and what it is asked for (`include/uapi/linux/genetlink.h`).
const GENL_ID_CTRL: u16 = 0x10;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;

/// The most datagrams that one answer is looked for in.
const DATAGRAMS: usize = 16;
/// `NLMSG_GOODSIZE`: no answer here is longer.
const DATAGRAM_BYTES: usize = 8 * 1024;

/// A connection to one family.
#[derive(Debug)]
pub(super) struct Family {
    socket: Socket,
    id: u16,
    sequence: u32,
}

impl Family {
    /// Finds the family by its name.
    ///
    /// # Errors
    /// When the kernel gives no socket, or does not have the family.
    pub(super) fn open(name: &str) -> Result<Self, NetlinkError> {
        let attempt = format!("speak to the kernel's {name}");
        let open = || -> io::Result<Socket> {
            let mut socket = Socket::new(NETLINK_GENERIC)?;
            socket.bind_auto()?;
            // The kernel's own sentence; kernels before 4.12 do not know it.
            let _ = socket.set_ext_ack(true);
            let _ = socket.set_cap_ack(true);
            Ok(socket)
        };
        let socket = open().map_err(|error| NetlinkError::socket(&attempt, &error))?;
        let mut family = Self {
            socket,
            id: GENL_ID_CTRL,
            sequence: 0,
        };
        let mut text = name.as_bytes().to_vec();
        text.push(0);
        let name = DefaultNla::new(CTRL_ATTR_FAMILY_NAME, text);
        let answer = family.ask(CTRL_CMD_GETFAMILY, &[name], &attempt)?;
        let mut ids = nested(&answer, CTRL_ATTR_FAMILY_ID);
        let id = ids.next().and_then(|value| value.first_chunk());
        family.id = id.map(|bytes| u16::from_ne_bytes(*bytes)).ok_or_else(|| {
            let cause = Cause::Unreadable("the family has no number".to_owned());
            NetlinkError { attempt, cause }
        })?;
        Ok(family)
    }

    /// Sends a command, and gives back the attributes of the answer: none where the kernel says no more
    /// than that it is done.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(super) fn ask(
        &mut self,
        command: u8,
        attributes: &[DefaultNla],
        attempt: &str,
    ) -> Result<Vec<u8>, NetlinkError> {
        let answer = self.exchange(command, attributes);
        answer.map_err(|cause| NetlinkError {
            attempt: attempt.to_owned(),
            cause,
        })
    }

    fn exchange(&mut self, command: u8, attributes: &[DefaultNla]) -> Result<Vec<u8>, Cause> {
        let mut bytes = vec![0; HEADER_BYTES + attributes.buffer_len()];
        if let Some((header, rest)) = bytes.split_first_chunk_mut::<HEADER_BYTES>() {
            *header = [command, VERSION, 0, 0];
            attributes.emit(rest);
        }
        self.sequence = self.sequence.wrapping_add(1);
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | NLM_F_ACK;
        header.sequence_number = self.sequence;
        let family = self.id;
        let mut message = NetlinkMessage::new(header, Generic { family, bytes }.into());
        message.finalize();
        let mut request = vec![0; message.buffer_len()];
        message.serialize(&mut request);
        let kernel = SocketAddr::new(0, 0);
        let broken = |error: io::Error| Cause::Socket(error.to_string());
        (self.socket.send_to(&request, &kernel, 0)).map_err(broken)?;
        let mut attributes = Vec::new();
        for _ in 0..DATAGRAMS {
            let mut datagram = BytesMut::with_capacity(DATAGRAM_BYTES);
            (self.socket.recv_from(&mut datagram, MSG_DONTWAIT)).map_err(broken)?;
            if self.take(&datagram, &mut attributes)? {
                return Ok(attributes);
            }
        }
        Err(Cause::Unreadable("it has no end".to_owned()))
    }

    /// Takes the answer from a datagram; true at its end.
    fn take(&self, mut datagram: &[u8], attributes: &mut Vec<u8>) -> Result<bool, Cause> {
        while !datagram.is_empty() {
            let message = NetlinkMessage::<Generic>::deserialize(datagram)
                .map_err(|error| Cause::Unreadable(error.to_string()))?;
            let length = usize::try_from(message.header.length).unwrap_or(usize::MAX);
            let next = length.max(16).next_multiple_of(4);
            datagram = datagram.get(next..).unwrap_or_default();
            if message.header.sequence_number != self.sequence {
                continue;
            }
            match message.payload {
                NetlinkPayload::InnerMessage(Generic { bytes, .. }) => {
                    *attributes = bytes.get(HEADER_BYTES..).unwrap_or_default().to_vec();
                }
                NetlinkPayload::Error(error) if error.raw_code() == 0 => return Ok(true),
                NetlinkPayload::Error(error) => {
                    let flags = message.header.flags;
                    return Err(error::refused(error.raw_code(), flags, &error.header));
                }
                _ => {}
            }
        }
        Ok(false)
    }
}

/// Whether the kernel or the driver does not have what was asked for.
pub(super) fn is_unsupported(error: &NetlinkError) -> bool {
    matches!(
        error.errno(),
        Some(Errno::EOPNOTSUPP | Errno::ENOENT | Errno::EPROTONOSUPPORT)
    ) || matches!(error.cause, Cause::Socket(_))
}

/// A message of a family, whatever is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Generic {
    family: u16,
    bytes: Vec<u8>,
}

impl From<Generic> for NetlinkPayload<Generic> {
    fn from(message: Generic) -> Self {
        Self::InnerMessage(message)
    }
}

impl NetlinkSerializable for Generic {
    fn message_type(&self) -> u16 {
        self.family
    }

    fn buffer_len(&self) -> usize {
        self.bytes.len()
    }

    fn serialize(&self, buffer: &mut [u8]) {
        if let Some(buffer) = buffer.get_mut(..self.bytes.len()) {
            buffer.copy_from_slice(&self.bytes);
        }
    }
}

impl NetlinkDeserializable for Generic {
    type Error = Infallible;

    fn deserialize(header: &NetlinkHeader, payload: &[u8]) -> Result<Self, Infallible> {
        Ok(Self {
            family: header.message_type,
            bytes: payload.to_vec(),
        })
    }
}
