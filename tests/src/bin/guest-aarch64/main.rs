//! `make test-aarch64`: the aarch64 programs under user emulation, and a guest on an emulated aarch64 machine whose
//! agent configures a virtio NIC and reports over vsock to the relay; and the packages for aarch64. Slow, and so not among the tests of `make test`.

mod packages;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use dra_guest_tests::cache;
use dra_guest_tests::command::stdout_of;
use dra_guest_tests::guest::GUEST_CID;
use dra_guest_tests::process::{Process, tail};
use dra_guest_tests::programs::{static_program_for, workspace};
use dra_guest_tests::wait;
use dra_guest_tests::way::{METADATA, NIC_ADDRESSES, NIC_MAC, NIC_NAME, Node, Walk};

const TARGET: &str = "aarch64-unknown-linux-musl";
/// The machine is emulated, on a machine that does other things.
const PATIENCE: Duration = Duration::from_mins(5);

fn main() -> ExitCode {
    for (name, check) in [
        (
            "the_programs_run_under_user_emulation",
            programs as fn() -> Result<()>,
        ),
        ("a_guest_configures_its_nic_and_reports", guest),
        (
            "the_packages_are_those_of_this_machine_but_for_the_architecture",
            packages::same_but_for_the_architecture,
        ),
    ] {
        match check() {
            Ok(()) => println!("{name}: ok"),
            Err(error) => {
                println!("{name}: FAILED: {error:#}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

fn programs() -> Result<()> {
    for name in [
        "dra-guest-agent",
        "dra-cdi-hook",
        "dra-guest-nri",
        "dra-guest-relay",
    ] {
        let program = static_program_for(name, TARGET)?;
        let said = stdout_of(
            Command::new("qemu-aarch64-static")
                .arg(&program)
                .arg("--version"),
        )?;
        ensure!(said.starts_with(name), "{said}");
        println!("  {}", said.trim());
    }
    let agent = static_program_for("dra-guest-agent", TARGET)?;
    let scratch = tempfile::tempdir()?;
    let file = scratch.path().join("metadata.json");
    fs::write(&file, METADATA)?;
    stdout_of(
        Command::new("qemu-aarch64-static")
            .arg(agent)
            .arg("validate")
            .arg(file),
    )?;
    Ok(())
}

fn guest() -> Result<()> {
    let logs = Walk::new("guest_aarch64")?.logs;
    let recipe = workspace().join("vm-images/aarch64/build.sh");
    let output = Command::new(&recipe).stderr(Stdio::inherit()).output()?;
    ensure!(
        output.status.success(),
        "{} failed: its words are above",
        recipe.display()
    );
    let base = PathBuf::from(String::from_utf8(output.stdout)?.trim());

    let node = Node::new()?;
    fs::write(node.document_file(), METADATA)?;
    let initramfs = logs.join("initrd");
    with_agent(&base.join("initrd"), &initramfs)?;
    let relay = node.start_relay(&logs)?;
    let sockets = tempfile::tempdir_in("/tmp")?;
    let vsock = sockets.path().join("vsock");
    let mut device = Process::start(
        "vhost-device-vsock",
        &cache::tool("vhost-device-vsock")?,
        [
            "--vm".to_owned(),
            format!(
                "guest-cid={GUEST_CID},socket={},uds-path={}",
                vsock.display(),
                node.vsock().display()
            ),
        ],
        &logs,
    )?;
    device.wait_for_file(&vsock)?;
    let serial = logs.join("serial.log");
    let line = format!(
        "-nodefaults -no-user-config -display none -machine virt,memory-backend=m0 -cpu max -accel tcg,thread=multi \
         -m 512 -smp 2 -object memory-backend-memfd,id=m0,size=512M,share=on -kernel {} -initrd {} \
         -serial file:{} -netdev hubport,id=nic,hubid=1 -device virtio-net-pci,netdev=nic,mac={NIC_MAC} \
         -chardev socket,id=vsock,path={} -device vhost-user-vsock-pci,chardev=vsock \
         -fw_cfg name=opt/org.kubevirt/device-attributes,file={}",
        base.join("vmlinuz").display(),
        initramfs.display(),
        serial.display(),
        vsock.display(),
        node.document_file().display(),
    );
    let mut arguments: Vec<&str> = line.split_whitespace().collect();
    arguments.extend(["-append", "console=ttyAMA0 loglevel=4 rdinit=/init"]);
    let mut qemu = Process::start("qemu", Path::new("qemu-system-aarch64"), arguments, &logs)?;

    wait::until("the guest has said all", PATIENCE, || {
        qemu.check()?;
        let said = fs::read_to_string(&serial).unwrap_or_default();
        Ok(said.contains("the guest has said all").then_some(()))
    })
    .with_context(|| tail(&serial, 30))?;
    let said = fs::read_to_string(&serial)?;
    for part in [&["kernel: aarch64", NIC_NAME][..], &NIC_ADDRESSES[..]].concat() {
        ensure!(
            said.contains(part),
            "`{part}` is not in:\n{}",
            tail(&serial, 30)
        );
    }
    let claim = node.wait_for_report()?;
    let Some(condition) = claim.condition("dra-guest/Ready") else {
        bail!("the claim has no condition: {}", claim.table());
    };
    ensure!(condition.status == "True", "{condition:?}");
    println!("  {}", condition.message);
    drop((qemu, device, relay));
    Ok(())
}

/// The initramfs, and behind it a second one with the agent: the kernel unpacks them one after the other.
fn with_agent(base: &Path, out: &Path) -> Result<()> {
    let tree = tempfile::tempdir()?;
    let directory = tree.path().join("usr/bin");
    fs::create_dir_all(&directory)?;
    fs::copy(
        static_program_for("dra-guest-agent", TARGET)?,
        directory.join("dra-guest-agent"),
    )?;
    let script = "cp \"$1\" \"$2\" && cd \"$3\" && find . | cpio -o -H newc --quiet >>\"$2\"";
    stdout_of(
        Command::new("sh")
            .args(["-c", script, "sh"])
            .args([base, out, tree.path()]),
    )?;
    Ok(())
}
