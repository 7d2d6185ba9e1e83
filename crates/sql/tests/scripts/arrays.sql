# Arrays as PostgreSQL 15 has them: literals are read whole, elements have their types, arrays of arrays their dimensions.

query
select array[array['a'],array['b']]
----
{{a},{b}}

query
select array[[1,2],[3,4]]
----
{{1,2},{3,4}}

statement error 2202E
select array[[1,2],[3]]

statement error 22P02
select '{1,x}'::int[]

query
select '{1,2}'::int[]
----
{1,2}

query
select '{ 1 , 2 }'::int[]
----
{1,2}

query
select '{a, b c ,d}'::text[]
----
{a,"b c",d}

query
select '{"a b","c\"d","e\\f"}'::text[]
----
{"a b","c\"d","e\\f"}

query
select '{null,"null",NULL}'::text[]
----
{NULL,"null",NULL}

query
select '{}'::int[]
----
{}

query
select ' {1} '::int[]
----
{1}

statement error 22P02
select '{1,2'::int[]

statement error 22P02
select '1,2}'::int[]

statement error 22P02
select '{1,,2}'::int[]

statement error 22P02
select '{1,2,}'::int[]

statement error 22P02
select '{,1}'::int[]

query
select '{{1,2},{3,4}}'::int[]
----
{{1,2},{3,4}}

statement error 22P02
select '{{1,2},{3}}'::int[]

statement error 22P02
select '{1,{2}}'::int[]

query
select '[0:1]={1,2}'::int[]
----
[0:1]={1,2}

query
select '[1:2]={1,2}'::int[]
----
{1,2}

statement error 22P02
select '[1:3]={1,2}'::int[]

statement error 2202E
select '[2:1]={}'::int[]

statement error 22P02
select 'abc'::int[]

statement error 22P02
select ''::int[]

statement error 22P02
select '{1}x'::int[]

statement error 22P02
select '{a"b"c}'::text[]

statement error 22P02
select '{"a"b}'::text[]

statement error 22P02
select '{"ab}'::text[]

query
select '{a\,b}'::text[]
----
{"a,b"}

statement error 22P02
select '{a\'::text[]

query
select '{t,f,true}'::bool[]
----
{t,f,t}

statement error 22P02
select '{t,maybe}'::bool[]

statement error 22003
select '{99999999999}'::int[]

statement error 22003
select '{32768}'::int2[]

statement error 22P02
select '{1.5}'::int[]

query
select '{}'::text[] = '{}'::text[]
----
t

query
select array[1,2] = array[1,2], array[1,2] < array[1,3], array[1] < array[1,0], array[10] < array[9]
----
t|t|t|f

query
select array[1,2] || 3, 0 || array[1,2], array[1,2] || array[3]
----
{1,2,3}|{0,1,2}|{1,2,3}

query
select array['a'] || 'b'::text, array['a'] || '{b,c}'
----
{a,b}|{a,b,c}

query
select array[1,2] || null::int[], null || array[1]
----
{1,2}|{1}

query
select array[1, 2.5]
----
{1,2.5}

statement error 22P02
select array[1, 'x']

query
select array['a', null]
----
{a,NULL}

query
select array[]::int[]
----
{}

statement error 42P18
select array[]

query
select array[null]
----
{NULL}

query
select array_length(array[1,2,3],1), array_length('{}'::int[],1), array_length(array[1],2)
----
3|NULL|NULL

query
select cardinality(array[1,2]), cardinality('{}'::int[])
----
2|0

query
select array_upper(array[1,2],1), array_lower(array[1,2],1)
----
2|1

query
select array_lower('[0:1]={1,2}'::int[],1)
----
0

query
select array_ndims(array[1,2]), array_dims(array[1,2])
----
1|[1:2]

query
select (array[1,2,3])[2], (array[1,2,3])[0], (array[1,2,3])[4]
----
2|NULL|NULL

query
select 2 = any(array[1,2]), 3 = any(array[1,2]), null = any(array[1]), 3 = any(array[1,null])
----
t|f|NULL|NULL

query
select 2 = all(array[2,2]), 2 <> all(array[1,3]), 2 > all(array[1,null]), 2 < any(array[1,3])
----
t|t|NULL|t

query
select 2 = any('{1,2}'), 2 = any('{1,2}'::int[]), 'a' = any('{a,b}'::text[])
----
t|t|t

query
select 2 = any('{}'::int[]), 2 = all('{}'::int[])
----
f|t

query
select array_agg(x) from (values (1),(2),(null)) v(x)
----
{1,2,NULL}

query
select array_agg(x) from (values ('a b'),('c,d'),(null),('')) v(x)
----
{"a b","c,d",NULL,""}

query
select array_agg(x order by x desc) from (values (1),(2)) v(x)
----
{2,1}

query
select array_agg(x) from (values (1)) v(x) where false
----
NULL

query
select array_agg(d) from (values ('2024-01-01'::date)) v(d)
----
{2024-01-01}

query
select array_agg(d) from (values (1.5),(2.25)) v(d)
----
{1.5,2.25}

query
select array_agg(d) from (values (1.5::float8),(2.25)) v(d)
----
{1.5,2.25}

query
select array_agg(d) from (values (true)) v(d)
----
{t}

query
select unnest(array[1,2,null])
----
1
2
NULL

query
select array_to_string(array[1,null,3], ','), array_to_string(array[1,null,3], ',', '*')
----
1,3|1,*,3

query
select array(select 1 union select 2 order by 1)
----
{1,2}

query
select array(select 'a' where false)
----
{}

query
select '{1,2}'::int[]::text[]
----
{1,2}

query
select '{1,2}'::text[]::int[]
----
{1,2}

statement error 22P02
select '{1,x}'::text[]::int[]

query
select array[1,2]::text
----
{1,2}

query
select array['2024-01-01'::date]
----
{2024-01-01}

statement error 22P02
select array['x'::uuid]

query
select array[1::bigint, 2]
----
{1,2}

query
select array[1::smallint]
----
{1}

query
select array[1.0, 2.50]
----
{1.0,2.50}

query
select array['a'::char(3)]
----
{"a  "}

query
select array['a'::varchar]
----
{a}

query
select array[true, false]
----
{t,f}

query
select array_position(array['a','b'], 'b')
----
2

query
select array_append(array[1,2], 3)
----
{1,2,3}

query
select array_prepend(0, array[1,2])
----
{0,1,2}

query
select array_cat(array[1], array[2])
----
{1,2}

query
select array_remove(array[1,2,1], 1)
----
{2}

query
select string_to_array('a,b,c', ',')
----
{a,b,c}

query
select string_to_array('a,,c', ',', '')
----
{a,NULL,c}

query
select array[1,2] is null, array[1,2] is not null
----
f|t

query
select array[1,2] in (array[1,2], array[3])
----
t

query
select array[1,2] <> array[1,2,3]
----
t

query
select array[1,2] = '{1,2}'
----
t

statement error 42883
select array[1,2] = array['1','2']

query
select array['a','b'] = array['b','a']
----
f

query
select array[array[1,2],array[3,4]] = array[[1,2],[3,4]]
----
t

query
select array_length(array[[1,2],[3,4]], 2)
----
2

query
select unnest(array[[1,2],[3,4]])
----
1
2
3
4

query
select array_agg(a) from (values (array[1,2]), (array[3,4])) v(a)
----
{{1,2},{3,4}}

query
select max(a) from (values (array[1,2]), (array[3])) v(a)
----
{3}

query
select a from (values (array[10]), (array[9])) v(a) order by a
----
{9}
{10}

query
select distinct a from (values (array[1,2]), ('{1,2}'), ('{ 1, 2 }'::int[])) v(a)
----
{1,2}

query
select '{ 1, 2 }'::int[] = '{1,2}'::int[]
----
t

query
select '{01,2}'::int[], '{ TRUE }'::bool[]
----
{1,2}|{t}

query
select '{"1","2"}'::int[]
----
{1,2}

query
select '{"a"}'::text[] = '{a}'::text[]
----
t

query
select array['{', '}', '"', '\', ' ', 'NULL', 'null', '', 'a,b']
----
{"{","}","\"","\\"," ","NULL","null","","a,b"}

query
select '{2024-01-01}'::date[]
----
{2024-01-01}

query
select '{1.50,2}'::numeric[]
----
{1.50,2}

query
select '{1.5}'::float8[]
----
{1.5}

query
select '{1,2}'::bigint[], '{1,2}'::smallint[]
----
{1,2}|{1,2}

statement error 22P02
select array_length('{1,x}'::int[], 1)

statement error 22P02
select 1 = any('{1,x}'::int[])

statement error 22P02
select 1 = any('{x}'::int[])

query
select null::int[], array_length(null::int[], 1)
----
NULL|NULL

query
select array[1,2]::bigint[], array[1,2]::float8[]
----
{1,2}|{1,2}

statement error 22003
select array[3000000000]::int[]

query
select array_to_json(array[1,2]), to_json(array['a',null])
----
[1,2]|["a",null]

query
select '{1,2}'::int[][1]
----
{1,2}

query
select ('{1,2}'::int[])[1]
----
1

query
select array_upper('{1}'::int[],1)
----
1

query
select generate_subscripts(array[5,6],1)
----
1
2

query
select array[1,2]::varchar
----
{1,2}

query
select '{a,b}'::varchar[]
----
{a,b}

query
select '{a,b}'::name[]
----
{a,b}

query
select '{a , b}'::text[]
----
{a,b}

query
select E'{a\tb, c}'::text[]
----
{"a	b",c}

statement error 22P02
select '{"", }'::text[]

query
select '{ }'::text[]
----
{}

query
select '{""}'::text[]
----
{""}

statement error 22P02
select '{{},{}}'::int[]

statement error 22P02
select '{{}}'::int[]

statement error 22P02
select '{{},{1}}'::int[]

statement error 22P02
select '{{{}}}'::int[]

statement error 22P02
select '{{1},{}}'::int[]

statement error 22P02
select '{ {} }'::text[]

query
select '{}'::int[] || '{{1}}'::int[]
----
{{1}}
