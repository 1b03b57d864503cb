#!/bin/bash
# dracut: takes the agent into the initramfs, for a root that lies behind a NIC which needs its name or address early.
# Install the directory as /usr/lib/dracut/modules.d/91dra-guest; then dracut --force --add dra-guest.

check() {
    require_binaries /usr/bin/dra-guest-agent || return 1
    # Only where it is asked for.
    return 255
}

depends() {
    # The drivers of NICs are in kernel-network-modules: on Debian in the package dracut-network.
    echo systemd udev-rules kernel-network-modules
}

installkernel() {
    # Loaded where the initramfs runs, and maybe not where it is made.
    hostonly='' instmods virtiofs qemu_fw_cfg virtio_net
}

install() {
    inst_multiple /usr/bin/dra-guest-agent mkdir modprobe mount udevadm umount
    inst_multiple -o '/etc/dra-guest/*' '/etc/dra-guest/agent.d/*'
    inst_script "$moddir/dra-guest-initrd.sh" /usr/libexec/dra-guest/initrd
    inst_simple "$moddir/dra-guest-initrd.service" "$systemdsystemunitdir/dra-guest-initrd.service"
    $SYSTEMCTL --quiet --root "$initdir" add-wants initrd.target dra-guest-initrd.service
}
