# Names of queries of WITH in RETURNING, rows of outer queries, and names in GRANT. Each answer is PostgreSQL 15's, but where
# the line above says otherwise.

statement ok
create table t (a int primary key, b int)

query
with w as (select 5 as x) insert into t values (1, 2), (2, 3) returning a, (select x from w)
----
1|5
2|5

query
with w as (select 7 as x) insert into t select x, x from w returning a, (select max(x) from w)
----
7|7

query
with w as (select 9 as x) insert into t values (1, 1) on conflict (a) do update set b = (select x from w) returning b
----
9

query
with w as (select 9 as x) update t set b = b + 1 where a = 2 returning b, (select x from w)
----
4|9

query
with w as (select 9 as x) delete from t where a = 7 returning a, (select x from w)
----
7|9

query
with w as (select 11 as x), z as (insert into t select x from w returning a) insert into t values (12, 1) returning a, (select count(*) from z), (select x from w)
----
12|1|11

# A field of a row of a query around.
query
select (select (u).b) from t u order by u.a
----
9
4
NULL
1

query
select a from t u where exists (select 1 from t x where x.a = (u).a + 1) order by a
----
1
11

# Whole rows on both sides.
query
select g.a from t g join t h on g.* = h.* order by 1
----
1
2
11
12

query
select count(*) from t g, t h where g.* <> h.* and g.* is not null
----
9

query
select g.* = h.* as same, h.* > g.* from t g, t h where g.a = 1 order by h.a
----
t|f
f|t
f|t
f|t

# LIKE keeps what indexes include, and their conditions.
statement ok
create table model (a int primary key, b int, c text)

statement ok
create index on model (b) include (c) where a > 5

statement ok
create unique index on model (lower(c)) where b is null

statement ok
create table copied (like model including indexes)

query
select indexdef from pg_indexes where tablename = 'copied' order by 1
----
CREATE INDEX copied_b_c_idx ON public.copied USING btree (b) INCLUDE (c) WHERE (a > 5)
CREATE UNIQUE INDEX copied_lower_idx ON public.copied USING btree (lower(c)) WHERE (b IS NULL)
CREATE UNIQUE INDEX copied_pkey ON public.copied USING btree (a)

# Names that GRANT needs.
statement error 42883
grant execute on function nosuch(int, text) to public
----
function nosuch(integer, text) does not exist

statement error 42883
grant execute on procedure nosuch to public
----
could not find a procedure named "nosuch"

statement error 42883
revoke all on function nosuch() from public
----
function nosuch() does not exist

statement error 42883
grant execute on routine nosuch(int) to public
----
function nosuch(integer) does not exist

statement error 3D000
grant connect on database nosuch to public
----
database "nosuch" does not exist

statement error 3D000
revoke all on database nosuch from public
----
database "nosuch" does not exist
