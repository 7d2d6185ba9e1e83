#!/usr/bin/env bash
# Loosely coupled nodes over TLS whose register is a real etcd: started, loaded, one killed, etcd itself killed and
# started again, and all stopped. Each run's sums are proved; the script ends with an error if one is not, or anything fails.
#
#   tools/etcd/cluster_on_etcd.sh
#
# SARDONYX is the command (default: target/release/sardonyx-lab, which is built if it is missing), ETCD the program of etcd
# (default: etcd, which is installed by apt-get if it is missing). Everything else is in a temporary directory, and
# only loopback addresses are used.
set -euo pipefail
cd "$(dirname "$0")/../.."

sardonyx=${SARDONYX:-target/release/sardonyx-lab}
[ -x "$sardonyx" ] || cargo build --locked --release -p sardonyx-lab
etcd=${ETCD:-etcd}
if ! command -v "$etcd" >/dev/null; then
    apt-get update -q && apt-get install -yq --no-install-recommends etcd-server
fi

place=$(mktemp -d)
nodes=$place/nodes
etcd_process=
stop() {
    local outcome=$?
    if [ -e "$nodes/cluster.json" ]; then "$sardonyx" cluster down --directory "$nodes" >/dev/null 2>&1 || true; fi
    if [ -n "$etcd_process" ]; then
        kill "$etcd_process" 2>/dev/null || true
        wait "$etcd_process" 2>/dev/null || true
    fi
    rm -rf "$place"
    exit "$outcome"
}
trap stop EXIT

say() { printf '\n== %s\n' "$*"; }
step() { say "sardonyx-lab cluster $*" && "$sardonyx" cluster "$@" --directory "$nodes"; }

# Two free ports.
free_port() {
    local port
    while port=$((20000 + RANDOM % 12000)); (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do :; done
    echo "$port"
}
client=http://127.0.0.1:$(free_port)
peer=http://127.0.0.1:$(free_port)
start_etcd() {
    "$etcd" --data-dir "$place/etcd" --listen-client-urls "$client" --advertise-client-urls "$client" \
        --listen-peer-urls "$peer" --initial-advertise-peer-urls "$peer" --initial-cluster "default=$peer" \
        >>"$place/etcd.log" 2>&1 &
    etcd_process=$!
    for _ in {1..100}; do
        curl -sf "$client/health" >/dev/null && return
        kill -0 "$etcd_process" 2>/dev/null || break
        sleep 0.1
    done
    tail -5 "$place/etcd.log" >&2
    echo "etcd does not answer at $client" >&2
    exit 1
}

# A CA of the nodes' own, and a certificate of it: ca.pem, cert.pem, key.pem.
certify() {
    mkdir -p "$1"
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 \
        -subj "/CN=nodes" -keyout "$1/ca-key.pem" -out "$1/ca.pem" 2>"$1/said"
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
        -subj "/CN=a node" -keyout "$1/key.pem" -out "$1/request.pem" 2>"$1/said"
    printf 'basicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth,clientAuth\n' >"$1/kind"
    openssl x509 -req -in "$1/request.pem" -CA "$1/ca.pem" -CAkey "$1/ca-key.pem" -days 30 \
        -extfile "$1/kind" -out "$1/cert.pem" 2>"$1/said"
    # The CA's key can admit any node.
    rm "$1/ca-key.pem"
}

say "etcd at $client: $("$etcd" --version | head -1)"
start_etcd
certify "$place/tls"
step up --coupling loose --nodes 3 --accounts-per-branch 100 --tls "$place/tls" --etcd "$client"
step bench --seconds 3 --routing random
step status

say "node 1 is killed; the others notice when its lease has run out, and go on"
step kill 1
step bench --transactions 2000 --routing random

say "etcd is killed while the others run transactions, which need none, and started again"
step bench --seconds 12 --routing random &
loaded=$!
sleep 2
kill -KILL "$etcd_process" && wait "$etcd_process" 2>/dev/null || true
sleep 2
start_etcd
wait "$loaded"

say "node 1 is started again, and node 0 leaves in order"
step up
step drain 0
step bench --transactions 2000
step down
