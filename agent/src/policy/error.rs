//! What is wrong with a policy, and where.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use device_attributes::ReadError;

/// A place in a policy file, written as `FILE:LINE:COLUMN`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub file: Arc<str>,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

/// One mistake in a policy file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// Where it is.
    pub place: Place,
    /// What it is, and what to write in its place.
    pub message: String,
}

/// Why there is no policy.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The drop-in directory cannot be listed.
    #[error("{}: {error}", .path.display())]
    List {
        /// The directory.
        path: PathBuf,
        /// The operating system's answer.
        error: std::io::Error,
    },
    /// There are more drop-ins than anyone means.
    #[error("{}: more than {most} files: put several tables into one", .path.display())]
    TooManyDropIns {
        /// The directory.
        path: PathBuf,
        /// The most that is read.
        most: usize,
    },
    /// It is not UTF-8, from the line on.
    #[error("{0}:{1}: the file is not UTF-8 text")]
    NotText(String, usize),
    /// It has mistakes in it.
    #[error(transparent)]
    Invalid(#[from] Mistakes),
}

/// The mistakes of one file, a line each.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Mistakes {
    /// The first of them, in the order of their places.
    pub first: Vec<Mistake>,
    /// How many there are behind these.
    pub more: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, mistake) in self.first.iter().enumerate() {
            if number > 0 {
                f.write_str("\n")?;
            }
            mistake.fmt(f)?;
        }
        match (self.more, self.first.first()) {
            (more @ 1.., Some(mistake)) => {
                write!(f, "\n{}: mistakes behind these: {more}", mistake.place.file)
            }
            _ => Ok(()),
        }
    }
}
