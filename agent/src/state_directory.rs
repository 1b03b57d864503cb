//! `/run/dra-guest`: the one directory that the agent writes to, and how files in it are replaced.

use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::roots::Roots;
use crate::small_file;

/// The directory below `/run`.
const DIRECTORY: &str = "dra-guest";

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
/// `/run` is memory: no fsync could make it last.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if small_file::holds(path, bytes) {
        return Ok(());
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = path.with_file_name(format!(".{name}.{}", std::process::id()));
    let mut file = match File::create(&temporary) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            create_parent(path)?;
            File::create(&temporary)?
        }
        other => other?,
    };
    // Whatever the umask is: probes and people read it.
    let written = file
        .set_permissions(Permissions::from_mode(0o644))
        .and_then(|()| file.write_all(bytes))
        .and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // The error that counts is the first; a leftover in memory is harmless.
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Removes a file that may not be there.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
