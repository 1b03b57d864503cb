//! The NRI plugin beside one on upstream's library, `tests/nri/cmd/stub`, under the part of containerd that asks plugins,
//! `tests/nri/cmd/runtime`.

use std::fmt;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::Memory;
use crate::command::stdout_of;
use crate::process::Process;
use crate::programs::{static_program, target_directory, workspace};
use crate::table::Table;
use crate::wait;

/// Rounds, and containers of each kind in one; the first round fills the caches.
const ROUNDS: usize = 12;
const CONTAINERS: usize = 300;
const PATIENCE: Duration = Duration::from_secs(30);

/// Who is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Plugin {
    None,
    Ours,
    Stub,
}

/// What one of them adds to the creation of a container, and takes.
#[derive(Debug, Default)]
struct Added {
    /// Times of containers of VMs, sorted.
    vm: Vec<Duration>,
    /// Times of others, sorted.
    foreign: Vec<Duration>,
    /// What the process takes after all of them, in KiB.
    memory: Option<Memory>,
    /// The program's size.
    bytes: u64,
}

/// The figures of one run.
#[derive(Debug)]
pub struct NriFigures {
    none: Added,
    ours: Added,
    stub: Added,
    request_bytes: u64,
}

/// Measures.
///
/// # Errors
/// When a program cannot be built or does not do its part.
pub fn measure_nri() -> Result<NriFigures> {
    let directory = tempfile::tempdir()?;
    let go = target_directory()?.join("nri");
    stdout_of(
        Command::new("go")
            .current_dir(workspace().join("tests/nri"))
            .env("CGO_ENABLED", "0")
            .args(["build", "-trimpath", "-ldflags", "-s -w", "-o"])
            .arg(go.join(""))
            .arg("./..."),
    )
    .context("Go 1.26 builds the benchmark's peer")?;
    let mut runtimes = Vec::new();
    for plugin in [Plugin::None, Plugin::Ours, Plugin::Stub] {
        runtimes.push((
            plugin,
            Runtime::start(plugin, &go, directory.path())?,
            Added::default(),
        ));
    }
    let mut request_bytes = 0;
    // In turn, so that a slow moment meets all of them.
    for round in 0..=ROUNDS {
        for (plugin, runtime, added) in &mut runtimes {
            let answer = runtime.round()?;
            let hooks = if *plugin == Plugin::None {
                0
            } else {
                CONTAINERS
            };
            ensure!(
                answer.get("hooks") == Some(&hooks.into()),
                "{plugin:?} added {:?} hooks",
                answer.get("hooks")
            );
            request_bytes = answer
                .get("requestBytes")
                .and_then(Value::as_u64)
                .unwrap_or_default();
            if round > 0 {
                added.vm.extend(times(&answer, "vm")?);
                added.foreign.extend(times(&answer, "foreign")?);
            }
        }
    }
    let mut figures = Vec::new();
    for (_, runtime, mut added) in runtimes {
        added.vm.sort_unstable();
        added.foreign.sort_unstable();
        if let Some((process, program)) = &runtime.plugin {
            let status = fs::read_to_string(format!("/proc/{}/status", process.id()))?;
            added.memory = Some(Memory::parse(&status)?);
            added.bytes = fs::metadata(program)?.len();
        }
        figures.push(added);
    }
    let mut figures = figures.into_iter();
    let mut next = || figures.next().context("three were measured");
    Ok(NriFigures {
        none: next()?,
        ours: next()?,
        stub: next()?,
        request_bytes,
    })
}

/// A runtime, and the plugin that is connected to it.
struct Runtime {
    // Ends before the runtime.
    plugin: Option<(Process, PathBuf)>,
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Runtime {
    fn start(plugin: Plugin, go: &Path, directory: &Path) -> Result<Self> {
        let socket = directory.join(format!("{plugin:?}.sock"));
        let mut child = Command::new(go.join("runtime"))
            .arg(format!("--socket={}", socket.display()))
            .arg(format!("--plugin={}", plugin != Plugin::None))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let input = child.stdin.take().context("its input")?;
        let output = BufReader::new(child.stdout.take().context("its output")?);
        wait::until("the runtime listens", PATIENCE, || {
            Ok(socket.exists().then_some(()))
        })?;
        let start = |name: &str, program: PathBuf| -> Result<(Process, PathBuf)> {
            let argument = format!("--socket={}", socket.display());
            Ok((
                Process::start(name, &program, [argument], directory)?,
                program,
            ))
        };
        let plugin = match plugin {
            Plugin::None => None,
            Plugin::Ours => Some(start("ours", static_program("dra-guest-nri")?)?),
            Plugin::Stub => Some(start("stub", go.join("stub"))?),
        };
        Ok(Self {
            plugin,
            child,
            input,
            output,
        })
    }

    fn round(&mut self) -> Result<Value> {
        writeln!(self.input, "{CONTAINERS}")?;
        self.input.flush()?;
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        serde_json::from_str(&line).with_context(|| format!("the runtime says {line:?}"))
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn times(answer: &Value, of: &str) -> Result<Vec<Duration>> {
    let times = answer
        .get(of)
        .and_then(Value::as_array)
        .context("no times")?;
    let times = times
        .iter()
        .map(|time| time.as_u64().map(Duration::from_nanos));
    times.collect::<Option<_>>().context("a time is no number")
}

fn percentile(times: &[Duration], percent: usize) -> Duration {
    let at = times.len() * percent / 100;
    times.get(at).or(times.last()).copied().unwrap_or_default()
}

impl fmt::Display for NriFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new(["", "dra-guest-nri", "on upstream's library", "ratio"]);
        for (name, percent, of_vms) in [
            ("a VM's container, median", 50, true),
            ("99 %", 99, true),
            ("another container, median", 50, false),
            ("99 %", 99, false),
        ] {
            let added = |one: &Added| {
                let times = |added: &Added| {
                    percentile(if of_vms { &added.vm } else { &added.foreign }, percent)
                };
                // What it takes without a plugin is none of theirs.
                times(one).saturating_sub(times(&self.none))
            };
            let [ours, stub] =
                [added(&self.ours), added(&self.stub)].map(|time| time.as_secs_f64() * 1e6);
            table.row([
                name.to_owned(),
                format!("{ours:.0} µs"),
                format!("{stub:.0} µs"),
                format!("{:.2}", ours / stub),
            ]);
        }
        for (name, value) in [
            (
                "memory, the most",
                (|added| added.memory.map_or(0, |memory| memory.peak)) as fn(&Added) -> u64,
            ),
            ("of it its own", |added| {
                added.memory.map_or(0, |memory| memory.own)
            }),
            ("the program", |added| added.bytes / 1024),
        ] {
            let [ours, stub] = [value(&self.ours), value(&self.stub)];
            #[expect(clippy::cast_precision_loss, reason = "kilobytes of a program")]
            let ratio = ours as f64 / stub as f64;
            table.row([
                name.to_owned(),
                format!("{ours} KiB"),
                format!("{stub} KiB"),
                format!("{ratio:.2}"),
            ]);
        }
        writeln!(
            f,
            "What a plugin adds to the creation of a container; {} of each kind, requests of {} bytes\n{table}",
            self.ours.vm.len(),
            self.request_bytes
        )
    }
}
