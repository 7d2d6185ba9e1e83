CREATE PROCEDURE tpcb(aid integer, bid integer, tid integer, delta integer) LANGUAGE SQL AS $$
UPDATE pgbench_accounts SET abalance = abalance + $4 WHERE aid = $1;
UPDATE pgbench_tellers SET tbalance = tbalance + $4 WHERE tid = $3;
UPDATE pgbench_branches SET bbalance = bbalance + $4 WHERE bid = $2;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES ($3, $2, $1, $4, CURRENT_TIMESTAMP);
$$;
