//! Whether `systemd-networkd` configures an interface.
//!
//! Once it runs, its own state says so. Before that, and for an interface that it has not looked at
//! yet, it is the first `.network` file, by name, whose `[Match]` fits (`systemd.network(5)`).

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::match_section::is_matched;
use super::{Manager, Owner, ini, text};
use crate::observe::Interface;
use crate::roots::Roots;

/// Where `.network` files are, the first directory over the others.
fn directories(roots: &Roots) -> [PathBuf; 4] {
    [
        roots.etc.join("systemd/network"),
        roots.run.join("systemd/network"),
        roots.usr.join("local/lib/systemd/network"),
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
    files(roots).into_iter().find_map(|(name, path)| {
        // One that is empty hides those of its name, whatever goes on with it.
        let text = text(&path).filter(|text| !text.is_empty())?;
        let text = text + &drop_ins(roots, &name);
        is_matched(&text, interface).then(|| {
            let unmanaged = ini::value(&text, "Link", "Unmanaged").is_some_and(ini::is_true);
            (!unmanaged).then_some(path)
        })
    })?
}

/// Every `.network` file by its name.
fn files(roots: &Roots) -> BTreeMap<OsString, PathBuf> {
    by_name(&directories(roots), "network")
}

/// The text of the drop-ins of a `.network` file, which goes on with it.
fn drop_ins(roots: &Roots, file: &OsStr) -> String {
    let mut directory = file.to_owned();
    directory.push(".d");
    let directories = directories(roots).map(|above| above.join(&directory));
    let files = by_name(&directories, "conf").into_values();
    let texts: Vec<String> = files.filter_map(|path| text(&path)).collect();
    // A last line may have no end.
    ["", &texts.join("\n")].join("\n")
}

/// The files with an ending; of two with one name that of the earlier directory, which may be a link to
/// `/dev/null` to hide the other.
fn by_name(directories: &[PathBuf], ending: &str) -> BTreeMap<OsString, PathBuf> {
    let mut files = BTreeMap::new();
    for directory in directories {
        for path in listed(directory) {
            if path.extension().is_some_and(|end| end == ending)
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::{Ours, drop_ins as own_files};
    use super::*;

    /// Each of them stands in a line of its own.
    // amazon-ec2-net-utils#146 (case 71); systemd#25813, systemd#29388, systemd#30345, systemd#36077 (case 49).
    #[test]
    fn several_nics_that_are_handed_over_are_not_networkds() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let roots = Roots {
            run: path("run"),
            etc: path("etc"),
            usr: path("usr"),
            ..Roots::default()
        };
        let put = |path: &Path, text: &str| {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let interfaces: Vec<Interface> = (2..5)
            .map(|index| {
                let mac = format!("02:00:00:00:00:{index:02x}");
                let permanent = (index < 4).then_some(&mac);
                serde_json::from_value(serde_json::json!({
                    "index": index, "name": format!("eth{index}"), "up": true, "mtu": 1500,
                    "macAddress": mac, "permanentMacAddress": permanent
                }))
                .unwrap()
            })
            .collect();
        put(
            &path("usr/lib/systemd/network/80-wired.network"),
            "[Match]\nType=ether\n",
        );
        let owners = || -> Vec<bool> {
            let owners = interfaces.iter().map(|interface| owner(&roots, interface));
            owners.map(|owner| owner.is_some()).collect()
        };
        assert_eq!(owners(), [true, true, true]);
        let ours: Vec<Ours> = interfaces
            .iter()
            .map(|interface| Ours {
                mac_address: interface.mac_address.unwrap(),
                is_permanent: interface.permanent_mac_address.is_some(),
                current: interface.mac_address,
                name: None,
                has_routing: false,
            })
            .collect();
        for file in own_files(&ours) {
            put(&roots.run.join(file.path), &file.text);
        }
        assert_eq!(owners(), [false, false, false]);
        // An earlier one has them all the same.
        put(
            &path("etc/systemd/network/00-a.network"),
            "[Match]\nName=eth3\n",
        );
        assert_eq!(owners(), [false, true, false]);
    }
}
