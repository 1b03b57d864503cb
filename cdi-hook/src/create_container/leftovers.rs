//! Temporary files of hooks that were killed while they wrote.
//!
//! A container runtime kills a hook that takes too long, as on a disk that hangs, and tries again:
//! without this the volume would hold one file more each time.

use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, RawDir};

/// How old a temporary file must be: many times what a hook lives, its CDI spec gives it 10 s.
const AGE: Duration = Duration::from_mins(2);

/// The most entries that are looked at: the directory is a stranger's, who may have filled it.
const ENTRIES: usize = 1024;

/// Removes old temporary files of the document `name`. What cannot be removed stays: the document
/// is what counts.
pub(crate) fn remove(directory: &OwnedFd, name: &str) {
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let mut entries = RawDir::new(directory, &mut buffer);
    for _ in 0..ENTRIES {
        let Some(Ok(entry)) = entries.next() else {
            return;
        };
        let file = entry.file_name();
        if file.to_str().is_ok_and(|file| is_temporary(file, name)) && is_old(directory, file) {
            let _ = rustix::fs::unlinkat(directory, file, AtFlags::empty());
        }
    }
}

/// Whether `file` is a name that `replace` gives to a temporary file of `name`.
fn is_temporary(file: &str, name: &str) -> bool {
    file.strip_prefix('.')
        .and_then(|file| file.strip_prefix(name))
        .and_then(|file| file.strip_prefix('.'))
        .is_some_and(|random| random.len() == 16 && random.bytes().all(|b| b.is_ascii_hexdigit()))
}

fn is_old(directory: &OwnedFd, file: &std::ffi::CStr) -> bool {
    let Ok(stat) = rustix::fs::statat(directory, file, AtFlags::SYMLINK_NOFOLLOW) else {
        return false;
    };
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let modified = u64::try_from(stat.st_mtime).map(Duration::from_secs);
    matches!((now, modified), (Ok(now), Ok(modified)) if now.saturating_sub(modified) > AGE)
}
