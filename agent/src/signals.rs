//! Signals as something to wait for, so that a pass is never cut in its middle.
//!
//! By `signalfd(2)`: tokio's own signals would cost every short command their set-up.

use std::io;
use std::os::fd::AsFd as _;

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use tokio::net::unix::pipe;

use crate::exit::Ended;

/// `sizeof(struct signalfd_siginfo)` (signalfd(2)), of which the first four bytes are the number.
const SIGNAL_BYTES: usize = 128;

/// The signals of the service.
#[derive(Debug)]
pub struct Signals(pipe::Receiver);

/// What systemd, or a person, wishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// SIGTERM or SIGINT: the agent is to end.
    End,
    /// SIGHUP: it is to read its policy again.
    Reload,
}

impl Signals {
    /// Keeps the signals from ending the process from now on.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn new() -> Result<Self, Ended> {
        Self::open().map_err(|error| Ended::failed(format!("cannot wait for signals: {error}")))
    }

    fn open() -> io::Result<Self> {
        let mut signals = SigSet::empty();
        signals.add(Signal::SIGTERM);
        signals.add(Signal::SIGINT);
        signals.add(Signal::SIGHUP);
        signals.thread_block()?;
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        let descriptor = SignalFd::with_flags(&signals, flags)?;
        // To poll, a signalfd is what a pipe is: tokio has no other type that takes any
        // descriptor and needs no unsafe code.
        pipe::Receiver::from_owned_fd_unchecked(descriptor.as_fd().try_clone_to_owned()?).map(Self)
    }

    /// Waits for the next one. That it is dropped before it is there loses none.
    pub async fn next(&self) -> Wish {
        let mut signal = [0; SIGNAL_BYTES];
        loop {
            // That the reactor fails is an end.
            if self.0.readable().await.is_err() {
                return Wish::End;
            }
            match self.0.try_read(&mut signal) {
                Ok(_) => {
                    let [a, b, c, d, ..] = signal;
                    let is_reload = u32::from_ne_bytes([a, b, c, d]) == Signal::SIGHUP as u32;
                    return if is_reload { Wish::Reload } else { Wish::End };
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return Wish::End,
            }
        }
    }
}
