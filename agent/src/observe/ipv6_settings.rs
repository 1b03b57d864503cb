//! What IPv6 of an interface is set to: all that is lost when its MTU is too small for IPv6.

use std::collections::BTreeMap;
use std::fs::DirEntry;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{About, IPV6_LEAST_MTU, Interface};
use crate::small_file;

/// The most settings of one kind that are read; Linux 6.18 has 61.
const MOST: usize = 256;

/// The sysctls of an interface's IPv6 that can be set, by their names. Those that have no value are absent, as
/// `stable_secret` before it is set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Ipv6Settings {
    /// Those of `net.ipv6.conf.NAME` (`Documentation/networking/ip-sysctl.rst`).
    pub conf: BTreeMap<String, String>,
    /// Those of `net.ipv6.neigh.NAME`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub neigh: BTreeMap<String, String>,
}

impl Ipv6Settings {
    /// The directory below `/proc` of each kind, and what it has for an interface.
    pub fn kinds(&self, interface: &str) -> [(PathBuf, &BTreeMap<String, String>); 2] {
        [("conf", &self.conf), ("neigh", &self.neigh)].map(|(kind, settings)| {
            let directory = Path::new("sys/net/ipv6").join(kind).join(interface);
            (directory, settings)
        })
    }

    fn read(proc: &Path, interface: &Interface) -> Option<Self> {
        let [conf, neigh] = Self::default()
            .kinds(&interface.name)
            .map(|(directory, _)| settings(&proc.join(directory)));
        let mut conf = conf?;
        // It goes with that of the interface, unless somebody made it smaller.
        if conf.get("mtu") == Some(&interface.mtu.to_string()) {
            conf.remove("mtu");
        }
        let neigh = neigh.unwrap_or_default();
        Some(Self { conf, neigh })
    }
}

/// Adds them to the interfaces that are asked about, and to those that are made on these.
pub(super) fn look(proc: &Path, interfaces: &mut [Interface], asked: &[About]) {
    let mut those: Vec<u32> = Vec::new();
    let mut more = true;
    while more {
        let before = those.len();
        for interface in &*interfaces {
            let is_above = interface.lower.is_some_and(|lower| those.contains(&lower));
            let is_meant = is_above || asked.iter().any(|about| about.is(interface));
            if is_meant && !those.contains(&interface.index) {
                those.push(interface.index);
            }
        }
        more = those.len() > before;
    }
    for interface in interfaces {
        // With a smaller one there are none.
        if those.contains(&interface.index) && interface.mtu >= IPV6_LEAST_MTU {
            interface.ipv6_settings = Ipv6Settings::read(proc, interface);
        }
    }
}

fn settings(directory: &Path) -> Option<BTreeMap<String, String>> {
    let entries = directory.read_dir().ok()?.filter_map(Result::ok);
    Some(
        entries
            .take(MOST)
            .filter_map(|entry| setting(&entry))
            .collect(),
    )
}

/// One that can be set.
fn setting(entry: &DirEntry) -> Option<(String, String)> {
    let is_writable = entry.metadata().ok()?.permissions().mode() & 0o200 != 0;
    let name = entry.file_name().into_string().ok()?;
    let bytes = small_file::read(&entry.path())
        .ok()
        .filter(|_| is_writable)?;
    let value = String::from_utf8(bytes).ok()?.trim().to_owned();
    Some((name, value))
}
