# What the agent configured stays: a removal must not cut the network.
if [ "$1" -eq 0 ] && [ -x /usr/bin/systemctl ]; then
    if [ -d /run/systemd/system ]; then
        systemctl --no-reload disable --now dra-guest-agent.service || :
        systemctl stop dra-guest-config-drive.service dra-guest-devices.service || :
    else
        systemctl --no-reload disable dra-guest-agent.service || :
    fi
fi
