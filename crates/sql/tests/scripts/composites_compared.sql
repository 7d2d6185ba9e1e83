# Rows of composite types in arrays, in other rows, in sets and in aggregates are compared by their fields. The answers are those of PostgreSQL 15.
statement ok
create type nn as (n numeric, c text)

statement ok
create type outer_type as (i nn, k int)

query
select '(1.0,a)'::nn intersect select '(1.00,a)'::nn
----
(1.0,a)

query
select '(1.0,a)'::nn except select '(1.00,a)'::nn
----

query
select count(*) from (select '(1.0,a)'::nn union select '(1.00,a)'::nn) q
----
1

query
with recursive r(x) as (values ('(1.0,a)'::nn) union select '(1.00,a)'::nn from r) select * from r
----
(1.0,a)

query
select array['(9,a)'::nn] < array['(10,a)'::nn], array['(1.0,a)'::nn] = array['(1.00,a)'::nn], array['(1.0,a)'::nn, null] < array['(1.00,a)'::nn, '(1,b)']
----
t|t|f

query
select distinct x from (values ('{"(1.0,a)"}'::nn[]), ('{"(1.00,a)"}')) v (x)
----
{"(1.0,a)"}

query
select count(*) from (values ('{"(1.0,a)"}'::nn[])) a (x), (values ('{"(1.00,a)"}'::nn[])) b (y) where x = y
----
1

query
select greatest('(9,a)'::nn, '(10,a)'::nn), least('(9,a)'::nn, '(10,a)'::nn, null)
----
(10,a)|(9,a)

query
select cardinality(array_agg(distinct x)), count(distinct x), max(array[x]) from (values ('(1.0,a)'::nn), ('(1.00,a)'), ('(10,a)'), ('(9,a)')) v (x)
----
3|3|{"(10,a)"}

query
select '("(9,a)",1)'::outer_type < '("(10,a)",0)'::outer_type, '("(1.0,a)",1)'::outer_type = '("(1.00,a)",1)'::outer_type
----
t|t

statement ok
create table holders (o outer_type, a nn[])

statement ok
insert into holders values ('("(10,a)",1)', '{"(10,a)"}'), ('("(9,a)",2)', '{"(9,a)"}'), ('("(9.0,a)",2)', '{"(9.00,a)"}')

query
select o from holders order by o, o::text
----
("(9,a)",2)
("(9.0,a)",2)
("(10,a)",1)

query
select (o).k, count(*) from holders group by o order by o
----
2|2
1|1

query
select count(*) from holders group by a order by a
----
2
1

query
select (h.o).i.n from holders h order by h, (o).i.n::text
----
9
9.0
10

query
select (h.o).k from holders h order by h
----
2
2
1

statement error 42883
select max(i) from (values ('(1,a)'::nn)) v (i)
----
function max(nn) does not exist

# A row of a type beside another row.
query
select '(1,a)'::nn = row(1.0::numeric, 'a'::text), '(1,a)'::nn < row(1.5, 'a'::text), '(1,a)'::nn in (row(2.0, 'a'::text), row(1.00, 'a'::text))
----
t|t|t

statement error 42804
select '(1,a)'::nn = row(1, 'a')
----
cannot compare dissimilar column types numeric and integer at record column 1

statement error 42804
select '(1,a)'::nn = row(1.0)
----
cannot compare record types with different numbers of columns

# Fields behind fields, and behind elements of arrays.
query
select (o).i.c, a[1].n, (a)[1].c, (array[o])[1].i.n from holders order by 2 limit 1
----
a|9|a|9

statement error 42703
select a[1].nothing from holders
----
column "nothing" not found in data type nn

statement error 42809
select (o).k.n from holders
----
column notation .n applied to type integer, which is not a composite type

statement error 42809
select (a).n from holders
----
column notation .n applied to type nn[], which is not a composite type
