# Subqueries in RETURNING, and in SET and WHERE of ON CONFLICT: they read the state before the statement.

statement ok
create table a (id int primary key, x int, y text)

statement ok
create table b (a int, z int)

statement ok
insert into b values (1, 10), (1, 11), (2, 20)

query
insert into a values (1, 1, 'one'), (2, 2, 'two') returning id, (select count(*) from a), (select max(z) from b where b.a = a.id)
----
1|0|11
2|0|20

query
update a set x = x + 10 returning id, x, (select sum(x) from a), exists (select 1 from b where b.z = a.x - 1)
----
1|11|3|t
2|12|3|t

query
delete from a where id = 2 returning (select count(*) from a), array(select z from b where b.a = a.id order by z)
----
2|{20}

query
insert into a values (1, 5, 'new'), (3, 6, 'three') on conflict (id) do update set x = (select max(z) from b where b.a = excluded.id), y = excluded.y where a.x < (select count(*) + 100 from b) returning id, x, y
----
1|11|new
3|6|three

statement INSERT 0 0
insert into a values (1, 5, 'no') on conflict (id) do update set y = 'no' where exists (select 1 from b where z = a.x + 1000)

query
select * from a order by id
----
1|11|new
3|6|three

statement INSERT 0 1
insert into a values (3, 0, 'z') on conflict (id) do update set (x, y) = (select count(*), min(y) from a)

query
select * from a where id = 3
----
3|2|new

# The rows of a query, and queries of WITH around.

query
with w as (select 100 as k) insert into a select k, k, 'w' from w returning id, (select k + 1 from w)
----
100|101

query
with gone as (delete from b where z = 20 returning z) insert into a select z, z, 'g' from gone returning id, (select count(*) from b), (select count(*) from gone)
----
20|3|1

query
with done as (insert into a values (100, 1, 'c') on conflict (id) do update set x = (select count(*) from a) returning id, (select x from a o where o.id = a.id) as before, x) select * from done
----
100|100|4

statement error 21000
insert into a values (50, 1, 'x'), (50, 2, 'y') on conflict (id) do update set x = (select 1)

statement error 23505
insert into a values (1, 1, 'x') returning (select 1)

statement error 21000
insert into a values (60, 1, 'x') returning (select z from b)

query
select count(*) from a where id in (50, 60)
----
0

# A transaction by itself.

statement ok
begin

query
insert into a values (70, 1, 'x') returning (select count(*) from a)
----
4

query
update a set x = 0 where id = 70 returning (select x from a o where o.id = a.id)
----
1

statement ok
commit

query
select x from a where id = 70
----
0
