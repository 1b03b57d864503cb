//! Where the attributes come from: the first source that answers wins.

use std::fmt::{self, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use device_attributes::document::FILE_NAME;
use device_attributes::read::tree::{self, Broken};
use device_attributes::read::{self, Reading, file};
use device_attributes::{ReadError, ReadErrorKind};
use sha2::{Digest, Sha256};

use crate::roots::Roots;

/// The VM mount below `/run` (`/var/run` is `/run`).
const VM_MOUNT: &str = "kubevirt";
/// The systemd credential's name.
const CREDENTIAL: &str = "device-attributes";
/// The fw_cfg item below the root of sysfs; it is there once `qemu_fw_cfg` is loaded.
const FW_CFG: &str = "firmware/qemu_fw_cfg/by_name/opt/org.kubevirt/device-attributes/raw";

/// Where to look, beside the fixed places.
#[derive(Debug, Clone, Default)]
pub struct Places {
    /// `--attributes PATH`: a file or a directory of upstream metadata. Nothing else is looked at
    /// then.
    pub attributes: Option<PathBuf>,
    /// `$CREDENTIALS_DIRECTORY`, which systemd sets for a service with credentials.
    pub credentials: Option<PathBuf>,
}

/// Attributes that were found.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// What they say.
    pub reading: Reading,
    /// The file or directory.
    pub path: PathBuf,
    /// `sha256:` and the hexadecimal digest of what was read.
    pub digest: String,
}

/// Why there are no attributes.
#[derive(Debug)]
pub enum LoadError {
    /// No source has any, or one is not yet written to its end: worth another look later.
    NotYet(String),
    /// A source has them, and they cannot be used.
    Broken(ReadError),
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotYet(why) => write!(f, "no device attributes yet: {why}"),
            Self::Broken(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for LoadError {}

/// Reads the first source that answers.
///
/// # Errors
/// When none does, or the one that does is broken: the next is not asked then, so that a mistake
/// is seen and not hidden by an older file elsewhere.
pub fn load(roots: &Roots, places: &Places) -> Result<Loaded, LoadError> {
    let candidates = candidates(roots, places);
    for path in &candidates {
        match load_path(path) {
            Err(LoadError::Broken(error)) if error.is_not_found() => {}
            answer => return answer,
        }
    }
    let looked_at: Vec<String> = candidates
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    Err(LoadError::NotYet(format!(
        "there is no {}",
        looked_at.join(", no ")
    )))
}

fn candidates(roots: &Roots, places: &Places) -> Vec<PathBuf> {
    if let Some(path) = &places.attributes {
        return vec![path.clone()];
    }
    let credential = places
        .credentials
        .as_ref()
        .map(|directory| directory.join(CREDENTIAL));
    credential
        .into_iter()
        .chain([
            roots.run.join(VM_MOUNT).join(FILE_NAME),
            roots.sys.join(FW_CFG),
        ])
        .collect()
}

/// Reads a file, or a directory of upstream metadata files.
///
/// # Errors
/// [`LoadError::NotYet`] when it is empty or cut, as while it is being written.
pub fn load_path(path: &Path) -> Result<Loaded, LoadError> {
    let name = path.display().to_string();
    let result = match file::read_path(path) {
        Ok(bytes) => read::read(&name, &bytes).map(|reading| {
            let digest = digest(&bytes);
            (reading, digest)
        }),
        Err(error) if error.kind == ReadErrorKind::NotAFile("a directory") => {
            read_directory(path, &name)
        }
        Err(error) => Err(error),
    };
    match result {
        Ok((reading, digest)) => Ok(Loaded {
            reading,
            path: path.to_owned(),
            digest,
        }),
        Err(error) if error.may_be_unfinished() => Err(LoadError::NotYet(error.to_string())),
        Err(error) => Err(LoadError::Broken(error)),
    }
}

fn read_directory(path: &Path, name: &str) -> Result<(Reading, String), ReadError> {
    let directory = std::fs::File::open(path)
        .map_err(|error| ReadError::file(name, ReadErrorKind::Io(error.to_string())))?;
    // One claim's broken file must not keep the other claims' devices from being configured.
    let all = &mut |_: &str, _: BorrowedFd<'_>| Ok(true);
    let reading = tree::read_tree_where(name, directory.as_fd(), Broken::Reject, all)?;
    // The files' own bytes may differ in what does not matter; the document's are canonical.
    let digest = digest(&reading.document.to_bytes());
    Ok((reading, digest))
}

fn digest(bytes: &[u8]) -> String {
    let mut text = String::from("sha256:");
    for byte in Sha256::digest(bytes) {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}
