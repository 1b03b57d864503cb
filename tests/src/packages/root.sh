#!/bin/bash
# Makes a Debian 13 once: a directory in the cache. Prints it.
# Usage: root.sh minimal|builder    (as root; needs debootstrap)
#        minimal: with systemd, to install packages in
#        builder: that, with what builds images: mkosi, dracut, initramfs-tools, a kernel
set -euo pipefail

kind=${1:?which root: minimal or builder}
suite=trixie
cache=${XDG_CACHE_HOME:-$HOME/.cache}/dra-guest/roots
recipe=$(realpath "$0")
directory=$cache/$kind-$suite-$(sha256sum "$recipe" | cut -c1-16)
log=$directory.log
archive=$("$(dirname "$recipe")/../../../vm-images/archive.sh")

minimal() {
    debootstrap --variant=minbase --include=systemd,systemd-sysv,udev,initramfs-tools "$suite" "$1" "$archive"
}

builder() {
    local packages=(mkosi linux-image-amd64 systemd-boot systemd-boot-efi systemd-ukify systemd-repart
        dosfstools mtools e2fsprogs reprepro cpio zstd ovmf)
    # The package `dracut` and initramfs-tools exclude each other: without the scripts that it adds to kernel updates.
    packages+=(dracut-core dracut-network)
    cp --archive "$minimal" "$1"
    echo 'APT::Install-Recommends "false";' >"$1/etc/apt/apt.conf.d/90-few"
    in_root() { chroot "$1" env DEBIAN_FRONTEND=noninteractive "${@:2}"; }
    in_root "$1" apt-get --quiet=2 update
    in_root "$1" apt-get --quiet=2 --yes install "${packages[@]}"
    # What mkosi's apt asks by itself has archives that not every mirror carries (debian-debug, -security).
    mkdir -p "$1/etc/dra-guest-sandbox/etc/apt/sources.list.d"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $archive $suite main" \
        >"$1/etc/dra-guest-sandbox/etc/apt/sources.list"
    : >"$1/etc/dra-guest-sandbox/etc/apt/sources.list.d/mkosi.sources"
}

if [ ! -e "$directory.complete" ]; then
    # Before the lock, which is one for both.
    [ "$kind" != builder ] || minimal=$("$recipe" minimal)
    mkdir -p "$cache"
    exec 9>"$cache/lock"
    flock 9
fi
if [ ! -e "$directory.complete" ]; then
    echo "building a Debian 13 root, $kind (once, some minutes)" >&2
    rm -rf "$directory"
    exec 8>&2
    trap 'tail -n 20 "$log" >&8; echo "root.sh: it was not built: the whole log is $log" >&8' EXIT
    {
        "$kind" "$directory"
        rm -rf "$directory"/var/cache/apt/archives/*.deb "$directory"/var/lib/apt/lists/*
    } >"$log" 2>&1
    trap - EXIT
    : >"$directory.complete"
fi
echo "$directory"
