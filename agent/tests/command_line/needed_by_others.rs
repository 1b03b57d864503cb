//! What the agent added, nobody wants any more, and others would lose something with.

use std::fs;

use serde_json::json;

use crate::guest::{Guest, device, wait_for};
use crate::namespace::{in_namespace, ip};
use crate::revert::reverted;
use crate::service::{Service, is_ready};
use crate::wish::{apply, guest, lacks, linked, shows};

fn wants(guest: &Guest, addresses: &[&str]) {
    guest.document(&json!([device(1, "net1", addresses)]));
}

/// The device is ready, and keeps something, which is said as long as it is so.
fn keeps(guest: &Guest, words: &str) {
    for _ in 0..2 {
        let said = guest.agent("apply");
        assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
        let status = guest.status().unwrap();
        let message = status["devices"][0]["message"].as_str().unwrap();
        assert_eq!(message, words, "{}", said.stderr);
        let said = guest.agent("plan");
        assert_eq!(said.code, 0, "{}", said.stdout);
        let line = format!("nothing to change\n! nic-1/vf (d1): {words}\n");
        assert_eq!(said.stdout, line);
    }
}

/// The kernel removes a route with the address that it has for its source; of IPv6 it takes the source from it.
// amazon-ec2-net-utils#167 (case 72).
#[test]
fn an_address_that_a_route_of_others_comes_from_stays_until_that_is_gone() {
    in_namespace(|| {
        linked("eth0");
        let all = ["192.0.2.5/24", "192.0.2.6/24", "2001:db8::5/64"];
        let guest = guest(&all, "");
        apply(&guest);
        for (route, address, shown) in [
            (
                "203.0.113.0/24 via 192.0.2.1 dev net1 src 192.0.2.6",
                "192.0.2.6/24",
                "route 203.0.113.0/24 via 192.0.2.1",
            ),
            (
                "2001:db8:9::/48 via 2001:db8::1 dev net1 src 2001:db8::5",
                "2001:db8::5/64",
                "route 2001:db8:9::/48 via 2001:db8::1",
            ),
        ] {
            ip(&format!("route add {route}"));
            let rest: Vec<&str> = all.into_iter().filter(|it| *it != address).collect();
            wants(&guest, &rest);
            let words = guest.agent("plan").stdout;
            let words = words.trim_end().split_once("(d1): ").unwrap().1.to_owned();
            let begin = format!("net1 keeps {address}, which is wanted no more: the {shown}");
            let end = "of others has it for its source";
            assert!(words.starts_with(&begin) && words.ends_with(end), "{words}");
            keeps(&guest, &words);
            let family = if address.contains("::") { "-6" } else { "-4" };
            shows(
                &format!("{family} route show"),
                &[route.split(" src").next().unwrap(), "src"],
            );
            shows("address show dev net1", &[address]);
            // With the route goes what keeps the address.
            ip(&format!(
                "{family} route del {}",
                route.split(' ').next().unwrap()
            ));
            apply(&guest);
            lacks("address show dev net1", address);
            wants(&guest, &all);
            apply(&guest);
        }
    });
}

/// With the last IPv4 address of an interface the kernel removes every route through it.
// amazon-ec2-net-utils#167 (case 72).
#[test]
fn the_last_address_stays_while_others_have_a_route_through_the_interface() {
    in_namespace(|| {
        linked("eth0");
        let guest = guest(&["192.0.2.5/24", "192.0.2.6/24"], "");
        apply(&guest);
        let routes = || ip("-4 route show proto boot") + &ip("-4 route show proto dhcp");
        ip("route add 198.51.100.0/24 dev net1");
        ip("route add 203.0.113.0/24 via 192.0.2.1 dev net1 proto dhcp metric 100");
        let before = routes();
        // Another takes its place: there is one at any moment.
        for addresses in [
            &["192.0.2.7/24"][..],
            &["10.0.0.5/8"],
            &["10.0.0.5/16"],
            &["192.0.2.5/24", "2001:db8::5/64"],
        ] {
            wants(&guest, addresses);
            apply(&guest);
            assert_eq!(routes(), before, "{addresses:?}");
        }
        wants(&guest, &[]);
        let words = "net1 keeps 192.0.2.5/24, which is wanted no more: with its last IPv4 address it would lose \
                     the route 203.0.113.0/24 via 192.0.2.1, metric 100 of others";
        keeps(&guest, words);
        assert_eq!(routes(), before);
        lacks("address show dev net1", "2001:db8::5/64");
        // So does `revert`.
        let said = guest.agent("revert");
        assert_eq!(said.code, 3, "{}", said.stdout);
        let told = words.replace(", which is wanted no more", "");
        assert!(
            said.stdout.contains(&format!("! {told}\n")),
            "{}",
            said.stdout
        );
        assert_eq!(routes(), before.replace("net1", "eth0"));
        // One that leads to no gateway needs none, and is put back.
        ip("route flush proto dhcp");
        let before = routes();
        let said = guest.agent("revert");
        assert!(said.stdout.contains("stays up"), "{}", said.stdout);
        lacks("address show dev eth0", "192.0.2.5/24");
        assert_eq!(routes(), before);
        ip("route flush proto boot");
        reverted(&guest);
        lacks("link show eth0", ",UP");
    });
}

#[test]
fn the_service_lets_an_address_go_when_the_route_is_gone() {
    in_namespace(|| {
        linked("eth0");
        let guest = guest(&["192.0.2.5/24", "192.0.2.6/24"], "");
        let service = Service::start(&guest);
        wait_for("the device to be ready", || is_ready(&guest));
        ip("route add 203.0.113.0/24 via 192.0.2.1 dev net1 src 192.0.2.6");
        wants(&guest, &["192.0.2.5/24"]);
        wait_for("it to be told", || {
            let status = guest.status().unwrap();
            let message = status["devices"][0]["message"].as_str().unwrap();
            message.contains("net1 keeps 192.0.2.6/24")
        });
        shows("address show dev net1", &["192.0.2.6/24"]);
        ip("route del 203.0.113.0/24");
        wait_for("the address to go", || {
            !ip("address show dev net1").contains("192.0.2.6/24")
        });
        wait_for("the device to be ready", || is_ready(&guest));
        assert_eq!(service.end(), 0);
    });
}

/// Below 1280 the kernel takes IPv6 from an interface, with all that others have made of it.
#[test]
fn an_mtu_is_not_put_back_nor_set_where_others_would_lose_ipv6() {
    in_namespace(|| {
        linked("eth0");
        ip("link set eth0 mtu 1200");
        let guest = guest(&["192.0.2.5/24"], "mtu = 1500");
        apply(&guest);
        for (add, remove, what) in [
            (
                "-6 address add 2001:db8::9/64 dev net1",
                "-6 address del 2001:db8::9/64 dev net1",
                "2001:db8::9/64",
            ),
            (
                "-6 route add 2001:db8:9::/48 dev net1",
                "-6 route del 2001:db8:9::/48",
                "the route 2001:db8:9::/48, metric 1024",
            ),
        ] {
            ip(add);
            let why = format!(
                "an MTU of 1200 is below 1280, the least of IPv6: it would take {what} of others from net1"
            );
            guest.policy("");
            keeps(
                &guest,
                &format!("net1 keeps its MTU of 1500, which is wanted no more: {why}"),
            );
            let said = guest.agent("revert --dry-run");
            let told = format!("! net1 keeps its MTU of 1500: {why}\n");
            assert!(said.stdout.contains(&told), "{}", said.stdout);
            guest.policy("[[device]]\nmtu = 1200\n");
            let said = guest.agent("apply");
            assert_eq!(said.code, 3, "{}", said.stdout);
            assert!(said.stdout.contains(&why), "{}", said.stdout);
            shows("link show net1", &["mtu 1500"]);
            ip(remove);
            guest.policy("[[device]]\nmtu = 1500\n");
            apply(&guest);
        }
        guest.policy("");
        apply(&guest);
        shows("link show net1", &["mtu 1200"]);
        assert!(!fs::exists("/proc/sys/net/ipv6/conf/net1").unwrap());
    });
}

/// A VLAN of others would shrink with it.
#[test]
fn an_mtu_that_something_of_others_stands_on_is_not_taken_back() {
    in_namespace(|| {
        linked("eth0");
        let guest = guest(&[], "mtu = 9000");
        apply(&guest);
        ip("link add link net1 name mac0 mtu 9000 type macvlan");
        let why = "others made mac0 on it, with an MTU of 9000";
        guest.policy("");
        keeps(
            &guest,
            &format!("net1 keeps its MTU of 9000, which is wanted no more: {why}"),
        );
        let said = guest.agent("revert");
        assert_eq!(said.code, 3, "{}", said.stdout);
        let told = format!("! net1 keeps its MTU of 9000: {why}\n");
        assert!(said.stdout.contains(&told), "{}", said.stdout);
        shows("link show mac0", &["mtu 9000"]);
        ip("link delete mac0");
        reverted(&guest);
        shows("link show eth0", &["mtu 1500"]);
    });
}
