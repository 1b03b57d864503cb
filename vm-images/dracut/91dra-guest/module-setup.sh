#!/bin/bash
# dracut: takes the agent into the initramfs, for a root that lies behind a NIC which needs its name or address early.
# Install the directory as /usr/lib/dracut/modules.d/91dra-guest; then dracut --force --add dra-guest.

check() {
    require_binaries /usr/bin/dra-guest-agent || return 1
    # Only where it is asked for.
    return 255
}

depends() {
    echo udev-rules
}

installkernel() {
    instmods virtiofs qemu_fw_cfg virtio_net
}

install() {
    inst_multiple /usr/bin/dra-guest-agent grep mount umount mkdir
    inst_multiple -o '/etc/dra-guest/*' '/etc/dra-guest/agent.d/*'
    inst_hook pre-mount 10 "$moddir/dra-guest.sh"
}
