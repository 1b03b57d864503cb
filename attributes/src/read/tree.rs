//! Reads a directory of upstream's metadata files.
//!
//! In a container they lie at `resourceclaims/<claim>/<request>/<driver>-metadata.json`, or below
//! `resourceclaimtemplates` for a claim that was made from a template; on a node at
//! `<namespace>_<claim>/<request>/metadata.json` (KEP-5304). Any directory on the way may be the root.
//!
//! The tree may be a stranger's. The walk holds on to file descriptors, never to paths; it follows
//! no symbolic link out of a directory; it opens directories and regular files only; and it is bounded in depth,
//! names, files and bytes. A volume whose files Kubernetes exchanges meanwhile is read again: half of two versions would be
//! none of them.

mod mark;

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, ResolveFlags, SeekFrom};
use rustix::io::Errno;

use mark::Count;

use super::file::{FLAGS, not_a_file, open_regular, read_fd, system};
use super::notes::Notes;
use super::place::{Place, is_metadata};
use super::volume::{DATA, version};
use super::{Form, Reading, Rejected};
use crate::{Document, ReadError, ReadErrorKind, TreeLimit, limits};

/// The bytes of a directory's entries that the kernel hands over at once; one entry has at most 280.
const ENTRIES_BYTES: usize = 4096;

/// What becomes of the whole when one file cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broken {
    /// The reading ends with that file's error: nothing is written that is only half of the truth.
    Fail,
    /// The error goes to [`Reading::rejected`]; the devices of the other files are read all the same.
    Reject,
}

/// Looks at an open file before it is read: whether it is one of those that are meant.
///
/// Gets the file's name for messages and its descriptor.
pub type Accept<'a> = dyn FnMut(&str, BorrowedFd<'_>) -> Result<bool, ReadError> + 'a;

/// Reads all metadata files below a directory; a broken file ends the reading.
///
/// `name` is the directory's, for messages.
///
/// # Errors
/// When a file or a directory cannot be read, or there is more than [`crate::limits`] allow.
pub fn read_tree(name: &str, directory: BorrowedFd<'_>) -> Result<Reading, ReadError> {
    read_tree_where(name, directory, Broken::Fail, &mut |_, _| Ok(true))
}

/// Reads those metadata files below a directory that `accept` takes.
///
/// A file that it does not take is passed over with a note. Its errors count as the file's.
///
/// # Errors
/// As `broken` says; the bounds of the tree as a whole are an error always.
pub fn read_tree_where(
    name: &str,
    directory: BorrowedFd<'_>,
    broken: Broken,
    accept: &mut Accept<'_>,
) -> Result<Reading, ReadError> {
    let mut walk = Walk {
        root: name,
        broken,
        accept,
        notes: Notes::new(name),
        rejected: Vec::new(),
        readings: Vec::new(),
        count: Count::default(),
        exchanged: 0,
    };
    let place = Place::root(name);
    // The descriptor is the caller's, who may have read from it.
    rewind(directory, &place)?;
    walk.directory(directory, &place)?;
    let own = Reading {
        document: Document::default(),
        form: Form::Stream,
        rejected: walk.rejected,
        notes: walk.notes.finish(),
    };
    let mut readings = vec![own];
    readings.append(&mut walk.readings);
    Ok(super::merge(readings))
}

struct Walk<'w, 'a> {
    root: &'w str,
    broken: Broken,
    accept: &'w mut Accept<'a>,
    notes: Notes,
    rejected: Vec<Rejected>,
    readings: Vec<Reading>,
    count: Count,
    /// How often a volume was read in vain.
    exchanged: usize,
}

impl Walk<'_, '_> {
    /// Walks one directory. Its depth is bounded by [`limits::TREE_LEVELS`].
    fn directory(&mut self, directory: BorrowedFd<'_>, place: &Place) -> Result<(), ReadError> {
        let before = self.mark();
        let mut known = None;
        loop {
            let names = match self.names(directory, place) {
                Ok(names) => names,
                Err(error) => return self.broken(place, error),
            };
            let is_volume = names.iter().any(|name| name == DATA);
            let read = if is_volume && known.is_none() {
                // Read once its version is known: the names may be another's.
                Ok(())
            } else {
                let mut names = names.iter().filter(|name| *name != DATA);
                names.try_for_each(|name| self.entry(directory, name, &place.below(name)))
            };
            let now = is_volume.then(|| version(directory));
            if now == known {
                return read;
            }
            // What was found, and what was wrong with it, is of no version that there is.
            self.back_to(before);
            if known.is_some() {
                self.exchanged += 1;
                if self.exchanged == limits::VERSIONS {
                    let error = ReadError::file(&*place.name, ReadErrorKind::Changing);
                    return self.broken(place, error);
                }
            }
            known = now;
            rewind(directory, place)?;
        }
    }

    /// The names in a directory, sorted: the order of a file system is no order.
    fn names(
        &mut self,
        directory: BorrowedFd<'_>,
        place: &Place,
    ) -> Result<Vec<String>, ReadError> {
        let mut names = Vec::new();
        let mut buffer = [MaybeUninit::uninit(); ENTRIES_BYTES];
        let mut entries = RawDir::new(directory, &mut buffer);
        while let Some(entry) = entries.next() {
            let entry = entry.map_err(|errno| system(&place.name, errno))?;
            self.count.entries += 1;
            if self.count.entries > limits::TREE_ENTRIES {
                return Err(self.limit(TreeLimit::Entries));
            }
            match entry.file_name().to_str() {
                // Kubernetes keeps the real files of a projected volume in directories like `..data`; the
                // names beside them lead there.
                Ok(name) if name == "." || name.starts_with("..") && name != DATA => {}
                Ok(name) => names.push(name.to_owned()),
                Err(_) => {
                    let name = entry.file_name().to_string_lossy();
                    let shown = &place.below(&name).name;
                    self.notes
                        .add(format!("{shown}: this name is not UTF-8 text: passed over"));
                }
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn entry(
        &mut self,
        directory: BorrowedFd<'_>,
        name: &str,
        place: &Place,
    ) -> Result<(), ReadError> {
        // Looked at before it is opened: opening a device can set things going.
        let stat = match rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            // Removed since the names were read.
            Err(Errno::NOENT) => return Ok(()),
            Err(errno) => return self.broken(place, system(&place.name, errno)),
        };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => self.subdirectory(directory, name, place),
            FileType::Symlink if !is_metadata(name) => {
                let what = "this symbolic link may lead to a directory: passed over";
                self.notes.add(format!("{}: {what}", place.name));
                Ok(())
            }
            _ if !is_metadata(name) => Ok(()),
            FileType::RegularFile => {
                match rustix::fs::openat(directory, name, FLAGS | OFlags::NOFOLLOW, Mode::empty()) {
                    Ok(file) => self.file(&file, place),
                    Err(errno) => self.broken(place, system(&place.name, errno)),
                }
            }
            FileType::Symlink => self.link(directory, name, place),
            kind => match not_a_file(&place.name, kind) {
                Some(error) => self.broken(place, error),
                None => Ok(()),
            },
        }
    }

    fn subdirectory(
        &mut self,
        parent: BorrowedFd<'_>,
        name: &str,
        place: &Place,
    ) -> Result<(), ReadError> {
        let before = self.count.files;
        if place.path.len() < limits::TREE_LEVELS {
            let flags = FLAGS | OFlags::NOFOLLOW | OFlags::DIRECTORY;
            match rustix::fs::openat(parent, name, flags, Mode::empty()) {
                Ok(directory) => self.directory(directory.as_fd(), place)?,
                Err(errno) => return self.broken(place, system(&place.name, errno)),
            }
        } else if !is_metadata(name) {
            let what = "a directory so deep is none of a metadata tree: passed over";
            self.notes.add(format!("{}: {what}", place.name));
        }
        // A container runtime makes a directory where the file to be mounted is missing. A claim
        // may have such a name as well, but then there are files below it.
        if is_metadata(name) && self.count.files == before {
            let error = ReadError::file(&*place.name, ReadErrorKind::NotAFile("a directory"));
            return self.broken(place, error);
        }
        Ok(())
    }

    /// Follows a link as the projected volumes of Kubernetes have them, `x -> ..data/x`: the kernel
    /// lets it lead nowhere but below the directory that it stands in.
    fn link(
        &mut self,
        directory: BorrowedFd<'_>,
        name: &str,
        place: &Place,
    ) -> Result<(), ReadError> {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_XDEV;
        if let Some(file) = open_regular(directory, name, resolve) {
            return self.file(&file, place);
        }
        let what = "this symbolic link leads to no file below its directory: passed over";
        self.notes.add(format!("{}: {what}", place.name));
        Ok(())
    }

    fn file(&mut self, file: &OwnedFd, place: &Place) -> Result<(), ReadError> {
        self.count.files += 1;
        if self.count.files > limits::FILES {
            return Err(self.limit(TreeLimit::Files));
        }
        match (self.accept)(&place.name, file.as_fd()) {
            Ok(true) => {}
            Ok(false) => {
                self.notes.add(format!(
                    "{}: this file is not one of those that are read: passed over",
                    place.name
                ));
                return Ok(());
            }
            Err(error) => return self.broken(place, error),
        }
        let bytes = match read_fd(&place.name, file) {
            Ok(bytes) => bytes,
            Err(error) => return self.broken(place, error),
        };
        self.count.bytes += bytes.len();
        if self.count.bytes > limits::TREE_BYTES {
            return Err(self.limit(TreeLimit::Bytes));
        }
        match super::read(&place.name, &bytes) {
            Ok(reading) => {
                self.readings.push(reading);
                Ok(())
            }
            Err(error) => self.broken(place, error),
        }
    }

    fn broken(&mut self, place: &Place, error: ReadError) -> Result<(), ReadError> {
        // The bounds hold for the whole.
        if self.broken == Broken::Fail || matches!(error.kind, ReadErrorKind::Tree(_)) {
            return Err(error);
        }
        let identity = place.identity();
        self.rejected.push(Rejected { identity, error });
        Ok(())
    }

    fn limit(&self, limit: TreeLimit) -> ReadError {
        ReadError::file(self.root, ReadErrorKind::Tree(limit))
    }
}

fn rewind(directory: BorrowedFd<'_>, place: &Place) -> Result<(), ReadError> {
    rustix::fs::seek(directory, SeekFrom::Start(0))
        .map(drop)
        .map_err(|errno| system(&place.name, errno))
}
