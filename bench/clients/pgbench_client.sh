# pgbench: its tables, its three modes, pipelined; the four sums after each. Who meets another at one account (40001) tries
# again.
sums() {
    psql -X -A -t -c "SELECT (SELECT sum(abalance) FROM pgbench_accounts), (SELECT sum(tbalance) FROM pgbench_tellers), (SELECT sum(bbalance) FROM pgbench_branches), (SELECT sum(delta) FROM pgbench_history)" 2>/dev/null ||
        for sum in "sum(abalance) FROM pgbench_accounts" "sum(tbalance) FROM pgbench_tellers" "sum(bbalance) FROM pgbench_branches" "sum(delta) FROM pgbench_history"; do
            psql -X -A -t -c "SELECT $sum"
        done
}
check() {
    local different
    different=$(sums | tr '|' '\n' | sort -u | wc -l)
    [ "$different" = 1 ] || { echo "the four sums differ after $1:"; sums; exit 1; }
}
pgbench -i -q -s 1 2>&1 | tail -1
for mode in simple extended prepared; do
    pgbench -n -M "$mode" -c 8 -j 2 -t 100 --max-tries=1000 >/tmp/pgbench.$$ 2>&1 || { cat /tmp/pgbench.$$; exit 1; }
    grep -q "number of failed transactions: 0" /tmp/pgbench.$$ || { cat /tmp/pgbench.$$; exit 1; }
    check "$mode"
done
pgbench -n -M prepared -c 8 -j 2 -t 100 -f "$(dirname "$0")/tpcb_pipelined.sql" -D scale=1 >/tmp/pgbench.$$ 2>&1 || { cat /tmp/pgbench.$$; exit 1; }
check pipelined
pgbench -n -S -M prepared -c 8 -j 2 -t 500 >/tmp/pgbench.$$ 2>&1 || { cat /tmp/pgbench.$$; exit 1; }
rm -f /tmp/pgbench.$$
pgbench --version
