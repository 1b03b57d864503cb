//! Exit codes.

use std::process::ExitCode;

/// How a command ended; the numbers are a contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done, or ready.
    Done = 0,
    /// Failed as a whole.
    Failed = 1,
    /// Wrong usage or configuration: another try will not help.
    Usage = 2,
    /// Some devices failed, the others are done.
    SomeDevices = 3,
    /// There are no attributes yet.
    NoAttributes = 4,
    /// The command of `exec` is there and cannot be run, as a shell says it (POSIX, "Shell Commands").
    CommandCannotRun = 126,
    /// The command of `exec` is not there.
    CommandNotFound = 127,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// A command that ended early: the code and the sentence for standard error.
#[derive(Debug)]
pub struct Ended {
    /// The code.
    pub exit: Exit,
    /// What went wrong.
    pub message: String,
}

impl Ended {
    /// Failed as a whole.
    pub fn failed(error: impl std::fmt::Display) -> Self {
        Self {
            exit: Exit::Failed,
            message: error.to_string(),
        }
    }

    /// Wrong configuration.
    pub fn usage(error: impl std::fmt::Display) -> Self {
        Self {
            exit: Exit::Usage,
            message: error.to_string(),
        }
    }
}
