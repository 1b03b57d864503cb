//! `dra-guest-relay`: the node's daemon between guests and their ResourceClaim objects.

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
        .init();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let ended = match runtime {
        Ok(runtime) => runtime.block_on(run(arguments)),
        Err(error) => {
            eprintln!("dra-guest-relay: the event loop cannot be made: {error}");
            return ExitCode::FAILURE;
        }
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("dra-guest-relay: {failure}");
            ExitCode::from(failure.exit_code())
        }
    }
}
