//! What the checks of pins have in common: the policy, and waiting for what it asks for.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, Result};
use dra_guest_tests::guest::{Guest, Managed, affinities};
use dra_guest_tests::wait;
use serde_json::Value;

pub(crate) const POLICY: &str = "/etc/dra-guest/agent.d/50-pinning.toml";
/// Longer than the half minute between two looks of the service, on a busy machine too.
pub(crate) const LOOK: Duration = Duration::from_mins(2);
/// The CPUs of the node that the devices are on.
pub(crate) const NEAR: [&str; 2] = ["2", "3"];
/// Those of the other.
pub(crate) const FAR: &str = "0-1";

/// Has the service follow a policy.
pub(crate) fn follow(guest: &mut Guest, policy: &str) -> Result<()> {
    guest.stdout_of(&format!(
        "mkdir -p /etc/dra-guest/agent.d && cat >{POLICY} <<'END'\n{policy}END\n\
         dra-guest-agent validate {POLICY} && systemctl reload dra-guest-agent.service"
    ))?;
    Ok(())
}

/// Waits until each of a function's interrupts is served by one of these CPUs, and each of them serves.
pub(crate) fn wait_until_spread(guest: &mut Guest, function: &str, cpus: &[&str]) -> Result<()> {
    wait_until_near(guest, function, cpus, true)
}

pub(crate) fn wait_until_near(
    guest: &mut Guest,
    function: &str,
    cpus: &[&str],
    all: bool,
) -> Result<()> {
    let mut last = BTreeMap::new();
    let came = wait::until("the interrupts are near", LOOK, || {
        last = affinities(guest, function)?;
        let are_near = last.values().all(|served| cpus.contains(&served.as_str()));
        let are_used = cpus
            .iter()
            .all(|cpu| last.values().any(|served| served == cpu));
        Ok((are_near && (are_used || !all)).then_some(()))
    });
    came.with_context(|| format!("{function}: {last:?}"))
}

/// The device's part of the status.
pub(crate) fn pinning(managed: &mut Managed, device: &str) -> Result<Value> {
    Ok(managed.device(device)?["pinning"].clone())
}

/// Waits until a device's report says `reason`.
pub(crate) fn wait_for(managed: &mut Managed, name: &str, reason: &str) -> Result<Value> {
    let mut last = Value::Null;
    let came = wait::until(&format!("{name} becomes {reason}"), LOOK, || {
        last = managed.device(name)?;
        Ok((last["reason"] == reason).then_some(()))
    });
    came.with_context(|| last.to_string())?;
    Ok(last)
}
