#!/bin/bash
# Brings a Debian machine to where the tests and the demo run. Says nothing when it is there.
# Usage: setup.sh test|bench
set -euo pipefail

directory=$(dirname "$0")
purpose=${1:-test}

if ! command -v cargo >/dev/null; then
    echo "setup.sh: cargo is missing: install rustup; it fetches the toolchain of rust-toolchain.toml" >&2
    exit 1
fi
if [ "$purpose" = bench ] && ! command -v go >/dev/null; then
    echo "setup.sh: go is missing: the benchmark compares with nvidia-cdi-hook, a Go program" >&2
    exit 1
fi
"$directory/packages.sh"
"$directory/tools.sh" "$purpose"
