# Functions that give rows: in the list of SELECT, inside of its expressions, and in FROM. Elsewhere they are refused.

query
select unnest(array['a', 'c']), (unnest(array[1, 2, 3])), 'x'
----
a|1|x
c|2|x
NULL|3|x

query
select u || 'b' from unnest(array['a', 'c']) as u
----
ab
cb

query
select array(select unnest(array[3, 4]))
----
{3,4}

query
select unnest(array_agg(x)) from (values (1), (2)) as t (x)
----
1
2

query
select unnest(array[1, 2]) + 1
----
2
3

query
select unnest(array['[1,2)'::int4range]) && '[1,3)'
----
t

query
select jsonb_array_elements('[{"a": 1}]') -> 'a'
----
1

statement error 0A000
select case when true then unnest(array[1, 2]) end
----
the set-returning function unnest is not allowed here
HINT: It can be part of an item of SELECT or of ORDER BY, or an item of FROM.

query
select unnest(array['1', '2'])::int
----
1
2

query
select unnest(array[unnest(array[1, 2])])
----
1
2

statement error 0A000
select 1 where unnest(array[true])

query
select 1 order by unnest(array[1, 2])
----
1
1

statement error 0A000
select sum(unnest(array[1, 2]))

statement error 0A000
values (unnest(array[1, 2]))

statement ok
create table t (a int)

statement error 0A000
insert into t values (unnest(array[1, 2]))

statement ok
insert into t select unnest(array[1, 2])

statement error 0A000
insert into t values (1) returning unnest(array[1, 2])

statement error 0A000
update t set a = unnest(array[1, 2])

statement error 0A000
select * from generate_series(1, unnest(array[1, 2]))

query
select count(*) from t
----
2
