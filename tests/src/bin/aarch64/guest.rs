//! The programs for aarch64, and a guest with the agent.

use std::fs;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use dra_guest_tests::command::stdout_of;
use dra_guest_tests::guest::{AARCH64, Aarch64Guest, Aarch64Options};
use dra_guest_tests::programs::static_program_for;
use dra_guest_tests::way::{METADATA, NIC_ADDRESSES, NIC_MAC, NIC_NAME, Node, Walk};

pub(crate) fn programs() -> Result<()> {
    for name in [
        "dra-guest-agent",
        "dra-cdi-hook",
        "dra-guest-nri",
        "dra-guest-relay",
    ] {
        let said = emulated(name, &["--version"])?;
        ensure!(said.starts_with(name), "{said}");
        println!("  {}", said.trim());
    }
    let scratch = tempfile::tempdir()?;
    let file = scratch.path().join("metadata.json");
    fs::write(&file, METADATA)?;
    let file = file.to_string_lossy();
    emulated("dra-guest-agent", &["validate", &*file]).map(|_| ())
}

fn emulated(program: &str, arguments: &[&str]) -> Result<String> {
    let program = static_program_for(program, AARCH64)?;
    let mut emulator = Command::new("qemu-aarch64-static");
    stdout_of(emulator.arg(program).args(arguments))
}

/// Its attributes come by fw_cfg, its word goes by vsock.
pub(crate) fn configures_and_reports() -> Result<()> {
    let logs = Walk::new("guest_aarch64")?.logs;
    let node = Node::new()?;
    fs::write(node.document_file(), METADATA)?;
    let relay = node.start_relay(&logs)?;
    let tree = tempfile::tempdir()?;
    let programs = tree.path().join("usr/bin");
    fs::create_dir_all(&programs)?;
    let agent = static_program_for("dra-guest-agent", AARCH64)?;
    fs::copy(agent, programs.join("dra-guest-agent"))?;
    let hardware = format!(
        "-netdev hubport,id=nic,hubid=1 -device virtio-net-pci,netdev=nic,mac={NIC_MAC} \
         -fw_cfg name=opt/org.kubevirt/device-attributes,file={}",
        node.document_file().display(),
    );
    let mut guest = Aarch64Guest::start(&Aarch64Options {
        tree: tree.path(),
        init: "/init",
        vsock: Some(&node.vsock()),
        hardware: &hardware,
        logs: &logs,
    })?;
    let said = guest.all_it_says()?;
    for part in [&["kernel: aarch64", NIC_NAME][..], &NIC_ADDRESSES[..]].concat() {
        ensure!(said.contains(part), "`{part}` is not in:\n{said}");
    }
    let claim = node.wait_for_report()?;
    let condition = claim.condition("dra-guest/Ready");
    let condition = condition.with_context(|| claim.table())?;
    ensure!(condition.status == "True", "{condition:?}");
    println!("  {}", condition.message);
    drop((guest, relay));
    Ok(())
}
