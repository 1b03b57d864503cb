# $1 is how many versions are installed then: 1 at the first installation.
if [ "$1" -eq 1 ] && [ -x /usr/bin/systemctl ]; then
    systemctl --no-reload preset dra-guest-agent.service || :
fi
