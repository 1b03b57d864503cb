//! The VM mount: the volume of the container that the VM sees.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use device_attributes::document::FILE_NAME;

use super::error::Error;
use super::replace::{self, Replaced};
use super::rootfs::{OpenError, Place, Rootfs, place_of};
use crate::absolute_path::AbsolutePath;

/// The VM mount of a container.
#[derive(Debug)]
pub(crate) struct VmMount {
    directory: OwnedFd,
    path: String,
    place: Place,
}

impl VmMount {
    /// Opens the VM mount, and makes sure that it is the root of a mount.
    ///
    /// A plain directory of the image would take the document too, and nobody would ever read it:
    /// the volume is mounted over it later, or was never asked for.
    pub(crate) fn open(rootfs: &Rootfs, path: &AbsolutePath) -> Result<Self, Error> {
        let path = path.as_str();
        let directory = rootfs.open_directory(path).map_err(|error| match error {
            OpenError::Absent(source) => Error::VmMountAbsent {
                path: path.to_owned(),
                source,
            },
            OpenError::Failed(error) => error,
        })?;
        let place = place_of(&directory, path)?;
        if place.mount == rootfs.mount() || !place.mount_root {
            return Err(Error::VmMountNotAMount(path.to_owned()));
        }
        Ok(Self {
            directory,
            path: path.to_owned(),
            place,
        })
    }

    /// Its path in the container.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Whether it is the same directory as that.
    pub(crate) fn is(&self, other: &Place) -> bool {
        self.place.is_same_file(other)
    }

    /// The document's path in the container.
    pub(crate) fn document_path(&self) -> String {
        format!("{}/{FILE_NAME}", self.path.trim_end_matches('/'))
    }

    /// Writes the document, whole or not at all.
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<Replaced, Error> {
        replace::replace(&self.directory, FILE_NAME, bytes).map_err(|(step, source)| Error::Write {
            path: self.document_path(),
            step,
            source,
        })
    }
}

impl AsFd for VmMount {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }
}
