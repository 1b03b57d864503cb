//! `/run/dra-guest/devices/<claim>.<request>.{json,env}`: what was observed of one device, for
//! programs and for shell scripts.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{Display, Write as _};
use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use device_attributes::report::DeviceReport;
use device_attributes::{Claim, DeviceIdentity, Name, hexadecimal};
use sha2::{Digest, Sha256};

use super::DeviceStatus;
use crate::numa::Bounds;
use crate::numa::cpu_list::{Kind, List};
use crate::roots::Roots;
use crate::{small_file, state_directory};

/// The directory below the agent's.
const DIRECTORY: &str = "devices";
/// The most bytes of a file's name without its ending: the file system takes 255.
const STEM_BYTES: usize = 200;
/// As many bytes as the variables of most devices have.
const TEXT_BYTES: usize = 512;

/// A file that cannot be written or removed.
#[derive(Debug)]
pub(super) struct Unwritten {
    pub(super) path: PathBuf,
    pub(super) error: io::Error,
}

/// Writes the files of these devices, each whole, and removes those of others.
pub(super) fn write(roots: &Roots, devices: &[DeviceStatus]) -> Result<(), Unwritten> {
    let directory = state_directory::path(roots).join(DIRECTORY);
    let is_new = !devices.is_empty()
        && fs::symlink_metadata(&directory).is_err()
        // Whatever is in the way is told by the other way.
        && write_new(&directory, devices).is_ok();
    if is_new {
        return Ok(());
    }
    let present = put_each(&directory, devices, state_directory::replace)?;
    remove_others(&directory, &present).map_err(|error| Unwritten {
        path: directory,
        error,
    })
}

/// Whether the files have what the devices' workloads are bound to, where those are bound at all.
pub(super) fn hold_bounds(roots: &Roots, devices: &[DeviceStatus]) -> bool {
    let directory = state_directory::path(roots).join(DIRECTORY);
    let mut files = stems(devices).into_iter().zip(devices);
    files.all(|(stem, device)| {
        let text = || env(&device.report, &device.bounds);
        device.bounds == Bounds::default()
            || small_file::holds(&directory.join(format!("{stem}.env")), text().as_bytes())
    })
}

/// Writes the files of a directory that is not there yet, which is seen when it has all of them.
fn write_new(directory: &Path, devices: &[DeviceStatus]) -> Result<(), Unwritten> {
    let temporary = state_directory::temporary(directory);
    let unwritten = |error| Unwritten {
        path: directory.to_owned(),
        error,
    };
    let make = || {
        fs::create_dir(&temporary)?;
        fs::set_permissions(&temporary, Permissions::from_mode(0o755))
    };
    let written = make()
        .map_err(unwritten)
        .and_then(|()| put_each(&temporary, devices, state_directory::write_new))
        .and_then(|_| fs::rename(&temporary, directory).map_err(unwritten));
    if written.is_err() {
        // The error that counts is the first.
        let _ = fs::remove_dir_all(&temporary);
    }
    written
}

/// Puts each file by `put`, and gives back their names.
fn put_each(
    directory: &Path,
    devices: &[DeviceStatus],
    put: impl Fn(&Path, &[u8]) -> io::Result<()>,
) -> Result<BTreeSet<String>, Unwritten> {
    let mut present = BTreeSet::new();
    for (stem, device) in stems(devices).into_iter().zip(devices) {
        // Every map of a report has string keys, and memory takes all bytes.
        let mut json = serde_json::to_vec_pretty(device).unwrap_or_default();
        json.push(b'\n');
        for (ending, bytes) in [
            ("json", json),
            ("env", env(&device.report, &device.bounds).into_bytes()),
        ] {
            let name = format!("{stem}.{ending}");
            let path = directory.join(&name);
            put(&path, &bytes).map_err(|error| Unwritten { path, error })?;
            present.insert(name);
        }
    }
    Ok(present)
}

/// Removes every file that is not one of these: of a device that the document has no more, or left by
/// a writer that was killed.
fn remove_others(directory: &Path, present: &BTreeSet<String>) -> io::Result<()> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        if !name.to_str().is_some_and(|name| present.contains(name)) {
            state_directory::remove(&entry.path())?;
        }
    }
    Ok(())
}

/// The names of the devices' files without their ending, each different.
fn stems(devices: &[DeviceStatus]) -> Vec<String> {
    let identities = || devices.iter().map(|device| &device.report.identity);
    let mut stems: Vec<String> = identities().map(short_stem).collect();
    let mut shared = taken_twice(&stems);
    for (stem, identity) in stems.iter_mut().zip(identities()) {
        if shared.contains(stem) {
            *stem = long_stem(identity);
        }
    }
    shared = taken_twice(&stems);
    // Nothing tells them apart but their place in the document.
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    for stem in &mut stems {
        if shared.contains(stem) {
            let number = numbers.entry(stem.clone()).or_default();
            *number += 1;
            let _ = write!(stem, ".{number}");
        }
    }
    stems.into_iter().map(fitting).collect()
}

/// Those that stand there more than once.
fn taken_twice(stems: &[String]) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    let again = stems.iter().filter(|stem| !seen.insert(stem.as_str()));
    again.cloned().collect()
}

/// Claim and request. A claim made from a template has a random name: its name in the pod is the one
/// that a script can know.
fn short_stem(identity: &DeviceIdentity) -> String {
    let claim = identity.claim.as_ref();
    let claim = claim.map(|claim| claim.pod_claim_name.as_ref().unwrap_or(&claim.name));
    format!("{}.{}", escaped(claim), escaped(identity.request.as_ref()))
}

/// That, and which of the request's devices it is.
fn long_stem(identity: &DeviceIdentity) -> String {
    let short = short_stem(identity);
    let [driver, pool, device] = [&identity.driver, &identity.pool, &identity.device];
    let [driver, pool, device] = [driver, pool, device].map(|name| escaped(name.as_ref()));
    format!("{short}.{driver}.{pool}.{device}")
}

/// A name without the bytes that would end it or lead elsewhere; `-` where there is none.
fn escaped(name: Option<&Name>) -> String {
    let mut text = String::new();
    for byte in name.map_or("-", Name::as_str).bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_') {
            text.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

/// The stem, cut where it is too long for a file's name, with a digest of the whole.
fn fitting(stem: String) -> String {
    if stem.len() <= STEM_BYTES {
        return stem;
    }
    // It is ASCII.
    let mut text = stem.get(..STEM_BYTES).unwrap_or_default().to_owned();
    text.push('~');
    let digest = Sha256::digest(&stem);
    text.push_str(&hexadecimal(digest.first_chunk::<8>().unwrap_or(&[0; 8])));
    text
}

/// What was observed of a device and what is near it, as assignments that a shell and systemd's
/// `EnvironmentFile=` read. What is not known is absent, and so is a bound where all is near.
pub fn env(device: &DeviceReport, bounds: &Bounds) -> String {
    let identity = &device.identity;
    let claim = identity.claim.as_ref();
    let claim_name = |of: fn(&Claim) -> Option<&Name>| claim.and_then(of);
    let addresses: Vec<String> = device.addresses.iter().map(ToString::to_string).collect();
    let variables: [(&str, Option<Cow<'_, str>>); 17] = [
        (
            "CLAIM_NAMESPACE",
            name(claim_name(|claim| Some(&claim.namespace))),
        ),
        ("CLAIM", name(claim_name(|claim| Some(&claim.name)))),
        (
            "POD_CLAIM",
            name(claim_name(|claim| claim.pod_claim_name.as_ref())),
        ),
        ("REQUEST", name(identity.request.as_ref())),
        ("DRIVER", name(identity.driver.as_ref())),
        ("POOL", name(identity.pool.as_ref())),
        ("DEVICE", name(identity.device.as_ref())),
        ("READY", shown(Some(&device.ready))),
        ("REASON", shown(Some(&device.reason))),
        (
            "INTERFACE",
            device.interface_name.as_deref().map(Cow::Borrowed),
        ),
        ("MAC_ADDRESS", shown(device.mac_address.as_ref())),
        (
            "ADDRESSES",
            (!addresses.is_empty()).then(|| addresses.join(" ").into()),
        ),
        ("PCI_ADDRESS", shown(device.guest_pci_address.as_ref())),
        ("NUMA_NODE", shown(device.numa_node.as_ref())),
        ("CPUS", some(&bounds.cpus)),
        ("ISOLATED_CPUS", some(&bounds.isolated)),
        ("MEMS", some(&bounds.memory)),
    ];
    let mut text = String::with_capacity(TEXT_BYTES);
    for (key, value) in variables {
        if let Some(value) = value {
            let _ = writeln!(text, "DRA_GUEST_{key}={}", quoted(&value));
        }
    }
    text
}

fn name(name: Option<&Name>) -> Option<Cow<'_, str>> {
    name.map(|name| Cow::Borrowed(name.as_str()))
}

fn shown(value: Option<&impl Display>) -> Option<Cow<'static, str>> {
    value.map(|value| value.to_string().into())
}

fn some<K: Kind>(list: &List<K>) -> Option<Cow<'static, str>> {
    shown((!list.is_empty()).then_some(list))
}

/// A value in single quotes, in which a shell and systemd take every character as it is.
fn quoted(value: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._:/%+,-".contains(&byte);
    if !value.is_empty() && value.bytes().all(is_plain) {
        return value.into();
    }
    // An interface's name may have a quote in it, and control characters, which no script expects.
    let value: String = value.chars().filter(|c| !c.is_control()).collect();
    if !value.is_empty() && value.bytes().all(is_plain) {
        value.into()
    } else {
        format!("'{}'", value.replace('\'', "'\\''")).into()
    }
}

#[cfg(test)]
mod tests;
