# Encodings, floats and parts of times as PostgreSQL 15 has them.

query
select round(cbrt(27)::numeric, 10), cbrt(-8), degrees(pi()), radians(180), round(sin(1)::numeric, 10), cos(0), tan(0), round(cot(1)::numeric, 10)
----
3.0000000000|-2|180|3.141592653589793|0.8414709848|1|0|0.6420926159

statement error 22003
select acos(2)

query
select asinh(0.7), acosh(1.3), atanh(0.3), asinh(-3.5), acosh(77.7), atanh(-0.9), atanh(1), asinh(1e300)
----
0.6526665660823557|0.7564329108569596|0.30951960420311175|-1.9657204716496515|5.045961026053396|-1.4722194895832204|Infinity|691.4686750787736

query
select asin('nan'), atan2(1, 1), atanh(1), acosh(1), asinh(0)
----
NaN|0.7853981633974483|Infinity|0|0

statement error 22003
select sin('infinity')

statement error 22003
select acosh(0.5)

statement error 22003
select degrees(1e308)

query
select gcd(12, -18), lcm(4, 6), gcd(0, 0), lcm(0, 5), gcd(9223372036854775807, 2)
----
6|12|0|0|1

statement error 22003
select gcd(-2147483648, 0)

statement error 22003
select lcm(2147483647, 2)

query
select bit_length('äb'), bit_length('\x6162'::bytea), bit_length('ab'::char(4))
----
24|16|16

query
select encode('\x00ff5c61'::bytea, 'hex'), encode('\x00ff5c61'::bytea, 'escape'), encode('\x00ff5c61'::bytea, 'base64')
----
00ff5c61|\000\377\\a|AP9cYQ==

query
select replace(encode(repeat('x', 60)::bytea, 'base64'), chr(10), '/')
----
eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4/eHh4

query
select decode('00FF 5c', 'hex'), decode('a\\b\377', 'escape'), decode('AP9c YQ==', 'base64')
----
\x00ff5c|\x615c62ff|\x00ff5c61

statement error 22023
select decode('0', 'hex')

statement error 22023
select decode('zz', 'hex')

statement error 22023
select decode('AP*', 'base64')

statement error 22023
select decode('AP9cYQ', 'base64')

statement error 22023
select decode('AP9=YQ==', 'base64')

statement error 22023
select encode('\x61'::bytea, 'rot13')

statement error 22P02
select decode('\9', 'escape')

query
select quote_literal('it''s'), quote_literal('a\b'), quote_nullable(null), quote_nullable('x')
----
'it''s'|E'a\\b'|NULL|'x'

query
select to_hex(255), to_hex(-1), to_hex(-1::bigint), to_hex(9223372036854775807)
----
ff|ffffffff|ffffffffffffffff|7fffffffffffffff

query
select translate('abcabc', 'aab', 'xyz'), translate('äöü', 'öä', 'o')
----
xzcxzc|oü

query
select length(encode(repeat('a', 5000000)::bytea, 'hex'))
----
10000000

query
select translate('12345', '143', 'ax'), translate('', 'a', 'b'), translate('aab', 'aa', 'xy')
----
a2x5||xxb

query
select overlay('Txxxxas' placing 'hom' from 2 for 4), overlay('abc' placing 'ZZ' from 2), overlay('abc', 'Z', 10), overlay('abc' placing '' from 1 for 2), overlay('abc' placing 'x' from 2 for 0)
----
Thomas|aZZ|abcZ|c|axbc

statement error 22011
select overlay('abc' placing 'x' from 0)

query
select overlay('abc' placing 'x' from 3 for -2)
----
abxabc

query
select make_time(8, 15, 23.5), make_time(24, 0, 0), make_time(1, 2, 60), make_time(23, 59, 59.9999999)
----
08:15:23.5|24:00:00|01:03:00|24:00:00

statement error 22008
select make_time(23, 60, 0)

statement error 22008
select make_time(24, 0, 1)

query
select make_timestamp(2024, 2, 29, 7, 8, 9.25), make_timestamp(2024, 2, 3, 24, 0, 0), make_timestamp(-1, 2, 3, 4, 5, 6.7)
----
2024-02-29 07:08:09.25|2024-02-04 00:00:00|0001-02-03 04:05:06.7 BC

statement error 22008
select make_timestamp(2024, 2, 30, 1, 2, 3)

query
select translate(null, 'a', 'b'), encode(null, 'hex'), gcd(null, 1), make_time(null, 1, 1)
----
NULL|NULL|NULL|NULL

