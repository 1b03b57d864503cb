//! What the steps of a plan do to the kernel.

use dra_guest_agent::apply::{Applied, apply};
use dra_guest_agent::journal::Journal;
use dra_guest_agent::netlink::Netlink;
use dra_guest_agent::plan::{Action, Others, Step, Transaction};
use dra_guest_agent::roots::Roots;

use crate::namespace::{block_on, in_namespace, ip, veth};
use crate::{addresses, interface, observation};

pub(crate) fn step(device: usize, name: &str, action: Action) -> Step {
    Step {
        device,
        interface: 0,
        name: name.into(),
        action,
        reason: "the test says so".into(),
        source: None,
    }
}

pub(crate) fn rename(device: usize, from: &str, to: &str) -> Step {
    step(device, from, Action::Rename { to: to.into() })
}

pub(crate) fn add(device: usize, name: &str, address: &str) -> Step {
    let address = address.parse().unwrap();
    step(device, name, Action::AddAddress { address })
}

pub(crate) fn mtu(device: usize, name: &str, from: u32, to: u32) -> Step {
    step(
        device,
        name,
        Action::SetMtu {
            from,
            to,
            ipv6: None,
        },
    )
}

/// Applies steps to interfaces that are given by the names that they have before the first step.
pub(crate) fn applied<const N: usize>(transactions: [&[(&str, Step)]; N]) -> Applied {
    let indices = observation().interfaces;
    let transactions = transactions.map(|steps| Transaction {
        steps: steps
            .iter()
            .map(|(name, step)| Step {
                interface: indices.iter().find(|i| i.name == *name).unwrap().index,
                ..step.clone()
            })
            .collect(),
    });
    block_on(async {
        let journal = &mut Journal::nowhere();
        let netlink = Netlink::open().unwrap();
        apply(&netlink, &Roots::default(), journal, &transactions).await
    })
}

#[test]
fn an_interface_is_brought_into_its_wanted_state() {
    in_namespace(|| {
        veth("eth0", 1);
        let result = applied([&[
            ("eth0", rename(0, "eth0", "net1")),
            ("eth0", mtu(0, "net1", 1500, 1400)),
            ("eth0", step(0, "net1", Action::SetUp(Others::default()))),
            ("eth0", add(0, "net1", "192.0.2.5/24")),
            ("eth0", add(0, "net1", "2001:db8::5/64")),
        ]]);
        assert_eq!((result.done, &result.failures[..]), (5, &[][..]));
        let net1 = interface("net1");
        assert!(net1.up);
        assert_eq!(net1.mtu, 1400);
        let addresses = addresses(&net1);
        for address in ["192.0.2.5/24", "2001:db8::5/64"] {
            assert!(addresses.iter().any(|a| a == address), "{addresses:?}");
        }
    });
}

// systemd#29957, systemd#29073, systemd#16665, systemd#24102 (case 30).
#[test]
fn names_go_round_in_cycles_through_a_temporary_one() {
    in_namespace(|| {
        for number in 0..5 {
            veth(&format!("eth{number}"), number);
            ip(&format!("link set eth{number} up"));
        }
        let result = applied([
            &[
                ("eth0", rename(0, "eth0", "dra-guest0")),
                ("eth1", rename(1, "eth1", "eth0")),
                ("eth0", rename(0, "dra-guest0", "eth1")),
            ],
            &[
                ("eth2", rename(2, "eth2", "dra-guest0")),
                ("eth3", rename(3, "eth3", "eth2")),
                ("eth4", rename(4, "eth4", "eth3")),
                ("eth2", rename(2, "dra-guest0", "eth4")),
            ],
        ]);
        assert_eq!((result.done, &result.failures[..]), (7, &[][..]));
        for (name, number) in [(0, 1), (1, 0), (2, 3), (3, 4), (4, 2)] {
            let mac = interface(&format!("eth{name}")).mac_address.unwrap();
            assert_eq!(mac.to_string(), format!("02:00:00:00:{number:02x}:01"));
        }
    });
}

/// One of a circle is unplugged between the look and the first step: the other has its name again, and the next
/// device is configured.
#[test]
fn an_interface_that_vanished_since_the_look_costs_others_nothing() {
    in_namespace(|| {
        veth("eth0", 1);
        veth("eth1", 2);
        veth("eth2", 3);
        let gone = interface("eth1").index;
        ip("link delete eth1");
        let index = |name: &str| interface(name).index;
        let of = |interface, step: Step| Step { interface, ..step };
        let circle = vec![
            of(index("eth0"), rename(0, "eth0", "dra-guest0")),
            of(gone, rename(1, "eth1", "eth0")),
            of(index("eth0"), rename(0, "dra-guest0", "eth1")),
        ];
        let next = vec![
            of(index("eth2"), rename(2, "eth2", "net2")),
            of(index("eth2"), add(2, "net2", "192.0.2.5/24")),
        ];
        let transactions = [circle, next].map(|steps| Transaction { steps });
        let result = block_on(async {
            let journal = &mut Journal::nowhere();
            let netlink = Netlink::open().unwrap();
            apply(&netlink, &Roots::default(), journal, &transactions).await
        });
        assert_eq!((result.done, result.undone, result.skipped), (2, 1, 1));
        let failure = &result.failures[0];
        assert_eq!(failure.undo_errors, []);
        let words = "cannot rename eth1 to eth0: ENODEV: No such device";
        assert_eq!(failure.error.to_string(), words);
        assert_eq!(
            interface("eth0").mac_address.unwrap().to_string(),
            "02:00:00:00:01:01"
        );
        assert_eq!(addresses(&interface("net2")), ["192.0.2.5/24"]);
    });
}

// dranet@f8fa173, dranet@5f8645a (case 44).
#[test]
fn an_mtu_that_the_device_cannot_have_is_refused_in_the_kernels_words() {
    in_namespace(|| {
        veth("eth0", 1);
        let result = applied([&[
            ("eth0", rename(0, "eth0", "net1")),
            ("eth0", mtu(0, "net1", 1500, 65536)),
        ]]);
        assert_eq!(
            result.failures[0].error.to_string(),
            "cannot set the MTU of net1 from 1500 to 65536: EINVAL: mtu greater than device maximum"
        );
        assert_eq!(interface("eth0").mtu, 1500);
    });
}

#[test]
fn an_address_that_came_meanwhile_is_success_and_is_not_taken_away() {
    in_namespace(|| {
        veth("eth0", 1);
        ip("address add 192.0.2.5/24 dev eth0");
        ip("address add 2001:db8::5/64 dev eth0");
        let steps = [
            ("eth0", add(0, "eth0", "192.0.2.5/24")),
            ("eth0", add(0, "eth0", "2001:db8::5/64")),
            ("eth0", mtu(0, "eth0", 1500, 1400)),
        ];
        let before = observation();
        let mut failing = steps.to_vec();
        failing.push(("eth0", rename(0, "eth0", "eth0-peer")));
        let result = applied([&failing]);
        assert_eq!((result.done, result.undone), (0, 3));
        assert_eq!(observation(), before);

        let result = applied([&steps]);
        assert_eq!((result.done, &result.failures[..]), (3, &[][..]));
    });
}

#[test]
fn an_ipv6_address_with_another_prefix_length_is_not_the_wanted_one() {
    in_namespace(|| {
        veth("eth0", 1);
        ip("address add 2001:db8::5/128 dev eth0");
        let result = applied([&[("eth0", add(0, "eth0", "2001:db8::5/64"))]]);
        let error = result.failures[0].error.to_string();
        assert!(
            error.starts_with("cannot add 2001:db8::5/64 to eth0: EEXIST: "),
            "{error}"
        );
        assert_eq!(addresses(&interface("eth0")), ["2001:db8::5/128"]);
    });
}

// kata-containers#6842, kata-containers#9900 (case 32).
#[test]
fn renaming_an_interface_that_is_up_costs_it_nothing() {
    in_namespace(|| {
        veth("eth0", 1);
        ip("link set eth0-peer up");
        ip("link set eth0 up");
        ip("address add 2001:db8::5/64 dev eth0 nodad");
        ip("address add 192.0.2.5/24 dev eth0");
        ip("route add 198.51.100.0/24 via 192.0.2.1");
        ip("-6 route add 2001:db8:1::/48 via 2001:db8::1");
        let before = interface("eth0");
        let result = applied([&[("eth0", rename(0, "eth0", "net1"))]]);
        assert_eq!(result.done, 1);
        let after = interface("net1");
        for address in ["2001:db8::5/64", "192.0.2.5/24"] {
            assert!(addresses(&after).iter().any(|a| a == address), "{after:?}");
        }
        assert_eq!(after.index, before.index);
        assert!(after.up);
        assert!(ip("route").contains("198.51.100.0/24 via 192.0.2.1 dev net1"));
        assert!(ip("-6 route").contains("2001:db8:1::/48 via 2001:db8::1 dev net1"));
    });
}
