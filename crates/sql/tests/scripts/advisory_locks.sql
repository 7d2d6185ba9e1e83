# Advisory locks: each answer is PostgreSQL 15's, but where a statement is refused by name.

query
SELECT pg_try_advisory_lock(1), pg_try_advisory_lock(1), pg_advisory_unlock(1), pg_advisory_unlock(1), pg_advisory_unlock(1)
----
t|t|t|t|f

query
SELECT pg_try_advisory_lock(1, 2), pg_try_advisory_lock_shared(7)
----
t|t

session other

query
SELECT pg_try_advisory_lock(1, 2), pg_try_advisory_lock(2, 1), pg_try_advisory_lock(7), pg_try_advisory_lock_shared(7), pg_advisory_unlock(1, 2)
----
f|t|f|t|f

# A lock of a transaction ends with it; that of a session stays, also if its transaction is undone.
statement ok
BEGIN

query
SELECT pg_try_advisory_xact_lock(9), pg_try_advisory_lock(10)
----
t|t

query
SELECT pg_advisory_unlock(9)
----
f

session third

query
SELECT pg_try_advisory_lock(9), pg_try_advisory_lock(10)
----
f|f

session other

statement ok
ROLLBACK

session third

query
SELECT pg_try_advisory_lock(9), pg_try_advisory_lock(10)
----
t|f

session other

statement ok
SELECT pg_advisory_unlock_all()

session third

query
SELECT pg_try_advisory_lock(10), pg_try_advisory_lock(7)
----
t|f

query
SELECT pg_try_advisory_lock(NULL) IS NULL
----
t

statement ok
SELECT pg_sleep(0)

# Those that wait are for statements of their own.
statement error 0A000
SELECT pg_advisory_lock(generate_series) FROM generate_series(1, 3)

query
SELECT pg_try_advisory_lock(generate_series) FROM generate_series(6, 8)
----
t
f
t

statement ok
CREATE TABLE locked AS SELECT pg_try_advisory_lock(11) AS l

query
SELECT l, pg_advisory_unlock(11), pg_advisory_unlock(11) FROM locked
----
t|t|f

# A statement that waits is evaluated again after its wait: each of its calls is made once.
session waiting

query
SELECT pg_try_advisory_lock(20), pg_sleep(0.001), pg_try_advisory_lock(20), pg_sleep(0.001), pg_advisory_unlock(20)
----
t||t||t

query
SELECT pg_advisory_unlock(20), pg_advisory_unlock(20)
----
t|f

# A query that reads no table may wait, too: kysely takes its lock by one.

query
with set_timeout as (select set_config('lock_timeout', '1000', true) as config_val) select pg_advisory_lock(3853314791062309107), 1 from set_timeout
----
|1

query
select pg_advisory_unlock(3853314791062309107)
----
t

query
select pg_advisory_xact_lock(a) is null from (select 1 as a) s join (select 2 as b) r on r.b > s.a
----
f
