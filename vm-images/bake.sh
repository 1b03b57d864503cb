#!/bin/bash
# Bakes a tree of files into a copy of an ext4 image, without mounting it.
# Usage: bake.sh IMAGE TREE OUT    (files become root's; modes and links are the tree's)
set -euo pipefail

image=$(realpath "${1:?the image to start from}")
tree=$(realpath "${2:?the tree of files to add}")
out=$(realpath "${3:?the image to write}")

scratch=$(mktemp "$out.XXXXXX")
read_back=$(mktemp)
trap 'rm -f "$scratch" "$read_back"' EXIT
cp --sparse=always "$image" "$scratch"

# debugfs reports a directory that is there already, and a file that is not there to be replaced, and
# goes on; it ends with 0 in any case. So its words are dropped, and the outcome is read back below.
cd "$tree"
{
    find . -mindepth 1 -type d -printf 'mkdir "/%P"\n'
    find . -mindepth 1 ! -type d -printf 'rm "/%P"\n'
    find . -mindepth 1 -type f -printf \
        'write "%p" "/%P"\nsif "/%P" mode 0100%m\nsif "/%P" uid 0\nsif "/%P" gid 0\n'
    find . -mindepth 1 -type l -printf 'symlink "/%P" "%l"\n'
} | debugfs -w -f - "$scratch" >/dev/null 2>&1

find . -mindepth 1 -type f -printf '%P\n' | while read -r file; do
    debugfs -R "dump \"/$file\" \"$read_back\"" "$scratch" 2>/dev/null
    if ! cmp -s "$file" "$read_back"; then
        echo "bake.sh: $file did not get into $image whole: is there room in it?" >&2
        exit 1
    fi
done
mv "$scratch" "$out"
