//! What others made is no stand-in for what is wanted, and is not lost by what is set.

use crate::namespace::{in_namespace, ip};
use crate::wish::{apply, guest, lacks, linked, shows};

#[test]
fn routes_of_others_for_some_packets_are_neither_enough_nor_touched() {
    in_namespace(|| {
        linked("eth0");
        ip("link set eth0 up");
        ip("address add 192.0.2.9/24 dev eth0");
        ip("address add 2001:db8::9/64 dev eth0 nodad");
        ip("route add 203.0.113.0/24 via 192.0.2.1 tos 0x10");
        ip("-6 route add default from 2001:db8:77::/64 via 2001:db8::1 dev eth0 metric 1024");
        let guest = guest(
            &[],
            "routes = [
               {to = \"203.0.113.0/24\", via = \"192.0.2.2\"},
               {to = \"default\", via = \"2001:db8::2\"},
             ]",
        );
        apply(&guest);
        let of_others = "203.0.113.0/24 tos 0x10 via 192.0.2.1 dev net1";
        let from_a_range = "default from 2001:db8:77::/64 via 2001:db8::1 dev net1";
        shows(
            "-4 route show",
            &[of_others, "203.0.113.0/24 via 192.0.2.2 dev net1 proto 218"],
        );
        shows(
            "-6 route show",
            &[from_a_range, "default via 2001:db8::2 dev net1 proto 218"],
        );
        assert_eq!(guest.agent("revert").code, 0);
        lacks("route show table all", "proto 218");
        lacks("-6 route show table all", "proto 218");
        shows("-4 route show", &["203.0.113.0/24 tos 0x10 via 192.0.2.1"]);
        shows("-6 route show", &["default from 2001:db8:77::/64"]);
    });
}

#[test]
fn a_route_of_others_by_several_gateways_stays() {
    in_namespace(|| {
        linked("eth0");
        ip("link set eth0 up");
        ip("address add 192.0.2.9/24 dev eth0");
        ip("route add 203.0.113.0/24 nexthop via 192.0.2.1 nexthop via 192.0.2.2");
        let guest = guest(
            &[],
            "routes = [{to = \"203.0.113.0/24\", via = \"192.0.2.1\"}]",
        );
        let said = guest.agent("apply");
        assert_eq!(said.code, 3, "{}{}", said.stdout, said.stderr);
        let words = "somebody else (protocol 3, boot) has made the route 203.0.113.0/24";
        assert!(said.stdout.contains(words), "{}", said.stdout);
        shows(
            "route show",
            &["nexthop via 192.0.2.1", "nexthop via 192.0.2.2"],
        );
    });
}

/// The kernel would take them, and `revert` could not bring them back.
#[test]
fn an_mtu_that_would_take_ipv6_addresses_of_others_is_not_set() {
    in_namespace(|| {
        linked("eth0");
        ip("link set eth0 up");
        ip("address add 2001:db8::9/64 dev eth0 nodad");
        let guest = guest(&["192.0.2.5/24"], "mtu = 1000");
        let said = guest.agent("apply");
        assert_eq!(said.code, 3, "{}{}", said.stdout, said.stderr);
        let words = "it would take 2001:db8::9/64 of others from net1";
        assert!(said.stdout.contains(words), "{}", said.stdout);
        shows(
            "address show dev net1",
            &["mtu 1500", "2001:db8::9/64", "192.0.2.5/24"],
        );
        ip("address del 2001:db8::9/64 dev net1");
        apply(&guest);
        shows("link show net1", &["mtu 1000"]);
    });
}
