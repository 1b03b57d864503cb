//! `dra-cdi-hook`: the OCI hook that writes a VM's device attributes, and its CDI spec.
//!
//! A container runtime starts it as root, with the whole host in sight, against a root file system
//! that a stranger made. So: no environment but one log level, no child process, no network, no
//! mount; every path of the container is resolved by the kernel inside the root file system
//! (`create_container`).

mod absolute_path;
pub mod command_line;
mod create_container;
mod doctor;
pub mod fence;
mod generate;
mod glob;
mod hook_options;
mod install;
pub mod keep_up;
mod key_pattern;
mod node_root;
pub mod spec;
mod whole_file;

use std::io::Write;
use std::process::ExitCode;

pub use crate::absolute_path::{AbsolutePath, AbsolutePathError};
use crate::command_line::{Invocation, Parsed, UsageError, WRONG_USAGE};
pub use crate::hook_options::{HookOptions, OnError, VmMountSource};
pub use crate::key_pattern::{KeyPattern, KeyPatternError};

/// Runs the program: reads the command line and does what it asks for.
pub fn main() -> ExitCode {
    // The default hook reads RUST_BACKTRACE, and the environment may be a stranger's.
    std::panic::set_hook(Box::new(|panic| {
        let _ = writeln!(std::io::stderr(), "dra-cdi-hook: internal error: {panic}");
    }));
    match command_line::parse(&command_line::PROGRAM, std::env::args_os().skip(1)) {
        Ok(Parsed::Run(invocation)) => {
            (invocation.command().run)(&invocation).unwrap_or_else(|error| wrong_usage(&error))
        }
        Ok(Parsed::Print(text)) => print(text.as_bytes(), "the help"),
        Err(error) => wrong_usage(&error),
    }
}

fn create_container_of(invocation: &Invocation) -> Result<ExitCode, UsageError> {
    let options = HookOptions::from_invocation(invocation)?;
    Ok(create_container::main(&options))
}

fn wrong_usage(error: &UsageError) -> ExitCode {
    print_error(error);
    ExitCode::from(WRONG_USAGE)
}

fn print_error(error: &dyn std::fmt::Display) {
    // Nothing can be said when even this cannot be written.
    let _ = writeln!(std::io::stderr(), "dra-cdi-hook: error: {error}");
}

fn print_note(note: &str) {
    let _ = writeln!(std::io::stderr(), "dra-cdi-hook: note: {note}");
}

/// Writes what was asked for to standard output; `what` names it in the message of a failure.
fn print(bytes: &[u8], what: &str) -> ExitCode {
    let mut output = std::io::stdout().lock();
    match output.write_all(bytes).and_then(|()| output.flush()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            print_error(&format_args!(
                "{what} cannot be written to standard output: {error}"
            ));
            ExitCode::from(1)
        }
    }
}
