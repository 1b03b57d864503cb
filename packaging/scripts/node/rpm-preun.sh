# The relay ends with its program.
if [ "$1" -eq 0 ] && [ -x /usr/bin/systemctl ]; then
    if [ -d /run/systemd/system ]; then
        systemctl --no-reload disable --now dra-guest-relay.service || :
    else
        systemctl --no-reload disable dra-guest-relay.service || :
    fi
fi
