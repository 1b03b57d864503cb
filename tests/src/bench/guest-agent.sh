# Eight new NICs, and how long the agent takes to configure them, in microseconds.
set -eu
rm -rf /run/bench/run && mkdir /run/bench/run
for nic in $(seq @NICS@); do
    ip link add eth$nic address 02:00:00:00:0a:0$nic type veth peer name peer$nic
    ip link set peer$nic up
done
udevadm settle
begin=$(date +%s%N)
dra-guest-agent apply --run-root /run/bench/run --etc-root /run/bench/etc \
    --attributes /run/bench/attributes.json >/dev/null 2>&1
end=$(date +%s%N)
for nic in $(seq @NICS@); do
    ip -4 address show dev net$nic up | grep -q "mtu @MTU@ " &&
        ip -4 address show dev net$nic up | grep -q "inet 10.0.$nic.5/24" || exit 1
    ip link delete net$nic
done
udevadm settle
echo $(((end - begin) / 1000))
