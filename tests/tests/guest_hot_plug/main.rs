//! A Debian guest with two NUMA nodes whose CPUs come and go.
//!
//! It is a guest of its own, and what takes a CPU away and brings it back comes last: an emulated guest's kernel may
//! lose the timer of such a CPU ("rcu: Possible timer handling issue"), and whoever sleeps there then sleeps for ever.
//! So neither the agent nor the checks' commands run on those CPUs.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod offline;

use std::process::ExitCode;

use anyhow::Result;
use dra_guest_tests::guest::{Managed, ManagedOptions};
use dra_guest_tests::suite::{self, Shared};
use dra_guest_tests::way::{NIC_MAC, NIC_NAME};
use serde_json::json;

/// Keeps a service on the CPUs that stay. It is no bound: what the service runs may go elsewhere.
const STAYS: &str = "[Service]\nCPUAffinity=0 1\n";

static GUEST: Shared<Managed> = Shared::new(|| {
    let stays = |service: &str| format!("etc/systemd/system/{service}.service.d/10-stays.conf");
    Managed::boot(&ManagedOptions {
        kernel_options: "",
        name: "guest_hot_plug",
        managers: &[],
        additions: &[
            (&stays("dra-guest-agent"), STAYS.to_owned()),
            (&stays("dra-guest-test-console"), STAYS.to_owned()),
        ],
        policy: "[[device]]\nrequest = \"vf\"\nirq = \"spread\"\n",
        devices: json!([
            {
                "claim": {"namespace": "default", "name": "vm-nic-7xk2p", "podClaimName": "nic"},
                "request": "vf", "driver": "sriov.example.com", "device": "nic",
                "network": {"interfaceName": NIC_NAME, "macAddress": NIC_MAC, "ipAddresses": ["192.0.2.5/24"]}
            }
        ]),
        hardware: "",
    })
});

fn main() -> ExitCode {
    suite::run(
        &GUEST,
        &[
            ("the_guest_boots_without_a_failed_unit", boots),
            ("a_cpu_goes_and_comes_back", offline::goes_and_comes_back),
        ],
    )
}

fn boots(managed: &mut Managed) -> Result<()> {
    managed.guest.expect_clean_boot(&managed.state)
}
