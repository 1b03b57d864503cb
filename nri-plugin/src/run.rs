//! Connects to the runtime, and again when the connection ends: runtimes restart, and plugins may be there first.

use std::convert::Infallible;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use backon::{BackoffBuilder as _, ExponentialBuilder};
use dra_cdi_hook::keep_up::{ArgumentsError, HookWishes};
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::command_line::Arguments;
use crate::hook::HookRequest;
use crate::plugin::Plugin;
use crate::prepare::{self, PrepareError};
use crate::protocol::trunk::{Trunk, TrunkError};
use crate::session::{self, SessionError};

/// The pauses before the next attempt, up to the longest, with jitter.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// A connection that held for so long was a good one: the next pause is short again.
const GOOD: Duration = Duration::from_secs(30);

/// Why the program cannot run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// It could not be ended in order.
    #[error("SIGTERM cannot be waited for: {0}")]
    Signals(#[source] std::io::Error),
    /// The hook would not take them.
    #[error("the options for the hook: {0}")]
    HookOptions(#[from] ArgumentsError),
    /// The node is not as the options want it.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// Without a thread there are no live updates.
    #[error("the thread that keeps documents up to date cannot be started: {0}")]
    Refresh(#[source] std::io::Error),
}

impl RunError {
    /// The exit code.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::HookOptions(_) => 2,
            _ => 1,
        }
    }
}

/// Runs until a signal ends the process. What the plugin knows is the runtime's, which tells it again.
///
/// # Errors
/// When it cannot begin.
pub fn run(arguments: &Arguments) -> Result<Infallible, RunError> {
    // The first process of a container ignores these unless it asks for them.
    let now = Arc::new(AtomicBool::new(true));
    for signal in [SIGTERM, SIGINT] {
        signal_hook::flag::register_conditional_shutdown(signal, 0, Arc::clone(&now))
            .map_err(RunError::Signals)?;
    }
    HookWishes::of_arguments(&HookRequest::new(arguments).arguments(None))?;
    prepare::prepare(arguments)?;
    let plugin = Plugin::start(arguments).map_err(RunError::Refresh)?;
    let pauses = || {
        ExponentialBuilder::default()
            .with_min_delay(FIRST_PAUSE)
            .with_max_delay(LONGEST_PAUSE)
            .with_jitter()
            .without_max_times()
            .build()
    };
    let mut next = pauses();
    let mut said = String::new();
    loop {
        let begun = Instant::now();
        let Err(error) = connect(arguments, &plugin);
        if begun.elapsed() > GOOD {
            next = pauses();
        }
        let pause = next.next().unwrap_or(LONGEST_PAUSE);
        let words = format!("{}: {error}", arguments.socket.display());
        if words == said {
            tracing::debug!("{words}; next attempt in {pause:?}");
        } else {
            tracing::warn!("{words}; it is tried again and again");
            said = words;
        }
        if matches!(error, SessionError::Trunk(TrunkError::Closed)) {
            said.clear();
        }
        std::thread::sleep(pause);
    }
}

fn connect(arguments: &Arguments, plugin: &Plugin) -> Result<Infallible, SessionError> {
    let socket = UnixStream::connect(&arguments.socket).map_err(SessionError::Connect)?;
    let mut trunk = Trunk::new(socket).map_err(SessionError::Connect)?;
    session::serve(&mut trunk, &arguments.index, plugin)
}
