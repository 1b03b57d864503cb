//! The same guest again: killed, restarted, with another document, booted as a clone.

use std::fs;

use anyhow::{Result, ensure};
use dra_guest_tests::wait;
use serde_json::json;

use crate::first::note_cost;
use crate::{Booted, document};

/// Runs a command and gives what the kernel announced of links and addresses meanwhile.
fn announced_during(booted: &mut Booted, command: &str) -> Result<String> {
    booted.guest.stdout_of(&format!(
        "ip monitor link address >/run/announced & monitor=$!; sleep 1; \
         ( {command} ) >/run/said 2>&1 || {{ cat /run/said; exit 1; }}; \
         sleep 1; kill $monitor; cat /run/announced"
    ))
}

const IS_ACTIVE: &str = "for _ in $(seq 200); do systemctl --quiet is-active dra-guest-agent.service && break; sleep 0.1; done";

pub(crate) fn killed(booted: &mut Booted) -> Result<()> {
    let before = booted.nic()?;
    // Longer than RestartSec, and fewer than systemd's five starts in ten seconds.
    let announced = announced_during(
        booted,
        &format!(
            "for _ in 1 2 3; do systemctl kill --signal=KILL dra-guest-agent.service; sleep 3; {IS_ACTIVE}; done; \
             systemctl is-active dra-guest-agent.service"
        ),
    )?;
    ensure!(
        announced.trim().is_empty(),
        "the kernel announced:\n{announced}"
    );
    let restarts = booted
        .guest
        .stdout_of("systemctl show --value --property=NRestarts dra-guest-agent.service")?;
    ensure!(restarts.trim() == "3", "restarts: {restarts}");
    let after = booted.nic()?;
    ensure!(before == after, "{before:?} became {after:?}");
    Ok(())
}

pub(crate) fn restarted(booted: &mut Booted) -> Result<()> {
    let before = booted.nic()?;
    let announced = announced_during(
        booted,
        "systemctl reset-failed dra-guest-agent.service; \
         for _ in 1 2 3 4; do systemctl restart dra-guest-agent.service; done",
    )?;
    ensure!(
        announced.trim().is_empty(),
        "the kernel announced:\n{announced}"
    );
    let after = booted.nic()?;
    ensure!(before == after, "{before:?} became {after:?}");
    Ok(())
}

/// As after a live migration: the target's hook wrote another one into the same share.
pub(crate) fn another_document(booted: &mut Booted) -> Result<()> {
    booted.publish(&document("net2", "192.0.2.6/24"))?;
    wait::until("the other document is in force", wait::PATIENCE, || {
        let (name, addresses) = booted.nic()?;
        Ok((name == "net2" && addresses.contains("192.0.2.6/24")).then_some(()))
    })
}

/// As while a guest is moved, or its node sleeps: nothing of it runs when the document changes.
pub(crate) fn suspended(booted: &mut Booted) -> Result<()> {
    booted.guest.tell_qemu(&json!({"execute": "stop"}))?;
    booted.publish(&document("net4", "192.0.2.8/24"))?;
    booted.guest.tell_qemu(&json!({"execute": "cont"}))?;
    wait::until("the new document is in force", wait::PATIENCE, || {
        let (name, addresses) = booted.nic()?;
        Ok((name == "net4" && addresses.contains("192.0.2.8/24")).then_some(()))
    })
}

/// With the same disk and another document than in the first.
pub(crate) fn second_boot(booted: &mut Booted) -> Result<()> {
    booted.publish(&document("net5", "192.0.2.9/24"))?;
    booted.state = booted.guest.reboot()?;
    let state = booted.state.clone();
    booted.guest.expect_clean_boot(&state)?;
    note_cost(booted)?;
    let now = booted.nic()?;
    // Nothing of what the boot before was told.
    ensure!(
        now == ("net5".to_owned(), "192.0.2.9/24".to_owned()),
        "{now:?}"
    );
    Ok(())
}

/// The document is not there yet when the clone boots.
pub(crate) fn clone_without_document(booted: &mut Booted) -> Result<()> {
    let path = booted.share.join("device-attributes.json");
    fs::remove_file(&path)?;
    let old = booted.guest.stdout_of("cat /etc/machine-id")?;
    booted.guest.stdout_of(
        "rm -f /etc/machine-id /var/lib/dbus/machine-id && : >/etc/machine-id && sync",
    )?;
    booted.state = booted.guest.reboot()?;
    let new = booted.guest.stdout_of("cat /etc/machine-id")?;
    ensure!(old != new, "the machine-id is the same: {new}");
    let state = booted.state.clone();
    booted.guest.expect_clean_boot(&state)?;
    note_cost(booted)?;
    let check = booted.guest.run("dra-guest-agent check")?;
    ensure!(check.code == 4, "{check:?}");
    let status = booted.guest.stdout_of("dra-guest-agent status")?;
    ensure!(status.contains("no device attributes yet"), "{status}");
    // Nothing of the boot before is left.
    let (name, addresses) = booted.nic()?;
    ensure!(
        name.starts_with("en") && addresses.is_empty(),
        "{name} {addresses}"
    );
    Ok(())
}

/// A minute, or an hour: the agent looks every two seconds, for as long as it runs. So the test does not wait longer
/// than for its own look.
pub(crate) fn late_document(booted: &mut Booted) -> Result<()> {
    booted.publish(&document("net3", "192.0.2.7/24"))?;
    wait::until("the late document is in force", wait::PATIENCE, || {
        let (name, addresses) = booted.nic()?;
        Ok((name == "net3" && addresses == "192.0.2.7/24").then_some(()))
    })
}
