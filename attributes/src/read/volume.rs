//! A projected volume of Kubernetes: its files are exchanged all at once, by another link that is renamed over the one
//! that leads to them (`pkg/volume/util/atomic_writer.go`).

use std::os::fd::BorrowedFd;

use rustix::fs::AtFlags;

/// The link to the directory that has its files now.
pub(super) const DATA: &str = "..data";

/// Which link [`DATA`] is; none where it is gone.
pub(super) type Version = Option<[i64; 3]>;

/// The version of its files that a volume has.
pub(super) fn version(directory: BorrowedFd<'_>) -> Version {
    let link = rustix::fs::statat(directory, DATA, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some([
        link.st_ino.cast_signed(),
        link.st_ctime,
        link.st_ctime_nsec.cast_signed(),
    ])
}
