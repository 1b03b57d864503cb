//! Bind mounts of a container.

use std::path::PathBuf;

/// A bind mount from the node into a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BindMount {
    /// The file or directory of the node.
    pub source: PathBuf,
    /// Where the container sees it.
    pub destination: String,
    /// Whether the container may only read it.
    pub read_only: bool,
}

impl BindMount {
    /// One that the container may write to.
    pub fn writable(source: impl Into<PathBuf>, destination: impl Into<String>) -> Self {
        Self {
            source: source.into(),
            destination: destination.into(),
            read_only: false,
        }
    }

    /// One that the container may only read.
    pub fn read_only(source: impl Into<PathBuf>, destination: impl Into<String>) -> Self {
        Self {
            read_only: true,
            ..Self::writable(source, destination)
        }
    }
}
