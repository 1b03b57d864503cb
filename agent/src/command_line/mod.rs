//! The agent's command line. [`PROGRAM`] is the definition of it, as data.

mod definition;
pub mod options;

pub use ::command_line::{Invocation, Parsed, UsageError, WRONG_USAGE, parse};

pub use definition::PROGRAM;

use std::path::PathBuf;

use crate::roots::Roots;
use crate::source::Places;

/// Where the system's trees are.
///
/// # Errors
/// None for a command of [`PROGRAM`], whose options all have a default.
pub fn roots(invocation: &Invocation) -> Result<Roots, UsageError> {
    Ok(Roots {
        sys: invocation.required(&options::SYS_ROOT)?,
        proc: invocation.required(&options::PROC_ROOT)?,
        run: invocation.required(&options::RUN_ROOT)?,
        etc: invocation.required(&options::ETC_ROOT)?,
        usr: invocation.required(&options::USR_ROOT)?,
    })
}

/// The places to look for attributes at. systemd names the credentials' directory in the environment.
///
/// # Errors
/// None: every text is a path.
pub fn places(invocation: &Invocation) -> Result<Places, UsageError> {
    Ok(Places {
        attributes: invocation.value(&options::ATTRIBUTES)?,
        credentials: std::env::var_os("CREDENTIALS_DIRECTORY").map(PathBuf::from),
    })
}
