//! Gathering what is known of the container's devices.
//!
//! Upstream's metadata files are bind mounts in the container, each file one (KEP-5304), in place
//! when the hook runs. Any other file at such a path is a stranger's claim and does not count: it
//! came with the image, also by way of a volume that an engine fills from the image, or from an
//! earlier process.

use std::cell::Cell;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use device_attributes::read::tree::{Broken, read_tree_where};
use device_attributes::read::{self, Reading, file};
use device_attributes::{ReadError, ReadErrorKind};
use rustix::fs::{CWD, Mode, OFlags, openat};

use super::error::Error;
use super::rootfs::{OpenError, Rootfs, place_of};
use crate::absolute_path::AbsolutePath;
use crate::hook_options::{HookOptions, OnError};

/// Where upstream mounts metadata files in the container: since Kubernetes 1.36, and in drivers
/// built on drafts of KEP-5304.
const CONTAINER_DIRECTORIES: [&str; 2] = [
    "/var/run/kubernetes.io/dra-device-attributes",
    "/var/run/dra-device-attributes",
];

/// Where something may be known of the container's devices: all of it open, so that nothing else has to
/// be reachable while it is read.
#[derive(Debug)]
pub(crate) struct Sources<'o> {
    container: Vec<(&'static str, OwnedFd)>,
    node: Vec<(&'o AbsolutePath, OwnedFd)>,
    files: Vec<(&'o AbsolutePath, Result<OwnedFd, ReadError>)>,
}

impl<'o> Sources<'o> {
    /// Opens what there is.
    pub(crate) fn open(rootfs: &Rootfs, options: &'o HookOptions) -> Result<Self, Error> {
        let mut container = Vec::new();
        for path in CONTAINER_DIRECTORIES {
            match rootfs.open_directory(path) {
                Ok(directory) => container.push((path, directory)),
                Err(OpenError::Absent(_)) => {}
                Err(OpenError::Failed(error)) => return Err(error),
            }
        }
        let node = options.metadata_dir.iter();
        let files = options.attributes.iter();
        Ok(Self {
            container,
            node: node
                .map(|path| Ok((path, open_node_directory(path)?)))
                .collect::<Result<_, Error>>()?,
            files: files
                .map(|path| (path, file::open(Path::new(path.as_str()))))
                .collect(),
        })
    }

    /// Whether there is nothing to read.
    pub(crate) fn is_empty(&self) -> bool {
        self.container.is_empty() && self.node.is_empty() && self.files.is_empty()
    }

    /// The directories below which files are opened while they are read.
    pub(crate) fn directories(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let container = self.container.iter().map(|(_, directory)| directory);
        let node = self.node.iter().map(|(_, directory)| directory);
        container.chain(node).map(AsFd::as_fd)
    }

    /// All that is known; `None` where there is no input at all.
    ///
    /// A broken file is an error, or with `--on-error skip` one of [`Reading::rejected`].
    pub(crate) fn read(self, rootfs: &Rootfs, on_error: OnError) -> Result<Option<Reading>, Error> {
        let broken = match on_error {
            OnError::Fail => Broken::Fail,
            OnError::Skip => Broken::Reject,
        };
        let mut readings = Vec::new();
        for (path, directory) in self.container {
            readings.extend(read_container_directory(rootfs, path, &directory, broken)?);
        }
        for (path, directory) in self.node {
            readings.extend(read_directory(
                path.as_str(),
                directory.as_fd(),
                broken,
                |_, _| Ok(true),
            )?);
        }
        for (path, file) in self.files {
            match file.and_then(|file| read_file(path, &file)) {
                Ok(reading) => readings.push(reading),
                Err(error) if on_error == OnError::Fail => return Err(error.into()),
                Err(error) => tracing::error!("{error}; it is left out (--on-error skip)"),
            }
        }
        Ok((!readings.is_empty()).then(|| read::merge(readings)))
    }
}

fn open_node_directory(path: &AbsolutePath) -> Result<OwnedFd, Error> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat(CWD, path.as_str(), flags, Mode::empty()).map_err(|source| Error::MetadataDirectory {
        path: path.to_string(),
        source,
    })
}

fn read_container_directory(
    rootfs: &Rootfs,
    path: &str,
    directory: &OwnedFd,
    broken: Broken,
) -> Result<Option<Reading>, Error> {
    read_directory(path, directory.as_fd(), broken, |name, file| {
        let place = place_of(file, name)
            .map_err(|error| ReadError::file(name, ReadErrorKind::Io(error.to_string())))?;
        let mounted = place.mount != rootfs.mount() && place.mount_root;
        if !mounted {
            tracing::warn!(
                "{name} is not a mount of its own, as a DRA driver's file is: it is the image's or a volume's, and does not count"
            );
        }
        Ok(mounted)
    })
}

/// Reads the files of a tree that `accept` takes; `None` where there are none.
fn read_directory(
    path: &str,
    directory: BorrowedFd<'_>,
    broken: Broken,
    accept: impl Fn(&str, BorrowedFd<'_>) -> Result<bool, ReadError>,
) -> Result<Option<Reading>, Error> {
    let accepted = Cell::new(false);
    let reading = read_tree_where(path, directory, broken, &mut |name, file| {
        let accept = accept(name, file)?;
        accepted.set(accepted.get() || accept);
        Ok(accept)
    })?;
    // What was rejected is a file too, like a FIFO in the place of one.
    let any = accepted.get() || !reading.rejected.is_empty();
    Ok(any.then_some(reading))
}

fn read_file(path: &AbsolutePath, file: &OwnedFd) -> Result<Reading, ReadError> {
    let bytes = file::read_fd(path.as_str(), file)?;
    read::read(path.as_str(), &bytes)
}
