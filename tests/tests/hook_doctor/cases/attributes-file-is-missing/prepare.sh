"$HOOK" install --root "$PWD" --attributes /etc/dra-guest.json
