# $1 is how many versions are left. A restart leaves interfaces, addresses and routes as they are.
if [ -d /run/systemd/system ]; then
    systemctl --system daemon-reload || :
    if [ "$1" -ge 1 ]; then
        systemctl try-restart dra-guest-agent.service || :
    fi
fi
