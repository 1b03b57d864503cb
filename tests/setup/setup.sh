#!/bin/bash
# Brings a Debian machine to where the tests and the demo run. Says nothing when it is there.
# Usage: setup.sh PURPOSE...    (guest, lint, packages, cluster, runtimes, bench: what tools.txt has for them)
set -euo pipefail

directory=$(dirname "$0")

if ! command -v cargo >/dev/null; then
    echo "setup.sh: cargo is missing: install rustup; it fetches the toolchain of rust-toolchain.toml" >&2
    exit 1
fi
"$directory/packages.sh"
for purpose in "${@:?for what: guest, lint, packages, cluster, runtimes, bench}"; do
    case $purpose in cluster | runtimes | bench)
        if ! command -v go >/dev/null; then
            echo "setup.sh: go is missing: install Go 1.26 or later, Kubernetes, containerd and the hook that the" \
                "benchmark compares with are Go programs" >&2
            exit 1
        fi
        ;;
    esac
    "$directory/tools.sh" "$purpose"
    if [ "$purpose" = cluster ]; then
        for what in components driver; do
            "$directory/../cluster/build.sh" "$what" >/dev/null
        done
    fi
done
