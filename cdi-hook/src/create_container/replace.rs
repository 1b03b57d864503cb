//! Replacing a file whole or not at all, in a directory whose other files are a stranger's.

use std::os::fd::{AsFd, OwnedFd};

use device_attributes::hexadecimal;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};

use super::{leftovers, regular_file};

/// The mode of the file.
const MODE: Mode = Mode::from_raw_mode(0o644);
/// The most names that are tried for the temporary file.
const ATTEMPTS: usize = 8;

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Replaced {
    /// The file is new.
    Written,
    /// The same bytes were already there.
    Unchanged,
}

/// What failed, and the kernel's answer.
type Failure = (&'static str, Errno);

/// Puts `bytes` under `name` in the directory.
///
/// An existing file is never followed, opened for writing or truncated: it may be a link to a file
/// that is not ours. A new file takes its place by rename.
pub(crate) fn replace(directory: &OwnedFd, name: &str, bytes: &[u8]) -> Result<Replaced, Failure> {
    if holds_already(directory, name, bytes) {
        return Ok(Replaced::Unchanged);
    }
    leftovers::remove(directory, name);
    let mut temporary = Temporary::create(directory, name)?;
    temporary.fill(bytes)?;
    rustix::fs::renameat(directory, &temporary.name, directory, name)
        .map_err(|error| (rename_step(error), error))?;
    temporary.renamed = true;
    rustix::fs::fsync(directory).map_err(|error| ("fsync of the directory", error))?;
    Ok(Replaced::Written)
}

/// What failed, where the kernel's own words do not say what to do.
fn rename_step(error: Errno) -> &'static str {
    match error {
        Errno::ISDIR => "a directory stands in its place, remove it",
        Errno::BUSY => "something is mounted in its place, mount it elsewhere",
        _ => "rename",
    }
}

/// Whether the file is there, with these bytes, and nobody else can change it: a regular file of
/// our own with one name and the right mode. Any doubt is a no.
fn holds_already(directory: &OwnedFd, name: &str, bytes: &[u8]) -> bool {
    // Looked at before it is opened: opening a device can set things going, and whoever has the
    // directory may have put one there.
    let Ok(stat) = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) else {
        return false;
    };
    if !is_ours(&stat) {
        return false;
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let Ok(file) = rustix::fs::openat(directory, name, flags, Mode::empty()) else {
        return false;
    };
    rustix::fs::fstat(&file).is_ok_and(|stat| is_ours(&stat))
        && matches!(regular_file::read(&file, bytes.len()), Ok(Some(found)) if found == bytes)
}

fn is_ours(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
        && Mode::from_raw_mode(stat.st_mode) == MODE
        && stat.st_nlink == 1
        && stat.st_uid == rustix::process::geteuid().as_raw()
}

/// A temporary file, removed when it goes out of scope unless it was renamed.
struct Temporary<'a> {
    directory: &'a OwnedFd,
    name: String,
    file: OwnedFd,
    renamed: bool,
}

impl<'a> Temporary<'a> {
    fn create(directory: &'a OwnedFd, name: &str) -> Result<Self, Failure> {
        const STEP: &str = "creating a temporary file";
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for _ in 0..ATTEMPTS {
            let name = temporary_name(name).map_err(|error| (STEP, error))?;
            match rustix::fs::openat(directory, &name, flags, Mode::RUSR | Mode::WUSR) {
                Ok(file) => {
                    return Ok(Self {
                        directory,
                        name,
                        file,
                        renamed: false,
                    });
                }
                Err(Errno::EXIST | Errno::INTR) => {}
                Err(error) => return Err((STEP, error)),
            }
        }
        Err((STEP, Errno::EXIST))
    }

    fn fill(&mut self, mut bytes: &[u8]) -> Result<(), Failure> {
        while !bytes.is_empty() {
            match rustix::io::write(self.file.as_fd(), bytes) {
                Ok(0) => return Err(("write", Errno::IO)),
                Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
                Err(Errno::INTR) => {}
                Err(error) => return Err(("write", error)),
            }
        }
        // By descriptor: neither the umask nor what stands under the name now has a say.
        rustix::fs::fchmod(&self.file, MODE).map_err(|error| ("fchmod", error))?;
        rustix::fs::fsync(&self.file).map_err(|error| ("fsync", error))
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.renamed {
            // The error that led here is the one to report.
            let _ = rustix::fs::unlinkat(self.directory, &self.name, AtFlags::empty());
        }
    }
}

/// A name that nobody can occupy beforehand: hidden, and with 64 random bits. [`leftovers`] knows it.
fn temporary_name(name: &str) -> Result<String, Errno> {
    let mut random = [0_u8; 8];
    getrandom(&mut random, GetRandomFlags::empty())?;
    Ok(format!(".{name}.{}", hexadecimal(&random)))
}
