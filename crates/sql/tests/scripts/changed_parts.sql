# Functions that change a part of JSON, of bytes or of an array, and objects of arrays. The answers are those of PostgreSQL 15.

query
select json_object('{}'::text[]), json_object('{a,1,b,2,3,NULL,"d e f","a b c"}'::text[]), json_object('{{a,1},{b,2},{3,NULL},{"d\"e f","a b c"}}'::text[])
----
{}|{"a" : "1", "b" : "2", "3" : null, "d e f" : "a b c"}|{"a" : "1", "b" : "2", "3" : null, "d\"e f" : "a b c"}

query
select jsonb_object('{b,1,a,2,b,NULL}'::text[]), jsonb_object('{a,b,c}'::text[], '{1,2,NULL}'::text[]), json_object('{}'::text[], '{}'::text[]), json_object('{a,a}'::text[], '{1,2}'::text[])
----
{"a": "2", "b": null}|{"a": "1", "b": "2", "c": null}|{}|{"a" : "1", "a" : "2"}

query
select json_object('[0:1]={a,"x	y"}'::text[]), json_object(null::text[]), jsonb_object('{a}'::text[], null::text[])
----
{"a" : "x\ty"}|NULL|NULL

statement error 2202E
select json_object('{a,b,c}'::text[])

statement error 2202E
select json_object('{{a},{b}}'::text[])

statement error 2202E
select json_object('{{a,b,c},{b,c,d}}'::text[])

statement error 2202E
select json_object('{{{a,b},{c,d}},{{b,c},{d,e}}}'::text[])

statement error 2202E
select jsonb_object('{a,b}'::text[], '{1}'::text[])

statement error 2202E
select jsonb_object('{{a,b}}'::text[], '{{1,2}}'::text[])

statement error 22004
select json_object('{a,NULL,NULL,b}'::text[])

statement error 2202E
select json_object('{a}'::text[], '{{1}}'::text[])

query
select json_strip_nulls('null'), json_strip_nulls('[1, null, {"a": null, "b": [null, {"c": null}]}]'), json_strip_nulls('{"a": 1, "b": null, "c": [], "d": {}, "a": 2.50e1, "e": "null"}'), json_strip_nulls('{"a": null, "b": null}')
----
null|[1,null,{"b":[null,{}]}]|{"a":1,"c":[],"d":{},"a":2.50e1,"e":"null"}|{}

query
select json_strip_nulls(' { "x\u0041\"[": "\u00e9\\" , "n" : null , "z{" : [ "[" , "," , null ] } '), json_strip_nulls('{"a": {"b": null}, "c": {"d": {"e": null, "f": false}}}'), json_strip_nulls('[[], [[1], {}]]'), json_strip_nulls('"a"'), json_strip_nulls(' -1.50 ')
----
{"xA\"[":"é\\","z{":["[",",",null]}|{"a":{},"c":{"d":{"f":false}}}|[[],[[1],{}]]|"a"|-1.50

query
select jsonb_insert('{"a": [0,1,2]}', '{a,1}', '"new"')
----
{"a": [0, "new", 1, 2]}

query
select jsonb_insert('{"a": [0,1,2]}', '{a,1}', '"new"', true)
----
{"a": [0, 1, "new", 2]}

query
select jsonb_insert('{"a": [0,1,2]}', '{a,-1}', '"new"')
----
{"a": [0, 1, "new", 2]}

query
select jsonb_insert('{"a": [0,1,2]}', '{a,-1}', '"new"', true)
----
{"a": [0, 1, 2, "new"]}

query
select jsonb_insert('{"a": [0,1,2]}', '{a,10}', '"new"')
----
{"a": [0, 1, 2, "new"]}

query
select jsonb_insert('{"a": [0,1,2]}', '{a,-10}', '"new"', true)
----
{"a": ["new", 0, 1, 2]}

query
select jsonb_insert('{"a": [0,1,2]}', '{a,-10}', '"new"')
----
{"a": ["new", 0, 1, 2]}

query
select jsonb_insert('{"a": [0,1,2]}', '{b}', '"new"')
----
{"a": [0, 1, 2], "b": "new"}

query
select jsonb_insert('{"a": [0,1,2]}', '{x,y}', '"new"')
----
{"a": [0, 1, 2]}

query
select jsonb_insert('{"a": [0,1,2]}', '{}', '"new"')
----
{"a": [0, 1, 2]}

query
select jsonb_insert('{"a": [0,1,2]}', '{a,1,z}', '"new"')
----
{"a": [0, 1, 2]}

query
select jsonb_insert('[]', '{1}', '5'), jsonb_insert('[]', '{1}', '5', true), jsonb_insert('{}', '{a}', '5'), jsonb_insert('{"bb": {"c": 1}}', '{bb,a}', '[1]'), jsonb_insert('{"a": 1}', null, '2')
----
[5]|[5]|{"a": 5}|{"bb": {"a": [1], "c": 1}}|NULL

statement error 22023
select jsonb_insert('{"a": {"b": 1}}', '{a,b}', '2')

statement error 22023
select jsonb_insert('{"a": {"b": 1}}', '{a,b}', '2', true)

statement error 22023
select jsonb_insert('1', '{a}', '2')

statement error 22P02
select jsonb_insert('[1]', '{x}', '2')

statement error 22004
select jsonb_insert('[1]', '{NULL}', '2')

statement error 2202E
select jsonb_insert('[1]', '{{0}}', '2')

query
select get_bit('\x0102'::bytea, 0), get_bit('\x0102'::bytea, 8), get_bit('\x0102'::bytea, 9), set_bit('\x0102'::bytea, 15, 1), set_bit('\x01ff'::bytea, 8, 0), set_byte('\x0102'::bytea, 1, 255), set_byte('\x0102'::bytea, 0, 257), set_byte('\x0102'::bytea, 0, -1), bit_count('\x0102ff'::bytea), bit_count(''::bytea)
----
1|0|1|\x0182|\x01fe|\x01ff|\x0102|\xff02|10|0

statement error 42725
select bit_count('abc')

statement error 2202E
select get_bit('\x01'::bytea, 8)

statement error 2202E
select get_bit(''::bytea, 0)

statement error 2202E
select set_bit('\x01'::bytea, -1, 1)

statement error 22023
select set_bit('\x01'::bytea, 0, 2)

statement error 2202E
select set_byte('\x01'::bytea, 1, 2)

query
select num_nulls(1, null, 'a'), num_nonnulls(1, null, 'a'), num_nulls(null), num_nonnulls(array[null::int]), num_nulls(null::int, null::text)
----
1|2|1|1|2

statement error 42883
select num_nulls()

query
select trim_array(array[1,2,3], 1), trim_array(array[1,2], 2), trim_array('[5:7]={a,b,c}'::text[], 2), trim_array(array[[1,2],[3,4]], 1), trim_array('{}'::int[], 0), trim_array(array[1], null)
----
{1,2}|{}|{a}|{{1,2}}|{}|NULL

statement error 2202E
select trim_array(array[1,2], 3)

statement error 2202E
select trim_array(array[1,2], -1)

statement error 2202E
select trim_array('{}'::int[], 1)

# A step into an array is a number as C reads it.
query
select jsonb_insert('[[1]]', '{" 0","	+1"}', '2'), jsonb_set('[1, 2]', '{" -1"}', '3'), '[[1, 2]]'::jsonb #- '{" 0",1}', '[1,2]'::jsonb #> '{" 1"}', '[1,2]'::json #>> '{" +1"}', '[1,2]'::jsonb #> '{"1 "}'
----
[[1, 2]]|[1, 3]|[[1]]|2|2|NULL

statement error 22P02
select jsonb_insert('[1]', '{99999999999}', '2')
----
path element at position 1 is not an integer: "99999999999"

statement error 22P02
select jsonb_set('[1]', '{"0 "}', '2')
