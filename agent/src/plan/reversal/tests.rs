//! What is taken back, and what is left to others.

use super::*;
use crate::plan::{Action, Others};
use crate::routing::Route;

fn step(interface: u32, name: &str, action: Action) -> Step {
    Step {
        device: 0,
        interface,
        name: name.into(),
        action,
        reason: String::new(),
        source: None,
    }
}

fn rename(interface: u32, from: &str, to: &str) -> Step {
    step(interface, from, Action::Rename { to: to.into() })
}

fn mtu(from: u32, to: u32) -> Step {
    step(
        3,
        "net1",
        Action::SetMtu {
            from,
            to,
            ipv6: None,
        },
    )
}

fn up() -> Step {
    step(3, "net1", Action::SetUp(Others::default()))
}

fn add(address: &str) -> Step {
    let address = address.parse().unwrap();
    step(3, "net1", Action::AddAddress { address })
}

/// Interfaces from number 3 on, of these names, up, and with an MTU of 1400.
fn guest(names: &[&str], addresses: &[&str]) -> Observation {
    let interfaces: Vec<_> = names
        .iter()
        .zip(3..)
        .map(|(name, index)| {
            serde_json::json!({
                "index": index, "name": name, "up": true, "mtu": 1400, "addresses": addresses
            })
        })
        .collect();
    serde_json::from_value(serde_json::json!({"interfaces": interfaces})).unwrap()
}

/// The words of what is done, then of what is left.
fn words(steps: &[Step], observation: &Observation) -> (Vec<String>, Vec<String>) {
    let mut ledger = Ledger::default();
    for step in steps {
        ledger.begin(step);
    }
    let reversal = reversal(&ledger, observation);
    let undos = reversal.undos.iter().map(ToString::to_string);
    let renames = reversal.renames.iter().flat_map(|it| &it.steps);
    let done = undos.chain(renames.map(ToString::to_string)).collect();
    (done, reversal.left)
}

#[test]
fn all_that_was_done_is_taken_back_newest_first_and_names_last() {
    let steps = [
        rename(3, "eth0", "net1"),
        mtu(1500, 1400),
        up(),
        add("192.0.2.5/24"),
        add("2001:db8::5/64"),
    ];
    let (done, left) = words(
        &steps,
        &guest(&["net1"], &["192.0.2.5/24", "2001:db8::5/64", "fe80::1/64"]),
    );
    assert_eq!(
        done,
        [
            "remove 2001:db8::5/64 from net1 again",
            "remove 192.0.2.5/24 from net1 again",
            "set net1 down again",
            "set the MTU of net1 back to 1500",
            "rename net1 to eth0",
        ]
    );
    assert_eq!(left, [""; 0]);
}

#[test]
fn the_first_state_is_gone_back_to_and_not_the_one_before_the_last() {
    let steps = [
        rename(3, "eth0", "net1"),
        mtu(1500, 1300),
        rename(3, "net1", "net2"),
        mtu(1300, 1400),
    ];
    let (done, _) = words(&steps, &guest(&["net2"], &[]));
    assert_eq!(
        done,
        ["set the MTU of net2 back to 1500", "rename net2 to eth0"]
    );
}

#[test]
fn a_step_that_was_begun_and_not_made_is_taken_back_as_one_that_was_made() {
    let steps = [
        rename(3, "eth0", "net1"),
        rename(3, "net1", "net2"),
        mtu(1400, 9000),
    ];
    for name in ["net1", "net2"] {
        let (done, left) = words(&steps, &guest(&[name], &[]));
        assert_eq!(done, [format!("rename {name} to eth0")]);
        assert_eq!(left, [""; 0]);
    }
    assert_eq!(words(&steps, &guest(&["eth0"], &[])), (vec![], vec![]));
}

#[test]
fn an_old_name_that_was_kept_as_an_alternative_one_is_taken_back() {
    let alternative = "eth0".to_owned();
    let steps = [
        rename(3, "eth0", "net1"),
        step(3, "net1", Action::AddAlternativeName { alternative }),
    ];
    let mut guest = guest(&["net1"], &[]);
    guest.interfaces[0]
        .alternative_names
        .push("eth0".to_owned());
    let (done, left) = words(&steps, &guest);
    assert_eq!(
        done,
        [
            "take the alternative name eth0 from net1 again",
            "rename net1 to eth0"
        ]
    );
    assert_eq!(left, [""; 0]);
}

#[test]
fn a_route_is_taken_back_as_the_kernel_has_it_and_others_of_its_kind_stay() {
    let route = |metric: u32, protocol: u8| -> Route {
        serde_json::from_value(serde_json::json!({
            "destination": "2001:db8:1::/48", "interface": 3, "gateway": "2001:db8::1",
            "metric": metric, "protocol": protocol
        }))
        .unwrap()
    };
    let own = crate::routing::PROTOCOL;
    let route_step = step(
        3,
        "net1",
        Action::AddRoute {
            route: route(0, own),
        },
    );
    let mut guest = guest(&["net1"], &[]);
    guest.routes = vec![route(1024, 4), route(50, own)];
    assert_eq!(
        words(std::slice::from_ref(&route_step), &guest),
        (vec![], vec![])
    );
    guest.routes.push(route(1024, own));
    let (done, _) = words(&[route_step], &guest);
    assert!(
        done.len() == 1 && done[0].contains("metric 1024"),
        "{done:?}"
    );
}

#[test]
fn names_that_changed_places_change_back() {
    let swap = [
        rename(3, "eth0", "dra3"),
        rename(4, "eth1", "eth0"),
        rename(3, "dra3", "eth1"),
    ];
    let (done, left) = words(&swap, &guest(&["eth1", "eth0"], &[]));
    assert_eq!((done.len(), left.len()), (3, 0), "{done:?}");
    // Killed in the middle: wherever that was, every interface gets its name back.
    for (made, names) in [["dra3", "eth1"], ["dra3", "eth0"]].into_iter().enumerate() {
        for begun in [made + 1, made + 2] {
            let (done, left) = words(&swap[..begun], &guest(&names, &[]));
            assert_eq!(done.last().unwrap(), "rename dra3 to eth0", "{done:?}");
            assert_eq!(left, [""; 0]);
        }
    }
}

#[test]
fn what_others_changed_since_is_left_and_told() {
    for (steps, names, addresses, told) in [
        (
            vec![rename(3, "eth0", "net1")],
            ["theirs"],
            &[][..],
            "theirs keeps its name theirs: others set it, after it was set from eth0 to net1",
        ),
        (
            vec![mtu(1500, 9000)],
            ["net1"],
            &[],
            "keeps its MTU 1400: others set it",
        ),
        (
            vec![up(), add("192.0.2.5/24")],
            ["net1"],
            &["192.0.2.9/24"],
            "net1 stays up: it has 192.0.2.9/24 of others",
        ),
    ] {
        let (done, left) = words(&steps, &guest(&names, addresses));
        assert_eq!(done, [""; 0]);
        assert!(left.len() == 1 && left[0].contains(told), "{left:?}");
    }
}

/// A port with another MTU or MAC than its bond's is of no use to it.
#[test]
fn a_port_keeps_what_it_has_in_common_with_its_bond() {
    let [given, before] =
        ["02:00:00:00:00:01", "02:00:00:00:00:02"].map(|mac| mac.parse().unwrap());
    let (from, to) = (before, given);
    let steps = [
        step(3, "net1", Action::SetMacAddress { from, to }),
        mtu(1500, 1400),
        add("192.0.2.5/24"),
        up(),
    ];
    let mut guest = guest(&["net1", "bond0"], &["192.0.2.5/24"]);
    guest.interfaces[0].controller = Some(4);
    guest.interfaces[0].mac_address = Some(given);
    for (kind, mtu) in [("bond", true), ("bridge", false)] {
        guest.interfaces[1].kind = Some(kind.to_owned());
        let (done, left) = words(&steps, &guest);
        let mtu_back = "set the MTU of net1 back to 1500".to_owned();
        let address = "remove 192.0.2.5/24 from net1 again".to_owned();
        assert_eq!(done.contains(&mtu_back), !mtu, "{kind}: {done:?}");
        assert!(done.contains(&address), "{kind}: {done:?}");
        assert_eq!(
            left.iter()
                .any(|why| why.starts_with("net1 keeps its MTU of 1400")),
            mtu
        );
        let mac = "net1 keeps its MAC address 02:00:00:00:00:01: it is a port of bond0";
        assert!(left.iter().any(|why| why.starts_with(mac)), "{left:?}");
        assert!(left.contains(&"net1 stays up: others made it part of bond0".to_owned()));
    }
    // A bond that has the MTU of before already.
    guest.interfaces[1].kind = Some("bond".to_owned());
    guest.interfaces[1].mtu = 1500;
    let (done, _) = words(&steps, &guest);
    assert!(done.contains(&"set the MTU of net1 back to 1500".to_owned()));
    // A member of a VRF has its own.
    guest.interfaces[1].kind = Some("vrf".to_owned());
    let (done, left) = words(&steps, &guest);
    assert_eq!((done.len(), left.len()), (3, 1), "{done:?} {left:?}");
}

#[test]
fn a_name_that_is_taken_by_now_is_told() {
    let (done, left) = words(&[rename(3, "eth0", "net1")], &guest(&["net1", "eth0"], &[]));
    assert_eq!(done, [""; 0]);
    assert!(
        left[0].contains("another interface (index 4) has that name"),
        "{left:?}"
    );
}

#[test]
fn an_interface_that_is_gone_leaves_nothing_to_do() {
    let steps = [
        rename(9, "eth0", "net1"),
        step(9, "net1", Action::SetUp(Others::default())),
    ];
    assert_eq!(words(&steps, &guest(&["eth1"], &[])), (vec![], vec![]));
}
