//! One socket to the kernel's routing netlink, and how a request over it comes to its end.

use std::io;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::Stream;
use nix::errno::Errno;
use rtnetlink::packet_core::{
    NLM_F_ACK, NLM_F_DUMP, NLM_F_DUMP_INTR, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload,
};
use rtnetlink::packet_route::RouteNetlinkMessage;
use rtnetlink::proto::{self, ConnectionHandle};
use rtnetlink::sys::{AsyncSocket, SocketAddr, protocols::NETLINK_ROUTE};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

use super::message::Message;
use super::socket::RequestSocket;
use super::{Cause, NetlinkError, error};

/// The most times that a dump is begun before a list that keeps changing is given up.
pub(super) const DUMPS: usize = 5;

/// How long one request may take. Netlink answers within the system call unless another task holds
/// the RTNL lock, which module loading and driver resets do for seconds.
const DEADLINE: Duration = Duration::from_secs(10);

type Answer = NetlinkMessage<Message>;

/// A connection that keeps one request in flight: a second dump on a socket is `EBUSY`, and an
/// overrun could not be told apart.
#[derive(Debug)]
pub(super) struct Connection {
    ends: Mutex<Ends>,
    deadline: Duration,
    task: JoinHandle<()>,
}

#[derive(Debug)]
struct Ends {
    requests: ConnectionHandle<Message>,
    unsolicited: futures_channel::mpsc::UnboundedReceiver<(Answer, SocketAddr)>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Connection {
    pub(super) fn open() -> io::Result<Self> {
        let socket = RequestSocket::new(NETLINK_ROUTE)?;
        let options = socket.socket_ref();
        // With the kernel's own sentence, and with requests checked rather than half understood. Kernels
        // before 4.12 and 4.20 do not know them. A refusal repeats its request: that costs less than a
        // call to have it left out.
        tolerate_unknown(options.set_ext_ack(true))?;
        tolerate_unknown(options.set_netlink_get_strict_chk(true))?;
        Ok(Self::over(socket, DEADLINE))
    }

    /// Speaks over a socket that is set up. Must be called inside a tokio runtime.
    pub(super) fn over<S: AsyncSocket + Send + 'static>(socket: S, deadline: Duration) -> Self {
        let (mut connection, requests, unsolicited): (proto::Connection<Message, S>, _, _) =
            proto::from_socket_with_codec(socket);
        // The end of an answer is told apart from the end of the connection only when it is seen.
        connection.set_forward_ack(true);
        connection.set_forward_done(true);
        Self {
            ends: Mutex::new(Ends {
                requests,
                unsolicited,
            }),
            deadline,
            task: tokio::spawn(connection),
        }
    }

    /// Asks for one change.
    pub(super) async fn change(
        &self,
        request: RouteNetlinkMessage,
        flags: u16,
        attempt: &str,
    ) -> Result<(), NetlinkError> {
        let mut message = NetlinkMessage::from(Payload(request));
        message.header.flags = NLM_F_REQUEST | NLM_F_ACK | flags;
        self.within_deadline(self.acknowledged(message))
            .await
            .map_err(|cause| failed(attempt, cause))
    }

    /// Asks for a list, again when it changed while it was read.
    pub(super) async fn dump(
        &self,
        request: RouteNetlinkMessage,
        attempt: &str,
    ) -> Result<Vec<Message>, NetlinkError> {
        let mut message = NetlinkMessage::from(Payload(request));
        message.header.flags = NLM_F_REQUEST | NLM_F_DUMP;
        let mut last = Cause::Interrupted(DUMPS);
        for _ in 0..DUMPS {
            match self.within_deadline(self.listed(message.clone())).await {
                Ok(list) => return Ok(list),
                Err(cause @ (Cause::Interrupted(_) | Cause::Overrun)) => last = cause,
                Err(cause) => return Err(failed(attempt, cause)),
            }
        }
        Err(failed(attempt, last))
    }

    async fn within_deadline<T>(
        &self,
        answer: impl Future<Output = Result<T, Cause>>,
    ) -> Result<T, Cause> {
        tokio::time::timeout(self.deadline, answer)
            .await
            .unwrap_or(Err(Cause::NoAnswer(self.deadline)))
    }

    async fn acknowledged(&self, message: Answer) -> Result<(), Cause> {
        let mut ends = self.ends.lock().await;
        let mut answers = ends.send(message)?;
        loop {
            // After an overrun it is not known whether the change was made: the next look at the
            // kernel tells.
            let answer = ends.next(&mut answers).await?;
            if let NetlinkPayload::Error(error) = answer.payload {
                return match error.raw_code() {
                    0 => Ok(()),
                    code => Err(error::refused(code, answer.header.flags, &error.header)),
                };
            }
        }
    }

    /// One dump, read to its end even when it is known to be of no use: the kernel refuses the next
    /// one with `EBUSY` until then.
    async fn listed(&self, message: Answer) -> Result<Vec<Message>, Cause> {
        let mut ends = self.ends.lock().await;
        let mut answers = ends.send(message)?;
        let mut list = Vec::new();
        let mut fault = None;
        loop {
            let answer = match ends.next(&mut answers).await {
                Ok(answer) => answer,
                Err(Cause::Overrun) => {
                    fault.get_or_insert(Cause::Overrun);
                    continue;
                }
                Err(cause) => return Err(cause),
            };
            if answer.header.flags & NLM_F_DUMP_INTR != 0 {
                fault.get_or_insert(Cause::Interrupted(DUMPS));
            }
            match answer.payload {
                NetlinkPayload::InnerMessage(Message::Unreadable(why)) => {
                    fault.get_or_insert(Cause::Unreadable(why));
                }
                NetlinkPayload::InnerMessage(Message::Other(_)) => {}
                NetlinkPayload::InnerMessage(message) => list.push(message),
                NetlinkPayload::Done(done) if done.code < 0 => {
                    return Err(error::refused_with(done.code, &done.extended_ack));
                }
                NetlinkPayload::Done(_) => return fault.map_or(Ok(list), Err),
                NetlinkPayload::Error(error) if error.raw_code() != 0 => {
                    let flags = answer.header.flags;
                    return Err(error::refused(error.raw_code(), flags, &error.header));
                }
                _ => {}
            }
        }
    }
}

impl Ends {
    fn send(
        &mut self,
        message: Answer,
    ) -> Result<impl Stream<Item = Answer> + Unpin + use<>, Cause> {
        // What is left of an earlier request says nothing of this one.
        while self.unsolicited.try_recv().is_ok() {}
        let kernel = SocketAddr::new(0, 0);
        self.requests.request(message, kernel).map_err(|_| closed())
    }

    /// The next part of the answer, or word that something was lost.
    async fn next(
        &mut self,
        answers: &mut (impl Stream<Item = Answer> + Unpin),
    ) -> Result<Answer, Cause> {
        loop {
            tokio::select! {
                biased;
                // Late answers to a request that was given up come here as well.
                Some((message, _)) = self.unsolicited.next() => {
                    if let NetlinkPayload::Overrun(_) = message.payload {
                        return Err(Cause::Overrun);
                    }
                }
                answer = answers.next() => return answer.ok_or_else(closed),
            }
        }
    }
}

/// A request on its way into a [`NetlinkMessage`].
struct Payload(RouteNetlinkMessage);

impl From<Payload> for Answer {
    fn from(Payload(request): Payload) -> Self {
        Self::new(
            rtnetlink::packet_core::NetlinkHeader::default(),
            NetlinkPayload::InnerMessage(Message::Request(request)),
        )
    }
}

fn failed(attempt: &str, cause: Cause) -> NetlinkError {
    NetlinkError {
        attempt: attempt.to_owned(),
        cause,
    }
}

fn closed() -> Cause {
    Cause::Socket("it was closed".to_owned())
}

fn tolerate_unknown(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.raw_os_error() == Some(Errno::ENOPROTOOPT as i32) => Ok(()),
        other => other,
    }
}
