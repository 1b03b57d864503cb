# Eight new NICs, and how long networkd takes to configure them once it is told, in microseconds.
set -eu
for nic in $(seq @NICS@); do
    ip link add bench$nic address 02:00:00:00:0b:0$nic type veth peer name peer$nic
    ip link set peer$nic up
done
udevadm settle
sleep 1
mkdir -p /run/systemd/network
mv /run/bench/networkd/*.network /run/systemd/network/
# The last word of each NIC is its address.
begin=$(date +%s%N)
networkctl reload
for tries in $(seq 200); do
    [ "$(ip -4 -brief address show up | grep -c '^bench.*10\.1\..*/24')" = @NICS@ ] && break
done
end=$(date +%s%N)
for nic in $(seq @NICS@); do
    ip -4 address show dev bench$nic up | grep -q "mtu @MTU@ " &&
        ip -4 address show dev bench$nic up | grep -q "inet 10.1.$nic.5/24" || exit 1
done
mv /run/systemd/network/30-bench*.network /run/bench/networkd/
networkctl reload
for nic in $(seq @NICS@); do ip link delete bench$nic; done
udevadm settle
echo $(((end - begin) / 1000))
