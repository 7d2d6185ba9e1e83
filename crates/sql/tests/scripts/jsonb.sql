# JSON as columns and values: operators, parts, comparison.

query
SELECT '{"b":1,"a":{"x":[1,2.50,1e2]},"b":"\u00e9\n"}'::jsonb, '-0'::jsonb, '[ ]'::jsonb, '"x"'::jsonb, 'null'::jsonb, ' true '::jsonb
----
{"a": {"x": [1, 2.50, 100]}, "b": "é\n"}|0|[]|"x"|null|true

query
SELECT '{"b" : 1,  "a":[1,2], "b":2}'::json, '{"b" : 1}'::json::jsonb, '{"a" : 1}'::jsonb::json, '{"a":1}'::jsonb::text, '"x"'::jsonb::text
----
{"b" : 1,  "a":[1,2], "b":2}|{"b": 1}|{"a": 1}|{"a": 1}|"x"

query
SELECT '{"a":{"b":[1,"x",null]}}'::jsonb -> 'a', '{"a":{"b":[1,"x",null]}}'::jsonb -> 'a' -> 'b' -> 1, '{"a":{"b":[1,"x",null]}}'::jsonb #> '{a,b,0}', '{"a":{"b":[1,"x",null]}}'::jsonb #>> '{a,b,1}', '{"a":{"b":[1,"x",null]}}'::jsonb #>> '{a,b,2}', '{"a":{"b":[1,"x",null]}}'::jsonb #> '{a,b,2}'
----
{"b": [1, "x", null]}|"x"|1|x|NULL|null

query
SELECT '{"a": {"b" : [1, "x"]}, "c":"d\u0041"}'::json -> 'a', '{"a": {"b" : [1, "x"]}, "c":"d\u0041"}'::json ->> 'a', '{"a": {"b" : [1, "x"]}, "c":"d\u0041"}'::json ->> 'c', '{"a": {"b" : [1, "x"]}, "c":"d\u0041"}'::json -> 'c', '{"a":1,"a":2}'::json -> 'a'
----
{"b" : [1, "x"]}|{"b" : [1, "x"]}|dA|"d\u0041"|2

query
SELECT '[1,2,3]'::jsonb -> 0, '[1,2,3]'::jsonb -> -1, '[1,2,3]'::jsonb ->> 5, '[1,[2,3]]'::json #>> '{1,-1}', '{"0":1}'::jsonb -> 0, '"x"'::jsonb -> 0, '1'::jsonb -> 'a', '{"a":1}'::jsonb #> '{}'
----
1|3|NULL|3|NULL|"x"|NULL|{"a": 1}

query
SELECT pg_typeof('{"a":1}'::json -> 'a'), pg_typeof('{"a":1}'::jsonb -> 'a'), pg_typeof('{"a":1}'::jsonb ->> 'a'), pg_typeof('{"a":1}'::json #> '{a}')
----
json|jsonb|text|json

query
SELECT '{"a":1,"b":[1,{"c":2}]}'::jsonb @> '{"b":[{"c":2}]}', '{"a":1}'::jsonb @> '{"a":1.0}', '[1,2,3]'::jsonb @> '[3,1]', '[1,2]'::jsonb @> '1', '{"a":1}'::jsonb <@ '{"a":1,"b":2}', '{"a":{"b":1}}'::jsonb @> '{"a":{}}', '[[1]]'::jsonb @> '[1]', '{"a":[1]}'::jsonb @> '{"a":1}'
----
t|t|t|t|t|t|f|f

query
SELECT '{"a":1}'::jsonb ? 'a', '["a","b"]'::jsonb ? 'b', '"a"'::jsonb ? 'a', '{"a":1}'::jsonb ?| array['x','a'], '{"a":1}'::jsonb ?& array['x','a']
----
t|t|t|t|f

query
SELECT jsonb '"a"' || jsonb '[1]', jsonb '{"a":1}' || '{"b":2,"a":3}', jsonb '{"a":1}' || jsonb '2', jsonb '[1]' || jsonb '{"x":1}', jsonb '[1]' || jsonb '[2,3]', jsonb '1' || jsonb '2'
----
["a", 1]|{"a": 3, "b": 2}|[{"a": 1}, 2]|[1, {"x": 1}]|[1, 2, 3]|[1, 2]

query
SELECT jsonb '{"a":1,"b":2}' - 'a', jsonb '[1,2,3]' - 1, jsonb '["a","b","a"]' - 'a', jsonb '{"a":1,"b":2}' - '{a,b}'::text[], jsonb '{"a":{"b":1,"c":2}}' #- '{a,b}', jsonb '[1,[2,3]]' #- '{1,0}', jsonb '[1,2]' - (-1)
----
{"b": 2}|[1, 3]|["b"]|{}|{"a": {"c": 2}}|[1, [3]]|[1]

statement error 22023
SELECT jsonb '1' - 1
----
cannot delete from scalar

statement error 22023
SELECT jsonb '{"a":1}' - 1
----
cannot delete from object using integer index

query
SELECT jsonb_set('{"a":{"b":1}}', '{a,b}', '2'), jsonb_set('{"a":{"b":1}}', '{a,c}', '[1]'), jsonb_set('{"a":{"b":1}}', '{a,c}', '3', false), jsonb_set('[1,2]', '{5}', '3'), jsonb_set('[1,2]', '{-5}', '0'), jsonb_set('[1,2]', '{0}', '"x"'), jsonb_set('{"a":1}', '{x,y}', '1')
----
{"a": {"b": 2}}|{"a": {"b": 1, "c": [1]}}|{"a": {"b": 1}}|[1, 2, 3]|[0, 1, 2]|["x", 2]|{"a": 1}

statement error 22P02
SELECT jsonb_set('[1,2]', '{x}', '3')
----
path element at position 1 is not an integer: "x"

query
SELECT jsonb_typeof('[]'), jsonb_typeof('{}'), jsonb_typeof('1'), jsonb_typeof('"x"'), jsonb_typeof('true'), json_typeof('null'), jsonb_array_length('[1,2,[3]]'), json_array_length('[]')
----
array|object|number|string|boolean|null|3|0

statement error 22023
SELECT jsonb_array_length('{"a":1}')
----
cannot get array length of a non-array

query
SELECT jsonb_strip_nulls('{"a":null,"b":[null,{"c":null}]}'), jsonb_build_object('b', 1, 'a', array[1,2], 'b', 2), jsonb_build_array(1, 'x', NULL, true), to_jsonb('x"y'::text), to_jsonb(1.50), to_jsonb(array[1,2])
----
{"b": [null, {}]}|{"a": [1, 2], "b": 2}|[1, "x", null, true]|"x\"y"|1.50|[1, 2]

query
SELECT * FROM jsonb_array_elements('[1,"x",{"a": [2]},null]')
----
1
"x"
{"a": [2]}
null

query
SELECT * FROM json_array_elements_text('[1,"x",{"a": 2},null]') WITH ORDINALITY AS t(value, n)
----
1|1
x|2
{"a": 2}|3
NULL|4

query
SELECT k FROM jsonb_object_keys('{"bb":1,"a":2}') k
----
a
bb

query
SELECT jsonb_array_elements('[1,2]'), 1
----
1|1
2|1

statement error 22023
SELECT jsonb_array_elements('{"a":1}')
----
cannot extract elements from an object

query
SELECT jsonb_agg(x), jsonb_agg(x ORDER BY x DESC) FROM generate_series(1, 3) x
----
[1, 2, 3]|[3, 2, 1]

query
SELECT jsonb_object_agg(k, v) FROM (VALUES ('b', 1), ('a', 2)) t(k, v)
----
{"a": 2, "b": 1}

query
SELECT ('5'::jsonb)::int, ('5.7'::jsonb)::int, ('1.5'::jsonb)::numeric, ('1.5'::jsonb)::float8, ('true'::jsonb)::boolean
----
5|6|1.5|1.5|t

statement error 22023
SELECT ('"x"'::jsonb)::int
----
cannot cast jsonb string to type integer

statement error 22023
SELECT ('1'::jsonb)::boolean
----
cannot cast jsonb numeric to type boolean

query
SELECT '{"a":1}'::jsonb = '{"a":1.0}', '[1,2]'::jsonb = '[2,1]', '{"a":1,"b":2}'::jsonb = '{"b":2,"a":1}', '"a"'::jsonb < '1', '[]'::jsonb < 'null', '{"a":1}'::jsonb > '[1,2,3]', '[1]'::jsonb < '[0,0]', 'true'::jsonb > 'false'
----
t|f|t|t|t|t|t|t

statement error 42883
SELECT json '1' = json '1'
----
operator does not exist: json = json
HINT: No operator matches the given name and argument types. You might need to add explicit type casts.

query
SELECT v FROM (VALUES (jsonb '2'), ('10'), ('"b"'), ('"a"'), ('null'), ('[]'), ('[3]'), ('{"a":1}'), ('true'), ('-1.5')) t(v) ORDER BY v
----
[]
null
"a"
"b"
-1.5
2
10
true
[3]
{"a": 1}

query
SELECT v, count(*) FROM (VALUES (jsonb '1'), ('1'), ('{"a":1}'), ('{"a": 1}')) t(v) GROUP BY v ORDER BY v
----
1|2
{"a": 1}|2

query
SELECT DISTINCT v FROM (VALUES (jsonb '{"a":1, "b":2}'), ('{"b":2,"a":1}')) t(v)
----
{"a": 1, "b": 2}

statement error 22P02
SELECT '{"a":1'::jsonb

statement error 22P02
SELECT 'x'::json

statement ok
CREATE TABLE docs (id int PRIMARY KEY, body jsonb NOT NULL DEFAULT '{}', raw json, tags text[] DEFAULT '{}', numbers int[])

statement ok
INSERT INTO docs VALUES (1, '{"b": 1, "a": "x"}', '{"b" : 1}', '{a,b}', array[1,2]), (2, '[1, 2]', NULL, NULL, NULL)

statement ok
INSERT INTO docs (id) VALUES (3)

statement error 22P02
INSERT INTO docs (id, body) VALUES (4, '{')

statement error 22P02
INSERT INTO docs (id, numbers) VALUES (4, '{x}')
----
invalid input syntax for type integer: "x"

query
SELECT * FROM docs ORDER BY id
----
1|{"a": "x", "b": 1}|{"b" : 1}|{a,b}|{1,2}
2|[1, 2]|NULL|NULL|NULL
3|{}|NULL|{}|NULL

query
SELECT id FROM docs WHERE body ->> 'a' = 'x'
----
1

query
SELECT id FROM docs WHERE body @> '{"b": 1}'
----
1

query
SELECT id, (body -> 'b')::int + 1 FROM docs WHERE body ? 'b'
----
1|2

query
UPDATE docs SET body = body || '{"c": [true]}', tags = array_append(tags, 'c'), numbers = '{}' WHERE id = 1 RETURNING body, tags, numbers
----
{"a": "x", "b": 1, "c": [true]}|{a,b,c}|{}

query
UPDATE docs SET body = jsonb_set(body, '{c,0}', 'false') WHERE id = 1 RETURNING body -> 'c' ->> 0
----
false

query
SELECT id FROM docs WHERE 'b' = ANY (tags)
----
1

query
SELECT id, tags[1], numbers FROM docs WHERE tags = '{a,b,c}' OR numbers IS NULL ORDER BY id
----
1|a|{}
2|NULL|NULL
3|NULL|NULL

query
SELECT id, t FROM docs, unnest(tags) t ORDER BY id, t
----
1|a
1|b
1|c

query
SELECT column_name, data_type, udt_name FROM information_schema.columns WHERE table_name = 'docs' ORDER BY ordinal_position
----
id|integer|int4
body|jsonb|jsonb
raw|json|json
tags|ARRAY|_text
numbers|ARRAY|_int4

query
SELECT a.id, b.id FROM docs a JOIN docs b ON a.body = b.body ORDER BY 1
----
1|1
2|2
3|3


query
SELECT count(*) FROM (SELECT jsonb '1' UNION SELECT '1.0' UNION SELECT '{"a":1}' UNION SELECT '{"a": 1.00}') s
----
2

# Not supported: indexes.

statement error 0A000
CREATE INDEX ON docs (body)
----
an index or key with column "body" of type jsonb is not supported

statement error 0A000
CREATE TABLE keyed (tags text[] UNIQUE)

statement error 42883
SELECT max(body) FROM docs

reopen

query
SELECT body, raw, tags FROM docs WHERE id = 1
----
{"a": "x", "b": 1, "c": [false]}|{"b" : 1}|{a,b,c}

# Values that are nested deeper than a thousand are refused, however they are made.

statement error 54001
SELECT (repeat('[',20000)||repeat(']',20000))::jsonb
----
stack depth limit exceeded
DETAIL: Arrays and objects of JSON are nested more than 1000 deep.

statement error 54001
SELECT (repeat('{"a":',1001)||'1'||repeat('}',1001))::json
----
stack depth limit exceeded
DETAIL: Arrays and objects of JSON are nested more than 1000 deep.

query
SELECT length((repeat('[',1000)||repeat(']',1000))::jsonb::text), length(to_jsonb(repeat('["\', 1500))::text)
----
2000|7502

statement error 54001
SELECT jsonb_build_array((repeat('[',1000)||repeat(']',1000))::jsonb)
----
stack depth limit exceeded
DETAIL: Arrays and objects of JSON are nested more than 1000 deep.

statement error 54001
SELECT jsonb_set('{"a":1}', '{a}', (repeat('[',1000)||repeat(']',1000))::jsonb)
----
stack depth limit exceeded
DETAIL: Arrays and objects of JSON are nested more than 1000 deep.

statement error 54001
SELECT '1'::jsonb || (repeat('{"a":',1000)||'1'||repeat('}',1000))::jsonb
----
stack depth limit exceeded
DETAIL: Arrays and objects of JSON are nested more than 1000 deep.

statement error 54001
SELECT jsonb_agg((repeat('[',1000)||repeat(']',1000))::jsonb)
----
stack depth limit exceeded
DETAIL: Arrays and objects of JSON are nested more than 1000 deep.

# Escapes that are no characters.

statement error 22P02
SELECT '{"a":"\ud83d"}'::jsonb
----
invalid input syntax for type json
DETAIL: Unicode low surrogate must follow a high surrogate.

statement error 22P02
SELECT '{"a":"\ude00"}'::jsonb

statement error 22P02
SELECT '{"\ud83d\ud83d":1}'::jsonb

statement error 22P02
SELECT '{"a":"\ud83d"}'::json ->> 'a'

statement error 22P05
SELECT '{"a":"\u0000"}'::jsonb
----
unsupported Unicode escape sequence
DETAIL: \u0000 cannot be converted to text.

statement error 22P05
SELECT '{"a":"\u0000"}'::json ->> 'a'
----
unsupported Unicode escape sequence
DETAIL: \u0000 cannot be converted to text.

query
SELECT '{"a":"\u0000\ud83d"}'::json, json_typeof('"\ud83d"'), '"\ud83d\ude00 \\u0000"'::jsonb
----
{"a":"\u0000\ud83d"}|string|"😀 \\u0000"

# Names are compared as texts, in the order of their lengths.

query
SELECT '{"aa":1}'::jsonb < '{"b":1}'::jsonb, '{"aa":1,"b":1}'::jsonb < '{"b":1,"c":0}'::jsonb, '{"a":1}'::jsonb < '{"a":1,"b":1}'::jsonb, '{"b":2,"aa":1}'::jsonb < '{"b":1,"ab":1}'::jsonb, '{"b":2,"aa":1}'::jsonb < '{"c":1,"aa":1}'::jsonb, '["b"]'::jsonb < '["aa"]'::jsonb
----
t|t|t|f|t|f

statement error 22004
SELECT jsonb_set('{"a":{"b":1}}', array['a',null], '2')
----
path element at position 2 is null

statement error 22004
SELECT '{"a":{"b":1}}'::jsonb #- array['a',null]
----
path element at position 2 is null

# Elements of arrays are compared as values are.

query
SELECT '1'::jsonb = any(array['1.0','2']::jsonb[]), '1'::jsonb <> all(array['1.0']::jsonb[]), '3'::jsonb > any(array['4']::jsonb[]), array_position(array['1.0','1']::jsonb[], '1'::jsonb), array_remove(array['1.0','2']::jsonb[], '1'::jsonb)
----
t|f|f|1|{2}

# Subscripts are a path: a number also names a field, and a name a place.

query
SELECT j['a'], j['a']['b'][1], j['a']['b'][-1], j['c'], j['a']['b']['0'], j[1], (j['a'])['b'][2], pg_typeof(j['a']) FROM (VALUES ('{"a":{"b":[1,"x",null]},"1":true}'::jsonb)) t(j)
----
{"b": [1, "x", null]}|"x"|null|NULL|1|true|null|jsonb

query
SELECT j[null], j['a'][null], (null::jsonb)['a'] FROM (VALUES ('{"a":[1]}'::jsonb)) t(j)
----
NULL|NULL|NULL

statement ok
CREATE TABLE parts (id int2 PRIMARY KEY, d jsonb, k varchar(5))

statement ok
INSERT INTO parts VALUES (1, '{"x":[10,20]}', 'x'), (0, '{"x":[5]}', 'y')

query
SELECT id, d[k][id], parts.d['x'] FROM parts ORDER BY d['x'][0], id
----
0|NULL|[5]
1|20|[10, 20]

query
SELECT id FROM parts WHERE d['x'][0] = '5'
----
0

statement ok
PREPARE part AS SELECT d[$1][$2::int] FROM parts ORDER BY id

query
EXECUTE part('x', 0)
----
5
10

statement ok
CREATE INDEX by_part ON parts (id, (d['x'] ->> 0))

statement error 42804
SELECT d['x'][1:2] FROM parts
----
jsonb subscript does not support slices

statement error 42804
SELECT d[1::bigint] FROM parts
----
subscript type bigint is not supported
HINT: jsonb subscript must be coercible to either integer or text.

statement error 42804
SELECT ('{"a":1}'::json)['a']
----
cannot subscript type json because it does not support subscripting

statement error 42804
SELECT (1)[1]
----
cannot subscript type integer because it does not support subscripting

statement ok
DROP TABLE parts
