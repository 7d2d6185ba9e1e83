# Casts, texts, bytes, UUIDs, moments and aggregates: the answers are those of PostgreSQL 15.

query
select substring('hello', 2, 3), substring('hello', 0, 3), substring('hello', -2, 5), substring('hello', 4), substring('hello', 10), substring('hello', 2, 0)
----
ell|he|he|lo||

statement error 22011
select substring('hello', 2, -1)

query
select substring('hello' from 2 for 2), substring('hello' for 2), substring('hello' from -1)
----
el|he|hello

query
select lpad('hi', 5), lpad('hi', 5, 'xy'), lpad('hello', 3), lpad('hi', -1), lpad('hi', 5, ''), rpad('hi', 5, 'xy'), rpad('hello', 3), lpad('', 3, 'é')
----
   hi|xyxhi|hel||hi|hixyx|hel|ééé

query
select split_part('a,b,c', ',', 2), split_part('a,b,c', ',', -1), split_part('a,b,c', ',', 4), split_part('a,b,c', ',', -4), split_part('abc', '', 1), split_part('abc', '', 2), split_part('abc', '', -1), split_part('', ',', 1)
----
b|c|||abc||abc|

statement error 22023
select split_part('a,b,c', ',', 0)

query
select position('b' in 'abc'), position('' in 'abc'), position('x' in 'abc'), strpos('héllo', 'l'), position('' in '')
----
2|1|0|3|1

query
select repeat('ab', 3), repeat('ab', 0), repeat('ab', -1)
----
ababab||

query
select left('hello', 2), left('hello', -2), left('hello', 0), left('hello', -10), left('hello', 10), right('hello', 2), right('hello', -2), right('hello', 0), right('hello', -10), right('hello', 10)
----
he|hel|||hello|lo|llo|||hello

query
select replace('abcabc', 'b', 'X'), replace('abc', '', 'x'), replace('aaa', 'aa', 'b')
----
aXcaXc|abc|ba

query
select reverse('héllo'), upper('straße'), lower('ÀÉ'), initcap('hELLO wORLD foo_bar x1y')
----
olléh|STRAßE|àé|Hello World Foo_Bar X1y

query
select trim('  a  '), ltrim('  a'), rtrim('a  '), btrim('xxaxx', 'x'), trim(both 'xy' from 'xyaxy'), trim(leading 'x' from 'xxa'), trim(trailing from 'a  '), trim('')
----
a|a|a|a|a|a|a|

query
select ascii('a'), ascii(''), ascii('é'), chr(97), chr(233)
----
97|0|233|a|é

statement error 54000
select chr(0)

statement error 22023
select chr(-1)

statement error 54000
select chr(1114112)

statement error 42883
select concat('a', null, 1, true), concat_ws(',', 'a', null, 'b'), concat_ws(null, 'a'), concat(), concat_ws(',')

query
select 'a' || null, 'a' || 1, 1 || 'a', 'a' || true, 'a' || 1.50, null || null
----
NULL|a1|1a|atrue|a1.50|NULL

statement error 42883
select 1 || 2

query
select starts_with('abc', 'ab'), starts_with('abc', '')
----
t|t

query
select 'abc' like 'a%', 'abc' like 'a_c', 'abc' like 'A%', 'abc' ilike 'A%', 'a%c' like 'a\%c', 'abc' like 'a\%c', 'a%c' like 'a!%c' escape '!', 'a\c' like 'a\\c', 'a\c' like 'a\c' escape '', '' like '', '' like '%', 'abc' like '', null like 'a', 'abc' like null
----
t|t|f|t|t|f|t|t|t|t|t|f|NULL|NULL

statement error 22025
select 'abc' like 'ab\'

statement error 22025
select 'abc' like 'abc' escape 'xx'

query
select 'abc' not like 'a%', 'a_c' like 'a#_c' escape '#', 'abc' like '%b%', 'abc' like '%c', 'abc' like '_%_', 'ab' like '%_%_%_%'
----
f|t|t|t|t|f

query
select 'abc' like 'a!%c' escape '!'
----
f

query
select true::int, 1::bool, 0::bool, 5::bool, 'yes'::bool, 'no'::bool, 'on'::bool, 'off'::bool, 't'::bool, 'f'::bool, 'TRUE'::bool, ' true '::bool, '1'::bool, 'y'::bool, 'tru'::bool
----
1|t|f|t|t|f|t|f|t|f|t|t|t|t|t

statement error 22P02
select 'o'::bool

statement error 22P02
select 'maybe'::bool

statement error 22P02
select ''::bool

statement error 22P02
select '2'::bool

query
select true::text, false::varchar(3), true || ''
----
true|fal|true

statement error 42846
select 2::bigint::bool

statement error 42846
select 1.0::bool

statement error 42846
select true::numeric

statement error 42883
select true + 1

query
select true > false, true and null, null or true, not null::bool, true is not false, null is unknown, null is not true
----
t|NULL|t|NULL|t|t|t

query
select 1 is distinct from null, null is distinct from null, null is not distinct from null, 1 is distinct from 1, 'a' is distinct from 'b'
----
t|f|t|f|t

query
select 1 in (1, null), 2 in (1, null), 2 not in (1, null), null in (1), 1 in (select 1 where false), null in (select 1 where false)
----
t|NULL|NULL|NULL|f|f

query
select null = null, null <> null, null is null, 1 <> null
----
NULL|NULL|t|NULL

query
select coalesce(null, 1), coalesce(null, null), coalesce(1, 2.5), nullif(1, 1), nullif(1, 2), nullif(null, 1), greatest(1, null, 3), least(null, null), greatest('a', 'b'), least(1, 2.5)
----
1|NULL|1|NULL|1|NULL|3|NULL|b|1

statement error 22P02
select coalesce(1, 'a')

query
select coalesce(1, '2')
----
1

query
select case when null then 1 else 2 end, case 1 when 1 then 'a' end, case null when null then 1 else 2 end, case when false then 1 end
----
2|a|2|NULL

statement error 22P02
select case 1 when 1 then 1 else 'a' end

statement error 42804
select case when 1 then 2 end

statement error 22023
select '\x0aFF'::bytea, '\xabc'::bytea

statement error 22023
select '\xabc'::bytea

statement error 22023
select '\xzz'::bytea

query
select '\x'::bytea, ''::bytea, 'abc'::bytea, 'a\\b'::bytea, 'a\000b'::bytea, '\x 0a 0b'::bytea
----
\x|\x|\x616263|\x615c62|\x610062|\x0a0b

statement error 22023
select '\x0 a'::bytea

statement error 22P02
select 'a\b'::bytea

statement error 22P02
select 'a\400'::bytea

query
select 'é'::bytea
----
\xc3a9

query
select '67e55044-10b1-426f-9247-bb680e5fe0c8'::uuid, '{67e55044-10b1-426f-9247-bb680e5fe0c8}'::uuid, '67E5504410b1426f9247bb680e5fe0c8'::uuid, '67e5-5044-10b1-426f-9247-bb68-0e5f-e0c8'::uuid
----
67e55044-10b1-426f-9247-bb680e5fe0c8|67e55044-10b1-426f-9247-bb680e5fe0c8|67e55044-10b1-426f-9247-bb680e5fe0c8|67e55044-10b1-426f-9247-bb680e5fe0c8

statement error 22P02
select '{67e55044-10b1-426f-9247-bb680e5fe0c8'::uuid

statement error 22P02
select '67e55044-10b1-426f-9247-bb680e5fe0c8}'::uuid

statement error 22P02
select '67e55044-10b1-426f-9247-bb680e5fe0c'::uuid

statement error 22P02
select '67e55044-10b1-426f-9247-bb680e5fe0c8 '::uuid

statement error 22P02
select '67e5504-410b1-426f-9247-bb680e5fe0c8'::uuid

statement error 22P02
select '67e55044--10b1-426f-9247-bb680e5fe0c8'::uuid

statement error 22P02
select ''::uuid

statement error 22P02
select '{{67e55044-10b1-426f-9247-bb680e5fe0c8}}'::uuid

statement error 22008
select '25:00'::time

statement error 22008
select '12:60'::time

statement error 22008
select '12:30:61'::time

statement error 22007
select 'noon'::time

statement error 22008
select '2024-02-30'::date

statement error 22008
select '2024-13-01'::date

statement error 22008
select '24-01-05'::date

query
select '2024-01-05 12:30:45.9999999'::timestamp, '2024-12-31 23:59:59.9999999'::timestamp
----
2024-01-05 12:30:46|2025-01-01 00:00:00

statement error 22008
select '2024-01-05 25:30'::timestamp

statement error 22008
select '2024-01-05 12:61'::timestamp

query
select '2024-02-29'::date + 365, '2024-01-31'::date - 31, '2024-03-01'::date - '2024-02-01'::date, '2024-01-31'::date + interval '1 month', '2024-01-31'::timestamp + interval '1 month 2 days 03:04:05'
----
2025-02-28|2023-12-31|29|2024-02-29 00:00:00|2024-03-02 03:04:05

query
select '2024-01-05'::date < '2024-01-06'::timestamp, '2024-01-05'::date = '2024-01-05 00:00:00'::timestamp
----
t|t

query
select extract(year from '2024-01-05'::date), extract(dow from '2024-01-07'::date), extract(isodow from '2024-01-07'::date), extract(doy from '2024-12-31'::date), extract(week from '2024-12-30'::date), extract(quarter from '2024-05-01'::date), extract(epoch from '2024-01-05'::date), extract(century from '2000-01-01'::date), extract(decade from '2024-01-01'::date), extract(isoyear from '2024-12-30'::date), extract(millennium from '2001-01-01'::date)
----
2024|0|7|366|1|2|1704412800|20|202|2025|3

query
select extract(second from '2024-01-05 12:30:45.678'::timestamp), extract(milliseconds from '2024-01-05 12:30:45.678'::timestamp), extract(microseconds from '12:30:45.678'::time), extract(epoch from '2024-01-05 12:30:45.678'::timestamp), extract(hour from '12:30'::time), date_part('second', '2024-01-05 12:30:45.678'::timestamp)
----
45.678000|45678.000|45678000|1704457845.678000|12|45.678

statement error 0A000
select extract(hour from '2024-01-05'::date)

statement error 22023
select extract(foo from '2024-01-05'::date)

query
select date_trunc('month', '2024-05-17 12:30:45'::timestamp), date_trunc('week', '2024-05-17'::date), date_trunc('quarter', '2024-05-17'::timestamp), date_trunc('hour', '2024-05-17 12:30:45'::timestamp), date_trunc('decade', '2024-05-17'::timestamp), date_trunc('century', '2024-05-17'::timestamp), date_trunc('milliseconds', '2024-05-17 12:30:45.123456'::timestamp)
----
2024-05-01 00:00:00|2024-05-13 00:00:00+00|2024-04-01 00:00:00|2024-05-17 12:00:00|2020-01-01 00:00:00|2001-01-01 00:00:00|2024-05-17 12:30:45.123

statement error 22023
select date_trunc('foo', '2024-05-17'::timestamp)

query
select make_date(2024, 2, 29), make_date(-44, 3, 15)
----
2024-02-29|0044-03-15 BC

statement error 22008
select make_date(2023, 2, 29)

query
select to_timestamp(0), to_timestamp(1704456645.5), to_timestamp(-1.5)
----
1970-01-01 00:00:00+00|2024-01-05 12:10:45.5+00|1969-12-31 23:59:58.5+00

query
select '2024-01-05'::timestamp::date, '2024-01-05 12:30'::timestamp::time, '2024-01-05 12:30+02'::timestamptz::timestamp, '2024-01-05 12:30+02'::timestamptz::date, '12:30'::time::text, '2024-01-05'::date::text, '2024-01-05'::date::timestamptz
----
2024-01-05|12:30:00|2024-01-05 10:30:00|2024-01-05|12:30:00|2024-01-05|2024-01-05 00:00:00+00

query
select '5874897-12-31'::date, '4713-01-01 BC'::date
----
5874897-12-31|4713-01-01 BC

statement error 22008
select '5874898-01-01'::date

statement error 22008
select '294277-01-01'::timestamp

query
select 1::text::int, '5'::text::numeric, 5::text || 'x', 1.50::text, 1e20::float8::text, (1.0/3)::text, 100000::float4::text
----
1|5|5x|1.50|1e+20|0.33333333333333333333|100000

query
select 'abc'::varchar(2), 'abc'::varchar, 'abc  '::varchar(3)
----
ab|abc|abc

query
select 'abc'::name, 'abc'::text::name
----
abc|abc

query
select count(*), count(x), sum(x), avg(x), min(x), max(x) from (values (null::int)) v(x)
----
1|0|NULL|NULL|NULL|NULL

query
select count(*), sum(x), max(x) from (values (1)) v(x) where x > 1
----
0|NULL|NULL

query
select bool_and(x), bool_or(x), every(x) from (values (true), (null), (false)) v(x)
----
f|t|f

query
select sum(x::int2), sum(x::int4), sum(x::int8), sum(x::numeric), sum(x::float4), sum(x::float8), avg(x::int8), avg(x::float4) from (values (1), (2)) v(x)
----
3|3|3|3|3|3|1.5000000000000000|1.5

query
select string_agg(x, ',') from (values ('a'), (null), ('b')) v(x)
----
a,b

query
select string_agg(x, null) from (values ('a'), ('b')) v(x)
----
ab

query
select string_agg(distinct x, ',') from (values ('b'), ('a'), ('b')) v(x)
----
a,b

query
select min(x), max(x) from (values ('a'), ('B')) v(x)
----
B|a

query
select min(x), max(x) from (values ('2024-01-01'::date), ('2023-01-01')) v(x)
----
2023-01-01|2024-01-01

query
select x from (values (2), (null), (1)) v(x) order by x
----
1
2
NULL

query
select x from (values (2), (null), (1)) v(x) order by x desc
----
NULL
2
1

query
select x from (values (2), (null), (1)) v(x) order by x nulls first
----
NULL
1
2

query
select x from (values (2), (null), (1)) v(x) order by x desc nulls last
----
2
1
NULL

query
select distinct on (x) x, y from (values (1, 2), (1, 1), (2, 5)) v(x, y) order by x, y
----
1|1
2|5

statement error 42P10
select distinct on (x) x, y from (values (1, 2), (1, 1), (2, 5)) v(x, y) order by y

query
select * from generate_series(1, 3)
----
1
2
3

query
select * from generate_series(3, 1)
----

query
select * from generate_series(3, 1, -1)
----
3
2
1

query
select * from generate_series(1, 10, 4)
----
1
5
9

statement error 22023
select * from generate_series(1, 2, 0)

query
select * from generate_series(2147483646, 2147483647)
----
2147483646
2147483647

query
select * from generate_series(9223372036854775806, 9223372036854775807)
----
9223372036854775806
9223372036854775807

query
select * from generate_series(-2147483647, -2147483648, -1)
----
-2147483647
-2147483648

query
select * from generate_series(1, null)
----

query
select * from generate_series(1::bigint, 3)
----
1
2
3

query
select pg_typeof(1), pg_typeof(1.5), pg_typeof('a'), pg_typeof(null), pg_typeof(true), pg_typeof(2147483648), pg_typeof(9223372036854775808), pg_typeof(1e5)
----
integer|numeric|unknown|unknown|boolean|bigint|numeric|numeric

query
select 'a' < 'b', 'a' < 'B', 'abc' < 'abd', '' < 'a', 'Z' < 'a', 'é' > 'z'
----
t|f|t|t|t|t

query
select '10' < '9', 10 < 9, '10'::text < '9'::text
----
t|f|t

query
select 1 = '1', 1 = 1.0, 1 = 1.0::float8, 0.1 = 0.1::float8, 1::numeric = 1::float4
----
t|t|t|t|t

statement error 22P02
select 1 = 'a'

statement error 22P02
select 'a' = 1

query
select 1 + '1', '1' + 1, 1.5 + '2'
----
2|2|3.5

statement error 42725
select '1' + '1'

statement error 22P02
select 1 + 'a'

query
select 3 - -3, 2 - - 2
----
6|4

query
select 7 / 2 * 2.0, 7 / 2.0, 7::float8 / 2, -7 / 2, 7 % -3
----
6.0|3.5000000000000000|3.5|-3|1

statement error 22012
select 1.0 / 0

statement error 22012
select 1 / 0.0

statement error 22012
select 0.0 / 0

query
select 'Infinity'::float8 / 'Infinity'::float8, 'Infinity'::float8 - 'Infinity'::float8, 0 * 'Infinity'::float8
----
NaN|NaN|NaN

statement error 22012
select 0::float8 / 0

statement error 22P02
select '12abc'::int

statement error 22P02
select '1e2'::int

statement error 22P02
select '12.5'::int

query
select ' 12'::int2, '-12 '::int8
----
12|-12

statement error 22003
select '99999999999999999999'::int8

statement error 22P02
select '1,000'::numeric

statement error 22P02
select '1.2.3'::numeric

statement error 22P02
select 'abc'::numeric

statement error 22P02
select '--5'::int

statement error 22P02
select '+-5'::int

statement error 22P02
select '5-'::int

statement error 22P02
select '1/2'::float8

query
select cast('5' as int), cast(5.7 as int), cast('5.7' as numeric(3,0)), cast(null as int)
----
5|6|6|NULL

query
select int '5', date '2024-01-01', float8 '1.5', text 'a', bool 't', numeric '1.50', timestamp '2024-01-01 10:00'
----
5|2024-01-01|1.5|a|t|1.50|2024-01-01 10:00:00

query
select 5::int4::int2::int8::text::numeric::float8
----
5

statement error 22003
select 32768::int2

statement error 22003
select (-32769)::int2

statement error 22003
select 1e10::int

statement error 22003
select 1e400::float8
