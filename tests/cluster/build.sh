#!/bin/bash
# Builds Kubernetes' own code once, outside the tree, and prints the directory that holds the programs.
# Usage: build.sh components    etcd, kube-apiserver, kube-scheduler, kube-controller-manager, kubelet,
#                               kubectl
#        build.sh driver        dra-driver, a DRA driver on upstream's library
# The directory is named after what they are built from. Needs Go; downloads modules.
set -euo pipefail

what=${1:?what: components or driver}
cd "$(dirname "$0")"
cache=${XDG_CACHE_HOME:-$HOME/.cache}/dra-guest/cluster
export CGO_ENABLED=0

case $what in
components) inputs=(components/go.* components/*/*.go) ;;
driver) inputs=(go.* cmd/dra-driver/*.go) ;;
*)
    echo "build.sh: '$what' is neither components nor driver" >&2
    exit 2
    ;;
esac

# Without these words the API server calls itself v0.0.0, and clients tell each other so.
version_flags() { # version
    local words=k8s.io/component-base/version major minor
    IFS=. read -r major minor _ <<<"${1#v}"
    echo "-s -w -X $words.gitVersion=$1 -X $words.gitMajor=$major -X $words.gitMinor=$minor"
}

build_components() { # into
    cd components
    echo "building etcd (once, about a minute)" >&2
    nice go build -trimpath -ldflags '-s -w' -o "$1/etcd" ./etcd
    local version
    version=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
    echo "building Kubernetes $version (once, about twelve minutes on two cores)" >&2
    nice go build -trimpath -ldflags "$(version_flags "$version")" -o "$1/kubernetes" ./kubernetes
    for name in kube-apiserver kube-scheduler kube-controller-manager kubelet kubectl; do
        ln -s kubernetes "$1/$name"
    done
}

build_driver() { # into
    echo "building the DRA driver (once, about a minute)" >&2
    nice go build -trimpath -ldflags '-s -w' -o "$1/dra-driver" ./cmd/dra-driver
}

key=$(sha256sum build.sh "${inputs[@]}" | sha256sum | cut -c1-16)
directory=$cache/$what-$key
if [ -e "$directory/complete" ]; then
    echo "$directory"
    exit
fi
if ! command -v go >/dev/null; then
    echo "build.sh: go is missing: install Go 1.26 or later, Kubernetes is built from Go modules" >&2
    exit 1
fi
mkdir -p "$cache"
exec 9>"$cache/$what.lock"
flock 9
if [ -e "$directory/complete" ]; then
    echo "$directory"
    exit
fi
scratch=$(mktemp -d "$cache/.build.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
"build_$what" "$scratch"
touch "$scratch/complete"
chmod 755 "$scratch"
rm -rf "$directory"
mv "$scratch" "$directory"
trap - EXIT
echo "$directory"
