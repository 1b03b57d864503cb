//! The first boot: what it waits for, and what it costs.

use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};

use crate::Booted;

/// Those of the package.
const UNITS: [&str; 4] = [
    "dra-guest-agent.service",
    "dra-guest-devices.service",
    "dra-guest-config-drive.service",
    "run-kubevirt.mount",
];
/// The agent's part of the time that cloud-init takes to its local stage is one of this many, at least, in the better of
/// two boots: a machine that does other things makes it worse and never better. 1/12 and 1/6 were seen on busy machines
/// without hardware virtualisation; half of it is systemd's, which makes the sandbox, and a fifth the kernel's, which
/// sets a NIC up. 1/20 is the goal.
const PARTS: u64 = 6;

pub(crate) fn boots(booted: &mut Booted) -> Result<()> {
    let state = booted.state.clone();
    booted.guest.expect_clean_boot(&state)?;
    note_cost(booted)?;
    let (name, addresses) = booted.nic()?;
    ensure!(
        (name.as_str(), addresses.as_str()) == ("net1", "192.0.2.5/24"),
        "{name} {addresses}"
    );
    // Exit code 3: the other one is not there, and required.
    let check = booted.guest.run("dra-guest-agent check")?;
    ensure!(
        check.code == 3 && check.stderr.contains("DeviceNotFound"),
        "{check:?}"
    );
    Ok(())
}

/// What is ordered after a device's unit waits for the device, for 90 seconds if it does not come.
pub(crate) fn waits_for_no_nic(booted: &mut Booted) -> Result<()> {
    for unit in UNITS {
        let orders = booted.guest.stdout_of(&format!(
            "systemctl show --property=After --property=Requires --property=BindsTo --property=Wants {unit}"
        ))?;
        ensure!(orders.contains("After="), "{unit}: {orders}");
        ensure!(!orders.contains(".device"), "{unit}: {orders}");
        ensure!(!orders.contains("network-online"), "{unit}: {orders}");
    }
    Ok(())
}

/// What the boot waited for, one after the other: the agent is a twentieth of cloud-init in it at most.
pub(crate) fn is_hardly_waited_for(booted: &mut Booted) -> Result<()> {
    let chain = booted
        .guest
        .stdout_of("systemd-analyze critical-chain --no-pager multi-user.target")?;
    println!("{chain}");
    ensure!(!chain.contains(".device"), "{chain}");
    let (agent, cloud_init) = (
        in_chain(&chain, "dra-guest")?,
        in_chain(&chain, "cloud-init")?,
    );
    println!("in it: the agent {agent:?}, cloud-init {cloud_init:?}");
    ensure!(
        !cloud_init.is_zero(),
        "cloud-init is not in the chain: {chain}"
    );
    ensure!(agent * 20 <= cloud_init, "{agent:?}, {cloud_init:?}");
    Ok(())
}

/// What the units take in a chain whose names begin like this: `└─NAME.service @9.692s +1min 18.292s`.
fn in_chain(chain: &str, begin: &str) -> Result<Duration> {
    let mut all = Duration::ZERO;
    for line in chain.lines() {
        let line = line.trim_start_matches([' ', '└', '─']);
        let (true, Some((_, taken))) = (line.starts_with(begin), line.split_once('+')) else {
            continue;
        };
        all += taken
            .split_whitespace()
            .map(time)
            .sum::<Result<Duration>>()
            .with_context(|| line.to_owned())?;
    }
    Ok(all)
}

/// systemd's `1min`, `18.292s`, `901ms`.
fn time(text: &str) -> Result<Duration> {
    let digits = text.trim_end_matches(char::is_alphabetic);
    let seconds = match text.trim_start_matches(digits) {
        "min" => 60.0,
        "s" => 1.0,
        "ms" => 1e-3,
        unit => bail!("no unit of time: {unit:?}"),
    };
    Ok(Duration::try_from_secs_f64(
        digits.parse::<f64>()? * seconds,
    )?)
}

fn monotonic(booted: &mut Booted, unit: &str, property: &str) -> Result<u64> {
    let command = format!("systemctl show --value --property={property}Monotonic {unit}");
    let text = booted.guest.stdout_of(&command)?;
    let time = text
        .trim()
        .parse()
        .with_context(|| format!("{unit}: {text}"))?;
    ensure!(time > 0, "{unit} has no {property}");
    Ok(time)
}

/// Microseconds from the start of a unit to the moment when others may follow.
fn takes(booted: &mut Booted, unit: &str) -> Result<u64> {
    let begin = monotonic(booted, unit, "InactiveExitTimestamp")?;
    Ok(monotonic(booted, unit, "ActiveEnterTimestamp")? - begin)
}

/// Notes what a boot took. Agent and cloud-init are in one chain before `network-pre.target`.
pub(crate) fn note_cost(booted: &mut Booted) -> Result<()> {
    let agent = takes(booted, "dra-guest-agent.service")?;
    // Since 24.3 one process does all stages: its start is cloud-init-main's.
    let begin = monotonic(booted, "cloud-init-main.service", "InactiveExitTimestamp")?;
    let end = monotonic(booted, "cloud-init-local.service", "ActiveEnterTimestamp")?;
    let cloud_init = end - begin;
    let devices = takes(booted, "dra-guest-devices.service")?;
    let mount = takes(booted, "run-kubevirt.mount")?;
    let parts = cloud_init / agent.max(1);
    println!(
        "agent {agent} µs, cloud-init-local {cloud_init} µs (1/{parts}), udev's queue {devices} µs, VM mount {mount} µs"
    );
    // Beside it, not after it: what the agent waits for is over when cloud-init-local is.
    let mounted = monotonic(booted, "run-kubevirt.mount", "ActiveEnterTimestamp")?;
    println!("VM mount at {mounted} µs, cloud-init-local at {end} µs");
    booted.parts.push(parts);
    Ok(())
}

/// A ratio, not a time.
pub(crate) fn cost(booted: &mut Booted) -> Result<()> {
    let best = booted.parts.iter().max().context("no boot was noted")?;
    ensure!(
        *best >= PARTS,
        "cloud-init's time to the agent's: {:?}",
        booted.parts
    );
    Ok(())
}

pub(crate) fn time_to_ready(booted: &mut Booted) -> Result<()> {
    let started = monotonic(booted, "dra-guest-agent.service", "ExecMainStartTimestamp")?;
    let ready = monotonic(booted, "dra-guest-agent.service", "ActiveEnterTimestamp")?;
    println!("from execve to READY=1: {} µs", ready - started);
    let network = monotonic(booted, "network-pre.target", "ActiveEnterTimestamp")?;
    ensure!(
        ready < network,
        "ready at {ready}, network-pre.target at {network}"
    );
    Ok(())
}
