//! `dra-guest-agent`: puts the attributes of a VM's devices to use inside the VM.

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;
use dra_guest_agent::cli::Cli;
use dra_guest_agent::commands;
use dra_guest_agent::log::Lines;

/// musl's own allocator asks the kernel for every few objects: half of a short run's system calls.
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

fn main() -> ExitCode {
    let cli = Cli::parse();
    if !cli.command.is_silent() {
        log(cli.log_level);
    }
    match commands::run(cli) {
        Ok(exit) => exit.into(),
        Err(ended) => {
            // The exit code says it too, where nobody reads.
            let _ = writeln!(std::io::stderr(), "dra-guest-agent: {}", ended.message);
            ended.exit.into()
        }
    }
}

/// What is told on the way. The journal, or whoever reads standard error, adds the time.
fn log(level: tracing::Level) {
    tracing_subscriber::fmt()
        .with_writer(|| Lines)
        .with_max_level(level)
        .with_target(false)
        .with_ansi(false)
        .without_time()
        // A journal that has gone away is no reason to end: the default would panic then.
        .log_internal_errors(false)
        .init();
}
