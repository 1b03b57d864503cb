//! A device that comes and goes. CPUs do in `guest_hot_plug`.

use anyhow::Result;
use dra_guest_tests::guest::Managed;
use dra_guest_tests::guest::pinning::{wait_for, wait_until_spread};
use serde_json::json;

use crate::pinning::NEAR;
use crate::{EMPTY_NETDEV, EMPTY_PORT, LATE_MAC, LATE_PCI_ADDRESS};

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
