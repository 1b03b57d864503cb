#!/bin/bash
# Gets a kernel for aarch64 once, from Debian's packages, and makes an initramfs without the agent: vmlinuz, initrd.
# Prints the directory that holds them. It is named after the recipe: the files beside this one.
# Usage: build.sh    (needs apt, cpio, kmod, xz; runs nothing of aarch64)
set -euo pipefail

suite=trixie
recipe=$(cd "$(dirname "$0")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/dra-guest/images
directory=$cache/aarch64-$suite-$(cd "$recipe" && sha256sum build.sh init modules.txt | sha256sum | cut -c1-16)
if [ -e "$directory/complete" ]; then
    echo "$directory"
    exit
fi
echo "getting a kernel for aarch64 (once, about a minute)" >&2
mkdir -p "$cache"
scratch=$(mktemp -d "$cache/.build.XXXXXX")
trap 'rm -rf "$scratch"' EXIT

# An apt of its own, so that this machine's knows nothing of another architecture.
apt=$scratch/apt
mkdir -p "$apt"/{etc/apt.conf.d,etc/preferences.d,etc/sources.list.d,state/lists/partial,cache/archives/partial,packages,root}
: >"$apt/status"
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $("$recipe/../archive.sh") $suite main" \
    >"$apt/etc/sources.list"
options=(-o Dir::Etc="$apt/etc" -o Dir::State="$apt/state" -o Dir::Cache="$apt/cache"
    -o Dir::State::status="$apt/status" -o APT::Architecture=arm64 -o APT::Architectures=arm64
    -o APT::Sandbox::User=root --quiet=2)
apt-get "${options[@]}" update >&2
kernel=$(apt-cache "${options[@]}" depends linux-image-arm64 | awk '$1 == "Depends:" && /linux-image-/ { print $2; exit }')
(cd "$apt/packages" && apt-get "${options[@]}" download "$kernel" busybox-static >&2)
for package in "$apt"/packages/*.deb; do
    dpkg-deb --extract "$package" "$apt/root"
done

# Debian has /lib where /usr/lib is meant, or not, by package.
tree=$(find "$apt/root" -type d -path '*/lib/modules/*' -prune -print -quit)
version=$(basename "$tree")
base=${tree%/lib/modules/*}
depmod --basedir "$base" "$version"
initramfs=$scratch/initramfs
mkdir -p "$initramfs"/{bin,dev,proc,sys,run,etc,modules,usr/bin}
install -m 0755 "$recipe/init" "$initramfs/init"
install -m 0755 "$(find "$apt/root" -type f -path '*/bin/busybox' -print -quit)" "$initramfs/bin/busybox"
number=100
mapfile -t names < <(sed '/^#/d' "$recipe/modules.txt")
modprobe --dirname "$base" --set-version "$version" --show-depends --all "${names[@]}" |
    awk '$1 == "insmod" && !seen[$2]++ { print $2 }' | while read -r module; do
    xz -dc "$module" >"$initramfs/modules/$number-$(basename "$module" .xz)"
    number=$((number + 1))
done
(cd "$initramfs" && find . | cpio -o -H newc --quiet) >"$scratch/initrd"
cp "$(find "$apt/root/boot" -name 'vmlinuz-*' -print -quit)" "$scratch/vmlinuz"
rm -rf "$apt" "$initramfs"
: >"$scratch/complete"
rm -rf "$directory"
mv "$scratch" "$directory"
trap - EXIT
echo "$directory"
