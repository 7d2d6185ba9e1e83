# Functions that give rows of several columns: their fields, beside others in FROM, and several arrays. The answers are those of PostgreSQL 15.
statement ok
create table ft (a int, b text)

statement ok
insert into ft values (1, 'x'), (2, 'y')

statement ok
create type ct as (p int, q text)

statement ok
create function f4() returns setof ft language sql as 'select * from ft'

statement ok
create function f5(n int) returns table (m int, n text) language sql as $$ select g, 'n' || g from generate_series(1, f5.n) g $$

statement ok
create function f6() returns setof ct language sql as $$ select row(1, 'a')::ct union all select row(2, null)::ct $$

statement ok
create function f9(a int, out b int, out c int) language sql as 'select a + 1, a + 2'

statement ok
create function fs() returns setof int language sql as 'select a from ft'

query
select (unnest(array[row(1, 'a')::ct, '(2,b)'])).p
----
1
2

query
select count(*) from (select (unnest(array[row(1, 'a')::ct, null, '(2,b)'])).p) q
----
3

query
select (unnest(array[row(1, 'a')::ct, '(2,b)'])).*, generate_series(1, 3)
----
1|a|1
2|b|2
NULL|NULL|3

query
select a, (unnest(array[row(a, b)::ct, row(a * 10, b)::ct])).q, (unnest(array[row(a, b)::ct, row(a * 10, b)::ct])).p from ft order by a, 3
----
1|x|1
1|x|10
2|y|2
2|y|20

query
select (unnest(array_agg(row(a, b)::ct order by a))).q from ft
----
x
y

query
select (f4()).a
----
1
2

query
select (f4()).*
----
1|x
2|y

query
select (f4()).b, (f4()).a, a from ft order by 3, 2
----
x|1|1
y|2|1
x|1|2
y|2|2

query
select (f5(2)).m, (f5(2)).n, f5(2)
----
1|n1|(1,n1)
2|n2|(2,n2)

query
select (f6()).q, (f6()).p
----
a|1
NULL|2

query
select (f9(1)).*, (f9(2)).c
----
2|3|4

statement error 42703
select (f4()).nothing

statement error 42809
select (fs()).a
----
column notation .a applied to type integer, which is not a composite type

statement error 0A000
select a from ft where (f6()).p = a

statement error 0A000
select sum((f6()).p) from ft

query
select * from rows from (f4(), generate_series(1, 4)) z (a, b, c)
----
1|x|1
2|y|2
NULL|NULL|3
NULL|NULL|4

query
select * from rows from (generate_series(1, 1), f4(), f9(2)) with ordinality
----
1|1|x|3|4|1
NULL|2|y|NULL|NULL|2

query
select * from rows from (f5(3), f6(), fs()) with ordinality as z
----
1|n1|1|a|1|1
2|n2|2|NULL|2|2
3|n3|NULL|NULL|NULL|3

query
select * from rows from (f6()) with ordinality
----
1|a|1
2|NULL|2

query
select * from rows from (unnest(array[row(1, 'a')::ct, null]), generate_series(1, 3)) with ordinality as z (p, q, n, o)
----
1|a|1|1
NULL|NULL|2|2
NULL|NULL|3|3

query
select * from unnest(array[row(1, 'a')::ct], array[7, 8])
----
1|a|7
NULL|NULL|8

query
select * from unnest(array[7, 8], array[row(1, 'a')::ct], array['x']) with ordinality as z (n, p, q, t, o)
----
7|1|a|x|1
8|NULL|NULL|NULL|2

query
select z.p, z.n from ft, unnest(array[row(a, b)::ct], array[a, a + 1]) as z (p, q, n) order by n, p
----
1|1
2|2
NULL|2
NULL|3

query
select a, z from ft left join rows from (f6(), generate_series(1, 1)) z on z.p = ft.a order by a
----
1|(1,a,1)
2|(2,,)

query
select * from rows from (f4(), f9(null))
----
1|x|NULL|NULL
2|y|NULL|NULL

query
select (information_schema._pg_expandarray(array['a', 'b'])).x, (information_schema._pg_expandarray(array['a', 'b'])).n
----
a|1
b|2

statement error 0A000
select * from json_each(json_array_elements('[{"a": 1}]'))

# A row beside the only row of a query, which runs once.
statement ok
create sequence drawn

statement ok
create table t (g int, h int)

statement ok
insert into t values (0, 9), (1, 1)

query
select (0, 2) < (select nextval('drawn'), 1), (1, 2) >= (select nextval('drawn'), 1), (3, 1) = (select nextval('drawn'), 1), (3, 1) <> (select nextval('drawn'), 1)
----
t|f|t|t

query
select last_value from drawn
----
4

query
select (1, 2) < (select g, h from t where g = 0), (1, 2) < (select g, h from t where g = 7), (1, 2) <> (select g, h from t where g = 7), (1, null) = (select g, h from t where g = 0)
----
f|NULL|NULL|f

query
select t.g, (t.g, 1) <= (select u.g, u.h from t u where u.g = t.g) from t order by g
----
0|t
1|t

statement error 21000
select (1, 2) < (select g, h from t)
----
more than one row returned by a subquery used as an expression

statement error 42601
select (1, 2) < (select 1)
----
subquery has too few columns

statement error 42601
select (1, 2) = (select 1, 2, 3)
----
subquery has too many columns
