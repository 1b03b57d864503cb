//! Its commands under user emulation, which passes system calls on to this machine's kernel. Not `create-container`:
//! there is no `seccomp` then, no Landlock, and `statx` tells no mounts apart, so that it writes nothing.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use dra_guest_tests::command::stdout_of;
use dra_guest_tests::guest::AARCH64;
use dra_guest_tests::programs::{static_program, static_program_for, workspace};
use serde_json::Value;

/// The same output and files as the program of this machine.
pub(crate) fn commands() -> Result<()> {
    let hook = static_program_for("dra-cdi-hook", AARCH64)?;
    let native = static_program("dra-cdi-hook")?;
    let emulated = || {
        let mut command = Command::new("qemu-aarch64-static");
        command.arg(&hook);
        command
    };
    let directory = tempfile::tempdir()?;
    let path = |name: &str| directory.path().join(name);

    let path_option = "--hook-path=/usr/local/bin/dra-cdi-hook";
    let spec = stdout_of(emulated().args(["spec", path_option]))?;
    ensure!(spec == stdout_of(Command::new(&native).args(["spec", path_option]))?);

    let node = path("node");
    fs::create_dir(&node)?;
    let root = format!("--root={}", node.display());
    let install = stdout_of(emulated().args(["install", &root]))?;
    ensure!(install.contains("wrote"), "{install}");
    ensure!(fs::read(node.join("usr/local/bin/dra-cdi-hook"))? == fs::read(&hook)?);
    let doctor = |mut command: Command| -> Result<Value> {
        let output = command.args(["doctor", "--json", &root]).output()?;
        Ok(serde_json::from_slice(&output.stdout)?)
    };
    let (report, other) = (doctor(emulated())?, doctor(Command::new(&native))?);
    // Which of the programs is the installed one they see differently.
    for part in ["cdiDirectories", "askers", "kubevirt"] {
        ensure!(report.get(part) == other.get(part), "{report}");
    }
    stdout_of(emulated().args(["uninstall", &root]))?;
    ensure!(!node.join("usr").exists(), "uninstall leaves something");

    let claims = workspace().join("attributes/tests/claims/api-server-1.37-by-kubectl");
    let generate = |mut command: Command, out: &Path| {
        command.arg("generate").arg(path_option);
        command.arg("--claim").arg(claims.join("claim.json"));
        command.arg("--slices").arg(claims.join("slices.json"));
        command.arg("--out").arg(out);
        command.arg("--metadata-out").arg(path("claims"));
        stdout_of(&mut command)
    };
    let device = generate(emulated(), &path("cdi"))?;
    ensure!(device == generate(Command::new(&native), &path("native"))?);
    let uid = device.trim().rsplit('=').next().context("no UID")?;
    let file = format!("dra-guest-claim_{uid}.json");
    ensure!(fs::read(path("cdi").join(&file))? == fs::read(path("native").join(&file))?);
    println!("  spec, install, doctor, uninstall, generate");
    Ok(())
}
