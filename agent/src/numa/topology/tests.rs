//! Against trees that look like sysfs.

use std::fs;

use tempfile::TempDir;

use super::*;

/// A sysfs with these files below `devices/system`.
pub(super) fn sysfs(files: &[(&str, &str)]) -> TempDir {
    let sys = tempfile::tempdir().unwrap();
    for (path, content) in files {
        let path = sys.path().join("devices/system").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    sys
}

fn node(number: i64) -> NodeId {
    NodeId::try_from(number).unwrap()
}

fn cpus(text: &str) -> CpuList {
    text.parse().unwrap()
}

const TWO_NODES: [(&str, &str); 8] = [
    ("cpu/online", "0-2\n"),
    ("cpu/offline", "3\n"),
    ("cpu/isolated", "\n"),
    ("cpu/nohz_full", " (null)\n"),
    ("node/online", "0-1\n"),
    ("node/has_memory", "0-1\n"),
    ("node/node0/cpulist", "0-1\n"),
    ("node/node1/cpulist", "2\n"),
];

#[test]
fn two_nodes() {
    let sys = sysfs(&TWO_NODES);
    let topology = Topology::read(sys.path());
    assert!(topology.has_distance());
    assert_eq!(topology.online, cpus("0-2"));
    assert_eq!(topology.offline, cpus("3"));
    assert!(topology.isolated.is_empty() && topology.without_tick.is_empty());
    assert_eq!(topology.cpus_of(&"1".parse().unwrap()), cpus("2"));
    assert_eq!(topology.cpus_of(&"0-1,7".parse().unwrap()), cpus("0-2"));
    assert_eq!(topology.nodes_of(&cpus("1,2")).to_string(), "0-1");
    assert_eq!(topology.nodes_of(&cpus("3")).to_string(), "");
    assert_eq!(topology.nodes_with_memory().to_string(), "0-1");
}

#[test]
fn a_node_may_have_no_memory_or_no_cpus() {
    let sys = sysfs(&[
        ("cpu/online", "0-3\n"),
        ("node/online", "0,2-3\n"),
        ("node/has_memory", "0,3\n"),
        ("node/node0/cpulist", "0-1\n"),
        ("node/node2/cpulist", "2-3\n"),
        ("node/node3/cpulist", "\n"),
    ]);
    let topology = Topology::read(sys.path());
    assert_eq!(topology.online_nodes().to_string(), "0,2-3");
    assert_eq!(topology.nodes_with_memory().to_string(), "0,3");
    assert!(!topology.nodes[&node(2)].has_memory);
    assert!(topology.nodes[&node(3)].cpus.is_empty());
}

#[test]
fn siblings_may_be_numbered_apart_and_nodes_be_offline() {
    let sys = sysfs(&[
        // Threads of one core have numbers half of all apart, and node 1 may come.
        ("cpu/online", "0-2,4-7\n"),
        ("cpu/offline", "3\n"),
        ("node/possible", "0-4\n"),
        ("node/online", "0,4\n"),
        ("node/has_memory", "0,4\n"),
        ("node/node0/cpulist", "0-1,4-5\n"),
        ("node/node1/cpulist", "\n"),
        ("node/node4/cpulist", "2,6-7\n"),
    ]);
    let topology = Topology::read(sys.path());
    assert_eq!(topology.online_nodes().to_string(), "0,4");
    assert_eq!(topology.cpus_of(&"4".parse().unwrap()), cpus("2,6-7"));
    assert_eq!(topology.cpus_of(&"1-3".parse().unwrap()), cpus(""));
    assert_eq!(topology.nodes_of(&cpus("5-6")).to_string(), "0,4");
}

#[test]
fn one_node_has_no_distance() {
    let sys = sysfs(&[
        ("cpu/online", "0-1\n"),
        ("node/online", "0\n"),
        ("node/has_memory", "0\n"),
        ("node/node0/cpulist", "0-1\n"),
    ]);
    let topology = Topology::read(sys.path());
    assert!(!topology.has_distance());
    assert_eq!(topology.online_nodes().to_string(), "0");
}

#[test]
fn a_kernel_without_numa_has_cpus_and_no_nodes() {
    let sys = sysfs(&[("cpu/online", "0-3\n")]);
    let topology = Topology::read(sys.path());
    assert_eq!(topology.online, cpus("0-3"));
    assert!(topology.nodes.is_empty() && !topology.has_distance());
    assert_eq!(
        Topology::read(Path::new("/nonexistent")),
        Topology::default()
    );
}

#[test]
fn there_may_be_more_cpus_than_64_and_than_1024() {
    let sys = sysfs(&[
        ("cpu/online", "0-2047\n"),
        ("cpu/isolated", "1030-1039\n"),
        ("cpu/nohz_full", "1030-1039\n"),
        ("node/online", "0-1\n"),
        ("node/has_memory", "0-1\n"),
        ("node/node0/cpulist", "0-511,1024-1535\n"),
        ("node/node1/cpulist", "512-1023,1536-2047\n"),
    ]);
    let topology = Topology::read(sys.path());
    let near = topology.cpus_of(&"1".parse().unwrap());
    assert_eq!(near.len(), 1024);
    assert_eq!(near.to_string(), "512-1023,1536-2047");
    assert_eq!(topology.without_tick.len(), 10);
}

#[test]
fn what_is_no_list_is_not_known() {
    let sys = sysfs(&[
        ("cpu/online", "\u{fffd}"),
        ("node/online", "0-1\n"),
        ("node/has_memory", "all"),
        ("node/node0/cpulist", "0-1"),
    ]);
    let topology = Topology::read(sys.path());
    assert!(topology.online.is_empty());
    assert_eq!(topology.cpus_of(&"0".parse().unwrap()), cpus("0-1"));
    assert_eq!(topology.nodes_with_memory().to_string(), "0-1");
    assert!(topology.nodes[&node(1)].cpus.is_empty());
}
