//! A Debian guest with a config drive, as KubeVirt makes one for tagged devices, and with a virtiofs share that is not
//! the VM mount; and the package that is installed, upgraded and removed while it runs.
#![allow(missing_docs)]

mod drives;
mod package;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result, ensure};
use dra_guest_tests::cache;
use dra_guest_tests::command::stdout_of;
use dra_guest_tests::guest::{BakedImage, BaseImage, Guest, GuestOptions, NIC_PCI_ADDRESS};
use dra_guest_tests::packages::Packages;
use dra_guest_tests::process::Process;
use dra_guest_tests::programs::static_program;
use dra_guest_tests::suite::{self, Shared};
use dra_guest_tests::wait;
use dra_guest_tests::way::{NIC_MAC, Walk};
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) struct Told {
    pub(crate) guest: Guest,
    state: String,
    /// Of the node.
    pub(crate) files: TempDir,
    _share: Process,
    _image: BakedImage,
}

static TOLD: Shared<Told> = Shared::new(|| {
    let walk = Walk::new("guest_ways_in")?;
    let packages = [
        Packages::build_agent("0.1.0")?,
        Packages::build_agent("0.1.1")?,
    ];
    let image = BaseImage::get()?.bake_with(&static_program("dra-guest-agent")?, None, |tree| {
        fs::create_dir_all(tree.join("root"))?;
        for (built, name) in packages.iter().zip(["first.deb", "later.deb"]) {
            fs::copy(built.deb("dra-guest-agent")?, tree.join("root").join(name))?;
        }
        Ok(())
    })?;
    let files = tempfile::tempdir_in("/tmp")?;
    let path = |name: &str| files.path().join(name);
    let drive = config_drive(files.path(), "config-2", &tagged())?;
    let (other, socket) = (path("other"), path("other.socket"));
    fs::create_dir(&other)?;
    let share = other_share(&other, &socket, &walk.logs)?;
    let hardware = format!(
        "-drive if=none,id=config-drive,format=raw,readonly=on,file={} \
         -device virtio-blk-pci,drive=config-drive,bus=pcie.0 \
         -device pcie-root-port,id=drive-port,bus=pcie.0,chassis=9,slot=9 \
         -chardev socket,id=other,path={} -device vhost-user-fs-pci,chardev=other,tag=other,bus=pcie.0",
        drive.display(),
        socket.display()
    );
    let (guest, state) = Guest::boot(&GuestOptions {
        hardware: &hardware,
        ..GuestOptions::bare(&image, NIC_MAC.parse()?, &path("vsock"), &walk.logs)
    })?;
    Ok(Told {
        guest,
        state,
        _share: share,
        _image: image,
        files,
    })
});

/// What KubeVirt says of a NIC that is tagged.
fn tagged() -> Value {
    json!({
        "instance_id": "vm.default", "hostname": "vm", "uuid": "5d307ca9-b3ef-428c-8861-06e72d69f223",
        "devices": [{"type": "nic", "bus": "pci", "address": NIC_PCI_ADDRESS, "mac": NIC_MAC, "tags": ["fast"]}],
    })
}

/// What is on a config drive.
pub(crate) fn tree(files: &Path, label: &str, data: &Value) -> Result<PathBuf> {
    let tree = files.join(label);
    fs::create_dir_all(tree.join("openstack/latest"))?;
    fs::write(
        tree.join("openstack/latest/meta_data.json"),
        data.to_string(),
    )?;
    Ok(tree)
}

/// As KubeVirt's `pkg/cloud-init` writes it, by `xorrisofs`; there the label is `config-2`.
fn config_drive(files: &Path, label: &str, data: &Value) -> Result<PathBuf> {
    let tree = tree(files, label, data)?;
    let image = files.join(format!("{label}.iso"));
    stdout_of(
        Command::new("xorrisofs")
            .args(["-quiet", "-volid", label, "-joliet", "-rock", "-output"])
            .arg(&image)
            .arg(&tree),
    )?;
    Ok(image)
}

fn other_share(directory: &Path, socket: &Path, logs: &Path) -> Result<Process> {
    let mut process = Process::start(
        "virtiofsd",
        &cache::tool("virtiofsd")?,
        [
            format!("--socket-path={}", socket.display()),
            format!("--shared-dir={}", directory.display()),
            "--sandbox=none".to_owned(),
            "--readonly".to_owned(),
        ],
        logs,
    )?;
    process.wait_for_file(socket)?;
    Ok(process)
}

fn main() -> ExitCode {
    suite::run(
        &TOLD,
        &[
            ("another_share_is_no_vm_mount_and_no_failure", boots),
            ("the_config_drive_is_found_and_read", config_drive_is_read),
            (
                "the_drive_is_not_left_mounted_and_its_copy_is_roots",
                drive_is_left,
            ),
            ("a_device_of_a_config_drive_stays_its_managers", stays),
            (
                "of_two_config_drives_one_is_read_and_always_the_same",
                drives::two,
            ),
            ("a_drive_with_a_label_in_capitals_is_read", drives::capitals),
            (
                "the_vm_mount_comes_before_the_config_drive",
                vm_mount_comes_first,
            ),
            (
                "a_package_that_is_installed_on_a_guest_that_runs_takes_over",
                package::installed,
            ),
            ("an_upgrade_leaves_the_nics_as_they_are", package::upgraded),
            (
                "a_removal_leaves_the_nics_and_nothing_that_runs",
                package::removed,
            ),
            ("removed_and_put_back_it_runs_again", package::put_back),
            ("a_purge_leaves_nothing_in_etc_and_run", package::purged),
        ],
    )
}

fn boots(told: &mut Told) -> Result<()> {
    told.guest.expect_clean_boot(&told.state)?;
    let tags = told.guest.stdout_of("cat /sys/fs/virtiofs/*/tag")?;
    ensure!(tags.trim() == "other", "the guest's shares: {tags}");
    let mount = told.guest.stdout_of(
        "systemctl show --property=ActiveState --property=ConditionResult run-kubevirt.mount",
    )?;
    ensure!(mount.contains("ActiveState=inactive"), "{mount}");
    ensure!(mount.contains("ConditionResult=no"), "{mount}");
    Ok(())
}

pub(crate) fn status(told: &mut Told) -> Result<Value> {
    let text = told.guest.stdout_of("dra-guest-agent status --json")?;
    serde_json::from_str(&text).context(text)
}

fn config_drive_is_read(told: &mut Told) -> Result<()> {
    let status = status(told)?;
    let source = status.get("source").and_then(Value::as_str);
    ensure!(
        source == Some("/run/dra-guest-config-drive/meta_data.json"),
        "{status}"
    );
    let address = status.pointer("/devices/0/guestPciAddress");
    ensure!(address == Some(&json!(NIC_PCI_ADDRESS)), "{status}");
    Ok(())
}

fn drive_is_left(told: &mut Told) -> Result<()> {
    let mounts = told.guest.stdout_of("cat /proc/self/mounts")?;
    ensure!(!mounts.contains("iso9660"), "{mounts}");
    let mode = told
        .guest
        .stdout_of("stat --format='%a %U' /run/dra-guest-config-drive/meta_data.json")?;
    ensure!(mode.trim() == "600 root", "{mode}");
    Ok(())
}

/// It says which device there is, and nothing of its network.
fn stays(told: &mut Told) -> Result<()> {
    let drop_ins = told.guest.stdout_of("ls /run/systemd/network")?;
    ensure!(drop_ins.trim().is_empty(), "{drop_ins}");
    let check = told.guest.run("dra-guest-agent check")?;
    ensure!(check.code == 0, "{check:?}");
    Ok(())
}

fn vm_mount_comes_first(told: &mut Told) -> Result<()> {
    let document = json!({
        "apiVersion": "dra-guest/v1", "kind": "DeviceAttributes", "devices": [{
            "device": "nic",
            "network": {"interfaceName": "net1", "macAddress": NIC_MAC, "ipAddresses": ["192.0.2.5/24"]},
        }],
    });
    told.guest.stdout_of(&format!(
        "mkdir -p /run/kubevirt && echo '{document}' >/run/kubevirt/device-attributes.json"
    ))?;
    wait::until("the document is in force", wait::PATIENCE, || {
        let shown = told.guest.run("ip address show dev net1")?;
        Ok(shown.stdout.contains("192.0.2.5/24").then_some(()))
    })
}
