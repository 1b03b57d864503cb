//! `/run/dra-guest`: the one directory that the agent writes to, and how files in it are replaced.

use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, OnceLock};

use rustix::fs::{CWD, Mode, OFlags, RenameFlags, fchmod, fstat, open, renameat_with};
use rustix::io::Errno;

use crate::roots::Roots;
use crate::small_file;

/// The directory below `/run`.
const DIRECTORY: &str = "dra-guest";

/// Of every file: probes and people read it.
const MODE: Mode = Mode::from_raw_mode(0o644);

/// The directory's path.
pub(crate) fn path(roots: &Roots) -> PathBuf {
    roots.run.join(DIRECTORY)
}

/// Makes the directory of a file, mode 0755 whatever the umask is.
pub(crate) fn create_parent(file: &Path) -> io::Result<()> {
    let directory = file.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(directory)?;
    fs::set_permissions(directory, Permissions::from_mode(0o755))
}

/// Puts a whole file, mode 0644, in the place of another; one of the same content is left as it is.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if small_file::holds(path, bytes) {
        return Ok(());
    }
    put(path, bytes)
}

/// Puts a whole file, mode 0644, in the place of another or of none.
/// `/run` is memory: no fsync could make it last.
pub(crate) fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    put_by(path, bytes, |temporary| fs::rename(temporary, path))
}

/// Puts a whole file, mode 0644, where none is; true when one is, which stays as it is.
pub(crate) fn put_where_none_is(path: &Path, bytes: &[u8]) -> io::Result<bool> {
    let mut is_there = false;
    put_by(path, bytes, |temporary| {
        match renameat_with(CWD, temporary, CWD, path, RenameFlags::NOREPLACE) {
            Ok(()) => Ok(()),
            Err(Errno::EXIST) => {
                is_there = true;
                fs::remove_file(temporary)
            }
            // Not every file system knows how.
            Err(_) if path.symlink_metadata().is_ok() => {
                is_there = true;
                fs::remove_file(temporary)
            }
            Err(_) => fs::rename(temporary, path),
        }
    })?;
    Ok(is_there)
}

/// Writes a whole file, mode 0644, where nobody looks yet.
pub(crate) fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    create(path)?.write_all(bytes)
}

/// Beside a path, the name of what takes its place once it is whole.
pub(crate) fn temporary(path: &Path) -> PathBuf {
    static PROCESS: LazyLock<u32> = LazyLock::new(std::process::id);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}", *PROCESS))
}

fn put_by(
    path: &Path,
    bytes: &[u8],
    take_place: impl FnOnce(&Path) -> io::Result<()>,
) -> io::Result<()> {
    let temporary = temporary(path);
    let mut file = match create(&temporary) {
        Err(Errno::NOENT) => {
            create_parent(path)?;
            create(&temporary)?
        }
        other => other?,
    };
    let written = (file.write_all(bytes)).and_then(|()| take_place(&temporary));
    if written.is_err() {
        // The error that counts is the first; a leftover in memory is harmless.
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// An empty file, mode 0644 whatever the umask is, which is the same for all of them.
fn create(path: &Path) -> Result<File, Errno> {
    static IS_MODE_KEPT: OnceLock<bool> = OnceLock::new();
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC;
    let file = open(path, flags, MODE)?;
    let is_mode_kept = if let Some(is_kept) = IS_MODE_KEPT.get() {
        *is_kept
    } else {
        let mode = Mode::from_raw_mode(fstat(&file)?.st_mode);
        *IS_MODE_KEPT.get_or_init(|| mode == MODE)
    };
    if !is_mode_kept {
        fchmod(&file, MODE)?;
    }
    Ok(File::from(file))
}

/// Removes a file that may not be there.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
