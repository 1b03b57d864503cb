//! What the hook takes from itself before it reads the first byte of a stranger's.
//!
//! It runs as root, beside a container that may be hostile, and its input is a stranger's. Should
//! that input ever get the better of the program, it is to find nothing to use: [`first`] gives the
//! process a deadline and clears what it inherited, [`enter`] takes its capabilities and all system
//! calls but those of a run, [`Files::confine`] all places but those of this run. None of it can be
//! undone, and each layer stands alone: where a kernel lacks one, the hook says so and goes on.

mod capabilities;
mod deadline;
mod files;
mod filter;
mod inherited;
mod limits;
mod system_calls;

pub use deadline::DEADLINE;
pub use files::Files;

/// What could not be taken away, for the log. Each is one layer less, and no reason to stop.
pub type Missing = Vec<String>;

/// The first thing that the process does: nobody else's descriptors, a known umask, a deadline.
///
/// Must be called before the process has opened anything.
pub fn first() -> Missing {
    let mut missing = Missing::new();
    missing.extend(inherited::close());
    // Every file that the hook makes in a container gets its mode by descriptor; the log does not.
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    missing.extend(deadline::start());
    missing
}

/// The fence itself: resource limits, capabilities, system calls.
///
/// Afterwards the process cannot start a program or a thread, reach the network, mount, trace,
/// make a device, a link or a directory, change an owner, or open a file for writing that is not new.
/// An attempt ends it at once with SIGSYS.
pub fn enter() -> Missing {
    let mut missing = Missing::new();
    missing.extend(limits::set());
    missing.extend(capabilities::drop_others());
    missing.extend(system_calls::restrict());
    missing
}
