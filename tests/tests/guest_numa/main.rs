//! A Debian guest with two NUMA nodes: devices on node 1, and what the kernel says of interrupts,
//! queues and memory before and after they are pinned there.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod hot_plug;
mod interrupts;
mod pinning;
mod queues;
mod topology;
mod units;
mod workloads;

use std::process::ExitCode;

use anyhow::Result;
use dra_guest_tests::guest::{Machine, Managed, ManagedOptions};
use dra_guest_tests::suite::{self, Shared};
use dra_guest_tests::way::{NIC_MAC, NIC_NAME};
use serde_json::json;

/// A virtio NIC of no node on the same link as the NIC on node 1: the other end of traffic.
pub const PEER_MAC: &str = "02:00:00:00:00:77";
/// Its name in the document.
pub const PEER_NAME: &str = "net2";
/// An `NVMe` disk on node 1.
pub const NVME_PCI_ADDRESS: &str = "0000:82:00.0";
/// An empty slot on node 1, for what is plugged in.
pub const EMPTY_PORT: &str = "empty-port";
/// Where a NIC that is plugged in there is found, and its MAC address in the document.
pub const LATE_PCI_ADDRESS: &str = "0000:83:00.0";
pub const LATE_MAC: &str = "02:00:00:00:00:83";
/// What it is connected to.
pub const EMPTY_NETDEV: &str = "late";

/// Two nodes of two CPUs each: 0 and 1, 2 and 3. The policy asks for no pins; a check that needs one writes a
/// drop-in and takes it away again.
static GUEST: Shared<Managed> = Shared::new(|| {
    Managed::boot(&ManagedOptions {
        machine: Machine::TwoNodes,
        kernel_options: "",
        name: "guest_numa",
        managers: &[],
        additions: &[],
        policy: "[[device]]\nrequest = \"late\"\nrequired = false\n",
        devices: json!([
            {
                "claim": {"namespace": "default", "name": "vm-nic-7xk2p", "podClaimName": "nic"},
                "request": "vf", "driver": "sriov.example.com", "device": "nic",
                "host": {"numaNode": 0},
                "network": {"interfaceName": NIC_NAME, "macAddress": NIC_MAC, "ipAddresses": ["192.0.2.5/24"]}
            },
            {
                "claim": {"namespace": "default", "name": "vm-disk-b4m9q", "podClaimName": "disk"},
                "request": "nvme", "driver": "nvme.example.com", "device": "nvme",
                "host": {"numaNode": 0}, "guest": {"pciAddress": NVME_PCI_ADDRESS}
            },
            {
                "request": "peer", "driver": "net.example.com", "device": "peer",
                "guest": {"numaNode": 1},
                "network": {"interfaceName": PEER_NAME, "macAddress": PEER_MAC}
            },
            {
                "request": "late", "driver": "net.example.com", "device": "late",
                "network": {"interfaceName": "net3", "macAddress": LATE_MAC}
            }
        ]),
        hardware: &format!(
            "-netdev hubport,id=peer,hubid=1 \
             -device virtio-net-pci,bus=pcie.0,netdev=peer,mac={PEER_MAC},mq=on,vectors=6 \
             -device pcie-root-port,id=nvme-port,bus=pxb,chassis=2,slot=2 \
             -drive if=none,id=nvme,format=raw,file.driver=null-co,file.size=16777216,file.read-zeroes=on \
             -device nvme,bus=nvme-port,drive=nvme,serial=dra-guest \
             -device pcie-root-port,id={EMPTY_PORT},bus=pxb,chassis=3,slot=3 \
             -netdev hubport,id={EMPTY_NETDEV},hubid=3"
        ),
    })
});

fn main() -> ExitCode {
    suite::run(
        &GUEST,
        &[
            ("the_guest_boots_without_a_failed_unit", boots),
            (
                "the_guest_has_what_the_checks_are_about",
                topology::is_there,
            ),
            ("interrupts_are_served_near", interrupts::are_served_near),
            // irqbalance#271, irqbalance#313, irqbalance#336 (case 101).
            ("managed_interrupts_are_left", interrupts::managed_are_left),
            // irqbalance(1) (case 105).
            ("irqbalance_leaves_them_alone", interrupts::irqbalance),
            ("what_others_move_comes_back", interrupts::contested),
            ("a_device_is_plugged_in", hot_plug::plugged_in),
            ("queues_are_those_of_the_node", queues::queues),
            ("what_is_pinned_no_more", queues::no_more),
            ("revert_puts_masks_back", interrupts::revert),
            (
                "revert_puts_back_what_kills_left",
                interrupts::revert_after_kills,
            ),
            (
                "exec_runs_near_the_device",
                workloads::exec_runs_near_the_device,
            ),
            (
                "exit_codes_and_signals_pass",
                workloads::exit_codes_and_signals_pass,
            ),
            ("a_cpuset_is_kept", workloads::a_cpuset_is_kept),
            (
                "cpus_that_are_isolated_are_not_taken",
                workloads::cpus_that_are_isolated_are_not_taken,
            ),
            ("env_binds_a_container", workloads::env_binds_a_container),
            (
                "a_container_may_have_no_memory_policy",
                workloads::a_container_may_have_no_memory_policy,
            ),
            (
                "a_partition_is_left_alone",
                units::a_partition_is_left_alone,
            ),
            // systemd#13248, systemd#14749 (case 106).
            ("pinned_units_run_near_the_device", units::run_near),
            (
                "a_second_pass_changes_no_unit",
                units::a_second_pass_changes_no_unit,
            ),
            (
                "what_is_pinned_no_more_is_free",
                units::what_is_pinned_no_more_is_free,
            ),
            (
                "revert_frees_what_is_pinned",
                units::revert_frees_what_is_pinned,
            ),
        ],
    )
}

fn boots(managed: &mut Managed) -> Result<()> {
    managed.guest.expect_clean_boot(&managed.state)
}
