//! What is near a device changes while the service runs: CPUs come and go, the kernel learns of another node, the
//! document names another.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::guest::Guest;
use crate::namespace::in_namespace;
use crate::service::Service;

const DISK: &str = "0000:82:00.0";

fn write(guest: &Guest, path: &str, text: &str) {
    let path = guest.path("sys").join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A guest whose sysfs has two nodes and a disk of no node.
fn guest(possible: &str) -> Guest {
    let guest = Guest::new();
    for (path, text) in [
        ("node/possible", possible),
        ("node/online", possible),
        ("node/has_memory", "0\n"),
        ("node/node0/cpulist", "0\n"),
        ("node/node1/cpulist", "1-3\n"),
        ("cpu/online", "0-3\n"),
    ] {
        write(&guest, &format!("devices/system/{path}"), text);
    }
    let disk = format!("bus/pci/devices/{DISK}");
    write(&guest, &format!("{disk}/numa_node"), "-1\n");
    symlink(
        "../../../bus/pci/drivers/nvme",
        guest.path("sys").join(disk).join("driver"),
    )
    .unwrap();
    guest
}

fn document(guest: &Guest, node: Option<u32>) {
    let mut disk = json!({
        "claim": {"namespace": "default", "name": "disk"}, "request": "nvme", "driver": "nvme.example.com",
        "guest": {"pciAddress": DISK}
    });
    if let Some(node) = node {
        disk["guest"]["numaNode"] = json!(node);
    }
    guest.document(&json!([disk]));
}

fn start(guest: &Guest) -> Service {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dra-guest-agent"));
    command.arg("--sys-root").arg(guest.path("sys"));
    Service::start_by(guest, command)
}

/// Waits until the file that scripts read has the line, or has no such variable where the value is empty.
fn wait_for_line(guest: &Guest, variable: &str, value: &str) {
    let path = guest.path("run/dra-guest/devices/disk.nvme.env");
    // Twice the half minute between two passes.
    let end = Instant::now() + Duration::from_mins(1);
    loop {
        let text = fs::read_to_string(&path).unwrap_or_default();
        let mut lines = text.lines();
        let said = lines.find_map(|line| line.strip_prefix(variable)?.strip_prefix('='));
        if !text.is_empty() && said.unwrap_or_default() == value {
            return;
        }
        assert!(Instant::now() < end, "{variable} is not {value:?}: {text}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn the_service_follows_cpus_that_come_and_go() {
    in_namespace(|| {
        let guest = guest("0-1\n");
        document(&guest, Some(1));
        let service = start(&guest);
        wait_for_line(&guest, "DRA_GUEST_CPUS", "1-3");
        write(&guest, "devices/system/node/node1/cpulist", "1-2\n");
        write(&guest, "devices/system/cpu/online", "0-2\n");
        wait_for_line(&guest, "DRA_GUEST_CPUS", "1-2");
        // What a partition has is in no status: the file alone says it.
        write(
            &guest,
            "fs/cgroup/alone/cpuset.cpus.partition",
            "isolated\n",
        );
        write(&guest, "fs/cgroup/alone/cpuset.cpus.effective", "2\n");
        write(&guest, "fs/cgroup/cpuset.cpus.effective", "0-1\n");
        wait_for_line(&guest, "DRA_GUEST_ISOLATED_CPUS", "2");
        wait_for_line(&guest, "DRA_GUEST_CPUS", "1");
        // Memory comes to the node.
        wait_for_line(&guest, "DRA_GUEST_MEMS", "");
        write(&guest, "devices/system/node/has_memory", "0-1\n");
        wait_for_line(&guest, "DRA_GUEST_MEMS", "1");
        assert_eq!(service.end(), 0);
    });
}

#[test]
fn the_service_follows_the_node_of_a_device() {
    in_namespace(|| {
        let guest = guest("0-1\n");
        document(&guest, None);
        let service = start(&guest);
        wait_for_line(&guest, "DRA_GUEST_CPUS", "");
        document(&guest, Some(0));
        wait_for_line(&guest, "DRA_GUEST_CPUS", "0");
        document(&guest, Some(1));
        wait_for_line(&guest, "DRA_GUEST_CPUS", "1-3");
        // As root may write it where the firmware says nothing, or another node.
        write(&guest, &format!("bus/pci/devices/{DISK}/numa_node"), "0\n");
        wait_for_line(&guest, "DRA_GUEST_NUMA_NODE", "0");
        wait_for_line(&guest, "DRA_GUEST_CPUS", "0");
        assert_eq!(service.end(), 0);
    });
}
