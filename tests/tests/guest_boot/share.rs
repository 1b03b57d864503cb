//! The program that serves the VM mount is gone, and the guest's reads of it get no answer.

use anyhow::{Result, ensure};
use dra_guest_tests::wait;

use crate::Booted;

const SILENT: &str = "the share does not answer";

/// What was applied stays, probes are answered, and the status says why nothing new comes.
pub(crate) fn dead(booted: &mut Booted) -> Result<()> {
    let before = booted.nic()?;
    booted.guest.kill_share();
    wait_until_silent(booted)?;
    let after = booted.nic()?;
    ensure!(before == after, "{before:?} became {after:?}");
    // Probes read the status, not the share.
    let check = booted.guest.run("dra-guest-agent check")?;
    ensure!(check.code == 3, "{check:?}");
    let status = booted.guest.stdout_of("dra-guest-agent status")?;
    ensure!(status.contains("net3"), "{status}");
    Ok(())
}

/// The service follows the kernel and its policy as before, by the last document.
pub(crate) fn followed(booted: &mut Booted) -> Result<()> {
    let before = booted.nic()?;
    booted.guest.stdout_of(
        "systemctl reload dra-guest-agent.service && ip address flush dev net3 scope global",
    )?;
    wait::until("the address is back", wait::PATIENCE, || {
        Ok((booted.nic()? == before).then_some(()))
    })
}

/// A read that gets no answer outlives the kill of its process (Linux, `fs/fuse/dev.c`): systemd gives up waiting,
/// and so a shutdown does. The next agent is no worse off.
pub(crate) fn stop(booted: &mut Booted) -> Result<()> {
    let before = booted.nic()?;
    booted
        .guest
        .stdout_of("timeout 50 systemctl stop dra-guest-agent.service")?;
    let state = booted
        .guest
        .stdout_of("systemctl show --value --property=MainPID dra-guest-agent.service")?;
    ensure!(state.trim() == "0", "it still runs: {state}");
    booted
        .guest
        .stdout_of("rm /run/dra-guest/status.json && systemctl start dra-guest-agent.service")?;
    wait_until_silent(booted)?;
    let after = booted.nic()?;
    ensure!(before == after, "{before:?} became {after:?}");
    Ok(())
}

fn wait_until_silent(booted: &mut Booted) -> Result<()> {
    wait::until(
        "the status says that the share is dead",
        wait::PATIENCE,
        || {
            let status = booted.guest.run("dra-guest-agent status")?;
            Ok(status.stdout.contains(SILENT).then_some(()))
        },
    )
}
