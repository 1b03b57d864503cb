//! The socket of [`super::Netlink`]: asks the kernel, and has the answer at once.
//!
//! The kernel carries a request out inside `sendto` and has the answer ready when that returns; it
//! makes the next part of a list whenever a part is read (`net/netlink/af_netlink.c`). So the socket
//! is read right after a request and not beyond the answer's end. It needs no epoll, which would
//! double the system calls of a list, and no runtime: should there be nothing to read after all, it is
//! tried again after a pause.

use std::io;

use nix::errno::Errno;
use nix::libc::{EMSGSIZE, MSG_DONTWAIT, MSG_TRUNC};
use rtnetlink::sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};

/// The most that the kernel puts into one datagram is 32 KiB (`netlink_recvmsg` in
/// `net/netlink/af_netlink.c`).
pub(super) const DATAGRAM_BYTES: usize = 32 * 1024;

/// What requests go out by, and their answers come in by; neither waits.
pub(super) trait Channel {
    /// Has refusals explained from now on.
    fn explain_refusals(&self) -> io::Result<()>;

    /// Sends one request.
    fn send(&self, request: &[u8]) -> io::Result<()>;

    /// Reads one datagram in the place of what `datagram` has, which has room for the largest;
    /// `WouldBlock` where there is none.
    fn receive(&self, datagram: &mut Vec<u8>) -> io::Result<()>;
}

/// A socket for requests and their answers, not for multicast groups.
pub(super) fn open() -> io::Result<Socket> {
    let socket = Socket::new(NETLINK_ROUTE)?;
    // Requests are checked rather than half understood. Kernels before 4.20 do not know it.
    tolerate_unknown(socket.set_netlink_get_strict_chk(true))?;
    Ok(socket)
}

impl Channel for Socket {
    fn explain_refusals(&self) -> io::Result<()> {
        // Kernels before 4.12 do not know it. A refusal repeats its request: that costs less than a call
        // to have it left out.
        tolerate_unknown(self.set_ext_ack(true))
    }

    fn send(&self, request: &[u8]) -> io::Result<()> {
        let kernel = SocketAddr::new(0, 0);
        self.send_to(request, &kernel, MSG_DONTWAIT).map(drop)
    }

    fn receive(&self, datagram: &mut Vec<u8>) -> io::Result<()> {
        datagram.clear();
        let (length, _) = self.recv_from(datagram, MSG_DONTWAIT | MSG_TRUNC)?;
        // MSG_TRUNC: the length that it had, of which the buffer took what it could.
        if length > datagram.len() {
            return Err(io::Error::from_raw_os_error(EMSGSIZE));
        }
        Ok(())
    }
}

fn tolerate_unknown(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.raw_os_error() == Some(Errno::ENOPROTOOPT as i32) => Ok(()),
        other => other,
    }
}
