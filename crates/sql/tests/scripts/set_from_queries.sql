# UPDATE sets several columns at once: from a row, and from the only row of a query. The answers are those of PostgreSQL 15.

statement ok
create table t (id int primary key, a int, b text, n numeric(6,2))

statement ok
create table other (id int primary key, x int, y text)

statement ok
insert into t values (1, 10, 'one', 1.5), (2, 20, 'two', 2.5), (3, 30, 'three', 3.5)

statement ok
insert into other values (1, 100, 'hundred'), (2, 200, 'two hundred')

query
update t set (a, b) = (select x, y from other where other.id = t.id) returning *
----
1|100|hundred|1.50
2|200|two hundred|2.50
3|NULL|NULL|3.50

query
update t set (a, b) = row(7, 'seven') where id = 1 returning a, b
----
7|seven

query
update t set (a, b) = (8, default), n = 9 where id = 1 returning *
----
1|8|NULL|9.00

query
update t set (b, a) = (select 'x', 4.6), (n) = row(1.005) where id = 2 returning *
----
2|5|x|1.01

# One run of the query gives both values.
query
update t set (a, n) = (select g, g from (select (random() * 1000)::int as g) as drawn) where id = 1 returning a = n
----
t

statement error 21000
update t set (a, b) = (select x, y from other)

statement error 42601
update t set (a, b) = (select x from other where id = 1)

statement error 42601
update t set (a, b) = (1, 'x', 2)

statement error 0A000
update t set (a, b) = a

statement error 42601
update t set (a, a) = (select 1, 2)

statement error 42804
update t set (a, b) = (select true, 'x')

query
insert into t values (1, 1, 'again', 0) on conflict (id) do update set (a, b) = (select x, y from other where other.id = excluded.id) returning a, b
----
100|hundred

query
insert into t values (1, 1, 'again', 0) on conflict (id) do update set (a, b) = (excluded.a + 100, 'hundred') returning a, b
----
101|hundred

query
update t set (a, b) = (select x, y from other o where o.id = f.id) from other f where f.id = t.id and t.id = 2 returning t.a, t.b
----
200|two hundred

statement ok
merge into t using other o on t.id = o.id when matched then update set (a, b) = (select o.x + 1, 'merged')

query
select id, a, b from t order by id
----
1|101|merged
2|201|merged
3|NULL|NULL
