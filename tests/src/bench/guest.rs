//! The agent against systemd-networkd in a Debian guest: eight NICs brought into one state, and one that
//! is plugged in.
//!
//! networkd gives no names: the agent's part has eight renames more, and one for the NIC that comes.

use std::fmt::Write as _;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::Memory;
use crate::guest::{FOREIGN_MAC, Machine, Managed, ManagedOptions, Manager};
use crate::wait;

const NICS: usize = 8;
/// How often each brings eight new NICs into their state.
const ROUNDS: usize = 3;
const MTU: u64 = 1400;
const AGENTS_MAC: &str = "02:00:00:00:0e:03";
const NETWORKDS_MAC: &str = "02:00:00:00:0e:04";
const AGENTS_ADDRESS: &str = "192.0.2.8";
const NETWORKDS_ADDRESS: &str = "198.51.100.8";

/// What was measured, the medians of several rounds and one hot-plug each.
#[derive(Debug, Clone, Copy)]
pub struct GuestFigures {
    /// `dra-guest-agent apply`.
    pub apply: Duration,
    /// `networkctl reload` until every NIC is as wanted.
    pub networkd: Duration,
    /// From the kernel's first word of a NIC to its address, by the agent.
    pub hot_plug: Duration,
    /// The same by networkd.
    pub networkd_hot_plug: Duration,
    /// The service's memory.
    pub memory: Memory,
}

/// Boots the guest and measures.
///
/// # Errors
/// When it does not come up, or a NIC does not come to its state.
pub fn measure_in_guest() -> Result<GuestFigures> {
    let mut booted = Managed::boot(&ManagedOptions {
        machine: Machine::TwoNodes,
        kernel_options: "",
        name: "bench",
        managers: &[Manager::Networkd],
        policy: &format!("[[device]]\nrequired = false\nmtu = {MTU}\n"),
        devices: json!([device("hot", AGENTS_MAC, &format!("{AGENTS_ADDRESS}/24"))]),
        hardware: "-device pcie-root-port,id=port1,bus=pcie.0,chassis=9,slot=9 \
                   -device pcie-root-port,id=port2,bus=pcie.0,chassis=10,slot=10 \
                   -netdev hubport,id=n1,hubid=3 -netdev hubport,id=n2,hubid=4",
        additions: &[
            (
                "etc/systemd/network/20-bench.network",
                network(NETWORKDS_MAC, NETWORKDS_ADDRESS),
            ),
            // networkd is online once a NIC of its own is.
            (
                "etc/systemd/network/20-foreign.network",
                network(FOREIGN_MAC, "198.51.100.9"),
            ),
        ],
    })?;
    booted.expect_online()?;
    // After it the guest is as quiet as it will be.
    booted.let_managers_settle()?;
    let hot_plug = plug(&mut booted, "1", AGENTS_MAC, AGENTS_ADDRESS)?;
    booted.wait_for("hot", "Configured")?;
    let networkd_hot_plug = plug(&mut booted, "2", NETWORKDS_MAC, NETWORKDS_ADDRESS)?;
    let memory = booted.guest.stdout_of(
        "cat /proc/$(systemctl show --property=MainPID --value dra-guest-agent.service)/status",
    )?;
    let (mut apply, mut networkd) = (Vec::new(), Vec::new());
    booted.guest.stdout_of(&preparation())?;
    for round in 0..=ROUNDS {
        let times = [
            booted
                .guest
                .stdout_of(&script(include_str!("guest-agent.sh")))?,
            booted
                .guest
                .stdout_of(&script(include_str!("guest-networkd.sh")))?,
        ];
        // The first round fills the caches.
        if round > 0 {
            for (time, times) in times.iter().zip([&mut apply, &mut networkd]) {
                times.push(Duration::from_micros(time.trim().parse()?));
            }
        }
    }
    Ok(GuestFigures {
        apply: median(apply)?,
        networkd: median(networkd)?,
        hot_plug,
        networkd_hot_plug,
        memory: Memory::parse(&memory)?,
    })
}

fn network(mac: &str, address: &str) -> String {
    format!(
        "[Match]\nMACAddress={mac}\n\n[Network]\nAddress={address}/24\n\n[Link]\nMTUBytes={MTU}\n"
    )
}

fn median(mut times: Vec<Duration>) -> Result<Duration> {
    times.sort_unstable();
    times.get(times.len() / 2).copied().context("no rounds")
}

fn device(name: &str, mac: &str, address: &str) -> Value {
    json!({
        "device": name, "request": name,
        "network": {"interfaceName": name, "macAddress": mac, "ipAddresses": [address]}
    })
}

/// The document of the NICs that come and go, and networkd's files for others of the kind.
fn preparation() -> String {
    let nics = 1..=NICS;
    let devices: Vec<Value> = nics
        .clone()
        .map(|nic| {
            device(
                &format!("net{nic}"),
                &format!("02:00:00:00:0a:0{nic}"),
                &format!("10.0.{nic}.5/24"),
            )
        })
        .collect();
    let document =
        json!({"apiVersion": "dra-guest/v1", "kind": "DeviceAttributes", "devices": devices});
    let mut text = format!(
        "set -e; mkdir -p /run/bench/etc/dra-guest /run/bench/networkd\n\
         echo '{document}' >/run/bench/attributes.json\n\
         printf '[[device]]\\nmtu = {MTU}\\n' >/run/bench/etc/dra-guest/agent.toml\n"
    );
    for nic in nics {
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "printf '[Match]\\nMACAddress=02:00:00:00:0b:0{nic}\\n[Link]\\nMTUBytes={MTU}\\n[Network]\\n\
             LinkLocalAddressing=no\\nAddress=10.1.{nic}.5/24\\n' >/run/bench/networkd/30-bench{nic}.network"
        );
    }
    text
}

fn script(text: &str) -> String {
    text.replace("@NICS@", &NICS.to_string())
        .replace("@MTU@", &MTU.to_string())
}

/// Plugs a NIC in and gives the time from the kernel's first word of it to its address.
fn plug(booted: &mut Managed, port: &str, mac: &str, address: &str) -> Result<Duration> {
    let unit = format!("bench-monitor-{port}");
    let log = format!("/run/{unit}.log");
    booted.guest.stdout_of(&format!(
        "systemd-run --quiet --unit={unit} --property=StandardOutput=file:{log} \
         ip -timestamp monitor link address"
    ))?;
    booted
        .guest
        .tell_qemu(&json!({"execute": "device_add", "arguments": {
            "driver": "e1000e", "id": format!("nic{port}"), "bus": format!("port{port}"),
            "netdev": format!("n{port}"), "mac": mac
        }}))?;
    let mut said = String::new();
    let time = wait::until("the NIC has its address", wait::PATIENCE, || {
        said = booted.guest.stdout_of(&format!("cat {log}"))?;
        between(&said, address)
    });
    booted.guest.stdout_of(&format!("systemctl stop {unit}"))?;
    let time = time.with_context(|| said.clone())?;
    ensure!(!time.is_zero(), "no time passed: {said}");
    Ok(time)
}

/// From the first line of the interface that gets `address` to the line that says so, of
/// `ip -timestamp monitor`, whose times stand in lines of their own: `Timestamp: Mon Nov 30 11:49:48 2026
/// 123456 usec`.
fn between(log: &str, address: &str) -> Result<Option<Duration>> {
    let mut time = None;
    let mut first = std::collections::BTreeMap::new();
    for line in log.lines() {
        if let Some(stamp) = line.strip_prefix("Timestamp: ") {
            time = Some(microseconds(stamp).with_context(|| line.to_owned())?);
            continue;
        }
        let line = line
            .trim_start_matches("[LINK]")
            .trim_start_matches("[ADDR]");
        let (index, rest) = line.split_once(':').unwrap_or_default();
        let (Ok(index), Some(time)) = (index.parse::<u32>(), time) else {
            continue;
        };
        let begin = *first.entry(index).or_insert(time);
        if rest.contains(&format!("inet {address}/")) {
            // Over midnight.
            let day = 24 * 3600 * 1_000_000;
            return Ok(Some(Duration::from_micros((time + day - begin) % day)));
        }
    }
    Ok(None)
}

/// Since midnight.
fn microseconds(stamp: &str) -> Option<u64> {
    let words: Vec<&str> = stamp.split_whitespace().collect();
    let clock = words.iter().find(|word| word.contains(':'))?;
    let [hours, minutes, seconds] = clock.split(':').collect::<Vec<_>>().try_into().ok()?;
    let seconds: u64 = [hours, minutes, seconds]
        .iter()
        .try_fold(0, |sum, part| Some(sum * 60 + part.parse::<u64>().ok()?))?;
    let place = words.iter().position(|word| *word == "usec")?;
    let part: u64 = words.get(place.checked_sub(1)?)?.parse().ok()?;
    Some(seconds * 1_000_000 + part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_one_interface_is_found() {
        let log = "Timestamp: Mon Nov 30 23:59:59 2026 900000 usec\n\
                   7: eth0: <BROADCAST> mtu 1500\n    link/ether 02:00:00:00:0e:03\n\
                   Timestamp: Mon Nov 30 23:59:59 2026 950000 usec\n\
                   2: net1    inet 192.0.2.8/24\n\
                   Timestamp: Tue Dec  1 00:00:00 2026 100000 usec\n\
                   7: hot    inet 192.0.2.9/24 brd 192.0.2.255\n";
        let time = between(log, "192.0.2.9").unwrap();
        assert_eq!(time, Some(Duration::from_millis(200)));
        assert_eq!(between(log, "192.0.2.10").unwrap(), None);
    }
}
