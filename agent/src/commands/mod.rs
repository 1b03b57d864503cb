//! The subcommands, a file each.

mod apply;
mod check;
mod env;
mod exec;
mod inspect;
mod near;
mod plan;
mod revert;
mod run;
mod status;
mod validate;

use std::io::Write as _;

use tokio::runtime::Builder;

use crate::cli::{Cli, Command};
use crate::exit::{Ended, Exit};
use crate::netlink::Netlink;
use crate::pause::block_on;
use crate::policy::Policy;
use crate::roots::Roots;

/// Runs the command.
///
/// # Errors
/// With the exit code and the sentence for standard error.
pub fn run(cli: Cli) -> Result<Exit, Ended> {
    let roots = Roots::from(cli.roots);
    match cli.command {
        Command::Run(source) => service(run::run(&roots, &source.places())),
        Command::Apply { source, wait } => block_on(apply::apply(&roots, &source.places(), wait)),
        Command::Plan { source, json } => block_on(plan::plan(&roots, &source.places(), json)),
        Command::Status { json } => status::status(&roots, json),
        Command::Check => check::check(&roots),
        Command::Env { device } => env::env(&roots, &device),
        Command::Exec(arguments) => exec::exec(&roots, arguments),
        Command::Inspect { json } => block_on(inspect::inspect(&roots, json)),
        Command::Revert { dry_run } => block_on(revert::revert(&roots, dry_run)),
        Command::Validate { files } => validate::validate(&files),
    }
}

/// Runs the service, which waits for vsock and signals too.
fn service(command: impl Future<Output = Result<Exit, Ended>>) -> Result<Exit, Ended> {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Ended::failed(format!("cannot start: {error}")))?
        .block_on(command)
}

fn load_policy(roots: &Roots) -> Result<Policy, Ended> {
    Policy::load(&roots.etc).map_err(Ended::usage)
}

fn connect() -> Result<Netlink, Ended> {
    Netlink::open().map_err(Ended::failed)
}

/// Prints to standard output; a reader that has gone away is no failure of ours.
fn print(text: impl std::fmt::Display) -> Result<(), Ended> {
    // In one piece: standard output would write line by line.
    let text = format!("{text}\n");
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(Ended::failed(
            format!("cannot write to standard output: {error}"),
        )),
        _ => Ok(()),
    }
}

fn print_json(value: &impl serde::Serialize) -> Result<(), Ended> {
    let text = serde_json::to_string_pretty(value).map_err(Ended::failed)?;
    print(text)
}
