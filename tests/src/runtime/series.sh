# The containers of the files that are named, in turn, again and again in one pod, each run to its end and removed.
# Arguments: ROUNDS FILE... Prints `NUMBER ID` of each, with the number of its file. A container that does not end with
# 0 ends it all.
rounds=$1
shift
pod=$(call runp --runtime "$handler" "$data/pod.json")
for _ in $(seq "$rounds"); do
    number=0
    for file in "$@"; do
        container=$(call create "$pod" "$file" "$data/pod.json")
        call start "$container" >/dev/null
        wait_for_exit "$container"
        code=$(exit_code "$container")
        if [ "$code" != 0 ]; then
            echo "the container of $file ended with $code" >&2
            call logs "$container" >&2
            exit 1
        fi
        call rm "$container" >/dev/null
        echo "$number $container"
        number=$((number + 1))
    done
done
