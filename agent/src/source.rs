//! Where the attributes come from: the first source that answers wins.

use std::collections::BTreeSet;
use std::fmt;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use device_attributes::document::FILE_NAME;
use device_attributes::read::tree::{self, Broken};
use device_attributes::read::{self, Form, Reading, file};
use device_attributes::{Device, ReadError, ReadErrorKind, hexadecimal};
use sha2::{Digest, Sha256};

use crate::roots::Roots;

/// How long a read may take before whoever wants the attributes goes on without. A boot waits for the first one.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// The VM mount below `/run` (`/var/run` is `/run`).
const VM_MOUNT: &str = "kubevirt";
/// The systemd credential's name.
const CREDENTIAL: &str = "device-attributes";
/// The fw_cfg item below the root of sysfs; it is there once `qemu_fw_cfg` is loaded.
const FW_CFG: &str = "firmware/qemu_fw_cfg/by_name/opt/org.kubevirt/device-attributes/raw";
/// What `dra-guest-config-drive.service` copied of a config drive, below `/run`.
const CONFIG_DRIVE: &str = "dra-guest-config-drive/meta_data.json";

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
    /// Its place among the sources, of which the least wins.
    pub rank: usize,
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
    /// The server of its file system does not answer.
    Silent(PathBuf),
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotYet(why) => write!(f, "no device attributes yet: {why}"),
            Self::Broken(error) => error.fmt(f),
            Self::Silent(path) => write!(
                f,
                "{} could not be read within {} s: a file system's server does not answer (of the VM mount: does \
                 virtiofsd still run on the node?). What was applied before stands; try again when it answers, or \
                 give a copy of the document by --attributes",
                path.display(),
                PATIENCE.as_secs()
            ),
        }
    }
}

impl std::error::Error for LoadError {}

/// How a file or a directory of attributes is opened.
pub type Open = fn(&Path) -> Result<OwnedFd, LoadError>;

/// Opens it, however long that takes.
///
/// # Errors
/// [`LoadError::Broken`] when it cannot be opened, or is not there.
pub fn open(path: &Path) -> Result<OwnedFd, LoadError> {
    file::open(path).map_err(load_error)
}

/// Reads the first source that answers.
///
/// # Errors
/// When none does, or the one that does is broken: the next is not asked then, so that a mistake
/// is seen and not hidden by an older file elsewhere. When what stands came from one before it.
pub fn load(roots: &Roots, places: &Places, open: Open) -> Result<Loaded, LoadError> {
    let candidates = candidates(roots, places);
    for (rank, path) in candidates.iter().enumerate() {
        // A directory of metadata is read only where one is asked for: in the place of the document
        // it is a mistake, and would look like attributes that name no device.
        let loaded = match &places.attributes {
            Some(path) => load_path(path, open),
            None => load_file(path, open),
        };
        match loaded {
            Err(LoadError::Broken(error)) if error.is_not_found() => {}
            Ok(loaded) if is_about_nothing(&loaded) && places.attributes.is_none() => {}
            Ok(loaded) => {
                standing::refuse_further_down(roots, &candidates, path, rank)?;
                return Ok(Loaded { rank, ..loaded });
            }
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

/// Clouds give every VM a config drive; one in which no device is tagged says nothing of devices.
fn is_about_nothing(loaded: &Loaded) -> bool {
    let reading = &loaded.reading;
    reading.form == Form::ConfigDrive
        && reading.document.devices.is_empty()
        && reading.rejected.is_empty()
}

fn candidates(roots: &Roots, places: &Places) -> Vec<PathBuf> {
    if let Some(path) = &places.attributes {
        return vec![path.clone()];
    }
    // systemd's is absolute; anything else would be a file of the working directory.
    let credential = places
        .credentials
        .as_ref()
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(CREDENTIAL));
    credential
        .into_iter()
        .chain([
            roots.run.join(VM_MOUNT).join(FILE_NAME),
            roots.sys.join(FW_CFG),
            roots.run.join(CONFIG_DRIVE),
        ])
        .collect()
}

/// Reads a file, or a directory of upstream metadata files.
///
/// # Errors
/// [`LoadError::NotYet`] when it is empty or cut, as while it is being written, and when no file of
/// the directory says anything.
pub fn load_path(path: &Path, open: Open) -> Result<Loaded, LoadError> {
    match load_file(path, open) {
        Err(LoadError::Broken(error)) if error.kind == ReadErrorKind::NotAFile("a directory") => {
            load_directory(path)
        }
        answer => answer,
    }
}

fn load_file(path: &Path, open: Open) -> Result<Loaded, LoadError> {
    let name = path.display().to_string();
    let bytes = file::read_fd(&name, open(path)?).map_err(load_error)?;
    let reading = read::read(&name, &bytes).map_err(load_error)?;
    Ok(Loaded {
        reading: each_once(reading),
        path: path.to_owned(),
        rank: 0,
        digest: digest([bytes.as_slice()]),
    })
}

/// A device that stands twice in a file is one device, as it is in a directory: else it would contest its own interface.
fn each_once(reading: Reading) -> Reading {
    let mut names = BTreeSet::new();
    let mut devices = reading.document.devices.iter();
    let is_twice = devices.any(|device| {
        let claim = device.claim.as_ref();
        let claim = claim.map(|claim| (&claim.namespace, &claim.name));
        let Device {
            request,
            driver,
            pool,
            device,
            ..
        } = device;
        driver.is_some()
            && device.is_some()
            && !names.insert((claim, request, driver, pool, device))
    });
    if is_twice {
        read::merge(vec![reading])
    } else {
        reading
    }
}

fn load_directory(path: &Path) -> Result<Loaded, LoadError> {
    let name = path.display().to_string();
    let directory = std::fs::File::open(path)
        .map_err(|error| ReadError::file(&name, ReadErrorKind::Io(error.to_string())))
        .map_err(load_error)?;
    // One claim's broken file must not keep the other claims' devices from being configured.
    let all = &mut |_: &str, _: BorrowedFd<'_>| Ok(true);
    let reading =
        tree::read_tree_where(&name, directory.as_fd(), Broken::Reject, all).map_err(load_error)?;
    if reading.document.devices.is_empty() && reading.rejected.is_empty() {
        return Err(LoadError::NotYet(format!(
            "no metadata file below {name} names a device"
        )));
    }
    // The files' own bytes may differ in what does not matter; the document's are canonical. What
    // is wrong with the others is news too.
    let document = reading.document.to_bytes();
    let rejected = reading.rejected.iter().map(|it| it.error.to_string());
    let rejected: Vec<String> = rejected.collect();
    let parts = rejected.iter().map(String::as_bytes);
    let digest = digest([document.as_slice()].into_iter().chain(parts));
    Ok(Loaded {
        reading,
        path: path.to_owned(),
        rank: 0,
        digest,
    })
}

fn load_error(error: ReadError) -> LoadError {
    if error.may_be_unfinished() {
        LoadError::NotYet(error.to_string())
    } else {
        LoadError::Broken(error)
    }
}

fn digest<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
    }
    format!("sha256:{}", hexadecimal(&hash.finalize()))
}

pub(crate) mod standing;
#[cfg(test)]
mod tests;
