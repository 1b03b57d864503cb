//! What is done on the node before the runtime is connected to: the hook is put at its place, and the relay gets the
//! directory that its socket is in.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _, chown};
use std::path::Path;

use crate::command_line::Arguments;

/// Why it cannot be done.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// The hook is not at its place.
    #[error("{from} cannot be put at {to}: {source}")]
    Hook {
        /// The program.
        from: String,
        /// Its place.
        to: String,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The relay has nowhere to listen.
    #[error("the directory {path} cannot be made for the user {user}: {source}")]
    Directory {
        /// The directory.
        path: String,
        /// The relay's user.
        user: u32,
        /// The kernel's answer.
        source: io::Error,
    },
}

/// Does what the command line asks for.
///
/// # Errors
/// When the kernel refuses.
pub fn prepare(arguments: &Arguments) -> Result<(), PrepareError> {
    if let Some(from) = &arguments.install_hook {
        install(from, Path::new(&arguments.hook)).map_err(|source| PrepareError::Hook {
            from: from.display().to_string(),
            to: arguments.hook.clone(),
            source,
        })?;
    }
    let directory = arguments
        .attributes_socket
        .as_ref()
        .and_then(|socket| socket.parent());
    if let (Some(user), Some(directory)) = (arguments.attributes_user, directory) {
        give(directory, user).map_err(|source| PrepareError::Directory {
            path: directory.display().to_string(),
            user,
            source,
        })?;
    }
    Ok(())
}

/// Whole or not at all: a container may be starting with the one before.
fn install(from: &Path, to: &Path) -> io::Result<()> {
    if let Some(directory) = to.parent() {
        fs::create_dir_all(directory)?;
    }
    let temporary = to.with_extension("new");
    // What an installation that was killed has left.
    let _ = fs::remove_file(&temporary);
    let mut file = File::options()
        .write(true)
        .create_new(true)
        .mode(0o755)
        .open(&temporary)?;
    io::copy(&mut File::open(from)?, &mut file)?;
    // Whatever the umask is.
    file.set_permissions(fs::Permissions::from_mode(0o755))?;
    file.sync_all()?;
    drop(file);
    fs::rename(&temporary, to)
}

/// A directory that is there already stays whose it is.
fn give(directory: &Path, user: u32) -> io::Result<()> {
    if let Some(above) = directory.parent() {
        fs::create_dir_all(above)?;
    }
    match fs::create_dir(directory) {
        Ok(()) => chown(directory, Some(user), Some(user)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn the_hook_is_put_where_no_directory_is_yet_and_again() {
        let node = tempfile::tempdir().unwrap();
        let from = node.path().join("hook");
        let to = node.path().join("opt/bin/dra-cdi-hook");
        for text in ["one", "another"] {
            fs::write(&from, text).unwrap();
            install(&from, &to).unwrap();
            assert_eq!(fs::read_to_string(&to).unwrap(), text);
            let mode = fs::metadata(&to).unwrap().permissions().mode();
            assert_eq!(mode & 0o7777, 0o755);
        }
        let left = fs::read_dir(to.parent().unwrap()).unwrap().count();
        assert_eq!(left, 1);
    }
}
