#!/bin/bash
# Builds the packages: dra-guest-agent and dra-guest-node, as .deb and .rpm, for each target.
# Usage: build.sh [--version VERSION] [--out DIR] [--only agent|node] TARGET...
#        (DIR: target/packages; TARGET: a musl target of Rust)
# The same sources give the same bytes: times are those of the last commit, or $SOURCE_DATE_EPOCH.
set -euo pipefail

workspace=$(cd "$(dirname "$0")/.." && pwd)
cd "$workspace"
mkdir -p "${CARGO_TARGET_DIR:-target}"
build_directory=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)
export CARGO_TARGET_DIR=$build_directory
out=$build_directory/packages
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
variants=(agent node)
targets=()
while [ $# -gt 0 ]; do
    case $1 in
    --version) version=${2:?the version} && shift 2 ;;
    --only) variants=("${2:?agent or node}") && shift 2 ;;
    --out) out=${2:?the directory} && shift 2 ;;
    -*) echo "build.sh: unknown option $1" >&2 && exit 2 ;;
    *) targets+=("$1") && shift ;;
    esac
done
: "${targets[0]:?which targets, for example x86_64-unknown-linux-musl}"
time=${SOURCE_DATE_EPOCH:-}
if [ -z "$time" ]; then
    time=$(git log -1 --format=%ct 2>/dev/null) || {
        echo "build.sh: this is no git repository: set SOURCE_DATE_EPOCH to the time that files are to have" >&2
        exit 1
    }
fi
# For those that pack alone: a build script (ring's) would take it for a change, and all would be built anew.
unset SOURCE_DATE_EPOCH

# Of Debian's form (deb-changelog(5)), and with nothing to say of Debian: what changed is in the other one.
debian_changelog() {
    printf '%s (%s-1) unstable; urgency=medium\n\n  * Version %s: see changelog.gz.\n\n -- %s  %s\n' "$1" "$version" "$version" \
        "$(sed -n 's/^maintainer = "\(.*\)"/\1/p' packaging/Cargo.toml)" "$(LC_ALL=C date --utc --date="@$time" --rfc-email)"
}

tool() { tests/setup/tools.sh path "$1"; }
mkdir -p "$out"
out=$(cd "$out" && pwd)
# What goes into packages is laid out in one place: one run at a time.
exec 9>"$build_directory/packages.lock"
flock 9

for target in "${targets[@]}"; do
    arch=${target%%-*}
    programs=()
    for variant in "${variants[@]}"; do
        case $variant in
        agent) programs+=(dra-guest-agent) ;;
        node) programs+=(dra-cdi-hook dra-guest-nri dra-guest-relay) ;;
        *) echo "build.sh: there is no package of the $variant" >&2 && exit 2 ;;
        esac
    done
    # One by one: what is built together is built with the features that any of it asks for.
    for program in "${programs[@]}"; do
        cargo build --quiet --locked --release --target "$target" --package "$program"
    done
    files=$build_directory/$target/release/package-files
    cargo run --quiet --locked --package dra-guest-packaging -- --target "$target" --out "$files"
    gzip -9n "$files/COPYRIGHT-library.html" "$files"/*/man/*
    gzip -9nc CHANGELOG.md >"$files/changelog.gz"
    for variant in "${variants[@]}"; do
        mkdir -p "$files/dra-guest-$variant"
        debian_changelog "dra-guest-$variant" | gzip -9nc >"$files/dra-guest-$variant/changelog.Debian.gz"
    done
    # Printed by this machine's hook: a spec is the same on every architecture.
    cargo run --quiet --locked --package dra-cdi-hook -- spec --hook-path /usr/bin/dra-cdi-hook \
        >"$files/dra-guest-vm.json"

    # What an .rpm is packed from: copies, as it has the times of its files where these are before the sources'.
    copies=$build_directory/$target/release/package-copies
    rm -rf "$copies"
    mkdir -p "$copies/target/$target/release"
    cp --recursive Cargo.toml packaging systemd deploy "$copies"
    cp --recursive "$files" "${programs[@]/#/$build_directory/$target/release/}" "$copies/target/$target/release"
    find "$copies" -exec touch --date="@$time" {} +

    for variant in "${variants[@]}"; do
        choice=()
        [ $variant = agent ] || choice=(--variant "$variant")
        SOURCE_DATE_EPOCH=$time "$(tool cargo-deb)" --package dra-guest-packaging --locked --no-build --no-strip --quiet \
            --target "$target" --deb-version "$version-1" --output "$out/" "${choice[@]}"
        generate=$(tool cargo-generate-rpm)
        (cd "$copies" && "$generate" --package packaging --arch "$arch" --target "$target" --target-dir target \
            --source-date "$time" --output "$out/" "${choice[@]}" --set-metadata "version = \"$version\"")
    done
    rm -rf "$copies"
done
