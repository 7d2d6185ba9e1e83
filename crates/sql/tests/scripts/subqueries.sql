statement ok
create table a (id int primary key, x int, t text)

statement ok
create table b (id int primary key, a int, y int)

statement ok
create index b_a on b (a)

statement ok
insert into a values (1, 10, 'one'), (2, 20, 'two'), (3, null, 'three'), (4, 10, null)

statement ok
insert into b values (1, 1, 5), (2, 1, 7), (3, 2, null), (4, null, 10), (5, 9, 20)

query
select id from a where x = (select max(x) from a)
----
2

query
select (select x from a where id = 99)
----
NULL

statement error 21000
select (select x from a)

statement error 42601
select (select id, x from a where id = 1)

query
select id from a where id in (select a from b) order by id
----
1
2

query
select id from a where id not in (select a from b)
----

query
select id from a where id not in (select a from b where a is not null) order by id
----
3
4

query
select id, x in (select y from b), x not in (select y from b where y is not null) from a order by id
----
1|t|f
2|t|f
3|NULL|NULL
4|t|f

query
select 1 in (select y from b where y > 100), null in (select y from b where y > 100)
----
f|f

query
select id from a where exists (select 1 from b where b.a = a.id) order by id
----
1
2

query
select id from a where not exists (select 1 / 0 from b where b.a = a.id) order by id
----
3
4

query
select id, (select count(*) from b where b.a = a.id), (select sum(y) from b where a = a.id) from a order by id
----
1|2|12
2|1|NULL
3|0|NULL
4|0|NULL

query
select id from a where x > any (select y from b where y is not null) order by id
----
1
2
4

query
select id from a where x > all (select y from b where a = 1) order by id
----
1
2
4

query
select id from a where x >= all (select y from b where y > 1000) order by id
----
1
2
3
4

query
select id from a where x <> all (select 10) order by id
----
2

query
select x >= all (select y from b) from a where id = 2
----
NULL

query
select id from a where (id, x) in (select a, y * 2 from b where a = 1) order by id
----
1

query
select id from a where (id, x) in (values (1, 10), (2, 21), (3, 5)) order by id
----
1

query
select (3, null::int) in (values (3, 5)), (3, null::int) in (values (4, 5)), (3, 5) not in (values (3, null::int))
----
NULL|f|NULL

query
select d.k, d.n from (select a as k, count(*) as n from b group by a) as d order by k
----
1|2
2|1
9|1
NULL|1

query
select p, q from (values (1, 'x'), (2, null)) as v(p, q) order by p desc
----
2|NULL
1|x

query
select d.x from (select * from a where t is not null) d where id = 2
----
20

query
explain select d.x from (select * from a where t is not null) d where id = 2
----
Subquery Scan
  ->  Index Scan using a_pkey on a
        Index Cond: (id = 2)
        Filter: (t IS NOT NULL)

query
explain select id from b where a = (select max(id) from a)
----
Index Scan using b_a on b
  Index Cond: (a = (SubPlan 1))
  SubPlan 1
    ->  Aggregate
          ->  Seq Scan on a

query
with big as (select id, x from a where x >= 10), n as (select count(*) as c from big) select big.id, n.c from big, n order by 1
----
1|3
2|3
4|3

query
with r(v) as (select random()) select count(distinct v) from (select v from r union all select v from r union all select v from r) as u
----
1

query
with one as materialized (select id from a where id = 1) select o.id, p.id from one o, one p
----
1|1

query
select id from a where x in (with c as (select y * 2 as z from b where b.a = a.id) select z from c c1 where exists (select 1 from c where c.z = c1.z)) order by id
----
1

query
select 1 union select 1 union all select 2 order by 1 desc
----
2
1

query
select x from a union select y from b order by x nulls first
----
NULL
5
7
10
20

query
select x from a intersect select y from b order by 1
----
10
20
NULL

query
select x from a intersect all select y from b order by 1
----
10
20
NULL

query
select x from a except select y from b where y > 10 order by 1
----
10
NULL

query
select x from a except all select 10 order by 1
----
10
20
NULL

query
(select id from a order by id desc limit 2) union all (select id from b order by id limit 1) order by 1 limit 2
----
1
3

query
select null union all select 3 order by 1
----
3
NULL

query
select '2020-01-02' union select date '2020-01-01' order by 1
----
2020-01-01
2020-01-02

statement error 42601
select 1 union select 1, 2

statement error 42804
select 1 union select true

query
table a order by id limit 1
----
1|10|one

query
select distinct on (x) x, id from a order by x, id desc
----
10|4
20|2
NULL|3

query
select distinct on (x) x from a order by x limit 1 offset 1
----
20

statement error 42P10
select distinct on (x) x from a order by id

query
select a.id, a.t, count(b.id) from a left join b on b.a = a.id group by a.id order by 1
----
1|one|2
2|two|1
3|three|0
4|NULL|0

query
select x, (select count(*) from b where b.y > a.x) from a group by x order by x
----
10|1
20|0
NULL|0

statement error 42803
select x, (select count(*) from b where b.y > a.id) from a group by x

query
select (select sum(b.y) from b) as s, count(*) from a having count(*) > (select count(*) from b where a = 1)
----
42|4

query
select id from a order by (select count(*) from b where b.a = a.id) desc, id limit 2
----
1
2

query
select (select (select a.x + b.y from b where b.id = a.id) from (values (1)) v) from a order by id
----
15
27
NULL
20

statement ok
update a set x = (select sum(y) from b where b.a = a.id) where id in (select a from b)

query
select id, x from a order by id
----
1|12
2|NULL
3|NULL
4|10

statement UPDATE 4
update a set x = (select count(*) from a where x is null)

query
select distinct x from a
----
2

statement DELETE 2
delete from a where not exists (select 1 from b where b.a = a.id)

query
delete from a where id = 0 returning (select 1)
----

statement INSERT 0 2
insert into a values ((select max(id) + 1 from a), 1, 'n'), ((select max(id) + 2 from a), 2, 'm')

query
select id from a order by id
----
1
2
3
4

statement INSERT 0 2
with n as (select id + 10 as id from a where id < 3) insert into a (id, x) select id, 5 from n

query
select id, x from a where id > 10 order by id
----
11|5
12|5

statement INSERT 0 2
insert into a (id, t) select p, q from (values (21, 'p'), (22, 'q')) as v(p, q) order by p returning id

statement ok
begin

statement ok
insert into b values (100, 100, 100)

query
select (select y from b where id = 100), 100 in (select a from b), exists (select 1 from b where y = 100)
----
100|t|t

statement ok
rollback

query
select v.id, l.s from (values (1), (2)) v(id), lateral (select sum(y) as s from b where b.a = v.id) l order by 1
----
1|12
2|NULL

query
select v.id, l.y from (values (1), (3)) v(id) left join lateral (select y from b where b.a = v.id order by y limit 1) l on true order by 1
----
1|5
3|NULL

query
select g, h from generate_series(1, 3) g, generate_series(g, 3, 2) as s(h) order by 1, 2
----
1|1
1|3
2|2
3|3

query
select count(*) from generate_series(5, 1, -1)
----
5

statement error 22023
select * from generate_series(1, 2, 0)

query
select * from generate_series(1, 2)
----
1
2

query
select (select sum(a.x)) from a
----
17

statement error 42P01
select * from (select 1) d where e.x = 1

statement error 42703
select (select nothing from b) from a
