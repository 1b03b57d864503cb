//! Queues of a NIC, as many as its node has CPUs.

use anyhow::{Result, ensure};
use dra_guest_tests::guest::pinning::{LOOK, follow, wait_for, wait_until_spread};
use dra_guest_tests::guest::{Managed, NIC_PCI_ADDRESS, affinities, function_of};
use dra_guest_tests::wait;
use dra_guest_tests::way::NIC_NAME;

use crate::PEER_NAME;
use crate::pinning::{FAR, NEAR};

pub(crate) fn queues(managed: &mut Managed) -> Result<()> {
    follow(
        &mut managed.guest,
        "[[device]]\nrequest = \"vf\"\nirq = \"spread\"\nqueues = \"node\"\nxps = true\nrps = true\n\
         rfs = 1024\n",
    )?;
    let report = wait_for(managed, "nic", "ConfigurationFailed")?;
    let message = report["message"].as_str().unwrap_or_default();
    ensure!(
        message.contains("net.core.rps_sock_flow_entries is 0"),
        "{report}"
    );
    managed
        .guest
        .stdout_of("echo 32768 >/proc/sys/net/core/rps_sock_flow_entries")?;
    wait_for(managed, "nic", "Configured")?;
    let directory = format!("/sys/class/net/{NIC_NAME}/queues");
    for (command, expected) in [
        (
            format!("ls {directory} | tr '\\n' ' '"),
            "rx-0 rx-1 tx-0 tx-1",
        ),
        (
            format!("sort {directory}/tx-*/xps_cpus | tr '\\n' ' '"),
            "4 8",
        ),
        (
            format!("cat {directory}/rx-*/rps_cpus | tr '\\n' ' '"),
            "c c",
        ),
        (
            format!("cat {directory}/rx-*/rps_flow_cnt | tr '\\n' ' '"),
            "1024 1024",
        ),
    ] {
        let said = managed.guest.stdout_of(&command)?;
        ensure!(said.trim() == expected, "{command}: {said}");
    }
    wait_until_spread(&mut managed.guest, NIC_PCI_ADDRESS, &NEAR)?;
    // The policy speaks of this device alone now.
    let peer = function_of(&mut managed.guest, PEER_NAME)?;
    let free = affinities(&mut managed.guest, &peer)?;
    ensure!(free.values().all(|cpus| cpus == FAR), "{free:?}");
    // The link comes back, and the address never went.
    let shown = managed
        .guest
        .stdout_of(&format!("ip address show dev {NIC_NAME}"))?;
    ensure!(
        shown.contains("192.0.2.5/24") && shown.contains(",UP"),
        "{shown}"
    );
    Ok(())
}

pub(crate) fn no_more(managed: &mut Managed) -> Result<()> {
    follow(
        &mut managed.guest,
        "[[device]]\nrequest = \"vf\"\nirq = \"spread\"\n",
    )?;
    let directory = format!("/sys/class/net/{NIC_NAME}/queues");
    wait::until("the queues are as before", LOOK, || {
        let shown = managed.guest.stdout_of(&format!(
            "ls {directory} | wc -l; cat {directory}/rx-*/rps_cpus {directory}/tx-*/xps_cpus {directory}/rx-*/rps_flow_cnt | sort -u"
        ))?;
        Ok((shown == "8\n0\n").then_some(()))
    })?;
    wait_until_spread(&mut managed.guest, NIC_PCI_ADDRESS, &NEAR)
}
