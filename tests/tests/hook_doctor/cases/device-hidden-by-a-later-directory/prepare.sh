"$HOOK" install --root "$PWD"
"$HOOK" spec --log /var/log/hook.log > var/run/cdi/dra-guest-vm.json
