//! What is made of NICs, a bond or a VLAN, which has the MAC of what it is made of and is not that; and a VRF, whose
//! members NICs become.

use anyhow::{Context as _, Result, ensure};
use dra_guest_tests::guest::Managed;
use dra_guest_tests::wait;
use dra_guest_tests::way::NIC_MAC;
use serde_json::Value;

use super::E1000E_MAC;

pub(crate) fn vlan(booted: &mut Managed) -> Result<()> {
    booted.guest.stdout_of(
        "modprobe 8021q && ip link add link net2 name net2.7 type vlan id 7 && ip link set net2.7 up",
    )?;
    booted.expect_shown("net2.7", &[E1000E_MAC, "mtu 9000"])?;
    // Its MTU cannot be more than that of the NIC, and shrinks with it. Both are set without the agent,
    // which would be between.
    booted.guest.stdout_of(
        "systemctl stop dra-guest-agent.service && ip link set net2 mtu 9100 && \
         ip link set net2.7 mtu 9100 && systemctl start dra-guest-agent.service",
    )?;
    booted.wait_for_shown("net2", &["mtu 9000", "192.0.2.6/24"])?;
    booted.wait_for_shown("net2.7", &["mtu 9000"])?;
    let report = booted.wait_for("e1000e", "Configured")?;
    ensure!(report["interfaceName"] == "net2", "{report}");
    booted.guest.stdout_of("ip link delete net2.7").map(|_| ())
}

pub(crate) fn bond(booted: &mut Managed) -> Result<()> {
    booted.guest.stdout_of("modprobe bonding max_bonds=0")?;
    for whose_mac in ["none", "active", "follow"] {
        bond_with(booted, whose_mac)?;
    }
    Ok(())
}

/// With `none` both ports have the bond's MAC address, with the others one or none of them.
fn bond_with(booted: &mut Managed, whose_mac: &str) -> Result<()> {
    // To a bond without a MAC address udev gives one. A port joins while it is down, in two steps, and the agent does not
    // set it up between them; where this machine takes seconds between two commands, it does.
    booted.guest.stdout_of(&format!(
        "ip link add bond0 address {NIC_MAC} type bond mode active-backup miimon 100 fail_over_mac {whose_mac} && \
         for port in net1 net2; do for time in 1 2 3; do \
         ip link set $port down && ip link set $port master bond0 && break; done || exit; done && \
         ip link set bond0 up"
    ))?;
    // The ports have the MTU of the bond, and it is the bond's to say.
    for (device, port) in [("igb", "net1"), ("e1000e", "net2")] {
        let words = "is a port of bond0, whose MTU of 1500 its ports share";
        let report = wait_for_words(booted, device, words)?;
        ensure!(report["interfaceName"] == port, "{whose_mac}: {report}");
        ensure!(report["ready"] == false, "{whose_mac}: {report}");
    }
    booted.guest.stdout_of("ip link set bond0 mtu 9000")?;
    // What is sent from the addresses of a port leaves by the bond.
    let words = "net1 is a port of bond0, which takes all that it receives and is to have in its place: \
                 the route 198.18.7.0/24 via 192.0.2.1, source routing";
    let report = wait_for_words(booted, "igb", words)?;
    ensure!(report["interfaceName"] == "net1", "{whose_mac}: {report}");
    let report = booted.wait_for("e1000e", "Configured")?;
    ensure!(report["interfaceName"] == "net2", "{whose_mac}: {report}");
    booted.expect_shown("bond0", &["mtu 9000", NIC_MAC])?;
    let second = if whose_mac == "none" {
        NIC_MAC
    } else {
        E1000E_MAC
    };
    booted.expect_shown(
        "net2",
        &["mtu 9000", &format!("link/ether {second}"), "192.0.2.6/24"],
    )?;
    // With the address on the port too, the guest would answer past the bond.
    booted
        .guest
        .stdout_of("ip address add 192.0.2.6/24 dev bond0")?;
    let report = wait_for_words(
        booted,
        "e1000e",
        "net2 is a port of bond0: 192.0.2.6/24 is on bond0",
    )?;
    ensure!(report["ready"] == true, "{whose_mac}: {report}");
    let left = booted.guest.stdout_of("ip -4 address show dev net2")?;
    ensure!(left.is_empty(), "{whose_mac}: {left}");
    booted.guest.stdout_of("ip link delete bond0")?;
    // On their own again they have what is theirs, the MTU too.
    booted.wait_for_shown("net1", &["mtu 9000", NIC_MAC, ",UP", "192.0.2.5/24"])?;
    booted.wait_for_shown("net2", &["mtu 9000", E1000E_MAC, ",UP", "192.0.2.6/24"])?;
    booted.wait_for("igb", "Configured")?;
    booted.wait_for("e1000e", "Configured").map(|_| ())
}

/// Joining takes the IPv6 addresses and the routes from it; they are put where the VRF looks.
pub(crate) fn vrf(booted: &mut Managed) -> Result<()> {
    booted.guest.stdout_of(
        "modprobe vrf && ip link add red type vrf table 777 && ip link set red up && \
         for member in net1 net3; do ip link set $member master red || exit; done",
    )?;
    let route = "198.18.7.0/24 via 192.0.2.1 dev net1 proto 218";
    wait_for_listed(booted, "ip route show table 777", route)?;
    booted.wait_for_shown("net3", &["mtu 1480", "master red", "2001:db8::7/64"])?;
    for device in ["igb", "virtio"] {
        let report = booted.wait_for(device, "Configured")?;
        ensure!(report["message"] == "", "{report}");
    }
    // Traffic of the others would leave by the VRF, or that of the VRF by a table of the agent's.
    let main = booted.guest.stdout_of("ip route; ip rule")?;
    ensure!(
        !main.contains("198.18.7.0/24") && !main.contains("10739:"),
        "{main}"
    );
    booted.guest.stdout_of("ip link delete red")?;
    wait_for_listed(booted, "ip route", route)?;
    wait_for_listed(booted, "ip rule", "from 192.0.2.5 lookup 10739")?;
    booted.wait_for_shown("net3", &["mtu 1480", "2001:db8::7/64"])?;
    booted.wait_for("igb", "Configured").map(|_| ())
}

fn wait_for_listed(booted: &mut Managed, list: &str, words: &str) -> Result<()> {
    let mut last = String::new();
    let come = wait::until(words, wait::PATIENCE, || {
        last = booted.guest.stdout_of(list)?;
        Ok(last.contains(words).then_some(()))
    });
    come.with_context(|| last)
}

fn wait_for_words(booted: &mut Managed, device: &str, words: &str) -> Result<Value> {
    let mut last = Value::Null;
    let come = wait::until(words, wait::PATIENCE, || {
        last = booted.device(device)?;
        let message = last["message"].as_str().unwrap_or_default();
        Ok(message.contains(words).then_some(()))
    });
    come.with_context(|| last.to_string())?;
    Ok(last)
}
