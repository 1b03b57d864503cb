"$HOOK" install --root "$PWD"
