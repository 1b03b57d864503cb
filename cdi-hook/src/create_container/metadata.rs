//! Gathering what is known of the container's devices.
//!
//! Upstream's metadata files are bind mounts in the container, each file one (KEP-5304), in place
//! when the hook runs. Any other file at such a path is a stranger's claim and does not count: it
//! came with the image, also by way of a volume that an engine fills from the image, or from an
//! earlier process.

use std::cell::Cell;
use std::os::fd::{AsFd, BorrowedFd};
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

/// All that is known of the container's devices; `None` where there is no input at all.
///
/// A broken file is an error, or with `--on-error skip` one of [`Reading::rejected`].
pub(crate) fn gather(rootfs: &Rootfs, options: &HookOptions) -> Result<Option<Reading>, Error> {
    let broken = match options.on_error {
        OnError::Fail => Broken::Fail,
        OnError::Skip => Broken::Reject,
    };
    let mut readings = Vec::new();
    for path in CONTAINER_DIRECTORIES {
        readings.extend(container_directory(rootfs, path, broken)?);
    }
    for path in &options.metadata_dir {
        readings.extend(node_directory(path, broken)?);
    }
    for path in &options.attributes {
        match node_file(path) {
            Ok(reading) => readings.push(reading),
            Err(error) if options.on_error == OnError::Fail => return Err(error.into()),
            Err(error) => tracing::error!("{error}; it is left out (--on-error skip)"),
        }
    }
    if readings.is_empty() {
        return Ok(None);
    }
    Ok(Some(read::merge(readings)))
}

fn container_directory(
    rootfs: &Rootfs,
    path: &str,
    broken: Broken,
) -> Result<Option<Reading>, Error> {
    let directory = match rootfs.open_directory(path) {
        Ok(directory) => directory,
        Err(OpenError::Absent(_)) => return Ok(None),
        Err(OpenError::Failed(error)) => return Err(error),
    };
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

fn node_directory(path: &AbsolutePath, broken: Broken) -> Result<Option<Reading>, Error> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory =
        openat(CWD, path.as_str(), flags, Mode::empty()).map_err(|source| Error::Open {
            what: "the metadata directory",
            path: path.to_string(),
            source,
        })?;
    read_directory(path.as_str(), directory.as_fd(), broken, |_, _| Ok(true))
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

fn node_file(path: &AbsolutePath) -> Result<Reading, ReadError> {
    let bytes = file::read_path(Path::new(path.as_str()))?;
    read::read(path.as_str(), &bytes)
}
