//! The end of the hook, whatever it waits for.
//!
//! A file system of the container's or the node's may hang (FUSE, NFS, a disk): no call on it takes
//! a timeout. So the kernel ends the process. SIGKILL, since whoever starts a program decides which
//! of the other signals it ignores, and since it also ends a wait that no other signal does.

use std::time::Duration;

use nix::sys::signal::{SigEvent, SigevNotify, Signal};
use nix::sys::time::TimeSpec;
use nix::sys::timer::{Expiration, Timer, TimerSetTimeFlags};
use nix::time::ClockId;

/// How long a run may take. The CDI spec's own timeout is 10 s; what ends by itself, like a state
/// that does not, says so before this.
pub const DEADLINE: Duration = Duration::from_secs(9);

pub(super) fn start() -> Option<String> {
    let kill = SigEvent::new(SigevNotify::SigevSignal {
        signal: Signal::SIGKILL,
        si_value: 0,
    });
    let started = Timer::new(ClockId::CLOCK_MONOTONIC, kill).and_then(|mut timer| {
        let end = Expiration::OneShot(TimeSpec::from_duration(DEADLINE));
        timer.set(end, TimerSetTimeFlags::empty())?;
        // It is to outlive everything but the process.
        std::mem::forget(timer);
        Ok(())
    });
    let error = std::io::Error::from(started.err()?);
    Some(format!(
        "this run has no deadline of its own, only the runtime's: timer: {error}"
    ))
}
