# Which of the functions of a name is called: as PostgreSQL 15 answers.

query
select pg_typeof(abs('1')), pg_typeof(abs(1::int2)), pg_typeof(abs(1.5::real)), pg_typeof(round(2)), pg_typeof(round('2.5')), round('2.5'), round(2.5)
----
double precision|smallint|real|double precision|double precision|2|3

query
select pg_typeof(power(2, 3)), pg_typeof(power(2, 3.0)), pg_typeof(power(2::float8, 3.0)), pg_typeof(sqrt('4')), pg_typeof(sign('-3'))
----
double precision|numeric|double precision|double precision|double precision

query
select pg_typeof(mod(5::int2, 3)), pg_typeof(mod(5, 3::int8)), pg_typeof(mod(5, 3.5)), pg_typeof(mod('5', 3))
----
integer|bigint|numeric|integer

query
select length('ab'::char(5)), octet_length('ab'::char(5)), length('\x6162'::bytea), length('é'), octet_length('é')
----
2|5|2|1|2

query
select pg_typeof(date_trunc('day', date '2024-02-29')), pg_typeof(extract(year from date '2024-02-29')), pg_typeof(date_part('hour', time '12:30'))
----
timestamp with time zone|numeric|double precision

query
select int4('12'), float8(1), text(12), date('2024-02-29')
----
12|1|12|2024-02-29

query
select array_append('{1}', 2), array_prepend(1, '{2}'), array_cat('{1}', array[2]), array_remove(array[1, 2], 2::int8)
----
{1,2}|{1,2}|{1,2}|{1}

query
select pg_typeof(array_append('{1}', 2)), pg_typeof(array_prepend(1, array[2.5]))
----
integer[]|numeric[]

query
select pg_typeof(null), pg_typeof('a'), pg_typeof(array[1]), pg_typeof(current_user)
----
unknown|unknown|integer[]|name

query
select to_regclass('nowhere'), to_regtype('nothing')
----
NULL|NULL

statement error 42725
select mod('5', '3')

query
select json_build_object(), json_build_array(), jsonb_build_object()
----
{}|[]|{}

statement error 42883
select lower(1)

statement error 42883
select concat()

statement error 42883
select concat_ws(',')

statement error 42804
select to_json('a')

statement error 42804
select array_length(null, 1)

statement error 42883
select round(true)

statement error 42883
select nextval(1.5)

statement error 42883
select version(1)

statement error 22P02
select left('abc', 'x')

statement error 42883
select length(1)

statement error 42725
select 'length'::regproc::oid

statement error 42883
select 'nothing_here'::regproc::oid

statement error 22003
select abs(-32768::int2)

statement error 22003
select abs((-32768)::int2)

statement error 22003
select abs((-9223372036854775808)::int8)

# An integer is not made of a wider number by itself, and numeric not of a float.

statement error 42883
select left('abc', 2::bigint)

statement error 42883
select round(2.345::float8, 2)

statement error 42883
select trunc(2.345::float8, 1)

# Tables may keep such calls of earlier versions.

statement ok
create table kept_calls(t text check (left(t, 2::bigint) <> 'xy' and round(length(t)::float8, 0) < 9))

statement error 23514
insert into kept_calls values ('xyz')

statement ok
drop table kept_calls

query
select proname, provolatile, proisstrict, obj_description(oid, 'pg_proc') from pg_proc where proname in ('nextval', 'concat', 'lower') order by 1, 4
----
concat|i|f|the arguments as texts, one behind the other
lower|i|t|letters in lower case
lower|i|t|lower bound; null if there is none
nextval|v|t|next number of a sequence

query
select p.proname from pg_proc p where p.oid = 'pg_catalog.initcap'::regproc::oid
----
initcap
