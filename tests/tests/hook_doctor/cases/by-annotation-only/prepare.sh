"$HOOK" install --root "$PWD" --hooks-dir /etc/containers/oci/hooks.d
rm etc/cdi/dra-guest-vm.json
