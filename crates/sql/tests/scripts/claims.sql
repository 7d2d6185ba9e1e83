# Rows that open transactions have claimed. Each answer is PostgreSQL 15's, but where the line above says otherwise.

statement ok
create table jobs (id int primary key, queue text not null, priority int not null, state text not null default 'new')

statement ok
insert into jobs select n, case when n % 2 = 0 then 'even' else 'odd' end, 10 - n from generate_series(1, 6) n

session one

statement ok
begin

query
select id from jobs order by id limit 1 for update skip locked
----
1

session two

statement ok
begin

query
select id from jobs order by id limit 2 for update skip locked
----
2
3

# The order need not be that of an index. Rows that are left out do not count for LIMIT, nor for OFFSET.
query
select id from jobs order by priority desc limit 1 for no key update skip locked
----
2

session three

query
select id from jobs order by priority desc, id for update skip locked
----
4
5
6

query
select id from jobs where queue = 'odd' order by priority desc, id offset 1 limit 5 for share skip locked
----

query
select id from jobs order by id desc offset 1 limit 1 for update skip locked
----
5

query
select id from jobs where id in (1, 4) order by id for update skip locked
----
4

query
select id from jobs where id = 1 for update skip locked
----

statement error 55P03
select id from jobs where id = 1 for update nowait
----
could not obtain lock on row in relation "jobs"

query
select id from jobs where id = 4 for update nowait
----
4

# KEY SHARE and NO KEY UPDATE do not exclude each other.
query
select id from jobs where id = 2 for key share skip locked
----

session two

statement ok
commit

session two

statement ok
begin

query
select id from jobs where id = 2 for no key update skip locked
----
2

session three

query
select id from jobs where id = 2 for key share skip locked
----
2

query
select id from jobs where id = 2 for share skip locked
----

statement error 55P03
select id from jobs where id = 2 for share nowait

session two

statement ok
rollback

# Shared claims are of several.
statement ok
begin

query
select id from jobs where id in (5, 6) order by id for share skip locked
----
5
6

session three

query
select id from jobs where id in (5, 6) order by id for share skip locked
----
5
6

query
select id from jobs where id in (5, 6) for update skip locked
----

session two

statement ok
rollback

session three

query
select id from jobs where id in (5, 6) order by id for update skip locked
----
5
6

# A job is taken and done; the next worker gets another one.
session one

statement DELETE 1
delete from jobs where id = 1

session three

query
select id from jobs order by id limit 1 for update skip locked
----
2

session one

statement ok
commit

# Rows that an open transaction has changed are claimed, too.
statement ok
begin

statement UPDATE 1
update jobs set state = 'running' where id = 2

statement DELETE 1
delete from jobs where id = 3

statement INSERT 0 1
insert into jobs values (7, 'odd', 0)

statement ok
insert into jobs values (4, 'even', 0) on conflict (id) do update set state = 'again'

session three

query
select id from jobs order by id for update skip locked
----
5
6

query
select id, state from jobs where id = 2 for key share skip locked
----
2|new

query
select id from jobs where id = 3 for key share skip locked
----

statement error 55P03
select id from jobs where id = 4 for update nowait

session one

statement ok
rollback

session three

query
select id from jobs order by id for update skip locked
----
2
3
4
5
6

# Savepoints: what was claimed since is given back.
session one

statement ok
begin

query
select id from jobs where id = 2 for update skip locked
----
2

statement ok
savepoint s

query
select id from jobs order by id limit 2 for update skip locked
----
2
3

statement UPDATE 1
update jobs set state = 'x' where id = 4

session three

query
select id from jobs order by id for update skip locked
----
5
6

session one

statement ok
rollback to s

session three

query
select id from jobs order by id for update skip locked
----
3
4
5
6

# A transaction that has failed keeps its claims from before its last savepoint, to which it may go back.
session one

query
select id from jobs where id = 3 for update
----
3

statement error 22012
select 1 / 0

session three

query
select id from jobs order by id for update skip locked
----
3
4
5
6

session one

statement ok
rollback to s

query
select id from jobs order by id limit 1 for update skip locked
----
2

statement ok
rollback

# Statements that claim and change at once.
statement ok
begin

query
update jobs set state = 'running' where id = (select id from jobs where state = 'new' order by id for update skip locked limit 1) returning id
----
2

session two

statement ok
begin

query
with next as (select id from jobs where state = 'new' order by id limit 1 for update skip locked) update jobs set state = 'running' from next where jobs.id = next.id returning jobs.id
----
3

query
with next as materialized (select id from jobs where state = 'new' order by id limit 1 for update skip locked) select * from next
----
4

session three

query
delete from jobs using (select id from jobs where state = 'new' order by id limit 1 for update skip locked) next where jobs.id = next.id returning jobs.id
----
5

query
update jobs set state = 'tried' where id in (select id from jobs order by id limit 10 for update skip locked) returning id
----
6

session one

statement ok
commit

session two

statement ok
commit

session three

query
select id, state from jobs order by id
----
2|running
3|running
4|new
6|tried

# Joins: OF names the tables.
statement ok
create table queues (name text primary key, weight int)

statement ok
insert into queues values ('even', 1), ('odd', 2)

session one

statement ok
begin

query
select j.id, q.weight from jobs j join queues q on q.name = j.queue where j.id = 2 for update of j skip locked
----
2|1

session two

query
select j.id, q.weight from jobs j join queues q on q.name = j.queue order by j.id for update of j skip locked
----
3|2
4|1
6|1

query
select j.id from jobs j, queues q where q.name = j.queue order by j.id limit 1 for update of j skip locked for share of q nowait
----
3

session one

statement ok
rollback

statement ok
begin

query
select j.id from jobs j join queues q on q.name = j.queue where j.id = 2 for update
----
2

session two

# The row of queues is claimed, too.
query
select j.id from jobs j join queues q on q.name = j.queue order by j.id for update skip locked
----
3

statement error 0A000
select j.id from jobs j left join queues q on q.name = j.queue for update skip locked
----
FOR UPDATE cannot be applied to the nullable side of an outer join

query
select j.id from jobs j left join queues q on q.name = j.queue and q.weight > 5 order by j.id limit 1 for update of j skip locked
----
3

# Queries in FROM and views: the rows of their tables.
query
select id from (select * from jobs) x order by id limit 1 for update skip locked
----
3

statement ok
create view open_jobs as select * from jobs where state <> 'done'

query
select id from open_jobs order by id limit 1 for update skip locked
----
3

statement error 0A000
select * from (select distinct queue from jobs) x for update skip locked
----
FOR UPDATE is not allowed with DISTINCT clause

# A query of WITH is not locked by the one around it.
query
with all_jobs as (select * from jobs) select id from all_jobs order by id limit 1 for update skip locked
----
2

session one

statement ok
rollback

statement error 42601
select id from jobs order by id fetch first 1 row with ties for update skip locked
----
SKIP LOCKED and WITH TIES options cannot be used together

statement error 0A000
select generate_series(1, 2) from jobs for update
----
FOR UPDATE is not allowed with set-returning functions in the target list

statement error 25006
begin read only; select id from jobs for update skip locked
----
cannot execute SELECT FOR UPDATE in a read-only transaction

statement ok
rollback

query
select id from jobs order by id limit 0 for update skip locked
----

# A table without a primary key.
statement ok
create table plain (n int)

statement ok
insert into plain values (1), (1), (2)

statement ok
begin

query
select n from plain order by n limit 1 for update skip locked
----
1

session two

query
select n from plain order by n for update skip locked
----
1
2

session one

statement ok
rollback

# LOCK TABLE. It excludes others that lock the table, or that have claimed or changed rows of it.
statement error 25P01
lock table jobs
----
LOCK TABLE can only be used in transaction blocks

statement ok
begin

statement LOCK TABLE
lock table jobs in share update exclusive mode

statement LOCK TABLE
lock jobs, only queues in row exclusive mode nowait

session two

statement ok
begin

statement ok
lock table jobs in row exclusive mode nowait

statement ok
savepoint s

statement error 55P03
lock table jobs in share update exclusive mode nowait
----
could not obtain lock on relation "jobs"

statement ok
rollback to s

statement error 55P03
lock table queues in share mode nowait
----
could not obtain lock on relation "queues"

statement ok
rollback

session one

statement error 42P01
lock table nosuch in access share mode

statement ok
rollback

statement ok
begin

statement UPDATE 1
update jobs set state = 'new' where id = 2

session two

statement ok
begin

statement ok
lock table jobs in row share mode nowait

statement error 55P03
lock table jobs in share mode nowait

statement ok
rollback

session one

statement ok
rollback

# ROLLBACK TO gives locks of tables back.
statement ok
begin

statement ok
savepoint s

statement ok
lock table jobs

statement ok
rollback to s

session two

statement ok
begin

statement ok
lock table jobs nowait

statement ok
commit

session one

statement ok
commit

# PostgreSQL sorts all rows below LockRows, and shows no method.
query
explain (costs off) select id from jobs order by priority limit 1 for update skip locked
----
Limit
  ->  LockRows
        ->  Sort
              Sort Key: priority
              Sort Method: top-N heapsort
              ->  Seq Scan on jobs

# A handler of a block gives back what the block has claimed.
statement ok
begin

statement ok
do $$ begin perform id from jobs where id = 2 for update; perform 1 / 0; exception when division_by_zero then null; end $$

session two

query
select id from jobs where id = 2 for update skip locked
----
2

session one

statement ok
do $$ begin perform id from jobs where id = 2 for update; end $$

session two

query
select id from jobs where id = 2 for update skip locked
----

session one

statement ok
rollback

# MERGE.
statement ok
begin

statement ok
merge into jobs using (values (2), (3)) as new (id) on jobs.id = new.id when matched and jobs.id = 2 then update set state = 'merged' when matched then delete

session two

query
select id from jobs order by id for update skip locked
----
4
6

query
select id from jobs order by id for key share skip locked
----
2
4
6

session one

statement ok
rollback
