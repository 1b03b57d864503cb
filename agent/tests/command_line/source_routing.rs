//! Source routing in the kernel: by which way something leaves that comes from a device's address.

use serde_json::json;

use crate::guest::{Guest, device};
use crate::namespace::{in_namespace, ip, veth};
use crate::wish::{apply, guest, lacks, linked, shows};

/// Two devices in one network: what is sent from an address leaves through its own.
#[test]
fn source_routing_keeps_answers_on_the_link_of_their_address() {
    in_namespace(|| {
        for number in [1, 2] {
            veth(&format!("eth{number}"), number);
            ip(&format!("link set eth{number}-peer up"));
        }
        let guest = Guest::new();
        guest.document(&json!([
            device(1, "net1", &["192.0.2.5/24"]),
            device(2, "net2", &["192.0.2.6/24", "2001:db8::6/64"])
        ]));
        guest.policy(
            "[[device]]
             source-routing = true
             [[device]]
             claim = \"nic-1\"
             routes = [{to = \"default\", via = \"192.0.2.1\"}]
             [[device]]
             claim = \"nic-2\"
             routes = [{to = \"default\", via = \"192.0.2.2\"}, {to = \"default\", via = \"2001:db8::1\"}]",
        );
        apply(&guest);
        for (from, dev) in [
            ("192.0.2.5", "via 192.0.2.1 dev net1"),
            ("192.0.2.6", "via 192.0.2.2 dev net2"),
        ] {
            shows(&format!("route get 203.0.113.1 from {from}"), &[dev]);
        }
        for (from, dev) in [("192.0.2.5", "dev net1"), ("192.0.2.6", "dev net2")] {
            shows(&format!("route get 192.0.2.77 from {from}"), &[dev]);
        }
        shows("-6 rule show", &["10739:\tfrom 2001:db8::6 lookup 1073900"]);
        lacks("route show", "default");
        guest.policy("");
        apply(&guest);
        lacks("rule show", "10739");
        lacks("-6 rule show", "10739");
        lacks("route show table all", "proto 218");
    });
}

/// A network of local containers is none of the interface's: what goes there from its address, as the answer to a
/// container that asked it, leaves by the interface, until a rule that comes before says otherwise.
// amazon-ec2-net-utils@7d61595 (case 70).
#[test]
fn local_containers_are_reached_from_its_address_by_a_rule_before_it() {
    in_namespace(|| {
        linked("eth0");
        ip("link add docker0 type bridge");
        ip("link set docker0 up");
        ip("address add 172.17.0.1/16 dev docker0");
        ip("-6 address add 2001:db8:17::1/64 dev docker0 nodad");
        let routed = "source-routing = true
            routes = [{to = \"default\", via = \"192.0.2.1\"}, {to = \"default\", via = \"2001:db8::1\"}]";
        let guest = guest(&["192.0.2.5/24", "2001:db8::5/64"], routed);
        apply(&guest);
        let ways = [
            (
                "route get 172.17.0.2 from 192.0.2.5",
                "via 192.0.2.1 dev net1",
            ),
            (
                "-6 route get 2001:db8:17::2 from 2001:db8::5",
                "via 2001:db8::1 dev net1",
            ),
        ];
        for (way, leaves) in ways {
            shows(way, &[leaves]);
        }
        // From their own address they are reached as ever.
        shows("route get 172.17.0.2", &["dev docker0 src 172.17.0.1"]);
        guest.policy(&format!(
            "[[device]]
             {routed}
             rules = [
               {{to = \"172.17.0.0/16\", table = \"main\", priority = 10000}},
               {{to = \"2001:db8:17::/64\", table = \"main\", priority = 10000}},
             ]"
        ));
        apply(&guest);
        for (way, _) in ways {
            shows(way, &["dev docker0"]);
            lacks(way, "via");
        }
        shows(
            "route get 203.0.113.1 from 192.0.2.5",
            &["via 192.0.2.1 dev net1"],
        );
    });
}

// amazon-ec2-net-utils@7d61595 (case 70).
#[test]
fn a_device_whose_source_is_not_routed_reaches_local_containers_as_ever() {
    in_namespace(|| {
        linked("eth0");
        ip("link add docker0 type bridge");
        ip("link set docker0 up");
        ip("address add 172.17.0.1/16 dev docker0");
        let guest = guest(
            &["192.0.2.5/24"],
            "routes = [{to = \"default\", via = \"192.0.2.1\"}]",
        );
        apply(&guest);
        shows("route get 172.17.0.2 from 192.0.2.5", &["dev docker0"]);
        shows("route get 203.0.113.1", &["via 192.0.2.1 dev net1"]);
        lacks("rule show", "10739");
    });
}
