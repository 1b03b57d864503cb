mkdir -p etc/cdi usr/local/bin
"$HOOK" spec > etc/cdi/dra-guest-vm.json
echo '#!/bin/sh' > usr/local/bin/dra-cdi-hook
chmod 0666 usr/local/bin/dra-cdi-hook
chmod 0777 usr/local/bin
