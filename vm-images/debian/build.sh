#!/bin/bash
# Builds the Debian 13 guest once: root.img (ext4, sparse), vmlinuz, initrd.
# Prints the directory that holds them. It is named after the recipe: the files beside this one.
# Usage: build.sh    (as root; needs debootstrap, e2fsprogs, cpio, busybox-static)
set -euo pipefail

suite=trixie
size=2G
recipe=$(cd "$(dirname "$0")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/dra-guest/images

key=$(cd "$recipe" && sha256sum build.sh init ./*.txt | sha256sum | cut -c1-16)
directory=$cache/debian-$suite-$key
if [ -e "$directory/complete" ]; then
    echo "$directory"
    exit
fi

if [ "$(id -u)" -ne 0 ]; then
    echo "build.sh: debootstrap needs root: run it as root" >&2
    exit 1
fi
mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9
if [ -e "$directory/complete" ]; then
    echo "$directory"
    exit
fi

echo "building the Debian 13 guest image (once, about two minutes)" >&2
scratch=$(mktemp -d "$cache/.build.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
root=$scratch/root
log=$cache/debian-$suite-$key.log

entries() { sed -e '/^#/d' -e '/^$/d' "$1"; }

debootstrap --variant=minbase --include="$(entries "$recipe/packages.txt" | paste -sd,)" \
    "$suite" "$root" "$("$recipe/../archive.sh")" >"$log" 2>&1 || {
    tail -n 20 "$log" >&2
    echo "build.sh: debootstrap failed: the whole log is $log" >&2
    exit 1
}

version=$(basename "$root"/usr/lib/modules/*)
tree=$root/usr/lib/modules/$version
# The files, relative to the tree of modules, of the named modules and of what they need, those first.
files() {
    chroot "$root" modprobe -S "$version" --show-depends --all "$@" |
        awk -v tree="/modules/$version/" '$1 == "insmod" && !seen[$2]++ {
            print substr($2, index($2, tree) + length(tree)) }'
}

# The initramfs: busybox, init, the modules of the root disk in the order of loading.
initramfs=$scratch/initramfs
mkdir -p "$initramfs"/{bin,dev,modules,root}
install -m 0755 "$recipe/init" "$initramfs/init"
install -m 0755 /bin/busybox "$initramfs/bin/busybox"
number=100
for module in $(files virtio_pci virtio_blk ext4); do
    xz -dc "$tree/$module" >"$initramfs/modules/$number-$(basename "$module" .xz)"
    number=$((number + 1))
done
(cd "$initramfs" && find . | cpio -o -H newc --quiet) >"$scratch/initrd"
cp "$root/boot/vmlinuz-$version" "$scratch/vmlinuz"

# Modules: the listed ones, unpacked, because unpacking under emulation costs seconds.
mapfile -t names < <(entries "$recipe/modules.txt")
for module in $(files "${names[@]}"); do
    mkdir -p "$scratch/modules/$(dirname "$module")"
    xz -dc "$tree/$module" >"$scratch/modules/${module%.xz}"
done
rm -rf "$tree/kernel"
mv "$scratch/modules/kernel" "$tree/kernel"
rmdir "$scratch/modules"
chroot "$root" depmod "$version"

entries "$recipe/masked-units.txt" | while read -r unit; do
    ln -sf /dev/null "$root/etc/systemd/system/$unit"
done
entries "$recipe/dormant-units.txt" | xargs systemctl --quiet --root="$root" disable
entries "$recipe/dormant-files.txt" | while read -r file; do
    mkdir -p "$root$(dirname "$file")"
    ln -sf /dev/null "$root$file"
done
echo dra-guest-vm >"$root/etc/hostname"
# Empty, not absent: an id of its own for each boot, without the passes of a first boot.
: >"$root/etc/machine-id"
rm -rf "$root"/boot/* "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/* \
    "$root"/usr/share/{doc,man,locale}/* "$root"/var/cache/{apt/*.bin,debconf/*-old} "$root"/var/log/*.log
# Nothing of /usr is newer than what /etc and /var were made from: no update passes at boot.
touch -r "$root/usr" "$root/etc/.updated" "$root/var/.updated"

truncate -s "$size" "$scratch/root.img"
mkfs.ext4 -q -F -d "$root" -E lazy_itable_init=1 -m 0 "$scratch/root.img"
rm -rf "$root" "$initramfs"
: >"$scratch/complete"
rm -rf "$directory"
mv "$scratch" "$directory"
trap - EXIT
echo "$directory"
