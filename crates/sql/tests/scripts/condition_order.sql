# The parts of a condition are tested in the order of their costs, and those of equal costs as they are written, everywhere. The answers are those of PostgreSQL 15.
statement ok
create table a (id int primary key, k int2, s text)

statement ok
insert into a values (1, 0, 'a'), (2, 2, 'b1'), (5, 2, 'c5'), (10, 0, 'ddd')

statement ok
create index on a (s)

statement ok
create table b (x int, aid int)

statement ok
insert into b values (0, 1), (1, 2), (3, 5)

statement ok
create function unequal(n int) returns bool language plpgsql immutable as $$ begin return n <> 0; end $$

query
select count(*) from a where 10 / k = 5 and k <> 0
----
2

query
select count(*) from a where id < 100 and 10 / k = 5 and k <> 0
----
2

query
select count(*) from a where id in (5, 10) and 10 / k = 5 and k <> 0
----
1

query
select count(*) from a where 10 / k = 5 and id = 5 and k <> 0
----
1

query
select count(*) from a where 10 / k = 5 and s > 'a' and k <> 0
----
2

query
select count(*) from (select * from a offset 0) q where 10 / k = 5 and k <> 0
----
2

query
with q as materialized (select * from a) select count(*) from q where 10 / k = 5 and k <> 0
----
2

query
select id from a where 10 / k = 5 and k <> 0 order by id for update
----
2
5

query
select k from a group by k having 10 / k = 5 and k <> 0
----
2

query
select n from generate_series(0, 2) n where 2 / n = 1 and n <> 0
----
2

query
select count(*) from b where exists (select 1 from a where a.id = b.aid and 10 / k = 5 and k <> 0)
----
2

query
select a.k, b.x from a, b where a.k / b.x > 1 and b.x <> 0 and b.x < a.k
----
2|1
2|1

query
select count(*) from a join b on 10 / a.k = 5 and b.aid = a.id and a.k <> 0
----
2

statement error 22012
select a.id, b.x from a left join b on 10 / (a.k * b.x) = 5 and a.k <> b.x order by 1, 2
----
division by zero

query
select count(*) from a where substring(s, 2)::int = 5 and s like '_5'
----
1

query
select count(*) from a where id < 9 and substring(s, 2)::int = 5 and s like '_5'
----
1

query
select count(*) from a where 10 / k = 5 and k is not null and k in (2, 3)
----
2

query
select count(*) from a where unequal(id) and 10 / k = 5 and k <> 0
----
2

statement error 22012
select count(*) from a where 10 / k = 5 and unequal(k)
----
division by zero

statement ok
update a set s = s || '!' where 10 / k = 5 and id > 0 and k <> 0

statement ok
delete from a where 10 / k = 5 and id = 2 and k <> 0

query
select id, s from a order by id
----
1|a
5|c5!
10|ddd

# Parts of equal costs are tested as they are written, and equations behind the others.
query
select count(*) from a where 10 / k = 5 and k + 1 <> 1
----
1

query
select count(*) from a where k + 1 <> 1 and 10 / k = 5
----
1

statement error 22012
select count(*) from a where 10 / k = 5 and (k + 1) * 2 <> 2
----
division by zero

statement error 22012
select count(*) from a where 10 / k > 4 and k + 1 <> 1
----
division by zero

query
select k from a group by k having 10 / k = 5 and k + 1 <> 1
----
2
