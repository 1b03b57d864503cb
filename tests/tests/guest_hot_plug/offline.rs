//! A CPU that is there and is taken offline.

use anyhow::{Result, ensure};
use dra_guest_tests::guest::pinning::{follow, wait_until_spread};
use dra_guest_tests::guest::{Managed, NIC_PCI_ADDRESS};

use crate::POLICY;
use crate::near::{env, exec, expect_uncontested, wait_for_file};

pub(crate) fn goes_and_comes_back(managed: &mut Managed) -> Result<()> {
    let online = "/sys/devices/system/cpu/cpu3/online";
    follow(&mut managed.guest, POLICY)?;
    wait_until_spread(&mut managed.guest, NIC_PCI_ADDRESS, &["2", "3"])?;
    managed.guest.stdout_of(&format!("echo 0 >{online}"))?;
    wait_until_spread(&mut managed.guest, NIC_PCI_ADDRESS, &["2"])?;
    wait_for_file(managed, "nic.vf", "2")?;
    ensure!(env(&mut managed.guest, "nic/vf")? == ["1", "2", "1"]);
    // The kernel keeps what was asked for, should the CPU come again; it runs on those that are there.
    let near = exec(&mut managed.guest, "nic/vf")?;
    ensure!(near == "2" || near == "2-3", "{near}");

    managed.guest.stdout_of(&format!("echo 1 >{online}"))?;
    wait_until_spread(&mut managed.guest, NIC_PCI_ADDRESS, &["2", "3"])?;
    wait_for_file(managed, "nic.vf", "2-3")?;
    ensure!(env(&mut managed.guest, "nic/vf")? == ["1", "2-3", "1"]);
    ensure!(exec(&mut managed.guest, "nic/vf")? == "2-3");
    expect_uncontested(managed, "nic")
}
