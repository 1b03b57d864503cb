//! Why the hook fails: one sentence each, with the place.

use std::time::Duration;

use device_attributes::{ReadError, ReadErrorKind};
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
    /// The VM mount of a pod is something else than a volume of it.
    #[error(
        "the VM mount {path} is not an emptyDir of this pod, …/pods/{uid}/volumes/kubernetes.io~empty-dir/NAME ({found}): mount one there, or allow other volumes with --vm-mount-source any"
    )]
    VmMountOfOthers {
        /// The path in the container.
        path: String,
        /// The pod's UID, or `*`.
        uid: String,
        /// What is known of the mount.
        found: String,
    },
    /// What the bundle says of the mounts is not to be had.
    #[error(
        "whether the VM mount {path} is an emptyDir of this pod cannot be told: {reason}; --vm-mount-source any does without that check"
    )]
    VmMountSourceUnknown {
        /// The path in the container.
        path: String,
        /// Why.
        reason: Box<Error>,
    },
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

    /// A directory of the node that the command line names.
    #[error("the metadata directory {path} cannot be opened: {source}")]
    MetadataDirectory {
        /// Its path on the node.
        path: String,
        /// The kernel's answer.
        source: Errno,
    },
    /// A metadata or attributes file cannot be used.
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl Error {
    /// Whether it says no more than that metadata or attributes are broken, so that `--on-error skip`
    /// may do without them.
    ///
    /// Everything else stays an error whatever the policy: a stranger may have brought it about, to get
    /// the hook to write elsewhere, or to keep the document from a VM.
    pub(crate) fn is_broken_content(&self) -> bool {
        match self {
            Self::DocumentTooLarge { .. } | Self::MetadataDirectory { .. } => true,
            // The bounds of a tree are met by floods only.
            Self::Read(error) => !matches!(error.kind, ReadErrorKind::Tree(_)),
            Self::StateTimeout(_)
            | Self::StateTooLarge(_)
            | Self::StateEmpty
            | Self::StateRead(_)
            | Self::StateShape(_)
            | Self::StateMissing(_)
            | Self::BundleRelative(_)
            | Self::Open { .. }
            | Self::Config { .. }
            | Self::RootfsIsHost(_)
            | Self::Resolve { .. }
            | Self::ResolveBusy(_)
            | Self::Kernel(_)
            | Self::Examine { .. }
            | Self::VmMountAbsent { .. }
            | Self::VmMountNotAMount(_)
            | Self::VmMountOfOthers { .. }
            | Self::VmMountSourceUnknown { .. }
            | Self::Write { .. } => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use device_attributes::TreeLimit;

    /// Every error and whether `--on-error skip` may pass over it. A new one has to be put here: the match
    /// in [`Error::is_broken_content`] has no rest.
    #[test]
    fn a_refusal_is_never_passed_over() {
        let path = || "/x".to_owned();
        let source = Errno::IO;
        let read = |kind| Error::Read(ReadError::file("f", kind));
        let shape = || serde_json::from_str::<u8>("{").unwrap_err();
        let refusals = [
            Error::StateTimeout(Duration::from_secs(8)),
            Error::StateTooLarge(1),
            Error::StateEmpty,
            Error::StateRead(source),
            Error::StateShape(shape()),
            Error::StateMissing("bundle"),
            Error::BundleRelative(path()),
            Error::Open {
                what: "the bundle",
                path: path(),
                source,
            },
            Error::Config {
                path: path(),
                reason: String::new(),
            },
            Error::RootfsIsHost(path()),
            Error::Resolve {
                path: path(),
                source,
            },
            Error::ResolveBusy(path()),
            Error::Kernel("openat2"),
            Error::Examine {
                path: path(),
                source,
            },
            Error::VmMountAbsent {
                path: path(),
                source,
            },
            Error::VmMountNotAMount(path()),
            Error::VmMountOfOthers {
                path: path(),
                uid: path(),
                found: path(),
            },
            Error::VmMountSourceUnknown {
                path: path(),
                reason: Box::new(Error::StateEmpty),
            },
            Error::Write {
                path: path(),
                step: "write",
                source,
            },
            read(ReadErrorKind::Tree(TreeLimit::Entries)),
            read(ReadErrorKind::Tree(TreeLimit::Files)),
            read(ReadErrorKind::Tree(TreeLimit::Bytes)),
        ];
        for refusal in refusals {
            assert!(!refusal.is_broken_content(), "{refusal}");
        }
        let broken = [
            Error::DocumentTooLarge { bytes: 2, limit: 1 },
            Error::MetadataDirectory {
                path: path(),
                source,
            },
            read(ReadErrorKind::TooLarge),
            read(ReadErrorKind::NotFound),
            read(ReadErrorKind::NotAFile("a FIFO")),
            read(ReadErrorKind::Io(String::new())),
        ];
        for broken in broken {
            assert!(broken.is_broken_content(), "{broken}");
        }
    }
}
