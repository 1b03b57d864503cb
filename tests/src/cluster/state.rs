//! The directory of a cluster: its logs stay until the next run, all else goes with the cluster.

use std::fs::{self, File, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::programs::target_directory;

/// `target/cluster/NAME`, held by one test program at a time.
#[derive(Debug)]
pub(super) struct StateDirectory {
    data: PathBuf,
    logs: PathBuf,
    /// Held as long as it is open.
    _lock: File,
}

impl StateDirectory {
    /// Waits for the program that has it, and removes what an earlier one has left.
    pub(super) fn take(name: &str) -> Result<Self> {
        let directory = target_directory()?.join("cluster").join(name);
        let context = || format!("the directory {}", directory.display());
        fs::create_dir_all(&directory).with_context(context)?;
        // Tokens and keys lie in it.
        fs::set_permissions(&directory, Permissions::from_mode(0o700)).with_context(context)?;
        let lock = File::create(directory.join("lock")).with_context(context)?;
        lock.lock().with_context(context)?;
        let (data, logs) = (directory.join("data"), directory.join("logs"));
        for path in [&data, &logs] {
            match fs::remove_dir_all(path) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(error).with_context(context);
                }
                _ => fs::create_dir(path).with_context(context)?,
            }
        }
        Ok(Self {
            data,
            logs,
            _lock: lock,
        })
    }

    /// A file or directory that goes with the cluster.
    pub(super) fn data(&self, name: &str) -> PathBuf {
        self.data.join(name)
    }

    /// Where the programs log.
    pub(super) fn logs(&self) -> &Path {
        &self.logs
    }
}

impl Drop for StateDirectory {
    fn drop(&mut self) {
        // The next run removes what cannot be removed now.
        let _ = fs::remove_dir_all(&self.data);
    }
}
