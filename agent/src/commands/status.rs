//! `status`: what the last run or apply saw.

use super::{print, print_json, written};
use crate::exit::{Ended, Exit};
use crate::roots::Roots;

pub(super) fn status(roots: &Roots, json: bool) -> Result<Exit, Ended> {
    let status = written::status(roots)?;
    if json {
        print_json(&status)?;
    } else {
        print(&status)?;
    }
    Ok(Exit::Done)
}
