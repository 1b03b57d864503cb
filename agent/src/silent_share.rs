//! Opens attributes for a short command, which is not to wait for a share whose server has died.
//!
//! What such a server has taken and does not answer holds a thread beyond any signal (Linux, `fs/fuse/dev.c`,
//! `request_wait_answer`), and with the thread its process: who waits for the process waits, too. So where a file system
//! of a server is mounted, a process of its own looks at the path first, and is left to wait where it does.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Instant;

use device_attributes::read::file;
use nix::sys::wait::waitpid;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, Mode, ResolveFlags, openat2};
use rustix::io::Errno;

use crate::kernel_calls::apart;
use crate::small_file;
use crate::source::{self, LoadError, PATIENCE};

/// The caller's own mounts, whatever directory stands in for procfs.
const MOUNTS: &str = "/proc/self/mountinfo";

/// Types of file systems that others serve; those of FUSE have names after a dot (`fuse.sshfs`).
const SERVED: [&str; 10] = [
    "virtiofs", "fuse", "fuseblk", "9p", "nfs", "nfs4", "cifs", "smb3", "ceph", "afs",
];

/// Opens a file or a directory of attributes.
///
/// What lies on the mount of the root directory is as local as the program itself, and costs no more than any open.
///
/// # Errors
/// [`LoadError::Silent`] when a server does not answer within [`PATIENCE`]; else as [`source::open`].
pub(crate) fn open(path: &Path) -> Result<OwnedFd, LoadError> {
    if path.is_absolute() {
        match openat2(CWD, path, file::FLAGS, Mode::empty(), ResolveFlags::NO_XDEV) {
            Ok(file) => return Ok(file),
            // `EXDEV`, or a kernel without the call. What else is wrong with it is told below.
            Err(Errno::NOENT) => return source::open(path),
            Err(_) => {}
        }
    }
    if is_served_by_others() && !answers(path) {
        return Err(LoadError::Silent(path.to_owned()));
    }
    source::open(path)
}

/// Whether any mount could keep an open or a read waiting. Which one a path leads to cannot be told without a walk
/// along it, which may wait already.
fn is_served_by_others() -> bool {
    let Ok(mounts) = small_file::read(Path::new(MOUNTS)) else {
        return true;
    };
    String::from_utf8_lossy(&mounts).lines().any(is_served)
}

/// A line of `proc_pid_mountinfo(5)`: the type is the word after the hyphen. No path has a space in it there.
fn is_served(mount: &str) -> bool {
    let kind = mount
        .split_once(" - ")
        .and_then(|(_, rest)| rest.split(' ').next());
    kind.is_none_or(|kind| SERVED.contains(&kind) || kind.starts_with("fuse."))
}

/// Whether another process reads what is there to its end in time. Where there can be none, nobody knows: then it is
/// read as if it did.
fn answers(path: &Path) -> bool {
    let look = || drop(source::load_path(path, source::open));
    let (process, end) = match apart(look) {
        Ok(started) => started,
        Err(error) => {
            tracing::debug!("no process looks at {} first: {error}", path.display());
            return true;
        }
    };
    let is_over = wait_for_end(&end);
    if is_over {
        let _ = waitpid(process, None);
    }
    is_over
}

/// Whether the other end of the pipe is closed in time, as it is with the process that has it.
fn wait_for_end(end: &OwnedFd) -> bool {
    let begin = Instant::now();
    loop {
        let left = PATIENCE.saturating_sub(begin.elapsed());
        let Ok(left) = Timespec::try_from(left) else {
            return false;
        };
        match poll(&mut [PollFd::new(end, PollFlags::empty())], Some(&left)) {
            Ok(0) => return false,
            Err(Errno::INTR) => {}
            Ok(_) | Err(_) => return true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_that_others_serve_is_told_by_its_type() {
        for (line, expected) in [
            (
                "22 1 0:20 / /run rw,nosuid shared:5 - tmpfs tmpfs rw",
                false,
            ),
            ("23 1 254:1 / / rw,relatime - ext4 /dev/vda1 rw", false),
            (
                "24 22 0:31 / /sys/fs/fuse/connections rw - fusectl fusectl rw",
                false,
            ),
            (
                "25 22 0:32 / /run/kubevirt ro master:1 shared:9 - virtiofs device-attributes ro",
                true,
            ),
            (
                "26 1 0:33 / /mnt/a\\040-\\040b rw - fuse.sshfs host: rw",
                true,
            ),
            ("27 1 0:34 / /srv rw - nfs4 server:/srv rw", true),
            // What is not understood is not relied upon.
            ("28 1 0:35 / /mnt rw", true),
        ] {
            assert_eq!(is_served(line), expected, "{line}");
        }
    }
}
