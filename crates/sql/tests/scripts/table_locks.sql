# Locks that others see: pg_locks, LOCK TABLE of views, and advisory functions beside rows. Each answer is PostgreSQL 15's,
# but where the line above says otherwise.

statement ok
create table jobs (id int primary key, state text not null default 'new')

statement ok
insert into jobs select n from generate_series(1, 6) n

statement ok
create table queues (name text primary key)

statement ok
create view open as select j.id, q.name from jobs j join queues q on true

statement ok
create view wider as select * from open

statement ok
create materialized view counted as select count(*) from jobs

statement ok
create sequence numbers

session one

statement ok
begin

statement LOCK TABLE
lock table jobs in share update exclusive mode

statement ok
select pg_advisory_xact_lock(4294967298), pg_advisory_lock_shared(-1, 7)

session two

query
select locktype, relation::regclass, classid, objid, objsubid, mode, granted, transactionid is null, waitstart is null from pg_locks where locktype = 'advisory' or relation in ('jobs'::regclass, 'queues'::regclass) order by 1, 2, 3, 4, 5
----
advisory|NULL|1|2|1|ExclusiveLock|t|t|t
advisory|NULL|4294967295|7|2|ShareLock|t|t|t
relation|jobs|NULL|NULL|NULL|ShareUpdateExclusiveLock|t|t|t

query
select count(distinct pid), bool_and(pid <> pg_backend_pid()), count(distinct virtualtransaction) from pg_locks where locktype = 'advisory' or relation = 'jobs'::regclass
----
1|t|1

session one

statement ok
select pg_advisory_unlock_shared(-1, 7)

statement UPDATE 1
update jobs set state = 'running' where id = 1

session two

query
select locktype, relation::regclass, mode, granted from pg_locks where locktype = 'transactionid' or relation = 'jobs'::regclass order by 1, 3
----
relation|jobs|RowExclusiveLock|t
relation|jobs|ShareUpdateExclusiveLock|t
transactionid|NULL|ExclusiveLock|t

session one

statement ok
rollback

# PostgreSQL notes that a row was claimed in the row itself: it is not listed.
statement ok
begin

query
select id from jobs order by id limit 1 for update
----
1

session two

query
select locktype, relation::regclass, mode, granted from pg_locks where locktype in ('transactionid', 'tuple') or relation = 'jobs'::regclass order by 1, 3
----
relation|jobs|RowShareLock|t
transactionid|NULL|ExclusiveLock|t

session one

statement ok
commit

session two

query
select count(*) from pg_locks where locktype in ('transactionid', 'advisory') or relation = 'jobs'::regclass
----
0

# A view: the tables that it reads are locked, also through other views.
session one

statement ok
begin

statement LOCK TABLE
lock table wider in exclusive mode

session two

query
select relation::regclass, mode from pg_locks where relation in ('jobs'::regclass, 'queues'::regclass) and mode = 'ExclusiveLock' order by 1
----
jobs|ExclusiveLock
queues|ExclusiveLock

statement ok
begin

statement error 55P03
lock table jobs in row exclusive mode nowait
----
could not obtain lock on relation "jobs"

statement ok
rollback

session one

statement ok
rollback

session two

statement ok
begin

statement error 42809
lock table counted
----
cannot lock relation "counted"
DETAIL: This operation is not supported for materialized views.

statement ok
rollback

statement ok
begin

statement error 42809
lock table numbers
----
cannot lock relation "numbers"
DETAIL: This operation is not supported for sequences.

statement ok
rollback

statement ok
begin

statement error 42809
lock table jobs_pkey
----
cannot lock relation "jobs_pkey"
DETAIL: This operation is not supported for indexes.

statement ok
rollback

# Advisory functions that never wait, in any statement.
query
select id, pg_try_advisory_lock(id) from jobs where id < 3 order by id
----
1|t
2|t

session one

query
select id from jobs where id < 5 and pg_try_advisory_lock(id) order by id
----
3
4

query
select count(*) filter (where pg_advisory_unlock(id)) from jobs where id in (3, 4)
----
2

statement ok
begin

query
select id from jobs where id < 5 and pg_try_advisory_xact_lock(id) order by id for update skip locked
----
3
4

query
select id from jobs where state = 'new' and id > 2 and random() < 2 order by id limit 2 for update skip locked
----
3
4

query
select id from jobs where random() < -1 for update skip locked
----

session two

query
select objid, mode from pg_locks where locktype = 'advisory' order by 1
----
1|ExclusiveLock
2|ExclusiveLock
3|ExclusiveLock
4|ExclusiveLock

query
select id from jobs where id in (3, 4, 5) and pg_try_advisory_xact_lock(id) order by id for update skip locked
----
5

session one

statement UPDATE 2
update jobs set state = 'done' where id in (3, 4)

statement ok
commit

session two

statement UPDATE 2
update jobs set state = 'taken' where pg_try_advisory_xact_lock(id) and id in (3, 4)

statement ok
select pg_advisory_unlock_all()

query
select count(*) from pg_locks where locktype = 'advisory'
----
0
