//! `make test-vm-images`: builds an image by the recipe of mkosi, and an initramfs by each of the recipes of dracut and
//! initramfs-tools, in a Debian that has these programs, and boots them. Slow, and so not among the tests of `make test`.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result, ensure};
use dra_guest_tests::command::stdout_of;
use dra_guest_tests::guest::{
    BakedImage, BaseImage, Boot, Guest, GuestOptions, Machine, add_console,
};
use dra_guest_tests::packages::{DebianRoot, Packages};
use dra_guest_tests::programs::{static_program, workspace};
use dra_guest_tests::way::{METADATA, NIC_ADDRESSES, NIC_MAC, NIC_NAME, Node, Walk};

/// Where the builder has what the recipes need, as a checkout of the project has it.
const PACKAGES: &str = "target/packages";

fn main() -> ExitCode {
    let only: Vec<String> = std::env::args().skip(1).collect();
    let mut exit = ExitCode::SUCCESS;
    for (name, check) in [
        ("an_image_of_mkosi_boots", mkosi as fn() -> Result<()>),
        ("an_initramfs_of_dracut_names_the_nic", dracut),
        (
            "an_initramfs_of_initramfs_tools_names_the_nic",
            initramfs_tools,
        ),
    ] {
        if !only.is_empty() && !only.iter().any(|word| name.contains(word.as_str())) {
            continue;
        }
        match check() {
            Ok(()) => println!("{name}: ok"),
            Err(error) => {
                println!("{name}: FAILED: {error:#}");
                exit = ExitCode::FAILURE;
            }
        }
    }
    exit
}

/// A Debian with the programs that build images, and the agent's package beside them.
fn builder() -> Result<DebianRoot> {
    let root = DebianRoot::builder()?;
    let packages = Packages::build_agent("0.1.0")?;
    let directory = root.brought(PACKAGES);
    fs::create_dir_all(&directory)?;
    let package = packages.deb("dra-guest-agent")?;
    fs::copy(
        &package,
        directory.join("dra-guest-agent_0.1.0-1_amd64.deb"),
    )?;
    stdout_of(
        Command::new("cp")
            .arg("--recursive")
            .arg(workspace().join("vm-images"))
            .arg(root.brought("")),
    )?;
    Ok(root)
}

/// The disk starts by its own boot loader; the agent is the package's, and reports.
fn mkosi() -> Result<()> {
    let root = builder()?;
    let extra = root.brought("extra");
    fs::create_dir(&extra)?;
    add_console(&extra)?;
    root.stdout_of(
        "cd /mnt/vm-images/mkosi && mkdir -p /mnt/out && mkosi --distribution debian --extra-tree=/mnt/extra \
         --sandbox-tree=/etc/dra-guest-sandbox --kernel-command-line=console=ttyS0 --workspace-directory=/mnt \
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
    let (mut guest, state) = boot(&image, &node, &walk)?;
    guest.expect_clean_boot(&state)?;
    expect_nic(&mut guest)?;
    let claim = node.wait_for_report()?;
    let condition = claim.condition("dra-guest/Ready");
    let condition = condition.with_context(|| claim.table())?;
    ensure!(condition.status == "True", "{condition:?}");
    drop(relay);
    Ok(())
}

fn dracut() -> Result<()> {
    named_early(
        "dracut",
        "cp -r /mnt/vm-images/dracut/91dra-guest /usr/lib/dracut/modules.d/ && \
         dracut --force --no-hostonly --add dra-guest /mnt/out/initrd \"$(ls /usr/lib/modules)\"",
    )
}

fn initramfs_tools() -> Result<()> {
    named_early(
        "initramfs-tools",
        "cp -r /mnt/vm-images/initramfs-tools/. /etc/initramfs-tools/ && \
         mkinitramfs -o /mnt/out/initrd \"$(ls /usr/lib/modules)\"",
    )
}

/// Boots the Debian with the initramfs that the commands make. The agent's service is masked, so that what the NIC is
/// can be the initramfs' doing alone.
fn named_early(name: &str, commands: &str) -> Result<()> {
    let root = builder()?;
    root.stdout_of(&format!(
        "mkdir -p /mnt/out /mnt/bind && dpkg --install /mnt/{PACKAGES}/*.deb && {commands} && \
         systemctl --quiet mask dra-guest-agent.service && echo '/dev/vda / ext4 rw 0 1' >/etc/fstab && \
         cp /boot/vmlinuz-* /mnt/out/vmlinuz && : >/etc/machine-id && mount --bind / /mnt/bind && \
         truncate -s 3G /mnt/out/root.img && mkfs.ext4 -q -F -m 0 -E lazy_itable_init=1 -d /mnt/bind /mnt/out/root.img"
    ))?;
    let base = BaseImage::at(root.brought("out"));
    let image = base.bake(&static_program("dra-guest-agent")?, None)?;
    let (node, walk) = (Node::new()?, Walk::new(&format!("initramfs_of_{name}"))?);
    fs::write(node.document_file(), METADATA)?;
    let (mut guest, _) = boot(&image, &node, &walk)?;
    let state = guest.run("systemctl is-enabled dra-guest-agent.service")?;
    ensure!(state.stdout.trim() == "masked", "{state:?}");
    expect_nic(&mut guest)
}

fn boot(image: &BakedImage, node: &Node, walk: &Walk) -> Result<(Guest, String)> {
    let mut guest = Guest::start(&GuestOptions {
        image,
        nic: NIC_MAC.parse()?,
        share: Some(&node.vm_mount()),
        vsock: &node.vsock(),
        fw_cfg: None,
        smbios: None,
        machine: Machine::TwoNodes,
        hardware: "",
        logs: &walk.logs,
    })?;
    let logs = |logs: &Path| format!("the logs are in {}", logs.display());
    let state = guest.wait_until_up().with_context(|| logs(&walk.logs))?;
    Ok((guest, state))
}

fn expect_nic(guest: &mut Guest) -> Result<()> {
    let shown = guest.stdout_of(&format!("ip -o address show dev {NIC_NAME}"))?;
    for address in NIC_ADDRESSES {
        ensure!(shown.contains(address), "{address} is not in {shown}");
    }
    guest.stdout_of("dra-guest-agent check").map(|_| ())
}
