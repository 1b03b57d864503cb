#!/bin/sh
# Runs the commands that come through the virtio-serial port, and answers with their outcome.
# In: number, command in base64. Out: number, exit code, "=" and output, "=" and errors in base64.
directory=/run/dra-guest-test-console
exec 3<>/dev/virtio-ports/org.dra-guest.test
while read -r number command <&3; do
    printf %s "$command" | base64 -d >$directory/command
    timeout 120 sh $directory/command >$directory/output 2>$directory/errors </dev/null 3>&-
    code=$?
    printf '%s %s =%s =%s\n' "$number" "$code" \
        "$(base64 -w0 $directory/output)" "$(base64 -w0 $directory/errors)" >&3
done
