mkdir -p var
ln -s /run var/run
