//! What the sandbox of the agent's unit costs a start of the service, in a guest: systemd makes it before the program's
//! first instruction.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::json;

use crate::guest::{BaseImage, Guest, GuestOptions};
use crate::programs::{static_program, workspace};
use crate::table::{Table, milliseconds, ratio};
use crate::way::{NIC_MAC, Walk};

/// How often each variant is started, in turn.
const ROUNDS: usize = 15;

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
    "BindReadOnlyPaths",
    "InaccessiblePaths",
    "ProtectHome",
    "PrivateDevices",
    "PrivateMounts",
    "ProtectProc",
];
/// What it answers with filters of system calls, one for each architecture.
const FILTERS: [&str; 8] = [
    "SystemCallFilter",
    "SystemCallErrorNumber",
    "SystemCallArchitectures",
    "RestrictAddressFamilies",
    "RestrictNamespaces",
    "RestrictSUIDSGID",
    "LockPersonality",
    "MemoryDenyWriteExecute",
];

/// A unit of these lines of another's section `[Service]`.
fn unit_of(unit: &str, is_kept: impl Fn(&str) -> bool) -> String {
    let section = unit.split("\n[Service]\n").nth(1).unwrap_or_default();
    let section = section.split("\n[").next().unwrap_or_default();
    let mut text = "[Unit]\nDefaultDependencies=no\n[Service]\n".to_owned();
    for line in section.lines().filter(|line| !line.starts_with('#')) {
        let key = line.split('=').next().unwrap_or_default();
        if PLAIN.contains(&key) || is_kept(key) {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{line}");
        }
    }
    text
}

/// Boots a guest, starts the unit as it is, with parts of its sandbox, and as other files have it, in turn, and gives the
/// medians.
///
/// # Errors
/// When the guest does not come up, or a unit does not start.
pub fn measure_sandbox(others: &[PathBuf]) -> Result<Table> {
    let unit = fs::read_to_string(workspace().join("systemd/dra-guest-agent.service"))?;
    let mut variants = vec![
        ("the unit".to_owned(), unit_of(&unit, |_| true)),
        (
            "without its mounts".to_owned(),
            unit_of(&unit, |key| !MOUNTS.contains(&key)),
        ),
        (
            "without its filters".to_owned(),
            unit_of(&unit, |key| !FILTERS.contains(&key)),
        ),
        (
            "without both".to_owned(),
            unit_of(&unit, |key| {
                !MOUNTS.contains(&key) && !FILTERS.contains(&key)
            }),
        ),
        ("without a sandbox".to_owned(), unit_of(&unit, |_| false)),
    ];
    for other in others {
        let text = fs::read_to_string(other)?;
        variants.push((other.display().to_string(), unit_of(&text, |_| true)));
    }
    let all_starts = measure(&variants)?;
    let mut table = Table::new([
        "",
        "from its start to READY=1",
        "to the unit",
        "the least",
        "QEMU's time on a processor",
        "to the unit",
    ]);
    let mut whole = None;
    for ((name, _), starts) in variants.into_iter().zip(all_starts) {
        let times = sorted(&starts, |start| start.time);
        let worked = sorted(&starts, |start| start.worked);
        let median = *times.get(times.len() / 2).context("no start")?;
        let least = *times.first().context("no start")?;
        let work = *worked.get(worked.len() / 2).context("no start")?;
        let (to, to_work) = *whole.get_or_insert((median, work));
        table.row([
            name,
            milliseconds(median),
            ratio(median, to),
            milliseconds(least),
            milliseconds(work),
            ratio(work, to_work),
        ]);
    }
    Ok(table)
}

/// One start of a unit.
struct Start {
    /// From its start to the moment when others may follow, by the guest's clock.
    time: Duration,
    /// What QEMU worked meanwhile, for all of the guest, `systemctl` too: on a busy machine the better measure.
    worked: Duration,
}

fn sorted(starts: &[Start], of: impl Fn(&Start) -> Duration) -> Vec<Duration> {
    let mut all: Vec<_> = starts.iter().map(of).collect();
    all.sort_unstable();
    all
}

fn measure(variants: &[(String, String)]) -> Result<Vec<Vec<Start>>> {
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
        ..GuestOptions::bare(
            &image,
            NIC_MAC.parse()?,
            &files.path().join("vsock"),
            &walk.logs,
        )
    })?;
    for (number, (_, text)) in variants.iter().enumerate() {
        guest.stdout_of(&format!(
            "cat >/run/systemd/system/measured-{number}.service <<'END'\n{text}END"
        ))?;
    }
    guest.stdout_of("systemctl daemon-reload && systemctl stop dra-guest-agent.service")?;
    let mut all_starts: Vec<Vec<Start>> = variants.iter().map(|_| Vec::new()).collect();
    for round in 0..=ROUNDS {
        for (number, starts) in all_starts.iter_mut().enumerate() {
            let start = start(&mut guest, number)?;
            // The first fills the page cache.
            if round > 0 {
                starts.push(start);
            }
        }
    }
    Ok(all_starts)
}

/// Starts and stops one.
fn start(guest: &mut Guest, number: usize) -> Result<Start> {
    let unit = format!("measured-{number}.service");
    let before = guest.processor_time()?;
    guest.stdout_of(&format!("systemctl start {unit}"))?;
    let worked = guest.processor_time()?.saturating_sub(before);
    let said = guest.stdout_of(&format!(
        "systemctl show --value --property=InactiveExitTimestampMonotonic \
         --property=ActiveEnterTimestampMonotonic {unit} && systemctl stop {unit}"
    ))?;
    let times: Result<Vec<u64>, _> = said.split_whitespace().map(str::parse).collect();
    let times = times.with_context(|| format!("the guest says: {said}"))?;
    ensure!(times.len() == 2, "the guest says: {said}");
    // They come in the order of systemd's own list.
    let (first, last) = (times.iter().min(), times.iter().max());
    let time = last.zip(first).map(|(last, first)| last - first);
    Ok(Start {
        time: time.map(Duration::from_micros).context("no times")?,
        worked,
    })
}
