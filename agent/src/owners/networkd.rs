//! Whether `systemd-networkd` configures an interface.
//!
//! Once it runs, its own state says so. Before that, and for an interface that it has not looked at
//! yet, it is the first `.network` file, by name, whose `[Match]` fits (`systemd.network(5)`).

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use wildmatch::WildMatch;

use super::{Manager, Owner, ini, text};
use crate::observe::Interface;
use crate::roots::Roots;

/// Where `.network` files are, the first directory over the others.
fn directories(roots: &Roots) -> [PathBuf; 3] {
    [
        roots.etc.join("systemd/network"),
        roots.run.join("systemd/network"),
        roots.usr.join("lib/systemd/network"),
    ]
}

/// Whether it runs: it writes its state when it has started.
pub(super) fn is_running(roots: &Roots) -> bool {
    roots.run.join("systemd/netif/state").exists()
}

/// Whether it has not yet made up its mind about an interface.
pub(super) fn is_undecided(roots: &Roots, interface: &Interface) -> bool {
    let state = text(&state_file(roots, interface)).unwrap_or_default();
    let decided = ["unmanaged", "configuring", "configured", "failed", "linger"];
    is_running(roots)
        && !(state
            .lines()
            .filter_map(|line| line.strip_prefix("ADMIN_STATE=")))
        .any(|state| decided.contains(&state))
}

fn state_file(roots: &Roots, interface: &Interface) -> PathBuf {
    let links = roots.run.join("systemd/netif/links");
    links.join(interface.index.to_string())
}

pub(super) fn owner(roots: &Roots, interface: &Interface) -> Option<Owner> {
    let owner = |file| {
        Some(Owner {
            manager: Manager::Networkd,
            file,
        })
    };
    if let Some(state) = text(&state_file(roots, interface)) {
        let value = |key: &str| {
            let mut lines = state.lines().filter_map(|line| line.split_once('='));
            lines.find(|(name, _)| *name == key).map(|(_, value)| value)
        };
        match value("ADMIN_STATE") {
            Some("unmanaged") => return None,
            Some("configuring" | "configured" | "failed" | "linger") => {
                return owner(value("NETWORK_FILE").map(PathBuf::from));
            }
            _ => {}
        }
    }
    first_match(roots, interface).and_then(|file| owner(Some(file)))
}

/// The file that would configure an interface: the first that fits, when it does not say to leave it.
fn first_match(roots: &Roots, interface: &Interface) -> Option<PathBuf> {
    files(roots).into_values().find_map(|path| {
        let text = text(&path)?;
        fits(&text, interface).then(|| {
            let unmanaged = ini::value(&text, "Link", "Unmanaged").is_some_and(ini::is_true);
            (!unmanaged).then_some(path)
        })
    })?
}

/// Every `.network` file by its name; of two with one name that of the earlier directory, which may be
/// a link to `/dev/null` to hide the other.
fn files(roots: &Roots) -> BTreeMap<OsString, PathBuf> {
    let mut files = BTreeMap::new();
    for directory in directories(roots) {
        for path in listed(&directory) {
            if path.extension().is_some_and(|end| end == "network")
                && let Some(name) = path.file_name()
            {
                files.entry(name.to_owned()).or_insert(path);
            }
        }
    }
    files
}

fn listed(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// Whether a file's `[Match]` fits. A file without one fits nothing; a key that cannot be judged from
/// here (`Host=`, `KernelVersion=`, …) is taken to fit.
fn fits(text: &str, interface: &Interface) -> bool {
    let mut keys = ini::entries(text, "Match").peekable();
    keys.peek().is_some() && keys.all(|(key, value)| key_fits(key, value, interface))
}

fn key_fits(key: &str, value: &str, interface: &Interface) -> bool {
    let names = || {
        let alternative = interface.alternative_names.iter().map(String::as_str);
        std::iter::once(interface.name.as_str()).chain(alternative)
    };
    let is_mac = |mac: Option<device_attributes::MacAddress>| {
        let words = value.split_whitespace();
        let mut macs = words.filter_map(|word| word.parse().ok());
        macs.any(|listed| Some(listed) == mac)
    };
    match key {
        "Name" => any_fits(value, names()),
        "MACAddress" => is_mac(interface.mac_address),
        "PermanentMACAddress" => is_mac(interface.permanent_mac_address),
        "Path" => interface
            .pci_address
            .is_none_or(|address| any_fits(value, [format!("pci-{address}").as_str()])),
        "Type" => any_fits(value, ["ether"]),
        "Kind" => any_fits(value, interface.kind.as_deref()),
        "WLANInterfaceType" | "SSID" | "BSSID" => false,
        // A guest is a virtual machine.
        "Virtualization" => !matches!(value, "no" | "container" | "!vm" | "!yes"),
        _ => true,
    }
}

/// Whether one of the globs fits one of the names; with `!` before the first, whether none does.
fn any_fits<'a>(globs: &str, names: impl IntoIterator<Item = &'a str>) -> bool {
    let (globs, wanted) = match globs.strip_prefix('!') {
        Some(globs) => (globs, false),
        None => (globs, true),
    };
    let globs: Vec<WildMatch> = globs.split_whitespace().map(WildMatch::new).collect();
    let any = names
        .into_iter()
        .any(|name| globs.iter().any(|glob| glob.matches(name)));
    any == wanted
}
