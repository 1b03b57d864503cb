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
mod written;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use tokio::runtime::Builder;

use crate::command_line::{Invocation, UsageError, options, places, roots};
use crate::exit::{Ended, Exit};
use crate::log;
use crate::netlink::Netlink;
use crate::pause::block_on;
use crate::policy::Policy;
use crate::print_error;
use crate::roots::Roots;

/// How a command ended, for the program's end, or what is wrong with its arguments.
type Answer = Result<ExitCode, UsageError>;

pub(crate) fn run(invocation: &Invocation) -> Answer {
    let (roots, places) = (roots(invocation)?, places(invocation)?);
    begin_log(invocation)?;
    Ok(end(service(run::run(&roots, &places))))
}

pub(crate) fn apply(invocation: &Invocation) -> Answer {
    let (roots, places) = (roots(invocation)?, places(invocation)?);
    let wait = invocation.number(&options::WAIT).unwrap_or_default();
    begin_log(invocation)?;
    Ok(end(block_on(apply::apply(&roots, &places, wait))))
}

pub(crate) fn plan(invocation: &Invocation) -> Answer {
    let (roots, places) = (roots(invocation)?, places(invocation)?);
    let json = invocation.has(&options::JSON);
    begin_log(invocation)?;
    Ok(end(block_on(plan::plan(&roots, &places, json))))
}

pub(crate) fn status(invocation: &Invocation) -> Answer {
    let json = invocation.has(&options::JSON);
    Ok(end(status::status(&roots(invocation)?, json)))
}

pub(crate) fn check(invocation: &Invocation) -> Answer {
    Ok(end(check::check(&roots(invocation)?)))
}

/// Tells nothing on its way: what delays the command is left out.
pub(crate) fn exec(invocation: &Invocation) -> Answer {
    let target = exec::Target {
        device: invocation.required(&options::DEVICE)?,
        memory: invocation.required(&options::MEMORY)?,
        strict: invocation.has(&options::STRICT),
    };
    let roots = roots(invocation)?;
    Ok(end(exec::exec(&roots, &target, invocation.operands())))
}

pub(crate) fn env(invocation: &Invocation) -> Answer {
    let device: String = invocation.required(&options::DEVICE)?;
    Ok(end(env::env(&roots(invocation)?, &device)))
}

pub(crate) fn inspect(invocation: &Invocation) -> Answer {
    let json = invocation.has(&options::JSON);
    let roots = roots(invocation)?;
    begin_log(invocation)?;
    Ok(end(block_on(inspect::inspect(&roots, json))))
}

pub(crate) fn revert(invocation: &Invocation) -> Answer {
    let dry_run = invocation.has(&options::DRY_RUN);
    let roots = roots(invocation)?;
    begin_log(invocation)?;
    Ok(end(block_on(revert::revert(&roots, dry_run))))
}

#[expect(clippy::unnecessary_wraps, reason = "as the others")]
pub(crate) fn validate(invocation: &Invocation) -> Answer {
    let files = invocation.operands().iter().map(PathBuf::from);
    let files: Vec<PathBuf> = files.collect();
    Ok(end(validate::validate(&files)))
}

/// Prints what `--help` asks for.
pub(crate) fn print_help(text: &str) -> ExitCode {
    end(print(text.trim_end()).map(|()| Exit::Done))
}

fn begin_log(invocation: &Invocation) -> Result<(), UsageError> {
    log::begin(invocation.required(&options::LOG_LEVEL)?);
    Ok(())
}

fn end(result: Result<Exit, Ended>) -> ExitCode {
    let exit = result.unwrap_or_else(|ended| {
        print_error(&ended.message);
        ended.exit
    });
    exit.into()
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
