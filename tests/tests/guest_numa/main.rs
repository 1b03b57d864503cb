//! A Debian guest with two NUMA nodes: devices on node 1, and what the kernel says of interrupts,
//! queues and memory before and after they are pinned there.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod topology;

use std::process::ExitCode;

use anyhow::Result;
use dra_guest_tests::guest::{Managed, ManagedOptions};
use dra_guest_tests::suite::{self, Shared};
use dra_guest_tests::way::{NIC_MAC, NIC_NAME};
use serde_json::json;

/// A virtio NIC of no node on the same link as the NIC on node 1: the other end of traffic.
pub const PEER_MAC: &str = "02:00:00:00:00:77";
/// An NVMe disk on node 1.
pub const NVME_PCI_ADDRESS: &str = "0000:82:00.0";
/// An empty slot on node 1, for what is plugged in.
pub const EMPTY_PORT: &str = "empty-port";
/// What a NIC that is plugged in there is connected to.
pub const EMPTY_NETDEV: &str = "late";

/// Two nodes of two CPUs each: 0 and 1, 2 and 3. The policy is empty; a check that needs one writes a
/// drop-in and takes it away again.
static GUEST: Shared<Managed> = Shared::new(|| {
    Managed::boot(&ManagedOptions {
        name: "guest_numa",
        managers: &[],
        additions: &[],
        policy: "",
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
        ],
    )
}

fn boots(managed: &mut Managed) -> Result<()> {
    managed.guest.expect_clean_boot(&managed.state)
}
