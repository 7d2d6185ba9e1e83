# Paths of SQL/JSON: the type.

query
select '$'::jsonpath, 'strict $'::jsonpath, 'lax $.a'::jsonpath, '$.a.b[*]'::jsonpath, '$."a b"[0, 1 to last]'::jsonpath, '$.*'::jsonpath, '$.**'::jsonpath, '$.**{2}.a'::jsonpath, '$.**{1 to last}'::jsonpath, '$.**{last}'::jsonpath, '$.**{2 to 3}'::jsonpath
----
$|strict $|$."a"|$."a"."b"[*]|$."a b"[0,1 to last]|$.*|$.**|$.**{2}."a"|$.**{1 to last}|$.**{last}|$.**{2 to 3}

query
select '$.a ? (@.b > 1 && !(@.c == "x") || exists (@.d))'::jsonpath, '$ ? (@ starts with "a")'::jsonpath, '$ ? (@ like_regex "^a" flag "im")'::jsonpath, '$ ? ((@ > 1) is unknown)'::jsonpath, '$ ? (@ starts with $x)'::jsonpath
----
$."a"?(@."b" > 1 && !(@."c" == "x") || exists (@."d"))|$?(@ starts with "a")|$?(@ like_regex "^a" flag "im")|$?((@ > 1) is unknown)|$?(@ starts with $"x")

query
select '1 + 2 * 3'::jsonpath, '(1 + 2) * 3'::jsonpath, '-$.a + 1'::jsonpath, '-(1 + $.a)'::jsonpath, '1 - (2 - 3)'::jsonpath, '($.a + 1).type()'::jsonpath, '(1).type()'::jsonpath, '$.a.size() % 2'::jsonpath, '- - 1'::jsonpath, '+1'::jsonpath, '2 * -1'::jsonpath
----
(1 + 2 * 3)|((1 + 2) * 3)|(-$."a" + 1)|(-(1 + $."a"))|(1 - (2 - 3))|($."a" + 1).type()|(1).type()|($."a".size() % 2)|1|1|(2 * -1)

query
select '$.a == 1'::jsonpath, '($.a == 1) || ($.b != null)'::jsonpath, '$.a <> true'::jsonpath, '!($.a > 1)'::jsonpath, '$x.y + $"a b"'::jsonpath, '"a\u00e9\n"'::jsonpath, '1e3'::jsonpath, '.5'::jsonpath, '1.'::jsonpath, '$.a /* a comment */ . b'::jsonpath, '$.type.size.last'::jsonpath, '$.keyvalue().key'::jsonpath
----
($."a" == 1)|($."a" == 1 || $."b" != null)|($."a" != true)|!($."a" > 1)|($"x"."y" + $"a b")|"aé\n"|1000|0.5|1|$."a"."b"|$."type"."size"."last"|$.keyvalue()."key"

query
select '$.a ? (@ > 1) ? (@ < 5).b'::jsonpath, '$[$.n]'::jsonpath, '$[last - 1]'::jsonpath, '$.STRICT'::jsonpath, 'STRICT $'::jsonpath, '$ ? (@.a == "x" && @.b == false)'::jsonpath, '$.abs().floor().ceiling().double()'::jsonpath, '(($.a).b).c'::jsonpath, '($.a > 1).type()'::jsonpath
----
$."a"?(@ > 1)?(@ < 5)."b"|$[$."n"]|$[last - 1]|$."STRICT"|strict $|$?(@."a" == "x" && @."b" == false)|$.abs().floor().ceiling().double()|$."a"."b"."c"|($."a" > 1).type()

statement error 22P02
select ''::jsonpath

statement error 42601
select '$a.'::jsonpath

statement error 42601
select '@'::jsonpath

statement error 42601
select 'last'::jsonpath

statement error 42601
select '$.'::jsonpath

statement error 42601
select '$ ? @.a'::jsonpath

statement error 42601
select '$[1'::jsonpath

statement error 42601
select '1 ='::jsonpath

statement error 42601
select '$ ? (1)'::jsonpath

statement error 42601
select '1 + ($.a > 1)'::jsonpath

statement error 42601
select '$.a like_regex "x"  flag "z"'::jsonpath

statement error 42601
select '01'::jsonpath

statement error 42601
select '1a'::jsonpath

statement error 42601
select '"abc'::jsonpath

statement error 42601
select '$.a.nothing()'::jsonpath

statement error 42601
select '$ == 1 == 2'::jsonpath

statement error 42601
select '$.1'::jsonpath

statement error 22P05
select '"\u0000"'::jsonpath

statement error 0A000
select '$ ? (@ like_regex "a" flag "x")'::jsonpath

query
select pg_typeof('$'::jsonpath), '$'::jsonpath::text, null::jsonpath, '$.a'::jsonpath is null
----
jsonpath|$|NULL|f

statement error 42883
select '$'::jsonpath = '$'::jsonpath

# Walks.

query
select jsonb_path_query('{"a": [1, 2, {"b": 3}], "c": null}', '$.a[*]')
----
1
2
{"b": 3}

query
select jsonb_path_query('{"a": {"b": [1, 2]}, "c": [[3]]}', '$.**')
----
{"a": {"b": [1, 2]}, "c": [[3]]}
{"b": [1, 2]}
[1, 2]
1
2
[[3]]
[3]
3

query
select jsonb_path_query('{"a": [{"b": 1}, {"b": 2}, {"c": 3}]}', '$.a.b')
----
1
2

query
select jsonb_path_query('{"a": [{"b": 1}, {"b": 2}]}', '$.a[*] ? (@.b > 1)')
----
{"b": 2}

query
select jsonb_path_query('[1, 2, 3, 4]', '$[1 to last]'), jsonb_path_query('[1, 2, 3, 4]', '$[last]')
----
2|4
3|NULL
4|NULL

query
select jsonb_path_query('[1, "2", null, true, {}, []]', '$[*].type()')
----
"number"
"string"
"null"
"boolean"
"object"
"array"

query
select jsonb_path_query('[1.5, -2.5, 3]', '$[*].floor()'), jsonb_path_query('[1.5, -2.5, 3]', '$[*].ceiling()'), jsonb_path_query('[1.5, -2.5, 3]', '$[*].abs()')
----
1|2|1.5
-3|-2|2.5
3|3|3

query
select jsonb_path_query('["1.5", 2, "1e3"]', '$[*].double()')
----
1.5
2
1000

query
select jsonb_path_query('{"a": 1, "b": [1, {"c": 1}], "d": {"e": 1}}', '$.keyvalue()')
----
{"id": 0, "key": "a", "value": 1}
{"id": 0, "key": "b", "value": [1, {"c": 1}]}
{"id": 0, "key": "d", "value": {"e": 1}}

statement error 2203C
select jsonb_path_query('{"a": 12345.678, "b": {"x": "yy", "z": null}, "d": [{"e": 1}]}', '$.**.keyvalue().id')

query
select jsonb_path_query('[[1, 2], [3]]', '$.size()'), jsonb_path_query('1', '$.size()')
----
2|1

query
select jsonb_path_query_array('{"a": [1, 2, 3]}', '$.a[*] ? (@ >= $min && @ <= $max)', '{"min": 2, "max": 4}')
----
[2, 3]

query
select jsonb_path_query_first('[1, 2]', '$[*] ? (@ > 1)'), jsonb_path_query_first('[1, 2]', '$[*] ? (@ > 5)'), jsonb_path_query_array('[]', '$[*]'), jsonb_path_query_first(null, '$')
----
2|NULL|[]|NULL

query
select jsonb_path_query_array('{"a": 2, "b": 3}', '$.a + $.b * 2'), jsonb_path_query_array('[1, 2]', '-$[*]'), jsonb_path_query_array('{"a": 7}', '$.a % 4'), jsonb_path_query_array('{"a": 7}', '$.a / 2'), jsonb_path_query_array('[7]', '$ - 1')
----
[8]|[-1, -2]|[3]|[3.5000000000000000]|[6]

query
select jsonb_path_exists('{"a": 1}', '$.a'), jsonb_path_exists('{"a": 1}', '$.b'), jsonb_path_exists('{"a": 1}', 'strict $.b', '{}', true), jsonb_path_exists('[1]', 'strict $.a', '{}', true), jsonb_path_exists('[{"a": 1}]', '$.a')
----
t|f|NULL|NULL|t

query
select jsonb_path_match('{"a": 1}', '$.a == 1'), jsonb_path_match('{"a": 1}', '$.a > $x', '{"x": 5}'), jsonb_path_match('{"a": "x"}', '$.a > 1'), jsonb_path_match('{"a": 1}', 'exists ($.a)'), jsonb_path_match('{"a": 1}', '$.a', '{}', true)
----
t|f|NULL|t|NULL

query
select '{"a": 1}'::jsonb @? '$.a', '{"a": 1}'::jsonb @? '$.b', '{"a": 1}'::jsonb @@ '$.a == 1', '{"a": 1}'::jsonb @@ '$.a > 5', '{"a": 1}'::jsonb @@ '$.a', '1'::jsonb @? 'strict $.a', '{"a": 1}'::jsonb @? '$ ? (@.a == $x)', '{"a": [1, 2]}'::jsonb @@ '$.a[*] > 1'
----
t|f|t|f|NULL|NULL|f|t

query
select jsonb_path_query_array('["abc", "Abd", "b\nc"]', '$[*] ? (@ like_regex "^ab")'), jsonb_path_query_array('["abc", "Abd"]', '$[*] ? (@ like_regex "^ab" flag "i")'), jsonb_path_query_array('["a.c", "abc"]', '$[*] ? (@ like_regex "a.c" flag "q")'), jsonb_path_query_array('["b\nc"]', '$[*] ? (@ like_regex "b.c")'), jsonb_path_query_array('["b\nc"]', '$[*] ? (@ like_regex "b.c" flag "s")'), jsonb_path_query_array('["b\nc"]', '$[*] ? (@ like_regex "^c" flag "m")'), jsonb_path_query_array('["b\nc"]', '$[*] ? (@ like_regex "^c")')
----
["abc"]|["abc", "Abd"]|["a.c"]|[]|["b\nc"]|["b\nc"]|[]

query
select jsonb_path_query_array('["abc", "bcd", 1]', '$[*] ? (@ starts with "a")'), jsonb_path_query_array('["abc", "bcd"]', '$[*] ? (@ starts with $x)', '{"x": "b"}')
----
["abc"]|["bcd"]

query
select jsonb_path_query_array('[1, "a", null, true]', '$[*] ? ((@ > 0) is unknown)'), jsonb_path_query_array('[null, 1]', '$[*] ? (@ == null)'), jsonb_path_query_array('[null, 1]', '$[*] ? (@ != null)'), jsonb_path_query_array('[true, false]', '$[*] ? (@ == true)'), jsonb_path_query_array('["b", "a"]', '$[*] ? (@ < "b")'), jsonb_path_query_array('[[1], {}]', '$[*] ? (@ == 1)')
----
["a", true]|[null]|[1]|[true]|["a"]|[1]

query
select jsonb_path_query_array('{"a": 1}', '$.a ? (@ == $x)', '{"x": 1}'), jsonb_path_query_array('1', '$ == 1'), jsonb_path_query_array('1', '"a" == 1')
----
[1]|[true]|[null]

query
select jsonb_path_query_array('[1, 2, 3]', '$[0, 2, 0 to 1]'), jsonb_path_query_array('[1, 2, 3]', '$[5]'), jsonb_path_query_array('[1, 2, 3]', '$[2 to 1]'), jsonb_path_query_array('[1, 2, 3]', '$[-1]'), jsonb_path_query_array('5', '$[0]'), jsonb_path_query_array('[1, 2, 3]', '$[1.7]'), jsonb_path_query_array('[[1, 2], [3]]', '$[*][last]')
----
[1, 3, 1, 2]|[]|[]|[]|[5]|[2]|[2, 3]

query
select jsonb_path_query_array('{"a": {"b": {"c": 1}}}', '$.**{2}'), jsonb_path_query_array('{"a": {"b": {"c": 1}}}', '$.**{1 to 2}'), jsonb_path_query_array('{"a": {"b": [1, 2]}}', '$.**{last}'), jsonb_path_query_array('{"a": {"b": {"b": 1}}}', '$.**.b'), jsonb_path_query_array('{"a": {"b": {"b": 1}}}', 'strict $.**.b')
----
[{"c": 1}]|[{"b": {"c": 1}}, {"c": 1}]|[1, 2]|[{"b": 1}, 1]|[{"b": 1}, 1]

statement error 2203A
select jsonb_path_query('{"a": 1}', 'strict $.b')

statement error 2203A
select jsonb_path_query('[1]', 'strict $.a')

statement error 2203C
select jsonb_path_query('1', 'strict $.*')

statement error 22039
select jsonb_path_query('1', 'strict $[*]')

statement error 22039
select jsonb_path_query('1', 'strict $[0]')

statement error 22033
select jsonb_path_query('[1]', 'strict $[1]')

statement error 22033
select jsonb_path_query('[1]', '$["a"]')

statement error 22033
select jsonb_path_query('[1]', '$[10000000000]')

statement error 22036
select jsonb_path_query('"a"', '$.abs()')

statement error 22036
select jsonb_path_query('"a"', '$.double()')

statement error 22036
select jsonb_path_query('null', '$.double()')

statement error 22036
select jsonb_path_query('"inf"', '$.double()')

statement error 22039
select jsonb_path_query('1', 'strict $.size()')

statement error 2203C
select jsonb_path_query('1', '$.keyvalue()')

statement error 22038
select jsonb_path_query('"a"', '$ + 1')

statement error 22038
select jsonb_path_query('[1, 2]', '$ + 1')

statement error 22038
select jsonb_path_query('1', '1 + $.a')

statement error 2203B
select jsonb_path_query('"a"', '-$')

statement error 22012
select jsonb_path_query('1', '$ / 0')

statement error 42704
select jsonb_path_query('1', '$x')

statement error 22023
select jsonb_path_query('1', '$x', '[1]')

statement error 22038
select jsonb_path_match('1', '$')

query
select jsonb_path_query('1', '$ / 0', '{}', true)
----

query
select jsonb_path_query('[1, "a", 2]', '$[*] ? (1 / (@ - 1) > 0)')
----
2

query
select jsonb_path_query('[1, "a", 2]', '-$[*]', '{}', true)
----
-1

query
select x.n, p from (values (1, '{"a": [1, 2]}'::jsonb), (2, '{"a": 5}')) x(n, doc), jsonb_path_query(x.doc, '$.a[*]') p order by 1, 2
----
1|1
1|2
2|5

statement ok
create table docs (id int primary key, doc jsonb, path jsonpath)

statement ok
insert into docs values (1, '{"tags": ["a", "b"], "n": 5}', '$.tags[*]'), (2, '{"tags": [], "n": 7}', '$.n'), (3, null, null)

query
select id from docs where doc @? '$.tags[*] ? (@ == "b")'
----
1

query
select id from docs where doc @@ '$.n > 6'
----
2

query
select id, jsonb_path_query_array(doc, path), path from docs order by id
----
1|["a", "b"]|$."tags"[*]
2|[7]|$."n"
3|NULL|NULL

query
select id, t from docs, jsonb_path_query(doc, '$.tags[*]') t order by 1, 2
----
1|"a"
1|"b"

query
select array['$.a'::jsonpath, '$']
----
{"$.\"a\"",$}


# Walks that begin at the root again within others, operands and copies are bounded.

statement error 54001
select (repeat('[', 990) || '1' || repeat(']', 990))::jsonb @@ '$.**{last} ? ($.**{last} ? ($.**{last} ? ($.**{last} ? ($.**{last} ? ($.**{last} ? ($.**{last} ? ($.**{last} ? ($.**{last} ? ($.**{last} ? ($.**{last} ? ($.**{last} ? ($.**{last} ? ($.**{last} ? ($.**{last} ? ($.**{last} ? ($.**{last} ? ($.**{last} ? ($.**{last} ? ($.**{last} ? ($.**{last} ? ($.**{last} ? ($.**{last} ? ($.**{last} ? ($.**{last} ? ($.**{last} ? ($.**{last} ? ($.**{last} ? ($.**{last} ? ($.**{last} ? ($.**{last} ? ($.**{last} ? ($.**{last} ? ($.**{last} ? ($.**{last} ? ($.**{last} ? ($.**{last} ? ($.**{last} ? ($.**{last} ? ($.**{last} ? (1 == 1) == 1) == 1) == 1) == 1) == 1) == 1) == 1) == 1) == 1) == 1) == 1) == 1) == 1) == 1) == 1) == 1) == 1) == 1) == 1) == 1) == 1) == 1) == 1) == 1) == 1) == 1) == 1) == 1) == 1) == 1) == 1) == 1) == 1) == 1) == 1) == 1) == 1) == 1) == 1) == 1'

statement error 54000
select ('[[[' || repeat('1,', 100000) || '1]]]')::jsonb @@ '$[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0][0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0] == 2'

statement error 54000
select jsonb_path_query_array(('{"a":"' || repeat('x', 1000000) || '"}')::jsonb, '$[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0][0,0,0,0,0,0,0,0,0,0].keyvalue()')

statement error 54000
select length(array_replace(array_fill('a'::text, array[1000000]), 'a', repeat('x', 1000000))::text)
