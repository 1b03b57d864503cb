//! The container's root file system: a handle, below which the kernel resolves every path.
//!
//! Whoever made the image chose its directories and symbolic links, and the container's other
//! processes may swap them at any moment. So a path of the container is never joined to a path
//! of the node: `openat2` with `RESOLVE_IN_ROOT` takes `/var/run -> /run` and `..` as the container
//! itself would, and `RESOLVE_NO_MAGICLINKS` shuts `/proc/1/root`, which still leads to the node.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags, Statx, StatxAttributes, StatxFlags};
use rustix::io::Errno;

use super::error::Error;

/// The most attempts at one path. `RESOLVE_IN_ROOT` answers EAGAIN when a rename or a mount anywhere
/// on the node crossed a `..`.
const ATTEMPTS: usize = 128;

/// The container's root file system.
#[derive(Debug)]
pub(crate) struct Rootfs {
    directory: OwnedFd,
    mount: MountId,
}

/// Which mount a file is on (`stx_mnt_id`). One mount has one number as long as it is mounted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MountId(u64);

/// Where a file is.
#[derive(Debug)]
pub(crate) struct Place {
    /// Its mount.
    pub(crate) mount: MountId,
    /// Whether it is the root of that mount.
    pub(crate) mount_root: bool,
    /// Device and inode.
    identity: (u32, u32, u64),
}

impl Place {
    /// Whether both are one file, by device and inode; one directory may be mounted many times.
    pub(crate) fn is_same_file(&self, other: &Self) -> bool {
        self.identity == other.identity
    }
}

impl Rootfs {
    /// Takes the root file system that the state or the bundle named.
    pub(crate) fn new(directory: OwnedFd, path: &str) -> Result<Self, Error> {
        let place = place_of(&directory, path)?;
        let host = examine(CWD, "/", AtFlags::empty(), "/")?;
        if place.is_same_file(&host) {
            return Err(Error::RootfsIsHost(path.to_owned()));
        }
        Ok(Self {
            directory,
            mount: place.mount,
        })
    }

    /// The mount that the container's own files are on.
    pub(crate) fn mount(&self) -> MountId {
        self.mount
    }

    /// Opens a directory by its path in the container; `None` where there is none.
    pub(crate) fn open_directory(&self, path: &str) -> Result<OwnedFd, OpenError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        for _ in 0..ATTEMPTS {
            match rustix::fs::openat2(&self.directory, path, flags, Mode::empty(), resolve) {
                Ok(directory) => return Ok(directory),
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(source @ (Errno::NOENT | Errno::NOTDIR)) => {
                    return Err(OpenError::Absent(source));
                }
                Err(Errno::NOSYS) => return Err(Error::Kernel("openat2").into()),
                Err(source) => {
                    return Err(Error::Resolve {
                        path: path.to_owned(),
                        source,
                    }
                    .into());
                }
            }
        }
        Err(Error::ResolveBusy(path.to_owned()).into())
    }
}

/// Why a directory of the container was not opened.
#[derive(Debug)]
pub(crate) enum OpenError {
    /// Nothing is there, or something that is no directory.
    Absent(Errno),
    /// It cannot or must not be opened.
    Failed(Error),
}

impl From<Error> for OpenError {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// Where an open file is.
///
/// `path` is for messages.
pub(crate) fn place_of(file: impl AsFd, path: &str) -> Result<Place, Error> {
    examine(file, "", AtFlags::EMPTY_PATH, path)
}

/// Where a directory of the node is, by a path whose last part is no link.
pub(crate) fn place_at(path: &str) -> Result<Place, Error> {
    examine(CWD, path, AtFlags::SYMLINK_NOFOLLOW, path)
}

fn examine(directory: impl AsFd, name: &str, flags: AtFlags, path: &str) -> Result<Place, Error> {
    let wanted = StatxFlags::INO | StatxFlags::MNT_ID;
    let Statx {
        stx_mask,
        stx_attributes,
        stx_attributes_mask,
        stx_ino,
        stx_dev_major,
        stx_dev_minor,
        stx_mnt_id,
        ..
    } = rustix::fs::statx(directory, name, flags, wanted).map_err(|source| Error::Examine {
        path: path.to_owned(),
        source,
    })?;
    if stx_mask & wanted.bits() != wanted.bits()
        || !stx_attributes_mask.contains(StatxAttributes::MOUNT_ROOT)
    {
        return Err(Error::Kernel("statx with STATX_MNT_ID"));
    }
    Ok(Place {
        mount: MountId(stx_mnt_id),
        mount_root: stx_attributes.contains(StatxAttributes::MOUNT_ROOT),
        identity: (stx_dev_major, stx_dev_minor, stx_ino),
    })
}
