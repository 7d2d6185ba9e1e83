# Values of operators and casts as PostgreSQL 15 has them, where they once differed.

# A sign binds more tightly than a power.

query
SELECT -7 ^ 2, -7 ^ 0, 2 ^ 3 ^ 2, 2 ^ -1, 2 ^ -2 ^ 2, -2 ^ 2 ^ 3, -(2 ^ 2), +3 ^ 2, - - 2 ^ 2, 1 - -2 ^ 2
----
49|1|64|0.5|0.0625|64|-4|9|4|-3

statement error 2201F
SELECT -7 ^ 1.5

# A smallint is shifted as an integer.

query
SELECT 2::int2 << -7, 2::int2 << 15, 1::int2 << 15, (-4)::int2 >> 17, 1 << 33, 1::int8 << 65
----
0|0|-32768|-1|2|2

query
SELECT ~1, ~2::int2, ~3::int8, ~ -1
----
-2|-3|-4|0

statement error 42883
SELECT ~1.5

query
SELECT pg_typeof(2.5::float4 ^ '2'), pg_typeof(2.5::float4 ^ 2.5::float4), '2' ^ '3'
----
double precision|double precision|8

query
SELECT 'abc'::"char", ' x'::"char", ''::"char" = '', 'r'::"char" = 'r'
----
a| |t|t

query
SELECT 65::"char", 0::"char" = ''
----
A|t

statement error 22003
SELECT 12345::"char"

query
SELECT pg_typeof(nullif(1, 2.5)), nullif(1, 2.5), pg_typeof(nullif(1, 2::float8)), pg_typeof(nullif(1, 2::int8)), pg_typeof(nullif(1::float4, 2::float8)), pg_typeof(nullif(1.5, 1::float8))
----
numeric|1|double precision|integer|real|double precision

query
SELECT json_build_object('2024-05-06 07:08:09'::timestamp, 1, '2024-05-06'::date, 2, 1.5, 3)
----
{"2024-05-06T07:08:09" : 1, "2024-05-06" : 2, "1.5" : 3}

query
SELECT json_object_agg(k, v) FROM (VALUES ('2024-01-01 10:00'::timestamp, 1)) t(k, v)
----
{ "2024-01-01T10:00:00" : 1 }

query
SELECT json_object_agg(k, 1) FROM (VALUES ('2024-01-01 10:00+02'::timestamptz)) t(k)
----
{ "2024-01-01T08:00:00+00:00" : 1 }

# A number with a fraction is not taken for a whole one.

statement error 42883
SELECT mod(1, 1.5::float8)

statement error 42883
SELECT round(1, 2.5)

statement error 42883
SELECT chr(65.5)

statement error 42883
SELECT left('abc', 2::bigint)

statement error 42883
SELECT chr(65::bigint)

statement error 42883
SELECT round(2.567, 1::bigint)

statement error 22003
SELECT 1000::numeric(5, 2)
----
numeric field overflow
DETAIL: A field with precision 5, scale 2 must round to an absolute value less than 10^3.

statement error 42883
SELECT sum('x'::text)
----
function sum(text) does not exist

# Where an operator ends: signs behind it, and comments.

query
SELECT 3>-1, 3>=-1, 3<>-1, 3>+1, 3=-1, 3<-1, 3*-+-1, 3/*c*/>/*it's*/1, 3>--c
1
----
t|t|t|t|f|f|3|t|t

query
SELECT '[1,2]'::jsonb->-1, '[1,2]'::jsonb->>-1, '{"a":1}'::jsonb->'a'>'-1', 1::int8<<+1, 'a'||/*c*/'b'
----
2|2|t|2|ab

statement error 42883
SELECT 3 !=- 1

statement error 42883
SELECT 3 ^- 1

statement error 42883
SELECT 3@-1

statement error 42883
SELECT @-1

statement error 42883
SELECT 3 == 1

statement error 42883
SELECT '{}'::jsonb #>-1

statement error 42601
SELECT @-

statement ok
CREATE TABLE signs (a int PRIMARY KEY, b int CHECK (b>-1), CHECK (a>=-5/*c*/), c int GENERATED ALWAYS AS (a*-1) STORED)

statement ok
CREATE INDEX ON signs ((a>-1)) WHERE a<>-1

statement ok
CREATE VIEW of_signs AS SELECT a>-1 AS x, a- -1 AS y, @ -a AS z, ~ -a AS v, - - a AS w FROM signs WHERE b>=-1

statement INSERT 0 1
INSERT INTO signs VALUES (2, 0)

statement error 23514
INSERT INTO signs VALUES (3,-1)

query
SELECT * FROM of_signs
----
t|3|2|1|2

statement DO
DO $$ BEGIN IF 1>-1 THEN UPDATE signs SET b=-a+4; END IF; END $$

query
SELECT b, c FROM signs WHERE a>-1
----
2|-2

# Words and literals that the parser does not know.

query
SELECT null isnull, 1 notnull, a isnull, b+1 notnull, (a) is not null as isnull FROM signs
----
t|t|f|t|t

query
SELECT 'a'
  'b' -- more
'c', cast('x' as national character(3)) || '.'
----
abc|x.

statement error 42601
SELECT 'a' 'b'

statement error 42804
SELECT 1 IS UNKNOWN

query
SELECT null::bool IS UNKNOWN, true IS NOT UNKNOWN
----
t|t

statement INSERT 0 1
INSERT INTO signs SELECT 7, 1 ON CONFLICT DO NOTHING

statement INSERT 0 0
INSERT INTO signs SELECT DISTINCT ON (1) 7, 1 UNION SELECT 7, CASE WHEN 1 IS DISTINCT FROM 2 THEN 1 END ON CONFLICT (a) DO NOTHING

statement DROP INDEX
DROP INDEX CONCURRENTLY IF EXISTS signs_a_idx

statement SET
SET SCHEMA 'public'

query
SELECT x FROM (VALUES (1), (3), (2)) v(x) ORDER BY x USING >
----
3
2
1

query
SELECT x FROM (VALUES (1), (3), (2)) v(x) ORDER BY x USING OPERATOR(pg_catalog.<)
----
1
2
3

statement error 0A000
SELECT x FROM (VALUES (1)) v(x) ORDER BY x USING ~
