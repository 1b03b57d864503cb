#!/bin/bash
# Builds the tools of tools.txt that are not there yet, each once, outside the tree.
# Usage: tools.sh PURPOSE         builds those of the purpose: guest, lint, packages, cluster, runtimes or bench
#        tools.sh path PROGRAM    prints where the program is
set -euo pipefail

purpose=${1:?for what: guest, lint, packages, cluster, runtimes or bench; or path}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/dra-guest/tools
list=$(dirname "$0")/tools.txt

build() { # with what, crate or module, version, program, directory of its own, features
    local with=$1 source=$2 version=$3 program=$4 directory=$5 features=$6
    echo "building $program $version (once, a few minutes)" >&2
    mkdir -p "$cache"
    scratch=$(mktemp -d "$cache/.$program.XXXXXX")
    trap 'rm -rf "$scratch"' EXIT
    case $with in
    cargo)
        # Neither speed nor size of these tools matters enough to wait for a fat link.
        # Built away from this workspace, whose target directory and settings are not theirs.
        (cd "$scratch" && env -u RUSTFLAGS CARGO_TARGET_DIR="$scratch/target" \
            CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
            CARGO_PROFILE_RELEASE_DEBUG=false CARGO_PROFILE_RELEASE_STRIP=true \
            cargo install --locked --quiet --features "$features" --root "$scratch/root" --version "$version" "$source")
        ;;
    go)
        (cd "$scratch" && GOFLAGS=-trimpath CGO_CFLAGS="-O2 -Wno-deprecated-declarations" \
            GOBIN="$scratch/root/bin" \
            go install -ldflags '-s -w' "$source@$version")
        ;;
    *)
        echo "tools.txt: '$with' builds nothing: write cargo or go" >&2
        return 2
        ;;
    esac
    rm -rf "$directory"
    mv "$scratch/root" "$directory"
    rm -rf "$scratch"
    trap - EXIT
}

if [ "$purpose" = path ]; then
    awk -v program="${2:?the program}" -v cache="$cache" '!/^#/ && $4 == program {
        print cache "/" program "-" $3 "/bin/" program; found = 1 }
        END { exit !found }' "$list"
    exit
fi

while read -r with source version program for features <&3; do
    case $with in '#'* | '') continue ;; esac
    [ "$for" = "$purpose" ] || continue
    directory=$cache/$program-$version
    [ -x "$directory/bin/$program" ] && continue
    build "$with" "$source" "$version" "$program" "$directory" "$features"
done 3<"$list"
