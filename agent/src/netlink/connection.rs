//! One socket to the kernel's routing netlink, and how a request over it comes to its end.

use std::fmt;
use std::io;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use rtnetlink::packet_core::{
    NLM_F_ACK, NLM_F_DUMP, NLM_F_DUMP_INTR, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage,
    NetlinkPayload,
};
use rtnetlink::packet_route::RouteNetlinkMessage;
use rtnetlink::sys::Socket;
use tokio::sync::{Mutex, MutexGuard};

use super::message::Message;
use super::socket::{self, Channel};
use super::{Cause, NetlinkError, error};
use crate::pause::pause;

/// The most times that a dump is begun before a list that keeps changing is given up: with what is waited between
/// them, 2 s of changes.
pub(super) const DUMPS: usize = 25;

/// How long is waited before a list is read again, at most. A burst of changes has gaps.
const REST: Duration = Duration::from_millis(128);

/// How long one request may take. Netlink answers within the system call unless another task holds
/// the RTNL lock, which module loading and driver resets do for seconds.
const DEADLINE: Duration = Duration::from_secs(10);

/// How long to wait for an answer that was not there at once.
const PAUSE: Duration = Duration::from_millis(1);

type Answer = NetlinkMessage<Message>;

/// A connection that keeps one request in flight: a second dump on a socket is `EBUSY`, and an
/// overrun could not be told apart.
#[derive(Debug)]
pub(super) struct Connection<C = Socket> {
    ends: Mutex<Ends<C>>,
    deadline: Duration,
}

#[derive(Debug)]
struct Ends<C> {
    channel: C,
    sequence: u32,
    /// Whether the kernel was told to say why it refuses, which only changes are worth.
    is_explaining: bool,
    /// Whether the answer to the request before was not read to its end.
    is_unfinished: bool,
    /// Messages are taken from its front.
    datagram: Vec<u8>,
    taken: usize,
}

impl Connection {
    pub(super) fn open() -> io::Result<Self> {
        Ok(Self::over(socket::open()?, DEADLINE))
    }
}

impl<C: Channel> Connection<C> {
    /// Speaks over a socket that is set up.
    pub(super) fn over(channel: C, deadline: Duration) -> Self {
        Self {
            ends: Mutex::new(Ends {
                channel,
                sequence: 0,
                is_explaining: false,
                is_unfinished: false,
                datagram: Vec::with_capacity(socket::DATAGRAM_BYTES),
                taken: 0,
            }),
            deadline,
        }
    }

    /// Asks for one change.
    pub(super) async fn change(
        &self,
        request: RouteNetlinkMessage,
        flags: u16,
        attempt: fmt::Arguments<'_>,
    ) -> Result<(), NetlinkError> {
        let flags = NLM_F_REQUEST | NLM_F_ACK | flags;
        let mut ends = self.ends().await;
        ends.acknowledged(request, flags, self.deadline)
            .await
            .map_err(|cause| failed(attempt, cause))
    }

    /// Asks for a list, again when it changed while it was read.
    pub(super) async fn dump(
        &self,
        request: RouteNetlinkMessage,
        attempt: &str,
    ) -> Result<Vec<Message>, NetlinkError> {
        let mut last = Cause::Interrupted(DUMPS);
        let mut rest = PAUSE;
        for dumps in 1..=DUMPS {
            let mut ends = self.ends().await;
            let listed = ends.listed(request.clone(), self.deadline).await;
            drop(ends);
            match listed {
                Ok(list) => return Ok(list),
                Err(cause @ (Cause::Interrupted(_) | Cause::Overrun)) => last = cause,
                Err(cause) => return Err(failed(format_args!("{attempt}"), cause)),
            }
            if dumps < DUMPS {
                pause(rest).await;
                rest = (rest * 2).min(REST);
            }
        }
        Err(failed(format_args!("{attempt}"), last))
    }

    async fn ends(&self) -> MutexGuard<'_, Ends<C>> {
        // Nobody else has it in a short command, where tokio need not be asked to wait.
        match self.ends.try_lock() {
            Ok(ends) => ends,
            Err(_) => self.ends.lock().await,
        }
    }
}

impl<C: Channel> Ends<C> {
    async fn acknowledged(
        &mut self,
        request: RouteNetlinkMessage,
        flags: u16,
        patience: Duration,
    ) -> Result<(), Cause> {
        if !self.is_explaining {
            let told = self.channel.explain_refusals();
            told.map_err(|error| broken(&error))?;
            self.is_explaining = true;
        }
        let deadline = self.send(request, flags, patience)?;
        loop {
            // After an overrun it is not known whether the change was made: the next look at the
            // kernel tells.
            let answer = self.next(deadline, patience).await?;
            if let NetlinkPayload::Error(error) = answer.payload {
                self.is_unfinished = false;
                return match error.raw_code() {
                    0 => Ok(()),
                    code => Err(error::refused(code, answer.header.flags, &error.header)),
                };
            }
        }
    }

    /// One dump, read to its end even when it is known to be of no use: the kernel refuses the next
    /// one with `EBUSY` until then.
    async fn listed(
        &mut self,
        request: RouteNetlinkMessage,
        patience: Duration,
    ) -> Result<Vec<Message>, Cause> {
        let deadline = self.send(request, NLM_F_REQUEST | NLM_F_DUMP, patience)?;
        let mut list = Vec::new();
        let mut fault = None;
        loop {
            let answer = match self.next(deadline, patience).await {
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
            let end = match answer.payload {
                NetlinkPayload::InnerMessage(Message::Unreadable(why)) => {
                    fault.get_or_insert(Cause::Unreadable(why));
                    continue;
                }
                NetlinkPayload::InnerMessage(Message::Other(_)) => continue,
                NetlinkPayload::InnerMessage(message) => {
                    list.push(message);
                    continue;
                }
                NetlinkPayload::Done(done) if done.code < 0 => {
                    Err(error::refused_with(done.code, &done.extended_ack))
                }
                NetlinkPayload::Done(_) => fault.map_or(Ok(list), Err),
                NetlinkPayload::Error(error) if error.raw_code() != 0 => {
                    let flags = answer.header.flags;
                    Err(error::refused(error.raw_code(), flags, &error.header))
                }
                _ => continue,
            };
            self.is_unfinished = false;
            return end;
        }
    }

    /// Sends a request, and gives back until when its answer is waited for.
    fn send(
        &mut self,
        request: RouteNetlinkMessage,
        flags: u16,
        patience: Duration,
    ) -> Result<Instant, Cause> {
        let deadline = Instant::now() + patience;
        if self.is_unfinished {
            self.pass_over_the_rest(deadline);
        }
        self.datagram.clear();
        self.taken = 0;
        self.sequence = self.sequence.wrapping_add(1);
        let mut header = NetlinkHeader::default();
        header.flags = flags;
        header.sequence_number = self.sequence;
        let payload = NetlinkPayload::InnerMessage(Message::Request(request));
        let mut message = NetlinkMessage::new(header, payload);
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        self.is_unfinished = true;
        self.channel.send(&bytes).map_err(|error| broken(&error))?;
        Ok(deadline)
    }

    /// What is left of an earlier answer says nothing of the next; a list that is not read to its end
    /// keeps the next from being begun.
    fn pass_over_the_rest(&mut self, deadline: Instant) {
        let is_lost = |error: &io::Error| error.raw_os_error() == Some(Errno::ENOBUFS as i32);
        loop {
            match self.channel.receive(&mut self.datagram) {
                Err(error) if !is_lost(&error) => return,
                _ if Instant::now() >= deadline => return,
                _ => {}
            }
        }
    }

    /// The next part of the answer, or word that something was lost.
    async fn next(&mut self, deadline: Instant, patience: Duration) -> Result<Answer, Cause> {
        loop {
            while let Some(message) = self.take()? {
                // Late answers to a request that was given up come here as well.
                if message.header.sequence_number == self.sequence {
                    return Ok(message);
                }
            }
            self.datagram.clear();
            self.taken = 0;
            match self.channel.receive(&mut self.datagram) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if Instant::now() >= deadline {
                        return Err(Cause::NoAnswer(patience));
                    }
                    pause(PAUSE).await;
                }
                Err(error) if error.raw_os_error() == Some(Errno::ENOBUFS as i32) => {
                    return Err(Cause::Overrun);
                }
                Err(error) => return Err(broken(&error)),
            }
            // Somebody who never ends must not keep us here.
            if Instant::now() >= deadline {
                return Err(Cause::NoAnswer(patience));
            }
        }
    }

    /// The next message of the datagram; none at its end.
    fn take(&mut self) -> Result<Option<Answer>, Cause> {
        let rest = self.datagram.get(self.taken..).unwrap_or_default();
        if rest.is_empty() {
            return Ok(None);
        }
        let message = Answer::deserialize(rest);
        let message = message.map_err(|error| Cause::Unreadable(error.to_string()))?;
        let length = usize::try_from(message.header.length).unwrap_or(usize::MAX);
        self.taken = (self.taken).saturating_add(length.max(16).next_multiple_of(4));
        Ok(Some(message))
    }
}

fn failed(attempt: fmt::Arguments<'_>, cause: Cause) -> NetlinkError {
    NetlinkError {
        attempt: attempt.to_string(),
        cause,
    }
}

fn broken(error: &io::Error) -> Cause {
    NetlinkError::socket("", error).cause
}
