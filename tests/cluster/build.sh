#!/bin/bash
# Builds the components of a Kubernetes node once: etcd, and one program that is kube-apiserver,
# kube-scheduler, kube-controller-manager or kubelet, whichever it is called.
# Prints the directory that holds them. It is named after what they are built from.
# Usage: build.sh    (needs Go; downloads modules)
set -euo pipefail

source=$(cd "$(dirname "$0")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/dra-guest/cluster

key=$(cd "$source" && sha256sum build.sh components/go.* components/*/*.go | sha256sum | cut -c1-16)
directory=$cache/components-$key
if [ -e "$directory/complete" ]; then
    echo "$directory"
    exit
fi

if ! command -v go >/dev/null; then
    echo "build.sh: go is missing: the components of Kubernetes are built from Go modules" >&2
    exit 1
fi
mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9
if [ -e "$directory/complete" ]; then
    echo "$directory"
    exit
fi

scratch=$(mktemp -d "$cache/.build.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
cd "$source/components"
export CGO_ENABLED=0

echo "building etcd (once, about a minute)" >&2
nice go build -trimpath -ldflags '-s -w' -o "$scratch/etcd" ./etcd

# Without these words the API server calls itself v0.0.0, and clients tell each other so.
version=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
IFS=. read -r major minor _ <<<"${version#v}"
words=k8s.io/component-base/version
echo "building Kubernetes $version (once, about twelve minutes on two cores)" >&2
nice go build -trimpath \
    -ldflags "-s -w -X $words.gitVersion=$version -X $words.gitMajor=$major -X $words.gitMinor=$minor" \
    -o "$scratch/kubernetes" ./kubernetes
for name in kube-apiserver kube-scheduler kube-controller-manager kubelet; do
    ln -s kubernetes "$scratch/$name"
done

touch "$scratch/complete"
chmod 755 "$scratch"
rm -rf "$directory"
mv "$scratch" "$directory"
trap - EXIT
echo "$directory"
