//! What the status shows: what is there, whoever made it, and never what was asked for.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use serde_json::json;

use crate::guest::{Guest, device, wait_for};
use crate::namespace::{in_namespace, ip, veth};
use crate::wish::{apply, guest, linked};

// dranet `pkg/driver/hostdevice.go` (case 111).
#[test]
fn the_status_shows_the_routes_rules_and_mtu_that_are_there() {
    in_namespace(|| {
        linked("eth0");
        let guest = guest(
            &["192.0.2.5/24"],
            "mtu = 1400
             source-routing = true
             routes = [{to = \"default\", via = \"192.0.2.1\", metric = 7},
                       {to = \"203.0.113.0/24\", via = \"192.0.2.2\"},
                       {to = \"2001:db8:9::/48\", type = \"unreachable\"}]",
        );
        ip("link set eth0 up");
        ip("address add 192.0.2.5/24 dev eth0");
        ip("route add 203.0.113.0/24 via 192.0.2.2 proto static");
        ip("route add 203.0.114.0/24 via 192.0.2.2 proto static");
        apply(&guest);
        let status = guest.status().unwrap();
        let device = &status["devices"][0];
        assert_eq!(device["mtu"], 1400, "{device}");
        let all = |key: &str, values: [&str; 2]| -> Vec<String> {
            let list = device[key].as_array().unwrap().iter();
            let mut words: Vec<String> = list
                .map(|one| values.map(|value| one[value].to_string()).join(" "))
                .collect();
            words.sort();
            words
        };
        // Of the main table and of its own. What another has made and was asked for is shown; what
        // nobody asked for is not.
        assert_eq!(
            all("routes", ["destination", "protocol"]),
            [
                "\"0.0.0.0/0\" 218",
                "\"0.0.0.0/0\" 218",
                "\"192.0.2.0/24\" 218",
                "\"2001:db8:9::/48\" 218",
                "\"2001:db8:9::/48\" 218",
                "\"203.0.113.0/24\" 218",
                "\"203.0.113.0/24\" 4",
            ]
        );
        assert_eq!(
            all("rules", ["from", "priority"]),
            ["\"192.0.2.5/32\" 10739"]
        );
        let shown = guest.agent("status").stdout;
        assert!(shown.contains(", MTU 1400, 192.0.2.5/24"), "{shown}");
        assert!(
            shown.contains("route default via 192.0.2.1, metric 7"),
            "{shown}"
        );

        // What has gone since is not shown, whatever was asked for; the MTU is that of before.
        guest.policy("");
        apply(&guest);
        let status = guest.status().unwrap();
        let device = &status["devices"][0];
        assert_eq!(device["mtu"], 1500, "{device}");
        for key in ["routes", "rules"] {
            assert_eq!(device.get(key), None, "{device}");
        }
    });
}

/// The kernel's own link-local address comes after the first report, and would be a report more.
#[test]
fn a_link_local_address_is_told_where_it_is_asked_for() {
    in_namespace(|| {
        let guest = Guest::new();
        veth("eth0", 1);
        ip("link set eth0-peer up");
        for addresses in [&["192.0.2.5/24"][..], &["fe80::7/64", "192.0.2.5/24"]] {
            guest.document(&json!([device(1, "net1", addresses)]));
            apply(&guest);
            wait_for("the kernel's own address", || {
                ip("address show dev net1").contains("fe80::ff:fe00:101/64")
            });
            apply(&guest);
            let status = guest.status().unwrap();
            let told = status["devices"][0]["addresses"].as_array().unwrap();
            let mut told: Vec<&str> = told.iter().map(|it| it.as_str().unwrap()).collect();
            told.sort_unstable_by_key(|address| !address.contains(':'));
            assert_eq!(told, addresses);
        }
    });
}

#[test]
fn the_status_can_be_read_whatever_the_umask_is() {
    let guest = Guest::new();
    let mut command = Command::new("sh");
    command.args(["-c", "umask 077; exec \"$0\" apply \"$@\""]);
    command.arg(env!("CARGO_BIN_EXE_dra-guest-agent"));
    assert_eq!(guest.with_roots(command).status().unwrap().code(), Some(4));
    for (name, mode) in [
        ("run/dra-guest", 0o755),
        ("run/dra-guest/status.json", 0o644),
    ] {
        let permissions = fs::metadata(guest.path(name)).unwrap().permissions();
        assert_eq!(permissions.mode() & 0o777, mode, "{name}");
    }
}
