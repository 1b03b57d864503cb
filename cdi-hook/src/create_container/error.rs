//! Why the hook fails: one sentence each, with the place.

use std::time::Duration;

use device_attributes::ReadError;
use rustix::io::Errno;

/// Why the hook fails.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// Standard input stayed open without an end.
    #[error(
        "the container state on standard input did not end within {} s: a container runtime writes it whole and closes the pipe",
        .0.as_secs()
    )]
    StateTimeout(Duration),
    /// More than the bound.
    #[error("the container state on standard input has more than {0} bytes, the most that is read")]
    StateTooLarge(usize),
    /// Nothing on standard input.
    #[error(
        "standard input is empty: create-container reads the container state there, as an OCI hook run by a container runtime"
    )]
    StateEmpty,
    /// Reading it failed.
    #[error("the container state cannot be read from standard input: {0}")]
    StateRead(#[source] Errno),
    /// No JSON, or not of the state's shape.
    #[error(
        "the container state on standard input is not one of the OCI runtime specification: {0}"
    )]
    StateShape(#[source] serde_json::Error),
    /// A state from which the root file system cannot be found.
    #[error("the container state has no {0:?}, which says where the container's files are")]
    StateMissing(&'static str),
    /// A bundle that is not absolute.
    #[error("the bundle {0:?} of the container state is not an absolute path")]
    BundleRelative(String),

    /// Something of the bundle cannot be opened or read.
    #[error("{what} {path} cannot be opened: {source}")]
    Open {
        /// What it is, like `the bundle`.
        what: &'static str,
        /// Its path on the node.
        path: String,
        /// The kernel's answer.
        source: Errno,
    },
    /// The bundle's configuration is not what it should be.
    #[error("{path}: {reason}")]
    Config {
        /// Its path on the node.
        path: String,
        /// What is wrong.
        reason: String,
    },
    /// The root file system is the node's own.
    #[error(
        "the container's root file system {0} is the node's own root directory: nothing is written there"
    )]
    RootfsIsHost(String),

    /// A path of the container that the kernel did not resolve inside the root file system.
    #[error("{path} in the container cannot be resolved safely: {source}")]
    Resolve {
        /// The path in the container.
        path: String,
        /// The kernel's answer.
        source: Errno,
    },
    /// Something kept renaming while a path was resolved.
    #[error(
        "{0} in the container could not be resolved: directories on the way were renamed all the time"
    )]
    ResolveBusy(String),
    /// The kernel has no openat2 or does not tell mounts apart.
    #[error("this kernel lacks {0}: Linux 5.8 or later is needed")]
    Kernel(&'static str),
    /// Asking the kernel about a file failed.
    #[error("{path} cannot be examined: {source}")]
    Examine {
        /// The path.
        path: String,
        /// The kernel's answer.
        source: Errno,
    },

    /// The VM mount is not there.
    #[error(
        "the VM mount {path} is not in the container ({source}): mount a volume there, or name another directory with --vm-mount"
    )]
    VmMountAbsent {
        /// The path in the container.
        path: String,
        /// The kernel's answer.
        source: Errno,
    },
    /// The VM mount is a directory of some other mount.
    #[error(
        "the VM mount {0} is not a mount of its own: what is written there would stay in the container's own files; mount a volume there, or name another directory with --vm-mount"
    )]
    VmMountNotAMount(String),
    /// The document could not be written.
    #[error("{path} cannot be written: {step}: {source}")]
    Write {
        /// The path in the container.
        path: String,
        /// What failed, like `rename`.
        step: &'static str,
        /// The kernel's answer.
        source: Errno,
    },
    /// The document would be too large for its readers.
    #[error(
        "the document would have {bytes} bytes, its readers take at most {limit}: name the attributes that the VM needs with --export"
    )]
    DocumentTooLarge {
        /// What it would have.
        bytes: usize,
        /// What readers take.
        limit: usize,
    },

    /// A metadata or attributes file cannot be used.
    #[error(transparent)]
    Read(#[from] ReadError),
}
