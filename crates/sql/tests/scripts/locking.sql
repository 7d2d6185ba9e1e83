# FOR UPDATE and its brothers: the tables that they name, and the queries that they follow, are checked.

statement ok
create table t (a int primary key, b int)

statement ok
insert into t values (1, 2)

query
select * from t for no key update
----
1|2

query
select * from t x for key share of x nowait
----
1|2

query
select x.a from t x, (select a from t) s where x.a = s.a for update of s for share of x
----
1

statement error 42P01
select * from t for update of nosuch
----
relation "nosuch" in FOR UPDATE clause not found in FROM clause

statement error 42P01
select * from t x for share of t
----
relation "t" in FOR SHARE clause not found in FROM clause

statement error 42601
select * from t for update of public.t
----
FOR UPDATE must specify unqualified relation names

statement error 0A000
with w as (select 1 x) select * from w for update of w
----
FOR UPDATE cannot be applied to a WITH query

statement error 0A000
select count(*) from t for update
----
FOR UPDATE is not allowed with aggregate functions

statement error 0A000
select a from t group by a for update
----
FOR UPDATE is not allowed with GROUP BY clause

statement error 0A000
select distinct a from t for share
----
FOR SHARE is not allowed with DISTINCT clause

statement error 0A000
select row_number() over () from t for update
----
FOR UPDATE is not allowed with window functions

statement error 0A000
values (1) for update
----
FOR UPDATE cannot be applied to VALUES

query
select * from t x, t y where x.a = y.a for no key update of x, y nowait for key share
----
1|2|1|2

statement error 42P01
select * from t x for no key update of t
----
relation "t" in FOR NO KEY UPDATE clause not found in FROM clause

statement error 42601
select * from t for key share of public.t
----
FOR KEY SHARE must specify unqualified relation names
