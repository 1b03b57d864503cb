#!/bin/bash
# Prints the machine's own archive of Debian: that of the first stanza or line of apt's sources.
set -euo pipefail

sources=(/etc/apt/sources.list.d/*.sources)
if [ -e "${sources[0]}" ]; then
    awk '/^URIs:/ { print $2; exit }' "${sources[@]}"
else
    awk '$1 == "deb" { for (i = 2; i <= NF; i++) if ($i !~ /^\[|\]$|=/) { print $i; exit } }' \
        /etc/apt/sources.list
fi
