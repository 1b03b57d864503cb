# One container that is run to its end: for ctr with its own arguments, for crictl without any, by container.json.
# What the container prints is on standard output, its exit code is that of this.
if [ $# -gt 0 ]; then
    exec "$ctr" --namespace k8s.io run --rm --snapshotter native "$@"
fi
pod=$(call runp --runtime "$handler" "$data/pod.json")
container=$(call create "$pod" "$data/container.json" "$data/pod.json")
call start "$container" >/dev/null
wait_for_exit "$container"
call logs "$container"
exit "$(exit_code "$container")"
