//! What each line of the unit's sandbox costs a start of the service, in a guest: as systemd makes it, before the
//! program's first instruction.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::json;

use crate::guest::{BaseImage, Guest, GuestOptions};
use crate::programs::{static_program, workspace};
use crate::table::{Table, milliseconds};
use crate::way::{NIC_MAC, Walk};

/// How often each variant is started, in turn. The guest's clock counts instructions, so that they differ little,
/// whatever else the machine does.
const ROUNDS: usize = 3;
/// How many starts one command in the guest makes: it ends after a minute of the guest's.
const CHUNK: usize = 8;
/// Two nanoseconds an instruction, and no time without any.
const CLOCK: &str = "-icount shift=1,sleep=off";

/// What is no sandbox: the rest of the unit is.
const PLAIN: [&str; 10] = [
    "Type",
    "ExecStart",
    "ExecReload",
    "TimeoutStartSec",
    "TimeoutStopSec",
    "Restart",
    "RestartSec",
    "RestartPreventExitStatus",
    "UMask",
    // Without it a stop removes `/run/systemd/system`, by which programs know that systemd runs.
    "RuntimeDirectoryPreserve",
];
/// What systemd answers with a mount namespace, or with mounts in it (`systemd.exec(5)`).
const MOUNTS: [&str; 9] = [
    "ProtectSystem",
    "ReadWritePaths",
    "ReadOnlyPaths",
    "InaccessiblePaths",
    "ProtectHome",
    "PrivateDevices",
    "PrivateMounts",
    "ProtectControlGroups",
    "ProtectProc",
];
/// What it answers with a small seccomp filter for each architecture (`src/core/exec-invoke.c`).
const SMALL_FILTERS: [&str; 8] = [
    "RestrictRealtime",
    "RestrictSUIDSGID",
    "LockPersonality",
    "MemoryDenyWriteExecute",
    "ProtectClock",
    "ProtectHostname",
    "ProtectKernelLogs",
    "ProtectKernelModules",
];
/// The other filters.
const FILTERS: [&str; 4] = [
    "SystemCallFilter",
    "SystemCallArchitectures",
    "RestrictAddressFamilies",
    "RestrictNamespaces",
];

/// The lines of the unit's section `[Service]`, each with its key.
fn lines(unit: &str) -> Vec<(&str, &str)> {
    let section = unit.split("\n[Service]\n").nth(1).unwrap_or_default();
    let section = section.split("\n[").next().unwrap_or_default();
    let lines = section.lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| Some((line.split_once('=')?.0, line)))
        .collect()
}

/// Units that differ in their sandbox: what is left out of it or left in it, and the unit's text.
fn variants(unit: &str) -> Vec<(String, String)> {
    let lines = lines(unit);
    let with = |is_kept: &dyn Fn(&str) -> bool| {
        let mut text = "[Unit]\nDefaultDependencies=no\n[Service]\n".to_owned();
        for (key, line) in &lines {
            if PLAIN.contains(key) || is_kept(key) {
                // Writing to a String cannot fail.
                let _ = writeln!(text, "{line}");
            }
        }
        text
    };
    let mut keys: Vec<&str> = lines.iter().map(|(key, _)| *key).collect();
    keys.dedup();
    keys.retain(|key| !PLAIN.contains(key));
    let mut variants = vec![
        ("all".to_owned(), with(&|_| true)),
        ("none".to_owned(), with(&|_| false)),
        (
            "all but mounts".to_owned(),
            with(&|key| !MOUNTS.contains(&key)),
        ),
        (
            "all but small filters".to_owned(),
            with(&|key| !SMALL_FILTERS.contains(&key)),
        ),
        (
            "all but filters".to_owned(),
            with(&|key| !FILTERS.contains(&key) && !SMALL_FILTERS.contains(&key)),
        ),
    ];
    for key in keys {
        variants.push((format!("all but {key}"), with(&|other| other != key)));
    }
    variants
}

/// Boots the guest, starts each variant in turn, and gives the medians as a table.
///
/// # Errors
/// When the guest does not come up, or a variant does not start.
pub fn measure_sandbox() -> Result<Table> {
    let walk = Walk::new("bench_sandbox")?;
    let image = BaseImage::get()?.bake(&static_program("dra-guest-agent")?, None)?;
    let files = tempfile::tempdir_in("/tmp")?;
    let share = files.path().join("share");
    fs::create_dir(&share)?;
    let document = json!({
        "apiVersion": "dra-guest/v1", "kind": "DeviceAttributes", "devices": [{
            "device": "nic",
            "network": {"interfaceName": "net1", "macAddress": NIC_MAC, "ipAddresses": ["192.0.2.5/24"]},
        }],
    });
    fs::write(share.join("device-attributes.json"), document.to_string())?;
    let (mut guest, _) = Guest::boot(&GuestOptions {
        share: Some(&share),
        hardware: CLOCK,
        ..GuestOptions::bare(
            &image,
            NIC_MAC.parse()?,
            &files.path().join("vsock"),
            &walk.logs,
        )
    })?;
    let unit = match std::env::var("SANDBOX_UNIT") {
        Ok(p) => fs::read_to_string(p)?,
        _ => fs::read_to_string(workspace().join("systemd/dra-guest-agent.service"))?,
    };
    let variants = variants(&unit);
    for (number, (_, text)) in variants.iter().enumerate() {
        guest.stdout_of(&format!(
            "cat >/run/systemd/system/measured-{number}.service <<'END'\n{text}END"
        ))?;
    }
    guest.stdout_of("systemctl daemon-reload && systemctl stop dra-guest-agent.service")?;
    let mut times: BTreeMap<usize, Vec<Duration>> = BTreeMap::new();
    let numbers: Vec<usize> = (0..variants.len()).collect();
    for round in 0..=ROUNDS {
        for chunk in numbers.chunks(CHUNK) {
            for (number, time) in starts(&mut guest, chunk)? {
                // The first fills the page cache.
                if round > 0 {
                    times.entry(number).or_default().push(time);
                }
            }
        }
        eprintln!("round {round} of {ROUNDS}");
    }
    let mut table = Table::new(["the unit with", "from its start to READY=1", "least"]);
    for (number, (name, _)) in variants.iter().enumerate() {
        let measured = times.get_mut(&number).context("not measured")?;
        measured.sort_unstable();
        let middle = measured.get(measured.len() / 2).context("no time")?;
        let least = measured.first().context("no time")?;
        table.row([name.clone(), milliseconds(*middle), milliseconds(*least)]);
    }
    Ok(table)
}

/// Starts and stops these, one after the other.
fn starts(guest: &mut Guest, numbers: &[usize]) -> Result<Vec<(usize, Duration)>> {
    let list: Vec<String> = numbers.iter().map(usize::to_string).collect();
    let said = guest.stdout_of(&format!(
        "for number in {}; do unit=measured-$number.service; systemctl start $unit || exit 1; \
         echo $number $(systemctl show --value --property=InactiveExitTimestampMonotonic \
         --property=ActiveEnterTimestampMonotonic $unit); systemctl stop $unit; done",
        list.join(" ")
    ))?;
    let mut starts = Vec::new();
    for line in said.lines() {
        let words: Result<Vec<u64>, _> = line.split(' ').map(str::parse).collect();
        let words = words.with_context(|| format!("the guest says: {line}"))?;
        let &[number, one, other] = words.as_slice() else {
            anyhow::bail!("the guest says: {line}")
        };
        // In the order of systemd's own list.
        starts.push((
            usize::try_from(number)?,
            Duration::from_micros(one.abs_diff(other)),
        ));
    }
    ensure!(starts.len() == numbers.len(), "{said}");
    Ok(starts)
}
