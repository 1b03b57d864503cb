//! A Debian guest whose image does not have the agent: cloud-init installs the package at its first boot, with the
//! user-data of `vm-images/cloud-init`, from a disk that `vm-images/container-disk/package-disk.sh` made.
#![allow(missing_docs)]

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result, ensure};
use dra_guest_tests::command::stdout_of;
use dra_guest_tests::guest::{BakedImage, BaseImage, Guest, GuestOptions, Manager, wake};
use dra_guest_tests::packages::Packages;
use dra_guest_tests::programs::{static_program, workspace};
use dra_guest_tests::suite::{self, Shared};
use dra_guest_tests::way::{NIC_MAC, Walk};
use serde_json::json;
use tempfile::TempDir;

struct Stock {
    guest: Guest,
    state: String,
    _image: BakedImage,
    _files: TempDir,
}

static STOCK: Shared<Stock> = Shared::new(|| {
    let walk = Walk::new("guest_stock_image")?;
    let recipes = workspace().join("vm-images");
    let user_data = fs::read_to_string(recipes.join("cloud-init/user-data.yaml"))?;
    let image = BaseImage::get()?.bake_with(&static_program("dra-guest-agent")?, None, |tree| {
        take_agent_out(tree)?;
        wake(tree, Manager::CloudInit)?;
        let seed = tree.join("var/lib/cloud/seed/nocloud");
        fs::create_dir_all(&seed)?;
        fs::write(seed.join("meta-data"), "instance-id: stock\n")?;
        // The image has neither resize2fs nor ssh-keygen.
        let without = "resize_rootfs: false\nssh_deletekeys: false\nssh_genkeytypes: []\n";
        fs::write(seed.join("user-data"), format!("{user_data}{without}"))?;
        fs::write(seed.join("network-config"), "network: {config: disabled}\n")?;
        Ok(())
    })?;
    let files = tempfile::tempdir_in("/tmp")?;
    let path = |name: &str| files.path().join(name);
    let packages = Packages::build_agent("0.1.0")?;
    let disk = path("packages.iso");
    stdout_of(
        Command::new(recipes.join("container-disk/package-disk.sh"))
            .arg(
                packages
                    .deb("dra-guest-agent")?
                    .parent()
                    .context("a directory")?,
            )
            .arg(&disk),
    )?;
    let document = json!({
        "apiVersion": "dra-guest/v1", "kind": "DeviceAttributes",
        "devices": [{"device": "nic", "network": {"interfaceName": "net1", "macAddress": NIC_MAC}}],
    });
    fs::write(path("fw_cfg"), document.to_string())?;
    let hardware = format!(
        "-drive if=none,id=packages,format=raw,readonly=on,file={} -device virtio-blk-pci,drive=packages,bus=pcie.0",
        disk.display()
    );
    let (guest, state) = Guest::boot(&GuestOptions {
        fw_cfg: Some(&path("fw_cfg")),
        hardware: &hardware,
        ..GuestOptions::bare(&image, NIC_MAC.parse()?, &path("vsock"), &walk.logs)
    })?;
    Ok(Stock {
        guest,
        state,
        _image: image,
        _files: files,
    })
});

/// What the harness bakes into every image, taken out of the tree again.
fn take_agent_out(tree: &Path) -> Result<()> {
    for path in [
        "usr/bin",
        "usr/libexec/dra-guest",
        "usr/lib/systemd/system-preset",
    ] {
        fs::remove_dir_all(tree.join(path))?;
    }
    for directory in [
        "usr/lib/systemd/system",
        "etc/systemd/system/multi-user.target.wants",
    ] {
        for entry in fs::read_dir(tree.join(directory))? {
            let path = entry?.path();
            if !path.ends_with("dra-guest-test-console.service") {
                fs::remove_file(path)?;
            }
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    suite::run(
        &STOCK,
        &[
            ("the_package_is_installed_at_the_first_boot", installed),
            ("the_attributes_are_applied", applied),
        ],
    )
}

fn installed(stock: &mut Stock) -> Result<()> {
    let version = stock
        .guest
        .stdout_of("dpkg-query --show --showformat='${Status} ${Version}' dra-guest-agent")?;
    ensure!(version == "install ok installed 0.1.0-1", "{version}");
    stock.guest.expect_clean_boot(&stock.state)?;
    let enabled = stock
        .guest
        .stdout_of("systemctl is-enabled dra-guest-agent.service")?;
    ensure!(enabled.trim() == "enabled", "{enabled}");
    Ok(())
}

fn applied(stock: &mut Stock) -> Result<()> {
    stock.guest.stdout_of("dra-guest-agent check")?;
    stock.guest.stdout_of("ip link show dev net1 up")?;
    Ok(())
}
