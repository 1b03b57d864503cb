#!/bin/bash
# Lays out the agent's files as a package installs them, units enabled by the preset.
# Usage: agent-tree.sh AGENT TREE    (AGENT: the static binary; TREE: a directory, made if absent)
set -euo pipefail

agent=${1:?the binary of the agent}
tree=${2:?the directory to lay out}
systemd=$(cd "$(dirname "$0")/../systemd" && pwd)

install -D -m 0755 "$agent" "$tree/usr/bin/dra-guest-agent"
for unit in "$systemd"/*.service "$systemd"/*.mount; do
    install -D -m 0644 "$unit" "$tree/usr/lib/systemd/system/$(basename "$unit")"
done
for program in "$systemd"/libexec/*; do
    install -D -m 0755 "$program" "$tree/usr/libexec/dra-guest/$(basename "$program")"
done
install -D -m 0644 "$systemd/80-dra-guest.preset" \
    "$tree/usr/lib/systemd/system-preset/80-dra-guest.preset"
systemctl --quiet --root="$tree" preset dra-guest-agent.service
