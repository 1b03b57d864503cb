//! Single requests, and dumps of lists that do not hold still.

use dra_guest_agent::netlink::{Cause, Netlink};
use nix::errno::Errno;

use crate::namespace::{block_on, in_namespace, ip, veth};
use crate::{addresses, interface};

#[test]
fn refusals_say_what_was_tried_and_what_the_kernel_says() {
    in_namespace(|| {
        veth("eth0", 1);
        let eth0 = interface("eth0").index;
        block_on(async {
            let netlink = Netlink::open().unwrap();
            let error = netlink.set_mtu(eth0, 70000).await.unwrap_err();
            assert_eq!(
                error.to_string(),
                format!(
                    "cannot set the MTU of interface {eth0} to 70000: EINVAL: mtu greater than \
                     device maximum"
                )
            );
            let error = netlink.rename(eth0, "eth0-peer").await.unwrap_err();
            assert_eq!(error.errno(), Some(Errno::EEXIST));
            let error = netlink.rename(999, "net1").await.unwrap_err();
            assert_eq!(
                error.to_string(),
                "cannot rename interface 999 to net1: ENODEV: No such device"
            );
            let address = "192.0.2.5/24".parse().unwrap();
            let error = netlink.remove_address(eth0, address).await.unwrap_err();
            assert_eq!(error.errno(), Some(Errno::EADDRNOTAVAIL));
        });
    });
}

#[test]
fn addresses_come_and_go() {
    in_namespace(|| {
        veth("eth0", 1);
        let eth0 = interface("eth0").index;
        let list = ["192.0.2.5/24", "192.0.2.9/32", "2001:db8::5/64"];
        block_on(async {
            let netlink = Netlink::open().unwrap();
            for address in list {
                let address = address.parse().unwrap();
                netlink.add_address(eth0, address).await.unwrap();
            }
        });
        let mut found = addresses(&interface("eth0"));
        found.sort();
        assert_eq!(found, list);
        ip("address add 192.0.2.6/24 dev eth0-peer");
        let of = |index| {
            let netlink = Netlink::open().unwrap();
            block_on(netlink.addresses_of(index))
        };
        assert_eq!(of(eth0).unwrap().len(), list.len());
        assert_eq!(of(interface("eth0-peer").index).unwrap().len(), 1);
        assert_eq!(of(999).unwrap_err().errno(), Some(Errno::ENODEV));
        assert!(ip("address show dev eth0").contains("192.0.2.5/24 brd 192.0.2.255"));
        block_on(async {
            let netlink = Netlink::open().unwrap();
            for address in list {
                let address = address.parse().unwrap();
                netlink.remove_address(eth0, address).await.unwrap();
            }
        });
        assert_eq!(addresses(&interface("eth0")), [""; 0]);
    });
}

// vishvananda/netlink#1018, vishvananda/netlink#1163, moby#48400 (case 77).
#[test]
fn a_list_that_keeps_changing_is_never_half_a_list() {
    in_namespace(|| {
        for number in 0..60 {
            veth(&format!("net{number}"), number);
        }
        std::thread::scope(|scope| {
            // A thread that is started inside is in the same namespace.
            let churn = scope.spawn(|| {
                for _ in 0..150 {
                    veth("churn", 200);
                    ip("link delete churn");
                }
            });
            block_on(async {
                let netlink = Netlink::open().unwrap();
                while !churn.is_finished() {
                    match netlink.links().await {
                        Ok(links) => {
                            let lasting = links.iter().filter(|l| l.name.starts_with("net"));
                            assert_eq!(lasting.count(), 120);
                        }
                        Err(error) => {
                            assert!(matches!(error.cause, Cause::Interrupted(_)), "{error}");
                        }
                    }
                }
            });
        });
    });
}
