//! `dra-guest-relay`: the node's daemon between guests and their ResourceClaim objects.

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;
use dra_guest_relay::arguments::{Arguments, Command};
use dra_guest_relay::run::{self, Failure};
use dra_guest_relay::{doctor, log};

fn main() -> ExitCode {
    let mut arguments = Arguments::parse();
    log::begin(arguments.log_format, arguments.log_level);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            say(format_args!("the event loop cannot be made: {error}"));
            return ExitCode::FAILURE;
        }
    };
    let ended = match arguments.command.take() {
        Some(Command::Doctor(asked)) => runtime.block_on(doctor::run(asked)),
        None => runtime
            .block_on(run::run(arguments))
            .map(|()| ExitCode::SUCCESS),
    };
    // A write of a file that is under way is finished, unless the file system hangs.
    runtime.shutdown_timeout(run::GRACE);
    ended.unwrap_or_else(|failure: Failure| {
        say(&failure);
        ExitCode::from(failure.exit_code())
    })
}

/// The last words. Where nobody reads them, the exit code says it too.
fn say(words: impl std::fmt::Display) {
    let _ = writeln!(std::io::stderr(), "dra-guest-relay: {words}");
}
