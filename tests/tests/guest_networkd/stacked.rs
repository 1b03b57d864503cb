//! What is made of NICs: a bond, a VLAN. It has the MAC of what it is made of, and is not that.

use anyhow::{Result, ensure};
use dra_guest_tests::guest::Managed;
use dra_guest_tests::way::NIC_MAC;

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
    // The ports have their own MTU again.
    booted.wait_for("igb", "Configured")?;
    booted.wait_for("e1000e", "Configured")?;
    booted.wait_for_shown("net1", &["mtu 9000", NIC_MAC, "192.0.2.5/24"])
}

/// With `none` both ports have the bond's MAC address, with the others one or none of them.
fn bond_with(booted: &mut Managed, whose_mac: &str) -> Result<()> {
    // A port joins while it is down, and the agent would set it up. To a bond without a MAC address udev
    // gives one.
    booted.guest.stdout_of(&format!(
        "systemctl stop dra-guest-agent.service && \
         ip link add bond0 address {NIC_MAC} type bond mode active-backup miimon 100 fail_over_mac {whose_mac} && \
         for port in net1 net2; do ip link set $port down && ip link set $port master bond0 || exit; done && \
         ip link set bond0 up && systemctl start dra-guest-agent.service"
    ))?;
    // The ports have the MTU of the bond, and it is the bond's to say.
    for (device, port) in [("igb", "net1"), ("e1000e", "net2")] {
        let report = booted.wait_for(device, "ConfigurationFailed")?;
        ensure!(report["interfaceName"] == port, "{whose_mac}: {report}");
        let message = report["message"].as_str().unwrap_or_default();
        ensure!(
            message.contains("is a port of bond0, whose MTU of 1500 its ports share"),
            "{whose_mac}: {report}"
        );
    }
    booted.guest.stdout_of("ip link set bond0 mtu 9000")?;
    for (device, port) in [("igb", "net1"), ("e1000e", "net2")] {
        let report = booted.wait_for(device, "Configured")?;
        ensure!(report["interfaceName"] == port, "{whose_mac}: {report}");
    }
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
    booted.guest.stdout_of("ip link delete bond0").map(|_| ())
}
