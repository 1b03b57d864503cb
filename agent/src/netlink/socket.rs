//! The socket of [`super::Netlink`]: asks the kernel, and has the answer at once.
//!
//! The kernel carries a request out inside `sendto` and has the answer ready when that returns; it
//! makes the next part of a list whenever a part is read (`net/netlink/af_netlink.c`). So the socket
//! is read right after a request and not beyond the answer's end. It needs no epoll, which would
//! double the system calls of a list: should there be nothing to read after all, it is tried again
//! after a pause.

use std::cell::{Cell, RefCell};
use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::BufMut;
use nix::libc::{EMSGSIZE, MSG_DONTWAIT, MSG_TRUNC};
use rtnetlink::packet_core::{NLMSG_DONE, NLMSG_ERROR};
use rtnetlink::sys::{AsyncSocket, Socket, SocketAddr};
use tokio::time::{Sleep, sleep};

/// The most that the kernel puts into one datagram is 32 KiB (`netlink_recvmsg` in
/// `net/netlink/af_netlink.c`).
const DATAGRAM_BYTES: usize = 32 * 1024;

/// How long to wait for an answer that was not there at once.
const PAUSE: Duration = Duration::from_millis(1);

/// A netlink socket for requests and their answers, not for multicast groups: what comes unasked is
/// not read.
pub(super) struct RequestSocket {
    socket: Socket,
    /// The wait for an answer that was not there at once.
    pause: RefCell<Option<Pin<Box<Sleep>>>>,
    /// How many requests have no end of their answer yet.
    unanswered: Cell<usize>,
    datagram: RefCell<Vec<u8>>,
}

impl RequestSocket {
    fn receive(&self, context: &mut Context<'_>) -> Poll<io::Result<SocketAddr>> {
        if self.unanswered.get() == 0 {
            // The next request wakes the task.
            return Poll::Pending;
        }
        let mut datagram = self.datagram.borrow_mut();
        loop {
            datagram.clear();
            let flags = MSG_DONTWAIT | MSG_TRUNC;
            match self.socket.recv_from(&mut *datagram, flags) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
                // MSG_TRUNC: the length that it had, of which the buffer took what it could.
                Ok((length, _)) if length > datagram.len() => {
                    return Poll::Ready(Err(io::Error::from_raw_os_error(EMSGSIZE)));
                }
                Ok((_, from)) => {
                    let left = self.unanswered.get();
                    self.unanswered.set(left.saturating_sub(ends(&datagram)));
                    return Poll::Ready(Ok(from));
                }
            }
            let mut pause = self.pause.borrow_mut();
            let running = pause.get_or_insert_with(|| Box::pin(sleep(PAUSE)));
            ready!(running.as_mut().poll(context));
            *pause = None;
        }
    }
}

/// How many answers end in a datagram.
fn ends(mut datagram: &[u8]) -> usize {
    let mut ends = 0;
    // `struct nlmsghdr`: the length with the header in four bytes, the type in two.
    while let Some([a, b, c, d, e, f]) = datagram.first_chunk() {
        ends += usize::from([NLMSG_DONE, NLMSG_ERROR].contains(&u16::from_ne_bytes([*e, *f])));
        let length = u32::from_ne_bytes([*a, *b, *c, *d]).max(16) as usize;
        datagram = datagram
            .get(length.next_multiple_of(4)..)
            .unwrap_or_default();
    }
    ends
}

impl AsyncSocket for RequestSocket {
    fn socket_ref(&self) -> &Socket {
        &self.socket
    }

    fn socket_mut(&mut self) -> &mut Socket {
        &mut self.socket
    }

    fn new(protocol: isize) -> io::Result<Self> {
        Ok(Self {
            socket: Socket::new(protocol)?,
            pause: RefCell::new(None),
            unanswered: Cell::new(0),
            datagram: RefCell::new(Vec::with_capacity(DATAGRAM_BYTES)),
        })
    }

    fn poll_send(&self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_send_to(context, bytes, &SocketAddr::new(0, 0))
    }

    fn poll_send_to(
        &self,
        context: &mut Context<'_>,
        bytes: &[u8],
        to: &SocketAddr,
    ) -> Poll<io::Result<usize>> {
        let sent = self.socket.send_to(bytes, to, MSG_DONTWAIT);
        if sent.is_ok() {
            self.unanswered.set(self.unanswered.get().saturating_add(1));
            context.waker().wake_by_ref();
        }
        Poll::Ready(sent)
    }

    fn poll_recv<B: BufMut>(
        &self,
        context: &mut Context<'_>,
        buffer: &mut B,
    ) -> Poll<io::Result<()>> {
        let received = self.poll_recv_from(context, buffer);
        received.map_ok(|_| ())
    }

    fn poll_recv_from<B: BufMut>(
        &self,
        context: &mut Context<'_>,
        buffer: &mut B,
    ) -> Poll<io::Result<SocketAddr>> {
        let received = self.receive(context);
        if let Poll::Ready(Ok(_)) = received {
            buffer.put_slice(&self.datagram.borrow());
        }
        received
    }

    fn poll_recv_from_full(
        &self,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<(Vec<u8>, SocketAddr)>> {
        let received = self.receive(context);
        received.map_ok(|from| (self.datagram.borrow().clone(), from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtnetlink::sys::protocols::NETLINK_USERSOCK;
    use std::future::poll_fn;
    use std::thread;

    fn message(kind: u16) -> Vec<u8> {
        let mut bytes = 20_u32.to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.resize(20, 0);
        bytes
    }

    #[test]
    fn ends_of_answers_are_counted_in_any_bytes() {
        assert_eq!(ends(&[]), 0);
        assert_eq!(ends(&message(16)), 0);
        assert_eq!(ends(&message(NLMSG_DONE)), 1);
        let several = [message(NLMSG_ERROR), message(16), message(NLMSG_DONE)];
        assert_eq!(ends(&several.concat()), 2);
        assert_eq!(ends(&[0; 40]), 0);
        assert_eq!(ends(&[0xff; 40]), 0);
    }

    /// The kernel never makes one wait on demand; another socket in its place does.
    #[test]
    fn an_answer_that_is_late_is_waited_for() {
        let mut peer = Socket::new(NETLINK_USERSOCK).unwrap();
        let peer_address = peer.bind_auto().unwrap();
        let mut socket = RequestSocket::new(NETLINK_USERSOCK).unwrap();
        socket.socket_mut().bind_auto().unwrap();
        let answering = thread::spawn(move || {
            let (request, from) = peer.recv_from_full().unwrap();
            thread::sleep(Duration::from_millis(50));
            peer.send_to(&message(16), &from, 0).unwrap();
            peer.send_to(&message(NLMSG_DONE), &from, 0).unwrap();
            request
        });
        tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap()
            .block_on(async {
                let request = message(18);
                poll_fn(|cx| socket.poll_send_to(cx, &request, &peer_address))
                    .await
                    .unwrap();
                for expected in [16, NLMSG_DONE] {
                    let mut buffer = Vec::new();
                    poll_fn(|cx| socket.poll_recv_from(cx, &mut buffer))
                        .await
                        .unwrap();
                    assert_eq!(buffer, message(expected));
                }
                assert_eq!(socket.unanswered.get(), 0);
            });
        assert_eq!(answering.join().unwrap(), message(18));
    }
}
