//! A file of the node, put in place whole or not at all, its label kept.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, XattrFlags};
use rustix::io::Errno;

use crate::node_root::read_all;

/// The most bytes of an existing file that are compared with what would be put there: many times
/// the hook's size.
const EXISTING_BYTES: usize = 64 << 20;

/// where `SELinux` keeps a file's label.
const LABEL: &str = "security.selinux";
/// The most bytes of a label.
const LABEL_BYTES: usize = 4096;

/// What stands under a name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Existing {
    /// Nothing.
    Nothing,
    /// A regular file.
    File {
        /// All of it.
        bytes: Vec<u8>,
        /// Its permissions.
        mode: u32,
    },
    /// Anything else: a link, a directory.
    Other,
}

/// What failed, and the kernel's answer.
pub(crate) type Failure = (&'static str, Errno);

/// Looks at what stands under a name.
pub(crate) fn existing(directory: &OwnedFd, name: &str) -> Result<Existing, Errno> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match rustix::fs::openat(directory, name, flags, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::NOENT) => return Ok(Existing::Nothing),
        Err(Errno::LOOP) => return Ok(Existing::Other),
        Err(error) => return Err(error),
    };
    let stat = rustix::fs::fstat(&file)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Ok(Existing::Other);
    }
    Ok(Existing::File {
        bytes: read_all(&file, EXISTING_BYTES)?,
        mode: stat.st_mode & 0o7777,
    })
}

/// Puts a file in place by rename: a hook that runs keeps the file that it was started from, and
/// nobody ever reads half of one.
///
/// A new file gets its `SELinux` label from its directory, one that replaces another takes over that
/// one's, which an administrator may have set.
pub(crate) fn put(directory: &OwnedFd, name: &str, bytes: &[u8], mode: u32) -> Result<(), Failure> {
    let temporary = temporary_name(name);
    let file = create(directory, &temporary)?;
    let result = fill(&file, bytes, mode)
        .and_then(|()| keep_label(directory, name, &file))
        .and_then(|()| rustix::fs::fsync(&file).map_err(|error| ("fsync", error)))
        .and_then(|()| {
            rustix::fs::renameat(directory, &temporary, directory, name)
                .map_err(|error| ("rename", error))
        });
    if result.is_err() {
        // The error that led here is the one to report.
        let _ = rustix::fs::unlinkat(directory, &temporary, AtFlags::empty());
    }
    result?;
    rustix::fs::fsync(directory).map_err(|error| ("fsync of the directory", error))
}

/// A hidden file, whose name no runtime takes for a spec. Its name is fixed: what an interrupted
/// installation left behind, the next one removes.
pub(crate) fn temporary_name(name: &str) -> String {
    format!(".{name}.new")
}

fn create(directory: &OwnedFd, temporary: &str) -> Result<OwnedFd, Failure> {
    const STEP: &str = "creating a temporary file";
    match rustix::fs::unlinkat(directory, temporary, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(error) => return Err((STEP, error)),
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR;
    rustix::fs::openat(directory, temporary, flags, mode).map_err(|error| (STEP, error))
}

fn fill(file: &OwnedFd, mut bytes: &[u8], mode: u32) -> Result<(), Failure> {
    while !bytes.is_empty() {
        match rustix::io::write(file.as_fd(), bytes) {
            Ok(0) => return Err(("write", Errno::IO)),
            Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
            Err(Errno::INTR) => {}
            Err(error) => return Err(("write", error)),
        }
    }
    // By descriptor: the umask has no say.
    rustix::fs::fchmod(file, Mode::from_raw_mode(mode)).map_err(|error| ("fchmod", error))
}

fn keep_label(directory: &OwnedFd, name: &str, file: &OwnedFd) -> Result<(), Failure> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let Ok(old) = rustix::fs::openat(directory, name, flags, Mode::empty()) else {
        return Ok(());
    };
    let mut label = [0_u8; LABEL_BYTES];
    match rustix::fs::fgetxattr(&old, LABEL, &mut label) {
        Ok(length) => {
            let label = label.get(..length).unwrap_or_default();
            rustix::fs::fsetxattr(file, LABEL, label, XattrFlags::empty())
                .map_err(|error| ("keeping the SELinux label", error))
        }
        // No label, or a file system that has none.
        Err(Errno::NODATA | Errno::OPNOTSUPP) => Ok(()),
        Err(error) => Err(("reading the SELinux label", error)),
    }
}
