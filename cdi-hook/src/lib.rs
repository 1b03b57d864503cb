//! `dra-cdi-hook`: the OCI hook that writes a VM's device attributes, and its CDI spec.
//!
//! A container runtime starts it as root, with the whole host in sight, against a root file system
//! that a stranger made. So: no environment but one log level, no child process, no network, no
//! mount; every path of the container is resolved by the kernel inside the root file system
//! ([`create_container`]).

mod absolute_path;
mod cli;
mod create_container;
pub mod keep_up;
mod spec;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use crate::cli::{Cli, Command};

/// Runs the program: reads the command line and does what it asks for.
pub fn main() -> ExitCode {
    // The default hook reads RUST_BACKTRACE, and the environment may be a stranger's.
    std::panic::set_hook(Box::new(|panic| {
        let _ = writeln!(std::io::stderr(), "dra-cdi-hook: internal error: {panic}");
    }));
    match Cli::try_parse() {
        Ok(Cli {
            command: Command::CreateContainer(options),
        }) => create_container::main(&options),
        Ok(Cli {
            command: Command::Spec(options),
        }) => spec::main(&options),
        Err(error) => {
            // Nothing can be said when even this cannot be written.
            let _ = error.print();
            ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
        }
    }
}
