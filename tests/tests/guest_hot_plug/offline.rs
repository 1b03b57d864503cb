//! A CPU that is there and is taken offline.

use anyhow::{Result, ensure};
use dra_guest_tests::guest::pinning::wait_until_spread;
use dra_guest_tests::guest::{Managed, NIC_PCI_ADDRESS};

pub(crate) fn goes_and_comes_back(managed: &mut Managed) -> Result<()> {
    let guest = &mut managed.guest;
    let allowed =
        "dra-guest-agent exec --device nic/vf -- grep Cpus_allowed_list /proc/self/status";
    wait_until_spread(guest, NIC_PCI_ADDRESS, &["2", "3"])?;
    guest.stdout_of("echo 0 >/sys/devices/system/cpu/cpu3/online")?;
    wait_until_spread(guest, NIC_PCI_ADDRESS, &["2"])?;
    let near = guest.stdout_of(allowed)?;
    // The kernel keeps what was asked for, should the CPU come again; it runs on those that are there.
    ensure!(
        near.trim() == "Cpus_allowed_list:\t2" || near.trim() == "Cpus_allowed_list:\t2-3",
        "{near}"
    );
    let env = guest.stdout_of("dra-guest-agent env --device nic/vf")?;
    ensure!(env.contains("DRA_GUEST_CPUS=2\n"), "{env}");

    guest.stdout_of("echo 1 >/sys/devices/system/cpu/cpu3/online")?;
    wait_until_spread(guest, NIC_PCI_ADDRESS, &["2", "3"])?;
    let env = guest.stdout_of("dra-guest-agent env --device nic/vf")?;
    ensure!(env.contains("DRA_GUEST_CPUS=2-3\n"), "{env}");
    let near = guest.stdout_of(allowed)?;
    ensure!(near.trim() == "Cpus_allowed_list:\t2-3", "{near}");
    Ok(())
}
