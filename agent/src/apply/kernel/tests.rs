//! The way of the kernels that take an interface down, on one that does not.

use std::sync::LazyLock;

use super::namespace::{block_on, in_namespace, ip, veth};
use super::*;

fn kernel(netlink: &Netlink) -> Kernel<'_> {
    static ROOTS: LazyLock<Roots> = LazyLock::new(Roots::default);
    Kernel::new(netlink, &ROOTS)
}

/// The kernel that runs the tests may rename interfaces that are up: the way for the others
/// is taken here by hand.
// ifupdown2#187, containernetworking/plugins#1155 (case 52); rtnetlink of older kernels (case 83).
#[test]
fn renaming_while_down_puts_ipv6_addresses_and_routes_back() {
    in_namespace(|| {
        veth("eth0", 1);
        ip("link set eth0-peer up");
        ip("link set eth0 up");
        ip("address add 192.0.2.5/24 dev eth0");
        ip("address add 2001:db8::5/64 dev eth0 nodad noprefixroute");
        ip("address add 2001:db8::6/64 dev eth0 valid_lft 1000 preferred_lft 900");
        ip("route add default via 192.0.2.1 dev eth0 proto dhcp metric 100 mtu 1400");
        ip("route add 203.0.113.0/24 via 198.51.100.1 dev eth0 onlink");
        ip("route add 198.51.100.1/32 dev eth0 table 77");
        ip("-6 route add default via 2001:db8::1 dev eth0 metric 50");
        let outcome = block_on(async {
            let netlink = Netlink::open().unwrap();
            let links = netlink.links().await.unwrap();
            let eth0 = links.iter().find(|link| link.name == "eth0").unwrap();
            let kernel = kernel(&netlink);
            let change = LinkChange::Name("net1");
            kernel.set_link_while_down(eth0.index, change).await.ok()
        });
        assert_eq!(outcome, Some(Outcome::Changed));
        let shown = ip("address show dev net1");
        for part in [
            ",UP,",
            "192.0.2.5/24",
            "2001:db8::5/64 scope global nodad noprefixroute",
            "2001:db8::6/64 scope global",
            "valid_lft 1000sec preferred_lft 900sec",
        ] {
            assert!(shown.contains(part), "{part:?} is not in {shown}");
        }
        let routes = ip("route show table all dev net1") + &ip("-6 route show dev net1");
        for part in [
            "default via 192.0.2.1 proto dhcp metric 100 mtu 1400",
            "203.0.113.0/24 via 198.51.100.1 onlink",
            "198.51.100.1 table 77 scope link",
            "default via 2001:db8::1 metric 50",
            "192.0.2.0/24 proto kernel",
        ] {
            assert!(routes.contains(part), "{part:?} is not in {routes}");
        }
    });
}

// kata-containers#6842, kata-containers#9900 (case 32).
#[test]
fn a_refused_rename_while_down_ends_up_again() {
    in_namespace(|| {
        veth("eth0", 1);
        ip("link set eth0 up");
        ip("address add 2001:db8::5/64 dev eth0");
        let failure = block_on(async {
            let netlink = Netlink::open().unwrap();
            let links = netlink.links().await.unwrap();
            let eth0 = links.iter().find(|link| link.name == "eth0").unwrap();
            let kernel = kernel(&netlink);
            let change = LinkChange::Name("eth0-peer");
            kernel.set_link_while_down(eth0.index, change).await.err()
        });
        let failure = failure.unwrap();
        assert!(!failure.changed);
        assert_eq!(failure.error.errno(), Some(Errno::EEXIST));
        let shown = ip("address show dev eth0");
        assert!(
            shown.contains(",UP") && shown.contains("2001:db8::5/64"),
            "{shown}"
        );
    });
}
