#!/bin/sh
# Uses the unpacked tarball at /sardonyx in a root that has nothing else but a shell and the system's libraries.
set -eux
/sardonyx/bin/sardonyx --version
/sardonyx/bin/sardonyx sql /tmp/trial.sdx --create -c "create table notes (id int primary key)" -c "insert into notes values (1)"
/sardonyx/bin/sardonyx verify /tmp/trial.sdx
/sardonyx/bin/sardonyx-lab --version
test -e /sardonyx/share/man/man1/sardonyx-serve.1
echo "the tarball was used"
