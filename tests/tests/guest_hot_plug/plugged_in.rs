//! CPUs that the hypervisor plugs in and takes out again.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, ensure};
use dra_guest_tests::guest::pinning::{LOOK, follow, wait_until_spread};
use dra_guest_tests::guest::{GROWING_PCI_ADDRESSES, Managed, NIC_PCI_ADDRESS};
use dra_guest_tests::wait;
use dra_guest_tests::way::NIC_NAME;

use crate::POLICY;
use crate::near::{env, exec, expect_uncontested, wait_for_file, wait_for_message, wait_for_unit};

/// The units that are pinned to the NIC, and run.
const UNITS: [&str; 2] = ["app.service", "near@x.service"];

/// Everything that is pinned to the NIC on node 1 is on these CPUs.
fn expect_all_near(managed: &mut Managed, cpus: &[&str], list: &str) -> Result<()> {
    wait_until_spread(&mut managed.guest, NIC_PCI_ADDRESS, cpus)?;
    wait_for_file(managed, "nic.vf", list)?;
    let guest = &mut managed.guest;
    for unit in UNITS {
        wait_for_unit(guest, unit, list)?;
    }
    ensure!(exec(guest, "nic/vf")? == list);
    ensure!(env(guest, "nic/vf")? == ["1", list, "1"]);
    let masks = cpus.iter().map(|cpu| Ok(1 << cpu.parse::<u32>()?));
    let masks: BTreeSet<u128> = masks.collect::<Result<_>>()?;
    let mut last = String::new();
    let what = "a queue for each, and each sends by its own";
    let come = wait::until(what, LOOK, || {
        let shown = guest.stdout_of(&format!(
            "cat /sys/class/net/{NIC_NAME}/queues/tx-*/xps_cpus"
        ))?;
        last.clone_from(&shown);
        // Words of 32 bits, the highest first.
        let shown = shown
            .lines()
            .map(|line| Ok(u128::from_str_radix(&line.replace(',', ""), 16)?));
        let shown: Vec<u128> = shown.collect::<Result<_>>()?;
        let is_so =
            shown.len() == cpus.len() && shown.into_iter().collect::<BTreeSet<_>>() == masks;
        Ok(is_so.then_some(()))
    });
    let report = managed.device("nic")?;
    come.with_context(|| format!("{last}{report}"))?;
    expect_uncontested(managed, "nic")
}

pub(crate) fn into_a_node_with_cpus(managed: &mut Managed) -> Result<()> {
    follow(&mut managed.guest, POLICY)?;
    managed
        .guest
        .stdout_of(&format!("systemctl start {}", UNITS.join(" ")))?;
    expect_all_near(managed, &["2", "3"], "2-3")?;
    let cpu = managed.guest.plug_cpu(1)?;
    // Beyond the first word of the kernel's masks.
    ensure!(cpu == "79", "{cpu}");
    expect_all_near(managed, &["2", "3", &cpu], &format!("2-3,{cpu}"))?;
    managed.guest.unplug_cpu(1)?;
    expect_all_near(managed, &["2", "3"], "2-3")?;
    managed
        .guest
        .stdout_of(&format!("systemctl stop {}", UNITS.join(" ")))
        .map(drop)
}

pub(crate) fn into_a_node_without_cpus(managed: &mut Managed) -> Result<()> {
    let [_, address, ..] = GROWING_PCI_ADDRESSES;
    follow(&mut managed.guest, POLICY)?;
    let cpu = managed.guest.plug_cpu(2)?;
    wait_until_spread(&mut managed.guest, address, &[&cpu])?;
    wait_for_file(managed, "-.memory", &cpu)?;
    let guest = &mut managed.guest;
    ensure!(env(guest, "memory")? == ["2", &cpu, "2"]);
    ensure!(exec(guest, "memory")? == cpu);
    expect_uncontested(managed, "memory")?;
    managed.guest.unplug_cpu(2)?;
    wait_for_file(managed, "-.memory", "")?;
    let why = "nothing of it is pinned: the node has no CPU that is online";
    wait_for_message(managed, "memory", &[why])
}

/// And the device's node is known when it is there: the kernel takes no other.
pub(crate) fn into_a_node_that_is_not_there(managed: &mut Managed) -> Result<()> {
    let [_, _, address, _] = GROWING_PCI_ADDRESSES;
    let node = format!("/sys/bus/pci/devices/{address}/numa_node");
    let guest = &mut managed.guest;
    follow(guest, POLICY)?;
    ensure!(guest.run(&format!("echo 3 >{node}"))?.code != 0);
    let cpu = guest.plug_cpu(3)?;
    let online = guest.stdout_of("cat /sys/devices/system/node/online")?;
    ensure!(online == "0-4\n", "{online}");
    guest.stdout_of(&format!("echo 3 >{node}"))?;
    wait_until_spread(guest, address, &[&cpu])?;
    wait_for_file(managed, "-.later", &cpu)?;
    let guest = &mut managed.guest;
    ensure!(env(guest, "later")? == ["3", &cpu, ""]);
    ensure!(exec(guest, "later")? == cpu);

    // It goes with its only CPU, and the device stays where it is.
    guest.unplug_cpu(3)?;
    wait_for_file(managed, "-.later", "")?;
    wait_for_message(managed, "later", &["NUMA node 3", "0-2,4"])?;
    let elsewhere = managed
        .guest
        .stdout_of("dra-guest-agent exec --device later -- true 2>&1; echo exit code $?")?;
    ensure!(elsewhere.ends_with("exit code 0\n"), "{elsewhere}");
    managed.guest.stdout_of(&format!("echo -1 >{node}"))?;
    Ok(())
}
