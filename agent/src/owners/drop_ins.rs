//! The files below `/run` that tell each manager, and udev, which interfaces are ours.
//!
//! Of two files the one whose name comes first wins silently, for `systemd.network(5)` and
//! `systemd.link(5)` alike: `00-` is before `10-netplan-…` and `10-cloud-init-…`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;

use device_attributes::{InterfaceName, MacAddress};

/// Relative to `/run`: by permanent MAC addresses, and by current ones. In one `[Match]` both would have
/// to fit.
const NETWORKD: [&str; 2] = [
    "systemd/network/00-dra-guest.network",
    "systemd/network/00-dra-guest-current.network",
];
/// Relative to `/run`; `networkd.conf(5)`.
pub(super) const NETWORKD_CONF: &str = "systemd/networkd.conf.d/90-dra-guest.conf";
/// Relative to `/run`.
pub(super) const NETWORK_MANAGER: &str = "NetworkManager/conf.d/90-dra-guest.conf";

/// What every file begins with.
const HEAD: &str = "# Written by dra-guest-agent, which configures these interfaces itself.\n";

/// An interface that the agent configures, whether it is there yet or not.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ours {
    /// The MAC address to know it by.
    pub mac_address: MacAddress,
    /// Whether that is the permanent one; false for hardware that has none.
    pub is_permanent: bool,
    /// The current MAC address, once the interface is there.
    pub current: Option<MacAddress>,
    /// The name that it is to have.
    pub name: Option<InterfaceName>,
    /// Whether routes or policy rules are wanted of it.
    pub has_routing: bool,
}

/// A file that the agent writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DropIn {
    /// Relative to `/run`.
    pub path: PathBuf,
    /// All of its text.
    pub text: String,
}

/// The files that hand the interfaces over to the agent.
pub fn drop_ins(ours: &[Ours]) -> Vec<DropIn> {
    let mut ours = ours.to_vec();
    ours.sort();
    ours.dedup();
    let mut files = Vec::new();
    if !ours.is_empty() {
        files.extend(networkd(&ours));
        files.push(network_manager(&ours));
    }
    if ours.iter().any(|ours| ours.has_routing) {
        files.push(networkd_conf());
    }
    files.extend(clear(&ours).into_iter().filter_map(link));
    files
}

/// Those with one name for them, which is for no other: udev is told nothing else.
fn clear(ours: &[Ours]) -> Vec<&Ours> {
    let mut names: BTreeMap<MacAddress, BTreeSet<&InterfaceName>> = BTreeMap::new();
    let mut macs: BTreeMap<&InterfaceName, BTreeSet<MacAddress>> = BTreeMap::new();
    for one in ours {
        if let Some(name) = &one.name {
            names.entry(one.mac_address).or_default().insert(name);
            macs.entry(name).or_default().insert(one.mac_address);
        }
    }
    let is_clear = |one: &&Ours| {
        let of_name = one.name.as_ref().and_then(|name| macs.get(name));
        let of_mac = names.get(&one.mac_address);
        of_name.is_some_and(|macs| macs.len() == 1) && of_mac.is_some_and(|names| names.len() == 1)
    };
    ours.iter().filter(is_clear).collect()
}

/// When it starts and whenever it configures an interface, networkd removes the policy rules that it
/// did not make, and the routes of what it configures, whatever their protocol number is.
fn networkd_conf() -> DropIn {
    DropIn {
        path: NETWORKD_CONF.into(),
        text: "# Written by dra-guest-agent, which makes routes and policy rules itself.\n\
               [Network]\nManageForeignRoutingPolicyRules=no\nManageForeignRoutes=no\n"
            .to_owned(),
    }
}

/// A virtual function has its MAC address a moment after it is there, too late for networkd to take it
/// for the permanent one. What is made of the interface, like a bond, has its MAC and a kind.
fn networkd(ours: &[Ours]) -> impl Iterator<Item = DropIn> {
    let permanent = ours.iter().filter(|ours| ours.is_permanent);
    let permanent: BTreeSet<MacAddress> = permanent.map(|ours| ours.mac_address).collect();
    let current: BTreeSet<MacAddress> = ours.iter().filter_map(|ours| ours.current).collect();
    let kinds = [
        ("PermanentMACAddress", permanent, ""),
        ("MACAddress", current, "Kind=!*\n"),
    ];
    let file = |(path, (key, macs, more)): (&str, (&str, BTreeSet<MacAddress>, &str))| {
        let mut text = format!("{HEAD}[Match]\n");
        for mac in &macs {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{key}={mac}");
        }
        let _ = write!(text, "{more}\n[Link]\nUnmanaged=yes\n");
        (!macs.is_empty()).then(|| DropIn {
            path: path.into(),
            text,
        })
    };
    NETWORKD.into_iter().zip(kinds).filter_map(file)
}

/// Said twice: a later file's `unmanaged-devices=` puts the first away, and nothing but a section that
/// is made against it the second.
fn network_manager(ours: &[Ours]) -> DropIn {
    let macs: Vec<String> = ours
        .iter()
        .map(|ours| format!("mac:{}", ours.mac_address))
        .collect();
    let list = macs.join(";");
    DropIn {
        path: NETWORK_MANAGER.into(),
        text: format!(
            "{HEAD}[keyfile]\nunmanaged-devices+={list}\n\n\
             [device-dra-guest]\nmatch-device={list}\nmanaged=0\n"
        ),
    }
}

/// Without it udev would give the interface the name of its own policy when it comes late, or when
/// somebody asks for the events of the cold boot again.
fn link(ours: &Ours) -> Option<DropIn> {
    let name = ours.name.as_ref()?;
    let mac = ours.mac_address;
    let file: String = mac.to_string().split(':').collect();
    Some(DropIn {
        path: format!("systemd/network/00-dra-guest-{file}.link").into(),
        text: format!(
            "{HEAD}[Match]\n{}\n\n\
             [Link]\nNamePolicy=\nName={name}\nAlternativeNamesPolicy=database onboard slot path\n\
             MACAddressPolicy=none\n",
            matching(ours)
        ),
    })
}

/// What to know it by. A VLAN that is made of it has its MAC address, and a kind.
fn matching(ours: &Ours) -> String {
    let mac = ours.mac_address;
    if ours.is_permanent {
        format!("PermanentMACAddress={mac}")
    } else {
        format!("MACAddress={mac}\nKind=!*")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ours(mac: u8, name: &str) -> Ours {
        let mac_address = MacAddress::from_bytes([2, 0, 0, 0, 0, mac]).unwrap();
        Ours {
            mac_address,
            is_permanent: false,
            current: Some(mac_address),
            name: (!name.is_empty()).then(|| name.parse().unwrap()),
            has_routing: false,
        }
    }

    fn links(ours: &[Ours]) -> Vec<String> {
        let files = drop_ins(ours);
        let mut paths: Vec<&PathBuf> = files.iter().map(|file| &file.path).collect();
        paths.sort();
        paths.dedup();
        assert_eq!(paths.len(), files.len(), "two files of one path: {paths:?}");
        let links = files
            .iter()
            .filter(|file| file.path.extension().unwrap() == "link");
        let names =
            links.filter_map(|file| file.text.lines().find_map(|it| it.strip_prefix("Name=")));
        names.map(str::to_owned).collect()
    }

    // DRA shared claims (case 95).
    #[test]
    fn udev_is_told_no_name_that_two_devices_are_at_odds_over() {
        assert_eq!(links(&[ours(1, "net1"), ours(2, "net2")]), ["net1", "net2"]);
        assert_eq!(
            links(&[ours(1, "net1"), ours(1, "net2"), ours(3, "net3")]),
            ["net3"]
        );
        assert_eq!(
            links(&[ours(1, "net1"), ours(2, "net1"), ours(3, "net3")]),
            ["net3"]
        );
        assert_eq!(
            links(&[ours(1, "net1"), ours(1, ""), ours(1, "net1")]),
            ["net1"]
        );
    }
}
