//! What is written for which unit, and what is not.

use crate::numa::topology::Node;
use crate::numa::{By, Partition};

use super::*;

/// Nodes of two CPUs each; the last has no memory.
fn guest(nodes: u32, isolated: &str) -> Topology {
    let node = |node: u32| {
        let cpus = [2 * node, 2 * node + 1].into_iter().collect();
        let has_memory = node + 1 < nodes || nodes < 3;
        let id = i64::from(node).try_into().unwrap();
        (id, Node { cpus, has_memory })
    };
    Topology {
        online: (0..2 * nodes).collect(),
        isolated: isolated.parse().unwrap(),
        nodes: (0..nodes).map(node).collect(),
        ..Topology::default()
    }
}

fn pinned(unit: &str, device: &str, nodes: &str, cpus: &str) -> Pinned {
    Pinned {
        unit: UnitName::new(unit).unwrap(),
        device: device.to_owned(),
        near: Near {
            nodes: nodes.parse().unwrap(),
            cpus: cpus.parse().unwrap(),
            by: By::Sysfs,
        },
    }
}

// systemd#13248, systemd#14749 (case 106).
#[test]
fn a_service_has_its_cpus_and_memory_from_one_look() {
    let (files, troubles) = drop_ins(
        &[pinned("dpdk@.service", "nic/vf", "1", "2-3")],
        &guest(2, ""),
        Bound::Cpuset,
    );
    let [file] = &files[..] else {
        panic!("{files:?}")
    };
    assert_eq!(
        file.path.to_str(),
        Some("systemd/system/dpdk@.service.d/90-dra-guest.conf")
    );
    assert_eq!(
        file.text,
        "# Written by dra-guest-agent: this unit is kept near nic/vf.\n[Service]\n\
         CPUAffinity=\nCPUAffinity=0-3\nAllowedCPUs=\nAllowedCPUs=2-3\nNUMAPolicy=bind\n\
         NUMAMask=\nNUMAMask=1\nAllowedMemoryNodes=\nAllowedMemoryNodes=1\n"
    );
    assert_eq!(troubles, [""; 0]);
}

#[test]
fn a_slice_has_bounds_alone() {
    let (files, _) = drop_ins(
        &[pinned("net.slice", "nic/vf", "1", "2-3")],
        &guest(2, ""),
        Bound::Cpuset,
    );
    assert_eq!(
        files[0].text,
        "# Written by dra-guest-agent: this unit is kept near nic/vf.\n[Slice]\n\
         AllowedCPUs=\nAllowedCPUs=2-3\nAllowedMemoryNodes=\nAllowedMemoryNodes=1\n"
    );
}

#[test]
fn a_unit_of_several_devices_is_near_all_of_them() {
    let pinned = [
        pinned("a.service", "nic/vf", "1", "2-3"),
        pinned("b.service", "disk/nvme", "0", "0-1"),
        pinned("a.service", "disk/nvme", "0", "0-1"),
    ];
    let (files, _) = drop_ins(&pinned, &guest(3, ""), Bound::Cpuset);
    let texts: Vec<&str> = files.iter().map(|file| file.text.as_str()).collect();
    assert_eq!(texts.len(), 2);
    assert!(texts[0].contains("near nic/vf, disk/nvme.\n"), "{texts:?}");
    assert!(texts[0].contains("\nNUMAMask=0-1\n") && texts[0].contains("\nAllowedCPUs=0-3\n"));
    assert!(texts[1].contains("\nNUMAMask=0\n") && texts[1].contains("\nAllowedCPUs=0-1\n"));
}

// One-node guests (case 99).
#[test]
fn with_one_node_nothing_is_written() {
    let pinned = [pinned("a.service", "nic/vf", "0", "0-1")];
    for topology in [guest(1, ""), Topology::default()] {
        assert_eq!(
            drop_ins(&pinned, &topology, Bound::Cpuset),
            (Vec::new(), Vec::new())
        );
    }
}

// NFD#791, fake-gpu-operator#216 (case 97): a unit with such a NUMAMask= would not start.
#[test]
fn what_the_kernel_would_refuse_is_not_written_and_told() {
    let no_memory = [pinned("a.service", "gpu/gpu", "2", "4-5")];
    let (files, troubles) = drop_ins(&no_memory, &guest(3, ""), Bound::Cpuset);
    assert!(!files[0].text.contains("NUMA") && !files[0].text.contains("Memory"));
    assert_eq!(
        troubles,
        ["the memory of a.service is not bound: NUMA node 2 of gpu/gpu has none"]
    );

    let isolated = [pinned("a.service", "nic/vf", "1", "2-3")];
    let (files, troubles) = drop_ins(&isolated, &guest(2, "2-3"), Bound::Cpuset);
    assert!(!files[0].text.contains("CPU") && files[0].text.contains("NUMAMask=1\n"));
    assert!(
        troubles[0].contains("to the CPUs 2-3 of nic/vf: they are isolated"),
        "{troubles:?}"
    );
    let (files, troubles) = drop_ins(&isolated, &guest(2, "3"), Bound::Cpuset);
    assert!(files[0].text.contains("\nAllowedCPUs=2\n"), "{files:?}");
    assert_eq!(troubles, [""; 0]);
}

#[test]
fn a_devices_name_adds_no_line() {
    let pinned = [pinned(
        "a.service",
        "x\n[Service]\nExecStart=/bin/evil",
        "1",
        "2-3",
    )];
    let (files, _) = drop_ins(&pinned, &guest(2, ""), Bound::Cpuset);
    assert!(!files[0].text.contains("\nExecStart"), "{files:?}");
    assert_eq!(files[0].text.matches("[Service]\n").count(), 1);
}

/// Who gives a partition's CPU to another cgroup ends the partition.
#[test]
fn what_a_cgroup_has_for_itself_is_given_to_no_other_unit() {
    let partition = |group: &str, cpus: &str, is_isolated| Partition {
        group: group.into(),
        cpus: cpus.parse().unwrap(),
        is_isolated,
    };
    let guest = Topology {
        partitions: vec![
            partition("alone", "2", true),
            partition("system.slice/own.service", "3", false),
        ],
        ..guest(2, "")
    };
    let cpus = |unit: &str| {
        let (files, troubles) =
            drop_ins(&[pinned(unit, "nic/vf", "1", "2-3")], &guest, Bound::Cpuset);
        let said = files[0]
            .text
            .lines()
            .find_map(|it| it.strip_prefix("AllowedCPUs="));
        let all: Vec<&str> = files[0].text.lines().collect();
        let last = all
            .iter()
            .rev()
            .find_map(|it| it.strip_prefix("AllowedCPUs="));
        (said.and(last).map(str::to_owned), troubles.join("; "))
    };
    let trouble =
        "is not brought to the CPUs 2-3 of nic/vf: a cpuset partition has them for itself";
    assert_eq!(cpus("a.service"), (None, format!("a.service {trouble}")));
    let trouble = "is not brought to the CPUs 2 of nic/vf: a cpuset partition has them for itself";
    let own = (Some("3".to_owned()), format!("own.service {trouble}"));
    assert_eq!(cpus("own.service"), own);
}

#[test]
fn without_a_cpuset_the_affinity_is_the_bound() {
    let pinned = [pinned("a.service", "nic/vf", "1", "2-3")];
    let (files, _) = drop_ins(&pinned, &guest(2, ""), Bound::Affinity);
    let text = &files[0].text;
    assert!(
        text.contains("\nCPUAffinity=2-3\nAllowedCPUs=\nAllowedCPUs=2-3\n"),
        "{text}"
    );
}
