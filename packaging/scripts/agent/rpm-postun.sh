# $1 is how many versions are left. A restart leaves interfaces, addresses and routes as they are.
if [ -d /run/systemd/system ]; then
    systemctl --system daemon-reload || :
    if [ "$1" -ge 1 ]; then
        systemctl try-restart dra-guest-agent.service || :
    fi
fi
# Nobody owns the package's directories, so rpm leaves them.
if [ "$1" -eq 0 ]; then
    for directory in /usr/share/doc/dra-guest-agent /usr/share/licenses/dra-guest-agent /usr/libexec/dra-guest; do
        [ ! -d "$directory" ] || find "$directory" -depth -type d -empty -delete || :
    done
fi
