# Differences that further random statements found (bench/sql/generated.py).

# A literal behind CASE is a text.
statement error 42883
select case '1' when 1 then 2 end
----
operator does not exist: text = integer
HINT: No operator matches the given name and argument types. You might need to add explicit type casts.

statement error 42883
select case null when 1 then 2 end

query
select case '1' when '1' then 2 end, case ('a') when 'a'::varchar then 3 end
----
2|3

# The number of elements that a value is not below.
query
select width_bucket(5, array[1, 5, 9]), width_bucket(0, array[1, 5]), width_bucket(9.5, array[1, 5]), width_bucket('b'::text, array['a', 'c']), width_bucket(date '2024-01-02', '{2024-01-01,2024-01-02}'), width_bucket(1, '{}'::int[]), width_bucket(null, array[1]), width_bucket('NaN'::float8, array[1.5])
----
2|0|2|1|2|0|NULL|1

statement error 2202E
select width_bucket(1, array[[1, 2]])
----
thresholds must be one-dimensional array

statement error 22004
select width_bucket(1, array[1, null])
----
thresholds array must not contain NULLs

statement error 42883
select width_bucket('{}'::json, array['1'::json])

statement error 42883
select width_bucket(true, array[1])

query
select length('\xc3a4'::bytea, 'UTF8'), length('abc'::bytea, 'utf-8')
----
1|3

statement error 22021
select length('\xff'::bytea, 'utf8')

statement error 22023
select length('a'::bytea, 'nothing')

# Moments and intervals of an array are written as the session shows them.
statement ok
set timezone = 'Europe/Berlin'

query
select array_to_string(array['2024-07-01 12:00+00'::timestamptz, null], ',', '*')
----
2024-07-01 14:00:00+02,*

statement ok
set intervalstyle = 'iso_8601'

query
select array_to_string(array[interval '1 day 02:03:04', '1 mon'], ','), array[interval '1 day']::text[]
----
P1DT2H3M4S,P1M|{P1D}

statement ok
reset intervalstyle

statement ok
reset timezone

# Numbers of objects are no numbers, but for casts.
statement error 42883
select 23::oid + 1
----
operator does not exist: oid + integer
HINT: No operator matches the given name and argument types. You might need to add explicit type casts.

statement error 42883
select -(23::oid)

statement error 42883
select 23::oid + 23::oid

statement error 42883
select abs(23::oid)

statement error 42883
select 23::oid = 1.5

query
select 23::oid = 23::int8, 23::oid < 24, 23::oid::int8, 23::oid::int4, 'int4'::regtype = 23, 23::int8::oid
----
t|t|23|23|t|23

statement error 42846
select 23::oid::numeric

statement error 42846
select 'pg_class'::regclass::regtype

query
select 'now'::regproc::regprocedure::text, 'int4'::regtype::oid::regtype
----
now()|integer

query
select pg_typeof(coalesce(1, 23::oid)), pg_typeof(coalesce(23::oid, 1::int8))
----
oid|oid

statement error 22003
select 4294967296::int8::oid

# Days, and places of bits, are counted by whole numbers of four bytes.
statement error 42883
select date '2024-01-01' + 1::int8
----
operator does not exist: date + bigint
HINT: No operator matches the given name and argument types. You might need to add explicit type casts.

statement error 42883
select 1::int8 + date '2024-01-01'

statement error 42883
select date '2024-01-01' - 1::int8

query
select date '2024-01-01' + 1::int2, 2::int2 + date '2024-01-01'
----
2024-01-02|2024-01-03

statement error 42883
select 1 << 2::int8
----
operator does not exist: integer << bigint
HINT: No operator matches the given name and argument types. You might need to add explicit type casts.

query
select 1::int8 >> 2::int2, 1::int2 << 3
----
0|8

query
select - time '10:00', pg_typeof(- time '10:00')
----
-10:00:00|interval

# Names of objects in texts.
query
select '-'::regclass, '-'::regtype, '-'::regproc, '-'::regprocedure, '-'::regnamespace, '-'::regcollation, '-'::regrole
----
-|-|-|-|-|-|-

query
select to_regclass('1259'), to_regnamespace('11'), to_regproc('1299')
----
NULL|NULL|NULL

statement error 42601
select to_regtype('23')

statement error 42601
select ''::regtype
----
invalid type name ""

statement error 42601
select 'int 4'::regtype

statement error 42601
select 'text collate "C"'::regtype

statement error 22023
select 'float(60)'::regtype
----
precision for type float must be less than 54 bits

statement error 3F000
select 'int4.x'::regtype

query
select to_regtype('int4.x')
----
NULL

statement error 42883
select 'now()'::regproc

statement error 42P01
select 'a-b'::regclass

statement error 42602
select ''::regclass

statement error 42602
select 'a b'::regclass

statement error 42602
select '"a'::regclass

query
select 'pg_catalog . "pg_class"'::regclass, ' PG_CLASS '::regclass
----
pg_class|pg_class

# Rows of VALUES behind ANY and ALL.
query
select 1 = any (values (1), (2)), 3 <> all (values (1), (null)), 'a' < some (values ('b')), 2 > all (values (1) order by 1 limit 1)
----
t|NULL|t|t

# The functions of JSON's elements have a column of their own name.
query
select * from jsonb_array_elements('[1]') q
----
1

query
select value, ordinality from json_array_elements_text('["a", null]') with ordinality
----
a|1
NULL|2

query
select q.value, q from jsonb_array_elements_text('["a"]') q
----
a|a

query
select x from jsonb_array_elements('[1]') q(x)
----
1

# Numbers of objects have the aggregates and operators of oid.
query
select max('pg_catalog'::regnamespace)::regnamespace, pg_typeof(min('int4'::regtype))
----
pg_catalog|oid

statement error 22P02
select 'int4' = 'int4'::regtype
----
invalid input syntax for type oid: "int4"

query
select '23' = 'int4'::regtype, 'int4'::regtype in ('23', '25')
----
t|t

# An operator of several types.
statement error 42725
select time '10:00' + time '10:00'
----
operator is not unique: time without time zone + time without time zone
HINT: Could not choose a best candidate operator. You might need to add explicit type casts.

# Elements of an array of characters have their blanks.
query
select array(select x from (values ('a'::char(3))) q(x)), array(select 'b'::char(2) order by 1)
----
{"a  "}|{"b "}

# With DISTINCT, the order is by the list.
statement error 42P10
select distinct x from (values (1), (2)) q(x) order by (select 1)
----
for SELECT DISTINCT, ORDER BY expressions must appear in select list

statement error 42P10
select distinct x from (values (1), (2)) q(x) order by x, (select 1)

# DISTINCT tells rows apart by all arguments, which decide the order.
query
select string_agg(distinct x, y order by y, x) from (values ('b', '2'), ('a', '1'), ('a', '2'), ('a', '1')) q(x, y)
----
a2a2b

query
select string_agg(distinct x, y) from (values ('b', '2'), ('a', '3'), ('a', '1'), ('a', '1')) q(x, y)
----
a3a2b

query
select json_object_agg(distinct x, y::text), jsonb_object_agg(distinct x, y order by x desc, y) from (values ('b', 2), ('a', 1), ('a', 2), ('a', 1)) q(x, y)
----
{ "a" : "1", "a" : "2", "b" : "2" }|{"a": 2, "b": 2}

query
select regr_count(distinct x, y), covar_pop(distinct x, y) from (values (1, 2), (1, 2), (1, 3), (2, 2)) q(x, y)
----
3|-0.1111111111111111

statement error 42P10
select array_agg(distinct x order by -x) from (values (1), (2)) q(x)
----
in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list

statement error 42P10
select string_agg(distinct x, ',' order by x || 'a') from (values ('b'), ('a')) q(x)

query
select string_agg(distinct x, ',' order by x) from (values ('b'::varchar), ('a')) q(x)
----
a,b

statement error 42809
select count()
----
count(*) must be used to call a parameterless aggregate function

statement error 42883
select count(1, 2)
----
function count(integer, integer) does not exist
HINT: No function matches the given name and argument types. You might need to add explicit type casts.

statement error 42883
select sum()

statement error 42883
select avg(23::oid)

# Recursion that has another form.
statement error 42P19
with recursive q(n) as (select n from q) select * from q
----
recursive query "q" does not have the form non-recursive-term UNION [ALL] recursive-term

statement error 42P19
with recursive q(n) as (select 1 except select n + 1 from q) select * from q

statement error 42883
select mode() over ()
----
function mode() does not exist
HINT: No function matches the given name and argument types. You might need to add explicit type casts.

statement error 42883
select percentile_cont(0.5) over ()

query
select 4294967295::oid::int4, (-1)::oid, (-1::int2)::oid, 4294967295::oid::int8
----
-1|4294967295|4294967295|4294967295

# The day is found before the time's fields are checked.
statement error 22007
select to_timestamp('369-500-500000', 'IDDD-MS-FF6')

statement error 22008
select to_timestamp('500-500000', 'MS-FF6')

# Of the first two queries without a type, both columns are texts.
statement error 42804
select null union all select null union all select 1
----
UNION types text and integer cannot be matched

query
select pg_typeof(x) from (select null union all select null union all select 'a'::varchar) q(x)
----
text
text
text

query
select pg_typeof(x) from (select null union all select 1 union all select null) q(x) limit 1
----
integer

query
select max('int4'::name), pg_typeof(min('a'::name)), pg_typeof(max('a'::"char"))
----
int4|text|text

statement error 42712
with q as (select 1), q as (select 2) select * from q
----
WITH query name "q" specified more than once

statement error 42601
select greatest()

statement error 42601
select coalesce()

statement error 2202E
select array(select '{}'::int[])

statement error 22004
select array(select x from (values (array[1]), (null)) q(x))
----
cannot accumulate null arrays

query
select format_type(18, 7), format_type(25, 3), format_type(1009, 3), format_type(23, 3), format_type(0, 3), format_type(1043, 7)
----
"char"(7)|text(3)|text(3)[]|integer|-|character varying(3)

query
select 'char'::regtype, '"char"'::regtype
----
character|"char"

statement error 3F000
select 'nowhere.now'::regproc

query
select to_regproc('nowhere.now')
----
NULL

statement error 3F000
select 'nowhere.x'::regtype
----
schema "nowhere" does not exist

statement error 42601
select 1 order by null
----
non-integer constant in ORDER BY

statement error 42883
select 23::oid = '0'::text

# Letters directly behind a number.
statement error 42601
select 1e

statement error 42601
select 1.x

statement error 42601
select 1 where 1=1and true

query
select 1e1 as x, 1.5 y
----
10|1.5

statement error 42601
select :x

statement error 22P02
select to_regprocedure('0')

query
select 'a' is nfc normalized
----
t


# An untyped count of places is an integer.
query
select 8::int8 << '1', 8::int8 >> '1', 8::int2 << '1'
----
16|4|16

# Numbers of objects beside integers have the bits of both.
statement ok
create table signed (a int, b int)

statement ok
insert into signed values (1, 2), (-1, 3)

query
select (-1)::oid = -1, a::oid = a, a::oid in (a), a = any (array[a::oid]), -1 = any (array[4294967295::oid]) from signed order by a
----
t|t|t|t|t
t|t|t|t|t

query
select a::oid < b, a::oid between a and b, 5::oid = 5, 'int4'::regtype = 23 from signed order by a
----
f|f|t|t
t|t|t|t

query
select case a::oid when -1 then 'minus' else 'other' end from signed order by a
----
minus
other

# DISTINCT ordered by a query of its list.
statement ok
create table looked (k int, y int)

statement ok
insert into looked values (1, 10), (-1, 20)

query
select distinct (select max(y) from looked) as m from signed order by (select max(y) from looked)
----
20

query
select distinct (select y from looked where k = a) from signed order by (select y from looked where k = a) desc
----
20
10

statement error 42P10
select distinct a from signed order by (select max(y) from looked)

query
select array_agg(distinct (select y from looked where k = a) order by (select y from looked where k = a) desc) from signed
----
{20,10}

# An index on a text in "C" is found by ON CONFLICT.
statement ok
create table cased (name text collate "C")

statement ok
create unique index on cased (lower(name))

statement ok
insert into cased values ('a') on conflict (lower(name)) do nothing

statement ok
insert into cased values ('A') on conflict (lower(name)) do nothing

query
select * from cased
----
a

# Numbers of objects in rows of queries.
statement ok
create table numbered (r regtype, o oid)

statement ok
insert into numbered select 'int4'::regtype, 'int4'::regtype

query
select r, o from numbered
----
integer|23

query
with w as (insert into numbered values ('int8', 1) returning r) select r::oid, r from w
----
20|bigint

query
insert into numbered (o) select 'text'::regtype returning o, o::regtype
----
25|text
