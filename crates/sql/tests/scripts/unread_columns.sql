# Columns of queries that nothing reads are not computed, so their errors are not met. Other statements than in
# PostgreSQL 15 that fail only when they are planned are left out.

query
select 1 from (select 1/0 as x) s
----
1

query
select count(*) from (select 1/0 as x) s
----
1

query
select count(*) from (select 1/0 as x from generate_series(1,3)) s
----
3

query
select exists(select 1/0)
----
t

query
select exists(select 1/0 from generate_series(1,3))
----
t

query
select case when true then 1 else 1/0 end
----
1

query
select case when false then 1/0 else 2 end
----
2

query
select coalesce(1, 1/0)
----
1

query
select true or 1/0 = 1
----
t

query
select false and 1/0 = 1
----
f

statement error 22012
select 1/0 = 1 or true

statement error 22012
select 1/0 = 1 and false

statement CREATE TABLE
create table l1 (a int primary key, b int)

statement INSERT 0 2
insert into l1 values (1, 0), (2, 1)

query
select 1 from (select 1/b as x from l1) s
----
1
1

query
select count(*) from (select 1/b as x from l1) s
----
2

query
select count(*) from (select a, 1/b as x from l1) s
----
2

query
select a from (select a, 1/b as x from l1) s order by a
----
1
2

query
select a from (select a, 1/b as x from l1 order by a) s
----
1
2

statement error 22012
select a from (select a, 1/b as x from l1 order by x) s

statement error 22012
select a from (select distinct a, 1/b as x from l1) s

query
select a from (select a, 1/b as x from l1 limit 5) s
----
1
2

query
select a from (select a, 1/b as x from l1 offset 0) s
----
1
2

query
select a from (select a, 1/b as x from l1 order by a limit 5) s
----
1
2

query
select a from (select a, row_number() over () as r, 1/b as x from l1) s
----
1
2

query
select a from (select a, sum(1/b) over () as r from l1) s
----
1
2

query
with s as (select a, 1/b as x from l1) select a from s order by a
----
1
2

statement error 22012
with s as materialized (select a, 1/b as x from l1) select a from s

statement CREATE VIEW
create view lv as select a, 1/b as x from l1

query
select a from lv order by a
----
1
2

query
select count(*) from lv
----
2

statement error 22012
select x from lv

statement DROP VIEW
drop view lv

query
select exists(select 1/b from l1)
----
t

query
select exists(select 1/b from l1 group by b)
----
t

query
select a from l1 where exists (select 1/b from l1 i where i.a = l1.a) order by a
----
1
2

statement error 22012
select a from l1 where a in (select 1/b from l1)

query
select a from (select a, 1/b as x from l1 union all select 3, 4) s
----
1
2
3

statement error 22012
select a from (select a, 1/b as x from l1 union select 3, 4) s

query
select s.a from l1 t join (select a, 1/b as x from l1) s on s.a = t.a order by 1
----
1
2

query
select t.a from l1 t left join (select a, 1/b as x from l1) s on s.a = t.a order by 1
----
1
2

query
select case when b = 0 then 0 else 1/b end from l1 order by a
----
0
1

query
select a from l1 where b <> 0 and 1/b = 1
----
2

query
select a from l1 where b = 0 or 1/b = 1 order by a
----
1
2

statement error 22012
select case when b = 0 then 1/0 else 1 end from l1

query
select case b when 0 then 0 else 1/b end from l1 order by a
----
0
1

statement error 22012
select coalesce(nullif(b,0), 1/0) from l1

query
select a from l1 where false and 1/0 = 1
----

statement error 22012
select a from l1 where 1/0 = 1 and false

statement error 22012
select a from l1 where a = 1 or 1/0 = 1

query
select 1/b from l1 order by a desc limit 1
----
1

statement error 22012
select 1/b from l1 order by a offset 1

statement error 22012
select 1/b from l1 order by a limit 1 offset 1

statement error 22012
select a, (select 1/b from l1 i where i.a = l1.a) from l1

query
select a from (select a, (select 1/0) as x from l1) s order by a
----
1
2

query
select x.a from (select a, a/0 as y from l1) x where x.a > 100
----

statement error 22012
select greatest(1, 1/0)

statement error 22012
select nullif(1/0, 1)

statement error 22012
select nullif(1, 1/0)

query
select 1 where false and 1/0 = 1
----

query
select 1 where true or 1/0 = 1
----
1

query
select (case when true then 1 else 1/0 end) + 1
----
2

statement error 22P02
select 'x'::int from l1 where false

statement error 22P02
select case when false then 'x'::int end

query
select case when a > 5 then 1/(b-b) else 0 end from l1
----
0
0

query
select sum(case when b <> 0 then 1/b else 0 end) from l1
----
1

query
select count(*) filter (where false and 1/0 = 1) from l1
----
0

query
select sum(1/b) filter (where b <> 0) from l1
----
1

statement error 22012
select 1 from l1 having 1/0 = 1

statement error 22012
select 1 from l1 group by 1/b

statement error 22012
select * from generate_series(1, 1/0)

statement error 22012
select a from l1 order by 1/b

statement error 22012
select 2 in (1, 1/0)

query
select not (true or 1/0 = 1)
----
f

statement error 22012
select b is null or 1/b > 0 from l1

statement error 22012
values (1/0)

query
select 1 from (values (1/0)) v
----
1

statement error 22012
select 1 from (values (1/0), (2)) v

statement error 22012
select column2 from (values (1/0, 2), (2, 3)) v

statement DROP TABLE
drop table l1
