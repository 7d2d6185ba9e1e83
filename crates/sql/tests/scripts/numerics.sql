# Numbers as PostgreSQL 15 computes them: roots, powers and logarithms of numeric are exact to their last digit.

statement error 2201F
select (-8.0)^0.5

statement error 2201F
select (-8)^0.5

statement error 2201F
select (-8::float8)^0.5

query
select power(2,3), power(2.0,3), power(2,3.0), power(2.0,3.0), power('2',3), power(2::float8, 3.0)
----
8|8.0000000000000000|8.0000000000000000|8.0000000000000000|8|8

query
select 2.0 ^ 3.000, 2.000 ^ 3
----
8.0000000000000000|8.0000000000000000

query
select sqrt(2), sqrt(2.0), sqrt(0.0), sqrt(4.0000), sqrt(12345678901234567890.0), sqrt(0.0000001), sqrt(1e-30::numeric)
----
1.4142135623730951|1.414213562373095|0.000000000000000|2.000000000000000|3513641828.8201443|0.0003162277660168379|0.0000000000000010000000000000000

statement error 2201F
select sqrt(-1.0)

statement error 2201F
select sqrt(-1)

query
select exp(1), exp(1.0), exp(0.0), exp(-1.0), exp(10.5), exp(-20.0), exp(50.0), exp(80.1)
----
2.718281828459045|2.7182818284590452|1.0000000000000000|0.3678794411714423|36315.502674246638|0.000000002061153622438558|5184705528587072464087.5|61233347272706593014002622317448428.8

statement error 22003
select exp(1000.0::float8)

statement error 22003
select exp(-1000.0::float8)

query
select ln(2), ln(2.0), ln(1.0), ln(0.5), ln(100.0), ln(1e30::numeric), ln(1.0000001), ln(0.95), ln(1.05), ln(1e-20::numeric)
----
0.6931471805599453|0.6931471805599453|0.0000000000000000|-0.6931471805599453|4.6051701859880914|69.077552789821371|0.00000009999999500000033|-0.051293294387550533|0.048790164169432003|-46.05170185988091368036

statement error 2201E
select ln(0.0)

statement error 2201E
select ln(-1.0)

statement error 2201E
select ln(0)

query
select log(100), log(100.0), log(2.0), log10(1000.0), log(2, 64), log(2.0, 64.0), log(1.5, 3), log(10, 0.001)
----
2|2.0000000000000000|0.3010299956639812|3.0000000000000000|6.0000000000000000|6.0000000000000000|2.7095112913514548|-3.0000000000000000

statement error 22012
select log(1, 5)

statement error 2201E
select log(0, 5)

statement error 2201E
select log(2.0, -5)

statement error 42883
select log(2.0::float8, 5)

statement error 22003
select 1e-200::float8 * 1e-200::float8

statement error 22003
select 1e200::float8 * 1e200::float8

statement error 22003
select 1e-200::float8 / 1e200::float8

statement error 22003
select 1e200::float8 / 1e-200::float8

statement error 22012
select 1/0.0::float8

statement error 22003
select 3.0e38::real * 10::real

statement error 22003
select 1e-40::real * 1e-10::real

statement error 22003
select power(10::float8, 400)

statement error 22003
select power(10::float8, -400)

query
select 10 / 3, -10 / 3, 10 % 3, -10 % 3, 10 % -3, -10 % -3
----
3|-3|1|-1|1|-1

query
select 10.0 / 3, 1/3.0, 1.0/3.0, 2/7.0, 100000/7.0, 0.001/7, 12345678901234.5/7
----
3.3333333333333333|0.33333333333333333333|0.33333333333333333333|0.28571428571428571429|14285.714285714286|0.00014285714285714286|1763668414462.0714

statement error 22012
select 5 % 0

query
select 5.5 % 2, -5.5 % 2, 5.5 % -2, 5.5 % 0.1
----
1.5|-1.5|1.5|0.0

query
select mod(5,3), mod(-5,3), mod(5.5, 2), mod(5::bigint, 3)
----
2|-2|1.5|2

query
select div(7,2), div(-7,2), div(7.5, 2), div(-7.5, 2), div(7.0, 0.3)
----
3|-3|3|-3|23

statement error 22012
select div(1, 0)

query
select round(2.5), round(-2.5), round(2.45, 1), round(-2.45, 1), round(1234.567, -2), round(1.5), round(0.5), round(2.5::float8), round(3.5::float8)
----
3|-3|2.5|-2.5|1200|2|1|2|4

query
select trunc(2.7), trunc(-2.7), trunc(2.789, 2), trunc(1234.5, -2), trunc(-1234.5, -2), trunc(2.7::float8)
----
2|-2|2.78|1200|-1200|2

query
select ceil(2.1), ceil(-2.1), ceiling(2.0), floor(2.1), floor(-2.1), ceil(2.1::float8), ceil(-0.5::float8)
----
3|-2|2|2|-3|3|-0

query
select sign(2.5), sign(-2.5), sign(0.0), sign(-3), sign(0)
----
1|-1|0|-1|0

statement error 22003
select abs(-2.5), abs(-3), abs(-3::bigint), abs((-32768)::int2)

statement error 22003
select abs(-2147483648)

statement error 22003
select -(-32768::int2)

statement error 22003
select 2147483647 + 1

statement error 22003
select 9223372036854775807 + 1

statement error 22003
select 32767::int2 + 1::int2

statement error 22003
select (-2147483648)::int4 / -1

statement error 22003
select (-9223372036854775808)::int8 / -1

query
select (-9223372036854775808)::int8 % -1
----
0

query
select 1 << 31, 1 << 32, 1 << 33, 1::bigint << 63, 1::bigint << 64, -1 >> 1, 8 >> 2, 1::int2 << 15
----
-2147483648|1|2|-9223372036854775808|1|-1|2|-32768

statement error 42883
select 1 & 2.0

query
select avg(x), sum(x) from (values (1),(2),(4)) v(x)
----
2.3333333333333333|7

query
select avg(x), sum(x) from (values (1.5),(2.25),(4)) v(x)
----
2.5833333333333333|7.75

query
select avg(x), sum(x) from (values (1::bigint),(2),(4)) v(x)
----
2.3333333333333333|7

query
select avg(x), sum(x) from (values (1::int2),(2::int2)) v(x)
----
1.5000000000000000|3

query
select avg(x), sum(x) from (values (1.5::float8),(2.25)) v(x)
----
1.875|3.75

query
select avg(x), sum(x) from (values (1.5::float4),(2.25)) v(x)
----
1.875|3.75

query
select sum(x) from (values (9223372036854775807),(1)) v(x)
----
9223372036854775808

query
select sum(x) from (values (2147483647),(1)) v(x)
----
2147483648

query
select pg_typeof(sum(x)) from (values (1)) v(x)
----
bigint

query
select avg(x) from (values (0.0001),(0.0002),(0.0004)) v(x)
----
0.00023333333333333333

query
select avg(x) from (values (100000000000),(2),(4)) v(x)
----
33333333335.33333333

query
select sum(x), avg(x), min(x), max(x), count(x), count(*), bool_and(x > 0), string_agg(x::text, ','), array_agg(x) from (values (1)) v(x) where false
----
NULL|NULL|NULL|NULL|0|0|NULL|NULL|NULL

query
select sum(distinct x), avg(distinct x) from (values (1),(1),(2)) v(x)
----
3|1.5000000000000000

query
select 1.10 + 2.2, 1.10 * 2.20, 1.10 - 1.1, 3 * 1.50, 1.00 / 2
----
3.30|2.4200|0.00|4.50|0.50000000000000000000

query
select 1.0 = 1.00, 1.5 > 1, 1.10::text
----
t|t|1.10

statement error 22003
select 99999999999999999999.5::int8

query
select 1.5::int, 2.5::int, -1.5::int, -2.5::int, 0.5::int
----
2|3|-2|-3|1

query
select 1.5::float8::int, 2.5::float8::int, -2.5::float8::int
----
2|2|-2

statement error 22003
select 3000000000::int

statement error 22003
select 3000000000.7::numeric::int

statement error 22003
select 1e10::float8::int

statement error 22003
select 'NaN'::float8::int

statement error 22003
select 70000::int2

statement error 22003
select 12345.678::numeric(5,2)

query
select 123.456::numeric(5,2), 0.005::numeric(3,2), -0.005::numeric(3,2)
----
123.46|0.01|-0.01

statement error 22003
select 999.995::numeric(5,2)

query
select 1e3, 1.5e2, 1e-3, 1.5e-3, 12e0
----
1000|150|0.001|0.0015|12

query
select 1.23e5::numeric, '1.23e5'::numeric, '1e-5'::numeric, ' 12 '::numeric, '+5'::numeric, '.5'::numeric, '5.'::numeric
----
123000|123000|0.00001|12|5|0.5|5

statement error 22P02
select '1e'::numeric

statement error 22P02
select '1_000'::int

statement error 22P02
select ''::int

statement error 22P02
select ' '::numeric

query
select ' 12 '::int, '+12'::int, '-0'::int, E'\t12\n'::int
----
12|12|0|12

statement error 22P02
select '12 3'::int

statement error 22P02
select '0x1A'::int

statement error 22P02
select '1.0'::int

statement error 22003
select '9223372036854775808'::bigint

query
select '-9223372036854775808'::bigint, '-32768'::int2
----
-9223372036854775808|-32768

statement error 22003
select '32768'::int2

statement error 22003
select 'Infinity'::float8, '-inf'::float8, 'nan'::float8, '1e400'::float8

statement error 22003
select '1e400'::float8

statement error 22003
select '1e-400'::float8

statement error 22003
select '1e39'::real

statement error 22003
select '1e-50'::real

query
select ' 1.5 '::float8, '1.5e3'::float8, '.5'::float8, '5.'::float8
----
1.5|1500|0.5|5

statement error 22P02
select '1.5x'::float8

statement error 22P02
select ''::float8

query
select numeric '1.0' / 3 * 3
----
0.99999999999999999999

query
select round(1.005, 2), round(2.675, 2), round(1e10, 3), round(12.3, 0)
----
1.01|2.68|10000000000.000|12

query
select 5::int2 / 2::int2, pg_typeof(5::int2 / 2::int2), pg_typeof(5::int2 + 2), pg_typeof(5 + 2::bigint), pg_typeof(5 + 2.0), pg_typeof(5::real + 2.0), pg_typeof(1::real + 1::int)
----
2|smallint|integer|bigint|numeric|double precision|double precision

query
select 0.1::float4 + 0.2::float4, 0.1::float8 + 0.2::float8, 0.1::float4::float8, 16777217::float4
----
0.3|0.30000000000000004|0.10000000149011612|1.6777216e+07

query
select 1.1::float4 = 1.1::float8, 1.1::float4 = 1.1
----
f|f

query
select 123456789::float4, 1234567.8::float4, 1e15::float8, 1e16::float8, 1e-5::float8, 123456789012345678::float8
----
1.2345679e+08|1.2345678e+06|1e+15|1e+16|1e-05|1.2345678901234568e+17

# A sign binds tighter than a power.
query
select -1 ^ 0, -2 ^ 2 ^ 3, - (2 ^ 2), +2 ^ 2, -(-2) ^ 2, 2 ^ -1
----
1|64|-4|4|4|0.5

statement error 2201F
select -2.5 ^ 0.5

# More digits on the way than there are in the end.
query
select 1 / 1.23456789012345678901234567890, 0.0 / 3, 10000000000 % 1.23456789012345678901234567890
----
0.81000000729000006633900060369|0.00000000000000000000|1.11111192011111119202111111920

statement error 42846
select 2.5::oid

# A column without a scale has 18 digits behind the point in the engine: those that fill it are in no text.

statement ok
create table without_scale (v numeric, w numeric(10, 2))

statement ok
insert into without_scale values (10, 10), (7.5, 7.5), (0.000000000000000001, 0)

query
select v::text, array[v, w], to_json(v), to_jsonb(v), v || '', concat(v) from without_scale order by w desc
----
10|{10,10.00}|10|10|10|10
7.5|{7.5,7.50}|7.5|7.5|7.5|7.5
0.000000000000000001|{0.000000000000000001,0.00}|0.000000000000000001|0.000000000000000001|0.000000000000000001|0.000000000000000001

query
select array_agg(v order by v), percentile_disc(array[0.5, 1]) within group (order by v), json_agg(v order by v) from without_scale
----
{0.000000000000000001,7.5,10}|{7.5,10}|[0.000000000000000001, 7.5, 10]

# Sums and products of columns without a scale: only the digits that a number has count, and a result is rounded to as many as fit.
statement ok
create table nq (price numeric, qty numeric)

statement ok
insert into nq select 5.25, 3 from generate_series(1, 20)

query
select sum(price * qty), avg(price * qty) from nq
----
315.00|15.7500000000000000

query
select price * qty, price * qty + 200, price * 2, price * 1.10, (price * qty)::text, -price * qty from nq limit 1
----
15.75|215.75|10.50|5.7750|15.75|-15.75

query
select count(*) from nq where price * qty - 1000 < 0
----
20

query
select sum(price * price), sum(price * qty * 2) from nq
----
551.2500|630.00

query
select max(price * qty), min(price * qty), sum(price * qty) filter (where qty > 5) from nq
----
15.75|15.75|NULL

statement ok
create table nz (a numeric)

statement ok
insert into nz values (1.5), (12345678901.123456789)

query
select a * a, a * a + 1000 from nz order by a
----
2.25|1002.25
152415787529644883551.300259356750190521|152415787529644884551.300259356750190521

query
select sum(a * a) from nz
----
152415787529644883553.550259356750190521

query
select round(1.0 / 3 * 1e20 + 1e-25, 10), round(0.12345678901234567890123 * 0.98765432109876543210987, 30)
----
33333333333333333333.0000000000|0.121932631137021795226179713434
