//! The node's root directory, or a directory that stands in for it: a mount of it in an
//! installer's container, a copy of a node's files.
//!
//! The kernel resolves every path inside it, so that an absolute link like `/var/run -> /run` leads
//! where the node itself would go.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;

use crate::absolute_path::AbsolutePath;

/// The most attempts at one path: `RESOLVE_IN_ROOT` answers EAGAIN when a rename crossed a `..`.
const ATTEMPTS: usize = 128;

/// The most names of one directory.
const NAMES: usize = 4096;

/// A node's root directory.
#[derive(Debug)]
pub(crate) struct NodeRoot {
    directory: OwnedFd,
    path: AbsolutePath,
}

impl NodeRoot {
    /// Opens it.
    pub(crate) fn open(path: AbsolutePath) -> Result<Self, Errno> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::openat(CWD, path.as_str(), flags, Mode::empty())?;
        Ok(Self { directory, path })
    }

    /// Opens the root directory of this process.
    pub(crate) fn own() -> Result<Self, Errno> {
        Self::open(AbsolutePath::root())
    }

    /// Removes a file, or an empty directory; whether it was there.
    pub(crate) fn remove(&self, path: &str, directory: bool) -> Result<bool, Errno> {
        let flags = if directory {
            AtFlags::REMOVEDIR
        } else {
            AtFlags::empty()
        };
        let removed = match self.parent(path)? {
            Some((parent, name)) => rustix::fs::unlinkat(&parent, name, flags),
            None => return Ok(false),
        };
        match removed {
            Ok(()) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The names in a directory, sorted, in bounded number; none where it is not there.
    pub(crate) fn names(&self, directory: &str) -> Vec<String> {
        let opened = self.open_at(directory, OFlags::RDONLY | OFlags::DIRECTORY);
        let Ok(entries) = opened.and_then(Dir::new) else {
            return Vec::new();
        };
        let mut names: Vec<String> = entries
            .filter_map(Result::ok)
            .take(NAMES)
            .filter_map(|entry| entry.file_name().to_str().ok().map(str::to_owned))
            .filter(|name| name != "." && name != "..")
            .collect();
        names.sort_unstable();
        names
    }

    /// Whether it is the root directory of this process.
    pub(crate) fn is_own(&self) -> bool {
        self.path.as_str() == "/"
    }

    /// Whether something is there.
    pub(crate) fn exists(&self, path: &str) -> bool {
        self.open_at(path, OFlags::PATH).is_ok()
    }

    /// Whether a directory is there.
    pub(crate) fn is_directory(&self, path: &str) -> bool {
        self.open_at(path, OFlags::PATH | OFlags::DIRECTORY).is_ok()
    }

    /// Whether a regular file is there.
    pub(crate) fn is_file(&self, path: &str) -> bool {
        self.open_at(path, OFlags::PATH)
            .and_then(rustix::fs::fstat)
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile)
    }

    /// A path of the node as this process sees it, for messages.
    pub(crate) fn shown(&self, path: &str) -> String {
        format!("{}{path}", self.path.as_str().trim_end_matches('/'))
    }

    /// Opens something by its path on the node.
    pub(crate) fn open_at(&self, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
        let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        let flags = flags | OFlags::CLOEXEC;
        for _ in 0..ATTEMPTS {
            match openat2(&self.directory, path, flags, Mode::empty(), resolve) {
                Err(Errno::AGAIN | Errno::INTR) => {}
                result => return result,
            }
        }
        Err(Errno::AGAIN)
    }

    /// Opens a directory by its path on the node; `None` where nothing is.
    pub(crate) fn directory(&self, path: &str) -> Result<Option<OwnedFd>, Errno> {
        match self.open_at(path, OFlags::RDONLY | OFlags::DIRECTORY) {
            Ok(directory) => Ok(Some(directory)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The directories on the way to this one, itself included, that are not there: parents first.
    ///
    /// # Errors
    /// `EEXIST` for a link that leads to nothing: no directory can be made in its place.
    pub(crate) fn missing(&self, path: &AbsolutePath) -> Result<Vec<String>, Errno> {
        let mut missing = Vec::new();
        let mut here = String::new();
        for name in path.as_str().split('/').filter(|name| !name.is_empty()) {
            here = format!("{here}/{name}");
            if self.directory(&here)?.is_none() {
                // Below one that is missing there is nothing to look for.
                if missing.is_empty() && self.is_link(&here) {
                    return Err(Errno::EXIST);
                }
                missing.push(here.clone());
            }
        }
        Ok(missing)
    }

    fn is_link(&self, path: &str) -> bool {
        self.open_at(path, OFlags::PATH | OFlags::NOFOLLOW).is_ok()
    }

    /// Makes a directory with mode 0755; whether it was not there.
    pub(crate) fn make_directory(&self, path: &str) -> Result<bool, Errno> {
        let mode = Mode::from_raw_mode(0o755);
        let Some((directory, name)) = self.parent(path)? else {
            return Err(Errno::NOENT);
        };
        match rustix::fs::mkdirat(&directory, name, mode) {
            // The umask has no say.
            Ok(()) => rustix::fs::chmodat(&directory, name, mode, AtFlags::empty()).map(|()| true),
            Err(Errno::EXIST) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The directory that a path is in, and its name there; `None` where there is no such directory.
    pub(crate) fn parent<'p>(&self, path: &'p str) -> Result<Option<(OwnedFd, &'p str)>, Errno> {
        let (directory, name) = path.rsplit_once('/').ok_or(Errno::INVAL)?;
        let directory = if directory.is_empty() { "/" } else { directory };
        Ok(self
            .directory(directory)?
            .map(|directory| (directory, name)))
    }

    /// Reads a regular file by its path on the node; `None` where nothing is.
    ///
    /// # Errors
    /// `EFBIG` above `limit` bytes, `EINVAL` for what is no regular file.
    pub(crate) fn read(&self, path: &str, limit: usize) -> Result<Option<Vec<u8>>, Errno> {
        match self.open_at(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY) {
            Ok(file) => read_all(&file, limit).map(Some),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Reads an open regular file.
///
/// # Errors
/// `EFBIG` above `limit` bytes, `EINVAL` for what is no regular file.
pub(crate) fn read_all(file: impl AsFd, limit: usize) -> Result<Vec<u8>, Errno> {
    let stat = rustix::fs::fstat(&file)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(Errno::INVAL);
    }
    let mut bytes = Vec::new();
    let mut chunk = [0_u8; 16 << 10];
    loop {
        match rustix::io::read(&file, &mut chunk) {
            Ok(0) => return Ok(bytes),
            Ok(count) if bytes.len() + count > limit => return Err(Errno::FBIG),
            Ok(count) => bytes.extend_from_slice(chunk.get(..count).unwrap_or_default()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
}
