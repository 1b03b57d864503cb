//! The guest's hardware: that what the other checks are about is there.

use anyhow::{Result, ensure};
use dra_guest_tests::guest::{Managed, NIC_PCI_ADDRESS};

use crate::NVME_PCI_ADDRESS;

pub(crate) fn is_there(managed: &mut Managed) -> Result<()> {
    for (command, expected) in [
        ("cat /sys/devices/system/node/online".to_owned(), "0-1"),
        (
            "cat /sys/devices/system/node/node1/cpulist".to_owned(),
            "2-3",
        ),
        (
            format!("cat /sys/bus/pci/devices/{NIC_PCI_ADDRESS}/numa_node"),
            "1",
        ),
        (
            format!("cat /sys/bus/pci/devices/{NVME_PCI_ADDRESS}/numa_node"),
            "1",
        ),
        (
            format!("basename $(readlink /sys/bus/pci/devices/{NVME_PCI_ADDRESS}/driver)"),
            "nvme",
        ),
        (
            "systemctl is-active irqbalance.service || :".to_owned(),
            "inactive",
        ),
    ] {
        let said = managed.guest.stdout_of(&command)?;
        ensure!(said.trim() == expected, "{command}: {said}");
    }
    Ok(())
}
