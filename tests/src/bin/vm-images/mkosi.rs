//! The image of `vm-images/mkosi`.

use std::fs;

use anyhow::{Context as _, Result, ensure};
use dra_guest_tests::guest::{BakedImage, Boot, Guest, GuestOptions, add_console};
use dra_guest_tests::way::{METADATA, NIC_MAC, Node, Walk};

use crate::{builder, expect_nic};

/// The disk starts by its own boot loader; the agent is the package's, and reports.
pub(crate) fn boots() -> Result<()> {
    let root = builder()?;
    let extra = root.brought("extra");
    fs::create_dir(&extra)?;
    add_console(&extra)?;
    root.stdout_of(
        "cd /mnt/vm-images/mkosi && mkdir -p /mnt/out && mkosi --distribution debian --extra-tree=/mnt/extra \
         --sandbox-tree=/etc/dra-guest-sandbox --kernel-command-line=\"console=ttyS0 nohz=off highres=off\" --workspace-directory=/mnt \
         --output-directory=/mnt/out build && cp /usr/share/OVMF/OVMF_CODE_4M.fd /mnt/out",
    )?;
    let directory = tempfile::tempdir()?;
    let (disk, firmware) = (
        directory.path().join("disk.raw"),
        directory.path().join("firmware"),
    );
    fs::rename(root.brought("out/dra-guest.raw"), &disk)?;
    fs::rename(root.brought("out/OVMF_CODE_4M.fd"), &firmware)?;
    drop(root);
    let image = BakedImage::of_others(disk, Boot::Firmware(firmware), directory);

    let (node, walk) = (Node::new()?, Walk::new("image_of_mkosi")?);
    fs::write(node.document_file(), METADATA)?;
    let relay = node.start_relay(&walk.logs)?;
    let (mut guest, state) = Guest::boot(&GuestOptions {
        share: Some(&node.vm_mount()),
        ..GuestOptions::bare(&image, NIC_MAC.parse()?, &node.vsock(), &walk.logs)
    })?;
    guest.expect_clean_boot(&state)?;
    guest.stdout_of("dpkg --verify dra-guest-agent")?;
    expect_nic(&mut guest)?;
    let claim = node.wait_for_report()?;
    let condition = claim.condition("dra-guest/Ready");
    let condition = condition.with_context(|| claim.table())?;
    ensure!(condition.status == "True", "{condition:?}");
    drop((guest, relay));
    Ok(())
}

/// Read by mkosi, which tells what it would do: the archive of Fedora is not to be had from Debian's.
pub(crate) fn of_fedora() -> Result<()> {
    let root = builder()?;
    let summary = root.stdout_of(
        "cd /mnt/vm-images/mkosi && mkosi --distribution fedora summary && \
         mkosi --distribution debian summary",
    )?;
    for part in [
        "kernel-core",
        "linux-image-amd64",
        "qemu-guest-agent",
        "dra-guest-agent",
        "/mnt/target/packages",
    ] {
        ensure!(summary.contains(part), "{part} is not in:\n{summary}");
    }
    Ok(())
}
