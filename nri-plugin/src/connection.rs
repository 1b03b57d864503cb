//! What this node can know of the plugin's connection: a file beside the relay's answers, locked for as long as the
//! connection holds. The lock ends with the process however it ends, and is seen from other PID namespaces.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

/// The most bytes that are read of it.
const BYTES: u64 = 4096;

/// The connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Connection {
    /// The plugin's version.
    pub version: String,
    /// The runtime's name, as it says.
    pub runtime: String,
    /// Its version, as it says.
    pub runtime_version: String,
    /// The version of NRI that it speaks; empty where it does not say.
    pub nri_version: String,
}

/// What the file says.
#[derive(Debug, PartialEq, Eq)]
pub enum Known {
    /// A plugin is connected.
    Connected(Connection),
    /// One was.
    Ended,
    /// None was since the node started, or it has another state directory.
    Never,
}

fn file(state: &Path) -> PathBuf {
    state.join("connection")
}

/// Writes it below the state directory; it holds until the file is closed.
///
/// # Errors
/// When the kernel refuses, or another plugin of this node is connected.
pub fn hold(state: &Path, connection: &Connection) -> io::Result<File> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o711)
        .create(state)?;
    let mut file = File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o644)
        .open(file(state))?;
    flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    file.set_len(0)?;
    file.write_all(&serde_json::to_vec(connection).map_err(io::Error::other)?)?;
    Ok(file)
}

/// Looks.
///
/// # Errors
/// When the file cannot be read.
pub fn known(state: &Path) -> io::Result<Known> {
    let file = match File::open(file(state)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Known::Never),
        Err(error) => return Err(error),
    };
    match flock(&file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Ok(Known::Ended),
        Err(Errno::WOULDBLOCK) => {
            let mut bytes = Vec::new();
            file.take(BYTES).read_to_end(&mut bytes)?;
            let connection = serde_json::from_slice(&bytes).map_err(io::Error::other)?;
            Ok(Known::Connected(connection))
        }
        Err(error) => Err(error.into()),
    }
}
