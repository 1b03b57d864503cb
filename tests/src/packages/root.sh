#!/bin/bash
# Makes a minimal Debian 13 with systemd once: a directory in the cache. Prints it.
# Usage: root.sh    (as root; needs debootstrap)
set -euo pipefail

suite=trixie
cache=${XDG_CACHE_HOME:-$HOME/.cache}/dra-guest/roots
here=$(cd "$(dirname "$0")" && pwd)
directory=$cache/debian-$suite-$(sha256sum "$here/root.sh" | cut -c1-16)
if [ -e "$directory.complete" ]; then
    echo "$directory"
    exit
fi

mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9
if [ ! -e "$directory.complete" ]; then
    echo "building a Debian 13 root for the packages' tests (once, about a minute)" >&2
    rm -rf "$directory"
    log=$directory.log
    debootstrap --variant=minbase --include=systemd,systemd-sysv,udev,initramfs-tools "$suite" "$directory" \
        "$("$here/../../../vm-images/archive.sh")" >"$log" 2>&1 || {
        tail -n 20 "$log" >&2
        echo "root.sh: debootstrap failed: the whole log is $log" >&2
        exit 1
    }
    rm -rf "$directory"/var/cache/apt/archives/*.deb "$directory"/var/lib/apt/lists/*
    : >"$directory.complete"
fi
echo "$directory"
