statement ok
create table a (id int primary key, g int, h text, v int)

statement ok
create index a_g_h on a (g, h)

statement ok
create unique index a_v on a (v)

statement ok
insert into a values (1, 1, 'x', 10), (2, 1, 'y', 20), (3, 2, 'x', 30), (4, 2, null, 40), (5, null, 'z', 50)

query
explain select * from a where id = 3
----
Index Scan using a_pkey on a
  Index Cond: (id = 3)

query
explain select * from a where v = 30 and g = 1
----
Index Scan using a_v on a
  Index Cond: (v = 30)
  Filter: (g = 1)

query
explain select * from a where g = 1 and h > 'x'
----
Index Scan using a_g_h on a
  Index Cond: ((g = 1) AND (h > 'x'::text))

query
explain select id from a order by id desc limit 2
----
Limit
  ->  Index Scan Backward using a_pkey on a

query
explain select * from a where h = 'x'
----
Seq Scan on a
  Filter: (h = 'x'::text)

query
explain update a set v = 1 where id = 1
----
Update on a
  ->  Index Scan using a_pkey on a
        Index Cond: (id = 1)

query
explain select g, count(*) from a group by g order by g
----
Sort
  Sort Key: g
  ->  HashAggregate
        ->  Seq Scan on a

query
select id from a where g = 1 and h > 'x'
----
2

query
select id from a where g = 2 order by h
----
3
4

query
select id from a where g = 2 order by h desc
----
4
3

query
select id from a where g > 1 order by g
----
3
4

query
select id from a where id > 1.5 and id <= 3
----
2
3

query
select id from a where id = 1.5
----

query
select id from a where id = 99999999999
----

query
select id from a where id < 99999999999 order by id desc limit 2
----
5
4

query
select id from a where id > null
----

query
select count(*) from a where g = 1
----
2

query
select id from a where v between 20 and 40 order by v desc
----
4
3
2

query
select min(v), max(v), count(*) from a where v > 20
----
30|50|3

# The next page in the order of an index of two columns begins at the end of the last one.

statement ok
create table pages(a int, b int, primary key (a, b))

statement ok
insert into pages select i / 10, i % 10 from generate_series(0, 99) g(i)

query
select a, b from pages where (a, b) > (3, 7) order by a, b limit 3
----
3|8
3|9
4|0

query
explain select a, b from pages where (a, b) > (3, 7) order by a, b limit 3
----
Limit
  ->  Index Scan using pages_pkey on pages
        Index Cond: (a >= 3)
        Filter: ((a > 3) OR (b > 7))
