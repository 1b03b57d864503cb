//! The initramfs of `vm-images/dracut` and that of `vm-images/initramfs-tools`.

use std::fs;

use anyhow::{Context as _, Result, ensure};
use dra_guest_tests::guest::{BaseImage, Guest, GuestOptions};
use dra_guest_tests::programs::static_program;
use dra_guest_tests::way::{METADATA, NIC_MAC, NIC_NAME, Node, Walk};
use serde_json::Value;

use crate::{PACKAGES, builder, expect_addresses, expect_nic, interface};

/// What the initramfs sees after the agent's step and before its root is mounted: a script of the test's in it.
const WITNESS: &str = "\
#!/bin/sh
if [ \"${1:-}\" = prereqs ]; then
    echo dra-guest
    exit 0
fi
/usr/bin/dra-guest-agent inspect --json >/run/witness-interfaces
cat /proc/mounts >/run/witness-mounts
";

pub(crate) fn of_dracut() -> Result<()> {
    let module = "/usr/lib/dracut/modules.d/92witness";
    names_the_nic(
        "dracut",
        &format!(
            "cp -r /mnt/vm-images/dracut/91dra-guest /usr/lib/dracut/modules.d/ && mkdir {module} && \
             echo 'install() {{ inst_hook pre-mount 50 /mnt/witness.sh; }}' >{module}/module-setup.sh && \
             dracut --force --no-hostonly --compress 'zstd -1' --add 'dra-guest witness' /mnt/out/initrd \"$(ls /usr/lib/modules)\""
        ),
    )
}

pub(crate) fn of_initramfs_tools() -> Result<()> {
    names_the_nic(
        "initramfs-tools",
        "cp -r /mnt/vm-images/initramfs-tools/. /etc/initramfs-tools/ && \
         echo 'COMPRESSLEVEL=1' >/etc/initramfs-tools/conf.d/level && \
         cp /mnt/witness.sh /etc/initramfs-tools/scripts/init-premount/witness && \
         mkinitramfs -o /mnt/out/initrd \"$(ls /usr/lib/modules)\"",
    )
}

/// Boots the Debian with the initramfs that the commands make. The agent's service is masked, so that what the NIC is
/// can be the initramfs' doing alone; then without attributes, which holds up nothing.
fn names_the_nic(name: &str, commands: &str) -> Result<()> {
    let root = builder()?;
    fs::write(root.brought("witness.sh"), WITNESS)?;
    root.stdout_of(&format!(
        "chmod 0755 /mnt/witness.sh && mkdir -p /mnt/out /mnt/bind && dpkg --install /mnt/{PACKAGES}/*.deb && \
         {{ {commands}; }} && systemctl --quiet mask dra-guest-agent.service && \
         echo '/dev/vda / ext4 rw 0 1' >/etc/fstab && cp /boot/vmlinuz-* /mnt/out/vmlinuz && : >/etc/machine-id && \
         mount --bind / /mnt/bind && truncate -s 3G /mnt/out/root.img && \
         mkfs.ext4 -q -F -m 0 -E lazy_itable_init=1 -d /mnt/bind /mnt/out/root.img"
    ))?;
    let base = BaseImage::at(root.brought("out"));
    let image = base.bake(&static_program("dra-guest-agent")?, None)?;
    let (node, walk) = (Node::new()?, Walk::new(&format!("initramfs_of_{name}"))?);
    fs::write(node.document_file(), METADATA)?;
    let (nic, vsock) = (NIC_MAC.parse()?, node.vsock());
    let options = GuestOptions::bare(&image, nic, &vsock, &walk.logs);
    {
        let (mut guest, _) = Guest::boot(&GuestOptions {
            share: Some(&node.vm_mount()),
            ..options
        })?;
        let state = guest.run("systemctl is-enabled dra-guest-agent.service")?;
        ensure!(state.stdout.trim() == "masked", "{state:?}");
        let nic =
            witnessed(&mut guest, NIC_NAME)?.context("the initramfs had not named the NIC")?;
        expect_addresses(&nic).context("in the initramfs")?;
        expect_nic(&mut guest)?;
    }
    let (mut guest, _) = Guest::boot(&options)?;
    let nic = witnessed(&mut guest, NIC_NAME)?;
    ensure!(nic.is_none(), "nobody told the guest of {nic:?}");
    Ok(())
}

/// The interface of that name as the initramfs saw it.
fn witnessed(guest: &mut Guest, name: &str) -> Result<Option<Value>> {
    let mounts = guest.stdout_of("cat /run/witness-mounts")?;
    let root = ["/root ", "/sysroot "];
    ensure!(
        !root.iter().any(|root| mounts.contains(root)),
        "the root was mounted before: {mounts}"
    );
    interface(&guest.stdout_of("cat /run/witness-interfaces")?, name)
}
