//! Every order of what may say where a device is, and what a guest may be.

use super::*;
use crate::numa::topology::Node;

fn node(number: i64) -> NodeId {
    NodeId::try_from(number).unwrap()
}

fn cpus(text: &str) -> CpuList {
    text.parse().unwrap()
}

/// A guest of nodes with these CPUs, all online.
fn guest(nodes: &[(i64, &str)]) -> Topology {
    let nodes = nodes.iter().map(|(number, list)| {
        let cpus = cpus(list);
        let has_memory = true;
        (node(*number), Node { cpus, has_memory })
    });
    let nodes: BTreeMap<NodeId, Node> = nodes.collect();
    let all = nodes.values().map(|node| &node.cpus);
    Topology {
        online: all.fold(CpuList::new(), |all, cpus| all.union(cpus)),
        nodes,
        ..Topology::default()
    }
}

fn two_nodes() -> Topology {
    guest(&[(0, "0-1"), (1, "2-3")])
}

/// A kernel that was built without NUMA.
fn without_numa() -> Topology {
    Topology {
        online: cpus("0-3"),
        ..Topology::default()
    }
}

fn map(entries: &[(i64, &str)]) -> HostToGuest {
    let entries = entries.iter();
    HostToGuest {
        policy: entries
            .map(|(host, guest)| (node(*host), guest.parse().unwrap()))
            .collect(),
        aligned: BTreeMap::new(),
    }
}

fn near(nodes: &str, list: &str, by: By) -> Locality {
    Locality::Near(Near {
        nodes: nodes.parse().unwrap(),
        cpus: cpus(list),
        by,
    })
}

#[test]
fn the_first_that_answers_wins() {
    let all = Clues {
        sysfs_node: Some(node(1)),
        guest_node: Some(node(0)),
        local_cpus: Some(cpus("1")),
        aligned_cpus: cpus("0"),
        host_nodes: vec![node(7)],
    };
    let (map, topology) = (map(&[(7, "0")]), two_nodes());
    let judge = |clues: &Clues| locality(clues, &map, &topology).unwrap();
    assert_eq!(judge(&all), near("1", "2-3", By::Sysfs));
    let mut clues = all;
    clues.sysfs_node = None;
    assert_eq!(judge(&clues), near("0", "0-1", By::Document));
    clues.guest_node = None;
    assert_eq!(judge(&clues), near("0", "1", By::LocalCpus));
    // All of them, as a kernel shows them for a device of no node.
    clues.local_cpus = Some(cpus("0-7"));
    assert_eq!(judge(&clues), near("0", "0", By::AlignedCpus));
    clues.aligned_cpus = CpuList::new();
    assert_eq!(judge(&clues), near("0", "0-1", By::HostNode(node(7))));
}

#[test]
fn a_node_of_the_host_says_nothing_without_a_map() {
    let clues = Clues {
        host_nodes: vec![node(1)],
        ..Clues::default()
    };
    let Ok(Locality::Unknown(why)) = locality(&clues, &HostToGuest::default(), &two_nodes()) else {
        panic!("the host's number was used");
    };
    assert_eq!(
        why,
        "it is on NUMA node 1 of the host, which says nothing in the guest without host-to-guest in \
         the policy's [numa] table"
    );
    // Nor with one that does not have it.
    let other = map(&[(0, "1")]);
    assert!(matches!(
        locality(&clues, &other, &two_nodes()),
        Ok(Locality::Unknown(_))
    ));
}

// Mellanox/ngc_multinode_perf#6, dra-driver-sriov 5fa2bec (case 96).
#[test]
fn a_device_of_no_node_is_unknown_and_no_error() {
    let Ok(Locality::Unknown(why)) =
        locality(&Clues::default(), &HostToGuest::default(), &two_nodes())
    else {
        panic!("it has a place");
    };
    assert!(why.starts_with("neither"), "{why}");
    let everywhere = |topology| locality(&Clues::default(), &HostToGuest::default(), topology);
    assert_eq!(everywhere(&without_numa()), Ok(Locality::Everywhere));
}

/// A node without memory goes with its last CPU, and the device's `numa_node` stays.
#[test]
fn a_node_that_went_is_unknown_and_no_error() {
    let clues = Clues {
        sysfs_node: Some(node(4)),
        ..Clues::default()
    };
    let place = locality(&clues, &HostToGuest::default(), &two_nodes());
    let why = "the guest's kernel says NUMA node 4, which is offline: it has NUMA nodes 0-1";
    assert_eq!(place, Ok(Locality::Unknown(why.to_owned())));
}

// NFD#791, fake-gpu-operator#216 (case 97).
#[test]
fn a_node_or_cpu_that_the_guest_does_not_have_is_an_error() {
    let document = |number| Clues {
        guest_node: Some(node(number)),
        ..Clues::default()
    };
    let host = Clues {
        host_nodes: vec![node(0)],
        ..Clues::default()
    };
    let aligned = Clues {
        aligned_cpus: cpus("8-9"),
        ..Clues::default()
    };
    for (clues, topology, words) in [
        (
            document(2),
            two_nodes(),
            "the attributes' guest.numaNode says NUMA node 2, which this guest does not have: it has \
             NUMA nodes 0-1",
        ),
        (
            document(1),
            guest(&[(0, "0-3")]),
            "the attributes' guest.numaNode says NUMA node 1, which this guest does not have: it has \
             NUMA node 0",
        ),
        (
            document(1),
            without_numa(),
            "the attributes' guest.numaNode says NUMA node 1, which this guest does not have: it has \
             NUMA node 0",
        ),
        (
            host,
            two_nodes(),
            "the map of the host's node 0 says NUMA node 5, which this guest does not have: it has \
             NUMA nodes 0-1",
        ),
        (
            aligned,
            two_nodes(),
            "the attribute kubevirt.io/alignedCPUs says CPUs 8-9, which this guest does not have: it \
             has CPUs 0-3",
        ),
    ] {
        let error = locality(&clues, &map(&[(0, "1,5")]), &topology).unwrap_err();
        assert_eq!(error.to_string(), words);
    }
}

// Without KubeVirt VEP 115 a guest has one node (case 99).
#[test]
fn with_one_node_everything_is_near() {
    for topology in [guest(&[(0, "0-3")]), without_numa()] {
        for clues in [
            Clues {
                sysfs_node: Some(node(0)),
                ..Clues::default()
            },
            Clues {
                guest_node: Some(node(0)),
                ..Clues::default()
            },
            Clues {
                host_nodes: vec![node(3)],
                ..Clues::default()
            },
            Clues {
                aligned_cpus: cpus("1"),
                ..Clues::default()
            },
            Clues {
                local_cpus: Some(cpus("0-3")),
                ..Clues::default()
            },
        ] {
            let judged = locality(&clues, &map(&[]), &topology);
            assert_eq!(judged, Ok(Locality::Everywhere), "{clues:?}");
        }
    }
}

#[test]
fn lists_are_honoured_the_node_that_it_is_on_first() {
    let topology = guest(&[(0, "0"), (1, "1"), (2, "2"), (3, "3")]);
    let clues = Clues {
        host_nodes: [5, 4, 6].map(node).to_vec(),
        ..Clues::default()
    };
    let judge = |entries| locality(&clues, &map(entries), &topology).unwrap();
    let by = By::HostNode(node(5));
    assert_eq!(judge(&[(5, "1"), (4, "3")]), near("1,3", "1,3", by));
    assert_eq!(judge(&[(5, "0-1")]), near("0-1", "0-1", by));
    assert!(matches!(judge(&[(4, "3")]), Locality::Unknown(_)));
}

#[test]
fn cpus_that_are_offline_are_not_there_for_now() {
    let mut topology = two_nodes();
    topology.online = cpus("0-2");
    topology.offline = cpus("3");
    let clues = |list| Clues {
        aligned_cpus: cpus(list),
        ..Clues::default()
    };
    let judge = |list| locality(&clues(list), &HostToGuest::default(), &topology).unwrap();
    assert_eq!(judge("2-3"), near("1", "2", By::AlignedCpus));
    assert!(matches!(judge("3"), Locality::Unknown(why) if why.contains("online")));
    let on_node = Clues {
        sysfs_node: Some(node(1)),
        ..Clues::default()
    };
    let judged = locality(&on_node, &HostToGuest::default(), &topology);
    assert_eq!(judged, Ok(near("1", "2", By::Sysfs)));
}

#[test]
fn more_than_a_thousand_cpus_are_as_good_as_four() {
    let topology = guest(&[(0, "0-1023"), (1, "1024-2047")]);
    let clues = Clues {
        sysfs_node: Some(node(1)),
        ..Clues::default()
    };
    let judged = locality(&clues, &HostToGuest::default(), &topology);
    assert_eq!(judged, Ok(near("1", "1024-2047", By::Sysfs)));
}

#[test]
fn kubevirts_words_of_one_device_map_the_others() {
    let text = r#"{"apiVersion":"dra-guest/v1","kind":"DeviceAttributes","devices":[
        {"device":"a","host":{"numaNode":5},"attributes":{"kubevirt.io/alignedCPUs":{"ints":[2,3,-1]}}},
        {"device":"b","host":{"numaNode":5}},
        {"device":"c","host":{"numaNode":6},"attributes":{"resource.kubernetes.io/numaNode":{"ints":[6,5,6]}}}
    ]}"#;
    let document = device_attributes::read::read("d", text.as_bytes())
        .unwrap()
        .document;
    let topology = two_nodes();
    let judge = |policy: &BTreeMap<NodeId, NodeList>, place: usize| {
        let map = HostToGuest::new(policy, &document);
        locality(
            &Clues::of_document(&document.devices[place]),
            &map,
            &topology,
        )
        .unwrap()
    };
    let none = BTreeMap::new();
    assert_eq!(judge(&none, 0), near("1", "2-3", By::AlignedCpus));
    assert_eq!(judge(&none, 1), near("1", "2-3", By::HostNode(node(5))));
    assert!(matches!(judge(&none, 2), Locality::Unknown(_)));
    // The policy knows better.
    let policy = BTreeMap::from([
        (node(5), "0".parse().unwrap()),
        (node(6), "1".parse().unwrap()),
    ]);
    assert_eq!(judge(&policy, 1), near("0", "0-1", By::HostNode(node(5))));
    assert_eq!(judge(&policy, 2), near("0-1", "0-3", By::HostNode(node(6))));
}
