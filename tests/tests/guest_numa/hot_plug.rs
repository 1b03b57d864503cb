//! CPUs and devices that come and go.

use anyhow::Result;
use dra_guest_tests::guest::{Managed, NIC_PCI_ADDRESS};
use serde_json::json;

use crate::pinning::{NEAR, wait_for, wait_until_spread};
use crate::{EMPTY_NETDEV, EMPTY_PORT, LATE_MAC, LATE_PCI_ADDRESS};

pub(crate) fn cpus_come_and_go(managed: &mut Managed) -> Result<()> {
    let cpu3 = "/sys/devices/system/cpu/cpu3/online";
    managed.guest.stdout_of(&format!("echo 0 >{cpu3}"))?;
    let gone = wait_until_spread(&mut managed.guest, NIC_PCI_ADDRESS, &NEAR[..1]);
    managed.guest.stdout_of(&format!("echo 1 >{cpu3}"))?;
    gone?;
    wait_until_spread(&mut managed.guest, NIC_PCI_ADDRESS, &NEAR)
}

pub(crate) fn plugged_in(managed: &mut Managed) -> Result<()> {
    let plug = json!({"execute": "device_add", "arguments": {
        "driver": "igb", "id": "late-nic", "bus": EMPTY_PORT, "netdev": EMPTY_NETDEV, "mac": LATE_MAC,
    }});
    managed.guest.tell_qemu(&plug)?;
    wait_for(managed, "late", "Configured")?;
    wait_until_spread(&mut managed.guest, LATE_PCI_ADDRESS, &NEAR)?;
    let unplug = json!({"execute": "device_del", "arguments": {"id": "late-nic"}});
    managed.guest.tell_qemu(&unplug)?;
    wait_for(managed, "late", "DeviceNotFound")?;
    Ok(())
}
