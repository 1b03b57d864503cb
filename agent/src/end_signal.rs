//! SIGTERM and SIGINT as something to wait for, so that a pass is never cut in its middle.
//!
//! By `signalfd(2)`: tokio's own signals would cost every short command their set-up.

use std::io;
use std::os::fd::AsFd as _;

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use tokio::net::unix::pipe;

use crate::exit::Ended;

/// The wish of systemd, or of a person, that the agent end.
#[derive(Debug)]
pub struct EndSignal(pipe::Receiver);

impl EndSignal {
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
        signals.thread_block()?;
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        let descriptor = SignalFd::with_flags(&signals, flags)?;
        // To poll, a signalfd is what a pipe is: tokio has no other type that takes any
        // descriptor and needs no unsafe code.
        pipe::Receiver::from_owned_fd_unchecked(descriptor.as_fd().try_clone_to_owned()?).map(Self)
    }

    /// Waits for one of them.
    pub async fn arrived(&self) {
        // It stays readable, since nobody reads it: the end is final. That the reactor fails is an
        // end too.
        let _ = self.0.readable().await;
    }
}
