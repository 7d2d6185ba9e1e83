#!/usr/bin/env bash
# A JetStream of three servers on this host, each of which syncs every write, and a user of it: the tests
# of a log in a real store, or a command.
#
#   tools/nats/three_nodes.sh                   the tests of crates/remote/tests/all/real.rs
#   tools/nats/three_nodes.sh -- COMMAND...     the command, with SARDONYX_STORE=nats://.../SARDONYX
#
# NATS_SERVER is the server's program (default: nats-server, which is installed by `go install` if it is missing).
# Everything else is in a temporary directory below TMPDIR, which should be on a real disk, and only loopback addresses are
# used. The servers end with the script, whose exit code is that of the tests or the command.
set -euo pipefail
cd "$(dirname "$0")/../.."

server=${NATS_SERVER:-nats-server}
place=$(mktemp -d)
if ! command -v "$server" >/dev/null; then
    echo "installing nats-server"
    GOBIN=$place go install github.com/nats-io/nats-server/v2@v2.15.2
    server=$place/nats-server
fi

processes=()
stop() {
    local outcome=$?
    for process in "${processes[@]}"; do kill "$process" 2>/dev/null || true; done
    for process in "${processes[@]}"; do wait "$process" 2>/dev/null || true; done
    rm -rf "$place"
    exit "$outcome"
}
trap stop EXIT

# Free ports that were not returned before.
given=" "
free_port() {
    while port=$((20000 + RANDOM % 12000))
          [[ $given = *" $port "* ]] || (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do :; done
    given+="$port "
}
clients=() routes=()
for _ in 1 2 3; do
    free_port; clients+=("$port")
    free_port; routes+=("$port")
done
for at in 0 1 2; do
    cat >"$place/$at.conf" <<CONFIGURATION
server_name: server-$at
listen: 127.0.0.1:${clients[$at]}
jetstream {
    store_dir: "$place/store-$at"
    # Without this a server acknowledges writes that are not yet synced.
    sync_interval: always
}
cluster {
    name: sardonyx
    listen: 127.0.0.1:${routes[$at]}
    routes: [nats://127.0.0.1:${routes[0]}, nats://127.0.0.1:${routes[1]}, nats://127.0.0.1:${routes[2]}]
}
CONFIGURATION
    "$server" -c "$place/$at.conf" >"$place/$at.log" 2>&1 &
    processes+=("$!")
done

# They have elected a leader.
ready=
for _ in {1..150}; do
    if grep -q "JetStream cluster new metadata leader" "$place"/*.log; then ready=yes; break; fi
    for process in "${processes[@]}"; do kill -0 "$process" 2>/dev/null || break 2; done
    sleep 0.2
done
if [ -z "$ready" ]; then
    tail -n 5 "$place"/*.log >&2
    echo "the three servers have found no leader" >&2
    exit 1
fi

export SARDONYX_STORE=nats://127.0.0.1:${clients[0]},127.0.0.1:${clients[1]},127.0.0.1:${clients[2]}/SARDONYX
echo "$("$server" --version), three of them: $SARDONYX_STORE"
if [ $# -eq 0 ]; then
    cargo test --locked -p sardonyx-remote --test all real -- --ignored --nocapture
else
    [ "$1" = -- ] && shift
    "$@"
fi
