# Statements that random ones of bench/sql/generated.py found, with PostgreSQL's answers. Rows compared and asked for nulls.

query
select row(1, 'a') is null, row(null, null::int) is null, row(1, null) is null, row(1, null) is not null, row(1, 'a') is not null
----
f|t|f|f|t

query
select row(1, null) is distinct from row(1, null), row(1, 2) is distinct from row(1, null), (1, 2) is not distinct from (1, 2)
----
f|t|t

query
select row(1, 2) = row(1, 2), row(1, 2) < row(1, 3), row(1, 2) in ((1, 2), (3, 4)), row(1) is null
----
t|t|t|f

statement error 42601
select row(1, 2) = row(1, 2, 3)

query
select 2 between symmetric 3 and 1, 2 not between symmetric 3 and 1, 5 between symmetric 1 and 3, null between symmetric 1 and 2
----
t|f|f|NULL

query
select x from generate_series(1, 5) x where x between symmetric case when true and x > 0 then 4 end and 2 and x <> 3 order by 1
----
2
4

query
select generate_subscripts('[0:2]={a,b,c}'::text[], 1, true), generate_subscripts('[0:2]={a,b,c}'::text[], 1, false)
----
2|0
1|1
0|2

query
select replace(array_to_json('{{1,2},{3,4}}'::int[], true)::text, chr(10), '/'), replace(array_to_json('{"a,b","[\"x\",1]"}'::text[], true)::text, chr(10), '/')
----
[[1,2],/ [3,4]]|["a,b",/ "[\"x\",1]"]

query
select array_position('{1,2,1}'::int[], 1, 2), array_position('{1,2}'::int[], 3, 1), array_position(null::int[], 1, 1)
----
3|NULL|NULL

statement error 22004
select array_position('{1}'::int[], 1, null)

query
select array_remove('[0:1]={7,8}'::int[], 1), array_remove('[0:2]={7,8,7}'::int[], 7), array_remove('{1}'::int[], 1)
----
[0:1]={7,8}|[0:0]={8}|{}

query
select overlay('\x0102030405'::bytea placing '\xff' from 2), overlay('\x0102030405'::bytea placing '\xff' from 2 for 3), overlay('\x01'::bytea placing '\xff' from 9)
----
\x01ff030405|\x01ff05|\x01ff

statement error 22011
select overlay('\x01'::bytea placing '\x02' from 0)

query
select string_agg(x, '\x2c' order by x), string_agg(x, null::bytea order by x) from (values ('\x61'::bytea), ('\x62'), (null)) v(x)
----
\x612c62|\x6162

query
select pg_size_pretty(10239::bigint), pg_size_pretty(10240::bigint), pg_size_pretty(-20480000::bigint), pg_size_pretty(10.5), pg_size_pretty(123456789.9), pg_size_pretty(9223372036854775807)
----
10239 bytes|10 kB|-20 MB|10.5 bytes|118 MB|8192 PB

query
select pg_size_pretty(20971008::bigint), pg_size_pretty(20971007::bigint), pg_size_pretty(1125899906842624000000::numeric)
----
20 MB|20 MB|1000000 PB

statement error 42725
select - '1'

query
select + '1'
----
1

query
select @ '-1.5'
----
1.5

statement error 42725
select date '2024-01-01' + '2'

statement error 42725
select '2' + date '2024-01-01'

query
select '2' + time '10:00', time '10:00' + '1 hour'
----
10:00:02|11:00:00

statement error 42725
select unnest('{1}')

statement error 42883
select enum_first('a')

statement error 42804
select range_merge('[1,2)', '[3,4)')

statement error 42725
select isempty('[1,2)')

statement error 42809
select rank(x) over () from (values (1)) v(x)

query
select min(x), max(x) from (values (0::float4), ('-0'::float4)) v(x)
----
-0|-0

query
select min(x), max(x) from (values (1.0), (1.00)) v(x)
----
1.00|1.00

statement error 2202E
select array_agg(x) from (values ('{1}'::int[]), ('{}'), (null)) v(x)

statement error 22004
select array_agg(x) from (values ('{1}'::int[]), (null), ('{}')) v(x)

query
select json_agg(x) from (values ('-infinity'::timestamptz), ('infinity')) v(x)
----
["-infinity", "infinity"]

statement error 22008
select timestamp '0044-03-15 BC' - interval '5000 years'

query
select extract(mon from date '2024-02-29'), extract(yrs from timestamp '2024-02-29'), date_part('qtr', interval '7 months'), date_trunc('mons', timestamp '2024-02-29 10:00')
----
2|2024|3|2024-02-01 00:00:00

query
select extract(julian from timestamp '2024-02-29 12:34:56.789'), extract(julian from date '2024-02-29'), date_part('jd', timestamp '2024-02-29 12:00')
----
2460370.52426839120370370370|2460370|2460370.5

query
select date_trunc('nothing', timestamp 'infinity'), date_part('hour', date '2024-02-29'), date_part('epoch', date 'infinity'), date_trunc('week', timestamptz '-infinity', 'nowhere')
----
infinity|0|Infinity|-infinity

statement error 22023
select date_trunc('dow', timestamp '2020-01-01')

statement error 0A000
select date_trunc('timezone', timestamp '2020-01-01')

statement error 0A000
select extract(dow from interval '1 day')

statement error 22023
select extract(nonsense from interval '1 day')

statement error 0A000
select extract(now from date '2020-01-01')

statement error 0A000
select extract(timezone_hour from time '10:00')

query
select 'abc' ~ '\mabc\M', 'a_b' ~ '\yb', 'xay' ~ '\Ya\Y', 'ab' ~ '\Aa', 'ab' ~ 'b\Z', 'a b' ~ '[[:<:]]b[[:>:]]'
----
t|f|t|t|t|t

query
select 'a{,2}' ~ '^a{,2}$', 'aaa' ~ '^a{3}$', 'A' ~ '(?i)a', 'a.' ~ '***=a.', 'a\b' ~ 'a\\b', 'a' ~ '\x61', 'a' ~ '\u0061', ']' ~ '[]]', 'a-' ~ '^[a-]+$', '[' ~ '[[]', '&&' ~ '^[&&]+$'
----
t|t|t|t|t|t|t|t|t|t|t

query
select 'é' ~ '[[:alpha:]]', '٣' ~ '\d', 'x' ~ '[[:word:]]', '_' ~ '\w', '!' ~ '[[:punct:]]', 'a' ~ '[^[:space:][:digit:]]', 'b' ~ '[\d\w]'
----
t|f|t|t|t|t|t

statement error 2201B
select 'a' ~ 'a**'

statement error 2201B
select 'a' ~ '^*'

statement error 2201B
select 'a' ~ 'a{2,1}'

statement error 2201B
select 'a' ~ 'a{256}'

statement error 2201B
select 'a' ~ '[b-a]'

statement error 2201B
select 'a' ~ '[[:nothing:]]'

statement error 2201B
select 'a' ~ '\q'

statement error 2201B
select 'a' ~ 'a)'

statement error 2201B
select 'a' ~ '(?P<x>a)'

statement error 2201B
select 'a' ~ 'a\'

query
select similar_to_escape('a#"b%#"c', '#'), substring('abbbc', 'a#"b+#"c', '#'), substring('xabyabz', '%#"ab#"%', '#')
----
^(?:a){1,1}?(b.*){1,1}(?:c)$|bbb|ab

query
select (q.t, timestamp '2024-01-02') overlaps (timestamp '2024-01-01', interval '1 day') from (values (timestamp '2024-01-01')) q(t)
----
t

query
select distinct on (1, 2) x, 'c', y from (values (1, 2), (1, 1)) v(x, y) order by 1, 2, 3
----
1|c|1

query
select sum(1) over (order by following rows between '1'::int preceding and current row) as preceding from (values (1), (2)) v(following)
----
1
2

query
select '1'::int and_following, v.following from (values (1)) v(following) where following between '1'::int and following
----
1|1

query
select make_date(-4714, 11, 24)
----
4714-11-24 BC

statement error 22008
select make_date(-4714, 11, 23)

statement error 22008
select date_trunc('millennium', timestamp '4714-11-24 BC')

statement error 22008
select to_timestamp(-300000000000)

query
select json_agg(x) from (values ('0044-03-15 10:00+00 BC'::timestamptz)) v(x)
----
["0044-03-15T10:00:00+00:00 BC"]

statement error 22023
select jsonb_object_agg(x, 1) from (values ('{1}'::int[])) v(x)

query
select jsonb_object_agg(x, 1) from (values ('{1}'::int[])) v(x) where false
----
NULL

query
select '[]'::jsonb #- '{x}', '{}'::jsonb #- '{x}'
----
[]|{}

statement error 22P02
select '[1]'::jsonb #- '{x}'

query
select array_remove('{3.1,1.0,1.00,null}'::numeric[], 1), array_remove('{1,null}'::int[], null), array_remove('{NaN,1}'::float8[], 'NaN')
----
{3.1,NULL}|{1}|{1}

statement error 2202E
select array_cat('{{a,b}}'::text[], '[2:3]={a,b}'::text[])

query
select array_cat('{{a,b}}'::text[], '{c,d}'::text[]), array_cat('[2:3]={a,b}'::text[], '{c}'::text[])
----
{{a,b},{c,d}}|[2:4]={a,b,c}
