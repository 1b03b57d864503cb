//! The metadata files that drivers keep on the node, as upstream's library lays them out (KEP-5304):
//! `<kubelet>/plugins/<driver>/dra-device-metadata/<namespace>_<claim>/<request>/metadata.json`.
//!
//! The directory that the relay is given is trusted; what is below it is read as a stranger's. No symbolic link is
//! followed on the way to a claim's directory, and what is in it is read within the bounds of
//! [`device_attributes::read::tree`]. A driver's files speak of that driver's devices only.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};

use device_attributes::read::claim::ResourceClaim;
use device_attributes::read::tree::{Broken, read_tree_where};
use device_attributes::{Device, Name};
use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::store::ClaimName;

/// Upstream's name for the directory, below a driver's own.
pub const METADATA: &str = "dra-device-metadata";

/// What the files of one claim say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// The devices, those of this very claim.
    pub devices: Vec<Device>,
    /// What cannot be used, a sentence each.
    pub complaints: Vec<String>,
    /// A file is empty or cut, as while its driver writes it: it may be whole in a moment.
    pub unfinished: bool,
}

/// Reads the files of claims.
#[derive(Debug, Clone)]
pub struct Files {
    root: PathBuf,
}

impl Files {
    /// The files below the kubelet's directory of plugins.
    pub fn below(root: PathBuf) -> Self {
        Self { root }
    }

    /// Reads the files of each claim.
    pub fn read(
        &self,
        claims: &BTreeMap<ClaimName, std::sync::Arc<ResourceClaim>>,
    ) -> BTreeMap<ClaimName, Found> {
        let root = match File::open(&self.root) {
            Ok(root) => root,
            Err(error) => {
                let complaint = format!("--metadata-dir {}: {error}", self.root.display());
                let found = Found {
                    complaints: vec![complaint],
                    ..Found::default()
                };
                return claims
                    .keys()
                    .map(|name| (name.clone(), found.clone()))
                    .collect();
            }
        };
        claims
            .iter()
            .map(|(name, claim)| (name.clone(), self.claim(&root, name, claim)))
            .collect()
    }

    fn claim(&self, root: &File, name: &ClaimName, claim: &ResourceClaim) -> Found {
        let mut found = Found::default();
        for driver in drivers(claim) {
            let below = Path::new(driver.as_str())
                .join(METADATA)
                .join(format!("{}_{}", name.namespace, name.name));
            let place = self.root.join(&below).display().to_string();
            let opened = open(root, &below);
            match opened {
                Ok(directory) => read_directory(&place, &directory, &driver, claim, &mut found),
                // Not every driver writes them.
                Err(Errno::NOENT) => {}
                Err(errno) => {
                    let error = io::Error::from(errno);
                    found.complaints.push(format!("{place}: {error}"));
                }
            }
        }
        found
    }
}

/// The drivers of a claim whose names can be those of directories.
fn drivers(claim: &ResourceClaim) -> BTreeSet<Name> {
    let results = claim.status.results().unwrap_or_default();
    results
        .iter()
        .filter(|result| !result.driver.contains('/') && !result.driver.starts_with('.'))
        .filter_map(|result| result.driver.parse().ok())
        .collect()
}

fn open(root: &File, below: &Path) -> rustix::io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(root, below, flags, Mode::empty(), resolve).map(File::from)
}

fn read_directory(
    place: &str,
    directory: &File,
    driver: &Name,
    claim: &ResourceClaim,
    found: &mut Found,
) {
    let read = read_tree_where(place, directory.as_fd(), Broken::Reject, &mut |_, _| {
        Ok(true)
    });
    let reading = match read {
        Ok(reading) => reading,
        // Removed while it was read.
        Err(error) if error.is_not_found() => return,
        Err(error) => return found.complaints.push(error.to_string()),
    };
    for rejected in reading.rejected {
        if rejected.error.may_be_unfinished() {
            found.unfinished = true;
        }
        found.complaints.push(rejected.error.to_string());
    }
    found.complaints.extend(reading.notes);
    for device in reading.document.devices {
        match stranger(&device, driver, claim) {
            None => found.devices.push(device),
            Some(why) => {
                let complaint = format!("{place}: {}: left out: {why}", device.identity());
                found.complaints.push(complaint);
            }
        }
    }
}

/// Why a device is none of this driver and this claim.
fn stranger(device: &Device, driver: &Name, claim: &ResourceClaim) -> Option<String> {
    if device.driver.as_ref() != Some(driver) {
        return Some("it is another driver's".to_owned());
    }
    let Some(of) = &device.claim else {
        return Some("it names no claim".to_owned());
    };
    let this = &claim.claim;
    if (&of.namespace, &of.name) != (&this.namespace, &this.name) {
        return Some(format!("it is of the claim {}/{}", of.namespace, of.name));
    }
    // A name can be given again; what an earlier claim has left is not this one's.
    (of.uid != this.uid).then(|| "it is of an earlier claim of that name".to_owned())
}

#[cfg(test)]
mod tests;
