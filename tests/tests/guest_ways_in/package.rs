//! The Debian package on a guest that runs: what dpkg's scripts do to the service, and to the network: nothing.

use anyhow::{Result, ensure};
use dra_guest_tests::wait;

use crate::Told;

const PROCESS: &str = "systemctl show --value --property=MainPID dra-guest-agent.service";

/// What the kernel says of the NIC, without what counts time.
fn nic(told: &mut Told) -> Result<String> {
    told.guest
        .stdout_of("ip -d link show dev net1 && ip -o address show dev net1 scope global")
}

fn wait_until_ready(told: &mut Told) -> Result<()> {
    wait::until("the agent is ready", wait::PATIENCE, || {
        let check = told.guest.run("dra-guest-agent check")?;
        Ok((check.code == 0).then_some(()))
    })
}

/// The image had the agent's files without a package; the package's take their place.
pub(crate) fn installed(told: &mut Told) -> Result<()> {
    let before = nic(told)?;
    told.guest.stdout_of(
        "systemctl stop dra-guest-agent.service && dpkg --install /root/first.deb 2>&1",
    )?;
    wait_until_ready(told)?;
    let active = told
        .guest
        .stdout_of("systemctl is-active dra-guest-agent.service")?;
    ensure!(active.trim() == "active", "{active}");
    let after = nic(told)?;
    ensure!(before == after, "{before}\nbecame\n{after}");
    Ok(())
}

pub(crate) fn upgraded(told: &mut Told) -> Result<()> {
    let (before, process) = (nic(told)?, told.guest.stdout_of(PROCESS)?);
    let announced = told.guest.stdout_of(
        "ip monitor link address route >/run/announced & monitor=$!; sleep 1; \
         dpkg --install /root/later.deb >/run/said 2>&1 || { cat /run/said; exit 1; }; \
         sleep 2; kill $monitor; cat /run/announced",
    )?;
    ensure!(
        announced.trim().is_empty(),
        "the kernel announced:\n{announced}"
    );
    let now = told.guest.stdout_of(PROCESS)?;
    ensure!(process != now, "the process is the same: {now}");
    wait_until_ready(told)?;
    let after = nic(told)?;
    ensure!(before == after, "{before}\nbecame\n{after}");
    Ok(())
}

pub(crate) fn removed(told: &mut Told) -> Result<()> {
    let before = nic(told)?;
    told.guest.stdout_of("dpkg --remove dra-guest-agent 2>&1")?;
    let after = nic(told)?;
    ensure!(before == after, "{before}\nbecame\n{after}");
    let running = told
        .guest
        .run("pgrep -f bin/dra-guest-agent || ls /proc/[0-9]*/exe -l | grep dra-guest-agent")?;
    ensure!(running.stdout.trim().is_empty(), "{running:?}");
    let failed = told
        .guest
        .stdout_of("systemctl --failed --plain --no-legend")?;
    ensure!(failed.trim().is_empty(), "{failed}");
    Ok(())
}

pub(crate) fn put_back(told: &mut Told) -> Result<()> {
    told.guest
        .stdout_of("dpkg --install /root/later.deb 2>&1")?;
    wait_until_ready(told)?;
    let active = told
        .guest
        .stdout_of("systemctl is-active dra-guest-agent.service")?;
    ensure!(active.trim() == "active", "{active}");
    // One that the administrator stopped stays so in an upgrade.
    told.guest.stdout_of(
        "systemctl stop dra-guest-agent.service && dpkg --install /root/first.deb 2>&1",
    )?;
    let active = told
        .guest
        .run("systemctl is-active dra-guest-agent.service")?;
    ensure!(active.stdout.trim() == "inactive", "{active:?}");
    Ok(())
}

pub(crate) fn purged(told: &mut Told) -> Result<()> {
    let before = nic(told)?;
    told.guest.stdout_of("dpkg --purge dra-guest-agent 2>&1")?;
    let left = told.guest.stdout_of(
        "find /etc /run -name '*dra-guest*' ! -path '*dra?guest*test*' 2>/dev/null || true",
    )?;
    ensure!(left.trim().is_empty(), "{left}");
    let after = nic(told)?;
    ensure!(before == after, "{before}\nbecame\n{after}");
    Ok(())
}
