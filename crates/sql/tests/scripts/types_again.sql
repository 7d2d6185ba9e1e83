# Types of users that change, go, and are created again under the same name; types in types. The answers are those of PostgreSQL 15,
# but for a hint.
statement ok
create type mood as enum ('a')

statement ok
create type c as (m mood)

statement ok
create table t (v c)

statement ok
insert into t values (row('a'))

statement ok
alter type mood add value 'b'

statement ok
insert into t values (row('b')), (row('b'::mood)), ('(b)')

query
select v, (v).m, (v).m > 'a' from t order by v
----
(a)|a|f
(b)|b|t
(b)|b|t
(b)|b|t

reopen

query
select v, (v).m from t order by v
----
(a)|a
(b)|b
(b)|b
(b)|b

statement ok
drop table t

statement error 2BP01
drop type mood
----
cannot drop type mood because other objects depend on it
DETAIL: column m of composite type c depends on type mood
HINT: Drop the other type first.

statement ok
drop type mood, c

statement ok
create type mood as enum ('x')

statement ok
create type c as (m mood)

statement ok
create table t (v c)

statement ok
insert into t values (row('x')), (row('x'::mood))

query
select v, (v).m from t
----
(x)|x
(x)|x

reopen

query
select v, (v).m from t
----
(x)|x
(x)|x

statement ok
drop table t

# A function needs the types of its parameters and results.
statement ok
create function f(v c) returns int language sql as 'select 1'

statement error 2BP01
drop type c
----
cannot drop type c because other objects depend on it
DETAIL: function f(c) depends on type c
HINT: Use DROP ... CASCADE to drop the dependent objects too.

statement ok
drop function f(c)

statement ok
create function f() returns setof mood language sql as 'select ''x''::mood'

statement error 2BP01
drop type c, mood

statement ok
drop type c, mood cascade

statement error 42883
select f()

# A schema with types that are made of each other.
statement ok
create schema s

statement ok
create type s.a as enum ('x')

statement ok
create type s.b as (m s.a)

statement ok
create type s.c as (m s.b[])

statement ok
create function s.of(s.c) returns s.b language sql as 'select null::s.b'

statement ok
drop schema s cascade

# Types whose fields are of types with fields: each is walked once. (PostgreSQL walks all of them: its answers are for three.)
statement ok
create type w1 as (a1 int, a2 int, a3 int, a4 int, a5 int, a6 int, a7 int, a8 int, a9 int, a10 int, a11 int, a12 int, a13 int, a14 int, a15 int, a16 int, a17 int, a18 int, a19 int, a20 int, a21 int, a22 int, a23 int, a24 int, a25 int, a26 int, a27 int, a28 int, a29 int, a30 int)

statement ok
create type w2 as (a1 w1, a2 w1, a3 w1, a4 w1, a5 w1, a6 w1, a7 w1, a8 w1, a9 w1, a10 w1, a11 w1, a12 w1, a13 w1, a14 w1, a15 w1, a16 w1, a17 w1, a18 w1, a19 w1, a20 w1, a21 w1, a22 w1, a23 w1, a24 w1, a25 w1, a26 w1, a27 w1, a28 w1, a29 w1, a30 w1)

statement ok
create type w3 as (a1 w2, a2 w2, a3 w2, a4 w2, a5 w2, a6 w2, a7 w2, a8 w2, a9 w2, a10 w2, a11 w2, a12 w2, a13 w2, a14 w2, a15 w2, a16 w2, a17 w2, a18 w2, a19 w2, a20 w2, a21 w2, a22 w2, a23 w2, a24 w2, a25 w2, a26 w2, a27 w2, a28 w2, a29 w2, a30 w2)

statement ok
create type w4 as (a1 w3, a2 w3, a3 w3, a4 w3, a5 w3, a6 w3, a7 w3, a8 w3, a9 w3, a10 w3, a11 w3, a12 w3, a13 w3, a14 w3, a15 w3, a16 w3, a17 w3, a18 w3, a19 w3, a20 w3, a21 w3, a22 w3, a23 w3, a24 w3, a25 w3, a26 w3, a27 w3, a28 w3, a29 w3, a30 w3)

statement ok
create type w5 as (a1 w4, a2 w4, a3 w4, a4 w4, a5 w4, a6 w4, a7 w4, a8 w4, a9 w4, a10 w4, a11 w4, a12 w4, a13 w4, a14 w4, a15 w4, a16 w4, a17 w4, a18 w4, a19 w4, a20 w4, a21 w4, a22 w4, a23 w4, a24 w4, a25 w4, a26 w4, a27 w4, a28 w4, a29 w4, a30 w4)

statement ok
create type w6 as (a1 w5, a2 w5, a3 w5, a4 w5, a5 w5, a6 w5, a7 w5, a8 w5, a9 w5, a10 w5, a11 w5, a12 w5, a13 w5, a14 w5, a15 w5, a16 w5, a17 w5, a18 w5, a19 w5, a20 w5, a21 w5, a22 w5, a23 w5, a24 w5, a25 w5, a26 w5, a27 w5, a28 w5, a29 w5, a30 w5)

statement ok
create type w7 as (a1 w6, a2 w6, a3 w6, a4 w6, a5 w6, a6 w6, a7 w6, a8 w6, a9 w6, a10 w6, a11 w6, a12 w6, a13 w6, a14 w6, a15 w6, a16 w6, a17 w6, a18 w6, a19 w6, a20 w6, a21 w6, a22 w6, a23 w6, a24 w6, a25 w6, a26 w6, a27 w6, a28 w6, a29 w6, a30 w6)

query
select count(*) from pg_attribute a join pg_class c on c.oid = a.attrelid where c.relname in ('w1', 'w2', 'w3', 'w4', 'w5', 'w6', 'w7')
----
210

query
select null::w7, row(null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null)::w7 is null
----
NULL|t

# The fields of a row are assigned as columns are; a cast may do more.
statement ok
create type n as (a int, b text)

statement ok
create table t (v n, s text)

statement ok
insert into t values (row('1', 2), '3'), (row(1.6, 'x'), '4')

statement error 42846
update t set v = row(s, 'x')
----
cannot cast type record to n
DETAIL: Cannot cast type text to integer in column 1.

statement error 42846
update t set v = row(true, 'x')
----
cannot cast type record to n
DETAIL: Cannot cast type boolean to integer in column 1.

statement ok
update t set v = row(s, 'x')::n where s = '4'

query
select v, row(true, 'x')::n from t order by s
----
(1,2)|(1,x)
(4,x)|(1,x)
