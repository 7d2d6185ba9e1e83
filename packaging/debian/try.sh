#!/bin/sh
# Installs, uses and removes the package /package.deb in the root that this runs in, which is thrown away.
set -eux
dpkg --force-confnew -i /package.deb
sardonyx --version
getent passwd sardonyx
dpkg -L sardonyx > /tmp/files
for file in man1/sardonyx-serve.1.gz man1/sardonyx-store-serve.1.gz bash-completion/completions/sardonyx \
    system/sardonyx.service system/sardonyx-log.service doc/sardonyx/sbom.cdx.json
do grep -q "$file\$" /tmp/files; done
bash -c '. /usr/share/bash-completion/completions/sardonyx; complete -p sardonyx'
# The server and the log as their units start them, at free ports; they end with their input.
as_user() { setpriv --reuid sardonyx --regid sardonyx --clear-groups "$@"; }
command_of() { sed -n 's/^ExecStart=//p' "$(grep "system/$1.service\$" /tmp/files)"; }
test "$(stat -c %U:%a /var/lib/sardonyx)" = sardonyx:750
as_user $(command_of sardonyx) --json \
    --postgres 127.0.0.1:0 --redis 127.0.0.1:0 --http 127.0.0.1:0 --until-input-ends </dev/null
if command -v openssl; then
    (
        cd /etc/sardonyx
        openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=localhost \
            -addext subjectAltName=DNS:localhost -addext basicConstraints=critical,CA:FALSE -keyout key.pem -out cert.pem
        cp cert.pem ca.pem
        echo "a token of this trial" > token
        chown sardonyx key.pem token
    )
    as_user $(command_of sardonyx-log | sed 's/ 0\.0\.0\.0:7071 / 127.0.0.1:0 /') --until-input-ends </dev/null
    test -e /var/lib/sardonyx/log
else
    # Its options exist, at least.
    $(command_of sardonyx-log) --help >/dev/null
fi
as_user sardonyx sql /var/lib/sardonyx/main.sdx -c "create table notes (id int primary key, note text)" \
    -c "insert into notes values (1, 'installed')"
as_user sardonyx sql /var/lib/sardonyx/main.sdx --format csv -c "select note from notes" | grep -x installed
as_user sardonyx verify /var/lib/sardonyx/main.sdx | grep Sound
dpkg --purge sardonyx
test ! -e /usr/bin/sardonyx && test ! -e /etc/sardonyx/sardonyx.toml && test -e /var/lib/sardonyx/main.sdx/MANIFEST
echo "the package was installed, used and removed"
