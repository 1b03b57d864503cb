//! The fence, tried from inside: each attempt is a process that enters it and then does what a hook
//! never does.
//!
//! This program starts itself again for each attempt: the fence cannot be left, not even by a test.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "fence/attempts.rs"]
mod attempts;
#[path = "fence/files.rs"]
mod files;
#[path = "fence/node.rs"]
mod node;
#[path = "fence/processes.rs"]
mod processes;
#[path = "fence/raw.rs"]
mod raw;

use std::fs;
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitCode};

use attempts::{Attempt, Expected};
use dra_cdi_hook::fence;
use libtest_mimic::{Arguments, Trial};

/// Names the attempt that this process is to make, and the directory that it may use.
const ATTEMPT: &str = "FENCE_ATTEMPT";
const PLACE: &str = "FENCE_PLACE";

fn main() -> ExitCode {
    if let Ok(name) = std::env::var(ATTEMPT) {
        let attempt = attempts::all()
            .find(|attempt| attempt.name == name)
            .unwrap();
        return inside(attempt);
    }
    let trials = attempts::all()
        .map(|attempt| Trial::test(attempt.name, move || outside(attempt).map_err(Into::into)))
        .collect();
    let conclusion = libtest_mimic::run(&Arguments::from_args(), trials);
    println!(
        "attempts to leave the fence: {}",
        conclusion.num_passed + conclusion.num_failed
    );
    conclusion.exit_code()
}

/// In the process that is fenced in.
fn inside(attempt: &Attempt) -> ExitCode {
    let place = std::env::var(PLACE).unwrap();
    let place = Path::new(&place);
    let mut missing = fence::first();
    let read = fs::File::open(place.join("read")).unwrap();
    let write = fs::File::open(place.join("write")).unwrap();
    missing.extend(fence::enter());
    missing.extend(
        fence::Files {
            read: vec![read.as_fd()],
            write: Some(write.as_fd()),
        }
        .confine(),
    );
    for layer in &missing {
        eprintln!("{layer}");
    }
    if !missing.is_empty() {
        return ExitCode::from(9);
    }
    match (attempt.make)(place) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            // The kernel's number: what was refused, and why.
            ExitCode::from(u8::try_from(error.raw_os_error().unwrap_or(255)).unwrap_or(255))
        }
    }
}

/// Starts the attempt, and looks at how it ended.
fn outside(attempt: &'static Attempt) -> Result<(), String> {
    let directory = tempfile::tempdir().unwrap();
    for name in ["read", "write", "elsewhere"] {
        fs::create_dir(directory.path().join(name)).unwrap();
        fs::write(directory.path().join(name).join("file"), "untouched").unwrap();
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .env(ATTEMPT, attempt.name)
        .env(PLACE, directory.path())
        .output()
        .unwrap();
    let ended = (output.status.code(), output.status.signal());
    let expected = match attempt.expected {
        Expected::Killed => (None, Some(libc::SIGSYS)),
        Expected::Refused(errno) => (Some(errno), None),
        Expected::Done => (Some(0), None),
    };
    if ended != expected {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("ended with {ended:?}, not {expected:?}: {said}"));
    }
    let elsewhere = directory.path().join("elsewhere");
    let names: Vec<_> = fs::read_dir(&elsewhere)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    if names != ["file"] || fs::read_to_string(elsewhere.join("file")).unwrap() != "untouched" {
        return Err(format!("something was done elsewhere: {names:?}"));
    }
    Ok(())
}
