//! `dra-guest-relay`: the node's daemon between guests and their ResourceClaim objects.

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;
use dra_guest_relay::arguments::Arguments;
use dra_guest_relay::run::run;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    tracing_subscriber::fmt()
        .with_max_level(arguments.log_level)
        .with_writer(std::io::stderr)
        .with_target(false)
        // A journal that has gone away is no reason to end: the default would panic then.
        .log_internal_errors(false)
        .init();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let ended = match runtime {
        Ok(runtime) => runtime.block_on(run(arguments)),
        Err(error) => {
            say(format_args!("the event loop cannot be made: {error}"));
            return ExitCode::FAILURE;
        }
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            say(&failure);
            ExitCode::from(failure.exit_code())
        }
    }
}

/// The last words. Where nobody reads them, the exit code says it too.
fn say(words: impl std::fmt::Display) {
    let _ = writeln!(std::io::stderr(), "dra-guest-relay: {words}");
}
