//! The hook on an emulated machine, with a kernel of Debian's: each way through a run, and every attempt to leave its
//! fence.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use dra_guest_tests::guest::{AARCH64, Aarch64Guest, Aarch64Options};
use dra_guest_tests::programs::{cargo, static_program_for};
use dra_guest_tests::way::Walk;
use serde_json::Value;

const METADATA: &str = include_str!("../../../../cdi-hook/tests/container/vf-metadata.json");
const DOCUMENT: &str = include_str!("../../../../cdi-hook/tests/container/vf-document.json");
/// Each run of `fence-init`: how it ends, and what it says.
const RESULTS: &[(&str, &str, &str)] = &[
    (
        "written",
        "0",
        "wrote /var/run/device-attributes/device-attributes.json, devices: 1",
    ),
    ("the_bytes", "0", ""),
    ("unchanged", "0", "is already as it should be"),
    ("replaced", "0", "wrote "),
    ("names", "0", ""),
    ("exported", "0", "wrote "),
    ("broken", "1", "the JSON text ends too early"),
    ("broken_and_skipped", "0", "nothing is written"),
    ("no_metadata", "0", "is not a mount of its own"),
    ("given", "0", "wrote "),
    ("fifo", "1", "this is a FIFO"),
    ("link", "0", "the container has no DRA metadata"),
    ("magic_link", "1", "cannot be resolved safely"),
    ("no_vm_mount", "1", "is not in the container"),
    ("no_mount", "1", "is not a mount of its own"),
    ("another_volume", "1", "is not an emptyDir of this pod"),
    ("full", "1", "No space left on device"),
    ("endless_state", "1", "did not end within 8 s"),
    ("fence", "0", "attempts to leave the fence: "),
];

pub(crate) fn holds() -> Result<()> {
    let logs = Walk::new("hook_aarch64")?.logs;
    let tree = tempfile::tempdir()?;
    lay_out(&tree.path().join("hook"))?;
    let mut guest = Aarch64Guest::start(&Aarch64Options {
        tree: tree.path(),
        init: "/hook/init",
        vsock: None,
        hardware: "",
        logs: &logs,
    })?;
    check(&guest.all_it_says()?)
}

fn check(said: &str) -> Result<()> {
    // What one run said is between the result before it and its own.
    let mut rest = said;
    for (name, code, words) in RESULTS {
        let (run, after) = rest
            .split_once(&format!("result {name} "))
            .with_context(|| format!("no result of {name}: {rest}"))?;
        let run = run.rsplit_once("result ").map_or(run, |(_, run)| run);
        let (found, after) = after.split_once('\n').unwrap_or((after, ""));
        ensure!(
            found.trim() == *code && run.contains(words),
            "{name}: {found}, not {code}, or no {words:?}: {run}"
        );
        rest = after;
    }
    // Each layer is there.
    ensure!(!said.contains("not restricted"), "{said}");
    for line in said.lines().filter(|line| line.starts_with("attempts")) {
        println!("  {}", line.trim());
    }
    println!("  runs of the hook as they should be: {}", RESULTS.len());
    Ok(())
}

fn lay_out(hook: &Path) -> Result<()> {
    fs::create_dir(hook)?;
    let program = static_program_for("dra-cdi-hook", AARCH64)?;
    fs::copy(program, hook.join("dra-cdi-hook"))?;
    fs::copy(fence_test()?, hook.join("fence"))?;
    fs::write(hook.join("metadata.json"), METADATA)?;
    fs::write(hook.join("document.json"), DOCUMENT)?;
    fs::write(hook.join("init"), include_str!("fence-init"))?;
    for program in ["init", "fence"] {
        fs::set_permissions(hook.join(program), fs::Permissions::from_mode(0o755))?;
    }
    Ok(())
}

/// Builds the test that tries the fence.
fn fence_test() -> Result<PathBuf> {
    let output = cargo()
        .args([
            "test", "--quiet", "--locked", "--no-run", "--target", AARCH64,
        ])
        .args(["--package=dra-cdi-hook", "--test=fence"])
        .arg("--message-format=json-render-diagnostics")
        .stderr(Stdio::inherit())
        .output()
        .context("cargo cannot be started")?;
    ensure!(output.status.success(), "the test does not build");
    output
        .stdout
        .split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice::<Value>(line).ok())
        .filter(|message| message.pointer("/target/name") == Some(&"fence".into()))
        .find_map(|message| Some(PathBuf::from(message.get("executable")?.as_str()?)))
        .context("cargo named no test")
}
