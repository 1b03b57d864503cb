//! Reads small files of sysfs, `/run` and `/etc` with few system calls: a pass looks at one or two for
//! each NIC.

use std::cell::RefCell;
use std::io;
use std::marker::PhantomData;
use std::mem::{self, ManuallyDrop};
use std::os::fd::OwnedFd;
use std::path::Path;

use device_attributes::limits;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, read as read_some};

use crate::kernel_calls::close_together;

/// As much as is read at first: more than a file of sysfs or a manager's state of an interface has.
const FIRST: usize = 4096;

thread_local! {
    /// The files that this thread read while a [`Closing`] of it is there: another one may have descriptors of its own.
    /// That empties it; to have the thread's end do so costs six system calls.
    static READ: RefCell<ManuallyDrop<Option<Vec<OwnedFd>>>> = const { RefCell::new(ManuallyDrop::new(None)) };
}

/// How many of them are open at once.
const OPEN: usize = 64;

/// As long as it is there, what was read stays open, to be closed together: a pass reads a file or two for
/// each NIC, and to close each is a third of what that asks of the kernel.
#[derive(Debug)]
pub(crate) struct Closing {
    /// It stays with its thread.
    _thread: PhantomData<*const ()>,
}

impl Closing {
    /// Begins; where one has begun already, that goes on.
    pub(crate) fn begin() -> Self {
        READ.with_borrow_mut(|read| {
            read.get_or_insert_default();
        });
        Self {
            _thread: PhantomData,
        }
    }
}

impl Drop for Closing {
    fn drop(&mut self) {
        let read = READ.with_borrow_mut(|read| read.take());
        close_together(read.unwrap_or_default());
    }
}

/// A file that was read to its end.
fn close(file: OwnedFd) {
    READ.with_borrow_mut(|read| {
        let Some(files) = read.as_mut() else { return };
        files.push(file);
        if files.len() == OPEN {
            close_together(mem::take(files));
        }
    });
}

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
            Ok(read) if read == 0 || bytes.len() < bytes.capacity() => {
                close(file);
                return Ok(bytes);
            }
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
    fn what_is_read_stays_open_until_all_is_closed_and_never_more_than_so_many() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f");
        fs::write(&path, "x").unwrap();
        let open = || {
            let links = fs::read_dir("/proc/self/fd").unwrap();
            let links = links.filter_map(|link| fs::read_link(link.ok()?.path()).ok());
            links.filter(|target| *target == path).count()
        };
        read(&path).unwrap();
        assert_eq!(open(), 0);
        let closing = Closing::begin();
        let mut most = 0;
        for _ in 0..2 * OPEN {
            read(&path).unwrap();
            most = most.max(open());
        }
        assert!(most > 1 && most < OPEN, "{most}");
        drop(closing);
        assert_eq!(open(), 0);
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
