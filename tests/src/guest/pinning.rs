//! A policy that pins, and waiting for what it asks for.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::{Guest, Managed, affinities};
use crate::wait;

/// A drop-in of the policy.
pub const POLICY: &str = "/etc/dra-guest/agent.d/50-pinning.toml";
/// Longer than the half minute between two looks of the service, on a busy machine too.
pub const LOOK: Duration = Duration::from_mins(2);

/// Has the service follow a policy.
///
/// # Errors
/// When the policy has a mistake, or the service does not run.
pub fn follow(guest: &mut Guest, policy: &str) -> Result<()> {
    guest.stdout_of(&format!(
        "mkdir -p /etc/dra-guest/agent.d && cat >{POLICY} <<'END'\n{policy}END\n\
         dra-guest-agent validate {POLICY} && systemctl reload dra-guest-agent.service"
    ))?;
    Ok(())
}

/// Waits until each of a function's interrupts is served by one of these CPUs, and each of them serves.
///
/// # Errors
/// With who serves them, when it does not come within [`LOOK`].
pub fn wait_until_spread(guest: &mut Guest, function: &str, cpus: &[&str]) -> Result<()> {
    wait_until_near(guest, function, cpus, true)
}

/// Waits until each of a function's interrupts is served by one of these CPUs; `all`: and each of them serves.
///
/// # Errors
/// As [`wait_until_spread`].
pub fn wait_until_near(guest: &mut Guest, function: &str, cpus: &[&str], all: bool) -> Result<()> {
    let mut last = BTreeMap::new();
    let came = wait::until("the interrupts are near", LOOK, || {
        last = affinities(guest, function)?;
        let are_near = last.values().all(|served| cpus.contains(&served.as_str()));
        let are_used = cpus
            .iter()
            .all(|cpu| last.values().any(|served| served == cpu));
        Ok((!last.is_empty() && are_near && (are_used || !all)).then_some(()))
    });
    came.with_context(|| format!("{function}: {last:?}"))
}

/// The pins of a device in the agent's status; null where it has none.
///
/// # Errors
/// When there is no status or no such device.
pub fn pinning(managed: &mut Managed, device: &str) -> Result<Value> {
    let report = managed.device(device)?;
    Ok(report.get("pinning").cloned().unwrap_or_default())
}

/// Waits until a device's report says `reason`.
///
/// # Errors
/// With the report, when it does not within [`LOOK`].
pub fn wait_for(managed: &mut Managed, name: &str, reason: &str) -> Result<Value> {
    let mut last = Value::Null;
    let came = wait::until(&format!("{name} becomes {reason}"), LOOK, || {
        last = managed.device(name)?;
        let is_so = last.get("reason").is_some_and(|said| said == reason);
        Ok(is_so.then_some(()))
    });
    came.with_context(|| last.to_string())?;
    Ok(last)
}
