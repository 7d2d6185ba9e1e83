# VACUUM, ANALYZE and REINDEX have no effect on the named objects, which must exist.

statement ok
create table t (a int primary key, b text)

statement ok
create index t_b on t (b)

statement ok
vacuum

statement ok
vacuum full freeze verbose analyze t (a, b)

statement ok
vacuum (full off, analyze, parallel 2, index_cleanup auto) t

statement ok
analyze verbose t (b), public.t

statement ok
reindex (verbose) table concurrently t

statement ok
reindex index t_b

statement ok
reindex schema public

statement error 42P01
vacuum nosuch
----
relation "nosuch" does not exist

statement error 42P01
analyze t, nosuch

statement error 42703
analyze t (nosuch)
----
column "nosuch" of relation "t" does not exist

statement error 42703
vacuum analyze t (nosuch)

statement error 0A000
vacuum t (a)
----
ANALYZE option must be specified when a column list is provided

statement error 42P01
reindex table nosuch

statement error 42P01
reindex index nosuch

statement error 42809
reindex index t
----
"t" is not an index

statement error 3F000
reindex schema nosuch

statement error 0A000
reindex (tablespace x) table t

statement error 42601
vacuum (speed) t
----
unrecognized VACUUM option "speed"

statement error 42601
vacuum (full perhaps) t
----
full requires a Boolean value

statement error 42601
vacuum (parallel) t

statement error 42601
vacuum t t

statement error 42601
reindex foo t

statement error 42601
analyze (verbose) t where a > 1

statement ok
begin

statement ok
analyze t

statement ok
reindex table t

statement error 25001
vacuum t
----
VACUUM cannot run inside a transaction block

statement ok
rollback

statement ok
begin

statement error 42P01
analyze nosuch

statement error 25P02
select 1

statement ok
rollback

# VACUUM needs a text of its own.
statement error 25001
set app.name = '1'; vacuum
----
VACUUM cannot run inside a transaction block

statement error 25001
vacuum; select 1

statement error 25001
begin; vacuum

statement ok
rollback
