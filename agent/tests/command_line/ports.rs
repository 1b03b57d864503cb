//! A device whose interface others make the port of a bridge, and one that they set down to make it a port.

use serde_json::{Value, json};

use crate::guest::{Guest, device, wait_for};
use crate::namespace::{in_namespace, ip, veth};
use crate::service::{Service, is_ready};

const ADDRESSES: [&str; 2] = ["192.0.2.5/24", "2001:db8::5/64"];

fn started(guest: &Guest) -> Service {
    guest.document(&json!([device(1, "net1", &ADDRESSES)]));
    let service = Service::start(guest);
    wait_for("the device to be ready", || is_ready(guest));
    service
}

fn message(guest: &Guest) -> String {
    let status: Value = guest.status().unwrap();
    let message = &status["devices"][0]["message"];
    message.as_str().unwrap_or_default().to_owned()
}

fn has(interface: &str, address: &str) -> bool {
    ip(&format!("address show dev {interface}")).contains(address)
}

/// What the port receives is the bridge's: with the port's own address beside the bridge's, the guest would answer
/// past the bridge.
#[test]
fn what_a_bridge_has_its_port_gives_up_and_has_again_when_it_leaves() {
    in_namespace(|| {
        veth("eth0", 1);
        let guest = Guest::new();
        let service = started(&guest);
        ip("link add br0 type bridge");
        ip("link set br0 up");
        ip("link set net1 master br0");
        ip(&format!("address add {} dev br0", ADDRESSES[0]));
        wait_for("the port to give it up", || !has("net1", ADDRESSES[0]));
        let words = "net1 is a port of br0: 192.0.2.5/24 is on br0";
        wait_for(words, || is_ready(&guest) && message(&guest) == words);

        ip(&format!("address del {} dev net1", ADDRESSES[1]));
        let words = "net1 is a port of br0, which takes all that it receives and is to have in its \
                     place: 2001:db8::5/64";
        wait_for(words, || !is_ready(&guest) && message(&guest) == words);
        assert!(!has("net1", ADDRESSES[1]), "{}", ip("address"));
        let seen = guest.agent("inspect").stdout;
        assert!(
            seen.contains("net1: up, MTU 1500, veth, part of br0"),
            "{seen}"
        );
        ip(&format!("address add {} dev br0", ADDRESSES[1]));
        wait_for("the device to be ready", || is_ready(&guest));

        ip("link set net1 nomaster");
        wait_for("the addresses", || {
            ADDRESSES.iter().all(|address| has("net1", address)) && is_ready(&guest)
        });
        assert!(has("br0", ADDRESSES[0]), "{}", ip("address"));
        assert_eq!(service.end(), 0);
    });
}

#[test]
fn a_port_is_reverted_and_its_bridge_left() {
    in_namespace(|| {
        veth("eth0", 1);
        let guest = Guest::new();
        guest.policy("[[device]]\nmtu = 1400\n");
        guest.document(&json!([device(1, "net1", &ADDRESSES)]));
        let applied = guest.agent("apply");
        assert_eq!(applied.code, 0, "{}{}", applied.stdout, applied.stderr);
        ip("link add br0 type bridge");
        ip("link set br0 up");
        ip("link set net1 master br0");
        ip(&format!("address add {} dev br0", ADDRESSES[0]));
        let said = guest.agent("revert");
        assert_eq!(said.code, 3, "{}{}", said.stdout, said.stderr);
        let words = "net1 stays up: others made it part of br0";
        assert!(said.stdout.contains(words), "{}", said.stdout);
        let link = ip("link show eth0");
        assert!(
            link.contains("master br0") && link.contains("mtu 1500"),
            "{link}"
        );
        assert!(!has("eth0", ADDRESSES[0]) && has("br0", ADDRESSES[0]));
        ip("link set eth0 nomaster");
        let said = guest.agent("revert");
        assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
        let link = ip("link show eth0");
        assert!(!link.contains(",UP"), "{link}");
    });
}

/// It joins a bond or a team while it is down.
#[test]
fn an_interface_that_is_set_down_stays_so_for_a_moment() {
    in_namespace(|| {
        veth("eth0", 1);
        let guest = Guest::new();
        let service = started(&guest);
        ip("link set net1 down");
        let words = "net1 was set down a moment ago, and is set up again in a moment";
        wait_for(words, || message(&guest) == words);
        wait_for("the interface to be up", || {
            ip("link show net1").contains(",UP") && is_ready(&guest)
        });
        assert_eq!(service.end(), 0);
    });
}
