# The query to which an aggregate belongs, and the places where none is allowed: the answers are those of PostgreSQL 15.

statement CREATE TABLE
create table t (a int primary key, g int)

statement CREATE TABLE
create table u (x int primary key, y int)

statement INSERT 0 3
insert into t values (1, 1), (2, 1), (3, 2)

statement INSERT 0 2
insert into u values (1, 10), (2, 20)

query
select (select count(*) filter (where t.a > 1)) from t
----
2

statement error 21000
select (select count(*) filter (where t.a > 1) from u) from t

query
select (select count(t.a)) from t
----
3

statement error 21000
select (select sum(t.a) from u) from t

query
select (select sum(t.a + u.x) from u) from t order by 1
----
5
7
9

query
select (select max(t.a) from u where u.x = 1) from t
----
3

query
select g, (select sum(t.a) from u limit 1) from t group by g order by g
----
1|3
2|3

query
select g, (select sum(t.a)) from t group by g order by g
----
1|3
2|3

query
select (select count(*) from u) from t
----
2
2
2

query
select count(*) filter (where a > 1), sum(a) filter (where g = 1) from t
----
2|3

query
select g from t group by g having (select sum(t.a)) > 2 order by g
----
1
2

query
select g from t group by g having sum(a) > 2 order by g
----
1
2

query
select g from t group by g having (select count(*) from u where u.x = sum(t.a)) > 0 order by g
----

query
select g, (select u.y from u where u.x = sum(t.a)) from t group by g order by g
----
1|NULL
2|NULL

statement error 42803
select sum(sum(a)) from t

statement error 42803
select sum(count(*)) from t group by g

statement error 42803
select sum(a) filter (where sum(a) > 1) from t

statement error 42803
select count(*) from t where sum(a) > 1

statement error 42803
select a from t where count(*) > 1

statement error 42803
select a from t where exists (select 1 from u group by x having sum(t.a) > 1)

statement error 42803
select a from t where exists (select 1 from u having count(t.a) > 1)

statement error 42803
select a, sum(g) from t

statement error 42803
select a from t group by g

query
select max(a) + 1, min(a) from t
----
4|1

statement error 42803
select t.a from t join u on sum(t.a) = 1

query
select sum((select a)) from t
----
6

query
select sum((select count(*) from u)) from t
----
6

statement error 42803
select sum((select count(t.a))) from t

query
select t.g, count(*) from t group by t.g having count(*) > 1 order by count(*) desc
----
1|2

query
select g, count(*) from t group by g order by (select sum(t.a) + g)
----
1|2
2|1

query
select (select (select sum(t.a))) from t
----
6

query
select (select count(distinct t.g)) from t
----
2

query
select (select string_agg(t.a::text, ',' order by t.a desc)) from t
----
3,2,1

query
select (select count(*) filter (where true)) from t
----
1
1
1

query
select (select count(*) filter (where u.x > 1) from u) from t
----
1
1
1

query
select (select count(u.x) filter (where t.a > 1) from u) from t order by a
----
0
2
2

query
select (select sum(x) filter (where t.g = 1) from u) from t order by a
----
3
3
NULL

statement error 42803
select a, (select count(*) filter (where t.a > 1) from u) from t

statement error 21000
select g, (select count(*) filter (where t.g > 1) from u) from t group by g order by g

query
select (select sum(t.a) filter (where u.x > 1) from u) from t order by 1
----
1
2
3

query
select (select max(1) from u) from t
----
1
1
1

query
select exists (select 1 from u having max(t.a) > 2) from t
----
t

query
select sum(a) over (), sum(sum(a)) over () from t group by a order by 1
----
6|6
6|6
6|6

query
select count(*) over (partition by count(*)) from t group by g
----
1
1

statement error 42803
update t set g = sum(a)

statement error 42803
delete from t where sum(a) > 1

statement error 42803
insert into t values (sum(1), 1)

statement error 42803
select a from t order by sum(a)

statement error 42803
select a from t limit sum(1)

statement error 42803
select g as s, sum(a) from t group by sum(a)

query
select (select t2.g from t t2 group by t2.g having t2.g = max(t.g)) from t
----
2

statement error 42803
select 1 from t group by g having a > 1

query
select avg(a) filter (where a > 100) from t
----
NULL

query
select count(*) filter (where null) from t
----
0

query
select sum(distinct a) filter (where a < 3) from t
----
3

statement DROP TABLE
drop table t

statement DROP TABLE
drop table u
