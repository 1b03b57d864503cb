//! What is tried from inside the fence, and how each attempt must end.

use std::io;
use std::path::Path;

use crate::{files, node, processes};

/// How an attempt must end.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Expected {
    /// The filter of system calls ends the process.
    Killed,
    /// The kernel answers with this number.
    Refused(i32),
    /// It is done: a hook needs it.
    Done,
}

/// Something that is tried.
#[derive(Debug)]
pub(crate) struct Attempt {
    pub(crate) name: &'static str,
    pub(crate) expected: Expected,
    pub(crate) make: fn(&Path) -> io::Result<()>,
}

pub(crate) const fn killed(name: &'static str, make: fn(&Path) -> io::Result<()>) -> Attempt {
    Attempt {
        name,
        expected: Expected::Killed,
        make,
    }
}

pub(crate) const fn refused(
    name: &'static str,
    errno: i32,
    make: fn(&Path) -> io::Result<()>,
) -> Attempt {
    Attempt {
        name,
        expected: Expected::Refused(errno),
        make,
    }
}

pub(crate) const fn done(name: &'static str, make: fn(&Path) -> io::Result<()>) -> Attempt {
    Attempt {
        name,
        expected: Expected::Done,
        make,
    }
}

/// All attempts.
pub(crate) fn all() -> impl Iterator<Item = &'static Attempt> {
    [processes::ATTEMPTS, node::ATTEMPTS, files::ATTEMPTS]
        .into_iter()
        .flatten()
}
