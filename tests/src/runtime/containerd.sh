# containerd as the first process of a namespace, and what `one.sh` or `series.sh` ask of it.
# Arguments: DATA CONTAINERD CTR CRICTL HANDLER, then those of the script behind this one.
# DATA has containerd.toml, image.tar, cdi/, perhaps plugin, the command of one of NRI's, and for crictl pod.json.
set -eu
data=$1 containerd=$2 ctr=$3 crictl=$4 handler=$5
shift 5

mount -t tmpfs -o mode=0755 tmpfs /run
mount -t tmpfs -o mode=0755 tmpfs /var/lib
mkdir /run/cdi
for spec in "$data"/cdi/*; do if [ -e "$spec" ]; then cp "$spec" /run/cdi/; fi; done

"$containerd" --config "$data/containerd.toml" >"$data/containerd.log" 2>&1 &
until "$ctr" --connect-timeout 1s version >/dev/null 2>&1; do
    kill -0 $! # It has ended: so does this.
    sleep 0.1
done
"$ctr" --namespace k8s.io images import "$data/image.tar" >/dev/null
if [ -e "$data/plugin" ]; then
    sh -c "exec $(cat "$data/plugin")" >"$data/plugin.log" 2>&1 &
    until grep -q 'connected and synchronized' "$data/containerd.log"; do
        kill -0 $!
        sleep 0.1
    done
fi

call() { "$crictl" --runtime-endpoint=unix:///run/containerd/containerd.sock --image-endpoint=unix:///run/containerd/containerd.sock --timeout=60s "$@"; }
wait_for_exit() {
    while [ "$(call inspect --output go-template --template '{{.status.state}}' "$1")" != CONTAINER_EXITED ]; do
        sleep 0.05
    done
}
exit_code() { call inspect --output go-template --template '{{.status.exitCode}}' "$1"; }
