//! A Debian guest where `ifupdown`, which cannot be told to leave a NIC, wants two that the attributes
//! name. It has one NUMA node, where nothing is near or far.
#![allow(clippy::indexing_slicing, missing_docs)]

use std::process::ExitCode;

use anyhow::{Result, ensure};
use dra_guest_tests::guest::{
    FOREIGN_MAC, Machine, Managed, ManagedOptions, Manager, igb_and_left, left_hardware,
};
use dra_guest_tests::suite::{self, Shared};
use dra_guest_tests::way::NIC_MAC;

const POLICY: &str = r#"
[[device]]
mtu = 9000

[[device]]
request = "igb"
irq = "spread"
xps = true
pin = "unit:near.slice"

[[device]]
request = "left"
coexist = "leave"
required = false
"#;

static BOOTED: Shared<Managed> = Shared::new(|| {
    Managed::boot(&ManagedOptions {
        machine: Machine::TwoNodes,
        kernel_options: "numa=off",
        name: "guest_ifupdown",
        managers: &[Manager::Ifupdown],
        policy: POLICY,
        devices: igb_and_left(),
        hardware: &left_hardware(),
        additions: &[(
            "etc/network/interfaces.d/all",
            format!(
                "# The foreign NIC, {FOREIGN_MAC}, is not named.\n\
                 auto net1\niface net1 inet static\n  address 203.0.113.9/24\n  mtu 1400\n\
                 auto enp0s16\niface enp0s16 inet static\n  address 203.0.113.10/24\n"
            ),
        )],
    })
});

fn main() -> ExitCode {
    suite::run(
        &BOOTED,
        &[
            ("the_boot_is_clean_and_the_network_online", |booted| {
                booted.expect_online()
            }),
            ("the_nic_stays_and_its_other_owner_is_told", nic_stays),
            ("a_nic_that_the_policy_leaves_is_left", left),
            ("one_node_is_near_without_a_word", one_node),
        ],
    )
}

fn nic_stays(booted: &mut Managed) -> Result<()> {
    booted.let_managers_settle()?;
    // What it added is not ours to remove; what it changed of ours is put right.
    booted.wait_for_shown(
        "net1",
        &["mtu 9000", NIC_MAC, "192.0.2.5/24", "203.0.113.9/24"],
    )?;
    let report = booted.device("igb")?;
    ensure!(report["reason"] == "Configured", "{report}");
    ensure!(
        report["message"] == "configured by ifupdown (/etc/network/interfaces.d/all) as well",
        "{report}"
    );
    Ok(())
}

fn left(booted: &mut Managed) -> Result<()> {
    booted.expect_shown("enp0s16", &["mtu 1500", "203.0.113.10/24"])?;
    let report = booted.device("left")?;
    ensure!(report["ready"] == false, "{report}");
    ensure!(
        report["message"].as_str().unwrap_or_default()
            == "not as wanted, to do would be: rename enp0s16 to net2, set the MTU of net2 from 1500 \
                to 9000; left to ifupdown (/etc/network/interfaces.d/all), as the policy says",
        "{report}"
    );
    Ok(())
}

fn one_node(booted: &mut Managed) -> Result<()> {
    let report = booted.device("igb")?;
    ensure!(report.get("locality").is_none(), "{report}");
    let guest = &mut booted.guest;
    for (command, expected) in [
        ("cat /sys/devices/system/node/online", "0\n"),
        (
            "dra-guest-agent exec --device net1 --memory bind --strict -- grep allowed_list: /proc/self/status 2>&1",
            "Cpus_allowed_list:\t0-3\nMems_allowed_list:\t0\n",
        ),
        (
            "dra-guest-agent env --device net1 | grep -E 'CPUS|MEMS' || true",
            "",
        ),
        ("ls /run/systemd/system | grep near || true", ""),
        (
            "journalctl --boot --unit=dra-guest-agent.service --output=cat | grep -iE 'numa|near|pinn|interrupt' || true",
            "",
        ),
    ] {
        let said = guest.stdout_of(command)?;
        ensure!(said == expected, "{command}: {said}{report}");
    }
    Ok(())
}
