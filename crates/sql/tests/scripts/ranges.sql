# Ranges: read, written, computed with, compared, and stored. The answers are those of PostgreSQL 15.
query
SELECT int4range '[1,5)', int4range '(1,5]', int4range '[1,5]', int4range '(1,5)', int4range '(1,2)', int4range '[3,3]', int4range '[3,3)', int4range 'empty', int4range ' EMPTY ', int4range '[,]', int4range '(,5]', int4range '[5,)', int4range '  ( 1 , 5 ]  '
----
[1,5)|[2,6)|[1,6)|[2,5)|empty|[3,4)|empty|empty|empty|(,)|(,6)|[5,)|[2,6)

query
SELECT int8range '[-9223372036854775808,9223372036854775807)', int8range '(,]', numrange '[1.5,2.25]', numrange '(-1.1,0)', numrange '[0.001,1000000000000]', numrange '[1,1]', numrange '[1,1)', numrange '(1,1]', numrange '[-5,-4.5]'
----
[-9223372036854775808,9223372036854775807)|(,)|[1.5,2.25]|(-1.1,0)|[0.001,1000000000000]|[1,1]|empty|empty|[-5,-4.5]

query
SELECT daterange '[2024-01-31,2024-02-29]', daterange '(2024-01-31,)', daterange '[-infinity,infinity]', daterange '(-infinity,infinity)', daterange '[infinity,infinity]', daterange '(2020-01-01,infinity]', daterange '(0044-03-15 BC,]'
----
[2024-01-31,2024-03-01)|[2024-02-01,)|[-infinity,infinity]|(-infinity,infinity)|[infinity,infinity]|[2020-01-02,infinity]|["0044-03-16 BC",)

query
SELECT tsrange '[2024-01-01,2024-01-02 10:00]', tsrange '("2024-01-01 00:00:00.5",infinity]', tstzrange '[2024-01-01 00:00+00,2024-01-01 02:00+01)', tstzrange '[,2024-01-01 00:00 UTC]', tsrange '[2024-01-01,2024-01-01)'
----
["2024-01-01 00:00:00","2024-01-02 10:00:00"]|("2024-01-01 00:00:00.5",infinity]|["2024-01-01 00:00:00+00","2024-01-01 01:00:00+00")|(,"2024-01-01 00:00:00+00"]|empty

query
SELECT int4range '["1",\5)', int4range '[""1,"5")', int4range '["1"0,5"0")', numrange '["1",)'
----
[1,5)|[1,5)|[10,50)|[1,)

statement error 22P02
SELECT int4range ''
----
malformed range literal: ""
DETAIL: Missing left parenthesis or bracket.

statement error 22P02
SELECT int4range '1,2)'

statement error 22P02
SELECT int4range '[1'

statement error 22P02
SELECT int4range '[1,2'
----
malformed range literal: "[1,2"
DETAIL: Unexpected end of input.

statement error 22P02
SELECT int4range '[1)'
----
malformed range literal: "[1)"
DETAIL: Missing comma after lower bound.

statement error 22P02
SELECT int4range '[1,2,3)'
----
malformed range literal: "[1,2,3)"
DETAIL: Too many commas.

statement error 22P02
SELECT int4range '[1,2) x'
----
malformed range literal: "[1,2) x"
DETAIL: Junk after right parenthesis or bracket.

statement error 22P02
SELECT int4range 'empty x'
----
malformed range literal: "empty x"
DETAIL: Junk after "empty" key word.

statement error 22P02
SELECT int4range 'emptyx'

statement error 22P02
SELECT int4range '["1,2)'

statement error 22P02
SELECT int4range '[1,2\'

statement error 22P02
SELECT int4range '[a,2)'

statement error 22P02
SELECT int4range '["",2)'

statement error 22P02
SELECT int4range '[1.5,2)'

statement error 22000
SELECT int4range '[5,1)'
----
range lower bound must be less than or equal to range upper bound

statement error 22000
SELECT int4range '[5,1]'

statement error 22003
SELECT int4range '[1,2147483647]'
----
integer out of range

statement error 22003
SELECT int4range '(2147483647,)'

statement error 22003
SELECT int4range '[1,2147483648)'

statement error 22003
SELECT int8range '[1,9223372036854775807]'
----
bigint out of range

statement error 22008
SELECT daterange '[2024-01-01,5874897-12-31]'

statement error 22008
SELECT daterange '(5874897-12-31,)'
----
date out of range

statement error 22008
SELECT daterange '[2024-02-30,)'

statement error 22000
SELECT tsrange '[2024-01-02,2024-01-01)'

query
SELECT int4range(1, 5), int4range(1, 5, '[]'), int4range(1, 5, '(]'), int4range(1, 5, '()'), int4range(NULL, 5), int4range(1, NULL), int4range(NULL, NULL, '[]'), int4range(1, 1), int4range(1, 1, '[]'), int8range(1, 5), numrange(1, 2.5, '[]'), numrange(1.25, NULL)
----
[1,5)|[1,6)|[2,6)|[2,5)|(,5)|[1,)|(,)|empty|[1,2)|[1,5)|[1,2.5]|[1.25,)

query
SELECT daterange('2024-01-01', '2024-01-31', '[]'), tsrange('2024-01-01', '2024-01-31'), tsrange(date '2024-01-01', NULL), tstzrange('2024-01-01 00:00+00', NULL, '()'), daterange(NULL, NULL)
----
[2024-01-01,2024-02-01)|["2024-01-01 00:00:00","2024-01-31 00:00:00")|["2024-01-01 00:00:00",)|("2024-01-01 00:00:00+00",)|(,)

statement error 22000
SELECT int4range(5, 1)

statement error 42601
SELECT int4range(1, 2, 'x')
----
invalid range bound flags
HINT: Valid values are "[]", "[)", "(]", and "()".

statement error 42601
SELECT int4range(1, 2, '')

statement error 22000
SELECT int4range(1, 2, NULL)
----
range constructor flags argument must not be null

statement error 22003
SELECT int4range(2147483647, NULL, '()')

statement error 42883
SELECT int4range(1)

statement error 22P02
SELECT int4range('a', 2)

query
SELECT lower(int4range(1, 5)), upper(int4range(1, 5)), lower(int4range(NULL, 5)), upper(int4range(1, NULL)), lower(int4range 'empty'), isempty(int4range(1, 1)), isempty(int4range(1, 2)), lower_inc(int4range(1, 5)), upper_inc(int4range(1, 5)), upper_inc(numrange(1, 2, '[]')), lower_inc(numrange(1, 2, '()')), lower_inc(int4range 'empty'), lower_inc(int4range(NULL, 1, '[]')), lower_inf(int4range(NULL, 1)), upper_inf(int4range(1, NULL)), lower_inf(int4range 'empty'), upper_inf(daterange '[2024-01-01,infinity]')
----
1|5|NULL|NULL|NULL|t|f|t|f|t|f|f|f|t|t|f|f

query
SELECT lower('ABC'), upper('abc'), lower(NULL), pg_typeof(lower(int8range(1, 2))), pg_typeof(upper(numrange(1, 2))), pg_typeof(lower(daterange '[2024-01-01,)')), pg_typeof(lower(tstzrange '[2024-01-01 00:00+00,)')), pg_typeof(int4range(1, 2)), pg_typeof(ARRAY[int4range(1, 2)]), lower(tsrange '[2024-01-01 10:00,)'), upper(tstzrange '[,2024-01-01 10:00+00]')
----
abc|ABC|NULL|bigint|numeric|date|timestamp with time zone|int4range|int4range[]|2024-01-01 10:00:00|2024-01-01 10:00:00+00

statement error 42725
SELECT isempty('empty')

statement error 42725
SELECT lower_inc('[1,2)')

query
SELECT int4range(1, 5) @> int4range(2, 3), int4range(1, 5) @> int4range(2, 6), int4range(1, 5) @> 'empty', int4range 'empty' @> int4range(1, 2), int4range(1, 5) @> 1, int4range(1, 5) @> 5, int4range(1, NULL) @> 2147483647, int4range 'empty' @> 1, 3 <@ int4range(1, 5), int4range(2, 3) <@ int4range(1, 5), int4range(1, 5) <@ int4range(2, 3), numrange(1, 2, '(]') @> 1.0, numrange(1, 2, '(]') @> 2.0, '[2,3)' <@ int4range(1, 5), int4range(1, 5) @> '[2,3)'
----
t|f|t|f|t|f|t|f|t|t|f|f|t|t|t

statement error 42883
SELECT int8range(1, 5) @> 1

query
SELECT int8range(1, 5) @> 1::bigint, numrange(1, 5) @> 1::numeric, daterange('2024-01-01', '2024-02-01') @> date '2024-01-15', tsrange('2024-01-01', '2024-02-01') @> timestamp '2024-02-01', tstzrange('2024-01-01 00:00+00', '2024-02-01 00:00+00') @> timestamptz '2024-01-31 23:59:59+00'
----
t|t|t|f|t

statement error 42883
SELECT numrange(1, 5) @> 1
----
operator does not exist: numrange @> integer
HINT: No operator matches the given name and argument types. You might need to add explicit type casts.

statement error 42883
SELECT daterange('2024-01-01', '2024-02-01') @> timestamp '2024-01-15'

statement error 42883
SELECT int4range(1, 5) @> int8range(1, 2)

statement error 42883
SELECT int4range(1, 5) && int8range(1, 2)

statement error 22P02
SELECT int4range(1, 5) @> '3'

statement error 42725
SELECT '[1,2)' && '[1,2)'
----
operator is not unique: unknown && unknown
HINT: Could not choose a best candidate operator. You might need to add explicit type casts.

query
SELECT int4range(1, 5) && int4range(4, 6), int4range(1, 5) && int4range(5, 6), numrange(1, 5, '[]') && numrange(5, 6), numrange(1, 5) && numrange(5, 6), int4range(1, 5) && 'empty', int4range(NULL, NULL) && int4range(1, 2), int4range(1, 2) << int4range(2, 3), int4range(1, 3) << int4range(2, 3), int4range(2, 3) >> int4range(1, 2), int4range(2, NULL) >> int4range(1, 2), int4range(1, 5) &< int4range(2, 5), int4range(1, 6) &< int4range(2, 5), int4range(2, 9) &> int4range(2, 5), int4range(1, 9) &> int4range(2, 5), int4range(1, 2) -|- int4range(2, 3), int4range(1, 2) -|- int4range(3, 4), numrange(1, 2, '[]') -|- numrange(2, 3, '()'), numrange(1, 2, '[]') -|- numrange(2, 3, '[)'), int4range(1, 3) -|- 'empty'
----
t|f|t|f|f|t|t|f|t|t|t|f|t|f|t|f|t|f|f

query
SELECT int4range(1, 5) + int4range(5, 9), int4range(1, 5) + int4range(3, 9), int4range(1, 5) + 'empty', int4range(1, 5) * int4range(3, 9), int4range(1, 5) * int4range(5, 9), int4range(1, 5) - int4range(3, 9), int4range(3, 9) - int4range(1, 5), int4range(1, 5) - int4range(1, 5), int4range(1, 5) - int4range(7, 9), numrange(1, 5) - numrange(3, 9), numrange(1, 5, '[]') - numrange(3, 5, '(]'), numrange(1, 5, '[]') - numrange(1, 3, '[]'), numrange(1, 5, '[]') * numrange(5, 9, '[]'), range_merge(int4range(1, 2), int4range(8, 9)), range_merge(int4range(1, 2), 'empty'), numrange(1, 5, '[)') - numrange(1, 3, '[)'), int4range(1, 5) - 'empty', int4range 'empty' - int4range(1, 5)
----
[1,9)|[1,9)|[1,5)|[3,5)|empty|[1,3)|[5,9)|empty|[1,5)|[1,3)|[1,3]|(3,5]|[5,5]|[1,9)|[1,2)|[3,5)|[1,5)|empty

statement error 22000
SELECT int4range(1, 2) + int4range(3, 4)
----
result of range union would not be contiguous

statement error 22000
SELECT int4range(1, 9) - int4range(3, 4)
----
result of range difference would not be contiguous

statement error 42883
SELECT int4range(1, 2) + 1

statement error 42883
SELECT int4range(1, 2) / int4range(1, 2)

query
SELECT int4range(1, 5) = int4range(0, 4, '(]'), int4range(1, 5) = '[1,4]', int4range(1, 5) <> int4range(1, 6), int4range(1, 5) < int4range(1, 6), int4range 'empty' < int4range(NULL, NULL), int4range(NULL, 5) < int4range(1, 2), int4range(1, NULL) > int4range(1, 9), numrange(1, 2) < numrange(1, 2, '()'), numrange(1, 2) < numrange(1, 2, '[]'), numrange(-1.5, 2) < numrange(-1.25, 2), numrange(-10, 0) < numrange(-9, 0), numrange(1.0, 2.00) = numrange(1, 2), tsrange 'empty' = tsrange 'empty', int4range(1, 5) >= int4range(1, 5), int4range(1, 5) BETWEEN int4range(1, 2) AND int4range(1, 7), int4range(1, 5) IN ('[1,4]', '[7,8)'), int4range(1, 5) IS DISTINCT FROM int4range(1, 4, '[]')
----
t|t|t|t|t|t|t|t|t|t|t|t|t|t|t|t|f

statement error 42883
SELECT int4range(1, 2) = int8range(1, 2)

statement error 42883
SELECT int4range(1, 2) < 1

query
SELECT 1 + 1 <@ int4range(1, 5), int4range(1, 3) && int4range(2, 4) = true, int4range(1, 3) -|- int4range(3, 4) = true, int4range(1, 3) &< int4range(3, 4) = true, int4range(1, 3) + int4range(3, 5) @> 4, int4range(1, 3) * int4range(2, 5) = int4range(2, 3), NOT int4range(1, 3) && int4range(3, 4), int4range(1, 3) && int4range(2, 4) AND true
----
t|t|t|t|t|t|t|t

query
SELECT NULL::int4range && int4range(1, 2), int4range(1, 2) @> NULL::int, lower(NULL::int4range), int4range(1, 2) = NULL, NULL::int4range + int4range(1, 2)
----
NULL|NULL|NULL|NULL|NULL

query
SELECT int4range(1, 5)::text, '[1,5]'::text::int4range, int4range(1, 5)::varchar, 'a' || int4range(1, 5), concat(int4range(1, 5), '-', tsrange(NULL, '2024-01-01')), format('%s', int4range(1, 5)), quote_literal(int4range(1, 5)), CAST(int4range(1, 5) AS int4range), coalesce(NULL, int4range(1, 2)), greatest(int4range(1, 2), int4range(2, 3)), least(int4range(1, 2), NULL), nullif(int4range(1, 2), int4range(1, 2))
----
[1,5)|[1,6)|[1,5)|a[1,5)|[1,5)-(,"2024-01-01 00:00:00")|[1,5)|'[1,5)'|[1,5)|[1,2)|[2,3)|[1,2)|NULL

statement error 42846
SELECT int4range(1, 5)::int8range

statement error 42846
SELECT int4range(1, 5)::int

statement error 42846
SELECT 1::int4range

statement error 42883
SELECT min(int4range(1, 2))

statement error 42883
SELECT sum(int4range(1, 2))

query
SELECT ARRAY[int4range(1, 5), NULL, 'empty'], '{"[1,5]","(,)",empty}'::int4range[], (ARRAY[int4range(1, 5), int4range(7, 9)])[2], int4range(1, 5) = ANY(ARRAY[int4range(1, 5)]), array_agg(x) FROM (VALUES (int4range(1, 2)), (int4range(3, 4))) AS v(x)
----
{"[1,5)",NULL,empty}|{"[1,6)","(,)",empty}|[7,9)|t|{"[1,2)","[3,4)"}

query
SELECT ARRAY[tsrange('2024-01-01', '2024-01-02')], '{"[\"2024-01-01 00:00:00\",\"2024-01-02\"]"}'::tsrange[], array_position(ARRAY[int4range(1, 5), int4range(2, 5)], int4range(2, 4, '[]')), ARRAY[int4range(1,2)] < ARRAY[int4range(1,3)], ARRAY[numrange(1,2)] = ARRAY[numrange(1.0,2)], unnest(ARRAY[int4range(1,2)])
----
{"[\"2024-01-01 00:00:00\",\"2024-01-02 00:00:00\")"}|{"[\"2024-01-01 00:00:00\",\"2024-01-02 00:00:00\"]"}|2|t|t|[1,2)

query
SELECT to_json(int4range(1, 5)), json_build_array(tsrange('2024-01-01', NULL)), to_jsonb(ARRAY[int4range(1, 2)]), jsonb_build_object('r', daterange '[2024-01-01,)')
----
"[1,5)"|["[\"2024-01-01 00:00:00\",)"]|["[1,2)"]|{"r": "[2024-01-01,)"}

query
SELECT x, count(*) FROM (VALUES (int4range(1, 5)), (int4range(0, 4, '(]')), ('empty'), (NULL), (int4range(5, 1 + 4))) AS v(x) GROUP BY x ORDER BY x
----
empty|2
[1,5)|2
NULL|1

query
SELECT DISTINCT x FROM (VALUES (int4range(1, 5)), (int4range(NULL, 4)), (int4range(NULL, NULL)), ('empty'), (int4range(1, NULL)), (int4range(-7, 3)), (int4range(1, 3)), (int4range(-7, NULL))) AS v(x) ORDER BY x DESC
----
[1,)
[1,5)
[1,3)
[-7,)
[-7,3)
(,)
(,4)
empty

query
SELECT x FROM (VALUES (numrange(1, 5)), (numrange(1, 5, '()')), (numrange(1, 5, '[]')), (numrange(1, 5, '(]')), (numrange(-1.5, 5)), (numrange(-1.25, 5)), (numrange(-300, 5)), (numrange(256, 500)), (numrange(255.99, 500)), (numrange(NULL, 0)), (numrange(0.5, 0.55)), (numrange(0.5, 0.6))) AS v(x) ORDER BY x
----
(,0)
[-300,5)
[-1.5,5)
[-1.25,5)
[0.5,0.55)
[0.5,0.6)
[1,5)
[1,5]
(1,5)
(1,5]
[255.99,500)
[256,500)

statement ok
CREATE TABLE r (id int PRIMARY KEY, i int4range, b int8range, n numrange, d daterange, t tsrange, z tstzrange, a int4range[])

statement ok
INSERT INTO r VALUES (1, '[1,5]', '[10,20)', '[1.5,2.5]', '[2024-01-01,2024-01-31]', '[2024-01-01,2024-02-01)', '[2024-01-01 00:00+00,)', '{"[1,2]",empty}'), (2, 'empty', '(,)', '(,1)', '(,2020-01-01)', '(,)', 'empty', '{}'), (3, '[5,9)', '[20,30)', '(2.5,3)', '[2024-02-01,2024-03-01)', '[2024-02-01 10:00,2024-02-01 11:00)', '[2023-12-31 10:00+00,2024-01-01 00:00+00)', NULL), (4, NULL, NULL, NULL, NULL, NULL, NULL, NULL)

query
SELECT * FROM r ORDER BY id
----
1|[1,6)|[10,20)|[1.5,2.5]|[2024-01-01,2024-02-01)|["2024-01-01 00:00:00","2024-02-01 00:00:00")|["2024-01-01 00:00:00+00",)|{"[1,3)",empty}
2|empty|(,)|(,1)|(,2020-01-01)|(,)|empty|{}
3|[5,9)|[20,30)|(2.5,3)|[2024-02-01,2024-03-01)|["2024-02-01 10:00:00","2024-02-01 11:00:00")|["2023-12-31 10:00:00+00","2024-01-01 00:00:00+00")|NULL
4|NULL|NULL|NULL|NULL|NULL|NULL|NULL

query
SELECT id FROM r WHERE i @> 5 ORDER BY id
----
1
3

query
SELECT id FROM r WHERE i && '[1,6)' ORDER BY id
----
1
3

query
SELECT id FROM r WHERE d <@ daterange('2024-01-01', '2024-12-31') ORDER BY id
----
1
3

query
SELECT id FROM r WHERE n -|- numrange(1, 1.5, '[)') ORDER BY id
----
1
2

query
SELECT id FROM r ORDER BY i DESC NULLS LAST, id
----
3
1
2
4

query
SELECT a.id, b.id FROM r a JOIN r b ON a.i && b.i AND a.id < b.id ORDER BY 1, 2
----
1|3

query
SELECT a.id, b.id FROM r a JOIN r b ON a.b -|- b.b ORDER BY 1, 2
----
1|3
3|1

query
SELECT id, upper(t) - lower(t), lower(d), a[1] FROM r ORDER BY id
----
1|31 days|2024-01-01|[1,3)
2|NULL|NULL|NULL
3|01:00:00|2024-02-01|NULL
4|NULL|NULL|NULL

query
UPDATE r SET i = i + int4range(5, 7) WHERE id = 3 RETURNING i
----
[5,9)

query
UPDATE r SET n = numrange(lower(n), NULL) WHERE id = 1 RETURNING n
----
[1.5,)

statement error 22000
INSERT INTO r (id, i) VALUES (9, '[5,1]')

statement error 42804
INSERT INTO r (id, i) VALUES (9, int8range(1, 2))

statement error 22P02
INSERT INTO r (id, i) VALUES (9, 'x')

statement error 42804
INSERT INTO r (id, i) VALUES (9, '[1,2)'::text)

statement ok
CREATE TABLE k (during tsrange PRIMARY KEY, room int4range UNIQUE, part numrange DEFAULT '[1,2)', CHECK (NOT isempty(during)))

statement ok
INSERT INTO k VALUES ('[2024-01-01,2024-01-02)', '[1,5]'), ('[2024-01-01,2024-01-03)', '[1,6]')

statement error 23505
INSERT INTO k VALUES ('["2024-01-01 00:00:00",2024-01-02)', '[7,8]')

statement error 23505
INSERT INTO k VALUES ('[2025-01-01,2025-01-02)', '(0,6)')

statement error 23514
INSERT INTO k VALUES ('empty', '[100,101]')

query
SELECT * FROM k ORDER BY during
----
["2024-01-01 00:00:00","2024-01-02 00:00:00")|[1,6)|[1,2)
["2024-01-01 00:00:00","2024-01-03 00:00:00")|[1,7)|[1,2)

query
SELECT room FROM k WHERE during = '[2024-01-01,2024-01-03)'
----
[1,7)

query
SELECT room FROM k WHERE during > '[2024-01-01,2024-01-02)' ORDER BY during
----
[1,7)

statement ok
CREATE TABLE f (id int PRIMARY KEY, room int4range REFERENCES k (room) ON DELETE CASCADE)

statement ok
INSERT INTO f VALUES (1, '[1,6)')

statement error 23503
INSERT INTO f VALUES (2, '[1,9)')

statement ok
DELETE FROM k WHERE room @> 6

statement ok
DELETE FROM k WHERE room = '[1,5]'

query
SELECT count(*) FROM f
----
0

reopen

query
SELECT id, i, n, d, z, a FROM r WHERE id < 3 ORDER BY id
----
1|[1,6)|[1.5,)|[2024-01-01,2024-02-01)|["2024-01-01 00:00:00+00",)|{"[1,3)",empty}
2|empty|(,1)|(,2020-01-01)|empty|{}

statement ok
CREATE INDEX k_part ON k (part)

statement ok
CREATE INDEX k_lower ON k (lower(during))

statement ok
CREATE UNIQUE INDEX r_n ON r (n)

statement error 23505
INSERT INTO r (id, n) VALUES (10, '(2.50,3.0)')

query
SELECT id FROM r WHERE n = '(2.5,3)'
----
3

statement ok
CREATE TABLE g (a int, b int, r int4range GENERATED ALWAYS AS (int4range(a, b)) STORED)

statement ok
INSERT INTO g VALUES (1, 5), (2, NULL)

query
SELECT * FROM g ORDER BY a
----
1|5|[1,5)
2|NULL|[2,)

statement error 22000
INSERT INTO g VALUES (5, 1)

statement ok
ALTER TABLE g ADD COLUMN s daterange NOT NULL DEFAULT '[2024-01-01,2024-02-01)'

query
SELECT s, upper(s) FROM g ORDER BY a LIMIT 1
----
[2024-01-01,2024-02-01)|2024-02-01

statement ok
ALTER TABLE g ALTER COLUMN s TYPE text

query
SELECT s FROM g ORDER BY a LIMIT 1
----
[2024-01-01,2024-02-01)

statement ok
ALTER TABLE g ALTER COLUMN s TYPE daterange USING s::daterange

query
SELECT s FROM g ORDER BY a LIMIT 1
----
[2024-01-01,2024-02-01)

statement ok
CREATE VIEW v AS SELECT id FROM r WHERE i @> 5

query
SELECT * FROM v ORDER BY id
----
1
3

statement ok
CREATE DOMAIN percent AS numrange CHECK (value <@ numrange(0, 100, '[]'))

query
SELECT '[1,2]'::percent
----
[1,2]

statement error 23514
SELECT '[1,200]'::percent

query
SELECT oid, typname, typlen, typbyval, typtype, typcategory, typispreferred, typelem, typarray, typinput::oid, typoutput::oid, typreceive::oid, typsend::oid, typanalyze::oid, typalign, typstorage, typsubscript::oid FROM pg_type WHERE typcategory = 'R' AND typtype = 'r' ORDER BY oid
----
3904|int4range|-1|f|r|R|f|0|3905|3834|3835|3836|3837|3916|i|x|0
3906|numrange|-1|f|r|R|f|0|3907|3834|3835|3836|3837|3916|i|x|0
3908|tsrange|-1|f|r|R|f|0|3909|3834|3835|3836|3837|3916|d|x|0
3910|tstzrange|-1|f|r|R|f|0|3911|3834|3835|3836|3837|3916|d|x|0
3912|daterange|-1|f|r|R|f|0|3913|3834|3835|3836|3837|3916|i|x|0
3926|int8range|-1|f|r|R|f|0|3927|3834|3835|3836|3837|3916|d|x|0

query
SELECT oid, typname, typlen, typtype, typcategory, typelem, typinput::oid, typanalyze::oid, typalign, typstorage, typsubscript::oid FROM pg_type WHERE typname LIKE '\_%range' AND typname NOT LIKE '%multi%' AND typname <> '_pg_range' ORDER BY oid
----
3905|_int4range|-1|b|A|3904|750|3816|i|x|6179
3907|_numrange|-1|b|A|3906|750|3816|i|x|6179
3909|_tsrange|-1|b|A|3908|750|3816|d|x|6179
3911|_tstzrange|-1|b|A|3910|750|3816|d|x|6179
3913|_daterange|-1|b|A|3912|750|3816|i|x|6179
3927|_int8range|-1|b|A|3926|750|3816|d|x|6179

query
SELECT rngtypid, rngsubtype, rngcollation, rngsubopc FROM pg_range ORDER BY 1
----
3904|23|0|1978
3906|1700|0|3125
3908|1114|0|3128
3910|1184|0|3127
3912|1082|0|3122
3926|20|0|3124

query
SELECT column_name, data_type, udt_name FROM information_schema.columns WHERE table_name = 'r' ORDER BY ordinal_position
----
id|integer|int4
i|int4range|int4range
b|int8range|int8range
n|numrange|numrange
d|daterange|daterange
t|tsrange|tsrange
z|tstzrange|tstzrange
a|ARRAY|_int4range

query
SELECT attname, format_type(atttypid, atttypmod), 'int4range'::regtype::oid FROM pg_attribute WHERE attrelid = 'r'::regclass AND attnum > 0 ORDER BY attnum
----
id|integer|3904
i|int4range|3904
b|int8range|3904
n|numrange|3904
d|daterange|3904
t|tsrange|3904
z|tstzrange|3904
a|int4range[]|3904

statement ok
SET TIME ZONE 'Europe/Berlin'

query
SELECT tstzrange '[2024-01-01 10:00,2024-07-01 10:00]', tstzrange('2024-01-01 10:00', NULL), '[2024-01-01 10:00,]'::tstzrange, '[2024-01-01 10:00,]'::text::tstzrange, tstzrange('2024-01-01', '2024-01-02')::text, ARRAY[tstzrange('2024-01-01', NULL)], z, 'x' || z, concat(z), tsrange '[2024-01-01 10:00,)' FROM r WHERE id = 1
----
["2024-01-01 10:00:00+01","2024-07-01 10:00:00+02"]|["2024-01-01 10:00:00+01",)|["2024-01-01 10:00:00+01",)|["2024-01-01 10:00:00+01",)|["2024-01-01 00:00:00+01","2024-01-02 00:00:00+01")|{"[\"2024-01-01 00:00:00+01\",)"}|["2024-01-01 01:00:00+01",)|x["2024-01-01 01:00:00+01",)|["2024-01-01 01:00:00+01",)|["2024-01-01 10:00:00",)

query
SELECT ARRAY[z], to_json(z), '{"[2024-01-01 10:00,)"}'::tstzrange[], tstzrange(date '2024-01-01', NULL), z @> timestamptz '2024-01-01 01:00', z @> timestamptz '2024-01-01 00:59' FROM r WHERE id = 1
----
{"[\"2024-01-01 01:00:00+01\",)"}|"[\"2024-01-01 01:00:00+01\",)"|{"[\"2024-01-01 10:00:00+01\",)"}|["2024-01-01 00:00:00+01",)|t|f

statement ok
ALTER TABLE r ALTER COLUMN z SET DEFAULT '[2024-06-01 12:00,)'

statement ok
SET TIME ZONE 'UTC'

query
INSERT INTO r (id) VALUES (20) RETURNING z
----
["2024-06-01 10:00:00+00",)

statement ok
SET datestyle = 'ISO, DMY'

query
SELECT daterange '[01/02/2024,03/02/2024]', '[01/02/2024,]'::text::tsrange, '{"[01/02/2024,)"}'::daterange[]
----
[2024-02-01,2024-02-04)|["2024-02-01 00:00:00",)|{"[2024-02-01,)"}

statement ok
RESET datestyle

statement ok
PREPARE p AS SELECT id FROM r WHERE i && $1 AND i @> $2 ORDER BY id

statement error 42804
EXECUTE p('[1,9]', 5)

statement error 0A000
CREATE TYPE floatrange AS RANGE (subtype = float8)
----
CREATE TYPE … AS RANGE is not supported

statement error 0A000
SELECT int4multirange '{}'
----
the type int4multirange is not supported

statement error 0A000
SELECT range_agg(i) FROM r
----
multiranges are not supported: range_agg

statement error 0A000
CREATE TABLE e (room int, during tsrange, EXCLUDE USING gist (during WITH &&))
----
the constraint EXCLUDE USING gist (during WITH &&) is not supported

statement ok
CREATE INDEX ON r USING gist (i)

statement ok
CREATE TABLE cc (id int PRIMARY KEY, r int4range, t tsrange, a int4range[])

copy COPY 2
COPY cc FROM STDIN
----
1	[1,4]	[2024-01-01,2024-01-02)	{"[1,2)",empty}
2	empty	\N	{}

copy_out
COPY cc TO STDOUT
----
1	[1,5)	["2024-01-01 00:00:00","2024-01-02 00:00:00")	{"[1,2)",empty}
2	empty	\N	{}

copy_out
COPY cc TO STDOUT (FORMAT csv)
----
1,"[1,5)","[""2024-01-01 00:00:00"",""2024-01-02 00:00:00"")","{""[1,2)"",empty}"
2,empty,,{}

copy error 22P02
COPY cc FROM STDIN
----
3	[1,4	\N	\N

# A literal without a zone is kept as the moment that it meant.
statement ok
SET TIME ZONE 'Europe/Berlin'

statement ok
CREATE TABLE kept (z tstzrange, CHECK (z <@ '[2024-06-01 00:00,2024-06-02 00:00)'))

statement ok
SET TIME ZONE 'UTC'

statement ok
INSERT INTO kept VALUES ('[2024-05-31 22:00+00,2024-06-01 22:00+00)')

statement error 23514
INSERT INTO kept VALUES ('[2024-06-01 00:00+00,2024-06-02 00:00+00)')
