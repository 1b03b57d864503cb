//! The document of a running container, from the files that its hook has read.

use std::fs::File;
use std::os::fd::AsFd as _;
use std::path::Path;

use device_attributes::read::{self, Reading, file, tree};
use device_attributes::{Document, ReadError, limits};

use super::Kept;
use super::volume::{Kubelet, VolumeError};
use crate::relay::Relay;

/// Why the document stays as it is.
#[derive(Debug, thiserror::Error)]
pub(super) enum DocumentError {
    /// A file is not where it may be, or does not open.
    #[error(transparent)]
    Volume(#[from] VolumeError),
    /// A file cannot be used.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A directory of the node that the hook reads cannot be opened here.
    #[error("{path}: {source}")]
    Directory {
        /// The directory.
        path: String,
        /// The kernel's answer.
        source: std::io::Error,
    },
    /// More than a container may have.
    #[error("the container has more than {limit} metadata files", limit = limits::FILES)]
    Files,
}

impl DocumentError {
    /// Whether a file may be whole in a moment: drivers write them in place.
    pub(super) fn may_be_unfinished(&self) -> bool {
        matches!(self, Self::Read(error) if error.may_be_unfinished())
    }
}

/// Makes the document anew.
pub(super) fn make(
    kept: &Kept,
    kubelet: &Kubelet,
    relay: Option<&Relay>,
) -> Result<Document, DocumentError> {
    if kept.metadata.len() > limits::FILES {
        return Err(DocumentError::Files);
    }
    let skip = kept.wishes.skips_what_is_broken();
    let mut readings = Vec::new();
    let mut take = |reading: Result<Reading, DocumentError>| match reading {
        Ok(mut reading) => {
            if let (false, Some(first)) = (skip, reading.rejected.pop()) {
                return Err(first.error.into());
            }
            readings.push(reading);
            Ok(())
        }
        // What is being written counts in a moment.
        Err(error) if skip && !error.may_be_unfinished() => {
            tracing::warn!("{}: {error}; it is left out", kept.shown());
            Ok(())
        }
        Err(error) => Err(error),
    };
    for metadata in &kept.metadata {
        take(
            kubelet
                .metadata(&metadata.source)
                .map_err(DocumentError::from)
                .and_then(|file| {
                    let bytes = file::read_fd(&metadata.destination, &file)?;
                    Ok(read::read(&metadata.destination, &bytes)?)
                }),
        )?;
    }
    for path in kept.wishes.metadata_directories() {
        let directory = File::open(path).map_err(|source| DocumentError::Directory {
            path: path.to_owned(),
            source,
        });
        take(directory.and_then(|directory| Ok(tree::read_tree(path, directory.as_fd())?)))?;
    }
    for path in kept.wishes.attributes() {
        if let Some(relay) = relay.filter(|relay| relay.is_answer(path)) {
            // The last answer is there still.
            if let Err(error) = relay.answer_file(&kept.id, &kept.pod) {
                tracing::debug!("{}: {error}", kept.shown());
            }
        }
        take(
            file::read_path(Path::new(path))
                .and_then(|bytes| read::read(path, &bytes))
                .map_err(DocumentError::from),
        )?;
    }
    Ok(kept.wishes.document(readings, kept.pod.clone()))
}
