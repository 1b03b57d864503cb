#!/bin/bash
# Installs the Debian packages that build, tests and demo use. Says nothing when they are there.
# Usage: packages.sh [PACKAGE...]    (more of them, for what is not run every day)
set -euo pipefail

packages=(
    # build
    gcc gcc-aarch64-linux-gnu libc6-dev-arm64-cross libcap-ng-dev libseccomp-dev
    # guest
    qemu-system-x86 qemu-utils debootstrap debian-archive-keyring busybox-static cpio e2fsprogs xorriso dosfstools mtools xz-utils
    # container
    podman runc crun
    # cluster
    containernetworking-plugins openssl
    # packages
    rpm groff-base fish zsh
    # network namespaces, benchmarks
    iproute2 jq musl-tools numactl strace util-linux systemd
    "$@"
)
# The first QEMU with an emulated igb NIC.
qemu=8.0

installed() { [ "$(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }
version_of() { dpkg-query --show --showformat='${source:Upstream-Version}' "$1" 2>/dev/null; }
new_enough() { installed qemu-system-x86 && dpkg --compare-versions "$(version_of qemu-system-x86)" ge $qemu; }

missing=()
for package in "${packages[@]}"; do
    installed "$package" || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ] && new_enough; then
    exit
fi

if [ "$(id -u)" -ne 0 ]; then
    echo "packages.sh: needs root to install ${missing[*]:-qemu-system-x86 $qemu or later}: run 'sudo make setup'" >&2
    exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt_get() { apt-get --quiet=2 --option=DPkg::Lock::Timeout=300 "$@"; }

candidate() { apt-cache policy qemu-system-x86 | awk '$1 == "Candidate:" { print $2 }'; }

# Debian 12 has the newer QEMU in its backports: the machine's own source of updates, another suite.
add_backports() {
    local codename file stanza
    codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
    file=/etc/apt/sources.list.d/dra-guest-backports.sources
    for sources in /etc/apt/sources.list.d/*.sources; do
        [ -e "$sources" ] || continue
        stanza=$(awk -v suite="$codename-updates" -v RS= \
            '{ for (i = 1; i <= NF; i++) if ($i == suite) { print; exit } }' "$sources")
        if [ -n "$stanza" ]; then
            sed "s/^Suites:.*/Suites: $codename-backports/" <<<"$stanza" >"$file"
            return
        fi
    done
    stanza=$(sed -n "/^deb .*$codename-updates /{s/$codename-updates/$codename-backports/;p;q}" \
        /etc/apt/sources.list 2>/dev/null || true)
    if [ -z "$stanza" ]; then
        echo "packages.sh: no source of $codename-updates to derive one of $codename-backports from:" \
            "add it, for QEMU $qemu or later" >&2
        exit 1
    fi
    echo "$stanza" >"${file%.sources}.list"
}

echo "installing: ${missing[*]:-qemu-system-x86 $qemu or later}" >&2
apt_get update
if ! new_enough; then
    options=()
    if dpkg --compare-versions "$(candidate)" lt "1:$qemu"; then
        codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
        options=(--target-release "$codename-backports")
        if ! apt-cache policy | grep -q "$codename-backports"; then
            add_backports
            apt_get update
        fi
    fi
    apt_get install --yes --no-install-recommends "${options[@]}" qemu-system-x86 >/dev/null
fi
# All of QEMU is of one version, wherever that came from.
qemu_version=$(dpkg-query --show --showformat='${Version}' qemu-system-x86)
apt_get install --yes --no-install-recommends "${packages[@]/%qemu-system-arm/qemu-system-arm=$qemu_version}" >/dev/null
