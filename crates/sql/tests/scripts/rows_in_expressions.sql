# Functions that give rows: items of SELECT by themselves, or in FROM. Within an expression they are refused, since it takes one
# value.

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

statement error 0A000
select unnest(array[1, 2]) + 1
----
the set-returning function unnest is not supported here
HINT: It can be an item of SELECT by itself, or stand in FROM, where its rows have a name.

statement error 0A000
select lower(unnest(array['A', 'B']))

statement error 0A000
select unnest(array['a', 'c']) || 'b'

statement error 0A000
select unnest(array['[1,2)'::int4range]) && '[1,3)'

statement error 0A000
select jsonb_array_elements('[{"a": 1}]') -> 'a'

statement error 0A000
select case when true then unnest(array[1, 2]) end

statement error 0A000
select unnest(array['1', '2'])::int

statement error 0A000
select unnest(array[unnest(array[1, 2])])

statement error 0A000
select 1 where unnest(array[true])

statement error 0A000
select 1 order by unnest(array[1, 2])

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
