# NaN and infinities of numeric: operators, functions, casts, columns, keys and indexes; the answers are PostgreSQL 15's.

query
select 'nan'::numeric, ' NaN '::numeric, 'inf'::numeric, '-INF'::numeric, '+infinity'::numeric, numeric '-Infinity'
----
NaN|NaN|Infinity|-Infinity|Infinity|-Infinity

statement error 22P02
select '+nan'::numeric
----
invalid input syntax for type numeric: "+nan"

statement error 22P02
select 'infinit'::numeric
----
invalid input syntax for type numeric: "infinit"

query
select a, b, a + b, a - b, a * b, a = b, a <> b, a < b, a <= b, a > b, a >= b, greatest(a, b), least(a, b), a is distinct from b from (values ('-Infinity'::numeric),(-2.5),(-1),(-0.5),(0),(0.5),(1),(2),(3),('Infinity'),('NaN')) x(a), (values ('-Infinity'::numeric),(-2.5),(-1),(-0.5),(0),(0.5),(1),(2),(3),('Infinity'),('NaN')) y(b) where 'Infinity' in (a, b) or '-Infinity' in (a, b) or 'NaN' in (a, b) order by a, b
----
-Infinity|-Infinity|-Infinity|NaN|Infinity|t|f|f|t|f|t|-Infinity|-Infinity|f
-Infinity|-2.5|-Infinity|-Infinity|Infinity|f|t|t|t|f|f|-2.5|-Infinity|t
-Infinity|-1|-Infinity|-Infinity|Infinity|f|t|t|t|f|f|-1|-Infinity|t
-Infinity|-0.5|-Infinity|-Infinity|Infinity|f|t|t|t|f|f|-0.5|-Infinity|t
-Infinity|0|-Infinity|-Infinity|NaN|f|t|t|t|f|f|0|-Infinity|t
-Infinity|0.5|-Infinity|-Infinity|-Infinity|f|t|t|t|f|f|0.5|-Infinity|t
-Infinity|1|-Infinity|-Infinity|-Infinity|f|t|t|t|f|f|1|-Infinity|t
-Infinity|2|-Infinity|-Infinity|-Infinity|f|t|t|t|f|f|2|-Infinity|t
-Infinity|3|-Infinity|-Infinity|-Infinity|f|t|t|t|f|f|3|-Infinity|t
-Infinity|Infinity|NaN|-Infinity|-Infinity|f|t|t|t|f|f|Infinity|-Infinity|t
-Infinity|NaN|NaN|NaN|NaN|f|t|t|t|f|f|NaN|-Infinity|t
-2.5|-Infinity|-Infinity|Infinity|Infinity|f|t|f|f|t|t|-2.5|-Infinity|t
-2.5|Infinity|Infinity|-Infinity|-Infinity|f|t|t|t|f|f|Infinity|-2.5|t
-2.5|NaN|NaN|NaN|NaN|f|t|t|t|f|f|NaN|-2.5|t
-1|-Infinity|-Infinity|Infinity|Infinity|f|t|f|f|t|t|-1|-Infinity|t
-1|Infinity|Infinity|-Infinity|-Infinity|f|t|t|t|f|f|Infinity|-1|t
-1|NaN|NaN|NaN|NaN|f|t|t|t|f|f|NaN|-1|t
-0.5|-Infinity|-Infinity|Infinity|Infinity|f|t|f|f|t|t|-0.5|-Infinity|t
-0.5|Infinity|Infinity|-Infinity|-Infinity|f|t|t|t|f|f|Infinity|-0.5|t
-0.5|NaN|NaN|NaN|NaN|f|t|t|t|f|f|NaN|-0.5|t
0|-Infinity|-Infinity|Infinity|NaN|f|t|f|f|t|t|0|-Infinity|t
0|Infinity|Infinity|-Infinity|NaN|f|t|t|t|f|f|Infinity|0|t
0|NaN|NaN|NaN|NaN|f|t|t|t|f|f|NaN|0|t
0.5|-Infinity|-Infinity|Infinity|-Infinity|f|t|f|f|t|t|0.5|-Infinity|t
0.5|Infinity|Infinity|-Infinity|Infinity|f|t|t|t|f|f|Infinity|0.5|t
0.5|NaN|NaN|NaN|NaN|f|t|t|t|f|f|NaN|0.5|t
1|-Infinity|-Infinity|Infinity|-Infinity|f|t|f|f|t|t|1|-Infinity|t
1|Infinity|Infinity|-Infinity|Infinity|f|t|t|t|f|f|Infinity|1|t
1|NaN|NaN|NaN|NaN|f|t|t|t|f|f|NaN|1|t
2|-Infinity|-Infinity|Infinity|-Infinity|f|t|f|f|t|t|2|-Infinity|t
2|Infinity|Infinity|-Infinity|Infinity|f|t|t|t|f|f|Infinity|2|t
2|NaN|NaN|NaN|NaN|f|t|t|t|f|f|NaN|2|t
3|-Infinity|-Infinity|Infinity|-Infinity|f|t|f|f|t|t|3|-Infinity|t
3|Infinity|Infinity|-Infinity|Infinity|f|t|t|t|f|f|Infinity|3|t
3|NaN|NaN|NaN|NaN|f|t|t|t|f|f|NaN|3|t
Infinity|-Infinity|NaN|Infinity|-Infinity|f|t|f|f|t|t|Infinity|-Infinity|t
Infinity|-2.5|Infinity|Infinity|-Infinity|f|t|f|f|t|t|Infinity|-2.5|t
Infinity|-1|Infinity|Infinity|-Infinity|f|t|f|f|t|t|Infinity|-1|t
Infinity|-0.5|Infinity|Infinity|-Infinity|f|t|f|f|t|t|Infinity|-0.5|t
Infinity|0|Infinity|Infinity|NaN|f|t|f|f|t|t|Infinity|0|t
Infinity|0.5|Infinity|Infinity|Infinity|f|t|f|f|t|t|Infinity|0.5|t
Infinity|1|Infinity|Infinity|Infinity|f|t|f|f|t|t|Infinity|1|t
Infinity|2|Infinity|Infinity|Infinity|f|t|f|f|t|t|Infinity|2|t
Infinity|3|Infinity|Infinity|Infinity|f|t|f|f|t|t|Infinity|3|t
Infinity|Infinity|Infinity|NaN|Infinity|t|f|f|t|f|t|Infinity|Infinity|f
Infinity|NaN|NaN|NaN|NaN|f|t|t|t|f|f|NaN|Infinity|t
NaN|-Infinity|NaN|NaN|NaN|f|t|f|f|t|t|NaN|-Infinity|t
NaN|-2.5|NaN|NaN|NaN|f|t|f|f|t|t|NaN|-2.5|t
NaN|-1|NaN|NaN|NaN|f|t|f|f|t|t|NaN|-1|t
NaN|-0.5|NaN|NaN|NaN|f|t|f|f|t|t|NaN|-0.5|t
NaN|0|NaN|NaN|NaN|f|t|f|f|t|t|NaN|0|t
NaN|0.5|NaN|NaN|NaN|f|t|f|f|t|t|NaN|0.5|t
NaN|1|NaN|NaN|NaN|f|t|f|f|t|t|NaN|1|t
NaN|2|NaN|NaN|NaN|f|t|f|f|t|t|NaN|2|t
NaN|3|NaN|NaN|NaN|f|t|f|f|t|t|NaN|3|t
NaN|Infinity|NaN|NaN|NaN|f|t|f|f|t|t|NaN|Infinity|t
NaN|NaN|NaN|NaN|NaN|t|f|f|t|f|t|NaN|NaN|f

query
select a, b, a / b, a % b, mod(a, b), div(a, b) from (values ('-Infinity'::numeric),(-2.5),(-1),(-0.5),(0),(0.5),(1),(2),(3),('Infinity'),('NaN')) x(a), (values ('-Infinity'::numeric),(-2.5),(-1),(-0.5),(0),(0.5),(1),(2),(3),('Infinity'),('NaN')) y(b) where b <> 0 and ('Infinity' in (a, b) or '-Infinity' in (a, b) or 'NaN' in (a, b)) order by a, b
----
-Infinity|-Infinity|NaN|NaN|NaN|NaN
-Infinity|-2.5|Infinity|NaN|NaN|Infinity
-Infinity|-1|Infinity|NaN|NaN|Infinity
-Infinity|-0.5|Infinity|NaN|NaN|Infinity
-Infinity|0.5|-Infinity|NaN|NaN|-Infinity
-Infinity|1|-Infinity|NaN|NaN|-Infinity
-Infinity|2|-Infinity|NaN|NaN|-Infinity
-Infinity|3|-Infinity|NaN|NaN|-Infinity
-Infinity|Infinity|NaN|NaN|NaN|NaN
-Infinity|NaN|NaN|NaN|NaN|NaN
-2.5|-Infinity|0|-2.5|-2.5|0
-2.5|Infinity|0|-2.5|-2.5|0
-2.5|NaN|NaN|NaN|NaN|NaN
-1|-Infinity|0|-1|-1|0
-1|Infinity|0|-1|-1|0
-1|NaN|NaN|NaN|NaN|NaN
-0.5|-Infinity|0|-0.5|-0.5|0
-0.5|Infinity|0|-0.5|-0.5|0
-0.5|NaN|NaN|NaN|NaN|NaN
0|-Infinity|0|0|0|0
0|Infinity|0|0|0|0
0|NaN|NaN|NaN|NaN|NaN
0.5|-Infinity|0|0.5|0.5|0
0.5|Infinity|0|0.5|0.5|0
0.5|NaN|NaN|NaN|NaN|NaN
1|-Infinity|0|1|1|0
1|Infinity|0|1|1|0
1|NaN|NaN|NaN|NaN|NaN
2|-Infinity|0|2|2|0
2|Infinity|0|2|2|0
2|NaN|NaN|NaN|NaN|NaN
3|-Infinity|0|3|3|0
3|Infinity|0|3|3|0
3|NaN|NaN|NaN|NaN|NaN
Infinity|-Infinity|NaN|NaN|NaN|NaN
Infinity|-2.5|-Infinity|NaN|NaN|-Infinity
Infinity|-1|-Infinity|NaN|NaN|-Infinity
Infinity|-0.5|-Infinity|NaN|NaN|-Infinity
Infinity|0.5|Infinity|NaN|NaN|Infinity
Infinity|1|Infinity|NaN|NaN|Infinity
Infinity|2|Infinity|NaN|NaN|Infinity
Infinity|3|Infinity|NaN|NaN|Infinity
Infinity|Infinity|NaN|NaN|NaN|NaN
Infinity|NaN|NaN|NaN|NaN|NaN
NaN|-Infinity|NaN|NaN|NaN|NaN
NaN|-2.5|NaN|NaN|NaN|NaN
NaN|-1|NaN|NaN|NaN|NaN
NaN|-0.5|NaN|NaN|NaN|NaN
NaN|0.5|NaN|NaN|NaN|NaN
NaN|1|NaN|NaN|NaN|NaN
NaN|2|NaN|NaN|NaN|NaN
NaN|3|NaN|NaN|NaN|NaN
NaN|Infinity|NaN|NaN|NaN|NaN
NaN|NaN|NaN|NaN|NaN|NaN

query
select a, b, gcd(a, b), lcm(a, b) from (values ('-Infinity'::numeric),(-2.5),(-1),(-0.5),(0),(0.5),(1),(2),(3),('Infinity'),('NaN')) x(a), (values ('-Infinity'::numeric),(-2.5),(-1),(-0.5),(0),(0.5),(1),(2),(3),('Infinity'),('NaN')) y(b) where 'Infinity' in (a, b) or '-Infinity' in (a, b) or 'NaN' in (a, b) order by a desc, b desc
----
NaN|NaN|NaN|NaN
NaN|Infinity|NaN|NaN
NaN|3|NaN|NaN
NaN|2|NaN|NaN
NaN|1|NaN|NaN
NaN|0.5|NaN|NaN
NaN|0|NaN|NaN
NaN|-0.5|NaN|NaN
NaN|-1|NaN|NaN
NaN|-2.5|NaN|NaN
NaN|-Infinity|NaN|NaN
Infinity|NaN|NaN|NaN
Infinity|Infinity|NaN|NaN
Infinity|3|NaN|NaN
Infinity|2|NaN|NaN
Infinity|1|NaN|NaN
Infinity|0.5|NaN|NaN
Infinity|0|NaN|NaN
Infinity|-0.5|NaN|NaN
Infinity|-1|NaN|NaN
Infinity|-2.5|NaN|NaN
Infinity|-Infinity|NaN|NaN
3|NaN|NaN|NaN
3|Infinity|NaN|NaN
3|-Infinity|NaN|NaN
2|NaN|NaN|NaN
2|Infinity|NaN|NaN
2|-Infinity|NaN|NaN
1|NaN|NaN|NaN
1|Infinity|NaN|NaN
1|-Infinity|NaN|NaN
0.5|NaN|NaN|NaN
0.5|Infinity|NaN|NaN
0.5|-Infinity|NaN|NaN
0|NaN|NaN|NaN
0|Infinity|NaN|NaN
0|-Infinity|NaN|NaN
-0.5|NaN|NaN|NaN
-0.5|Infinity|NaN|NaN
-0.5|-Infinity|NaN|NaN
-1|NaN|NaN|NaN
-1|Infinity|NaN|NaN
-1|-Infinity|NaN|NaN
-2.5|NaN|NaN|NaN
-2.5|Infinity|NaN|NaN
-2.5|-Infinity|NaN|NaN
-Infinity|NaN|NaN|NaN
-Infinity|Infinity|NaN|NaN
-Infinity|3|NaN|NaN
-Infinity|2|NaN|NaN
-Infinity|1|NaN|NaN
-Infinity|0.5|NaN|NaN
-Infinity|0|NaN|NaN
-Infinity|-0.5|NaN|NaN
-Infinity|-1|NaN|NaN
-Infinity|-2.5|NaN|NaN
-Infinity|-Infinity|NaN|NaN

query
select a, b, power(a, b), a ^ b from (values ('-Infinity'::numeric),(-2.5),(-1),(-0.5),(0),(0.5),(1),(2),(3),('Infinity'),('NaN')) x(a), (values ('-Infinity'::numeric),(-2.5),(-1),(-0.5),(0),(0.5),(1),(2),(3),('Infinity'),('NaN')) y(b) where ('Infinity' in (a, b) or '-Infinity' in (a, b) or 'NaN' in (a, b)) and not (a = 0 and b < 0) and not (a < 0 and b in (-2.5, -0.5, 0.5)) order by a, b
----
-Infinity|-Infinity|0|0
-Infinity|-1|0|0
-Infinity|0|1|1
-Infinity|1|-Infinity|-Infinity
-Infinity|2|Infinity|Infinity
-Infinity|3|-Infinity|-Infinity
-Infinity|Infinity|Infinity|Infinity
-Infinity|NaN|NaN|NaN
-2.5|-Infinity|0|0
-2.5|Infinity|Infinity|Infinity
-2.5|NaN|NaN|NaN
-1|-Infinity|1|1
-1|Infinity|1|1
-1|NaN|NaN|NaN
-0.5|-Infinity|Infinity|Infinity
-0.5|Infinity|0|0
-0.5|NaN|NaN|NaN
0|Infinity|0|0
0|NaN|NaN|NaN
0.5|-Infinity|Infinity|Infinity
0.5|Infinity|0|0
0.5|NaN|NaN|NaN
1|-Infinity|1|1
1|Infinity|1|1
1|NaN|1|1
2|-Infinity|0|0
2|Infinity|Infinity|Infinity
2|NaN|NaN|NaN
3|-Infinity|0|0
3|Infinity|Infinity|Infinity
3|NaN|NaN|NaN
Infinity|-Infinity|0|0
Infinity|-2.5|0|0
Infinity|-1|0|0
Infinity|-0.5|0|0
Infinity|0|1|1
Infinity|0.5|Infinity|Infinity
Infinity|1|Infinity|Infinity
Infinity|2|Infinity|Infinity
Infinity|3|Infinity|Infinity
Infinity|Infinity|Infinity|Infinity
Infinity|NaN|NaN|NaN
NaN|-Infinity|NaN|NaN
NaN|-2.5|NaN|NaN
NaN|-1|NaN|NaN
NaN|-0.5|NaN|NaN
NaN|0|1|1
NaN|0.5|NaN|NaN
NaN|1|NaN|NaN
NaN|2|NaN|NaN
NaN|3|NaN|NaN
NaN|Infinity|NaN|NaN
NaN|NaN|NaN|NaN

statement error 22012
select 'Infinity'::numeric / 0.0
----
division by zero

query
select 'NaN'::numeric / 0.0
----
NaN

statement error 22012
select '-Infinity'::numeric % 0.0
----
division by zero

query
select 'NaN'::numeric % 0.0
----
NaN

statement error 22012
select div('Infinity'::numeric, 0.0)
----
division by zero

statement error 2201F
select 0.0 ^ '-Infinity'::numeric
----
zero raised to a negative power is undefined

statement error 2201F
select '-Infinity'::numeric ^ 0.5
----
a negative number raised to a non-integer power yields a complex result

query
select -1.5 ^ 'Infinity'::numeric
----
Infinity

query
select '-Infinity'::numeric ^ -3.0
----
0

query
select '-Infinity'::numeric ^ 3.0
----
-Infinity

query
select a, -a, +a, abs(a), sign(a), ceil(a), ceiling(a), floor(a), round(a), round(a, 1), round(a, -1), trunc(a), trunc(a, 1), trim_scale(a), scale(a), min_scale(a) from (values ('-Infinity'::numeric),(-2.5),(-1),(-0.5),(0),(0.5),(1),(2),(3),('Infinity'),('NaN')) x(a) order by a
----
-Infinity|Infinity|-Infinity|Infinity|-1|-Infinity|-Infinity|-Infinity|-Infinity|-Infinity|-Infinity|-Infinity|-Infinity|-Infinity|NULL|NULL
-2.5|2.5|-2.5|2.5|-1|-2|-2|-3|-3|-2.5|0|-2|-2.5|-2.5|1|1
-1|1|-1|1|-1|-1|-1|-1|-1|-1.0|0|-1|-1.0|-1|0|0
-0.5|0.5|-0.5|0.5|-1|0|0|-1|-1|-0.5|0|0|-0.5|-0.5|1|1
0|0|0|0|0|0|0|0|0|0.0|0|0|0.0|0|0|0
0.5|-0.5|0.5|0.5|1|1|1|0|1|0.5|0|0|0.5|0.5|1|1
1|-1|1|1|1|1|1|1|1|1.0|0|1|1.0|1|0|0
2|-2|2|2|1|2|2|2|2|2.0|0|2|2.0|2|0|0
3|-3|3|3|1|3|3|3|3|3.0|0|3|3.0|3|0|0
Infinity|-Infinity|Infinity|Infinity|1|Infinity|Infinity|Infinity|Infinity|Infinity|Infinity|Infinity|Infinity|Infinity|NULL|NULL
NaN|NaN|NaN|NaN|NaN|NaN|NaN|NaN|NaN|NaN|NaN|NaN|NaN|NaN|NULL|NULL

statement error 42702
select a, exp(a), a::float8, a::float4, a::text, to_json(a), to_jsonb(a), array[a, 1], a::numeric(1000, 0) is null from (values ('-Infinity'::numeric),(-2.5),(-1),(-0.5),(0),(0.5),(1),(2),(3),('Infinity'),('NaN')) x(a) where a in ('Infinity', '-Infinity', 'NaN') and a <> '-Infinity' and a <> 'Infinity' order by a
----
ORDER BY "a" is ambiguous

statement error 42702
select a, exp(a), a::float8, a::float4, a::text, to_json(a), to_jsonb(a), array[a, 1], hashtext(a::text) is null from (values ('-Infinity'::numeric),(-2.5),(-1),(-0.5),(0),(0.5),(1),(2),(3),('Infinity'),('NaN')) x(a) where a in ('Infinity', '-Infinity', 'NaN') order by a
----
ORDER BY "a" is ambiguous

query
select sqrt('Infinity'::numeric), sqrt('NaN'::numeric), ln('Infinity'::numeric), ln('NaN'::numeric), log('Infinity'::numeric), log('NaN'::numeric), log(2.0, 'Infinity'::numeric), log('Infinity'::numeric, 2.0), log('Infinity'::numeric, 'Infinity'::numeric), log('NaN'::numeric, -1.0)
----
Infinity|NaN|Infinity|NaN|Infinity|NaN|Infinity|0|NaN|NaN

statement error 2201F
select sqrt('-Infinity'::numeric)
----
cannot take square root of a negative number

statement error 2201E
select ln('-Infinity'::numeric)
----
cannot take logarithm of a negative number

statement error 2201E
select log('-Infinity'::numeric)
----
cannot take logarithm of a negative number

statement error 2201E
select log('-Infinity'::numeric, 0.0)
----
cannot take logarithm of a negative number

statement error 2201E
select log(0.0, 'Infinity'::numeric)
----
cannot take logarithm of zero

statement error 2201E
select log('Infinity'::numeric, -1.0)
----
cannot take logarithm of a negative number

statement error 0A000
select 'NaN'::numeric::int2
----
cannot convert NaN to smallint

statement error 0A000
select 'Infinity'::numeric::int2
----
cannot convert infinity to smallint

statement error 0A000
select '-Infinity'::numeric::int2
----
cannot convert infinity to smallint

statement error 0A000
select 'NaN'::numeric::int4
----
cannot convert NaN to integer

statement error 0A000
select 'Infinity'::numeric::int4
----
cannot convert infinity to integer

statement error 0A000
select '-Infinity'::numeric::int4
----
cannot convert infinity to integer

statement error 0A000
select 'NaN'::numeric::int8
----
cannot convert NaN to bigint

statement error 0A000
select 'Infinity'::numeric::int8
----
cannot convert infinity to bigint

statement error 0A000
select '-Infinity'::numeric::int8
----
cannot convert infinity to bigint

statement error 22003
select 'Infinity'::numeric::numeric(5, 2)
----
numeric field overflow
DETAIL: A field with precision 5, scale 2 cannot hold an infinite value.

statement error 22003
select 'Infinity'::numeric(5, 2)
----
numeric field overflow
DETAIL: A field with precision 5, scale 2 cannot hold an infinite value.

statement error 22003
select '-Infinity'::numeric::numeric(5, 2)
----
numeric field overflow
DETAIL: A field with precision 5, scale 2 cannot hold an infinite value.

statement error 22003
select '-Infinity'::numeric(5, 2)
----
numeric field overflow
DETAIL: A field with precision 5, scale 2 cannot hold an infinite value.

query
select 'NaN'::numeric::numeric(5, 2), 'NaN'::numeric(5, 2), '{NaN,1}'::numeric(3, 1)[]
----
NaN|NaN|{NaN,1.0}

statement error 22003
select '{Infinity}'::numeric(3, 1)[]
----
numeric field overflow
DETAIL: A field with precision 3, scale 1 cannot hold an infinite value.

statement error 42702
select a, a::numeric, a::float4::numeric, round(a::numeric, 2) from (values ('-Infinity'::float8),(-2.5),(0),(1),('Infinity'),('NaN')) x(a) where a not in (-2.5) order by a
----
ORDER BY "a" is ambiguous

statement error 22003
select 'Infinity'::float8::numeric(5, 2)
----
numeric field overflow
DETAIL: A field with precision 5, scale 2 cannot hold an infinite value.

query
select a, b, a = b, a < b, a > b, a <> b from (values ('-Infinity'::numeric),(-2.5),(-1),(-0.5),(0),(0.5),(1),(2),(3),('Infinity'),('NaN')) x(a), (values ('-Infinity'::float8),(-2.5),(0),(1),('Infinity'),('NaN')) y(b) order by a, b
----
-Infinity|-Infinity|t|f|f|f
-Infinity|-2.5|f|t|f|t
-Infinity|0|f|t|f|t
-Infinity|1|f|t|f|t
-Infinity|Infinity|f|t|f|t
-Infinity|NaN|f|t|f|t
-2.5|-Infinity|f|f|t|t
-2.5|-2.5|t|f|f|f
-2.5|0|f|t|f|t
-2.5|1|f|t|f|t
-2.5|Infinity|f|t|f|t
-2.5|NaN|f|t|f|t
-1|-Infinity|f|f|t|t
-1|-2.5|f|f|t|t
-1|0|f|t|f|t
-1|1|f|t|f|t
-1|Infinity|f|t|f|t
-1|NaN|f|t|f|t
-0.5|-Infinity|f|f|t|t
-0.5|-2.5|f|f|t|t
-0.5|0|f|t|f|t
-0.5|1|f|t|f|t
-0.5|Infinity|f|t|f|t
-0.5|NaN|f|t|f|t
0|-Infinity|f|f|t|t
0|-2.5|f|f|t|t
0|0|t|f|f|f
0|1|f|t|f|t
0|Infinity|f|t|f|t
0|NaN|f|t|f|t
0.5|-Infinity|f|f|t|t
0.5|-2.5|f|f|t|t
0.5|0|f|f|t|t
0.5|1|f|t|f|t
0.5|Infinity|f|t|f|t
0.5|NaN|f|t|f|t
1|-Infinity|f|f|t|t
1|-2.5|f|f|t|t
1|0|f|f|t|t
1|1|t|f|f|f
1|Infinity|f|t|f|t
1|NaN|f|t|f|t
2|-Infinity|f|f|t|t
2|-2.5|f|f|t|t
2|0|f|f|t|t
2|1|f|f|t|t
2|Infinity|f|t|f|t
2|NaN|f|t|f|t
3|-Infinity|f|f|t|t
3|-2.5|f|f|t|t
3|0|f|f|t|t
3|1|f|f|t|t
3|Infinity|f|t|f|t
3|NaN|f|t|f|t
Infinity|-Infinity|f|f|t|t
Infinity|-2.5|f|f|t|t
Infinity|0|f|f|t|t
Infinity|1|f|f|t|t
Infinity|Infinity|t|f|f|f
Infinity|NaN|f|t|f|t
NaN|-Infinity|f|f|t|t
NaN|-2.5|f|f|t|t
NaN|0|f|f|t|t
NaN|1|f|f|t|t
NaN|Infinity|f|f|t|t
NaN|NaN|t|f|f|f

query
select a, b, a = b, a < b, a > b from (values ('-Infinity'::numeric),(-2.5),(-1),(-0.5),(0),(0.5),(1),(2),(3),('Infinity'),('NaN')) x(a), (values (-1), (0), (2147483647)) y(b) where a in ('NaN', 'Infinity', '-Infinity') order by a, b
----
-Infinity|-1|f|t|f
-Infinity|0|f|t|f
-Infinity|2147483647|f|t|f
Infinity|-1|f|f|t
Infinity|0|f|f|t
Infinity|2147483647|f|f|t
NaN|-1|f|f|t
NaN|0|f|f|t
NaN|2147483647|f|f|t

query
select count(a), sum(a), avg(a), min(a), max(a), var_pop(a), var_samp(a), stddev_pop(a), stddev_samp(a) from (values ('-Infinity'::numeric),(-2.5),(-1),(-0.5),(0),(0.5),(1),(2),(3),('Infinity'),('NaN')) x(a) where a <> 'NaN'
----
10|NaN|NaN|-Infinity|Infinity|NaN|NaN|NaN|NaN

query
select count(a), sum(a), avg(a), min(a), max(a), var_pop(a), var_samp(a), stddev_pop(a), stddev_samp(a) from (values ('-Infinity'::numeric),(-2.5),(-1),(-0.5),(0),(0.5),(1),(2),(3),('Infinity'),('NaN')) x(a) where a > 0
----
6|NaN|NaN|0.5|NaN|NaN|NaN|NaN|NaN

query
select count(a), sum(a), avg(a), min(a), max(a), var_pop(a), var_samp(a), stddev_pop(a), stddev_samp(a) from (values ('-Infinity'::numeric),(-2.5),(-1),(-0.5),(0),(0.5),(1),(2),(3),('Infinity'),('NaN')) x(a) where a < 0
----
4|-Infinity|-Infinity|-Infinity|-0.5|NaN|NaN|NaN|NaN

query
select count(a), sum(a), avg(a), min(a), max(a), var_pop(a), var_samp(a), stddev_pop(a), stddev_samp(a) from (values ('-Infinity'::numeric),(-2.5),(-1),(-0.5),(0),(0.5),(1),(2),(3),('Infinity'),('NaN')) x(a) where a >= -2.5 and a < 'Infinity'
----
8|2.5|0.31250000000000000000|-2.5|3|2.6210937500000000|2.9955357142857143|1.6189792308735773|1.7307615994947757

query
select count(a), sum(a), avg(a), min(a), max(a), var_pop(a), var_samp(a), stddev_pop(a), stddev_samp(a) from (values ('-Infinity'::numeric),(-2.5),(-1),(-0.5),(0),(0.5),(1),(2),(3),('Infinity'),('NaN')) x(a) where true
----
11|NaN|NaN|-Infinity|NaN|NaN|NaN|NaN|NaN

query
select count(a), sum(a), avg(a), min(a), max(a), var_pop(a), var_samp(a), stddev_pop(a), stddev_samp(a) from (values ('-Infinity'::numeric),(-2.5),(-1),(-0.5),(0),(0.5),(1),(2),(3),('Infinity'),('NaN')) x(a) where a = 'Infinity'
----
1|Infinity|Infinity|Infinity|Infinity|NaN|NULL|NaN|NULL

query
select count(a), sum(a), avg(a), min(a), max(a), var_pop(a), var_samp(a), stddev_pop(a), stddev_samp(a) from (values ('-Infinity'::numeric),(-2.5),(-1),(-0.5),(0),(0.5),(1),(2),(3),('Infinity'),('NaN')) x(a) where a = 'NaN'
----
1|NaN|NaN|NaN|NaN|NaN|NULL|NaN|NULL

query
select count(a), sum(a), avg(a), min(a), max(a), var_pop(a), var_samp(a), stddev_pop(a), stddev_samp(a) from (values ('-Infinity'::numeric),(-2.5),(-1),(-0.5),(0),(0.5),(1),(2),(3),('Infinity'),('NaN')) x(a) where a in ('Infinity', '-Infinity')
----
2|NaN|NaN|-Infinity|Infinity|NaN|NaN|NaN|NaN

query
select sum(a), avg(a), sum(distinct a), count(distinct a) from (values ('Infinity'::numeric), ('Infinity'), ('NaN'), ('NaN'), (1)) x(a)
----
NaN|NaN|NaN|3

query
select a, count(*) from (select a from (values ('-Infinity'::numeric),(-2.5),(-1),(-0.5),(0),(0.5),(1),(2),(3),('Infinity'),('NaN')) x(a) union all select a from (values ('-Infinity'::numeric),(-2.5),(-1),(-0.5),(0),(0.5),(1),(2),(3),('Infinity'),('NaN')) y(a)) z group by a order by a desc
----
NaN|2
Infinity|2
3|2
2|2
1|2
0.5|2
0|2
-0.5|2
-1|2
-2.5|2
-Infinity|2

query
select distinct a from (select a from (values ('-Infinity'::numeric),(-2.5),(-1),(-0.5),(0),(0.5),(1),(2),(3),('Infinity'),('NaN')) x(a) union all select a from (values ('-Infinity'::numeric),(-2.5),(-1),(-0.5),(0),(0.5),(1),(2),(3),('Infinity'),('NaN')) y(a)) z order by a
----
-Infinity
-2.5
-1
-0.5
0
0.5
1
2
3
Infinity
NaN

query
select a from (values ('NaN'::numeric), (1), (null), ('-Infinity')) x(a) order by a nulls first
----
NULL
-Infinity
1
NaN

query
select sum(a) over (order by n), avg(a) over (order by n rows 1 preceding) from (values (1, 1::numeric), (2, 'Infinity'), (3, 2), (4, '-Infinity'), (5, 3)) x(n, a) order by n
----
1|1.00000000000000000000
Infinity|Infinity
Infinity|Infinity
NaN|-Infinity
NaN|-Infinity

query
select a, count(*) over (order by a range between 1 preceding and 1 following), count(*) over (order by a desc range between 1 preceding and 1 following) from (values ('-Infinity'::numeric),(-2.5),(-1),(-0.5),(0),(0.5),(1),(2),(3),('Infinity'),('NaN')) x(a) order by a
----
-Infinity|1|1
-2.5|1|1
-1|3|3
-0.5|4|4
0|5|5
0.5|4|4
1|4|4
2|3|3
3|2|2
Infinity|1|1
NaN|1|1

query
select a, count(*) over (order by a range between 'Infinity' preceding and current row), count(*) over (order by a desc range between 'Infinity' preceding and current row) from (values ('-Infinity'::numeric),(-2.5),(-1),(-0.5),(0),(0.5),(1),(2),(3),('Infinity'),('NaN')) x(a) order by a
----
-Infinity|1|10
-2.5|2|9
-1|3|8
-0.5|4|7
0|5|6
0.5|6|5
1|7|4
2|8|3
3|9|2
Infinity|10|1
NaN|1|1

query
select a, count(*) over (order by a range between current row and 'Infinity' following), count(*) over (order by a desc range between current row and 'Infinity' following) from (values ('-Infinity'::numeric),(-2.5),(-1),(-0.5),(0),(0.5),(1),(2),(3),('Infinity'),('NaN')) x(a) order by a
----
-Infinity|10|1
-2.5|9|2
-1|8|3
-0.5|7|4
0|6|5
0.5|5|6
1|4|7
2|3|8
3|2|9
Infinity|1|10
NaN|1|1

query
select a, count(*) over (order by a range between 'Infinity' preceding and 'Infinity' following), count(*) over (order by a desc range between 'Infinity' preceding and 'Infinity' following) from (values ('-Infinity'::numeric),(-2.5),(-1),(-0.5),(0),(0.5),(1),(2),(3),('Infinity'),('NaN')) x(a) order by a
----
-Infinity|10|10
-2.5|10|10
-1|10|10
-0.5|10|10
0|10|10
0.5|10|10
1|10|10
2|10|10
3|10|10
Infinity|10|10
NaN|1|1

query
select a, count(*) over (order by a range between 'Infinity' preceding and 1 preceding), count(*) over (order by a desc range between 'Infinity' preceding and 1 preceding) from (values ('-Infinity'::numeric),(-2.5),(-1),(-0.5),(0),(0.5),(1),(2),(3),('Infinity'),('NaN')) x(a) order by a
----
-Infinity|1|10
-2.5|1|8
-1|2|6
-0.5|2|5
0|3|4
0.5|4|3
1|5|3
2|7|2
3|8|1
Infinity|10|1
NaN|1|1

query
select a, count(*) over (order by a range between 1 following and 'Infinity' following), count(*) over (order by a desc range between 1 following and 'Infinity' following) from (values ('-Infinity'::numeric),(-2.5),(-1),(-0.5),(0),(0.5),(1),(2),(3),('Infinity'),('NaN')) x(a) order by a
----
-Infinity|10|1
-2.5|8|1
-1|6|2
-0.5|5|2
0|4|3
0.5|3|4
1|3|5
2|2|7
3|1|8
Infinity|1|10
NaN|1|1

query
select a, count(*) over (order by a range between 'Infinity' following and 'Infinity' following), count(*) over (order by a desc range between 'Infinity' following and 'Infinity' following) from (values ('-Infinity'::numeric),(-2.5),(-1),(-0.5),(0),(0.5),(1),(2),(3),('Infinity'),('NaN')) x(a) order by a
----
-Infinity|10|1
-2.5|1|1
-1|1|1
-0.5|1|1
0|1|1
0.5|1|1
1|1|1
2|1|1
3|1|1
Infinity|1|10
NaN|1|1

query
select a, count(*) over (order by a range between 'Infinity' preceding and 'Infinity' preceding), count(*) over (order by a desc range between 'Infinity' preceding and 'Infinity' preceding) from (values ('-Infinity'::numeric),(-2.5),(-1),(-0.5),(0),(0.5),(1),(2),(3),('Infinity'),('NaN')) x(a) order by a
----
-Infinity|1|10
-2.5|1|1
-1|1|1
-0.5|1|1
0|1|1
0.5|1|1
1|1|1
2|1|1
3|1|1
Infinity|10|1
NaN|1|1

statement error 22013
select a, count(*) over (order by a range 'NaN' preceding) from (values ('-Infinity'::numeric),(-2.5),(-1),(-0.5),(0),(0.5),(1),(2),(3),('Infinity'),('NaN')) x(a)
----
invalid preceding or following size in window function

statement error 22013
select a, count(*) over (order by a range '-Infinity' preceding) from (values ('-Infinity'::numeric),(-2.5),(-1),(-0.5),(0),(0.5),(1),(2),(3),('Infinity'),('NaN')) x(a)
----
invalid preceding or following size in window function

statement error 22023
select * from generate_series('NaN'::numeric, 2::numeric)
----
start value cannot be NaN

statement error 22023
select * from generate_series(1::numeric, 'NaN'::numeric)
----
stop value cannot be NaN

statement error 22023
select * from generate_series(1::numeric, 2::numeric, 'NaN'::numeric)
----
step size cannot be NaN

statement error 22023
select * from generate_series('Infinity'::numeric, 2::numeric)
----
start value cannot be infinity

statement error 22023
select * from generate_series(1::numeric, 'Infinity'::numeric)
----
stop value cannot be infinity

statement error 22023
select * from generate_series(1::numeric, 2::numeric, '-Infinity'::numeric)
----
step size cannot be infinity

query
select width_bucket('Infinity'::numeric, 0::numeric, 10::numeric, 5)
----
6

query
select width_bucket('-Infinity'::numeric, 0::numeric, 10::numeric, 5)
----
0

query
select width_bucket('Infinity'::numeric, 10::numeric, 0::numeric, 5)
----
0

query
select width_bucket('-Infinity'::numeric, 10::numeric, 0::numeric, 5)
----
6

statement error 2201G
select width_bucket('NaN'::numeric, 0::numeric, 10::numeric, 5)
----
operand, lower bound, and upper bound cannot be NaN

statement error 2201G
select width_bucket(1::numeric, 'NaN'::numeric, 10::numeric, 5)
----
operand, lower bound, and upper bound cannot be NaN

statement error 2201G
select width_bucket(1::numeric, 0::numeric, 'Infinity'::numeric, 5)
----
lower and upper bounds must be finite

statement error 2201G
select width_bucket('Infinity'::numeric, 1::numeric, 1::numeric, 5)
----
lower bound cannot equal upper bound

statement error 2201G
select width_bucket('Infinity'::numeric, 0::numeric, 10::numeric, 0)
----
count must be greater than zero

query
select to_char('NaN'::numeric, '999.99'), to_char('Infinity'::numeric, '999.99'), to_char('-Infinity'::numeric, '999.99')
----
 NaN| ###.##|-###.##

query
select to_char('NaN'::numeric, '9.9'), to_char('Infinity'::numeric, '9.9'), to_char('-Infinity'::numeric, '9.9')
----
 #.#| #.#|-#.#

query
select to_char('NaN'::numeric, 'S999'), to_char('Infinity'::numeric, 'S999'), to_char('-Infinity'::numeric, 'S999')
----
+NaN|+###|-###

query
select to_char('NaN'::numeric, '9.9EEEE'), to_char('Infinity'::numeric, '9.9EEEE'), to_char('-Infinity'::numeric, '9.9EEEE')
----
 #.#####| #.#####| #.#####

query
select to_char('NaN'::numeric, 'FM9999999999'), to_char('Infinity'::numeric, 'FM9999999999'), to_char('-Infinity'::numeric, 'FM9999999999')
----
NaN|Infinity|-Infinity

query
select to_char('NaN'::numeric, 'L9999'), to_char('Infinity'::numeric, 'L9999'), to_char('-Infinity'::numeric, 'L9999')
----
   NaN|  ####| -####

query
select to_char('NaN'::numeric, '99999999999.9'), to_char('Infinity'::numeric, '99999999999.9'), to_char('-Infinity'::numeric, '99999999999.9')
----
         NaN|    Infinity|   -Infinity

query
select to_char('NaN'::numeric, 'MI999'), to_char('Infinity'::numeric, 'MI999'), to_char('-Infinity'::numeric, 'MI999')
----
 NaN| ###|-###

query
select to_char('NaN'::numeric, '999PR'), to_char('Infinity'::numeric, '999PR'), to_char('-Infinity'::numeric, '999PR')
----
 NaN | ### |<###>

query
select to_char('NaN'::numeric, '9V9'), to_char('Infinity'::numeric, '9V9'), to_char('-Infinity'::numeric, '9V9')
----
 ##| ##|-##

query
select to_char('NaN'::numeric, 'FM999999.99'), to_char('Infinity'::numeric, 'FM999999.99'), to_char('-Infinity'::numeric, 'FM999999.99')
----
NaN|######.##|-######.##

query
select to_char('NaN'::numeric, 'SG99999'), to_char('Infinity'::numeric, 'SG99999'), to_char('-Infinity'::numeric, 'SG99999')
----
+  NaN|+#####|-#####

statement error 0A000
select to_char('NaN'::numeric, 'RN')
----
cannot convert NaN to integer

statement error 0A000
select to_char('Infinity'::numeric, 'RN')
----
cannot convert infinity to integer

query
select pg_size_pretty('NaN'::numeric), pg_size_pretty('Infinity'::numeric), pg_size_pretty('-Infinity'::numeric)
----
NaN PB|Infinity PB|-Infinity PB

query
select json_build_object('a', 'NaN'::numeric), jsonb_build_object('a', 'Infinity'::numeric)
----
{"a" : "NaN"}|{"a": "Infinity"}

query
select numrange('-Infinity', 'NaN'), numrange('NaN', null), numrange('1', 'Infinity') @> 5.5, numrange('-Infinity', 'Infinity') @> 'NaN'::numeric, numrange('-Infinity', 'Infinity', '[]') @> 'Infinity'::numeric, upper(numrange(1, 'NaN')), '[-Infinity,3)'::numrange * '[1,Infinity]'::numrange
----
[-Infinity,NaN)|[NaN,)|t|f|t|NaN|[1,3)

statement error 22000
select numrange('NaN', 1)
----
range lower bound must be less than or equal to range upper bound

query
select r from (values (numrange('-Infinity', 1)), (numrange('NaN', null)), (numrange(-5, 'Infinity')), (numrange(-5, 'NaN')), (numrange(-5, 99999999999999999)), (numrange(null, 1))) x(r) order by r
----
(,1)
[-Infinity,1)
[-5,99999999999999999)
[-5,Infinity)
[-5,NaN)
[NaN,)

query
select '{NaN,Infinity,-Infinity,1}'::numeric[], array['NaN'::numeric] = array['NaN'::numeric], array['Infinity'::numeric] < array['NaN'::numeric], array['-Infinity'::numeric] < array[-99999999999999999999::numeric], array_position('{1,NaN}'::numeric[], 'NaN'), 'NaN' = any('{1,NaN}'::numeric[])
----
{NaN,Infinity,-Infinity,1}|t|t|t|2|t

query
select count(*) from (values (1::numeric), ('NaN'), ('Infinity')) x(a) join (values ('NaN'::float8), ('Infinity'), (1)) y(b) on a = b
----
3

query
select percentile_cont(0.5) within group (order by a), percentile_disc(0.5) within group (order by a), mode() within group (order by a) from (values (1::numeric), ('NaN'), ('Infinity')) x(a)
----
Infinity|Infinity|1

query
select extract(year from date 'infinity'), extract(epoch from timestamp '-infinity'), extract(julian from timestamptz 'infinity'), extract(month from date 'infinity'), extract(century from date '-infinity')
----
Infinity|-Infinity|Infinity|NULL|-Infinity

statement ok
create table t (id int primary key, a numeric, m numeric(10, 2), c numeric(12, 3) check (c <> 'NaN'), l numeric[], r numrange)

statement ok
insert into t values (1, 'NaN', 'NaN', 1, '{NaN,1}', numrange('-Infinity', 'NaN')), (2, 'Infinity', 5.25, null, '{Infinity}', numrange('Infinity', 'Infinity', '[]')), (3, '-Infinity', -7, 2.5, '{-Infinity,NaN}', numrange('NaN', null)), (4, 0.5, null, 3, null, null), (5, null, 0, 4, '{}', 'empty')

query
select * from t order by id
----
1|NaN|NaN|1.000|{NaN,1}|[-Infinity,NaN)
2|Infinity|5.25|NULL|{Infinity}|[Infinity,Infinity]
3|-Infinity|-7.00|2.500|{-Infinity,NaN}|[NaN,)
4|0.5|NULL|3.000|NULL|NULL
5|NULL|0.00|4.000|{}|empty

query
select id from t order by a desc nulls last, id
----
1
2
4
3
5

query
select id from t where a = 'NaN'
----
1

query
select id from t where a > 1e10 order by id
----
1
2

query
select id from t where m >= 6 order by id
----
1

query
select id from t where a::float8 = 'Infinity'
----
2

query
select id from t where a between '-Infinity' and 1 order by id
----
3
4

statement ok
create index on t (a)

statement ok
create index on t (m desc)

statement ok
create index on t (r)

statement ok
create index on t ((a * 2))

query
select id from t where a = 'NaN' order by id
----
1

query
select id from t where a = 'Infinity' order by id
----
2

query
select id from t where a < 'Infinity' order by id
----
3
4

query
select id from t where a >= 'Infinity' order by id
----
1
2

query
select id from t where a > 0 order by id
----
1
2
4

query
select id from t where a <= '-Infinity' order by id
----
3

query
select id from t where m > 5 order by id
----
1
2

query
select id from t where m = 'NaN' order by id
----
1

query
select id from t where a in ('NaN', 0.5) order by id
----
1
4

query
select id from t where a * 2 = 'NaN' order by id
----
1

query
select id from t where a = 'NaN'::float8 order by id
----
1

query
select id from t where a > 1e300::float8 order by id
----
1
2

query
select id from t where r @> 'Infinity'::numeric order by id
----
1
2

query
select id from t where a is distinct from 'NaN' order by id
----
2
3
4
5

statement error 22003
insert into t values (6, 1, 'Infinity')
----
numeric field overflow
DETAIL: A field with precision 10, scale 2 cannot hold an infinite value.

statement error 22003
update t set m = '-Infinity' where id = 4
----
numeric field overflow
DETAIL: A field with precision 10, scale 2 cannot hold an infinite value.

statement error 23514
insert into t (id, c) values (7, 'NaN')
----
new row for relation "t" violates check constraint "t_c_check"
DETAIL: Failing row contains (7, null, null, NaN, null, null).
SCHEMA: public
TABLE: t
CONSTRAINT: t_c_check

statement ok
create table k (a numeric primary key, b int)

statement ok
insert into k values ('NaN', 1), ('Infinity', 2), ('-Infinity', 3), (7, 4)

statement error 23505
insert into k values ('NaN', 5)
----
duplicate key value violates unique constraint "k_pkey"
DETAIL: Key (a)=(NaN) already exists.
SCHEMA: public
TABLE: k
CONSTRAINT: k_pkey

query
select a, b from k where a = 'NaN'
----
NaN|1

query
select a, b from k where a >= 7 order by a
----
7|4
Infinity|2
NaN|1

query
select a from k order by a desc
----
NaN
Infinity
7
-Infinity

statement ok
create table f (x numeric references k, y numeric default 'NaN')

statement ok
insert into f (x) values ('NaN'), ('Infinity')

query
select * from f order by x
----
Infinity|NaN
NaN|NaN

statement error 23503
delete from k where a = 'NaN'
----
update or delete on table "k" violates foreign key constraint "f_x_fkey" on table "f"
DETAIL: Key (a)=(NaN) is still referenced from table "f".
SCHEMA: public
TABLE: f
CONSTRAINT: f_x_fkey

statement error 23503
insert into f (x) values ('-7')
----
insert or update on table "f" violates foreign key constraint "f_x_fkey"
DETAIL: Key (x)=(-7) is not present in table "k".
SCHEMA: public
TABLE: f
CONSTRAINT: f_x_fkey

statement ok
update k set a = 8 where b = 4

statement ok
delete from k where a = '-Infinity'

query
insert into k values ('Infinity', 9) on conflict (a) do update set b = k.b + 10 returning a, b
----
Infinity|12

reopen

query
select * from t order by id
----
1|NaN|NaN|1.000|{NaN,1}|[-Infinity,NaN)
2|Infinity|5.25|NULL|{Infinity}|[Infinity,Infinity]
3|-Infinity|-7.00|2.500|{-Infinity,NaN}|[NaN,)
4|0.5|NULL|3.000|NULL|NULL
5|NULL|0.00|4.000|{}|empty

query
select id from t where a = 'Infinity'
----
2

query
select id from t where a < 0
----
3

query
select a, b from k order by a
----
8|4
Infinity|12
NaN|1

query
select * from f order by x
----
Infinity|NaN
NaN|NaN

query
select sum(a), max(a), min(a) from t
----
NaN|NaN|-Infinity

copy_out
copy (select a, m from t order by id) to stdout
----
NaN	NaN
Infinity	5.25
-Infinity	-7.00
0.5	\N
\N	0.00
