//! Names, MTUs, sysctls and addresses that a policy asks for, from the file to the kernel.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::namespace::{in_namespace, ip};
use crate::wish::{apply, guest, lacks, linked, shows};

// netavark@9a73a52c, netavark@060f55dc (case 76).
#[test]
fn names_and_sysctls_are_set_and_taken_back() {
    in_namespace(|| {
        linked("eth0");
        ip("link property add dev eth0 altname net1");
        let sysctl = |name: &str, file: &str| {
            let text = fs::read_to_string(format!("/proc/sys/net/{file}")).unwrap();
            (name.to_owned(), text.trim().to_owned())
        };
        let guest = guest(
            &[],
            "alternative-names = [\"the-storage-network-of-the-tenant\"]
             rp-filter = \"loose\"\naccept-ra = \"never\"",
        );
        apply(&guest);
        shows(
            "link show net1",
            &["net1@", "altname the-storage-network-of-the-tenant"],
        );
        lacks("link show net1", "altname net1");
        let rp_filter = sysctl("rp_filter", "ipv4/conf/net1/rp_filter");
        let accept_ra = sysctl("accept_ra", "ipv6/conf/net1/accept_ra");
        assert_eq!((rp_filter.1.as_str(), accept_ra.1.as_str()), ("2", "0"));

        let said = guest.agent("revert");
        assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
        shows("link show eth0", &["eth0@", "altname net1"]);
        lacks("link show eth0", "storage");
        let rp_filter = sysctl("rp_filter", "ipv4/conf/eth0/rp_filter");
        let accept_ra = sysctl("accept_ra", "ipv6/conf/eth0/accept_ra");
        assert_eq!((rp_filter.1.as_str(), accept_ra.1.as_str()), ("0", "1"));
    });
}

// systemd#5954, systemd#9102, systemd#9254 (case 41).
#[test]
fn an_mtu_below_that_of_ipv6_is_a_problem_of_ipv6_alone() {
    in_namespace(|| {
        linked("eth0");
        let guest = guest(&["2001:db8::5/64", "192.0.2.5/24"], "mtu = 1279");
        let said = guest.agent("apply");
        assert_eq!(said.code, 3, "{}", said.stdout);
        assert!(
            said.stdout.contains("an MTU of 1279, which is below 1280"),
            "{}",
            said.stdout
        );
        shows("address show dev net1", &["mtu 1279", "192.0.2.5/24"]);
        guest.policy("[[device]]\nmtu = 1280\naccept-ra = \"never\"\n");
        apply(&guest);
        shows("address show dev net1", &["mtu 1280", "2001:db8::5/64"]);
    });
}

/// Everything that IPv6 of an interface is set to, as far as it can be read.
fn ipv6_settings(name: &str) -> BTreeMap<String, String> {
    let mut settings = BTreeMap::new();
    for kind in ["conf", "neigh"] {
        for entry in fs::read_dir(format!("/proc/sys/net/ipv6/{kind}/{name}")).unwrap() {
            let path = entry.unwrap().path();
            let file = path.file_name().unwrap().to_str().unwrap().to_owned();
            if let Ok(value) = fs::read_to_string(&path) {
                settings.insert(format!("{kind}/{file}"), value.trim().to_owned());
            }
        }
    }
    settings
}

/// The kernel takes IPv6 from an interface whose MTU is too small for it, and gives it back as it is by default: what
/// others set of it would be lost, and IPv6 that they disabled be there again.
#[test]
fn what_others_set_of_ipv6_outlives_an_mtu_that_is_too_small_for_it() {
    in_namespace(|| {
        for set in [
            &[("conf/disable_ipv6", "1"), ("conf/accept_ra", "2")][..],
            &[("conf/accept_ra", "0")],
            &[("conf/addr_gen_mode", "1"), ("conf/autoconf", "0")],
            &[
                ("conf/stable_secret", "2001:db8::1:2"),
                ("conf/use_tempaddr", "2"),
            ],
            &[
                ("conf/stable_secret", "2001:db8::1:2"),
                ("conf/addr_gen_mode", "0"),
                ("conf/accept_dad", "2"),
                ("conf/dad_transmits", "3"),
                ("conf/mtu", "1300"),
                ("conf/forwarding", "1"),
                ("conf/hop_limit", "7"),
                ("neigh/retrans_time_ms", "500"),
                ("neigh/unres_qlen_bytes", "4096"),
            ],
            &[],
        ] {
            linked("eth0");
            ip("link add link eth0 name mac0 type macvlan");
            let put = |name: &str, setting: &str, value: &str| {
                let (kind, file) = setting.split_once('/').unwrap();
                fs::write(format!("/proc/sys/net/ipv6/{kind}/{name}/{file}"), value).unwrap();
            };
            for (setting, value) in set {
                put("eth0", setting, value);
                put("mac0", setting, value);
            }
            ip("link set eth0 up");
            ip("link set mac0 up");
            // That of the interface comes with it.
            for (setting, value) in set.iter().filter(|(setting, _)| *setting == "conf/mtu") {
                put("eth0", setting, value);
                put("mac0", setting, value);
            }
            let guest = guest(&["192.0.2.5/24"], "");
            apply(&guest);
            let before = ["net1", "mac0"].map(ipv6_settings);
            let own_address = |name: &str| {
                let shown = ip(&format!("-6 -o address show dev {name} scope link"));
                let words: Vec<String> = shown.split_whitespace().map(str::to_owned).collect();
                words
                    .into_iter()
                    .filter(|word| word.contains("fe80"))
                    .collect::<Vec<_>>()
            };
            let had = ["net1", "mac0"].map(own_address);
            let shrunk = || {
                for mtu in [1200, 1100] {
                    guest.policy(&format!("[[device]]\nmtu = {mtu}\n"));
                    apply(&guest);
                }
                assert!(!Path::new("/proc/sys/net/ipv6/conf/net1").exists());
                assert!(!Path::new("/proc/sys/net/ipv6/conf/mac0").exists());
            };
            // By a plan, and by `revert`.
            shrunk();
            guest.policy("");
            apply(&guest);
            assert_eq!(["net1", "mac0"].map(ipv6_settings), before, "{set:?}");
            assert_eq!(["net1", "mac0"].map(own_address), had, "{set:?}");
            shrunk();
            assert_eq!(guest.agent("revert").code, 0);
            assert_eq!(["eth0", "mac0"].map(ipv6_settings), before, "{set:?}");
            assert_eq!(["eth0", "mac0"].map(own_address), had, "{set:?}");
            ip("link delete eth0");
        }
    });
}

#[test]
fn what_is_made_on_an_interface_shrinks_first_and_grows_again() {
    in_namespace(|| {
        linked("eth0");
        ip("link set eth0 mtu 9000");
        ip("link add link eth0 name mac0 type macvlan");
        let guest = guest(&[], "mtu = 1400");
        let said = guest.agent("plan");
        let first = "set the MTU of mac0 from 9000 to 1400";
        assert!(said.stdout.contains(first), "{}", said.stdout);
        apply(&guest);
        shows("link show mac0", &["mtu 1400"]);
        shows("link show net1", &["mtu 1400"]);
        // Others use by now what they made on it: it stays up.
        ip("link set mac0 up");
        let said = guest.agent("revert");
        assert_eq!(said.code, 3, "{}{}", said.stdout, said.stderr);
        assert!(
            said.stdout.contains("others made mac0 on it"),
            "{}",
            said.stdout
        );
        shows("link show mac0", &["mtu 9000"]);
        shows("link show eth0", &["mtu 9000", ",UP"]);
        ip("link set mac0 down");
        assert_eq!(guest.agent("revert").code, 0);
        lacks("link show eth0", ",UP");
    });
}

// systemd#5882, systemd#11375, systemd#24389 (case 53).
#[test]
fn apply_waits_for_duplicate_address_detection() {
    in_namespace(|| {
        linked("eth0");
        // The same address on the other end.
        ip("address add 2001:db8::5/64 dev eth0-peer nodad");
        let guest = guest(&["2001:db8::5/64"], "");
        let said = guest.agent("apply");
        assert_eq!(said.code, 3, "{}{}", said.stdout, said.stderr);
        let words = "another host of the link has the address 2001:db8::5/64 too";
        assert!(said.stdout.contains(words), "{}", said.stdout);
    });
}
