//! The status that the service or an `apply` has written, for commands that say what there is.

use crate::exit::{Ended, Exit};
use crate::report::{Places, Status};
use crate::roots::Roots;

/// Where the devices are.
pub(super) fn places(roots: &Roots) -> Result<Places, Ended> {
    let places: Option<Places> = Status::read_as(roots).map_err(Ended::failed)?;
    let places = places.ok_or_else(|| never_written(roots))?;
    match places.problem {
        Some(problem) if places.document_digest.is_none() => Err(nothing_yet(problem)),
        _ => Ok(places),
    }
}

/// All of it, where there are attributes.
pub(super) fn devices(roots: &Roots) -> Result<Status, Ended> {
    let status = status(roots)?;
    match status.problem {
        Some(problem) if status.document_digest.is_none() => Err(nothing_yet(problem)),
        _ => Ok(status),
    }
}

/// All of it.
pub(super) fn status(roots: &Roots) -> Result<Status, Ended> {
    let status = Status::read(roots).map_err(Ended::failed)?;
    status.ok_or_else(|| never_written(roots))
}

fn nothing_yet(message: String) -> Ended {
    Ended {
        exit: Exit::NoAttributes,
        message,
    }
}

/// There is no status at all.
fn never_written(roots: &Roots) -> Ended {
    let path = Status::path(roots);
    nothing_yet(format!(
        "there is no {}: the agent has not run yet; systemctl start dra-guest-agent starts it, dra-guest-agent apply \
         is one pass",
        path.display()
    ))
}
