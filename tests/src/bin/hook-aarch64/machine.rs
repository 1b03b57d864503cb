//! The hook on an emulated aarch64 machine, with a kernel of Debian's.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use dra_guest_tests::command::stdout_of;
use dra_guest_tests::process::{Process, tail};
use dra_guest_tests::programs::{static_program_for, workspace};
use dra_guest_tests::wait;
use serde_json::Value;

use crate::TARGET;

const METADATA: &str = include_str!("../../../../cdi-hook/tests/container/vf-metadata.json");
const DOCUMENT: &str = include_str!("../../../../cdi-hook/tests/container/vf-document.json");
/// The machine is emulated, on a machine that does other things.
const PATIENCE: Duration = Duration::from_mins(5);

/// Each run of `init`: how it ends, and what it says.
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

pub(crate) fn fence() -> Result<()> {
    let recipe = workspace().join("vm-images/aarch64/build.sh");
    let output = Command::new(&recipe).stderr(Stdio::inherit()).output()?;
    ensure!(
        output.status.success(),
        "{} failed: its words are above",
        recipe.display()
    );
    let base = PathBuf::from(String::from_utf8(output.stdout)?.trim());

    let directory = tempfile::tempdir_in("/tmp")?;
    let initramfs = directory.path().join("initrd");
    with_hook(&base.join("initrd"), &initramfs)?;
    let serial = directory.path().join("serial.log");
    let line = format!(
        "-nodefaults -no-user-config -no-reboot -display none -machine virt -cpu max -accel tcg,thread=multi -m 512 -smp 2 \
         -kernel {} -initrd {} -serial file:{}",
        base.join("vmlinuz").display(),
        initramfs.display(),
        serial.display(),
    );
    let mut arguments: Vec<&str> = line.split_whitespace().collect();
    arguments.extend([
        "-append",
        "console=ttyAMA0 loglevel=4 panic=-1 rdinit=/hook/init",
    ]);
    let mut qemu = Process::start(
        "qemu",
        Path::new("qemu-system-aarch64"),
        arguments,
        directory.path(),
    )?;
    wait::until("the guest has said all", PATIENCE, || {
        qemu.check()?;
        let said = fs::read_to_string(&serial).unwrap_or_default();
        Ok(said.contains("the guest has said all").then_some(()))
    })
    .with_context(|| tail(&serial, 30))?;
    let said = fs::read_to_string(&serial)?;
    for line in said.lines().filter(|line| line.starts_with("kernel: ")) {
        println!("  {}", line.trim());
    }
    check(&said)
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

/// The initramfs, and behind it a second one with the hook: the kernel unpacks them one after the other.
fn with_hook(base: &Path, out: &Path) -> Result<()> {
    let tree = tempfile::tempdir()?;
    let hook = tree.path().join("hook");
    fs::create_dir(&hook)?;
    fs::copy(
        static_program_for("dra-cdi-hook", TARGET)?,
        hook.join("dra-cdi-hook"),
    )?;
    fs::copy(fence_test()?, hook.join("fence"))?;
    fs::write(hook.join("metadata.json"), METADATA)?;
    fs::write(hook.join("document.json"), DOCUMENT)?;
    fs::write(hook.join("init"), include_str!("init"))?;
    for program in ["init", "fence"] {
        fs::set_permissions(hook.join(program), fs::Permissions::from_mode(0o755))?;
    }
    let script = "cp \"$1\" \"$2\" && cd \"$3\" && find . | cpio -o -H newc --quiet >>\"$2\"";
    stdout_of(
        Command::new("sh")
            .args(["-c", script, "sh"])
            .args([base, out, tree.path()]),
    )?;
    Ok(())
}

/// Builds the test that tries the fence.
fn fence_test() -> Result<PathBuf> {
    let output = Command::new("cargo")
        .current_dir(workspace())
        .args([
            "test", "--quiet", "--locked", "--no-run", "--target", TARGET,
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
