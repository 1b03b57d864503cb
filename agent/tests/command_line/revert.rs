//! `revert`: what the agent did is taken back, and nothing else.

use std::fs;

use serde_json::json;

use crate::guest::{Guest, device, mac, wait_for};
use crate::namespace::{in_namespace, ip, veth};
use crate::service::{Service, is_ready};

/// The interfaces as the agent sees them: names, MTUs, addresses, up or down.
pub(crate) fn state(guest: &Guest) -> String {
    guest.agent("inspect --json").stdout
}

/// Two devices that change names, and one that is given all it can be given.
pub(crate) fn three_devices(guest: &Guest) {
    for number in 1..=3 {
        veth(&format!("eth{number}"), number);
    }
    ip("addr add 198.51.100.9/24 dev eth2");
    ip("link set eth2 up");
    all_wanted_of_three(guest);
}

/// What is wanted of the three.
pub(crate) fn all_wanted_of_three(guest: &Guest) {
    guest.document(&json!([
        device(1, "eth2", &["192.0.2.5/24"]),
        device(2, "eth1", &["192.0.2.6/24", "2001:db8::6/64"]),
        device(3, "net3", &["192.0.2.7/24", "2001:db8::7/64"])
    ]));
    guest.policy(
        r#"
[[device]]
mtu = 1400
rp-filter = "loose"
accept-ra = "never"

[[device]]
claim = "nic-3"
alternative-names = ["eth3", "storage"]
source-routing = true
routes = [
  {to = "198.18.0.0/15", via = "192.0.2.1", metric = 50},
  {to = "203.0.113.0/24", via = "198.51.100.1", on-link = true, table = 77},
  {to = "2001:db8:1::/48", via = "2001:db8::1"},
  {to = "10.0.0.0/8", type = "unreachable"},
]
rules = [
  {from = "198.18.0.0/15", table = 77, priority = 900},
  {fwmark = "0x10/0xff", table = 77, priority = 901},
]
"#,
    );
}

pub(crate) fn reverted(guest: &Guest) {
    let said = guest.agent("revert");
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
}

// google/dranet#33, dranet#42 (case 112).
#[test]
fn all_that_was_done_is_taken_back() {
    in_namespace(|| {
        let guest = Guest::new();
        three_devices(&guest);
        let before = state(&guest);
        assert_eq!(guest.agent("apply").code, 0);
        let applied = state(&guest);
        assert_ne!(applied, before);

        let said = guest.agent("revert --dry-run");
        assert_eq!(said.code, 0, "{}", said.stderr);
        assert!(
            said.stdout.contains("remove 192.0.2.7/24 from net3 again"),
            "{}",
            said.stdout
        );
        assert!(
            said.stdout.contains("rename net3 to eth3"),
            "{}",
            said.stdout
        );
        assert_eq!(state(&guest), applied);

        reverted(&guest);
        assert_eq!(state(&guest), before);
        // What is not so any more is not told either.
        assert_eq!(guest.status(), None);
        assert_eq!(guest.agent("check").code, 4);
        assert!(!guest.path("run/dra-guest/journal").exists());
        assert_eq!(guest.agent("revert").stdout, "nothing to take back\n");
        assert_eq!(guest.agent("apply").code, 0);
        assert_eq!(state(&guest), applied);
    });
}

// dranet#89 (case 110).
#[test]
fn several_passes_are_taken_back_to_the_state_before_the_first() {
    in_namespace(|| {
        let guest = Guest::new();
        veth("eth0", 1);
        let before = state(&guest);
        for (name, mtu, address) in [
            ("net1", 1400, "192.0.2.5/24"),
            ("net2", 1300, "192.0.2.6/24"),
            ("net3", 1200, "192.0.2.5/24"),
        ] {
            guest.document(&json!([device(1, name, &[address])]));
            guest.policy(&format!("[[device]]\nmtu = {mtu}\n"));
            assert_eq!(guest.agent("apply").code, 0);
        }
        // What the documents between added is gone with them.
        assert!(!ip("-o addr show net3").contains("192.0.2.6/24"));
        reverted(&guest);
        assert_eq!(state(&guest), before);
    });
}

#[test]
fn what_others_changed_is_left_and_told() {
    in_namespace(|| {
        let guest = Guest::new();
        veth("eth0", 1);
        veth("eth1", 2);
        guest.document(&json!([
            device(1, "net1", &["192.0.2.5/24"]),
            device(2, "net2", &["192.0.2.6/24"])
        ]));
        guest.policy("[[device]]\nmtu = 1400\n");
        assert_eq!(guest.agent("apply").code, 0);
        ip("link set net1 mtu 1300 name theirs");
        ip("addr add 198.51.100.9/24 dev theirs");
        ip("addr del 192.0.2.6/24 dev net2");
        let said = guest.agent("revert");
        assert_eq!(said.code, 3, "{}{}", said.stdout, said.stderr);
        for told in [
            "! theirs stays up: it has 198.51.100.9/24 of others",
            "! theirs keeps its MTU 1300: others set it, after it was set from 1500 to 1400",
            "! theirs keeps its name theirs: others set it, after it was set from eth0 to net1",
        ] {
            assert!(said.stdout.contains(told), "{}", said.stdout);
        }
        let theirs = ip("-o addr show theirs");
        assert!(theirs.contains("198.51.100.9/24") && !theirs.contains("192.0.2.5/24"));
        assert!(ip("-o link show theirs").contains("mtu 1300"));
        assert!(ip("-o link show eth1").contains(&mac(2)));
        // What is left can be taken back once it is as the agent left it.
        ip("addr del 198.51.100.9/24 dev theirs");
        ip("link set theirs mtu 1400 name net1");
        reverted(&guest);
        let eth0 = ip("-o link show eth0");
        assert!(eth0.contains("mtu 1500") && !eth0.contains(",UP"), "{eth0}");
    });
}

/// Of a device that was down, addresses of both families, a bridge and something that was made on it.
#[test]
fn what_others_had_on_it_before_keeps_no_interface_up() {
    in_namespace(|| {
        let guest = Guest::new();
        veth("eth0", 1);
        veth("eth1", 2);
        ip("addr add 198.51.100.9/24 dev eth0");
        ip("addr add 2001:db8::9/64 dev eth0");
        ip("link add link eth0 name mac0 type macvlan");
        ip("link add br0 type bridge");
        ip("link set eth1 master br0");
        let before = state(&guest);
        guest.document(&json!([
            device(1, "net1", &["192.0.2.5/24"]),
            device(2, "net2", &[])
        ]));
        assert_eq!(guest.agent("apply").code, 0);
        reverted(&guest);
        assert_eq!(state(&guest), before);

        for (since, taken_back, why) in [
            (
                "addr add 198.51.100.8/24 dev net1",
                "addr del 198.51.100.8/24 dev eth0",
                "! net1 stays up: it has 198.51.100.8/24 of others",
            ),
            (
                "link add link net1 name mac1 type macvlan",
                "link del mac1",
                "! net1 stays up: others made mac1 on it",
            ),
            (
                "addr add 203.0.113.9/24 dev mac0",
                "addr del 203.0.113.9/24 dev mac0",
                "! net1 stays up: others made mac0 on it",
            ),
            ("link set net2 nomaster", "link set eth1 master br0", ""),
        ] {
            assert_eq!(guest.agent("apply").code, 0);
            ip(since);
            let said = guest.agent("revert");
            assert!(said.stdout.contains(why), "{since}: {}", said.stdout);
            assert_eq!(said.code, if why.is_empty() { 0 } else { 3 }, "{since}");
            ip(taken_back);
            reverted(&guest);
            assert_eq!(state(&guest), before, "{since}");
        }
    });
}

#[test]
fn a_service_that_runs_is_not_reverted_behind_its_back() {
    in_namespace(|| {
        let guest = Guest::new();
        veth("eth0", 1);
        let before = state(&guest);
        guest.document(&json!([device(1, "net1", &["192.0.2.5/24"])]));
        let service = Service::start(&guest);
        wait_for("the device to be ready", || is_ready(&guest));
        let said = guest.agent("revert");
        assert_eq!(said.code, 1, "{}", said.stdout);
        assert!(
            said.stderr.contains("systemctl stop dra-guest-agent"),
            "{}",
            said.stderr
        );
        assert!(is_ready(&guest));
        // A pass of another process beside the service's is no trouble.
        assert_eq!(guest.agent("apply").code, 0);
        assert_eq!(service.end(), 0);
        reverted(&guest);
        assert_eq!(state(&guest), before);
    });
}

#[test]
fn an_address_that_was_there_already_is_not_taken_away() {
    in_namespace(|| {
        let guest = Guest::new();
        veth("net1", 1);
        ip("addr add 192.0.2.5/24 dev net1");
        ip("link set net1 up");
        guest.document(&json!([device(
            1,
            "net1",
            &["192.0.2.5/24", "192.0.2.6/24"]
        )]));
        assert_eq!(guest.agent("apply").code, 0);
        reverted(&guest);
        let net1 = ip("-o addr show net1");
        assert!(
            net1.contains("192.0.2.5/24") && !net1.contains("192.0.2.6/24"),
            "{net1}"
        );
        assert!(ip("-o link show net1").contains(",UP"));
    });
}

/// A full `/run` keeps no device from being configured, and what cannot be taken back is told.
#[test]
fn a_journal_that_cannot_be_written_is_told() {
    in_namespace(|| {
        let guest = Guest::new();
        veth("eth0", 1);
        guest.document(&json!([device(1, "net1", &["192.0.2.5/24"])]));
        fs::create_dir_all(guest.path("run/dra-guest/journal")).unwrap();
        let said = guest.agent("apply");
        assert_eq!(said.code, 0, "{}", said.stderr);
        assert!(
            said.stderr.contains("revert will lack what is done now"),
            "{}",
            said.stderr
        );
        let said = guest.agent("revert");
        assert_eq!(said.code, 1);
        assert!(said.stderr.contains("journal"), "{}", said.stderr);
    });
}
