# Types whose values are compared by keys of their own, or not at all. Answers are PostgreSQL 15's.

statement error 42883
SELECT DISTINCT j FROM (VALUES ('1'::json), ('1')) v(j)
----
could not identify an equality operator for type json

statement error 42883
SELECT j FROM (VALUES ('1'::json), ('1')) v(j) ORDER BY j
----
could not identify an ordering operator for type json

statement error 42883
SELECT j FROM (VALUES ('1'::json), ('1')) v(j) ORDER BY 1
----
could not identify an ordering operator for type json

statement error 42883
SELECT j FROM (VALUES ('1'::json), ('1')) v(j) GROUP BY j
----
could not identify an equality operator for type json

statement error 42883
SELECT '1'::json UNION SELECT '1'::json

query
SELECT '1'::json UNION ALL SELECT '1'::json
----
1
1

statement error 42883
SELECT count(DISTINCT j) FROM (VALUES ('1'::json)) v(j)

statement error 42883
SELECT array_agg(j ORDER BY j) FROM (VALUES ('1'::json)) v(j)

statement error 42883
SELECT count(*) OVER (PARTITION BY j) FROM (VALUES ('1'::json)) v(j)

statement error 42883
SELECT count(*) OVER (ORDER BY j) FROM (VALUES ('1'::json)) v(j)

statement error 42883
SELECT DISTINCT ON (j) j FROM (VALUES ('1'::json)) v(j)

statement error 42883
SELECT greatest('1'::json, '2'::json)
----
could not identify a comparison function for type json

statement error 42883
WITH RECURSIVE r(j) AS (SELECT '1'::json UNION SELECT j FROM r) SELECT * FROM r

query
SELECT greatest('{1,2}'::int[], '{1,10}', NULL), least('{1,2}'::int[], '{1,10}'), greatest(interval '1 mon', '29 days'), least(interval '1 day', '-1 day', '2 days'), greatest('{"a":1}'::jsonb, '2', '[3]'), greatest(interval '30 days', '1 mon')
----
{1,10}|{1,2}|1 mon|-1 days|{"a": 1}|30 days

query
WITH RECURSIVE r(n, j) AS (SELECT 1, '{"a": 1}'::jsonb UNION SELECT n, '{"a": 1.0}'::jsonb FROM r) SELECT * FROM r
----
1|{"a": 1}

query
WITH RECURSIVE r(v) AS (SELECT interval '1 mon' UNION SELECT CASE WHEN v = interval '1 mon' THEN interval '30 days' ELSE v END FROM r) SELECT count(*) FROM r
----
1

query
WITH RECURSIVE r(a) AS (SELECT ARRAY[1.0] UNION SELECT ARRAY[1.00] FROM r) SELECT * FROM r
----
{1.0}

query
SELECT ARRAY[1.0] UNION SELECT ARRAY[1.00]
----
{1.0}

# Bytes.

query
SELECT '\x00ff'::bytea || '\x61', 'a' || '\x62'::bytea, substring('\x00ff61'::bytea FROM 2 FOR 1), substring('abc'::bytea FROM 0 FOR 2), substr('abc'::bytea, 2), substring('abc'::bytea FROM 9)
----
\x00ff61|\x6162|\xff|\x61|\x6263|\x

statement error 22011
SELECT substring('abc'::bytea FROM 1 FOR -1)

query
SELECT 'abc'::bytea LIKE 'a%', '\xff61'::bytea LIKE '_a', 'abc'::bytea NOT LIKE 'b%', 'a%'::bytea LIKE 'a\\%', 'ab'::bytea LIKE 'a\\%', 'é'::bytea LIKE '_'
----
t|t|t|t|f|f

statement error 22P02
SELECT 'abc'::bytea LIKE 'a\'

query
SELECT convert_to('Zürich', 'UTF8'), convert_from('\x5ac3bc', 'utf-8'), get_byte('\x00ff'::bytea, 1)
----
\x5ac3bc72696368|Zü|255

statement error 22021
SELECT convert_from('\xff', 'UTF8')

statement error 22023
SELECT convert_to('a', 'nosuch')
----
invalid destination encoding name "nosuch"

statement error 2202E
SELECT get_byte('\x00ff'::bytea, 2)
----
index 2 out of valid range, 0..1

# A time of a day, and a text as a time.

query
SELECT date '2024-02-29' + time '12:34:56.5', time '01:02' + date '0044-03-15', time '10:00' - '01:30'
----
2024-02-29 12:34:56.5|0044-03-15 01:02:00|08:30:00
