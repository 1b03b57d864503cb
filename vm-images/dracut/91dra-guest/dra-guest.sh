#!/bin/sh
# Applies the attributes once, before the root is mounted. What cannot be had then does not hold up the boot.

modprobe -q virtiofs
modprobe -q qemu_fw_cfg
udevadm settle --timeout=10
mkdir -p /run/kubevirt
dra_guest_mounted=
if grep -qsx device-attributes /sys/fs/virtiofs/*/tag &&
    mount -t virtiofs -o ro,nosuid,nodev,noexec device-attributes /run/kubevirt; then
    dra_guest_mounted=yes
fi
/usr/bin/dra-guest-agent apply
[ -z "$dra_guest_mounted" ] || umount /run/kubevirt
unset dra_guest_mounted
:
