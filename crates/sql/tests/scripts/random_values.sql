# Kinds of values for which random SELECTs (bench/sql/generated.py) had another answer: each answer is PostgreSQL 15's.

# Counting points adds nothing up.
query
select regr_count(x, y) from (values ('1e300'::float8, 'NaN'::float8), ('1e300', '-1'), (null, 1), ('-1e300', 2)) q(x, y)
----
3

# 24:00 is a time of its own, and no day.
query
select time '24:00' - time '00:00', time '00:00' - time '24:00', time '24:00' - time '06:00'
----
24:00:00|-24:00:00|18:00:00

statement error 22015
select '1999-12-31 23:59:59'::interval

statement error 22007
select '2024-02-29'::interval

statement error 22015
select '5 days 2024-13'::interval

statement error 22015
select '1:60'::interval

query
select '- 1 day + 2 hours'::interval
----
-1 days +02:00:00

query
select hstore('a=>1'), date('2024-02-29'), inet('10.0.0.1')
----
"a"=>"1"|2024-02-29|10.0.0.1

statement error 22015
select date_trunc('day', timestamp '2024-02-29 10:00') + '2024-12-31'

# A part of a list of keys may begin with a parenthesis.
query
select a, b, count(*) from (values (1, '{5,6}'::int[]), (1, '{7}'), (2, null)) t(a, b) group by rollup((a)::text, (b)[1]), a, b order by 1, 2, 3
----
1|{5,6}|1
1|{5,6}|1
1|{5,6}|1
1|{7}|1
1|{7}|1
1|{7}|1
2|NULL|1
2|NULL|1
2|NULL|1

query
select (a)::text || 'x', sum(a) from (values (1), (2)) t(a) group by cube((a)::text || 'x') order by 1
----
1x|1
2x|2
NULL|3

query
select (a)::text, b from (values (1, 2)) t(a, b) group by grouping sets ((a)::text, (b), ((a)::text, b)) order by 1, 2
----
1|2
1|NULL
NULL|2

query
select '2001:db8::1'::inet - '-9223372036854775808'::bigint
----
2001:db7:ffff:ffff:8000::1

statement error 22003
select '::ffff:1.2.3.4'::inet - '-9223372036854775808'::bigint

# Arrays have lower bounds.
statement error 2202E
select array_agg(x) from (values ('{1,2}'::int[]), ('[0:1]={7,8}')) q(x)

query
select array_agg(x) from (values ('[2:3]={a,b}'::text[])) q(x)
----
[1:1][2:3]={{a,b}}

query
select array['[2:3]={1,2}'::int[], '[2:3]={3,4}']
----
[1:2][2:3]={{1,2},{3,4}}

query
select make_interval(-2147483648, 2147483647, 42, -1, 2, 3, 0), make_interval(0, 0, 2147483647, 0, 2147483647, 2147483647, 1)
----
178956970 years 7 mons 293 days 02:03:00|2147483641 days 2183275041:07:01

statement error 42725
select trunc('1.5')

query
select trunc('1.5', 1), round('1.5')
----
1.5|2

query
select quote_literal(true), quote_nullable(false), quote_literal('a '::char(3)), quote_nullable(null::boolean)
----
'true'|'false'|'a'|NULL

statement error 22023
select '1' - 'a'::varchar

statement error 22023
select '1' - 'a'::char(2)

statement error 22023
select '1' - '{a}'::text[]

# A row as a value of a row is not null.
query
select row(row(null)) is null, row(row(null), null) is null, row(row(1), 2) is not null, row(null, row(null)) is not null
----
f|f|t|f

query
select E'\u00a0' ~ '\s', E'\u2003' ~ '\s', E'\u0085' ~ '[[:space:]]', E'\u00a0' ~ '\S', E'a\u00a0b' ~ '^\S+$', E'\u202f' ~ '[\s]'
----
f|t|f|t|t|f

query
select 'é' ~ '\é', '日' ~ '^\日$', 'é' ~ '[\é]'
----
t|t|t

statement error 2201B
select 'a' ~ '\q'

query
select (1.5::numeric(20,18))::text, (2::numeric(38,18))::varchar, length(1::numeric(20,18)::text), 'x' || 1.5::numeric(19,18)
----
1.500000000000000000|2.000000000000000000|20|x1.500000000000000000

statement error 2202E
select '{"b": 1}'::jsonb #- '{{a,b},{c,d}}'

statement error 2202E
select '"a"'::jsonb - '{{a,b},{c,d}}'::text[]

statement error 2202E
select jsonb_set('{}', '{{a}}', '1')

query
select '{}'::jsonb #- '{a,null}', '{"b": {"a": true}}'::jsonb #- '{a,null}', jsonb_set('{"b": 1}', '{a,null}', '1')
----
{}|{"b": {"a": true}}|{"b": 1}

statement error 22004
select '{"a": 1}'::jsonb #- '{a,null}'

query
select jsonb_set('[]', '{x}', '1', false), jsonb_set('{}', '{null}', '1', false)
----
[]|{}

statement error 22P02
select jsonb_set('[]', '{x}', '1')

query
select '{"a": {"b": {"c": "d"}}, "a": 2}'::json #> '{a,b,c}', '{"a": {"b": 1}, "a": {"b": 2}}'::json #>> '{a,b}', '{"a": {"b": 1}, "a": 2}'::json -> 'a'
----
"d"|2|2

query
select timestamp 'infinity' at time zone interval '30 days'
----
infinity

query
select timestamp '2024-01-01' at time zone interval '0.9 seconds', timestamptz '2024-01-01 00:00+00' at time zone interval '-0.9 seconds'
----
2024-01-01 00:00:00+00|2024-01-01 00:00:00

statement error 22003
select overlay('abc'::bytea placing 'x' from 2147483647 for 3)

statement error 22003
select overlay('abc' placing 'x' from 2 for 2147483647)

query
select overlay('abc' placing 'x' from 2147483647 for 0)
----
abcx

query
select array_prepend('a', '{b}'), array_append('{a}', 'b'), array_cat('{a}', '{b}'), array_remove('{a,b}', 'a'), array_position('{a,b}', 'b')
----
{a,b}|{a,b}|{a,b}|{b}|2

statement error 42804
select arrayoverlap('{a}', '{b}')

statement error 42804
select elem_contained_by_range(1.5, '[1,5)')

statement error 42725
select '[1,5)' @> 1

statement error 42725
select 1 <@ '[1,5)'

statement error 42883
select 'a'::text && 'b'::text

statement error 22023
select json_object_agg(x, 1) from (values ('a=>1'::hstore)) q(x)

statement error 22023
select jsonb_build_object('a=>1'::hstore, 1)

statement error 42883
select setweight('a:1'::tsvector, 'a'::char(1))

query
select setweight('a:1'::tsvector, 'a'), setweight('a:1'::tsvector, 'b'::"char")
----
'a':1A|'a':1B

# A text beside times is the type that leaves one function.
query
select ('1970-01-01', date '2024-01-01') overlaps (timestamp '2023-01-01', interval '1 day')
----
t

query
select (time '10:00', interval '1 hour') overlaps (time '10:30', time '11:00'), (timestamptz '2024-01-01 00:00+00', interval '-1 day') overlaps (timestamptz '2023-12-31 12:00+00', timestamptz '2024-01-02 00:00+00')
----
t|t

statement error 42725
select (time '10:00', '1 hour') overlaps (time '10:30', time '11:00')

query
select time '06:00' = interval '6 hours', interval '5 hours' < time '06:00', time '06:00' in (interval '6 hours')
----
t|t|t

# Digits halfway between two floats are not theirs.
query
select 1e23::float8, 1.5e10::float4, 78645139::float4, -1.2e11::float4, 9007199254740993::float8, 5e-324::float8
----
9.999999999999999e+22|1.5000001e+10|7.8645136e+07|-1.20000004e+11|9.007199254740992e+15|5e-324

query
select 3.879::float4::numeric, 1211568.56::float4::numeric, 1e-10::float4::numeric, '1e-10'::float4::numeric(20,18)
----
3.879|1211570|0.0000000001|0.000000000100000000

query
select max(x) over (rows 1 preceding) || '.', min(x) || '.' from (values ('ab '::bpchar), ('ab '::char(4))) q(x) group by x
----
ab.|ab.

query
select avg(x), sum(x) from (values ('-0'::float8)) q(x)
----
0|-0

query
select (date '2024-01-01', interval '1 year') overlaps (date '2024-06-01', date '2024-07-01')
----
t

query
select ('1970-01-01', timestamp '2024-01-01') overlaps (timestamp '2023-01-01', timestamp '2023-02-01')
----
t

query
select (null::time, interval '1 hour') overlaps (time '10:30', interval '1 hour'), (time '10:00', null::interval) overlaps (time '10:00', interval '1 hour')
----
NULL|NULL

# A zone may have any name and rules of its own; without them the clock changes as in the United States.
query
select timestamptz '2024-07-01 06:00-07' at time zone '25 hours', timestamptz '2024-07-01 06:00-07' at time zone 'x5y', timestamptz '2024-01-01 06:00-07' at time zone 'x5y', timestamptz '2024-07-01 12:00+00' at time zone 'CET-1CEST,M3.5.0,M10.5.0/3'
----
2024-06-30 13:00:00|2024-07-01 09:00:00|2024-01-01 08:00:00|2024-07-01 14:00:00

query
select 'y0426m2d6TT06:09cest BC'::timestamptz
----
0426-02-06 06:09:00+00 BC

statement error 22023
select timestamptz '2024-07-01 12:00+00' at time zone 'x5y,M99'

query
select '2024-07-01 12:00'::timestamp at time zone '<a>1<b>2'
----
2024-07-01 14:00:00+00

# Literals are read from left to right.
statement error 22007
select case when isfinite(('{1}'::date[])[1]) then 1 else (interval '1 day')::int4 end

query
select array_position('{}'::int[], 1, null), array_position('{1}'::int[], null, null)
----
NULL|NULL

statement error 22004
select array_position('{1}'::int[], 1, null)

query
select 'a b'::tsvector @@@ 'a'::tsquery, 'c'::tsquery @@@ 'a b'::tsvector, 'abc' ^@ 'ab', not 'abc'::varchar ^@ 'b'
----
t|f|t|t

statement error 42883
select 1 ^@ 'a'

# An average of floats has the limits of their variance.
statement error 22003
select avg(x) over () from (values ('1e300'::float8), (0.3), (0.1)) q(x)

query
select avg(x), avg(x::float4) from (values (1.5::float8), (2.5), (null)) q(x)
----
2|2

query
select a, count(*) from (values (1), (1)) t(a) group by cube(a, array[(a)::int, (a)::int]) order by 1, 2
----
1|2
1|2
NULL|2
NULL|2

query
select 'Cat cat:16383'::tsvector || 'a:1,6A b:2A cat:3'::tsvector, 'a:16380'::tsvector || 'a:1,5A,6B b:9C'::tsvector
----
'Cat' 'a':16383 'b':16383A 'cat':16383|'a':16380,16381,16383A 'b':16383C

statement error 42804
select array['b'::"char", null::char]

query
select pg_typeof(-(-2147483648)), -(-2147483648), pg_typeof(-2147483648), - (-5), -(-(-5))
----
bigint|2147483648|integer|5|-5

statement error 22007
select '9999-12-31 23:59:59.999999+00'::interval

query
select make_interval(secs => 1e16)
----
-2562047788:00:54.775808

query
select '-1298689.25'::float4, '131072.625'::float4, '562949953421312.625'::float8
----
-1.2986892e+06|131072.62|562949953421312.6

query
select timestamp 'infinity' at time zone 'nowhere', timezone('ab', timestamptz '-infinity')
----
infinity|-infinity

query
select quote_literal(' x'::char(4)::varchar(1)), quote_literal('a b'::char(4)::varchar(2)), length('ab'::char(4)::varchar(3))
----
' '|'a '|2

query
select lower('İ'), initcap('aİ')
----
i|Ai

statement error 42804
select case when true then time '06:00' else interval '1 day' end

query
select jsonb_object_agg(x, 1), json_object_agg(x, 1) from (values ('::1'::inet)) q(x)
----
{"::1": 1}|{ "::1" : 1 }

query
select coalesce(time '06:00', '07:00'), greatest(interval '1 day', '2 days')
----
06:00:00|2 days

query
select json_object_agg(x, 1) from (values ('ab '::char(4))) q(x)
----
{ "ab  " : 1 }

query
select 'b'::char(4)::bytea, ' x'::bpchar::bytea
----
\x62202020|\x2078
