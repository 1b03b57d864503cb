//! CPUs and devices that come and go.

use anyhow::{Result, ensure};
use dra_guest_tests::guest::{Managed, NIC_PCI_ADDRESS};
use dra_guest_tests::wait;
use serde_json::json;

use crate::pinning::{LOOK, NEAR, wait_for, wait_until_spread};
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

/// A vCPU that the machine has room for: a core of a third socket, on node 1, as the topology says.
pub(crate) fn vcpu_is_plugged_in(managed: &mut Managed) -> Result<()> {
    let plug = json!({"execute": "device_add", "arguments": {
        "driver": "max-x86_64-cpu", "id": "late-cpu", "socket-id": 2, "die-id": 0, "module-id": 0, "core-id": 0,
        "thread-id": 0,
    }});
    managed.guest.tell_qemu(&plug)?;
    let online = "/sys/devices/system/cpu/cpu4/online";
    wait::until("the kernel has the CPU", std::time::Duration::from_secs(20), || {
        Ok((managed.guest.run(&format!("test -e {online}"))?.code == 0).then_some(()))
    })
    .map_err(|error| anyhow::anyhow!("{error}: {:?}", managed.guest.run("cat /sys/devices/system/cpu/possible /sys/devices/system/cpu/present; dmesg | grep -iE 'smpboot|cpu.*(plug|acpi)|acpi.*cpu|apic|LNXCPU' | tail -40; ls /sys/bus/acpi/devices | grep -i -E 'cpu|0007' | tr '\\n' ' '; grep . /sys/bus/acpi/devices/ACPI0007*/status /sys/bus/acpi/devices/LNXCPU*/status")))?;
    // Where no rule of udev's does it.
    managed.guest.stdout_of(&format!("echo 1 >{online}"))?;
    let five = follows_the_vcpu(managed);
    managed.guest.stdout_of(&format!("echo 0 >{online}"))?;
    five?;
    wait_until_spread(&mut managed.guest, NIC_PCI_ADDRESS, &NEAR)
}

fn follows_the_vcpu(managed: &mut Managed) -> Result<()> {
    let guest = &mut managed.guest;
    wait_until_spread(guest, NIC_PCI_ADDRESS, &["2", "3", "4"])?;
    let env = guest.stdout_of("dra-guest-agent env --device nic/vf")?;
    ensure!(env.contains("DRA_GUEST_CPUS=2-4\n"), "{env}");
    let near = guest.stdout_of(
        "dra-guest-agent exec --device nic/vf -- grep Cpus_allowed_list /proc/self/status",
    )?;
    ensure!(near == "Cpus_allowed_list:\t2-4\n", "{near}");
    Ok(())
}
