mkdir -p etc/cdi
"$HOOK" spec --hook-path /opt/dra-guest/dra-cdi-hook > etc/cdi/dra-guest-vm.json
