# JSON as PostgreSQL 15 writes it.

query
select json_build_object('a', 1, 'b', 1.5, 'c', true, 'd', null, 'e', 'x"y')
----
{"a" : 1, "b" : 1.5, "c" : true, "d" : null, "e" : "x\"y"}

query
select json_build_object('a', 1.50::numeric, 'b', 1e20::float8, 'c', 'NaN'::float8)
----
{"a" : 1.50, "b" : 1e+20, "c" : "NaN"}

query
select json_build_object('a', '2024-01-01'::date, 'b', '2024-01-01 10:00:00'::timestamp, 'c', '2024-01-01 10:00:00+00'::timestamptz)
----
{"a" : "2024-01-01", "b" : "2024-01-01T10:00:00", "c" : "2024-01-01T10:00:00+00:00"}

query
select json_build_object('a', json_build_object('b', 2))
----
{"a" : {"b" : 2}}

query
select json_build_object('a', array[1,2], 'b', array['x',null])
----
{"a" : [1,2], "b" : ["x",null]}

query
select json_build_object(1, 2)
----
{"1" : 2}

query
select json_build_object(true, 2)
----
{"true" : 2}

statement error 22023
select json_build_object(null, 2)

statement error 22023
select json_build_object('a')

query
select json_build_object()
----
{}

query
select json_build_object('a', '{"x":1}'::json)
----
{"a" : {"x":1}}

query
select json_build_object('a', 12345678901234567890::numeric, 'b', 123456789012::bigint)
----
{"a" : 12345678901234567890, "b" : 123456789012}

query
select json_build_object('a', E'tab\tnl\n\u0001é')
----
{"a" : "tab\tnl\n\u0001é"}

query
select json_build_object('b', 1, 'a', 2, 'b', 3)
----
{"b" : 1, "a" : 2, "b" : 3}

query
select json_build_array(1, 'a', null, true, 1.50)
----
[1, "a", null, true, 1.50]

query
select json_build_array()
----
[]

query
select to_json(1), to_json('a'::text), to_json(true), to_json(null::int), to_json(1.50)
----
1|"a"|true|NULL|1.50

query
select to_json('2024-01-01'::date)
----
"2024-01-01"

query
select to_json('2024-01-01 00:00:00+00'::timestamptz)
----
"2024-01-01T00:00:00+00:00"

query
select to_json('a'::char(3))
----
"a  "

query
select json_build_object('a', 'ab'::char(4))
----
{"a" : "ab  "}

query
select json_build_object('u', '67e55044-10b1-426f-9247-bb680e5fe0c8'::uuid, 'b', '\x01ff'::bytea)
----
{"u" : "67e55044-10b1-426f-9247-bb680e5fe0c8", "b" : "\\x01ff"}

query
select json_agg(x) from (values (1),(2),(null)) v(x)
----
[1, 2, null]

query
select json_agg(x) from (values ('a'),('b"')) v(x)
----
["a", "b\""]

query
select json_agg(x order by x desc) from (values (1),(2)) v(x)
----
[2, 1]

query
select json_object_agg(k, v) from (values ('a',1),('b',2)) t(k,v)
----
{ "a" : 1, "b" : 2 }

query
select json_build_object('t', '10:00:00'::time)
----
{"t" : "10:00:00"}

query
select json_build_object('f', 0.1::float4, 'g', 1::float8)
----
{"f" : 0.1, "g" : 1}

query
select json_build_object('i', 'Infinity'::float8)
----
{"i" : "Infinity"}

query
select jsonb_build_object('b', 1, 'a', 2)
----
{"a": 2, "b": 1}

query
select '{"a":1}'::json
----
{"a":1}

statement error 22P02
select '{"a":1'::json

statement error 22P02
select 'x'::json

query
select '1'::json, 'null'::json, '"a"'::json
----
1|null|"a"

query
select '{"a": 1}'::json::text
----
{"a": 1}

query
select json_build_object('a', 'x', 'b', json_build_array(1,2))
----
{"a" : "x", "b" : [1, 2]}

query
select json_build_object('o', 16384::oid, 's', 3::smallint)
----
{"o" : "16384", "s" : 3}
