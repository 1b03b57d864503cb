//! `dra-guest-nri`: a plugin of the container runtime that asks for the hook `dra-cdi-hook`, where a driver does not.
//!
//! [`prepare`] puts the hook on the node where that is asked for. [`run`] connects to the runtime, again and again; [`session`] is one such connection, in the terms of [`protocol`].
//! [`plugin`] answers: it judges containers ([`selection`]), has the hook added ([`hook`]), and asks the relay for what
//! drivers write no metadata of ([`relay`]). [`refresh`] keeps the documents of running VMs up to date, on a thread of
//! its own. [`connection`] shows the node that a runtime is connected to, and [`doctor`] looks at what the plugin needs of
//! the node.

pub mod command_line;
pub mod connection;
pub mod doctor;
pub mod hook;
pub mod plugin;
pub mod prepare;
pub mod protocol;
pub mod refresh;
pub mod relay;
pub mod run;
pub mod selection;
pub mod session;

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;

use crate::command_line::{Arguments, Command};

/// Runs the program.
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if let Some(Command::Doctor(doctor)) = &arguments.command {
        return doctor::run(&arguments, doctor).unwrap_or_else(|error| {
            let _ = writeln!(
                std::io::stderr(),
                "dra-guest-nri: standard output cannot be written: {error}"
            );
            ExitCode::FAILURE
        });
    }
    tracing_subscriber::fmt()
        .with_max_level(arguments.log_level)
        .with_writer(std::io::stderr)
        .with_target(false)
        .with_ansi(false)
        // A journal that has gone away is no reason to end: the default would panic then.
        .log_internal_errors(false)
        .init();
    let Err(error) = run::run(&arguments);
    // Where nobody reads the last words, the exit code says it too.
    let _ = writeln!(std::io::stderr(), "dra-guest-nri: {error}");
    ExitCode::from(error.exit_code())
}
