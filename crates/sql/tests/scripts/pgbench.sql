# The statements of pgbench -i.

statement ok
drop table if exists pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers

statement ok
create table pgbench_history(tid int,bid int,aid    int,delta int,mtime timestamp,filler char(22))

statement ok
create table pgbench_tellers(tid int not null,bid int,tbalance int,filler char(84)) with (fillfactor=100)

statement ok
create table pgbench_accounts(aid    int not null,bid int,abalance int,filler char(84)) with (fillfactor=100)

statement ok
create table pgbench_branches(bid int not null,bbalance int,filler char(88)) with (fillfactor=100)

statement ok
begin

statement ok
truncate table pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers

copy COPY 1
copy pgbench_branches from stdin with (freeze on)
----
1	0	\N

copy COPY 2
copy pgbench_tellers from stdin with (freeze on)
----
1	1	0	\N
2	1	0	\N

copy COPY 3
copy pgbench_accounts from stdin with (freeze on)
----
1	1	0	
2	1	0	
3	1	0	

statement COMMIT
commit

statement ok
vacuum analyze pgbench_branches

statement ok
alter table pgbench_branches add primary key (bid)

statement ok
alter table pgbench_tellers add primary key (tid)

statement ok
alter table pgbench_accounts add primary key (aid)

# A transaction, statement by statement.

statement ok
BEGIN;

statement UPDATE 1
UPDATE pgbench_accounts SET abalance = abalance + -2763 WHERE aid = 2;

query
SELECT abalance FROM pgbench_accounts WHERE aid = 2;
----
-2763

statement UPDATE 1
UPDATE pgbench_tellers SET tbalance = tbalance + -2763 WHERE tid = 1;

statement UPDATE 1
UPDATE pgbench_branches SET bbalance = bbalance + -2763 WHERE bid = 1;

statement INSERT 0 1
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (1, 1, 2, -2763, CURRENT_TIMESTAMP);

statement COMMIT
END;

query
select sum(delta) from pgbench_history
----
-2763

query
select bbalance, length(filler) from pgbench_branches
----
-2763|NULL

query
select count(*) from pgbench_branches
----
1
