//! `status`: what the last run or apply saw.

use super::{print, print_json};
use crate::exit::{Ended, Exit};
use crate::report::Status;
use crate::roots::Roots;

pub(super) fn status(roots: &Roots, json: bool) -> Result<Exit, Ended> {
    let Some(status) = Status::read(roots).map_err(Ended::failed)? else {
        return Err(Ended {
            exit: Exit::NoAttributes,
            message: format!(
                "there is no {}: the agent has not run yet",
                Status::path(roots).display()
            ),
        });
    };
    if json {
        print_json(&status)?;
    } else {
        print(&status)?;
    }
    Ok(Exit::Done)
}
