//! Reads small files of sysfs, `/run` and `/etc` with few system calls: a pass looks at one or two for
//! each NIC.

use std::io;
use std::path::Path;

use device_attributes::limits;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, read as read_some};

/// As much as is read at first: more than a file of sysfs or a manager's state of an interface has.
const FIRST: usize = 4096;

/// A whole file. A FIFO does not block, and no child inherits it.
///
/// A read of a regular file that gives less than was asked for has reached its end (`read(2)`), so that
/// three calls are enough where [`std::fs::read`] makes six. What others may still be writing, or serve
/// over virtiofs, is read by [`device_attributes::read::file`].
///
/// # Errors
/// When it cannot be opened or read, or has more than [`limits::FILE_BYTES`].
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_at_once(path, FIRST, limits::FILE_BYTES)
}

/// A whole file that is larger than those, of which `most` bytes are read.
///
/// # Errors
/// When it cannot be opened or read, or has more.
pub(crate) fn read_larger(path: &Path, most: usize) -> io::Result<Vec<u8>> {
    read_at_once(path, 4 * FIRST, most)
}

/// Whether a file has these bytes and no others.
pub(crate) fn holds(path: &Path, bytes: &[u8]) -> bool {
    // One more than it is to have shows one that goes on.
    read_at_once(path, bytes.len() + 1, limits::FILE_BYTES).is_ok_and(|present| present == bytes)
}

fn read_at_once(path: &Path, first: usize, most: usize) -> io::Result<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = open(path, flags, Mode::empty())?;
    let mut bytes = Vec::with_capacity(first);
    loop {
        match read_some(&file, rustix::buffer::spare_capacity(&mut bytes)) {
            Ok(0) => return Ok(bytes),
            Ok(_) if bytes.len() < bytes.capacity() => return Ok(bytes),
            Ok(_) if bytes.len() > most => return Err(Errno::FBIG.into()),
            Ok(_) => bytes.reserve(bytes.len()),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_is_read_whole_whatever_its_size() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f");
        for size in [
            0,
            1,
            FIRST - 1,
            FIRST,
            FIRST + 1,
            100_000,
            limits::FILE_BYTES,
        ] {
            let bytes = vec![b'x'; size];
            fs::write(&path, &bytes).unwrap();
            assert!(read(&path).unwrap() == bytes, "{size}");
            assert!(holds(&path, &bytes), "{size}");
            assert!(!holds(&path, &vec![b'x'; size + 1]), "{size}");
            assert!(size == 0 || !holds(&path, &bytes[1..]), "{size}");
        }
        fs::write(&path, vec![b'x'; 3 * limits::FILE_BYTES]).unwrap();
        let error = read(&path).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
    }

    #[test]
    fn what_never_ends_and_what_is_no_file_is_an_error() {
        let error = read(Path::new("/dev/zero")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        let directory = tempfile::tempdir().unwrap();
        assert!(read(directory.path()).is_err());
        let absent = read(&directory.path().join("absent")).unwrap_err();
        assert_eq!(absent.kind(), io::ErrorKind::NotFound);
    }
}
