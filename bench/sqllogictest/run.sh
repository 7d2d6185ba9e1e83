#!/usr/bin/env bash
# Runs files of SQLite's sqllogictest (public domain) on fresh databases, and says what share gives what is expected.
#
#   bench/sqllogictest/run.sh [FILE…]
#
# Without files: select1 to select5, which are fetched into target/sqllogictest. SQLLOGICTEST names another source of them.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
source=${SQLLOGICTEST:-https://raw.githubusercontent.com/gregrahn/sqllogictest/master/test}
files=("$@")
if [ ${#files[@]} -eq 0 ]; then
    mkdir -p "$root/target/sqllogictest"
    for name in select1 select2 select3 select4 select5; do
        file="$root/target/sqllogictest/$name.test"
        [ -s "$file" ] || curl --fail --silent --show-error --location --output "$file" "$source/$name.test"
        files+=("$file")
    done
fi
cd "$root"
cargo run --quiet --release -p sardonyx-sql --example sqllogictest -- "${files[@]}"
