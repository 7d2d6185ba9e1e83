# Rows as values. The answers are PostgreSQL 15's.

statement ok
create table gg (a int primary key, b text)

statement ok
insert into gg values (1, 'x'), (2, 'y z'), (3, null)

statement ok
create table nk (x int, y text)

statement ok
insert into nk values (1, null), (null, null), (2, '')

# Whole rows as JSON.

query
select json_agg(gg) from gg
----
[{"a":1,"b":"x"}, 
 {"a":2,"b":"y z"}, 
 {"a":3,"b":null}]

query
select json_agg(gg order by gg.a desc), jsonb_agg(gg order by a) from gg
----
[{"a":3,"b":null}, 
 {"a":2,"b":"y z"}, 
 {"a":1,"b":"x"}]|[{"a": 1, "b": "x"}, {"a": 2, "b": "y z"}, {"a": 3, "b": null}]

query
select json_agg(gg.* order by gg.a desc) from gg
----
[{"a":3,"b":null}, 
 {"a":2,"b":"y z"}, 
 {"a":1,"b":"x"}]

query
select json_agg(gg) filter (where a > 1) from gg
----
[{"a":2,"b":"y z"}, 
 {"a":3,"b":null}]

query
select json_agg(gg) from gg where a > 5
----
NULL

query
select coalesce(json_agg(gg), '[]') from gg where a > 5
----
[]

query
select json_build_object('x', gg), jsonb_build_object('x', gg, 'y', to_jsonb(gg)) from gg where a = 2
----
{"x" : {"a":2,"b":"y z"}}|{"x": {"a": 2, "b": "y z"}, "y": {"a": 2, "b": "y z"}}

query
select json_build_array(gg, 1), json_strip_nulls(to_json(gg)) from gg where a = 3
----
[{"a":3,"b":null}, 1]|{"a":3}

query
select array_agg(row_to_json(gg) order by a) from gg
----
{"{\"a\":1,\"b\":\"x\"}","{\"a\":2,\"b\":\"y z\"}","{\"a\":3,\"b\":null}"}

query
select array_to_json(array_agg(gg)), array_to_json(array_agg(gg), true) from gg
----
[{"a":1,"b":"x"},{"a":2,"b":"y z"},{"a":3,"b":null}]|[{"a":1,"b":"x"},
 {"a":2,"b":"y z"},
 {"a":3,"b":null}]

query
select json_agg(t) from (select a, b from gg order by a desc) t
----
[{"a":3,"b":null}, 
 {"a":2,"b":"y z"}, 
 {"a":1,"b":"x"}]

query
select json_agg(row_to_json(t)) from (select a, b from gg order by a desc) t
----
[{"a":3,"b":null}, {"a":2,"b":"y z"}, {"a":1,"b":"x"}]

query
select u.a, (select json_agg(x order by x.a) from gg x where x.a <= u.a) from gg u order by 1
----
1|[{"a":1,"b":"x"}]
2|[{"a":1,"b":"x"}, 
 {"a":2,"b":"y z"}]
3|[{"a":1,"b":"x"}, 
 {"a":2,"b":"y z"}, 
 {"a":3,"b":null}]

query
select json_object_agg(a, gg) from gg
----
{ "1" : {"a":1,"b":"x"}, "2" : {"a":2,"b":"y z"}, "3" : {"a":3,"b":null} }

query
select jsonb_agg(to_jsonb(gg) - 'b' order by a) from gg
----
[{"a": 1}, {"a": 2}, {"a": 3}]

query
select row_to_json(gg.*), to_json(gg), row_to_json(gg, true) from gg order by a
----
{"a":1,"b":"x"}|{"a":1,"b":"x"}|{"a":1,
 "b":"x"}
{"a":2,"b":"y z"}|{"a":2,"b":"y z"}|{"a":2,
 "b":"y z"}
{"a":3,"b":null}|{"a":3,"b":null}|{"a":3,
 "b":null}

query
select row_to_json(row(1, 2)), row_to_json((1, 2)), to_json(row(1, 'a'::text))
----
{"f1":1,"f2":2}|{"f1":1,"f2":2}|{"f1":1,"f2":"a"}

query
select row_to_json(row(1, 'a b', '', null, 'q"u', 'b\s', true, 1.50, array[1, 2], row(1, 2)))
----
{"f1":1,"f2":"a b","f3":"","f4":null,"f5":"q\"u","f6":"b\\s","f7":true,"f8":1.50,"f9":[1,2],"f10":{"f1":1,"f2":2}}

query
with c as (select a, b from gg where a < 3) select json_agg(c) from c
----
[{"a":1,"b":"x"}, 
 {"a":2,"b":"y z"}]

query
with c as materialized (select a, b from gg where a < 3) select json_agg(c order by a) from c
----
[{"a":1,"b":"x"}, 
 {"a":2,"b":"y z"}]

query
select json_agg(v) from (values (1, 'x'), (2, null)) v(n, t)
----
[{"n":1,"t":"x"}, 
 {"n":2,"t":null}]

query
select json_agg(g) from generate_series(1, 2) g
----
[1, 2]

query
select json_agg(g) from generate_series(1, 2) g(x)
----
[1, 2]

query
select json_agg(u) from unnest(array['a', 'b']) with ordinality u(e, n)
----
[{"e":"a","n":1}, 
 {"e":"b","n":2}]

query
select json_agg(e) from json_each('{"a": 1, "b": [2]}') e
----
[{"key":"a","value":1}, 
 {"key":"b","value":[2]}]

query
select json_agg(s) from (select gg, a + 1 as next from gg where a < 3) s
----
[{"gg":{"a":1,"b":"x"},"next":2}, 
 {"gg":{"a":2,"b":"y z"},"next":3}]

# An alias renames the fields of a query's rows, not those of a table's.

query
select json_agg(g) from gg g(x, y)
----
[{"a":1,"b":"x"}, 
 {"a":2,"b":"y z"}, 
 {"a":3,"b":null}]

query
select json_agg(g) from (select * from gg) g(x, y)
----
[{"x":1,"y":"x"}, 
 {"x":2,"y":"y z"}, 
 {"x":3,"y":null}]

# All columns of the table, those that USING merged, too.

query
select json_agg(u order by u.a) from gg join gg u using (a)
----
[{"a":1,"b":"x"}, 
 {"a":2,"b":"y z"}, 
 {"a":3,"b":null}]

# Texts.

query
select a, gg, gg::text, gg.b from gg order by a
----
1|(1,x)|(1,x)|x
2|(2,"y z")|(2,"y z")|y z
3|(3,)|(3,)|NULL

query
select row(1, 'a b', '', null, 'q"u', 'b\s', true, 1.50, array[1, 2], row(1, 2))
----
(1,"a b","",,"q""u","b\\s",t,1.50,"{1,2}","(1,2)")

query
select row(), row(1), (1, 2), row(1, null)::text
----
()|(1)|(1,2)|(1,)

query
select row(g.*, 1), row(g, 1) from gg g order by a
----
(1,x,1)|("(1,x)",1)
(2,"y z",1)|("(2,""y z"")",1)
(3,,1)|("(3,)",1)

query
select g || 'x', concat(g, 1), format('%s', g) from gg g order by a
----
(1,x)x|(1,x)1|(1,x)
(2,"y z")x|(2,"y z")1|(2,"y z")
(3,)x|(3,)1|(3,)

query
select string_agg(g::text, ';' order by a) from gg g
----
(1,x);(2,"y z");(3,)

query
select json_agg(public.gg.* order by a) from gg
----
[{"a":1,"b":"x"}, 
 {"a":2,"b":"y z"}, 
 {"a":3,"b":null}]

statement error 42P01
select public.gg from gg

query
select pg_typeof(row(1, 2)), pg_typeof(s), pg_typeof(array_agg(s) over ()) from (select 1 as a) s
----
record|record|record[]

# A row that an outer join did not find is null; one with nulls alone is not.

query
select gg.a, nk from gg left join nk on nk.x = gg.a order by 1
----
1|(1,)
2|(2,"")
3|NULL

query
select gg.a, nk is null, nk is not null, count(nk) over () from gg left join nk on nk.x = gg.a order by 1
----
1|f|f|2
2|f|t|2
3|t|f|2

query
select gg.a, count(z), json_agg(z) from gg left join gg z on z.a = gg.a + 1 group by gg.a order by 1
----
1|1|[{"a":2,"b":"y z"}]
2|1|[{"a":3,"b":null}]
3|0|[null]

query
select z is null from gg left join gg z on z.a = gg.a + 1 order by gg.a
----
f
f
t

query
select count(nk), count(*), json_agg(nk order by gg.a) from gg left join nk on nk.x is null and gg.a = 1
----
1|3|[{"x":null,"y":null}, null, null]

query
select count(s), json_agg(s order by gg.a) from gg left join (select null as p, null as q) s on gg.a < 3
----
2|[{"p":null,"q":null}, 
 {"p":null,"q":null}, null]

query
select count(s), count(gg), json_agg(s) from gg right join (select null as p, 7 as q) s on gg.a = s.q
----
1|0|[{"p":null,"q":7}]

query
select count(s), count(n) from (select x, y from nk) s full join nk n on s.x = n.x
----
3|3

query
select count(l), json_agg(l order by gg.a) from gg left join lateral (select null::int as q where gg.a = 2) l on true
----
1|[null, 
 {"q":null}, null]

query
with c as materialized (select null::int as q) select count(c), json_agg(c order by gg.a) from gg left join c on gg.a = 2
----
1|[null, 
 {"q":null}, null]

query
select count(o), json_agg(o order by gg.a) from gg left join lateral unnest(array[gg.b]) with ordinality o(e, n) on gg.a > 2
----
1|[null, null, 
 {"e":null,"n":1}]

query
select count(k) from gg left join (nk join nk k on true) on gg.a = 2
----
9

query
select gg.a, coalesce(json_agg(nk) filter (where nk is not null), '[]') from gg left join nk on nk.x = gg.a group by gg.a order by 1
----
1|[]
2|[{"x":2,"y":""}]
3|[]

query
select count(z) from gg left join gg z on z is not null and z.a = gg.a
----
2

query
select count(n) from gg left join nk n on n is null
----
3

# Fields.

query
select (g).a, (g).* from gg g order by 1
----
1|1|x
2|2|y z
3|3|NULL

query
select (gg).b from gg order by 1
----
x
y z
NULL

query
select (row(1, 2)).f1
----
1

query
select (row(g.a, g)).*, (g).* from gg g order by 1
----
1|(1,x)|1|x
2|(2,"y z")|2|y z
3|(3,)|3|NULL

query
select u.a, (select row_to_json(row(x.*, u.b)) from gg x where x.a = u.a) from gg u order by 1
----
1|{"f1":1,"f2":"x","f3":"x"}
2|{"f1":2,"f2":"y z","f3":"y z"}
3|{"f1":3,"f2":null,"f3":null}

query
select u.a, (select json_agg(x order by x.a) filter (where u.a > 1) from gg x where x.a <= u.a) from gg u order by 1
----
1|NULL
2|[{"a":1,"b":"x"}, 
 {"a":2,"b":"y z"}]
3|[{"a":1,"b":"x"}, 
 {"a":2,"b":"y z"}, 
 {"a":3,"b":null}]

query
select u.a, (select count(u)) from gg u group by a order by 1
----
1|1
2|1
3|1

statement error 42703
select (row(1, 2)).f3

query
select (row(g.a, g.b)).f2 from gg g order by 1
----
x
y z
NULL

# Comparison.

query
select g < row(2, 'z'::text), g = row(1, 'x'::text), g is distinct from row(1, 'x'::text) from gg g order by a
----
t|t|f
t|f|t
f|f|t

query
select (select n from nk n limit 1) = (select n from nk n limit 1)
----
t

query
select row(1, null) = row(1, null)
----
NULL

statement error 42804
select g = row(1::bigint, 'x'::text) from gg g

statement error 42804
select g = row(1) from gg g

query
select a from gg g where g in (select h from gg h where a > 1) order by 1
----
2
3

query
select nullif(g, g), g between g and g from gg g order by a
----
NULL|t
NULL|t
NULL|t

# Not as in PostgreSQL, which compares the fields one by one, and here finds none that differ.
statement error 42883
select s from (select a, '1'::json as j from gg) s order by s

query
select count(distinct g), count(g), count(*) from gg g
----
3|3|3

query
select json_agg(distinct n) from nk n
----
[{"x":1,"y":null}, 
 {"x":2,"y":""}, 
 {"x":null,"y":null}]

query
select json_agg(distinct g), array_agg(distinct g) from gg g, nk
----
[{"a":1,"b":"x"}, 
 {"a":2,"b":"y z"}, 
 {"a":3,"b":null}]|{"(1,x)","(2,\"y z\")","(3,)"}

query
select n from nk n order by n
----
(1,)
(2,"")
(,)

query
select n from nk n order by n desc
----
(,)
(2,"")
(1,)

query
select distinct n from nk n order by 1
----
(1,)
(2,"")
(,)

query
select g from gg g union select g from gg g order by 1
----
(1,x)
(2,"y z")
(3,)

query
select g, count(*) from gg g, nk group by g order by g
----
(1,x)|3
(2,"y z")|3
(3,)|3

query
select jsonb_agg(g), to_jsonb(g) - 'b' from gg g group by g order by g
----
[{"a": 1, "b": "x"}]|{"a": 1}
[{"a": 2, "b": "y z"}]|{"a": 2}
[{"a": 3, "b": null}]|{"a": 3}

query
select row_to_json(gg) from gg group by a order by a
----
{"a":1,"b":"x"}
{"a":2,"b":"y z"}
{"a":3,"b":null}

query
select n from nk n group by x, n.y, n order by 1
----
(1,)
(2,"")
(,)

query
select row_number() over (order by g desc), lag(g) over (order by a) from gg g order by 1
----
1|(2,"y z")
2|(1,x)
3|NULL

query
select json_agg(g) over (order by a) from gg g
----
[{"a":1,"b":"x"}]
[{"a":1,"b":"x"}, 
 {"a":2,"b":"y z"}]
[{"a":1,"b":"x"}, 
 {"a":2,"b":"y z"}, 
 {"a":3,"b":null}]

statement error 42883
select max(g) from gg g

statement error 42883
select sum(g) from gg g

# IS NULL looks at the fields, but not into records among them.

query
select row(1, 2) is null, row(null, null) is null, row(null, 1) is not null, row(null, row(null)) is null
----
f|t|f|f

query
select n is null, n is not null from nk n order by n
----
f|f
f|t
t|f

query
select a from gg g where g is not null order by 1
----
1
2

query
select n.x from nk n where n.* is null
----
NULL

# Arrays.

query
select array[g] from gg g order by a
----
{"(1,x)"}
{"(2,\"y z\")"}
{"(3,)"}

query
select array_agg(g order by g desc), (array_agg(g order by a))[2] from gg g
----
{"(3,)","(2,\"y z\")","(1,x)"}|(2,"y z")

query
select unnest(array_agg(g order by a)) from gg g
----
(1,x)
(2,"y z")
(3,)

query
select json_agg(x) from (select array_agg(g order by a) as all_of from gg g) x
----
[{"all_of":[{"a":1,"b":"x"},{"a":2,"b":"y z"},{"a":3,"b":null}]}]

query
select array(select g from gg g order by a)
----
{"(1,x)","(2,\"y z\")","(3,)"}

query
select array[row(1, 2)] = array[row(1, 2)], array[row(1, 2)] < array[row(1, 3)]
----
t|t

# Other expressions.

query
select case when a > 1 then g end, coalesce(g, g) from gg g order by a
----
NULL|(1,x)
(2,"y z")|(2,"y z")
(3,)|(3,)

query
select u.a, (select u) from gg u order by 1
----
1|(1,x)
2|(2,"y z")
3|(3,)

query
select u.a, (select json_build_object('u', u, 'n', count(*)) from nk) from gg u order by 1
----
1|{"u" : {"a":1,"b":"x"}, "n" : 3}
2|{"u" : {"a":2,"b":"y z"}, "n" : 3}
3|{"u" : {"a":3,"b":null}, "n" : 3}

query
select u.a from gg u where exists (select 1 from nk where row_to_json(u)->>'a' = nk.x::text) order by 1
----
1
2

query
select json_agg(t) from (select '{1,2}'::int[] as arr, '{"k":1}'::jsonb as j, 1.500::numeric as n, 'a '::char(5) as c, 'NaN'::float8 as f, '2024-01-02'::date as d) t
----
[{"arr":[1,2],"j":{"k": 1},"n":1.500,"c":"a    ","f":"NaN","d":"2024-01-02"}]

query
select json_agg(t) from (select '2024-01-02 03:04:05+00'::timestamptz as ts, array['2024-01-02 03:04:05+00'::timestamptz] as a) t
----
[{"ts":"2024-01-02T03:04:05+00:00","a":["2024-01-02T03:04:05+00:00"]}]

statement ok
set timezone = 'Asia/Kolkata'

query
select row_to_json(t), t, t::text, json_agg(t) over () from (select '2024-01-02 03:04:05+00'::timestamptz as ts, array['2024-01-02 03:04:05+00'::timestamptz] as a) t
----
{"ts":"2024-01-02T08:34:05+05:30","a":["2024-01-02T08:34:05+05:30"]}|("2024-01-02 08:34:05+05:30","{""2024-01-02 08:34:05+05:30""}")|("2024-01-02 08:34:05+05:30","{""2024-01-02 08:34:05+05:30""}")|[{"ts":"2024-01-02T08:34:05+05:30","a":["2024-01-02T08:34:05+05:30"]}]

query
select to_json(array['2024-01-02 03:04:05+00'::timestamptz])
----
["2024-01-02T08:34:05+05:30"]

statement ok
set timezone = 'UTC'

# A column of the table's own name is the column, also that of a query around.

statement ok
create table own (own int, b int)

statement ok
insert into own values (7, 8)

query
select own, json_agg(own) from own group by own
----
7|[7]

query
select json_agg(o) from own o
----
[{"own":7,"b":8}]

query
select (select json_agg(own) from gg own where own.a = 1) from own
----
[7]

statement error 42703
select foo from gg

statement error 42703
select gg.foo from gg

statement error 42703
select json_agg(foo) from gg

statement error 42P01
select json_agg(foo.*) from gg

# Input, and columns of tables.

statement error 0A000
select '(1,2)'::record

statement error 42P16
create table bad (r record)

statement error 42P16
alter table gg add column r record

statement error 42P17
create index on gg ((row_to_json(gg)::text))

statement error 22023
select json_object_agg(g, 1) from gg g

statement error 22023
select json_build_object(g, 1) from gg g

statement error 42883
select lower(g) from gg g

statement error 42883
select g + 1 from gg g

statement error 42803
select gg from gg group by b

statement error 42846
select row(1, 2)::int

# Rows that statements write.

query
insert into gg values (9, 'n') returning gg, row_to_json(gg), gg.*
----
(9,n)|{"a":9,"b":"n"}|9|n

query
update gg set b = 'm' where a = 9 returning gg
----
(9,m)

query
insert into gg values (9, 'k') on conflict (a) do update set b = row_to_json(excluded)->>'b' || (row_to_json(gg)->>'b') returning gg
----
(9,km)

query
update gg set b = json_build_array(n)::text from nk n where gg.a = 9 and n.x = 2 returning gg.b, n
----
[{"x":2,"y":""}]|(2,"")

query
delete from gg where a = 9 returning row_to_json(gg)
----
{"a":9,"b":"[{\"x\":2,\"y\":\"\"}]"}

copy_out
copy (select gg from gg order by a) to stdout
----
(1,x)
(2,"y z")
(3,)

statement ok
prepare p as select json_agg(gg order by a) from gg where a > $1

query
execute p(1)
----
[{"a":2,"b":"y z"}, 
 {"a":3,"b":null}]

# Views over whole rows.

statement ok
create view w1 as select json_agg(g order by g.a) as j from gg g

statement ok
create view w2 as select json_agg(g.* order by g.a) as j, count(g) filter (where g is not null) as c, row_to_json(row(1, 2)) as r from gg g

query
select w1.j, w2.j::text = w1.j::text, c, r from w1, w2
----
[{"a":1,"b":"x"}, 
 {"a":2,"b":"y z"}, 
 {"a":3,"b":null}]|t|2|{"f1":1,"f2":2}

reopen

query
select w1.j, w2.j::text = w1.j::text, c, r from w1, w2
----
[{"a":1,"b":"x"}, 
 {"a":2,"b":"y z"}, 
 {"a":3,"b":null}]|t|2|{"f1":1,"f2":2}

query
select pg_get_viewdef('w2'::regclass) ilike '%row(1, 2)%'
----
t

query
select json_agg(w) from w2 w where c = 2
----
[{"j":[{"a":1,"b":"x"}, 
 {"a":2,"b":"y z"}, 
 {"a":3,"b":null}],"c":2,"r":{"f1":1,"f2":2}}]

# The bytes of a record are shown to no one.
query
select array_to_string(array_agg(g order by a), ';'), array_to_string(array_agg(g order by a), ';', '-'), concat(min(a), array_agg(g order by a)) from gg g
----
(1,x);(2,"y z");(3,)|(1,x);(2,"y z");(3,)|1{"(1,x)","(2,\"y z\")","(3,)"}

statement ok
set timezone = 'Asia/Kolkata'

query
select concat(t), format('%s', t), t::text from (select '2024-01-02 03:04:05+00'::timestamptz as at) t
----
("2024-01-02 08:34:05+05:30")|("2024-01-02 08:34:05+05:30")|("2024-01-02 08:34:05+05:30")

statement ok
reset timezone

# Fields that are computed have their errors when rows are counted.
statement error 22012
select count(row(1 / (a - 1))) from gg

# Not as in PostgreSQL: a kept expression has columns alone.
statement error 0A000
create table kept (a int, check ((kept).a > 0))

statement error 0A000
create index on gg (((gg).a + 1))

statement error 0A000
create table kept (a int, b int generated always as ((kept).a + 1) stored)

# A row of functions is there though all its columns are null.
query
select count(u), json_agg(u) from gg left join unnest(array[null::int], array[null::int]) u(a, b) on gg.a = 1
----
1|[{"a":null,"b":null}, null, null]

query
select count(u), count(*) from gg left join json_to_recordset('[{}]') u(a int, b int) on gg.a = 1
----
1|3

query
select u from gg left join unnest(array[1, 2], array['x', null]) with ordinality u(a, b, n) on u.a = gg.a order by gg.a
----
(1,x,1)
(2,,2)
NULL

# The columns of (table).* are those of table.*, with their lengths.
statement ok
create table sized (a numeric(10, 2), b varchar(5), c char(4))

statement ok
insert into sized values (1.5, 'b', 'c')

statement ok
create table copied as select (s).* from sized s

query
select attname, format_type(atttypid, atttypmod) from pg_attribute where attrelid = 'copied'::regclass and attnum > 0 order by attnum
----
a|numeric(10,2)
b|character varying(5)
c|character(4)

# Not as in PostgreSQL: a record has a bound.
statement error 54000
select row(row(row(repeat('"', 8000000))))
