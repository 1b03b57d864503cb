#!/bin/bash
# Makes a disk with the packages, labelled DRA-GUEST, for a stock image's cloud-init: see vm-images/cloud-init.
# Usage: package-disk.sh PACKAGES OUT    (PACKAGES: a directory with .deb and .rpm, as target/packages; needs xorriso)
set -euo pipefail

packages=${1:?the directory of the packages}
out=${2:?the image to write}
files=("$packages"/dra-guest-agent[_-]*)
if [ ! -e "${files[0]}" ]; then
    echo "package-disk.sh: there is no dra-guest-agent package in $packages: run 'make packages'" >&2
    exit 1
fi
# The times in the image are of the packages' files, or $SOURCE_DATE_EPOCH: the same packages give the same bytes.
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(stat --format=%Y "${files[0]}")}
xorrisofs -quiet -volid DRA-GUEST -joliet -rock -uid 0 -gid 0 --set_all_file_dates "@$SOURCE_DATE_EPOCH" \
    -output "$out" "${files[@]}"
