# ROWS FROM and TABLESAMPLE. Each answer is PostgreSQL 15's, but where the line above says otherwise.

query
select * from rows from (generate_series(1, 3), unnest(array['a', 'b'])) with ordinality
----
1|a|1
2|b|2
3|NULL|3

query
select * from rows from (generate_series(1, 2), jsonb_each('{"a": 1, "b": 2, "c": 3}'), unnest(array[10], array['x', 'y'])) as t (n, k, v, p, q)
----
1|a|1|10|x
2|b|2|NULL|y
NULL|c|3|NULL|NULL

query
select generate_series, upper from rows from (generate_series(1, 2), upper('x')) order by 1
----
1|X
2|NULL

query
select n from rows from (generate_series(1, 2)) as n
----
1
2

query
select x.id, y.* from (values (1), (2)) x (id), rows from (generate_series(1, x.id), generate_series(10, 11)) y (a, b) order by 1, 3
----
1|1|10
1|NULL|11
2|1|10
2|2|11

query
select x.id, y.* from (values (1), (2)) x (id) left join lateral rows from (generate_series(2, x.id), generate_series(2, x.id)) with ordinality as y (a, b, n) on true order by 1
----
1|NULL|NULL|NULL
2|2|2|1

statement error 42601
select * from rows from (1)

query
select rows, "from" from (select 1 as rows, 2 as "from") t
----
1|2

# A column may be named so, too.
query
select count(*) as rows from (select 1) x
----
1

query
select rows from (select 1 as rows) x
----
1

query
select 5, rows from (select 1 as rows) x
----
5|1

query
select count(*) rows from (values (1), (2)) x
----
2

query
select x.rows from (select 1 as rows) x join (select 1 as rows) y using (rows)
----
1

query
select 2 is distinct from rows from (select 1 as rows) x
----
t

query
select a from (select substring('abc' from 2) as a, rows from (select 1 as rows) x) y, rows from (generate_series(1, 2)) z
----
bc
bc

query
select y.n from (select 1 as rows) x join rows from (generate_series(1, 2), unnest(array[7])) as y (n, m) on y.m = 7 or y.n = x.rows + 1 order by 1
----
1
2

statement ok
create view counted as select count(*) as rows from (select 1) x

query
select rows from (select * from counted) x
----
1

query
select count(*) from (rows from (generate_series(1, 2)) a cross join rows from (generate_series(1, 2)) b)
----
4

statement ok
drop view counted

statement ok
create table t (a int)

statement ok
insert into t select n from generate_series(1, 1000) n

query
select count(*) from t tablesample bernoulli (100)
----
1000

query
select count(*) from t tablesample system (0)
----
0

query
select count(*) from t x tablesample bernoulli (100) repeatable (5) where x.a < 11
----
10

query
select count(*) between 350 and 650 from t tablesample bernoulli (50)
----
t

query
select (select array_agg(a order by a) from t tablesample bernoulli (30) repeatable (7)) = (select array_agg(a order by a) from t tablesample bernoulli (30) repeatable (7))
----
t

query
select (select array_agg(a order by a) from t tablesample bernoulli (30) repeatable (7)) = (select array_agg(a order by a) from t tablesample bernoulli (30) repeatable (8))
----
f

query
select count(*) from t one tablesample bernoulli (100) join t two tablesample bernoulli (100) on one.a = two.a
----
1000

statement error 2202H
select count(*) from t tablesample bernoulli (101)
----
sample percentage must be between 0 and 100

statement error 2202H
select count(*) from t tablesample bernoulli (-1)
----
sample percentage must be between 0 and 100

statement error 2202H
select count(*) from t tablesample bernoulli (null)
----
TABLESAMPLE parameter cannot be null

statement error 42601
delete from t tablesample bernoulli (0)

statement error 42601
update t tablesample bernoulli (0) set a = 1

query
select count(*), sum(a) from t
----
1000|500500

statement error 42703
select count(*) from t tablesample bernoulli (a)

statement ok
create view v as select a from t

statement error 0A000
select count(*) from v tablesample bernoulli (10)
----
TABLESAMPLE clause can only be applied to tables and materialized views

statement error 0A000
with w as (select 1) select count(*) from w tablesample bernoulli (10)
----
TABLESAMPLE clause can only be applied to tables and materialized views

statement ok
create view sampled as select a from t tablesample bernoulli (100)

query
select count(*) from sampled
----
1000

# Each sample of a statement chooses rows for itself, but a query of WITH has one.
statement ok
create table s (id int primary key, name text)

statement ok
insert into s select n, 'n' || n from generate_series(1, 400) n

query
select count(*) between 50 and 150 from (select * from s tablesample bernoulli (50)) a join (select * from s tablesample bernoulli (50)) b using (id)
----
t

query
with w as (select * from s tablesample bernoulli (50)) select (select count(*) from w x join w y using (id)) = (select count(*) from w)
----
t

# A sampled table keeps its key.
query
select id, name from s tablesample bernoulli (100) group by id having id < 3 order by id
----
1|n1
2|n2

query
select count(*) from (select x.name, count(*) from s as x tablesample bernoulli (100) group by x.id) y
----
400

# The text of a view. PostgreSQL breaks its lines, and writes the query otherwise.
statement ok
create view shown as select * from rows from (generate_series(1, 2), unnest(array['a'])) with ordinality as x (n, l, o)

query
select definition from pg_views where viewname = 'shown'
----
SELECT * FROM ROWS FROM(generate_series(1, 2), unnest(ARRAY['a'])) WITH ORDINALITY AS x (n, l, o);
