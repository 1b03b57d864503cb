//! A Debian guest where `ifupdown`, which cannot be told to leave a NIC, wants two that the attributes
//! name. It has one NUMA node, where nothing is near or far, and a NIC of the old kind that is down while
//! it gets a MAC address.
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

/// The NIC whose driver refuses another MAC address while it is up (`eth_mac_addr` in `net/ethernet/eth.c`).
const OLD_MAC: &str = "02:00:00:00:00:a1";
/// What it is to have.
const GIVEN_MAC: &str = "02:00:00:00:00:a2";

static BOOTED: Shared<Managed> = Shared::new(|| {
    Managed::boot(&ManagedOptions {
        machine: Machine::TwoNodes,
        kernel_options: "numa=off",
        name: "guest_ifupdown",
        managers: &[Manager::Ifupdown],
        policy: POLICY,
        devices: igb_and_left(),
        hardware: &format!(
            "{} -netdev hubport,id=old,hubid=4 -device pcnet,bus=pcie.0,addr=0x11,netdev=old,mac={OLD_MAC}",
            left_hardware()
        ),
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
            ("what_is_on_a_nic_that_goes_down_comes_back", down),
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

/// VLANs go down with it and come up with it; IPv6 addresses and routes are lost on the way.
fn down(booted: &mut Managed) -> Result<()> {
    const ROOTS: &str = "--run-root /run/old --etc-root /run/old";
    let guest = &mut booted.guest;
    guest.stdout_of(&format!(
        "mkdir -p /run/old/dra-guest && cd /run/old && \
         printf '[[device]]\\nset-mac = true\\n' >dra-guest/agent.toml && \
         old=$(basename /sys/bus/pci/devices/0000:00:11.0/net/*) && \
         echo '{{\"apiVersion\": \"dra-guest/v1\", \"kind\": \"DeviceAttributes\", \"devices\": [{{\"device\": \"old\", \
           \"guest\": {{\"pciAddress\": \"0000:00:11.0\"}}, \"network\": {{\"macAddress\": \"{GIVEN_MAC}\"}}}}]}}' >document.json && \
         ip link set $old name old0 && ip link set old0 up && \
         ip address add 198.51.100.1/24 dev old0 && ip address add 2001:db8:7::1/64 dev old0 nodad && \
         ip route add 203.0.113.64/26 via 198.51.100.9 dev old0 metric 7 && \
         for id in 5 6 7; do ip link add link old0 name old0.$id type vlan id $id; done && \
         ip link set old0.5 up && ip link set old0.6 up && \
         ip link add link old0.6 name old0.6.8 type vlan id 8 && ip link set old0.6.8 up && \
         ip address add 2001:db8:5::1/64 dev old0.5 nodad && ip address add 10.5.0.1/24 dev old0.5 && \
         ip route add 10.99.0.0/16 via 10.5.0.9 dev old0.5 && \
         ip -6 route add 2001:db8:99::/64 via 2001:db8:5::9 dev old0.5 metric 9 && \
         ip address add 2001:db8:8::1/64 dev old0.6.8 nodad && ip link set old0.7 address 02:00:00:00:00:77"
    ))?;
    let refused = guest.run(&format!("ip link set old0 address {GIVEN_MAC}"))?;
    ensure!(
        refused.code != 0,
        "its driver lets a MAC be set while it is up"
    );
    // Not those of the link itself, which are made of its MAC address.
    let look = "sleep 3; for d in old0 old0.5 old0.6 old0.6.8 old0.7; do \
                echo $d $(($(cat /sys/class/net/$d/flags) & 1)); ip -o address show dev $d scope global | sort; \
                ip route show table all dev $d | grep -v fe80 | sort; \
                ip -6 route show table all dev $d | grep -v fe80 | sort; done | sed 's/^[0-9]*: //'";
    let before = guest.stdout_of(look)?;
    for part in [
        "old0.7 0",
        "2001:db8:99::/64",
        "10.99.0.0/16",
        "2001:db8:8::1/64",
    ] {
        ensure!(before.contains(part), "{part} is not in\n{before}");
    }
    guest.stdout_of(&format!(
        "dra-guest-agent apply --attributes /run/old/document.json {ROOTS}"
    ))?;
    let now = guest.stdout_of("cat /sys/class/net/old0/address")?;
    ensure!(now.trim() == GIVEN_MAC, "{now}");
    let after = guest.stdout_of(look)?;
    ensure!(after == before, "{after}\nwas\n{before}");
    guest.stdout_of(&format!("dra-guest-agent revert {ROOTS}"))?;
    let now = guest.stdout_of("cat /sys/class/net/old0/address")?;
    ensure!(now.trim() == OLD_MAC, "{now}");
    let reverted = guest.stdout_of(look)?;
    ensure!(reverted == before, "{reverted}\nwas\n{before}");
    guest
        .stdout_of("for d in old0.6.8 old0.5 old0.6 old0.7; do ip link delete $d; done")
        .map(drop)
}
