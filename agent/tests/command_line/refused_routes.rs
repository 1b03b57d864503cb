//! Routes that the kernel refuses: a problem of each, and nothing else of the device is lost.

use std::fs;
use std::process::Command;

use crate::guest::Said;
use crate::namespace::{in_namespace, ip, veth};
use crate::wish::{guest, linked, shows};

/// The keys of a route as the policy has them and as `ip` does, and why it cannot be.
const ROUTES: &[(&str, &str, &str)] = &[
    (
        "to = \"203.0.113.0/24\", source = \"192.0.2.77\"",
        "203.0.113.0/24 dev net1 src 192.0.2.77",
        "this guest has no address 192.0.2.77",
    ),
    (
        "to = \"2001:db8:9::/48\", source = \"2001:db8::77\"",
        "2001:db8:9::/48 dev net1 src 2001:db8::77",
        "this guest has no address 2001:db8::77",
    ),
    (
        "to = \"2001:db8:9::/48\", source = \"2001:db8:5::9\"",
        "2001:db8:9::/48 dev net1 src 2001:db8:5::9",
        "",
    ),
    (
        "to = \"2001:db8:9::/48\", source = \"fe80::77\"",
        "2001:db8:9::/48 dev net1 src fe80::77",
        "this guest has no address fe80::77",
    ),
    (
        "to = \"203.0.113.0/24\", via = \"198.51.100.1\", on-link = false",
        "203.0.113.0/24 via 198.51.100.1 dev net1",
        "no address or route of net1 reaches 198.51.100.1",
    ),
    (
        "to = \"2001:db8:9::/48\", via = \"2001:db8:77::1\", on-link = false",
        "2001:db8:9::/48 via 2001:db8:77::1 dev net1",
        "no address or route of net1 reaches 2001:db8:77::1",
    ),
    (
        "to = \"203.0.113.0/24\", via = \"192.0.2.255\"",
        "203.0.113.0/24 via 192.0.2.255 dev net1",
        "192.0.2.255 is a broadcast address of net1",
    ),
    (
        "to = \"203.0.113.0/24\", via = \"192.0.2.5\", on-link = true",
        "203.0.113.0/24 via 192.0.2.5 dev net1 onlink",
        "192.0.2.5 is an address of this guest",
    ),
    (
        "to = \"203.0.113.0/24\", via = \"198.51.100.9\"",
        "203.0.113.0/24 via 198.51.100.9 dev net1 onlink",
        "198.51.100.9 is an address of this guest",
    ),
    (
        "to = \"2001:db8:9::/48\", via = \"2001:db8::5\"",
        "2001:db8:9::/48 via 2001:db8::5 dev net1",
        "2001:db8::5 is an address of this guest",
    ),
    (
        "to = \"203.0.113.0/24\", via = \"2001:db8:5::9\"",
        "203.0.113.0/24 via inet6 2001:db8:5::9 dev net1",
        "2001:db8:5::9 is an address of this guest",
    ),
    // These it takes.
    (
        "to = \"203.0.113.0/24\", source = \"10.255.0.1\"",
        "203.0.113.0/24 dev net1 src 10.255.0.1",
        "",
    ),
    (
        "to = \"203.0.113.0/24\", source = \"198.51.100.9\"",
        "203.0.113.0/24 dev net1 src 198.51.100.9",
        "",
    ),
    (
        "to = \"203.0.113.0/24\", via = \"192.0.2.1\", on-link = false",
        "203.0.113.0/24 via 192.0.2.1 dev net1",
        "",
    ),
    (
        "to = \"203.0.113.0/24\", via = \"10.9.9.1\", on-link = false",
        "203.0.113.0/24 via 10.9.9.1 dev net1",
        "",
    ),
    (
        "to = \"2001:db8:9::/48\", via = \"fe80::1\", source = \"2001:db8::5\"",
        "2001:db8:9::/48 via fe80::1 dev net1 src 2001:db8::5",
        "",
    ),
];

fn add(words: &str) -> Said {
    let mut command = Command::new("ip");
    command.args(["route", "add"]).args(words.split(' '));
    command.output().unwrap().into()
}

/// What the agent foresees is what the kernel does.
// kata-containers#73 (case 68).
#[test]
fn a_route_that_the_kernel_refuses_costs_a_device_that_route_alone() {
    for (keys, words, why) in ROUTES {
        in_namespace(|| {
            // No source address is waited for.
            fs::write("/proc/sys/net/ipv6/conf/default/accept_dad", "0").unwrap();
            linked("eth0");
            veth("eth1", 2);
            ip("link set lo up");
            ip("address add 10.255.0.1/32 dev lo");
            ip("link set eth1 up");
            ip("link set eth1-peer up");
            ip("address add 198.51.100.9/24 dev eth1");
            ip("-6 address add 2001:db8:5::9/64 dev eth1 nodad");
            ip("link set eth0 up");
            ip("route add 10.9.9.0/24 dev eth0");
            let addresses = ["192.0.2.5/24", "2001:db8::5/64"];
            let other = "{to = \"203.0.114.0/24\", via = \"192.0.2.1\"}";
            let guest = guest(&addresses, &format!("routes = [{{{keys}}}, {other}]"));
            let said = guest.agent("apply");
            let told = &said.stdout;
            shows(
                "address show dev net1",
                &[",UP", addresses[0], addresses[1]],
            );
            shows("route show", &["203.0.114.0/24 via 192.0.2.1 dev net1"]);
            assert_eq!(
                said.code,
                if why.is_empty() { 0 } else { 3 },
                "{keys}: {told}"
            );
            assert!(told.contains(why), "{keys}: {told}");
            let kernel = add(words);
            // What it takes is there.
            let expected = if why.is_empty() {
                "File exists"
            } else {
                "Error: "
            };
            let is_refused = kernel.code != 0 && kernel.stderr.contains(expected)
                || kernel.stderr.contains("No route to host");
            assert!(is_refused, "{keys}: {} {}", kernel.code, kernel.stderr);
            let said = guest.agent("plan");
            assert!(
                said.stdout.starts_with("nothing to change"),
                "{keys}: {}",
                said.stdout
            );
        });
    }
}
