//! Gathering the attributes: the files that are named on the command line.

use std::os::fd::OwnedFd;

use device_attributes::{Document, ReadError, ReadErrorKind, limits, read};
use rustix::fs::{CWD, Mode, OFlags, openat};

use crate::cli::HookOptions;
use crate::error::Error;
use crate::regular_file;
use crate::rootfs::Rootfs;

/// All that is known of the container's devices; `None` where there is no input at all.
pub(crate) fn gather(_rootfs: &Rootfs, options: &HookOptions) -> Result<Option<Document>, Error> {
    let mut document = None::<Document>;
    for path in &options.attributes {
        let bytes = read_file(path.as_str())?;
        let reading = read::read(path.as_str(), &bytes)?;
        for note in &reading.notes {
            tracing::info!("{note}");
        }
        let all = document.get_or_insert_default();
        all.devices.extend(reading.document.devices);
        all.pod = all.pod.take().or(reading.document.pod);
    }
    Ok(document)
}

fn read_file(path: &str) -> Result<Vec<u8>, Error> {
    let failed = |kind| Error::from(ReadError::file(path, kind));
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file: OwnedFd = openat(CWD, path, flags, Mode::empty())
        .map_err(|error| failed(ReadErrorKind::Io(error.to_string())))?;
    regular_file::read(&file, limits::FILE_BYTES)
        .map_err(|error| failed(ReadErrorKind::Io(error.to_string())))?
        .ok_or_else(|| failed(ReadErrorKind::TooLarge))
}
