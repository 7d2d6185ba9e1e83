# JSON taken apart into columns and rows, with PostgreSQL's answers.

# Parts of JSON.

query
select json_extract_path('{"a": {"b": [1, "x"]}}', 'a', 'b', '1'), json_extract_path_text('{"a": {"b": [1, "x"]}}', 'a', 'b', '1'), jsonb_extract_path('{"a": {"b": [1, "x"]}}', 'a'), jsonb_extract_path_text('{"a": null}', 'a'), jsonb_extract_path('{"a": null}', 'b')
----
"x"|x|{"b": [1, "x"]}|NULL|NULL

query
select jsonb_extract_path('{"a": [1, 2]}', 'a', '-1'), jsonb_extract_path('{"a": 1}', null), json_extract_path('{"a":1,"a":{"b":2}}', 'a', 'b'), jsonb_extract_path('1', 'a')
----
2|NULL|2|NULL

statement error 42883
select jsonb_extract_path('{}')

query
select jsonb_set_lax('{"a": 1, "b": 2}', '{a}', null), jsonb_set_lax('{"a": 1}', '{b}', null, true), jsonb_set_lax('{"a": 1}', '{b}', null, false), jsonb_set_lax('{"a": 1}', '{a}', '2')
----
{"a": null, "b": 2}|{"a": 1, "b": null}|{"a": 1}|{"a": 2}

query
select jsonb_set_lax('{"a": 1, "b": 2}', '{a}', null, true, 'delete_key'), jsonb_set_lax('{"a": 1}', '{a}', null, true, 'return_target'), jsonb_set_lax('{"a": 1}', '{a}', null, true, 'use_json_null'), jsonb_set_lax(null, '{a}', '1'), jsonb_set_lax('{"a": 1}', null, '1')
----
{"b": 2}|{"a": 1}|{"a": null}|NULL|NULL

statement error 22004
select jsonb_set_lax('{"a": 1}', '{a}', null, true, 'raise_exception')

statement error 22023
select jsonb_set_lax('{"a": 1}', '{a}', null, true, 'no')

statement error 22023
select jsonb_set_lax('{"a": 1}', '{a}', null, true, null)

# The word has no meaning with a value.

query
select jsonb_set_lax('{"a": 1}', '{a}', '2', true, 'no')
----
{"a": 2}

statement error 22023
select jsonb_set_lax('{"a": 1}', '{a}', '2', true, null)

statement error 22023
select jsonb_set_lax('1', '{a}', '2')

# JSON as rows.

query
select * from json_each('{"a": 1, "b": "x", "a": null}')
----
a|1
b|"x"
a|null

query
select * from json_each_text('{"a": 1, "b": "x\ny", "c": null, "d": {"e" : 1}}')
----
a|1
b|x
y
c|NULL
d|{"e" : 1}

query
select * from jsonb_each('{"b": 1, "a": [1, 2], "b": 3}') with ordinality
----
a|[1, 2]|1
b|3|2

query
select key, value from jsonb_each_text('{"b": null, "aa": true, "c": "\u00e9"}') order by key
----
aa|true
b|NULL
c|é

query
select j.k, j.v from (values ('{"a": 1}'::jsonb), ('{"b": 2, "c": 3}')) t(x), jsonb_each(t.x) j(k, v)
----
a|1
b|2
c|3

query
select t.n, e.key from (values (1, '{"a": 1}'::json), (2, null), (3, '{}')) t(n, x) left join lateral json_each(t.x) e on true order by 1
----
1|a
2|NULL
3|NULL

query
select count(*) from jsonb_each(null)
----
0

statement error 22023
select * from json_each('[1]')

statement error 22023
select * from json_each('1')

statement error 22023
select * from jsonb_each('[1]')

statement error 22023
select * from jsonb_each_text('1')

statement error 42883
select * from json_each(1)

statement error 42601
select * from json_each('{"a": 1}') as t(a int, b text)

query
select * from json_to_record('{"a": 1, "b": "x", "c": [1, 2], "d": {"e": 1}}') as t(a int, b text, c int[], d jsonb, e text)
----
1|x|{1,2}|{"e": 1}|NULL

query
select * from jsonb_to_record('{"a": 1.5, "b": true, "c": null, "d": [1, "2"]}') as t(a numeric(3, 0), b text, c int, d text)
----
2|true|NULL|[1, "2"]

query
select * from json_to_recordset('[{"a": 1, "b": "x"}, {"a": "2"}, {"b": null, "a": null}]') as t(a int, b text)
----
1|x
2|NULL
NULL|NULL

query
select * from jsonb_to_recordset('[{"a": "2024-02-29", "b": "abcdef"}, {"a": null, "b": {"x": 1}}]') as t(a date, b text) order by a
----
2024-02-29|abcdef
NULL|{"x": 1}

query
select a + 1, upper(b) from json_to_recordset('[{"a": 1, "b": "x"}]') as t(a int, b text) where a = 1
----
2|X

query
select * from jsonb_to_record('{"a": [[1, 2], [3, 4]], "b": "{1,2}", "c": [], "j": [1, {"x": [2]}], "k": "x"}') as t(a int[], b int[], c text[], j jsonb[], k jsonb)
----
{{1,2},{3,4}}|{1,2}|{}|{1,"{\"x\": [2]}"}|"x"

query
select * from json_to_record('{"a" : { "b" : 1 } , "t": "x\"y"}') as t(a json, t json)
----
{ "b" : 1 }|"x\"y"

query
select * from json_to_record('{"a": "2024-03-31 01:00", "b": "1 day"}') as t(a timestamptz, b interval)
----
2024-03-31 01:00:00+00|1 day

statement error 22001
select * from json_to_record('{"a": "abc"}') as t(a varchar(2))

statement error 22P02
select * from json_to_record('{"a": "x"}') as t(a int)

statement error 22P02
select * from json_to_record('{"a": 5}') as t(a int[])

statement error 22P02
select * from json_to_record('{"a": [1, [2]]}') as t(a int[])

statement error 22P02
select * from json_to_record('{"a": [[1], [2, 3]]}') as t(a int[])

statement error 22023
select * from json_to_record('[1]') as t(a int)

statement error 22023
select * from jsonb_to_record('1') as t(a int)

statement error 22023
select * from json_to_recordset('{"a": 1}') as t(a int)

statement error 22023
select * from json_to_recordset('[1]') as t(a int)

statement error 22023
select * from jsonb_to_recordset('{"a": 1}') as t(a int)

statement error 22023
select * from jsonb_to_recordset('[{"a": 1}, 2]') as t(a int)

statement error 42601
select * from json_to_record('{"a": 1}')

statement error 42601
select * from json_to_record('{"a": 1}') as t(a)

query
select * from json_to_recordset('[]') as t(a int)
----

query
select t.id, r.name from (values (1, '[{"name": "x"}, {"name": "y"}]'::jsonb)) t(id, doc), jsonb_to_recordset(t.doc) as r(name text)
----
1|x
1|y

