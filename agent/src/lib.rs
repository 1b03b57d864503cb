//! The agent in the guest: observe → plan → apply → verify → report, a room for each step.

pub mod apply;
pub mod command_line;
mod commands;
pub mod concern;
pub mod damper;
pub mod exit;
pub mod extent;
mod foes;
pub mod grace;
pub mod irqbalance;
pub mod journal;
mod kernel_calls;
mod listing;
pub mod lock;
pub mod log;
pub mod memory;
pub mod netlink;
pub mod numa;
pub mod observe;
pub mod owners;
pub mod pace;
mod pause;
pub mod pipeline;
pub mod plan;
pub mod policy;
pub mod report;
pub mod roots;
pub mod routing;
pub mod signals;
mod silent_share;
mod small_file;
pub mod source;
mod state_directory;
pub mod udev;
pub mod units;
pub mod verify;

use std::io::Write as _;
use std::process::ExitCode;

use command_line::{PROGRAM, Parsed, WRONG_USAGE};

/// Runs the program: reads the command line and does what it asks for.
pub fn main() -> ExitCode {
    match command_line::parse(&PROGRAM, std::env::args_os().skip(1)) {
        Ok(Parsed::Run(invocation)) => {
            (invocation.command().run)(&invocation).unwrap_or_else(|error| wrong_usage(&error))
        }
        Ok(Parsed::Print(text)) => commands::print_help(&text),
        Err(error) => wrong_usage(&error),
    }
}

fn wrong_usage(error: &command_line::UsageError) -> ExitCode {
    print_error(error);
    ExitCode::from(WRONG_USAGE)
}

fn print_error(error: &dyn std::fmt::Display) {
    // The exit code says it too, where nobody reads.
    let _ = writeln!(std::io::stderr(), "dra-guest-agent: {error}");
}
