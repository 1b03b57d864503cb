//! What a look at the kernel shows.

use crate::namespace::{in_namespace, ip, veth};
use crate::{addresses, interface, observation};

#[test]
fn a_fresh_namespace_has_nothing_to_configure() {
    in_namespace(|| {
        assert_eq!(observation().interfaces, []);
        ip("link set lo name loopy");
        assert_eq!(observation().interfaces, []);
    });
}

#[test]
fn a_pair_is_seen_with_all_that_it_has() {
    in_namespace(|| {
        veth("eth0", 1);
        ip("link set eth0 mtu 1400 up");
        ip("address add 192.0.2.5/24 dev eth0");
        ip("address add 192.0.2.6/24 dev eth0");
        ip("address add 2001:db8::5/64 dev eth0 nodad");
        let observation = observation();
        let names: Vec<_> = observation.interfaces.iter().map(|i| &i.name).collect();
        let by_index = observation.interfaces.is_sorted_by_key(|i| i.index);
        assert!(by_index && names.len() == 2, "{names:?}");

        let eth0 = interface("eth0");
        assert_eq!(eth0.kind.as_deref(), Some("veth"));
        assert_eq!(eth0.mac_address.unwrap().to_string(), "02:00:00:00:01:01");
        assert_eq!(eth0.permanent_mac_address, None);
        assert_eq!((eth0.pci_address, eth0.numa_node), (None, None));
        assert!(eth0.up);
        assert_eq!(eth0.mtu, 1400);
        assert_eq!((eth0.min_mtu, eth0.max_mtu), (Some(68), Some(65535)));
        assert_eq!(
            addresses(&eth0)[..3],
            ["192.0.2.5/24", "192.0.2.6/24", "2001:db8::5/64"]
        );

        let peer = interface("eth0-peer");
        assert_eq!(peer.mac_address.unwrap().to_string(), "02:00:00:00:01:02");
        assert!(!peer.up);
        assert_eq!(peer.mtu, 1500);
        assert_eq!(addresses(&peer), [""; 0]);
    });
}

#[test]
fn further_names_and_controllers_are_seen() {
    in_namespace(|| {
        veth("eth0", 1);
        ip("link property add dev eth0 altname enp129s0f0np0-of-the-host altname ens1");
        ip("link add br0 type bridge");
        ip("link set eth0 master br0");
        let eth0 = interface("eth0");
        let mut names = eth0.alternative_names.clone();
        names.sort();
        assert_eq!(names, ["enp129s0f0np0-of-the-host", "ens1"]);
        let bridge = interface("br0");
        assert_eq!(eth0.controller, Some(bridge.index));
        assert_eq!(bridge.controller, None);
        assert_eq!(bridge.kind.as_deref(), Some("bridge"));
    });
}

#[test]
fn addresses_that_no_document_can_ask_for_are_left_out() {
    in_namespace(|| {
        veth("eth0", 1);
        ip("address add 10.0.0.0/8 dev eth0");
        ip("address add 192.0.2.5 peer 192.0.2.9/32 dev eth0");
        assert_eq!(addresses(&interface("eth0")), ["192.0.2.5/32"]);
    });
}

#[test]
fn a_second_look_shows_the_same() {
    in_namespace(|| {
        for number in 0..40 {
            veth(&format!("net{number}"), number);
            ip(&format!(
                "address add 192.0.2.{}/24 dev net{number}",
                number + 1
            ));
        }
        let first = observation();
        assert_eq!(first.interfaces.len(), 80);
        assert_eq!(observation(), first);
    });
}
