//! The program that serves the VM mount is gone, and the guest's reads of it get no answer.

use anyhow::{Result, ensure};

use crate::Booted;

pub(crate) fn dead(booted: &mut Booted) -> Result<()> {
    let before = booted.nic()?;
    booted.guest.kill_share();
    // Longer than the agent's look at the file.
    booted.guest.stdout_of("sleep 5")?;
    let after = booted.nic()?;
    ensure!(before == after, "{before:?} became {after:?}");
    // Probes read the status, not the share.
    let check = booted.guest.run("dra-guest-agent check")?;
    ensure!(check.code == 3, "{check:?}");
    let status = booted.guest.stdout_of("dra-guest-agent status")?;
    ensure!(status.contains("net3"), "{status}");
    Ok(())
}

/// A read that gets no answer ends with the kill of the process: a shutdown does not wait for it.
pub(crate) fn stop(booted: &mut Booted) -> Result<()> {
    let before = booted.nic()?;
    booted
        .guest
        .stdout_of("timeout 50 systemctl stop dra-guest-agent.service")?;
    let state = booted
        .guest
        .stdout_of("systemctl show --value --property=MainPID dra-guest-agent.service")?;
    ensure!(state.trim() == "0", "it still runs: {state}");
    let after = booted.nic()?;
    ensure!(before == after, "{before:?} became {after:?}");
    Ok(())
}
