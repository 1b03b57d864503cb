//! `exec`: a command on a device's CPUs and memory, in this process' place.

use std::convert::Infallible;
use std::ffi::{CString, OsString};
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use nix::errno::Errno;
use nix::unistd::execvp;

use super::{near, written};
use crate::exit::{Ended, Exit};
use crate::kernel_calls::restore_sigpipe;
use crate::numa::placement::{Memory, place};
use crate::report::choose;
use crate::roots::Roots;

/// What a command is to be near, and how strictly.
#[derive(Debug)]
pub(super) struct Target {
    /// The device, by one of its names.
    pub(super) device: String,
    /// Where the command's memory comes from.
    pub(super) memory: Memory,
    /// Whether it is not to run elsewhere.
    pub(super) strict: bool,
}

pub(super) fn exec(roots: &Roots, target: &Target, command: &[OsString]) -> Result<Exit, Ended> {
    let Target {
        device,
        memory,
        strict,
    } = target;
    // Nothing but a status and sysfs is asked: each system call delays the command.
    let places = written::places(roots)?;
    let chosen = choose(&places.devices, device).map_err(Ended::usage)?;
    let failed = |error: &dyn std::fmt::Display| Ended::failed(format!("{device}: {error}"));
    let remarks = match near::near(chosen).map_err(|why| failed(&why))? {
        near::Near::Nodes { nodes, cpus } => {
            place(&roots.sys, &nodes, cpus.as_ref(), *memory).map_err(|error| failed(&error))?
        }
        near::Near::Everywhere => Vec::new(),
        near::Near::Unknown(why) => vec![format!("{why}: it runs on any CPU")],
    };
    if *strict && !remarks.is_empty() {
        return Err(failed(&remarks.join("; ")));
    }
    for remark in remarks {
        // The command runs all the same, where nobody reads.
        let _ = writeln!(std::io::stderr(), "dra-guest-agent: {device}: {remark}");
    }
    let Err(ended) = replace(command);
    Err(ended)
}

/// Puts the command in this process' place.
fn replace(command: &[OsString]) -> Result<Infallible, Ended> {
    let words: Result<Vec<CString>, _> = command
        .iter()
        .map(|word| CString::new(word.as_bytes()))
        .collect();
    // An argument that the kernel handed over has no NUL in it.
    let words = words.map_err(Ended::usage)?;
    let Some(program) = words.first() else {
        return Err(Ended::usage("no command"));
    };
    restore_sigpipe();
    let Err(errno) = execvp(program, &words);
    let exit = match errno {
        Errno::ENOENT => Exit::CommandNotFound,
        _ => Exit::CommandCannotRun,
    };
    let program = program.to_string_lossy();
    let why = match errno {
        // A script whose `#!` line, or a program whose loader, leads nowhere.
        Errno::ENOENT if program.contains('/') && Path::new(&*program).exists() => {
            "it is there, and the interpreter that it names is not".to_owned()
        }
        Errno::ENOEXEC => "it is no program, and no script that begins with #!".to_owned(),
        errno => errno.desc().to_owned(),
    };
    Err(Ended {
        exit,
        message: format!("{program} cannot be run: {why}"),
    })
}
