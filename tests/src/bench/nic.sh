#!/bin/sh
# What a VM image does today: finds one NIC by its MAC, names it, sets its MTU and one address.
set -eu
attributes=$1
mac=$(jq -r .macAddress "$attributes")
name=$(jq -r .devices[0].network.interfaceName "$attributes")
address=$(jq -r .devices[0].network.ipAddresses[0] "$attributes")
nic=$(ip -json link show | jq -r --arg mac "$mac" '.[] | select(.address == $mac) | .ifname')
[ "$nic" = "$name" ] || {
    ip link set dev "$nic" down
    ip link set dev "$nic" name "$name"
}
ip link set dev "$name" mtu 1400 up
ip address replace "$address" dev "$name"
