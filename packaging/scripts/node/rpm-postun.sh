# $1 is how many versions are left. Guests connect again by themselves.
if [ -d /run/systemd/system ]; then
    systemctl --system daemon-reload || :
    if [ "$1" -ge 1 ]; then
        systemctl try-restart dra-guest-relay.service || :
    fi
fi
# Nobody owns the package's directories, so rpm leaves them.
if [ "$1" -eq 0 ]; then
    for directory in /usr/share/doc/dra-guest-node /usr/share/licenses/dra-guest-node /usr/share/dra-guest; do
        [ ! -d "$directory" ] || find "$directory" -depth -type d -empty -delete || :
    done
fi
