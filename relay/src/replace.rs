//! Reads a file with its identity, and replaces it whole if nobody else has changed it since.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use device_attributes::{ReadError, ReadErrorKind, limits};
use rustix::fs::OFlags;

/// How the names of unfinished files start. The dot hides them from [`crate::manifest::Format::of`].
const TEMPORARY_PREFIX: &str = ".dra-guest-relay-";

/// What tells one state of a file from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileState {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
}

impl From<&fs::Metadata> for FileState {
    fn from(metadata: &fs::Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }
}

/// Reads a regular file of at most [`limits::FILE_BYTES`].
///
/// # Errors
/// What is wrong with the file, its name in front.
pub fn read(path: &Path) -> Result<(String, FileState), ReadError> {
    let wrong = |kind| ReadError::file(path.display().to_string(), kind);
    let io = |error: io::Error| wrong(ReadErrorKind::Io(error.to_string()));
    // Neither a symbolic link nor a FIFO may lead the relay elsewhere or hold it.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)
        .map_err(|error| {
            if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) {
                wrong(ReadErrorKind::NotAFile("a symbolic link"))
            } else {
                io(error)
            }
        })?;
    let metadata = file.metadata().map_err(io)?;
    if !metadata.is_file() {
        return Err(wrong(ReadErrorKind::NotAFile(if metadata.is_dir() {
            "a directory"
        } else {
            "a special file"
        })));
    }
    let mut bytes = Vec::new();
    (&file)
        .take(limits::FILE_BYTES as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(io)?;
    if bytes.len() > limits::FILE_BYTES {
        return Err(wrong(ReadErrorKind::TooLarge));
    }
    let text = String::from_utf8(bytes)
        .map_err(|_| wrong(ReadErrorKind::Syntax("the file is not UTF-8".to_owned())))?;
    Ok((text, FileState::from(&metadata)))
}

/// Puts a new content in a file's place, durably and in one step, with the mode and the owner of the old
/// one. False: the file is no longer the one that `seen` tells, and was left alone.
///
/// # Errors
/// The operating system's answer. The old file is untouched then.
pub fn replace(path: &Path, text: &str, seen: FileState) -> io::Result<bool> {
    let directory = path.parent().unwrap_or(Path::new("."));
    let mut temporary = tempfile::Builder::new()
        .prefix(TEMPORARY_PREFIX)
        .tempfile_in(directory)?;
    temporary.write_all(text.as_bytes())?;

    let old = fs::symlink_metadata(path)?;
    let new = temporary.as_file().metadata()?;
    if (old.uid(), old.gid()) != (new.uid(), new.gid()) {
        std::os::unix::fs::fchown(temporary.as_file(), Some(old.uid()), Some(old.gid()))?;
    }
    // After the owner: a change of owner clears set-id bits.
    let mode = fs::Permissions::from_mode(old.mode() & 0o7777);
    temporary.as_file().set_permissions(mode)?;
    temporary.as_file().sync_all()?;

    // Another writer in the moments before the rename would be lost silently.
    if FileState::from(&fs::symlink_metadata(path)?) != seen {
        return Ok(false);
    }
    temporary.persist(path).map_err(|error| error.error)?;
    File::open(directory)?.sync_all()?;
    Ok(true)
}

/// Removes what a relay that was killed in the middle of a write has left.
///
/// # Errors
/// The operating system's answer.
pub fn remove_unfinished(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut removed = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let ours = entry
            .file_name()
            .to_str()
            .is_some_and(|name| name.starts_with(TEMPORARY_PREFIX));
        if ours && entry.file_type()?.is_file() {
            fs::remove_file(entry.path())?;
            removed.push(entry.path());
        }
    }
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_another_program_changed_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.yaml");
        fs::write(&path, "one").unwrap();
        let (text, seen) = read(&path).unwrap();
        assert_eq!(text, "one");
        fs::write(&path, "another's").unwrap();
        assert!(!replace(&path, "two", seen).unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "another's");

        let (_, seen) = read(&path).unwrap();
        assert!(replace(&path, "two", seen).unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}
