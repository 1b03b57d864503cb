//! The workspace's test programs, run some at a time: most of a suite's time is waiting for a guest or a node.
//!
//! `cargo test` runs them one after the other. Here each prints what it would print there, whole, when it ends.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::programs::{cargo, workspace};

/// How many at a time, for two cores.
const LANES: usize = 3;

/// Those that run a kubelet or container runtimes on this machine: one of them at a time.
const OF_THE_NODE: [&str; 8] = [
    "hook_runtimes",
    "nri",
    "whole_way_on_node",
    "deploy",
    "annotation",
    "cluster",
    "nri_restart",
    "hook_doctor",
];

/// The longest, first; what is not named here comes after them.
const LONGEST: [&str; 17] = [
    "guest_boot",
    "nri",
    "guest_numa",
    "hook_attacks",
    "whole_way_on_node",
    "guest_networkd",
    "guest_ways_in",
    "packages",
    "relay_on_node",
    "guest",
    "guest_stock_image",
    "guest_network_manager",
    "deploy",
    "guest_hot_plug",
    "guest_firmware",
    "guest_ifupdown",
    "guest_without_share",
];

/// A test program, as cargo built it.
struct Program {
    name: String,
    /// What `cargo test` calls it: `tests/guest/main.rs`, `unittests src/lib.rs`.
    title: String,
    /// Where `cargo test` runs it.
    package: PathBuf,
    /// How it is run alone.
    selection: String,
    executable: PathBuf,
}

impl Program {
    fn is_of_node(&self) -> bool {
        OF_THE_NODE.contains(&&*self.name)
    }
}

/// Builds the test programs and runs them all, also when some fail.
///
/// # Errors
/// When they cannot be built or started, or when some failed: their names.
pub fn run() -> Result<()> {
    let waiting = Mutex::new(in_order(build()?)?);
    let node = Mutex::new(());
    let failed = Mutex::new(Vec::new());
    let lane = || -> Result<()> {
        loop {
            let of_node = node.try_lock().ok();
            let Some(program) = next(&waiting, of_node.is_some()) else {
                return Ok(());
            };
            // Kept as long as one of the node runs.
            let _of_node = of_node.filter(|_| program.is_of_node());
            if !run_one(&program)? {
                locked(&failed).push(program.selection);
            }
        }
    };
    std::thread::scope(|scope| {
        let lanes: Vec<_> = (0..LANES).map(|_| scope.spawn(lane)).collect();
        lanes.into_iter().try_for_each(|lane| {
            lane.join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    })?;
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    if !failed.is_empty() {
        bail!(
            "{} targets failed:\n    {}",
            failed.len(),
            failed.join("\n    ")
        );
    }
    Ok(())
}

fn locked<T>(value: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

fn build() -> Result<Vec<Program>> {
    let output = cargo()
        .args(["test", "--locked", "--workspace", "--no-run"])
        .arg("--message-format=json-render-diagnostics")
        .stderr(Stdio::inherit())
        .output()
        .context("cargo cannot be started")?;
    if !output.status.success() {
        bail!("the tests do not build: cargo's words are above");
    }
    output
        .stdout
        .split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice::<Value>(line).ok())
        .filter(|message| message.pointer("/profile/test") == Some(&Value::Bool(true)))
        .filter(|message| message["executable"].is_string())
        .map(|message| program(&message).with_context(|| format!("cargo's message: {message}")))
        .collect()
}

fn program(message: &Value) -> Option<Program> {
    let text = |pointer: &str| message.pointer(pointer)?.as_str();
    let package = Path::new(text("/manifest_path")?).parent()?;
    let source = Path::new(text("/target/src_path")?).strip_prefix(package);
    let source = source.ok()?.display().to_string();
    let name = text("/target/name")?;
    // `path+file:///…/agent#dra-guest-agent@0.1.0`, or without the name where the directory has it.
    let (directory, id) = text("/package_id")?.rsplit_once('#')?;
    let id = match id.split_once('@') {
        Some((id, _)) => id,
        None => directory.rsplit('/').next()?,
    };
    let kind = text("/target/kind/0")?;
    let (title, selection) = match kind {
        "test" => (source, format!("--test {name}")),
        "bin" => (format!("unittests {source}"), format!("--bin {name}")),
        _ => (format!("unittests {source}"), "--lib".to_owned()),
    };
    Some(Program {
        name: name.to_owned(),
        title,
        package: package.to_owned(),
        selection: format!("-p {id} {selection}"),
        executable: text("/executable")?.into(),
    })
}

fn in_order(mut programs: Vec<Program>) -> Result<VecDeque<Program>> {
    for name in OF_THE_NODE.iter().chain(&LONGEST) {
        if !programs.iter().any(|program| program.name == *name) {
            bail!("there is no test program {name}: tests/src/side_by_side.rs names it");
        }
    }
    programs.sort_by_key(|program| {
        let at = LONGEST.iter().position(|name| *name == program.name);
        at.unwrap_or(LONGEST.len())
    });
    Ok(programs.into())
}

/// The first of those that wait; of the node's only where that is free.
fn next(waiting: &Mutex<VecDeque<Program>>, node_is_free: bool) -> Option<Program> {
    let mut waiting = locked(waiting);
    let at = waiting
        .iter()
        .position(|program| node_is_free || !program.is_of_node())?;
    waiting.remove(at)
}

/// Whether it passed.
fn run_one(program: &Program) -> Result<bool> {
    let mut output = tempfile::tempfile()?;
    let start = Instant::now();
    let status = command(program, &output)?
        .status()
        .with_context(|| format!("{} cannot be started", program.executable.display()))?;
    let seconds = start.elapsed().as_secs_f32();
    let mut out = std::io::stdout().lock();
    let executable = &program.executable;
    let shown = executable.strip_prefix(workspace()).unwrap_or(executable);
    writeln!(out, "     Running {} ({})", program.title, shown.display())?;
    std::io::Seek::rewind(&mut output)?;
    std::io::copy(&mut output, &mut out)?;
    if !status.success() {
        writeln!(out, "error: {}: {status}", program.selection)?;
    }
    writeln!(out, "{}: {seconds:.1} s\n", program.selection)?;
    Ok(status.success())
}

/// As cargo starts it.
fn command(program: &Program, output: &File) -> Result<Command> {
    let mut command = Command::new(&program.executable);
    command
        .current_dir(&program.package)
        .env("CARGO", env!("CARGO"))
        .env("CARGO_MANIFEST_DIR", &program.package)
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output.try_clone()?);
    Ok(command)
}
