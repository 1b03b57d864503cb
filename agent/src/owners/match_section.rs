//! Whether the `[Match]` section of a `.network` file fits an interface (`systemd.network(5)`).

use std::collections::BTreeMap;
use std::iter;

use device_attributes::MacAddress;
use wildmatch::WildMatch;

use super::ini;
use crate::observe::Interface;

/// Whether every key fits. A file without one fits nothing; a key that cannot be judged from here
/// (`Host=`, `KernelVersion=`, …) is taken to fit.
///
/// A key that stands there again goes on with its list, and an empty value begins it anew.
pub(super) fn is_matched(text: &str, interface: &Interface) -> bool {
    let mut keys: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (key, value) in ini::entries(text, "Match") {
        if value.is_empty() {
            keys.remove(key);
        } else {
            keys.entry(key).or_default().push(value);
        }
    }
    let mut all = keys.iter();
    !keys.is_empty() && all.all(|(key, values)| key_fits(key, values, interface))
}

fn key_fits(key: &str, values: &[&str], interface: &Interface) -> bool {
    let names = || {
        let alternative = interface.alternative_names.iter().map(String::as_str);
        iter::once(interface.name.as_str()).chain(alternative)
    };
    let is_mac = |mac: Option<MacAddress>| {
        let words = values.iter().flat_map(|value| value.split_whitespace());
        let mut macs = words.filter_map(|word| word.parse().ok());
        macs.any(|listed| Some(listed) == mac)
    };
    match key {
        "Name" => names().any(|name| fits(values, Some(name))),
        "MACAddress" => is_mac(interface.mac_address),
        "PermanentMACAddress" => is_mac(interface.permanent_mac_address),
        "Path" => interface
            .pci_address
            .is_none_or(|address| fits(values, Some(&format!("pci-{address}")))),
        "Type" => fits(values, Some("ether")),
        "Kind" => fits(values, interface.kind.as_deref()),
        "WLANInterfaceType" | "SSID" | "BSSID" => false,
        // A guest is a virtual machine. Of several lines the last counts.
        "Virtualization" => !matches!(
            values.last(),
            Some(&("no" | "container" | "!vm" | "!yes" | "!true"))
        ),
        _ => true,
    }
}

/// Whether a text fits lists of globs: one of them, and none of a list with `!` before it; where all have
/// that, none is enough (`net_condition_test_strv` in `src/shared/net-condition.c`).
fn fits(values: &[&str], text: Option<&str>) -> bool {
    let any = |globs: &str| {
        let mut globs = globs.split_whitespace().map(WildMatch::new);
        text.is_some_and(|text| globs.any(|glob| glob.matches(text)))
    };
    let (mut one_of, mut is_one) = (false, false);
    for value in values {
        match value.strip_prefix('!') {
            Some(none_of) if any(none_of) => return false,
            Some(_) => {}
            None => {
                one_of = true;
                is_one |= any(value);
            }
        }
    }
    is_one || !one_of
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface(name: &str, kind: Option<&str>) -> Interface {
        serde_json::from_value(serde_json::json!({
            "index": 2, "name": name, "alternativeNames": ["storage"], "kind": kind,
            "macAddress": "02:00:00:00:00:0a", "permanentMacAddress": "02:00:00:00:00:0b",
            "pciAddress": "0000:81:00.0", "up": true, "mtu": 1500
        }))
        .unwrap()
    }

    // amazon-ec2-net-utils#146 (case 71).
    #[test]
    fn a_file_fits_as_systemd_has_it() {
        for (section, expected) in [
            ("", false),
            ("Name=eth*", true),
            ("Name=en* storage", true),
            ("Name=en*", false),
            // Each line goes on with the list, as those of our own file do.
            ("Name=en*\nName=eth0", true),
            (
                "PermanentMACAddress=02:00:00:00:00:0c\nPermanentMACAddress=02:00:00:00:00:0b",
                true,
            ),
            ("MACAddress=02-00-00-00-00-0C 02-00-00-00-00-0A", true),
            ("MACAddress=02:00:00:00:00:0b", false),
            ("Name=eth0\nName=", false),
            ("Name=en*\nName=\nName=eth0", true),
            ("Name=eth0\nMACAddress=02:00:00:00:00:0b", false),
            ("Name=!eth*", true),
            ("Name=!eth* storage", false),
            ("Name=* \nName=!eth* storage", false),
            ("Kind=!*", true),
            ("Kind=*", false),
            ("Type=ether wlan", true),
            ("Type=!ether", false),
            ("Path=pci-0000:81:*", true),
            ("Path=pci-0000:82:*", false),
            ("Name=eth0\nSSID=home", false),
            ("Name=eth0\nVirtualization=kvm", true),
            ("Name=eth0\nVirtualization=no", false),
            ("Name=eth0\nDriver=igb", true),
        ] {
            let text = format!("[Match]\n{section}\n[Network]\nDHCP=yes\n");
            let found = is_matched(&text, &interface("eth0", None));
            assert_eq!(found, expected, "{section}");
        }
        assert!(is_matched(
            "[Match]\nKind=veth\n",
            &interface("eth0", Some("veth"))
        ));
        assert!(!is_matched(
            "[Match]\nKind=!*\n",
            &interface("eth0", Some("veth"))
        ));
    }
}
