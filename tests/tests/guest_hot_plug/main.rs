//! A Debian guest whose nodes have CPUs, memory, both or neither, and whose CPUs come and go: plugged in and out by
//! the hypervisor, taken offline by the kernel.
//!
//! It is a guest of its own, and what takes away a CPU that it booted with comes last: an emulated guest's kernel may
//! lose the timer of such a CPU when it comes back ("rcu: Possible timer handling issue"), and whoever sleeps there
//! then sleeps for ever. So neither the agent nor the checks' commands run on those CPUs.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod kinds_of_nodes;
mod near;
mod offline;
mod plugged_in;

use std::process::ExitCode;

use anyhow::Result;
use dra_guest_tests::guest::{GROWING_PCI_ADDRESSES, Machine, Managed, ManagedOptions};
use dra_guest_tests::suite::{self, Shared};
use dra_guest_tests::way::{NIC_MAC, NIC_NAME};
use serde_json::json;

/// Keeps a service on the CPUs that stay. It is no bound: what the service runs may go elsewhere.
const STAYS: &str = "[Service]\nCPUAffinity=0 1\n";

/// What runs near the NIC on node 1: a service, and an instance of a template.
const APP: &str = "[Service]\nExecStart=/usr/bin/sleep infinity\n";
/// From the first check on that needs it: a boot has enough to do.
const POLICY: &str = "[[device]]\nirq = \"spread\"\n\
                      [[device]]\nrequest = \"vf\"\nqueues = \"node\"\nxps = true\n\
                      pin = [\"unit:app.service\", \"unit:near@.service\"]\n";

/// The MAC addresses of the NICs on nodes 2 and 3.
const MEMORY_MAC: &str = "02:00:00:00:00:92";
const LATER_MAC: &str = "02:00:00:00:00:93";

static GUEST: Shared<Managed> = Shared::new(|| {
    let stays = |service: &str| format!("etc/systemd/system/{service}.service.d/10-stays.conf");
    let [_, _, _, disk] = GROWING_PCI_ADDRESSES;
    Managed::boot(&ManagedOptions {
        machine: Machine::Growing,
        kernel_options: "",
        name: "guest_hot_plug",
        managers: &[],
        additions: &[
            (&stays("dra-guest-agent"), STAYS.to_owned()),
            (&stays("dra-guest-test-console"), STAYS.to_owned()),
            ("etc/systemd/system/app.service", APP.to_owned()),
            ("etc/systemd/system/near@.service", APP.to_owned()),
        ],
        policy: "",
        devices: json!([
            {
                "claim": {"namespace": "default", "name": "vm-nic-7xk2p", "podClaimName": "nic"},
                "request": "vf", "driver": "sriov.example.com", "device": "nic",
                "network": {"interfaceName": NIC_NAME, "macAddress": NIC_MAC, "ipAddresses": ["192.0.2.5/24"]}
            },
            {
                "request": "memory", "driver": "net.example.com", "device": "memory",
                "network": {"interfaceName": "net2", "macAddress": MEMORY_MAC}
            },
            {
                "request": "later", "driver": "net.example.com", "device": "later",
                "network": {"interfaceName": "net3", "macAddress": LATER_MAC}
            },
            {
                "request": "disk", "driver": "nvme.example.com", "device": "disk",
                "guest": {"pciAddress": disk}
            }
        ]),
        hardware: &format!(
            "-netdev hubport,id=memory,hubid=4 -device igb,bus=node-2,netdev=memory,mac={MEMORY_MAC} \
             -netdev hubport,id=later,hubid=5 -device igb,bus=node-3,netdev=later,mac={LATER_MAC} \
             -drive if=none,id=nvme,format=raw,file.driver=null-co,file.size=16777216,file.read-zeroes=on \
             -device nvme,bus=node-4,drive=nvme,serial=dra-guest,max_ioqpairs=4"
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
                kinds_of_nodes::are_there,
            ),
            (
                "a_node_may_have_no_cpus_or_no_memory",
                kinds_of_nodes::without_cpus_or_memory,
            ),
            ("a_cpu_is_plugged_in", plugged_in::into_a_node_with_cpus),
            (
                "a_node_without_cpus_gets_one",
                plugged_in::into_a_node_without_cpus,
            ),
            (
                "a_node_comes_with_its_first_cpu",
                plugged_in::into_a_node_that_is_not_there,
            ),
            ("a_cpu_goes_and_comes_back", offline::goes_and_comes_back),
        ],
    )
}

fn boots(managed: &mut Managed) -> Result<()> {
    managed.guest.expect_clean_boot(&managed.state)
}
