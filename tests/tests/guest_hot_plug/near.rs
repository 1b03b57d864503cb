//! What is near a device, by the agent's commands and by the kernel.

use anyhow::{Context as _, Result, ensure};
use dra_guest_tests::guest::pinning::LOOK;
use dra_guest_tests::guest::{Guest, Managed};
use dra_guest_tests::wait;
use serde_json::Value;

/// The variables of `env` that say what is near a device: its node, the CPUs and the nodes with memory; empty where
/// there are none.
pub(crate) fn env(guest: &mut Guest, device: &str) -> Result<[String; 3]> {
    let said = guest.stdout_of(&format!("dra-guest-agent env --device {device}"))?;
    let value = |name: &str| {
        let mut lines = said.lines();
        let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        value.unwrap_or_default().to_owned()
    };
    Ok(["NUMA_NODE", "CPUS", "MEMS"].map(|name| value(&format!("DRA_GUEST_{name}"))))
}

/// The CPUs that the kernel lets a command run on that `exec` runs.
pub(crate) fn exec(guest: &mut Guest, device: &str) -> Result<String> {
    let said = guest.stdout_of(&format!(
        "dra-guest-agent exec --device {device} -- grep Cpus_allowed_list /proc/self/status"
    ))?;
    let cpus = said.trim().strip_prefix("Cpus_allowed_list:\t");
    Ok(cpus.with_context(|| said.clone())?.to_owned())
}

/// Waits until the service has written that a device is near these CPUs, in the file that scripts read.
pub(crate) fn wait_for_file(managed: &mut Managed, file: &str, cpus: &str) -> Result<()> {
    let path = format!("/run/dra-guest/devices/{file}.env");
    let mut last = String::new();
    wait::until(&format!("{path} says {cpus:?}"), LOOK, || {
        last = managed.guest.stdout_of(&format!("cat {path}"))?;
        let mut lines = last.lines();
        let said = lines.find_map(|line| line.strip_prefix("DRA_GUEST_CPUS="));
        Ok((said.unwrap_or_default() == cpus).then_some(()))
    })
    .context(last)
}

/// Waits until the kernel lets a unit's process run on these CPUs.
pub(crate) fn wait_for_unit(guest: &mut Guest, unit: &str, cpus: &str) -> Result<()> {
    let mut last = String::new();
    wait::until(&format!("{unit} runs on {cpus}"), LOOK, || {
        last = guest.stdout_of(&format!(
            "sed -n 's/^Cpus_allowed_list:.//p' /proc/$(systemctl show --property=MainPID --value {unit})/status"
        ))?;
        Ok((last.trim() == cpus).then_some(()))
    })
    .context(last)
}

/// Holds that nobody is said to have moved the pins: CPUs came and went.
pub(crate) fn expect_uncontested(managed: &mut Managed, device: &str) -> Result<()> {
    let report = managed.device(device)?;
    ensure!(report["pinning"].get("contested").is_none(), "{report}");
    ensure!(report["ready"] == true, "{report}");
    Ok(())
}

/// Waits until the message of a device that is ready has these words: a pass may have begun before a CPU went.
pub(crate) fn wait_for_message(managed: &mut Managed, device: &str, words: &[&str]) -> Result<()> {
    let mut last = Value::Null;
    wait::until(&format!("{device} says {words:?}"), LOOK, || {
        last = managed.device(device)?;
        let message = last["message"].as_str().unwrap_or_default();
        let is_so = last["ready"] == true && words.iter().all(|words| message.contains(words));
        Ok(is_so.then_some(()))
    })
    .with_context(|| last.to_string())
}
