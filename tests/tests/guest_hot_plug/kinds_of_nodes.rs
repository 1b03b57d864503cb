//! Nodes with CPUs, memory, both or neither, and numbers with a gap.

use anyhow::{Result, ensure};
use dra_guest_tests::guest::pinning::{follow, wait_until_spread};
use dra_guest_tests::guest::{GROWING_PCI_ADDRESSES, Managed, NIC_PCI_ADDRESS};

use crate::POLICY;
use crate::near::{env, exec, wait_for_message};

pub(crate) fn are_there(managed: &mut Managed) -> Result<()> {
    let [_, memory, later, disk] = GROWING_PCI_ADDRESSES;
    let node = |address: &str| format!("cat /sys/bus/pci/devices/{address}/numa_node");
    for (command, expected) in [
        (
            "cd /sys/devices/system/node; cat possible online has_cpu has_memory | tr '\\n' ' '"
                .to_owned(),
            "0-4 0-2,4 0-1,4 0-2",
        ),
        ("cat /sys/devices/system/cpu/online".to_owned(), "0-4"),
        (node(NIC_PCI_ADDRESS), "1"),
        (node(memory), "2"),
        // A node that is not there is none to the kernel.
        (node(later), "-1"),
        (node(disk), "4"),
        (
            "dmesg | grep -o 'Allowing .* CPUs'".to_owned(),
            "Allowing 5 present CPUs plus 75 hotplug CPUs",
        ),
    ] {
        let said = managed.guest.stdout_of(&command)?;
        ensure!(said.trim() == expected, "{command}: {said}");
    }
    Ok(())
}

pub(crate) fn without_cpus_or_memory(managed: &mut Managed) -> Result<()> {
    let guest = &mut managed.guest;
    follow(guest, POLICY)?;
    wait_until_spread(guest, NIC_PCI_ADDRESS, &["2", "3"])?;
    ensure!(env(guest, "nic/vf")? == ["1", "2-3", "1"]);
    ensure!(env(guest, "memory")? == ["2", "", "2"]);
    ensure!(env(guest, "disk")? == ["4", "4", ""]);
    ensure!(env(guest, "later")? == ["", "", ""]);
    ensure!(exec(guest, "disk")? == "4");
    // The console keeps its commands on these two, and nothing is nearer.
    ensure!(exec(guest, "memory")? == "0-1");

    let said = "2>&1; echo exit code $?";
    let policy = "sed -n 's/^[0-9a-f]* \\([^ ]*\\) stack .*/\\1/p' /proc/self/numa_maps";
    let exec = |options: &str, command: &str| {
        format!("dra-guest-agent exec --device {options} -- {command} {said}")
    };
    for (command, lines) in [
        (
            exec("memory --memory bind", policy),
            &[
                "NUMA node 2 has no CPUs: it runs on any",
                "bind:2",
                "code 0",
            ][..],
        ),
        (exec("memory --strict", "true"), &["no CPUs", "code 1"]),
        (
            exec("disk", policy),
            &["NUMA node 4 has no memory", "default", "code 0"],
        ),
        (
            exec("disk --memory bind", "true"),
            &["memory cannot be bound to NUMA node 4", "code 1"],
        ),
        (exec("later", "true"), &["it runs on any CPU", "code 0"]),
    ] {
        let said = guest.stdout_of(&command)?;
        for line in lines {
            ensure!(said.contains(line), "{command}: {line}: {said}");
        }
    }
    let why = "nothing of it is pinned: the node has no CPU that is online";
    wait_for_message(managed, "memory", &[why])
}
