# Arrays in the place of arguments, with PostgreSQL's answers.

# VARIADIC.

query
select format('%s-%s', variadic array['a', 'b']), concat(variadic array[1, 2, null]), concat_ws(',', variadic array['x', null, 'y']), num_nulls(variadic array[1, null, null]), num_nonnulls(variadic '{1,2}'::int[])
----
a-b|12|x,y|2|2

query
select json_build_array(variadic array[1, 2]), json_build_object(variadic array['a', '1', 'b', '2']), jsonb_build_array(variadic '{a,b}'::text[]), jsonb_build_object(variadic array['a', 'b']), jsonb_extract_path('{"a": {"b": 1}}', variadic array['a', 'b']), json_extract_path_text('{"a": {"b": 1}}', variadic '{a,b}')
----
[1, 2]|{"a" : "1", "b" : "2"}|["a", "b"]|{"a": "b"}|1|1

query
select concat(variadic array[[1, 2], [3, 4]]), concat(variadic null::int[]), format('x', variadic null::text[]), concat_ws(',', variadic null::text[]), num_nulls(variadic null::int[]), concat_ws(null, variadic array['a']), concat(variadic '{}'::int[]), json_build_array(variadic '{}'::int[])
----
1234|NULL|x|NULL|NULL|NULL||[]

query
select x, format('%s %s', variadic x) from (values (array['a', 'b']), (array['c', 'd'])) t(x)
----
{a,b}|a b
{c,d}|c d

query
select format('%1$s %2$s', variadic array[true, false]), concat(variadic array[true])
----
t f|t

statement error 42804
select concat(variadic 'a')

statement error 42804
select concat(variadic 1)

statement error 42883
select upper(variadic array['a'])

statement error 42883
select concat(1, variadic array[2])

statement error 42601
select concat(variadic array[1], 2)

statement error 22023
select json_build_object(variadic array['a'])

statement error 22023
select format('%s %s', variadic array['a'])

statement ok
create view v as select concat(variadic array[1, 2]) as c

query
select c from v
----
12

# Nulls in the place of an array.

statement error 42804
SELECT format('%s', VARIADIC null)
----
VARIADIC argument must be an array

query
SELECT format('x', VARIADIC null::int[]), format('%s', 'a', null), concat(VARIADIC null::int[]), concat_ws(',', VARIADIC null::text[])
----
x|a|NULL|NULL

statement error 22023
SELECT format('%s', VARIADIC null::int[])
----
too few arguments for format()

query
SELECT format(null, VARIADIC null::int[])
----
NULL

statement error 42804
SELECT concat(VARIADIC null)
----
VARIADIC argument must be an array

statement error 42804
SELECT concat_ws(',', VARIADIC null)
----
VARIADIC argument must be an array

statement error 42804
SELECT json_build_array(VARIADIC null)
----
VARIADIC argument must be an array

query
SELECT json_build_array(VARIADIC null::int[]), jsonb_build_object(VARIADIC null::text[])
----
NULL|NULL
