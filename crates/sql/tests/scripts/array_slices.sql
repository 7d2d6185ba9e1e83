# Slices of arrays. The answers are those of PostgreSQL 15, except where it is said.

query
SELECT (ARRAY[1,2,3,4])[2:3], (ARRAY[1,2,3,4])[2:9], (ARRAY[1,2,3,4])[-3:1], (ARRAY[1,2,3,4])[3:2], (ARRAY[1,2,3,4])[1:NULL], (NULL::int[])[1:2]
----
{2,3}|{2,3,4}|{1}|{}|NULL|NULL

query
SELECT (ARRAY[1,2,3,4])[:2], (ARRAY[1,2,3,4])[3:], (ARRAY[1,2,3,4])[:], ('{}'::int[])[1:2]
----
{1,2}|{3,4}|{1,2,3,4}|{}

query
SELECT (ARRAY[[1,2],[3,4],[5,6]])[2:3], (ARRAY[[1,2],[3,4],[5,6]])[1:2][2:2], (ARRAY[[1,2],[3,4],[5,6]])[2:3][1], (ARRAY[[1,2],[3,4]])[1:1][1:1][1:1]
----
{{3,4},{5,6}}|{{2},{4}}|{{3},{5}}|{}

query
SELECT ('[0:3]={a,b,NULL,d}'::text[])[1:2], ('[0:3]={a,b,NULL,d}'::text[])[0:0], ('[5:6]={a,b}'::text[])[1:9]
----
{b,NULL}|{a}|{a,b}

query
SELECT ((ARRAY[1,2,3,4])[2:3])[1], pg_typeof((ARRAY['a','b']::varchar(3)[])[1:1]), array_length((ARRAY[1,2,3])[2:3], 1), array_dims((ARRAY[1,2,3])[2:3])
----
2|character varying[]|2|[1:2]

query
SELECT (ARRAY['x y','"q"',NULL,'null'])[1:4], (ARRAY[1.50,2.25])[2:2], (ARRAY[1,2,3])[1+1:length('abc')]
----
{"x y","\"q\"",NULL,"null"}|{2.25}|{2,3}

# PostgreSQL answers {1,2}.
statement error 0A000
SELECT ('1 2 3'::int2vector)[0:1]

statement error 22P02
SELECT (ARRAY[1,2,3])['a':2]

statement error 42804
SELECT ('abc'::text)[1:2]

# A part of a column, also of one that is null.
statement ok
CREATE TABLE t_slices (id int, a varchar(5)[])

statement ok
INSERT INTO t_slices VALUES (1, '{a,b,c}'), (2, '{}'), (3, NULL)

query
SELECT id, a[2:3], t_slices.a[1:1] FROM t_slices WHERE a[1:1] IS DISTINCT FROM '{x}' ORDER BY id
----
1|{b,c}|{a}
2|{}|{}
3|NULL|NULL

statement ok
DROP TABLE t_slices
