#!/bin/bash
# Builds the packages of the last commit anew, from a copy of the sources elsewhere, with a target directory elsewhere,
# and compares them byte by byte with those that `make packages` made here. Says which files in them differ.
# Usage: reproduce.sh TARGET...    (CARGO_HOME is to be the same: messages of dependencies name files below it)
set -euo pipefail

workspace=$(cd "$(dirname "$0")/.." && pwd)
cd "$workspace"
packages=$(cd "${CARGO_TARGET_DIR:-target}/packages" && pwd)
if ! git diff --quiet HEAD; then
    echo "reproduce.sh: there are changes that are not committed: what is built anew is the commit" >&2
    exit 2
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/sources"
git archive HEAD | tar --extract --directory="$scratch/sources"
time=$(git log -1 --format=%ct)
SOURCE_DATE_EPOCH=$time CARGO_TARGET_DIR=$scratch/elsewhere "$scratch/sources/packaging/build.sh" \
    --out "$scratch/packages" "${@:?which targets, for example x86_64-unknown-linux-musl}"

unpack() { # package, into
    mkdir "$2"
    case $1 in
    *.deb) dpkg-deb --raw-extract "$1" "$2" ;;
    *.rpm) rpm2cpio "$1" | (cd "$2" && cpio --extract --make-directories --preserve-modification-time --quiet) ;;
    esac
}

differ=0
for package in "$scratch"/packages/*; do
    name=$(basename "$package")
    if cmp "$package" "$packages/$name"; then
        echo "the same bytes: $name"
        continue
    fi
    differ=1
    unpack "$package" "$scratch/$name.anew"
    unpack "$packages/$name" "$scratch/$name.here"
    (cd "$scratch" && diff --recursive --brief "$name.here" "$name.anew") || true
done
exit $differ
