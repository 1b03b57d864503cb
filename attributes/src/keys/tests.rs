//! What drivers are known to write, and what becomes of it.

use super::AttributeValue::{Bool, Int, Ints, String as Text, Strings};
use super::*;

fn normalised(attributes: &[(&str, AttributeValue)]) -> Normalised {
    let attributes = attributes.iter().cloned();
    let attributes = attributes.map(|(key, value)| (key.to_owned(), value));
    normalise("nic.example.com", &attributes.collect())
}

fn node_of(key: &str, value: AttributeValue) -> Option<u16> {
    normalised(&[(key, value)]).host.numa_node.map(NodeId::get)
}

#[test]
fn every_name_of_a_numa_node_is_one() {
    for key in NUMA_NODE {
        assert_eq!(node_of(key, Int(1)), Some(1), "{key}");
    }
    assert_eq!(node_of("nic.example.com/numaNode", Int(0)), Some(0));
    assert_eq!(node_of("other.example.com/numaNode", Int(0)), None);
}

#[test]
fn a_numa_node_is_a_number_digits_or_the_first_of_a_list() {
    for (value, expected) in [
        (Int(3), Some(3)),
        (Text("3".into()), Some(3)),
        (Ints(vec![5, 4, 6, 7]), Some(5)),
        (Strings(vec!["2".into(), "3".into()]), Some(2)),
        (Int(-1), None),
        (Int(1024), None),
        (Text("node1".into()), None),
        (Ints(vec![]), None),
        (Bool(true), None),
    ] {
        let found = normalised(&[("numa", value.clone())]);
        assert_eq!(found.host.numa_node.map(NodeId::get), expected, "{value:?}");
        assert_eq!(found.remarks.is_empty(), expected.is_some(), "{value:?}");
    }
}

#[test]
fn every_name_of_a_pci_address_and_of_a_mac_is_one() {
    for key in PCI_ADDRESS
        .into_iter()
        .chain(["nic.example.com/pciAddress"])
    {
        let found = normalised(&[(key, Text("3B:02.1".into()))]);
        let address = found.host.pci_address.unwrap();
        assert_eq!(address.to_string(), "0000:3b:02.1", "{key}");
    }
    for key in MAC_ADDRESS {
        let found = normalised(&[(key, Text("52-54-00-AB-CD-EF".into()))]);
        let (from, address) = found.mac_address.unwrap();
        assert_eq!(
            (from.as_str(), address.to_string().as_str()),
            (key, "52:54:00:ab:cd:ef")
        );
    }
}

#[test]
fn the_standard_key_wins_and_the_other_is_named() {
    let found = normalised(&[
        ("numa", Int(0)),
        ("resource.kubernetes.io/numaNode", Int(1)),
        ("dra.net/numaNode", Int(1)),
    ]);
    assert_eq!(found.host.numa_node.map(NodeId::get), Some(1));
    let [Remark { key, what }] = found.remarks.as_slice() else {
        panic!("{:?}", found.remarks);
    };
    assert_eq!(key, "numa");
    assert_eq!(
        what,
        "this is 0, but resource.kubernetes.io/numaNode is 1, which was taken"
    );
}

#[test]
fn no_affinity_is_a_value_of_the_standard_key() {
    let found = normalised(&[
        ("numa", Int(0)),
        ("resource.kubernetes.io/numaNode", Int(-1)),
    ]);
    assert_eq!(found.host.numa_node, None);
    assert_eq!(found.remarks.len(), 2);
}

#[test]
fn a_value_that_cannot_be_used_gives_way_to_the_next_key() {
    let found = normalised(&[
        ("resource.kubernetes.io/pciBusID", Text("eth0".into())),
        ("pciAddress", Text("0000:3b:02.1".into())),
    ]);
    assert_eq!(found.host.pci_address.unwrap().to_string(), "0000:3b:02.1");
    assert_eq!(
        found.remarks,
        [Remark {
            key: "resource.kubernetes.io/pciBusID".into(),
            what: "left out: \"eth0\" is not a PCI address: domain:bus:slot.function is \
                   expected, like 0000:3b:00.1"
                .into()
        }]
    );
}
