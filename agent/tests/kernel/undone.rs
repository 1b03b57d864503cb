//! What is left when a step fails and those before it are undone.

use dra_guest_agent::plan::{Action, Others};

use crate::apply::{add, applied, mtu, rename, step};
use crate::namespace::{in_namespace, ip, veth};
use crate::{addresses, interface, observation};

/// With the last IPv4 address go all IPv4 routes, and with an interface that is set down its IPv6 addresses.
#[test]
fn what_is_undone_takes_nothing_of_others_with_it() {
    in_namespace(|| {
        for (number, name) in ["eth0", "eth1", "taken"].into_iter().enumerate() {
            veth(name, u8::try_from(number).unwrap());
        }
        // Until there is a local address the kernel takes no gateway (`__inet_dev_addr_type` in `net/ipv4/fib_frontend.c`).
        ip("link set lo up");
        ip("address add 2001:db8::9/64 dev eth0");
        ip("link set eth1 up");
        ip("route add 203.0.113.0/24 dev eth1 metric 7");
        ip("route add 198.51.100.0/24 via 192.0.2.1 dev eth1 onlink table 77");
        let routes = || ip("-4 route show table all");
        let before = (observation(), routes());
        let result = applied([
            &[
                ("eth0", step(0, "eth0", Action::SetUp(Others::default()))),
                ("eth0", add(0, "eth0", "2001:db8::5/64")),
                ("eth0", rename(0, "eth0", "taken")),
            ],
            &[
                ("eth1", add(1, "eth1", "192.0.2.5/24")),
                ("eth1", rename(1, "eth1", "taken")),
            ],
        ]);
        assert_eq!((result.done, result.undone), (0, 3));
        assert_eq!((observation(), routes()), before);
    });
}

// netavark@980d68ab, netavark@e6d09ff9 (case 37).
#[test]
fn a_transaction_whose_last_step_fails_leaves_nothing_behind() {
    in_namespace(|| {
        veth("eth0", 1);
        veth("eth1", 2);
        veth("taken", 3);
        let before = observation();
        let result = applied([&[
            ("eth0", mtu(0, "eth0", 1500, 1400)),
            ("eth0", step(0, "eth0", Action::SetUp(Others::default()))),
            ("eth0", add(0, "eth0", "192.0.2.5/24")),
            ("eth0", add(0, "eth0", "2001:db8::5/64")),
            ("eth0", rename(0, "eth0", "dra-guest0")),
            ("eth1", rename(1, "eth1", "eth0")),
            ("eth0", rename(0, "dra-guest0", "taken")),
        ]]);
        assert_eq!((result.done, result.undone, result.skipped), (0, 6, 0));
        let failure = &result.failures[0];
        assert_eq!(failure.undo_errors, []);
        assert_eq!(
            failure.error.to_string(),
            "cannot rename dra-guest0 to taken: EEXIST: File exists"
        );
        assert!(result.failure_of(0).is_some() && result.failure_of(1).is_some());
        assert_eq!(observation(), before);
    });
}

#[test]
fn one_device_that_fails_does_not_stop_the_others() {
    in_namespace(|| {
        veth("eth0", 1);
        veth("eth1", 2);
        std::fs::write("/proc/sys/net/ipv6/conf/eth0/disable_ipv6", "1").unwrap();
        let result = applied([
            &[("eth0", add(0, "eth0", "2001:db8::5/64"))],
            &[("eth0", add(0, "eth0", "192.0.2.5/24"))],
            &[("eth1", add(1, "eth1", "2001:db8::6/64"))],
        ]);
        assert_eq!((result.done, result.undone, result.skipped), (1, 0, 1));
        let error = result.failure_of(0).unwrap().error.to_string();
        assert!(
            error.starts_with("cannot add 2001:db8::5/64 to eth0: EACCES: ")
                && error.ends_with("IPv6 is disabled on this device"),
            "{error}"
        );
        assert!(result.failure_of(1).is_none());
        assert_eq!(addresses(&interface("eth0")), [""; 0]);
        assert_eq!(addresses(&interface("eth1")), ["2001:db8::6/64"]);
    });
}
