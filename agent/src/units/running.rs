//! Units that run while their drop-ins change.
//!
//! systemd reads a drop-in at `daemon-reload`, and bounds the unit by it when it starts; one that runs it
//! bounds at once by `set-property` alone (seen with systemd 257: `EffectiveCPUs=` stays after a reload).
//! That leaves files of its own, which are removed: what holds is the drop-in. A bound that is taken away
//! stays on a unit that runs, unless another is set: all CPUs and nodes.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::Instant;

use super::drop_in::path_of;
use super::is_drop_in;
use crate::numa::Topology;
use crate::numa::topology::possible_nodes;
use crate::owners::{output_of, run_program};
use crate::roots::Roots;
use crate::small_file;

/// How long all of them may take: a pass waits for it.
const DEADLINE: Duration = Duration::from_mins(1);

/// What bounds a unit at once (`systemd.resource-control(5)`).
const BOUNDS: [&str; 2] = ["AllowedCPUs", "AllowedMemoryNodes"];

/// Brings the units that run to what their drop-ins say, of those that were written or removed, below
/// `/run`. Gives back what went wrong, in sentences.
pub(crate) async fn bring(roots: &Roots, changed: &[PathBuf]) -> Vec<String> {
    let mut troubles = Vec::new();
    let end = Instant::now() + DEADLINE;
    let late = |unit: &str| {
        (Instant::now() >= end).then(|| {
            format!(
                "systemd takes long: {unit} and others stay where they are until they start anew"
            )
        })
    };
    for path in changed.iter().filter(|path| is_drop_in(path)) {
        let Some(name) = unit_of(path) else { continue };
        if let Some(late) = late(name) {
            troubles.push(late);
            break;
        }
        let running = match running(name).await {
            Ok(running) => running,
            Err(why) => {
                troubles.push(format!(
                    "whether {name} runs is not known, and it stays where it is until it starts anew: {why}"
                ));
                continue;
            }
        };
        for unit in running {
            if has_its_own(roots, name, &unit) {
                continue;
            }
            if let Some(late) = late(&unit) {
                troubles.push(late);
                return troubles;
            }
            troubles.extend(bring_one(roots, &unit, path).await.err());
        }
    }
    troubles
}

/// The unit that a drop-in is of.
fn unit_of(drop_in: &Path) -> Option<&str> {
    let directory = drop_in.parent()?.file_name()?.to_str()?;
    directory.strip_suffix(".d")
}

/// Whether a unit that the drop-in of `name` is for has another, which counts for it: an instance may.
fn has_its_own(roots: &Roots, name: &str, unit: &str) -> bool {
    unit != name && roots.run.join(path_of(unit)).exists()
}

/// The unit itself if it runs, and of a template the instances that do.
async fn running(unit: &str) -> Result<Vec<String>, String> {
    let arguments = [
        "list-units",
        "--state=active,reloading,activating",
        "--plain",
        "--full",
        "--no-legend",
        "--no-pager",
        "--",
        &pattern(unit),
    ];
    let listed = output_of(Path::new(super::SYSTEMCTL), &arguments).await?;
    let units = listed.lines().filter_map(|line| line.split(' ').next());
    Ok(units
        .filter(|unit| !unit.is_empty())
        .map(str::to_owned)
        .collect())
}

/// A pattern of `glob(7)`, as `systemctl(1)` takes them.
fn pattern(unit: &str) -> String {
    let unit = unit.replace('\\', r"\\");
    match unit.split_once("@.") {
        Some((stem, end)) => format!("{stem}@*.{end}"),
        None => unit,
    }
}

async fn bring_one(roots: &Roots, unit: &str, drop_in: &Path) -> Result<(), String> {
    let control = roots.run.join(format!("systemd/system.control/{unit}.d"));
    let files = BOUNDS.map(|key| control.join(format!("50-{key}.conf")));
    let lasting = roots.etc.join(format!("systemd/system.control/{unit}.d"));
    if files.iter().any(|file| file.exists()) || lasting.exists() {
        return Err(format!(
            "{unit} runs, and has bounds by \"systemctl set-property\": they stay until it starts anew"
        ));
    }
    let bounds = bounds(roots, unit, drop_in);
    let mut arguments = vec!["set-property", "--runtime", "--", unit];
    arguments.extend(bounds.iter().map(String::as_str));
    let result = run_program(Path::new(super::SYSTEMCTL), &arguments).await;
    for file in files {
        // Only those that were set are there.
        let _ = fs::remove_file(file);
    }
    // Others may have some there.
    let _ = fs::remove_dir(control);
    result.map_err(|why| format!("{unit} runs, and stays where it is until it starts anew: {why}"))
}

/// What the drop-in says; all of the guest where there is none any more, but what others have for themselves.
fn bounds(roots: &Roots, unit: &str, drop_in: &Path) -> Vec<String> {
    let topology = Topology::read(&roots.sys);
    let all = topology.online.union(&topology.offline);
    let all = [
        all.difference(&topology.partitioned(|it| !it.is_of(unit)))
            .to_string(),
        // Memory may come to a node later.
        possible_nodes(&roots.sys)
            .union(&topology.online_nodes())
            .to_string(),
    ];
    let text = small_file::read(&roots.run.join(drop_in)).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let said = |key: &str| {
        let mut lines = text.lines().rev();
        let value = lines.find_map(|line| line.strip_prefix(key)?.strip_prefix('='))?;
        (!value.is_empty()).then(|| value.to_owned())
    };
    let bounds = BOUNDS.iter().zip(all);
    bounds
        .map(|(key, all)| format!("{key}={}", said(key).unwrap_or(all)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_that_of_the_drop_in_or_all_that_the_guest_has() {
        let directory = tempfile::tempdir().unwrap();
        let roots = Roots {
            run: directory.path().join("run"),
            sys: directory.path().join("sys"),
            ..Roots::default()
        };
        for (path, text) in [
            ("sys/devices/system/cpu/online", "0-2\n"),
            ("sys/devices/system/cpu/offline", "3\n"),
            ("sys/devices/system/node/online", "0\n"),
            ("sys/devices/system/node/possible", "0-1\n"),
            (
                "run/systemd/system/a.service.d/90-dra-guest.conf",
                "[Service]\nCPUAffinity=2-3\nAllowedCPUs=\nAllowedCPUs=2-3\n",
            ),
        ] {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let drop_in = Path::new("systemd/system/a.service.d/90-dra-guest.conf");
        let said = bounds(&roots, "a.service", drop_in);
        assert_eq!(said, ["AllowedCPUs=2-3", "AllowedMemoryNodes=0-1"]);
        let absent = Path::new("systemd/system/b.service.d/90-dra-guest.conf");
        let said = bounds(&roots, "b.service", absent);
        assert_eq!(said, ["AllowedCPUs=0-3", "AllowedMemoryNodes=0-1"]);

        let groups = roots.sys.join("fs/cgroup");
        for (path, text) in [
            ("cpuset.cpus.effective", "1-2\n"),
            ("alone/cpuset.cpus.partition", "isolated\n"),
            ("alone/cpuset.cpus.effective", "0\n"),
        ] {
            let path = groups.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let said = bounds(&roots, "b.service", absent);
        assert_eq!(said, ["AllowedCPUs=1-3", "AllowedMemoryNodes=0-1"]);
    }

    #[test]
    fn an_instance_may_have_a_drop_in_of_its_own() {
        let run = tempfile::tempdir().unwrap();
        let roots = Roots {
            run: run.path().to_owned(),
            ..Roots::default()
        };
        let own = run.path().join(path_of("a@own.service"));
        fs::create_dir_all(own.parent().unwrap()).unwrap();
        fs::write(own, "").unwrap();
        assert!(has_its_own(&roots, "a@.service", "a@own.service"));
        assert!(!has_its_own(&roots, "a@.service", "a@other.service"));
        assert!(!has_its_own(&roots, "a@own.service", "a@own.service"));
    }

    #[test]
    fn a_template_stands_for_its_instances() {
        assert_eq!(pattern("a.service"), "a.service");
        assert_eq!(pattern("a@b.service"), "a@b.service");
        assert_eq!(pattern("a@.service"), "a@*.service");
        // `\` would take the meaning of what comes after it.
        assert_eq!(pattern(r"a\x2db@.service"), r"a\\x2db@*.service");
    }
}
