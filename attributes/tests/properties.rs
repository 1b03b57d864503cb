//! What holds for every input.
#![allow(clippy::unwrap_used, missing_docs)]

use std::collections::BTreeMap;
use std::fs;

use device_attributes::read::{Form, merge, read};
use device_attributes::{
    AttributeValue, Claim, Device, Document, Guest, Host, InterfaceAddress, InterfaceName,
    MacAddress, Name, Network, NodeId, PciAddress, Pod, limits,
};
use proptest::collection::{btree_map, vec};
use proptest::option::of;
use proptest::prelude::*;

fn name() -> impl Strategy<Value = Name> {
    "[a-zA-Z0-9_./:-]{1,40}".prop_map(|text| text.parse().unwrap())
}

fn pci() -> impl Strategy<Value = PciAddress> {
    (any::<u32>(), any::<u8>(), 0..32_u8, 0..8_u8).prop_map(|(domain, bus, slot, function)| {
        format!("{domain:x}:{bus:x}:{slot:x}.{function}")
            .parse()
            .unwrap()
    })
}

fn mac() -> impl Strategy<Value = MacAddress> {
    any::<[u8; 6]>().prop_map(|mut bytes| {
        // Neither a group's nor zero.
        bytes[0] = bytes[0] & 0xfe | 2;
        MacAddress::from_bytes(bytes).unwrap()
    })
}

fn node() -> impl Strategy<Value = NodeId> {
    (0..1024_i64).prop_map(|number| number.try_into().unwrap())
}

fn address() -> impl Strategy<Value = InterfaceAddress> {
    (any::<std::net::IpAddr>(), 1..=128_u8).prop_map(|(ip, prefix)| {
        // Many are none that an interface can have.
        InterfaceAddress::new(ip, prefix).unwrap_or_else(|_| "192.0.2.5/24".parse().unwrap())
    })
}

fn interface() -> impl Strategy<Value = InterfaceName> {
    "\\PC{1,15}".prop_map(|text| text.parse().unwrap_or_else(|_| "net1".parse().unwrap()))
}

fn value() -> impl Strategy<Value = AttributeValue> {
    use AttributeValue as V;
    prop_oneof![
        any::<i64>().prop_map(V::Int),
        any::<bool>().prop_map(V::Bool),
        any::<String>().prop_map(V::String),
        any::<String>().prop_map(V::Version),
        vec(any::<i64>(), 0..3).prop_map(V::Ints),
        vec(any::<bool>(), 0..3).prop_map(V::Bools),
        vec(any::<String>(), 0..3).prop_map(V::Strings),
        vec(any::<String>(), 0..3).prop_map(V::Versions),
    ]
}

prop_compose! {
    fn claim()(
        namespace in name(), name in name(), uid in of(name()), pod_claim_name in of(name()),
        generation in any::<i64>(),
    ) -> Claim {
        Claim { namespace, name, uid, pod_claim_name, generation }
    }
}

prop_compose! {
    fn device()(
        claim in of(claim()),
        [request, driver, pool, device] in [of(name()), of(name()), of(name()), of(name())],
        [host_pci, guest_pci] in [of(pci()), of(pci())],
        [host_node, guest_node] in [of(node()), of(node())],
        pcie_root in of(name()),
        (interface_name, mac_address) in (of(interface()), of(mac())),
        ip_addresses in vec(address(), 0..4),
        attributes in btree_map(any::<String>(), value(), 0..limits::ATTRIBUTES / 4),
    ) -> Device {
        Device {
            claim, request, driver, pool, device,
            host: Host { pci_address: host_pci, pcie_root, numa_node: host_node },
            guest: Guest { pci_address: guest_pci, numa_node: guest_node },
            network: Network { interface_name, mac_address, ip_addresses },
            attributes,
        }
    }
}

prop_compose! {
    fn document()(
        pod in of((name(), name(), of(name()))),
        devices in vec(device(), 0..4),
    ) -> Document {
        let pod = pod.map(|(namespace, name, uid)| Pod { namespace, name, uid });
        let mut document = Document { pod, devices };
        document.sort();
        document
    }
}

/// JSON of any kind, as deep as it may be and deeper.
fn json() -> impl Strategy<Value = serde_json::Value> {
    use serde_json::Value;
    let keys = prop_oneof![
        Just("apiVersion"),
        Just("kind"),
        Just("metadata"),
        Just("name"),
        Just("namespace"),
        Just("requests"),
        Just("devices"),
        Just("driver"),
        Just("pool"),
        Just("attributes"),
        Just("networkData"),
        Just("ips"),
        Just("int"),
        Just("strings"),
        Just("claim"),
        Just("host"),
        Just("pciAddress"),
        Just("macAddress"),
        Just("numaNode"),
        Just("type"),
        Just("bus"),
        Just("address"),
        Just("other"),
    ];
    let texts = prop_oneof![
        Just("dra-guest/v1".to_owned()),
        Just("DeviceAttributes".to_owned()),
        Just("metadata.resource.k8s.io/v1beta1".to_owned()),
        Just("DeviceMetadata".to_owned()),
        Just("nic".to_owned()),
        Just("pci".to_owned()),
        Just("0000:3b:00.1".to_owned()),
        any::<String>(),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        texts.prop_map(Value::from),
    ];
    leaf.prop_recursive(8, 64, 6, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::from),
            btree_map(keys.clone().prop_map(str::to_owned), inner, 0..8)
                .prop_map(|members: BTreeMap<_, _>| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    // A failure is to become a case in a folder; nothing is kept beside the sources.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_or_refused(bytes in vec(any::<u8>(), 0..512)) {
        let _ = read("f", &bytes);
    }

    #[test]
    fn any_json_is_read_or_refused(value in json()) {
        let _ = read("f", &serde_json::to_vec(&value).unwrap());
    }

    /// And where it is refused, the place is one in the text.
    #[test]
    fn a_case_with_one_byte_changed_is_read_or_refused(
        case in any::<prop::sample::Index>(), place in any::<prop::sample::Index>(), byte in any::<u8>(),
    ) {
        let cases: Vec<_> = ["documents", "streams", "config-drives", "flat"]
            .iter()
            .flat_map(|folder| fs::read_dir(format!("{}/tests/{folder}", env!("CARGO_MANIFEST_DIR"))).unwrap())
            .map(|entry| entry.unwrap().path())
            .collect();
        let mut bytes = fs::read(case.get(&cases)).unwrap();
        if !bytes.is_empty() {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if let Err(error) = read("f", &bytes)
            && let Some(position) = error.position
        {
            let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
            prop_assert!((1..=lines.len()).contains(&position.line), "{error}");
            let width = lines[position.line - 1].len();
            prop_assert!((1..=width + 1).contains(&position.column), "{error}");
        }
    }

    #[test]
    fn what_is_written_is_read_again(document in document()) {
        let bytes = document.to_bytes();
        let reading = read("f", &bytes).unwrap();
        prop_assert_eq!(reading.form, Form::Document);
        prop_assert_eq!(reading.rejected, []);
        prop_assert_eq!(reading.notes, Vec::<String>::new());
        prop_assert_eq!(reading.document.to_bytes(), bytes);
        prop_assert_eq!(reading.document, document);
    }

    #[test]
    fn the_order_of_files_does_not_matter(documents in vec(document(), 0..3)) {
        let readings: Vec<_> = documents.iter().map(|document| read("f", &document.to_bytes()).unwrap()).collect();
        let mut backwards = readings.clone();
        backwards.reverse();
        let mut merged = merge(readings).document;
        let mut other = merge(backwards).document;
        // The first pod is taken, and the first of equal devices.
        merged.pod = None;
        other.pod = None;
        prop_assert_eq!(merged, other);
    }
}
