//! `check`: the state as an exit code, for probes.

use crate::exit::{Ended, Exit};
use crate::report::Status;
use crate::roots::Roots;

pub(super) fn check(roots: &Roots) -> Result<Exit, Ended> {
    let ended = |exit, message: String| Err(Ended { exit, message });
    let Some(status) = Status::read(roots).map_err(Ended::failed)? else {
        return ended(
            Exit::NoAttributes,
            format!(
                "there is no {}: the agent has not run yet",
                Status::path(roots).display()
            ),
        );
    };
    if status.ready {
        return Ok(Exit::Done);
    }
    if let (Some(problem), true) = (&status.problem, status.devices.is_empty()) {
        return ended(Exit::NoAttributes, problem.clone());
    }
    let waiting: Vec<String> = status
        .devices
        .iter()
        .filter(|device| !device.ready)
        .map(|device| format!("{}: {}: {}", device.identity, device.reason, device.message))
        .collect();
    ended(Exit::SomeDevices, waiting.join("; "))
}
