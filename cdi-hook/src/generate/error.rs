//! Why nothing is generated: one sentence each, with what to do.

use device_attributes::ReadError;
use rustix::io::Errno;

/// Why `generate` fails.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    /// A file of another format.
    #[error("{0}: this is not JSON: print it with kubectl get … --output=json (YAML is not read)")]
    NotJson(String),
    /// The claim or a slice cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A claim that no API server has seen.
    #[error(
        "ResourceClaim {0} has no metadata.uid, which names the CDI device: print the claim as the API server has it"
    )]
    NoUid(String),
    /// A UID that can be no name of a device.
    #[error("{0:?} is no UID: letters, digits and dashes are expected, at most 64")]
    Uid(String),
    /// Nothing that a VM can use.
    #[error("ResourceClaim {0} has no device that is for a VM: nothing is generated")]
    NoDevices(String),
    /// More than the hook would read.
    #[error("the metadata file {0} would have more than 1048576 bytes, the most that is read")]
    TooLarge(String),
    /// Whoever may write there decides on what VMs are told.
    #[error(
        "the directory {0} may be written by others than root: take that away (chown root, chmod go-w), or name another"
    )]
    OthersMayWrite(String),
    /// A file or directory.
    #[error("{path} cannot be written: {step}: {source}")]
    File {
        /// Its path.
        path: String,
        /// What failed.
        step: &'static str,
        /// The kernel's answer.
        source: Errno,
    },
}

impl Error {
    pub(super) fn file(path: &str, step: &'static str, source: Errno) -> Self {
        Self::File {
            path: path.to_owned(),
            step,
            source,
        }
    }
}
