# Objects that need a type, or the type of a table's rows: domains, their columns, functions. Each answer is PostgreSQL 15's.

statement ok
create type e1 as enum ('a', 'b')

statement ok
create domain d1 as e1

statement error 2BP01
drop type e1
----
cannot drop type e1 because other objects depend on it
DETAIL: type d1 depends on type e1
HINT: Use DROP ... CASCADE to drop the dependent objects too.

statement ok
create table t (a d1, b int)

statement ok
create function fd(e1) returns int language sql as 'select 1'

statement error 2BP01
drop type e1
----
cannot drop type e1 because other objects depend on it
DETAIL: type d1 depends on type e1
column a of table t depends on type d1
function fd(e1) depends on type e1
HINT: Use DROP ... CASCADE to drop the dependent objects too.

statement error 2BP01
drop domain d1
----
cannot drop type d1 because other objects depend on it
DETAIL: column a of table t depends on type d1
HINT: Use DROP ... CASCADE to drop the dependent objects too.

statement ok
drop type e1 cascade

query
select attname from pg_attribute where attrelid = 't'::regclass and attnum > 0 and not attisdropped
----
b

query
select count(*) from pg_type where typname in ('e1', 'd1')
----
0

statement error 42704
select 'a'::d1

# A type that is made later gets nothing of them.
statement ok
create type other as enum ('zz')

statement error 42704
select 'zz'::d1

# Types that go together.

statement ok
create type c1 as (x int)

statement ok
create domain dc as other

statement error 2BP01
drop type other

statement ok
drop type other, c1, dc

query
select count(*) from pg_type where typname in ('other', 'c1', 'dc')
----
0

# Of another schema.

statement ok
create schema y

statement ok
create type y.e3 as enum ('q')

statement ok
create domain d3 as y.e3

statement ok
create table t3 (a d3, b int)

statement error 2BP01
drop schema y

statement ok
drop schema y cascade

query
select count(*) from pg_type where typname in ('e3', 'd3')
----
0

query
select attname from pg_attribute where attrelid = 't3'::regclass and attnum > 0 and not attisdropped
----
b

reopen

query
select count(*) from pg_type where typname in ('e3', 'd3', 'e1', 'd1')
----
0

# Rows of tables.

statement ok
create table tt (i int)

statement ok
create function ff() returns setof tt language sql as 'select * from tt'

statement ok
create function f1() returns tt language sql as 'select * from tt limit 1'

statement error 2BP01
drop table tt
----
cannot drop table tt because other objects depend on it
DETAIL: function f1() depends on type tt
function ff() depends on type tt
HINT: Use DROP ... CASCADE to drop the dependent objects too.

statement ok
drop table tt cascade

query
select count(*) from pg_proc where proname in ('ff', 'f1')
----
0

statement ok
create materialized view mv as select 1 as a

statement ok
create function fm() returns setof mv language sql as 'select * from mv'

statement error 2BP01
drop materialized view mv
----
cannot drop materialized view mv because other objects depend on it
DETAIL: function fm() depends on type mv
HINT: Use DROP ... CASCADE to drop the dependent objects too.

statement ok
drop materialized view mv cascade

statement error 42883
select * from fm()

statement ok
create schema z

statement ok
create table z.tz (i int)

statement ok
create function fz() returns setof z.tz language sql as 'select * from z.tz'

statement ok
drop schema z cascade

statement error 42883
select * from fz()
