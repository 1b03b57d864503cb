//! What was installed: a file beside the binary, by which `uninstall` removes exactly that, and
//! by which the next `install` knows a file as its own.

use device_attributes::hexadecimal;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The record's name in [`DIRECTORY`].
pub(super) const FILE: &str = "dra-cdi-hook.json";
/// The record's directory below the prefix.
pub(super) const DIRECTORY: &str = "lib/dra-guest";
/// The most bytes of a record.
pub(super) const BYTES: usize = 64 << 10;

/// What was installed.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    /// The version of the hook that installed.
    pub(super) version: String,
    /// The files, in the order in which they were put in place. While an installation is under way the
    /// same path may stand here with its old and its new content.
    pub(super) files: Vec<Installed>,
    /// The directories that were made for them, parents first.
    pub(super) directories: Vec<String>,
}

/// A file that was installed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Installed {
    /// Its path on the node.
    pub(super) path: String,
    /// What it held, as `sha256sum` prints it.
    pub(super) sha256: String,
}

impl Installed {
    /// Of a path and its content.
    pub(super) fn new(path: &str, bytes: &[u8]) -> Self {
        Self {
            path: path.to_owned(),
            sha256: hexadecimal(&Sha256::digest(bytes)),
        }
    }
}

impl Record {
    /// Reads a record.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(bytes)
    }

    /// Its bytes.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        // Writing to memory cannot fail, and there is no map in it.
        let mut bytes = serde_json::to_vec_pretty(self).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }

    /// Whether this content was put under this path by an installation.
    pub(super) fn has(&self, path: &str, bytes: &[u8]) -> bool {
        self.files.contains(&Installed::new(path, bytes))
    }

    /// Takes over what is not here yet.
    pub(super) fn add(&mut self, other: &Record) {
        for file in &other.files {
            if !self.files.contains(file) {
                self.files.push(file.clone());
            }
        }
        for directory in &other.directories {
            if !self.directories.contains(directory) {
                self.directories.push(directory.clone());
            }
        }
    }
}
