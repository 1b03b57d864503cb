//! Reads one file whole, whatever stands in its place.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::{ReadError, ReadErrorKind, limits};

/// How files are opened: a FIFO does not block, a terminal is not taken over, no child inherits it.
pub const FLAGS: OFlags = OFlags::RDONLY
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// Opens a file for [`read_fd`], without waiting on a FIFO or a device.
///
/// # Errors
/// When it cannot be opened; [`ReadError::is_not_found`] tells whether it is only not there.
pub fn open(path: &Path) -> Result<OwnedFd, ReadError> {
    let name = path.to_string_lossy();
    // The newer calls, which every architecture has: the hook allows itself no others.
    match rustix::fs::openat(CWD, path, FLAGS, Mode::empty()) {
        Ok(fd) => Ok(fd),
        // A socket cannot be opened at all.
        Err(Errno::NXIO) => Err(match rustix::fs::statat(CWD, path, AtFlags::empty()) {
            Ok(stat) => not_a_file(&name, FileType::from_raw_mode(stat.st_mode))
                .unwrap_or_else(|| system(&name, Errno::NXIO)),
            Err(errno) => system(&name, errno),
        }),
        Err(errno) => Err(system(&name, errno)),
    }
}

/// Reads a regular file that is open, from where it stands to its end.
///
/// `name` is for messages. At most [`limits::FILE_BYTES`] and one more are ever read or held.
///
/// # Errors
/// When it is no regular file, is too large, or cannot be read.
pub fn read_fd(name: &str, file: impl AsFd) -> Result<Vec<u8>, ReadError> {
    let stat = rustix::fs::fstat(&file).map_err(|errno| system(name, errno))?;
    if let Some(error) = not_a_file(name, FileType::from_raw_mode(stat.st_mode)) {
        return Err(error);
    }
    let too_large = || ReadError::file(name, ReadErrorKind::TooLarge);
    let size = usize::try_from(stat.st_size).unwrap_or(usize::MAX);
    if size > limits::FILE_BYTES {
        return Err(too_large());
    }
    // The size is only a hint: files of sysfs and those that are being written have another.
    let mut bytes = Vec::with_capacity(size + 1);
    loop {
        if bytes.len() == bytes.capacity() {
            let room = limits::FILE_BYTES + 1 - bytes.len();
            if room == 0 {
                return Err(too_large());
            }
            bytes.reserve_exact(room.min(64 << 10));
        }
        match rustix::io::read(&file, rustix::buffer::spare_capacity(&mut bytes)) {
            Ok(0) => break,
            // As long as it was when it was opened: to ask for more would only say so.
            Ok(_) if bytes.len() == size => break,
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(system(name, errno)),
        }
    }
    if bytes.len() > limits::FILE_BYTES {
        return Err(too_large());
    }
    Ok(bytes)
}

/// Opens and reads a file.
///
/// # Errors
/// As [`open`] and [`read_fd`].
pub fn read_path(path: &Path) -> Result<Vec<u8>, ReadError> {
    read_fd(&path.to_string_lossy(), open(path)?)
}

/// The error for what is no regular file.
pub(super) fn not_a_file(name: &str, kind: FileType) -> Option<ReadError> {
    let what = match kind {
        FileType::RegularFile => return None,
        FileType::Directory => "a directory",
        FileType::Symlink => "a symbolic link",
        FileType::Fifo => "a FIFO",
        FileType::Socket => "a socket",
        FileType::CharacterDevice => "a character device",
        FileType::BlockDevice => "a block device",
        FileType::Unknown => "something unknown",
    };
    Some(ReadError::file(name, ReadErrorKind::NotAFile(what)))
}

/// The operating system's answer as an error.
pub(super) fn system(name: &str, errno: Errno) -> ReadError {
    let kind = match errno {
        Errno::NOENT => ReadErrorKind::NotFound,
        // `io::Error` has the words of strerror and the number.
        errno => ReadErrorKind::Io(std::io::Error::from(errno).to_string()),
    };
    ReadError::file(name, kind)
}

/// Opens what a link leads to, if that is a regular file within `resolve`.
pub(super) fn open_regular(
    directory: BorrowedFd<'_>,
    name: &str,
    resolve: ResolveFlags,
) -> Option<OwnedFd> {
    // O_PATH first: it opens nothing yet, so that no device is.
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let target = rustix::fs::openat2(directory, name, flags, Mode::empty(), resolve).ok()?;
    let wanted = rustix::fs::fstat(&target).ok()?;
    if FileType::from_raw_mode(wanted.st_mode) != FileType::RegularFile {
        return None;
    }
    let file = rustix::fs::openat2(directory, name, FLAGS, Mode::empty(), resolve).ok()?;
    let found = rustix::fs::fstat(&file).ok()?;
    (FileType::from_raw_mode(found.st_mode) == FileType::RegularFile).then_some(file)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use rustix::fs::mknodat;

    use super::*;

    #[test]
    fn a_file_is_read_whole_and_no_more_than_the_limit() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f");
        for size in [0, 1, 65_536, 65_537, limits::FILE_BYTES] {
            fs::write(&path, vec![b'x'; size]).unwrap();
            assert_eq!(read_path(&path).unwrap().len(), size);
        }
        fs::write(&path, vec![b'x'; limits::FILE_BYTES + 1]).unwrap();
        let error = read_path(&path).unwrap_err();
        assert_eq!(error.kind, ReadErrorKind::TooLarge);
        assert_eq!(
            error.to_string(),
            format!(
                "{}: the file has more than 1048576 bytes, the most that is read",
                path.display()
            )
        );
    }

    #[test]
    fn a_size_that_the_system_does_not_know_is_no_obstacle() {
        // procfs says 0.
        let bytes = read_path(Path::new("/proc/self/status")).unwrap();
        assert!(bytes.starts_with(b"Name:"));
    }

    #[test]
    fn what_is_no_regular_file_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let fifo = directory.path().join("fifo");
        mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR, 0).unwrap();
        let socket = directory.path().join("socket");
        let _listener = UnixListener::bind(&socket).unwrap();
        for (path, what) in [
            (directory.path(), "a directory"),
            (&fifo, "a FIFO"),
            (&socket, "a socket"),
            (Path::new("/dev/null"), "a character device"),
        ] {
            let error = read_path(path).unwrap_err();
            assert_eq!(error.kind, ReadErrorKind::NotAFile(what));
            assert_eq!(
                error.to_string(),
                format!("{}: this is {what}, not a regular file", path.display())
            );
        }
    }

    #[test]
    fn not_there_is_told_from_not_readable() {
        let directory = tempfile::tempdir().unwrap();
        let absent = directory.path().join("absent");
        assert!(open(&absent).unwrap_err().is_not_found());
        let dangling = directory.path().join("dangling");
        symlink(&absent, &dangling).unwrap();
        assert!(open(&dangling).unwrap_err().is_not_found());

        let looped = directory.path().join("looped");
        symlink("looped", &looped).unwrap();
        let error = open(&looped).unwrap_err();
        assert!(!error.is_not_found());
        assert_eq!(
            error.to_string(),
            format!(
                "{}: Too many levels of symbolic links (os error 40)",
                looped.display()
            )
        );
    }
}
