# Random statements of single forms: the answers are PostgreSQL 15's.

statement error 22007
select interval '1 ago'

query
select interval '%1', interval '}}-1 day', interval '.', interval '1-', interval '1@'
----
00:00:01|-1 days|00:00:00|1 year|00:00:01

query
select interval '1 2 hours', interval '12 day 3', interval 'ago 1 day', interval '1 day -00:01', interval '01:00 0.5 days'
----
1 day 02:00:00|12 days 00:00:03|-1 days|1 day -00:01:00|01:00:00

query
select interval '1.5 us', interval '0.0000015', interval '0.0000005 s'
----
00:00:00.000001|00:00:00.000001|00:00:00

statement error 22007
select interval '-00:61'

statement error 22015
select interval '00:61'

statement error 22015
select interval '1-13'

statement error 22007
select interval '1 day 2 days'

statement error 22007
select interval '1 2'

statement error 22015
select interval '9223372036855'

statement error 22008
select interval '178956971 years'

statement error 22008
select interval '178956970 years 8 mons'

query
select interval 'P0001-02-03T04:05:06', interval 'P20240229', interval 'PT010203', interval 'P1.5M', interval 'P-1Y2M', interval 'P1e2D', interval 'PT1:02'
----
1 year 2 mons 3 days 04:05:06|2024 years 2 mons 29 days|01:02:03|1 mon 15 days|-10 mons|100 days|01:02:00

statement error 22007
select interval 'P1Y2'

statement error 22007
select interval 'P'

statement error 22015
select interval 'P1e16D'

query
select interval '1 mseconds 2 usecond', interval '3 microsecondsX'
----
00:00:00.001002|00:00:00.000003

query
select interval '1:2' minute to second, interval '1:2' , interval '5' year to month, interval '7' day to hour
----
00:01:02|01:02:00|5 mons|07:00:00

query
select interval '-2562047788:00:54.775807'
----
-2562047788:00:54.775807

statement error 22007
select interval '-2562047788:00:54.775808'

query
select right('éa', -2147483648), left('éa', -2147483648), lpad('x', 2147483647, ''), rpad('ab', 2000000000, '')
----
éa||x|ab

query
select cbrt(27), cbrt(10), ||/ 2, cbrt(-8), cbrt(1e-310)
----
3.0000000000000004|2.1544346900318834|1.2599210498948734|-2|4.641588833612775e-104

statement error 22025
select 'ab' like 'a%\'

statement error 22025
select 'ab' like 'a%_\'

query
select '' like '%\', 'a' like 'a%\', 'a' like 'b\'
----
f|f|f

statement error 22025
select '\x6162'::bytea like '\x61255c'::bytea

statement error 42883
select '\x6162'::bytea like 'a#%' escape '#', 'a%'::text like 'a#%' escape '#', 'x' like 'y' escape null

statement error 22025
select 'a' like 'a' escape 'ab'

query
select 'a\\b' !~~ substr('\x00ff61'::bytea, 5, 5)
----
t

statement error 42883
select '\x61'::bytea ~~* 'a'

query
select regexp_match('foobar', 'foo|foobar'), regexp_match('abcd', '(a|ab)(c|bcd)?'), regexp_replace('aaa', 'a|aa', 'x', 'g'), regexp_match('xabcy', '(a?)(ab)?'), substring('foobar' from 'o*?b|f'), regexp_match('aXXb', 'a.*?b|a'), regexp_match('abab', '(?:a|ab)*?b'), regexp_count('abcabc', 'a|abc')
----
{foobar}|{a,bcd}|xx|{"",NULL}|f|{aXXb}|{ab}|2

statement error 42804
select array_agg(x) filter (where 1) from (values (1)) q(x)

statement error 42804
select sum('a'::text) filter (where 1) from (values (1)) q(x)

statement error 42703
select sum('a'::text) filter (where nosuch) from (values (1)) q(x)

statement error 42883
select lower(1) filter (where true)

statement error 42809
select lower('a') over ()

statement error 42883
select ntile('x'::text) over ()

statement error 42883
select left('abc', 2::bigint)

query
select coalesce(5, 1.50::numeric(5,2)), coalesce(null::numeric(5,2), 5), array[1, 2.50::numeric(5,2)]
----
5|5|{1,2.50}

query
select coalesce('a'::name, 'b'::varchar), pg_typeof(coalesce('a'::name, 'b'::varchar)), pg_typeof(coalesce('b'::varchar, 'a'::name))
----
a|name|name

statement error 42804
select coalesce('a'::"char", 'b'::text)

statement error 42846
select 'A'::"char"::date

query
select 65::"char", 'A'::"char"::int, 'A'::"char"::varchar
----
A|65|A

query
select age('2000-01-01'::timestamp, 'infinity'), age('infinity'::timestamp, 'infinity'), age('infinity'::timestamp, '2000-01-01')
----
-292277 years -8 days -04:00:54.775807|00:00:00|292277 years 8 days 04:00:54.775807

statement error 22008
select age('-infinity'::timestamp, '2000-01-01')

query
select nullif('10.0.0.0/8'::cidr, '10.1.0.0/8')
----
10.0.0.0/8

query
select 2 = any (array[[1,2],[3,4]]), 5 <> all (array[[1,2],[3,4]])
----
t|t

query
select percentile_disc(null) within group (order by x) from (values (1)) q(x)
----
NULL

statement error 42725
select percentile_disc('0.5') within group (order by x) from (values ('a')) q(x)

query
select 'x' = any (array['x', null])
----
t

query
select coalesce(array[date '2024-01-01'], array[timestamp '2024-01-01'])
----
{"2024-01-01 00:00:00"}

statement error 42883
select array[date '2024-01-01'] = array[timestamp '2024-01-01']

statement error 42883
select array['a'::varchar] = array['a'::text], array[1]::int[] = array[1.0]::numeric[]

# A list of ANY has one type before it is compared.

statement error 42883
select 5 = any (array['5'])

statement error 42804
select time '10:00' = any (array[time '10:00', interval '1 day'])

query
select 2 = any (array[1, 2.0]), 'a' = any (array['a', null]), '192.168'::cidr = '192.168.0.0/16', 3 = any (array[1, null])
----
t|t|f|NULL

query
select (null::int8, 1) = any (array[(1::int8, 1)])
----
f

# Subscripts follow columns, parameters and parentheses.

statement error 42601
select array[1,2,3][2]

statement error 42601
select string_to_array('a,b', ',')[1]

query
select ('{1,2}'::int[])[1], (select array[1,2])[2], (array[[1,2],[3,4]])[2][1]
----
1|2|3

query
select position('\x62'::bytea in '\x6162'::bytea), position('' in 'a'), "position"('abc', 'c'), position('z' in 'a')
----
2|1|3|0

# Arrays are cast as their elements are.

statement error 42846
select ('{t,f}'::bool[])::float8[]

statement error 42846
select ('{}'::date[])::inet[]

query
select ('{1,2}'::int[])::text[], ('{1,2}'::text[])::int[], ('{2024-01-01}'::date[])::timestamp[]
----
{1,2}|{1,2}|{"2024-01-01 00:00:00"}

statement error 42883
select ts_filter('a:1A,2B'::tsvector, array['A'::char])

# Zones of numbers count to the east in make_timestamptz.

query
select make_timestamptz(2024,7,1,12,30,15.5,'+02'), make_timestamptz(2024,7,1,12,30,15.5,'-0330'), make_timestamptz(2024,7,1,12,30,15.5,'UTC+3')
----
2024-07-01 10:30:15.5+00|2024-07-01 16:00:15.5+00|2024-07-01 15:30:15.5+00

statement error 22023
select make_timestamptz(2024,7,1,12,30,15.5,'02')

statement error 22023
select make_timestamptz(2024,7,1,12,30,15.5,'+16')

# A time is an interval beside * and /.

query
select '2'::float8 * time '06:00', time '06:00' / '2', '2' * time '06:00', time '01:00' * 2
----
12:00:00|03:00:00|12:00:00|02:00:00

statement error 42883
select '2' / time '06:00'

query
select pg_typeof(nullif(1.5::float4, 2.5::numeric)), pg_typeof(nullif(2.5::numeric, 1.5::float4)), pg_typeof(nullif(1, 1.5::float4)), pg_typeof(nullif(1, 2.5)), pg_typeof(nullif(2.5, 1))
----
real|double precision|double precision|numeric|numeric

query
select regexp_instr('', '1*', 1, 1, 1, 'i', 1), regexp_substr('abc','b',1,1,'',1), regexp_substr('abc','b',1,1,'',2)
----
1|b|NULL

query
select to_char('06:00'::time, 'pm  IYY,'), to_char('720:00:00'::interval, 'IYYY:rm/')
----
am  -01,|-001:/

statement error 42846
select coalesce('{}'::jsonb, '{}'::json)

statement error 42846
select array['00000000-0000-0000-0000-000000000000'::uuid, 'abc'::bytea]

statement error 42804
select coalesce(1, 'a'::text)

statement error 42846
select x from (values ('12'::jsonb), ('1'::json)) q(x)

statement error 42846
select '12'::jsonb union select '1'::json

statement error 42883
select generate_subscripts('{a,b}'::text[], - (-2147483648))

# Parts of a date may stand before a time of the day; only a whole date is one.

query
select time 'd 04:05', time '04:05 d', timetz 'y2024m07d03 04:05:06 Europe/Berlin', timetz 'm07 04:05:06 +02', time 'jd 2460000.5'
----
04:05:00|04:05:00|04:05:06+02|04:05:06+02|12:00:00

statement error 22007
select time 'y2024 04:05'

statement error 22008
select time 'm13 04:05'

statement error 22007
select time 'h04m05s06'

query
select N'x' as x, pg_typeof(N'x'), N'x ' = 'x'
----
x|character|t

query
select pg_typeof(nullif('x'::varchar, '12'::char(2))), pg_typeof(nullif('x'::char(2), 'a'::varchar)), pg_typeof(nullif('x'::text, 'a'::char(2)))
----
character|character|text

statement error 42883
select '3' % date '2024-01-01'

statement error 42883
select date '2024-01-01' / '3'

statement error 42725
select '3' + date '2024-01-01'

statement error 42846
select 5::oid::numeric

statement error 42846
select 5::oid::int2

query
select 5::oid::int8, 5::int8::oid, 'A'::"char"::int, ''::"char"::int
----
5|5|65|0

statement error 42883
select percentile_cont(null) within group (order by x) from (values (date '2024-01-01')) q(x)

query
select percentile_cont('0.5') within group (order by x) from (values (1), (2)) q(x)
----
1.5

statement error 42725
select percentile_cont('0.5') within group (order by x) from (values (interval '1 day')) q(x)

statement error 42809
select array_to_string(array_agg(i), ',') filter (where j) from (values (1, true)) q(i, j)

# Quotes are no part of a unit's name in a text.
statement error 22023
select date_trunc('"d"', timestamp '2024-01-01')
----
unit ""d"" not recognized for type timestamp without time zone

statement error 22023
select date_trunc('"D"', interval '1 day')

statement error 22023
select date_part('"d"', timestamp '2024-01-01')

query
select extract("D" from timestamp '2024-01-02'), extract('d' from timestamp '2024-01-03'), extract('DAY' from date '2024-01-04')
----
2|3|4

statement error 22023
select extract('"d"' from timestamp '2024-01-01')
----
unit ""d"" not recognized for type timestamp without time zone

# Without FROM it is a function only with a schema or in quotes.
statement error 42601
select extract('null'::text, timestamp '2024-01-01')

statement error 42601
select extract('day', timestamp '2024-01-01')

statement error 42601
select extract()

query
select pg_catalog.extract('day', timestamp '2024-01-02'), "extract"('day', timestamp '2024-01-03')
----
2|3

# The elements of an array of arrays are theirs.
statement error 42883
select array[1] = any (array[array[1], array[2]])
----
operator does not exist: integer[] = integer
HINT: No operator matches the given name and argument types. You might need to add explicit type casts.

statement error 42883
select array[1] = any (array['{1}'::int[], '{2}'::int[]])

statement error 42883
select array[1] <> all (array['{1}'::int[], '{2}'::int[]])
----
operator does not exist: integer[] <> integer
HINT: No operator matches the given name and argument types. You might need to add explicit type casts.

query
select 1 = any (array['{1}'::int[], '{2}'::int[]]), 1 <> all (array['{1}'::int[], '{2}'::int[]]), '2' = any (array['{1}'::int[], '{2}'::int[]]), null = any (array['{1}'::int[]])
----
t|f|t|NULL

statement error 22P02
select '{1}' = any (array['{1}'::int[], '{2}'::int[]])

query
select array[1] in ('{1}'::int[], '{2}'::int[])
----
t

# A fraction that is alone is checked without members, too.
statement error 22003
select percentile_cont(1.5) within group (order by x) from (values (null::float8)) v(x)
----
percentile value 1.5 is not between 0 and 1

statement error 22003
select percentile_disc(1.5) within group (order by x) from (values (null::float8)) v(x) where false

statement error 22003
select percentile_cont('nan') within group (order by x) from (values (null::float8)) v(x)

query
select percentile_cont(array[1.5]) within group (order by x), percentile_cont(null) within group (order by x), percentile_disc(0.5) within group (order by x) from (values (null::float8)) v(x)
----
NULL|NULL|NULL

# A strict operation with a constant null is null before other operands are computed, but for constants.
statement error 0A000
select array_remove(array_cat('{}'::date[], array_fill('1999-01-01'::date, '{1,2,3}'::int4[])), (to_date('2024-02-29'::text, 'rm RM'::text) - array_length('{1}'::int[], 7)))

query
select to_date('2024-02-29', 'rm RM') - null::int, to_date('2024-02-29', 'rm RM') - nullif(1, 1)
----
NULL|NULL

statement error 22012
select to_date('2024-02-29', 'rm RM') - nullif(1, 1) + 1/0

# PostgreSQL meets the division first: 22012.
statement error 22007
select (to_date('2024-02-29', 'rm RM') + (1/0)) - null::int

statement ok
create table zeros(a int primary key, s text)

statement INSERT 0 1
insert into zeros values (0, 'x')

query
select 1/a + null, 1/a = null, 1/a + array_length('{1}'::int[], 7), lpad(s, 1/a, 'x') like null, substr(s, 1/a, null), 1.0/a * null::numeric, power(s::int, null), null || s::int::text from zeros
----
NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL

statement error 22012
select substr(s, 1/a, null::int + 1/0) from zeros

statement error 22012
select coalesce(1/a, null) from zeros

statement error 22012
select concat(1/a, null) from zeros

statement error 22012
select 1/a - (select null::int) from zeros

statement error 22012
select 1/a + nullif(a, 0) from zeros

statement error 22012
select 1/a is distinct from null from zeros

# Conditions at the end of a match see the text behind it.

query
select substring('abc' from '(?:a|ab)\Y'), regexp_match('abc', '(a|ab)\Y'), regexp_match('abcd e', '(a|ab)(c|bcd)\M')
----
ab|{ab}|{a,bcd}
