//! Ctrl-C, and the word of `kill`, as an error: so that what a program has started and written ends with
//! its guards, in their order, and not half.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

use std::process::ExitCode;

use anyhow::{Result, bail};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

static ARRIVED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// The exit code of a program that was interrupted, as shells have it for SIGINT.
pub const EXIT_CODE: u8 = 130;

/// The `main` of a program that is watched: runs `program`, and says on standard error how it failed, or that it was
/// interrupted. `name` stands before the words.
pub fn watched(name: &str, program: fn() -> Result<()>) -> ExitCode {
    match watch().and_then(|()| program()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) if arrived() => {
            eprintln!("\ninterrupted: what was started has ended");
            ExitCode::from(EXIT_CODE)
        }
        Err(error) => {
            eprintln!("\n{name} failed: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Keeps the signals from ending the program from now on: [`check`] fails after the first. The second
/// ends it at once.
///
/// # Errors
/// When the kernel refuses.
pub fn watch() -> Result<()> {
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        // In this order: what the first signal sets is not there yet when it is looked at.
        flag::register_conditional_shutdown(signal, EXIT_CODE.into(), Arc::clone(&ARRIVED))?;
        flag::register(signal, Arc::clone(&ARRIVED))?;
    }
    Ok(())
}

/// Whether a signal has come.
pub fn arrived() -> bool {
    ARRIVED.load(Ordering::Relaxed)
}

/// Fails when a signal has come. Whatever waits asks it.
///
/// # Errors
/// See above.
pub fn check() -> Result<()> {
    if arrived() {
        bail!("interrupted");
    }
    Ok(())
}
