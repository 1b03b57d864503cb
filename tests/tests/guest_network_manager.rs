//! A Debian guest where `NetworkManager` wants the NIC that the attributes name.
#![allow(clippy::indexing_slicing, missing_docs)]

use std::process::ExitCode;

use anyhow::{Context as _, Result, ensure};
use dra_guest_tests::guest::{
    FOREIGN_MAC, LEFT_MAC, Machine, Managed, ManagedOptions, Manager, NIC_PCI_ADDRESS,
    igb_and_left, left_hardware, pinning,
};
use dra_guest_tests::suite::{self, Shared};
use dra_guest_tests::wait;
use dra_guest_tests::way::NIC_MAC;

const POLICY: &str = r#"
[[device]]
mtu = 9000

[[device]]
request = "left"
coexist = "leave"
required = false
mtu = 1450
"#;

fn connection(name: &str, mac: &str, address: &str) -> String {
    format!(
        "[connection]\nid={name}\ntype=ethernet\nautoconnect=true\n\n\
         [ethernet]\nmac-address={mac}\nmtu=1400\n\n[ipv4]\n{address}\n\n[ipv6]\nmethod=disabled\n"
    )
}

static BOOTED: Shared<Managed> = Shared::new(|| {
    Managed::boot(&ManagedOptions {
        machine: Machine::TwoNodes,
        kernel_options: "isolcpus=3",
        name: "guest_network_manager",
        managers: &[Manager::NetworkManager],
        policy: POLICY,
        devices: igb_and_left(),
        hardware: &left_hardware(),
        additions: &[
            // Takes back every `unmanaged-devices` of the files before it, ours among them.
            (
                "etc/NetworkManager/conf.d/95-all.conf",
                "[keyfile]\nunmanaged-devices=none\n".to_owned(),
            ),
            (
                "etc/NetworkManager/system-connections/igb.nmconnection",
                connection("igb", NIC_MAC, "method=auto"),
            ),
            (
                "etc/NetworkManager/system-connections/foreign.nmconnection",
                connection(
                    "foreign",
                    FOREIGN_MAC,
                    "method=manual\naddress1=198.51.100.9/24",
                ),
            ),
            (
                "etc/NetworkManager/system-connections/left.nmconnection",
                connection("left", LEFT_MAC, "method=manual\naddress1=198.51.100.10/24"),
            ),
        ],
    })
});

fn main() -> ExitCode {
    suite::run(
        &BOOTED,
        &[
            ("the_boot_is_clean_and_the_network_online", |booted| {
                booted.expect_online()
            }),
            ("the_nic_stays_as_the_attributes_say", nic_stays),
            ("network_manager_leaves_the_nic", manager_leaves),
            ("a_nic_that_the_policy_leaves_is_left", left),
            ("a_flapping_foe_is_told", foe),
            (
                "a_device_is_handed_over_while_the_manager_runs",
                handed_over_late,
            ),
            ("revert_gives_the_nics_back", reverted),
            // It pins, and takes nothing back.
            ("a_cpu_isolated_at_boot_is_not_taken", isolated),
        ],
    )
}

fn nic_stays(booted: &mut Managed) -> Result<()> {
    booted.let_managers_settle()?;
    booted.expect_shown("net1", &["mtu 9000", NIC_MAC, "192.0.2.5/24"])?;
    let report = booted.device("igb")?;
    ensure!(
        report["reason"] == "Configured" && report["message"] == "",
        "{report}"
    );
    Ok(())
}

/// The NIC is on node 1, whose CPUs are 2 and 3; the kernel was told at boot to leave the latter alone.
fn isolated(booted: &mut Managed) -> Result<()> {
    let guest = &mut booted.guest;
    let isolated = guest.stdout_of("cat /sys/devices/system/cpu/isolated")?;
    ensure!(isolated.trim() == "3", "the kernel has isolated {isolated}");
    guest.stdout_of("systemctl start dra-guest-agent.service")?;
    let allowed = guest.stdout_of(
        "dra-guest-agent exec --device net1 -- grep Cpus_allowed_list /proc/self/status",
    )?;
    ensure!(allowed.trim() == "Cpus_allowed_list:\t2", "{allowed}");
    let env = guest.stdout_of("dra-guest-agent env --device net1")?;
    for line in ["DRA_GUEST_CPUS=2", "DRA_GUEST_ISOLATED_CPUS=3"] {
        ensure!(env.lines().any(|said| said == line), "{line}: {env}");
    }
    pinning::follow(guest, "[[device]]\nrequest = \"igb\"\nirq = \"spread\"\n")?;
    pinning::wait_until_spread(guest, NIC_PCI_ADDRESS, &["2"])
}

fn manager_leaves(booted: &mut Managed) -> Result<()> {
    let list = booted
        .guest
        .stdout_of("nmcli --terse --fields DEVICE,STATE device")?;
    ensure!(list.lines().any(|line| line == "net1:unmanaged"), "{list}");
    let addresses = booted.guest.stdout_of("ip -br address")?;
    ensure!(
        addresses.contains("198.51.100.9/24"),
        "it does nothing at all: {addresses}"
    );
    Ok(())
}

fn left(booted: &mut Managed) -> Result<()> {
    let report = booted.device("left")?;
    ensure!(report["ready"] == false, "{report}");
    let message = report["message"].as_str().unwrap_or_default();
    ensure!(
        message.contains("left to NetworkManager, as the policy says"),
        "{report}"
    );
    let name = report["interfaceName"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    ensure!(name.starts_with("en"), "{report}");
    booted.expect_shown(&name, &["mtu 1400", "198.51.100.10/24"])
}

/// It is one program with a socket of its own, in a service; the agent looks for it out of its unit's sandbox.
fn foe(booted: &mut Managed) -> Result<()> {
    booted.guest.stdout_of(
        "systemd-run --unit=foe.service sh -c \
         'while sleep 0.2; do echo link set dev net1 mtu 1500; done | ip -force -batch -'",
    )?;
    let told = wait::until("the foe is told", wait::PATIENCE, || {
        let report = booted.device("igb")?;
        let message = report["message"].as_str().unwrap_or_default();
        Ok(message.contains("again and again").then_some(report))
    });
    let id = booted.guest.stdout_of("pgrep --exact ip");
    booted.guest.stdout_of("systemctl stop foe.service")?;
    let report = told?;
    let message = report["message"].as_str().unwrap_or_default();
    let (_, who) = message
        .split_once("; the kernel does not say who; it may be ")
        .with_context(|| message.to_owned())?;
    let (named, _) = who
        .rsplit_once(", or one that ends at once")
        .with_context(|| message.to_owned())?;
    let foe = format!("ip (pid {}, foe.service)", id?.trim());
    for named in named.split_inclusive("), ") {
        let named = named.trim_end_matches(", ");
        ensure!(
            named == foe || named.ends_with("NetworkManager.service)"),
            "{named} is named: {message}"
        );
    }
    ensure!(named.contains(&foe), "{message}");
    ensure!(
        message.contains("set the MTU of net1 from 1500 to 9000"),
        "{report}"
    );
    wait::until("the MTU is right again", wait::PATIENCE, || {
        let shown = booted.guest.stdout_of("cat /sys/class/net/net1/mtu")?;
        Ok((shown.trim() == "9000").then_some(()))
    })
}

/// The policy changes its mind: the manager that runs is told, and lets go.
fn handed_over_late(booted: &mut Managed) -> Result<()> {
    booted.guest.stdout_of(
        "sed -i /coexist/d /etc/dra-guest/agent.toml && systemctl restart dra-guest-agent.service",
    )?;
    booted.wait_for("left", "Configured")?;
    let list = booted
        .guest
        .stdout_of("nmcli --terse --fields DEVICE,STATE device")?;
    ensure!(list.lines().any(|line| line == "net2:unmanaged"), "{list}");
    // Whatever it began before it let go is over.
    booted.let_managers_settle()?;
    booted.wait_for_shown("net2", &["mtu 1450", LEFT_MAC])
}

/// `NetworkManager` gets back what it had, and once it starts anew, what it never had.
fn reverted(booted: &mut Managed) -> Result<()> {
    booted
        .guest
        .stdout_of("systemctl stop dra-guest-agent.service && dra-guest-agent revert")?;
    let files = "ls /run/systemd/network /run/NetworkManager/conf.d";
    let files = booted.guest.stdout_of(files)?;
    ensure!(!files.contains("dra-guest"), "{files}");
    come_to(booted, "the left NIC is connected", |list| {
        list.contains("enp0s16:connected")
    })?;
    booted
        .guest
        .stdout_of("systemctl restart NetworkManager.service")?;
    come_to(booted, "every NIC is managed", |list| {
        list.contains("ens1:") && !list.contains("unmanaged")
    })
}

/// The manager connects what it has back in its own time.
fn come_to(booted: &mut Managed, what: &str, is_so: fn(&str) -> bool) -> Result<()> {
    let mut last = String::new();
    let came = wait::until(what, wait::PATIENCE, || {
        let states = "nmcli --terse --fields DEVICE,STATE device";
        last = booted.guest.stdout_of(states)?;
        Ok(is_so(&last).then_some(()))
    });
    came.with_context(|| last)
}
