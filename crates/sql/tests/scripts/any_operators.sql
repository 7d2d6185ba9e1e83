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
