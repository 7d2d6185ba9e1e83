# One NaN, whatever computed it: in keys, in indexes, in order and in groups. The answers are PostgreSQL's.

statement CREATE TABLE
CREATE TABLE f (v float8 PRIMARY KEY, w float4)

statement INSERT 0 1
INSERT INTO f VALUES ('NaN', 'NaN')

statement error 23505
INSERT INTO f VALUES ('inf'::float8 - 'inf'::float8, 1)

statement error 23505
INSERT INTO f VALUES (-('inf'::float8 - 'inf'::float8), 1)

statement error 23505
INSERT INTO f VALUES ('inf'::float8 * 0, 1)

statement error 23505
INSERT INTO f VALUES ('-NaN'::float8, 1)

statement INSERT 0 3
INSERT INTO f VALUES ('inf', 'inf'::float4 - 'inf'::float4), ('-inf', 2), (0, -('NaN'::float4))

query
SELECT v FROM f WHERE v = 'inf'::float8 - 'inf'::float8
----
NaN

query
SELECT v FROM f ORDER BY v
----
-Infinity
0
Infinity
NaN

query
SELECT v FROM f WHERE v > 'inf' OR v < 0 ORDER BY v DESC
----
NaN
-Infinity

statement CREATE INDEX
CREATE INDEX by_w ON f (w)

query
SELECT count(*) FROM f WHERE w = 'NaN'
----
3

query
SELECT w, count(*) FROM f GROUP BY w ORDER BY w
----
2|1
NaN|3

statement UPDATE 1
UPDATE f SET w = 'inf'::float4 - 'inf'::float4 WHERE v = '-inf'

query
SELECT count(*) FROM f WHERE w = 'NaN'
----
4

reopen

statement error 23505
INSERT INTO f VALUES ('inf'::float8 - 'inf'::float8, 1)
