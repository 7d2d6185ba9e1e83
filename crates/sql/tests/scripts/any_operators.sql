# operator ANY and ALL of arrays, for operators that do not compare; as PostgreSQL 15 has it.

statement ok
CREATE TABLE t (id int PRIMARY KEY, s text, a int[], ps text[], j jsonb)

statement INSERT 0 4
INSERT INTO t VALUES (1, 'apple', '{1,2}', '{a%,b%}', '{"k": 1}'), (2, 'banana', '{3}', '{x%}', '{"k": 2, "l": 3}'), (3, NULL, NULL, NULL, NULL), (4, 'cherry', '{}', '{}', '[1]')

query
SELECT id FROM t WHERE s LIKE ANY (ARRAY['a%', '%rr%']) ORDER BY id
----
1
4

query
SELECT id FROM t WHERE s ILIKE ANY (ARRAY['A%', 'B%']) ORDER BY id
----
1
2

query
SELECT id FROM t WHERE s NOT LIKE ANY (ARRAY['a%', 'b%']) ORDER BY id
----
1
2
4

query
SELECT id FROM t WHERE s ~ ANY (ARRAY['^a', 'y$']) ORDER BY id
----
1
4

query
SELECT id, s LIKE ANY (ps) FROM t ORDER BY id
----
1|t
2|f
3|NULL
4|f

query
SELECT id, s ~ ALL (ARRAY['a', 'n']) FROM t ORDER BY id
----
1|f
2|t
3|NULL
4|f

query
SELECT id, s !~ ALL (ps) FROM t ORDER BY id
----
1|t
2|t
3|NULL
4|t

query
SELECT id FROM t WHERE j @> ANY (ARRAY['{"k": 1}', '{"l": 3}']::jsonb[]) ORDER BY id
----
1
2

query
SELECT id FROM t WHERE s ~~ ANY ('{a%,b%}'::text[]) ORDER BY id
----
1
2

query
SELECT id FROM t WHERE s LIKE ANY ('{a%,b%}') ORDER BY id
----
1
2

query
SELECT 'x' LIKE ANY ('{}'::text[]), 'x' LIKE ANY (NULL::text[]), 'x' ~ ALL ('{}'::text[]), 'x' LIKE ANY (ARRAY['y', NULL]), 'x' LIKE ANY (ARRAY['x', NULL]), 'x' ~ ALL (ARRAY['x', NULL]), 'x' ~ ALL (ARRAY['y', NULL])
----
f|NULL|t|NULL|t|NULL|f

query
SELECT 'x' LIKE ANY (array_append(ARRAY['y'], NULL)), 'x' ~ ALL (array_append(ARRAY['y'], NULL)), 'x' LIKE ANY (array_append(ARRAY['x'], NULL))
----
NULL|f|t

query
SELECT id FROM t WHERE s LIKE ANY (SELECT left(s, 1) || '%' FROM t WHERE id = 2) ORDER BY id
----
2

query
SELECT id FROM t WHERE s NOT LIKE ALL (ARRAY['a%', 'b%']) ORDER BY id
----
4

query
SELECT id FROM t WHERE s LIKE ALL (ARRAY['%a%', '%n%']) ORDER BY id
----
2

query
SELECT id FROM t WHERE NOT s ~~* ANY (ARRAY['A%']) ORDER BY id
----
2
4

query
SELECT id FROM t WHERE s LIKE SOME (ARRAY['a%']) OR id = 4 ORDER BY id
----
1
4

query
SELECT id FROM t WHERE int4range(1, id) @> ALL (ARRAY[1, 2]) ORDER BY id
----
3
4

query
SELECT "like", "any" FROM (VALUES (1, 2)) v ("like", "any")
----
1|2

query
SELECT 'abc' ~~ 'a%', 'ABC' ~~* 'a%', 'abc' !~~ 'a%', 'ABC' !~~* 'a%', 'a%c' ~~ 'a\%c'
----
t|t|f|f|t

statement ok
PREPARE p AS SELECT id FROM t WHERE s LIKE ANY ($1) ORDER BY id

query
EXECUTE p('{%an%,c%}')
----
2
4

query
SELECT count(*), s LIKE ANY (ARRAY['a%', 'b%']) FROM t GROUP BY s LIKE ANY (ARRAY['a%', 'b%']) ORDER BY 1, 2
----
1|f
1|NULL
2|t

statement error 42809
SELECT id FROM t WHERE s LIKE ANY (5)

statement error 42883
SELECT id FROM t WHERE id LIKE ANY (ARRAY['a'])

statement UPDATE 1
UPDATE t SET s = s || '!' WHERE s LIKE ANY (ARRAY['a%'])

query
SELECT s FROM t ORDER BY id
----
apple!
banana
NULL
cherry

# The value and the array are parts of their own query: aggregates, groups, checks, and computed once.

statement ok
CREATE TABLE et (id int PRIMARY KEY, k text, v int)

statement INSERT 0 4
INSERT INTO et VALUES (1, 'x', 1), (2, 'x', 2), (3, 'y', 3), (4, NULL, 4)

query
SELECT max(k) LIKE ANY (array_agg(k)) FROM et
----
t

query
SELECT k FROM et GROUP BY k HAVING k LIKE ANY (array_agg(k)) ORDER BY k
----
x
y

query
SELECT k, k LIKE ALL (ARRAY['x', k]), count(*) FROM et GROUP BY k ORDER BY k
----
x|t|2
y|f|1
NULL|NULL|1

query
SELECT v % 2, bool_or(k LIKE ANY (ARRAY['y'])), max(k) LIKE ANY (ARRAY['y', min(k)]) FROM et GROUP BY v % 2 ORDER BY 1
----
0|f|t
1|t|t

statement ok
CREATE TABLE ec (a text CHECK (a ~ ANY ('{x,y}'::text[])), b text CHECK (b LIKE ALL (ARRAY['%p%', '%q%'])))

statement INSERT 0 2
INSERT INTO ec VALUES ('ax', 'pq'), (NULL, NULL)

statement error 23514
INSERT INTO ec VALUES ('z', 'pq')

statement error 23514
INSERT INTO ec VALUES ('x', 'p')

statement ok
CREATE UNIQUE INDEX ON et (v) WHERE k LIKE ANY (ARRAY['x%', 'y%'])

statement ok
CREATE TABLE eg (a text, b bool GENERATED ALWAYS AS (a ~ ANY (ARRAY['^a', 'b$'])) STORED)

statement INSERT 0 4
INSERT INTO eg VALUES ('ac'), ('cb'), ('c'), (NULL)

query
SELECT a, b FROM eg ORDER BY a
----
ac|t
c|f
cb|t
NULL|NULL

statement INSERT 0 1
INSERT INTO et VALUES (1, 'zz', 7) ON CONFLICT (id) DO UPDATE SET k = CASE WHEN excluded.k LIKE ANY ('{z%}') THEN 'found' ELSE 'none' END WHERE et.k LIKE ALL (ARRAY['%x%'])

query
SELECT k FROM et WHERE id = 1
----
found

# Literals without a type have that of the other side, or text.
query
SELECT '{"a": 1, "b": 2}'::jsonb @> ANY ('{"{\"a\": 1}"}'), '{"a": 1}'::jsonb @> ALL ('{"{\"a\": 1}","{\"b\": 1}"}'), '{"a": 1}'::jsonb ? ANY ('{a,b}')
----
t|f|t

query
SELECT 'ab' LIKE ANY ('{a%}'), 'ab' ~ ALL ('{a,b}'), 'ab' LIKE ANY (NULL)
----
t|t|NULL

query
SELECT 'a' LIKE ANY (ARRAY[ARRAY['x', 'b'], ARRAY['c', 'a']]), 'a' LIKE ALL ('{{a,a},{a,b}}'::text[]), 'a' LIKE ANY (ARRAY[ARRAY['x', 'b'], ARRAY['c', 'd']])
----
t|f|f

query
SELECT int4range(1, 5) @> ANY (ARRAY[7, 3]), int4range(1, 5) && ANY (ARRAY[int4range(7, 9), int4range(4, 6)]), 3 <@ ALL (ARRAY[int4range(1, 4), int4range(2, 9)])
----
t|t|t

query
SELECT 'v'::varchar LIKE ANY (ARRAY['v'::varchar, 'w']), 'c'::char(3) LIKE ANY (ARRAY['c', 'd']), 'n'::name ~ ANY (ARRAY['n'])
----
t|f|t

statement error 42809
SELECT 'a' LIKE ANY (5)

statement error 42P18
SELECT 'a' LIKE ANY (ARRAY[])

statement error 42883
SELECT 5 LIKE ANY (ARRAY['a'])

statement error 42883
SELECT '{}'::jsonb @> ANY (ARRAY['{}'])

statement error 22012
SELECT 'a' LIKE ANY (ARRAY['a', (1 / (v - v))::text]) FROM et

# A volatile value is computed once.
statement ok
CREATE SEQUENCE es

query
SELECT nextval('es')::text LIKE ANY (ARRAY['5', '4', '3', '1'])
----
t

query
SELECT nextval('es')::text ~ ALL (ARRAY['2', '[0-9]', '^2$'])
----
t

query
SELECT currval('es')
----
2

query
SELECT nextval('es')::text LIKE ANY (string_to_array('7,8,3', ','))
----
t

query
SELECT currval('es')
----
3

query
SELECT id FROM et WHERE NOT (k LIKE ANY (ARRAY['x', 'f%'])) ORDER BY id
----
3

query
SELECT a.id, b.id FROM et a JOIN et b ON a.k LIKE ANY (ARRAY[b.k, 'f_']) ORDER BY 1, 2
----
1|1
2|2
3|3

query
SELECT a.id FROM et a WHERE EXISTS (SELECT FROM et b WHERE b.id <> a.id AND b.k LIKE ANY (ARRAY[a.k])) ORDER BY 1
----

query
SELECT id, (SELECT count(*) FROM unnest(ARRAY['x', 'y']) u WHERE u LIKE ANY (ARRAY[et.k, 'q'])) FROM et ORDER BY id
----
1|0
2|1
3|1
4|0

query
SELECT ((('a' LIKE ANY (ARRAY['a', 'b']))::text LIKE ANY (ARRAY['t%', 'f%']))::text LIKE ALL (ARRAY['true']))
----
t

# Nested 40 and 20 deep, in the value and in the array.
query
SELECT (((((((((((((((((((((((((((((((((((((((('a' LIKE ANY (ARRAY['a', 't%', 'x', 'y', 'z']))::text LIKE ANY (ARRAY['a', 't%', 'x', 'y', 'z']))::text LIKE ANY (ARRAY['a', 't%', 'x', 'y', 'z']))::text LIKE ANY (ARRAY['a', 't%', 'x', 'y', 'z']))::text LIKE ANY (ARRAY['a', 't%', 'x', 'y', 'z']))::text LIKE ANY (ARRAY['a', 't%', 'x', 'y', 'z']))::text LIKE ANY (ARRAY['a', 't%', 'x', 'y', 'z']))::text LIKE ANY (ARRAY['a', 't%', 'x', 'y', 'z']))::text LIKE ANY (ARRAY['a', 't%', 'x', 'y', 'z']))::text LIKE ANY (ARRAY['a', 't%', 'x', 'y', 'z']))::text LIKE ANY (ARRAY['a', 't%', 'x', 'y', 'z']))::text LIKE ANY (ARRAY['a', 't%', 'x', 'y', 'z']))::text LIKE ANY (ARRAY['a', 't%', 'x', 'y', 'z']))::text LIKE ANY (ARRAY['a', 't%', 'x', 'y', 'z']))::text LIKE ANY (ARRAY['a', 't%', 'x', 'y', 'z']))::text LIKE ANY (ARRAY['a', 't%', 'x', 'y', 'z']))::text LIKE ANY (ARRAY['a', 't%', 'x', 'y', 'z']))::text LIKE ANY (ARRAY['a', 't%', 'x', 'y', 'z']))::text LIKE ANY (ARRAY['a', 't%', 'x', 'y', 'z']))::text LIKE ANY (ARRAY['a', 't%', 'x', 'y', 'z']))::text LIKE ANY (ARRAY['a', 't%', 'x', 'y', 'z']))::text LIKE ANY (ARRAY['a', 't%', 'x', 'y', 'z']))::text LIKE ANY (ARRAY['a', 't%', 'x', 'y', 'z']))::text LIKE ANY (ARRAY['a', 't%', 'x', 'y', 'z']))::text LIKE ANY (ARRAY['a', 't%', 'x', 'y', 'z']))::text LIKE ANY (ARRAY['a', 't%', 'x', 'y', 'z']))::text LIKE ANY (ARRAY['a', 't%', 'x', 'y', 'z']))::text LIKE ANY (ARRAY['a', 't%', 'x', 'y', 'z']))::text LIKE ANY (ARRAY['a', 't%', 'x', 'y', 'z']))::text LIKE ANY (ARRAY['a', 't%', 'x', 'y', 'z']))::text LIKE ANY (ARRAY['a', 't%', 'x', 'y', 'z']))::text LIKE ANY (ARRAY['a', 't%', 'x', 'y', 'z']))::text LIKE ANY (ARRAY['a', 't%', 'x', 'y', 'z']))::text LIKE ANY (ARRAY['a', 't%', 'x', 'y', 'z']))::text LIKE ANY (ARRAY['a', 't%', 'x', 'y', 'z']))::text LIKE ANY (ARRAY['a', 't%', 'x', 'y', 'z']))::text LIKE ANY (ARRAY['a', 't%', 'x', 'y', 'z']))::text LIKE ANY (ARRAY['a', 't%', 'x', 'y', 'z']))::text LIKE ANY (ARRAY['a', 't%', 'x', 'y', 'z']))::text LIKE ANY (ARRAY['a', 't%', 'x', 'y', 'z']))::text
----
true

query
SELECT ('t' LIKE ANY (ARRAY[('t' LIKE ANY (ARRAY[('t' LIKE ANY (ARRAY[('t' LIKE ANY (ARRAY[('t' LIKE ANY (ARRAY[('t' LIKE ANY (ARRAY[('t' LIKE ANY (ARRAY[('t' LIKE ANY (ARRAY[('t' LIKE ANY (ARRAY[('t' LIKE ANY (ARRAY[('t' LIKE ANY (ARRAY[('t' LIKE ANY (ARRAY[('t' LIKE ANY (ARRAY[('t' LIKE ANY (ARRAY[('t' LIKE ANY (ARRAY[('t' LIKE ANY (ARRAY[('t' LIKE ANY (ARRAY[('t' LIKE ANY (ARRAY[('t' LIKE ANY (ARRAY[('t' LIKE ANY (ARRAY['a', 't%']))::text, 't%']))::text, 't%']))::text, 't%']))::text, 't%']))::text, 't%']))::text, 't%']))::text, 't%']))::text, 't%']))::text, 't%']))::text, 't%']))::text, 't%']))::text, 't%']))::text, 't%']))::text, 't%']))::text, 't%']))::text, 't%']))::text, 't%']))::text, 't%']))::text, 't%']))::text
----
true
