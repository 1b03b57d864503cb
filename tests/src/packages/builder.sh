#!/bin/bash
# Makes a Debian 13 once that builds images: with mkosi, dracut, initramfs-tools and a kernel. A directory in the cache;
# prints it.
# Usage: builder.sh    (as root; needs debootstrap)
set -euo pipefail

suite=trixie
cache=${XDG_CACHE_HOME:-$HOME/.cache}/dra-guest/roots
here=$(cd "$(dirname "$0")" && pwd)
directory=$cache/builder-$suite-$(sha256sum "$here/builder.sh" | cut -c1-16)
if [ -e "$directory.complete" ]; then
    echo "$directory"
    exit
fi

mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9
if [ ! -e "$directory.complete" ]; then
    echo "building a Debian 13 that builds images (once, about three minutes)" >&2
    rm -rf "$directory"
    log=$directory.log
    archive=$("$here/../../../vm-images/archive.sh")
    # dracut-core: the package `dracut` and initramfs-tools exclude each other.
    packages=(mkosi dracut-core initramfs-tools linux-image-amd64 systemd-boot systemd-boot-efi systemd-ukify systemd-repart
        dosfstools mtools e2fsprogs reprepro cpio zstd kmod ovmf)
    {
        debootstrap --variant=minbase --include=systemd,systemd-sysv,udev "$suite" "$directory" "$archive" &&
            echo 'APT::Install-Recommends "false";' >"$directory/etc/apt/apt.conf.d/90-few" &&
            chroot "$directory" env DEBIAN_FRONTEND=noninteractive sh -ec \
                'apt-get --quiet=2 update && apt-get --quiet=2 --yes install "$@" && apt-get clean' sh "${packages[@]}"
    } >"$log" 2>&1 || {
        tail -n 20 "$log" >&2
        echo "builder.sh: it was not built: the whole log is $log" >&2
        exit 1
    }
    # What mkosi's apt asks by itself has archives that not every mirror carries (debian-debug, -security).
    mkdir -p "$directory/etc/dra-guest-sandbox/etc/apt/sources.list.d"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $archive $suite main" \
        >"$directory/etc/dra-guest-sandbox/etc/apt/sources.list"
    : >"$directory/etc/dra-guest-sandbox/etc/apt/sources.list.d/mkosi.sources"
    : >"$directory.complete"
fi
echo "$directory"
