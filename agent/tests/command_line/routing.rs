//! Routes and rules that a policy asks for, from the file to the kernel.

use std::fs;

use serde_json::json;

use crate::guest::{Guest, device, wait_for};
use crate::namespace::{in_namespace, ip, veth};
use crate::service::{Service, is_ready};
use crate::wish::{apply, guest, lacks, linked, shows};

// cloud-init LP#1792415, cloud-init#4996, talos@14abe5140, systemd#20217 (case 60); systemd#5882 (case 53).
#[test]
fn routes_of_every_kind_come_behind_their_addresses() {
    in_namespace(|| {
        linked("eth0");
        let guest = guest(
            &["192.0.2.5/24", "2001:db8::5/64"],
            "routes = [
               {to = \"default\", via = \"192.0.2.1\", metric = 100},
               {to = \"default\", via = \"2001:db8::1\"},
               {to = \"203.0.113.0/24\", via = \"198.51.100.1\"},
               {to = \"203.0.114.0/24\", via = \"2001:db8::2\", table = 77},
               {to = \"203.0.115.0/24\", type = \"blackhole\"},
               {to = \"2001:db8:a::/48\", via = \"2001:db8:ffff::1\"},
               {to = \"2001:db8:9::/48\", type = \"unreachable\"},
               {to = \"2001:db8:7::/48\", via = \"fe80::1\", source = \"2001:db8::5\"},
               {to = \"198.51.100.1/32\"},
             ]",
        );
        apply(&guest);
        shows(
            "-4 route show table all",
            &[
                "default via 192.0.2.1 dev net1 proto 218 metric 100",
                "203.0.113.0/24 via 198.51.100.1 dev net1 proto 218 onlink",
                "203.0.114.0/24 via inet6 2001:db8::2 dev net1 table 77 proto 218",
                "blackhole 203.0.115.0/24 proto 218",
                "198.51.100.1 dev net1 proto 218 scope link",
            ],
        );
        shows(
            "-6 route show",
            &[
                "default via 2001:db8::1 dev net1 proto 218 metric 1024",
                "2001:db8:a::/48 via 2001:db8:ffff::1 dev net1 proto 218 metric 1024 onlink",
                "unreachable 2001:db8:9::/48 dev lo proto 218 metric 1024",
                "2001:db8:7::/48 via fe80::1 dev net1 proto 218 src 2001:db8::5 metric 1024",
            ],
        );
    });
}

#[test]
fn a_route_from_the_address_of_another_device_comes_after_that() {
    in_namespace(|| {
        for number in 1..=2 {
            veth(&format!("eth{number}"), number);
            ip(&format!("link set eth{number}-peer up"));
        }
        let guest = Guest::new();
        guest.document(&json!([
            device(1, "net1", &["192.0.2.5/24", "2001:db8::5/64"]),
            device(2, "net2", &["198.51.100.9/32", "2001:db8:1::9/128"])
        ]));
        guest.policy(
            "[[device]]
             claim = \"nic-1\"
             routes = [
               {to = \"203.0.113.0/24\", via = \"192.0.2.1\", source = \"198.51.100.9\"},
               {to = \"2001:db8:9::/48\", via = \"fe80::1\", source = \"2001:db8:1::9\"},
             ]",
        );
        apply(&guest);
        shows("-4 route show", &["dev net1 proto 218 src 198.51.100.9"]);
        shows("-6 route show", &["dev net1 proto 218 src 2001:db8:1::9"]);
    });
}

// amazon-ec2-net-utils#167 (case 72).
#[test]
fn what_is_wanted_no_more_goes_and_what_is_anothers_stays() {
    in_namespace(|| {
        linked("eth0");
        ip("link set eth0 up");
        ip("address add 192.0.2.9/24 dev eth0");
        ip("route add 203.0.113.0/24 via 192.0.2.1 proto static");
        ip("route add blackhole 203.0.115.0/24");
        ip("rule add from 192.0.2.9 table 77 priority 500");
        let guest = guest(
            &["192.0.2.5/24"],
            "routes = [{to = \"203.0.114.0/24\", via = \"192.0.2.1\"}]
             rules = [{from = \"192.0.2.5/32\", table = 77, priority = 500}]",
        );
        apply(&guest);
        let own = ["203.0.114.0/24 via 192.0.2.1 dev net1 proto 218"];
        shows("route show", &own);
        shows("rule show", &["from 192.0.2.5 lookup 77 proto 218"]);
        guest.policy("[[device]]\nroutes = [{to = \"203.0.114.0/24\", via = \"192.0.2.2\"}]\n");
        apply(&guest);
        shows(
            "route show",
            &["203.0.114.0/24 via 192.0.2.2 dev net1 proto 218"],
        );
        lacks("rule show", "proto 218");
        guest.policy("");
        apply(&guest);
        lacks("route show", "proto 218");
        shows(
            "route show",
            &[
                "203.0.113.0/24 via 192.0.2.1 dev net1 proto static",
                "blackhole 203.0.115.0/24",
            ],
        );
        shows("rule show", &["from 192.0.2.9 lookup 77"]);
        shows("address show dev net1", &["192.0.2.9/24", "192.0.2.5/24"]);
    });
}

#[test]
fn a_route_in_the_way_is_left_and_said() {
    in_namespace(|| {
        linked("net1");
        veth("eth9", 9);
        ip("link set eth9 up");
        ip("link set eth9-peer up");
        ip("address add 198.51.100.5/24 dev eth9");
        ip("route add default via 198.51.100.1 proto dhcp");
        let policy = "routes = [{to = \"default\", via = \"192.0.2.1\"}]";
        let guest = guest(&["192.0.2.5/24"], policy);
        let said = guest.agent("apply");
        assert_eq!(said.code, 3, "{}", said.stdout);
        let words = "somebody else (protocol 16) has made the route default via 198.51.100.1 \
                     through eth9, which stays";
        assert!(said.stdout.contains(words), "{}", said.stdout);
        shows("route show", &["default via 198.51.100.1 dev eth9"]);
        shows("address show dev net1", &["192.0.2.5/24"]);
    });
}

// google/dranet#33, dranet#42 (case 112).
#[test]
fn revert_takes_routes_and_rules_and_leaves_those_of_others() {
    in_namespace(|| {
        linked("eth0");
        let before = ip("-4 route show table all") + &ip("rule show") + &ip("-6 rule show");
        let guest = guest(
            &["192.0.2.5/24", "2001:db8::5/64"],
            "source-routing = true
             routes = [{to = \"default\", via = \"192.0.2.1\", metric = 7},
                       {to = \"203.0.115.0/24\", type = \"blackhole\"}]",
        );
        apply(&guest);
        ip("route add 203.0.113.0/24 via 192.0.2.1 dev net1 table 78");
        let said = guest.agent("revert");
        // It stays up for the route of another.
        assert_eq!(said.code, 3, "{}{}", said.stdout, said.stderr);
        assert!(said.stdout.contains("stays up"), "{}", said.stdout);
        lacks("route show table all", "proto 218");
        lacks("rule show", "proto 218");
        ip("route flush table 78");
        let said = guest.agent("revert");
        assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
        let after = ip("-4 route show table all") + &ip("rule show") + &ip("-6 rule show");
        assert_eq!(after, before);
    });
}

// kata-containers#11200, netavark#439, netavark#471, systemd#12656 (case 51).
#[test]
fn without_ipv6_the_rest_stands_and_stays() {
    in_namespace(|| {
        linked("eth0");
        fs::write("/proc/sys/net/ipv6/conf/eth0/disable_ipv6", "1").unwrap();
        let guest = guest(
            &["2001:db8::5/64", "192.0.2.5/24"],
            "routes = [{to = \"default\", via = \"2001:db8::1\"}, {to = \"default\", via = \"192.0.2.1\"}]",
        );
        for _ in 0..2 {
            let said = guest.agent("apply");
            assert_eq!(said.code, 3, "{}", said.stdout);
            assert!(
                said.stdout.contains("IPv6 is disabled on net1"),
                "{}",
                said.stdout
            );
            shows("address show dev net1", &["192.0.2.5/24"]);
            shows("route show", &["default via 192.0.2.1 dev net1 proto 218"]);
        }
        let said = guest.agent("plan");
        assert!(
            said.stdout.starts_with("nothing to change\n"),
            "{}",
            said.stdout
        );
    });
}

/// As a network manager does when it starts: it takes away what it did not make, a family at a time.
// GoogleCloudPlatform/guest-agent#613, talos@63bd62c9c (case 73).
#[test]
fn routes_and_rules_that_others_flush_come_again() {
    in_namespace(|| {
        linked("eth0");
        let guest = guest(
            &["192.0.2.5/24", "2001:db8::5/64"],
            "source-routing = true
             routes = [{to = \"203.0.113.0/24\", via = \"192.0.2.1\"},
                       {to = \"2001:db8:9::/48\", via = \"2001:db8::1\"}]",
        );
        let service = Service::start(&guest);
        wait_for("the device to be ready", || is_ready(&guest));
        let lists = [
            ("-4 route", "proto 218"),
            ("-6 route", "proto 218"),
            ("-4 route show table 10739003", "proto 218"),
            ("-6 route show table 10739003", "proto 218"),
            ("-4 rule", "10739:"),
            ("-6 rule", "10739:"),
        ];
        let counts = || lists.map(|(list, own)| ip(list).matches(own).count());
        let before = counts();
        assert!(!before.contains(&0), "{before:?}");
        for flushing in [
            "-6 route flush proto 218",
            "-6 route flush table 10739003",
            "-4 rule del priority 10739",
            "-6 rule del priority 10739",
            // Down and up loses every route (net/ipv4/fib_frontend.c).
            "link set net1 down",
        ] {
            ip(flushing);
            wait_for(flushing, || counts() == before && is_ready(&guest));
        }
        assert_eq!(service.end(), 0);
    });
}

/// The kernel removes a route with the address that it has for its source.
#[test]
fn revert_keeps_an_address_that_a_route_of_others_comes_from() {
    in_namespace(|| {
        linked("eth0");
        let guest = guest(&["192.0.2.5/24", "192.0.2.6/24"], "");
        apply(&guest);
        ip("route add 203.0.113.0/24 via 192.0.2.1 src 192.0.2.5");
        let said = guest.agent("revert");
        assert_eq!(said.code, 3, "{}{}", said.stdout, said.stderr);
        let words = "keeps 192.0.2.5/24: the route 203.0.113.0/24 via 192.0.2.1 from 192.0.2.5";
        assert!(said.stdout.contains(words), "{}", said.stdout);
        shows("route show", &["203.0.113.0/24 via 192.0.2.1"]);
        lacks("address show dev eth0", "192.0.2.6/24");
        ip("route del 203.0.113.0/24");
        let said = guest.agent("revert");
        assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
        lacks("address show dev eth0", "192.0.2.5/24");
        lacks("link show eth0", ",UP");
    });
}

/// The kernel takes the routes through an interface with it, and nothing else.
// google/dranet#33, dranet#42 (case 112).
#[test]
fn revert_takes_rules_of_an_interface_that_is_gone() {
    in_namespace(|| {
        linked("eth0");
        let before = ip("-4 route show table all") + &ip("rule show") + &ip("-6 rule show");
        assert!(!before.contains("proto 218"));
        let guest = guest(
            &["192.0.2.5/24", "2001:db8::5/64"],
            "source-routing = true
             routes = [{to = \"203.0.115.0/24\", type = \"blackhole\"},
                       {to = \"2001:db8:9::/48\", type = \"unreachable\"}]
             rules = [{from = \"192.0.2.0/24\", table = 77, priority = 500}]",
        );
        apply(&guest);
        ip("link del net1");
        shows("rule show", &["from 192.0.2.0/24 lookup 77 proto 218"]);
        shows("route show", &["blackhole 203.0.115.0/24"]);
        let said = guest.agent("revert");
        assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
        for list in [
            "-4 route show table all",
            "-6 route show table all",
            "rule show",
            "-6 rule show",
        ] {
            lacks(list, "proto 218");
        }
    });
}
