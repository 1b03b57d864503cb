"$HOOK" install --root "$PWD"
cp etc/cdi/dra-guest-vm.json etc/cdi/old-dra-guest.json
