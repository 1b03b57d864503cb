//! The VM mount: read-only, mounted late, mounted elsewhere; and the program that serves it is gone, so that the guest's
//! reads of it get no answer.

use anyhow::{Result, ensure};
use dra_guest_tests::wait;

use crate::{Booted, document};

/// A guest cannot change what its node says.
pub(crate) fn read_only(booted: &mut Booted) -> Result<()> {
    let options = booted
        .guest
        .stdout_of("findmnt --noheadings --output OPTIONS /run/kubevirt")?;
    for option in ["ro", "nosuid", "nodev", "noexec"] {
        let mut options = options.trim().split(',');
        ensure!(options.any(|it| it == option), "no {option}");
    }
    let written = booted
        .guest
        .run("echo {} >/run/kubevirt/device-attributes.json")?;
    ensure!(
        written.code != 0 && written.stderr.contains("Read-only file system"),
        "{written:?}"
    );
    Ok(())
}

/// The mount reaches the service, which runs in a mount namespace of its own, and so does its end.
pub(crate) fn mounted_late(booted: &mut Booted) -> Result<()> {
    let before = booted.nic()?;
    booted
        .guest
        .stdout_of("systemctl stop run-kubevirt.mount && ! mountpoint /run/kubevirt")?;
    booted.publish(&document("net6", "192.0.2.10/24"))?;
    // Longer than the two seconds between two looks.
    let after = booted.guest.stdout_of("sleep 5; ls /run/kubevirt")?;
    ensure!(after.trim().is_empty(), "{after}");
    let meanwhile = booted.nic()?;
    ensure!(before == meanwhile, "{before:?} became {meanwhile:?}");
    booted
        .guest
        .stdout_of("systemctl start run-kubevirt.mount && mountpoint /run/kubevirt")?;
    wait::until("the document is in force", wait::PATIENCE, || {
        let (name, addresses) = booted.nic()?;
        Ok((name == "net6" && addresses.contains("192.0.2.10/24")).then_some(()))
    })
}

/// A mount of an image's owner: no unit of ours knows of it, and `plan` reads what it is pointed at.
pub(crate) fn elsewhere(booted: &mut Booted) -> Result<()> {
    let plan = booted.guest.run(
        "mkdir -p /mnt/elsewhere && mount -t virtiofs -o ro device-attributes /mnt/elsewhere && \
         dra-guest-agent plan --attributes /mnt/elsewhere/device-attributes.json; \
         code=$?; umount /mnt/elsewhere; exit $code",
    )?;
    // The other device is not there.
    ensure!(
        plan.code == 3 && plan.stdout.starts_with("nothing to change"),
        "{plan:?}"
    );
    Ok(())
}

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

/// What reads the share says that it does not answer, and what does not read it does not wait for it. Who reads what a
/// command says has its end, too.
pub(crate) fn short_commands(booted: &mut Booted) -> Result<()> {
    let path = "/run/kubevirt/device-attributes.json";
    for command in [
        "plan",
        "plan --json",
        "apply",
        "apply --wait 3",
        &format!("validate {path}"),
        "plan --attributes /var/run/kubevirt/device-attributes.json",
        "plan --attributes /var/run/kubevirt",
    ] {
        let ended = booted
            .guest
            .run(&format!("dra-guest-agent {command} 2>&1 | cat"))?;
        ensure!(
            ended.stdout.contains("server does not answer") && ended.stdout.contains("kubevirt"),
            "{command}: {ended:?}"
        );
    }
    let plan = booted.guest.run("dra-guest-agent plan")?;
    ensure!(plan.code == 1 && plan.stdout.is_empty(), "{plan:?}");
    for (command, code) in [
        ("status", 0),
        ("check", 3),
        ("inspect", 0),
        ("env --device net3", 0),
        ("exec --device net3 -- true", 0),
        ("revert --dry-run", 0),
    ] {
        let ended = booted.guest.run(&format!("dra-guest-agent {command}"))?;
        ensure!(ended.code == code, "{command}: {ended:?}");
    }
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
