//! The subcommands, a file each.

mod apply;
mod check;
mod inspect;
mod plan;
mod run;
mod status;
mod validate;

use std::io::Write as _;

use crate::cli::{Cli, Command};
use crate::exit::{Ended, Exit};
use crate::netlink::Netlink;
use crate::policy::Policy;
use crate::roots::Roots;

/// Runs the command.
///
/// # Errors
/// With the exit code and the sentence for standard error.
pub fn run(cli: Cli) -> Result<Exit, Ended> {
    let roots = Roots::from(cli.roots);
    match cli.command {
        Command::Run(source) => asynchronous(run::run(&roots, &source.places())),
        Command::Apply { source, wait } => {
            asynchronous(apply::apply(&roots, &source.places(), wait))
        }
        Command::Plan { source, json } => asynchronous(plan::plan(&roots, &source.places(), json)),
        Command::Status { json } => status::status(&roots, json),
        Command::Check => check::check(&roots),
        Command::Inspect { json } => asynchronous(inspect::inspect(&roots, json)),
        Command::Validate { files } => validate::validate(&files),
    }
}

fn asynchronous(command: impl Future<Output = Result<Exit, Ended>>) -> Result<Exit, Ended> {
    tokio::runtime::Builder::new_current_thread()
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
    match writeln!(std::io::stdout().lock(), "{text}") {
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
