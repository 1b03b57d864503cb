//! Config drives beside one another, one of them vfat, which has its label in capitals.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};
use dra_guest_tests::command::stdout_of;
use dra_guest_tests::guest::FOREIGN_MAC;
use dra_guest_tests::wait;
use serde_json::{Value, json};

use crate::{Told, status, tree};

const RELOAD: &str = "{ systemctl restart dra-guest-config-drive.service || \
     { journalctl --no-pager --lines=20 --unit=dra-guest-config-drive.service; exit 1; }; }";
const LABELS: &str = "/dev/disk/by-label";

/// The address of the device that the status shows.
fn shown(told: &mut Told) -> Result<Option<String>> {
    let status = status(told)?;
    let mac = status.pointer("/devices/0/macAddress");
    Ok(mac.and_then(Value::as_str).map(str::to_owned))
}

/// As `OpenStack`'s nova writes it with `config_drive_format=vfat`.
fn vfat(files: &Path, label: &str, data: &Value) -> Result<PathBuf> {
    let tree = tree(files, label, data)?;
    let image = files.join(format!("{label}.vfat"));
    fs::File::create(&image)?.set_len(64 << 20)?;
    stdout_of(Command::new("mkfs.vfat").args(["-n", label]).arg(&image))?;
    stdout_of(
        Command::new("mcopy")
            .args(["-s", "-i"])
            .arg(&image)
            .arg(tree.join("openstack"))
            .arg("::/"),
    )?;
    Ok(image)
}

/// The second is labelled in capitals, and names another NIC. The one of before comes first.
pub(crate) fn two(told: &mut Told) -> Result<()> {
    let data =
        json!({"devices": [{"type": "nic", "bus": "pci", "mac": FOREIGN_MAC, "tags": ["slow"]}]});
    let drive = vfat(told.files.path(), "CONFIG-2", &data)?;
    let before = shown(told)?;
    told.guest
        .tell_qemu(&json!({"execute": "blockdev-add", "arguments": {
            "node-name": "second-drive", "driver": "raw", "read-only": true,
            "file": {"driver": "file", "filename": drive, "read-only": true},
        }}))?;
    told.guest.tell_qemu(&json!({"execute": "device_add", "arguments": {
        "driver": "virtio-blk-pci", "id": "second", "drive": "second-drive", "bus": "drive-port",
    }}))?;
    wait::until("the drive has its link", wait::PATIENCE, || {
        let links = told.guest.stdout_of(&format!("ls {LABELS}"))?;
        Ok(links.contains("CONFIG-2").then_some(()))
    })?;
    told.guest.stdout_of(RELOAD)?;
    // Longer than the two seconds between two looks.
    told.guest.stdout_of("sleep 5")?;
    let now = shown(told)?;
    ensure!(before.is_some() && before == now, "{before:?}: {now:?}");
    Ok(())
}

/// Once the first is gone.
pub(crate) fn capitals(told: &mut Told) -> Result<()> {
    told.guest.stdout_of(&format!(
        "drive=$(basename $(readlink -f {LABELS}/config-2)); \
         echo 1 >$(readlink -f /sys/block/$drive/device/..)/remove; \
         udevadm settle; ! test -e {LABELS}/config-2 && {RELOAD}"
    ))?;
    wait::until("the other drive is read", wait::PATIENCE, || {
        let mac = shown(told)?;
        Ok((mac.as_deref() == Some(FOREIGN_MAC)).then_some(()))
    })?;
    let mounts = told.guest.stdout_of("cat /proc/self/mounts")?;
    ensure!(!mounts.contains("vfat"), "{mounts}");
    Ok(())
}
