# What the agent configured stays: a removal must not cut the network.
if [ "$1" -eq 0 ] && [ -x /usr/bin/systemctl ]; then
    if [ -d /run/systemd/system ]; then
        systemctl --no-reload disable --now dra-guest-agent.service || :
        systemctl stop dra-guest-config-drive.service dra-guest-devices.service || :
        # Unless it is the image's own, from /etc or fstab.
        if [ "$(systemctl show --value --property=FragmentPath run-kubevirt.mount)" = /usr/lib/systemd/system/run-kubevirt.mount ]; then
            systemctl stop run-kubevirt.mount || :
        fi
    else
        systemctl --no-reload disable dra-guest-agent.service || :
    fi
fi
