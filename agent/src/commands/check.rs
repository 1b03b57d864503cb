//! `check`: the state as an exit code, for probes.

use super::written;
use crate::exit::{Ended, Exit};
use crate::roots::Roots;

pub(super) fn check(roots: &Roots) -> Result<Exit, Ended> {
    let ended = |exit, message: String| Err(Ended { exit, message });
    let status = written::status(roots)?;
    if status.ready {
        return Ok(Exit::Done);
    }
    if let (Some(problem), None) = (&status.problem, &status.document_digest) {
        return ended(Exit::NoAttributes, problem.clone());
    }
    let waiting: Vec<String> = status
        .devices
        .iter()
        .map(|device| &device.report)
        .filter(|device| !device.ready)
        .map(|device| format!("{}: {}: {}", device.identity, device.reason, device.message))
        .collect();
    match status.problem {
        // What is known of the devices is no longer sure.
        Some(problem) if waiting.is_empty() => ended(Exit::Failed, problem),
        _ => ended(Exit::SomeDevices, waiting.join("; ")),
    }
}
