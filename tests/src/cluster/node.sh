# The first process of a node, in mount and PID namespaces of its own: containerd and the kubelet at
# their usual places, which are directories of DATA. It ends when one of them does.
# Arguments: DATA LOGS KUBELET CONTAINERD CTR
set -eu
data=$1 logs=$2 kubelet=$3 containerd=$4 ctr=$5

mount --make-rshared /
for directory in /run /var/lib /var/log; do
    mount -t tmpfs -o mode=0755 tmpfs $directory
done
keep() { # where in the node, where on the machine
    mkdir -p "$1" "$2"
    mount --bind "$2" "$1"
}
keep /var/lib/kubelet "$data/kubelet"
keep /var/lib/containerd "$data/containerd"
keep /run/cdi "$data/cdi"
keep /var/log/pods "$logs/pods"

"$containerd" --config "$data/containerd.toml" >"$logs/containerd.log" 2>&1 &
until "$ctr" --connect-timeout 1s version >/dev/null 2>&1; do
    kill -0 $! # It has ended: so does the node.
    sleep 0.1
done
"$ctr" --namespace k8s.io images import "$data/image.tar" >"$logs/image.log" 2>&1
"$kubelet" --config="$data/kubelet.json" --kubeconfig="$data/kubelet.kubeconfig" \
    --hostname-override="$(cat "$data/node-name")" >"$logs/kubelet.log" 2>&1 &
wait -n
echo "containerd or the kubelet has ended: see its log" >&2
exit 1
