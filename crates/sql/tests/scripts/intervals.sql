# Intervals: read, written, computed with, compared, and stored.

query
SELECT interval '1 day', interval '1 year 2 mons 3 days 04:05:06.789', interval '-1 year 2 mons -3 days 04:05', interval '0', interval '1-2', interval '1 2:03', '1 day ago'::interval
----
1 day|1 year 2 mons 3 days 04:05:06.789|-10 mons -3 days +04:05:00|00:00:00|1 year 2 mons|1 day 02:03:00|-1 days

query
SELECT interval 'P1Y2M3W4DT5H6M7.8S', interval 'PT-1.5H', interval '@ 1 minute', interval '1.5 months', interval '1.5 weeks', interval '1.5 days', interval '1.5 years', interval '0.1 sec', interval '90 minutes', interval '36 hours', interval '1 week 2 days'
----
1 year 2 mons 25 days 05:06:07.8|-01:30:00|00:01:00|1 mon 15 days|10 days 12:00:00|1 day 12:00:00|1 year 6 mons|00:00:00.1|01:30:00|36:00:00|9 days

query
SELECT interval '04:05:06', interval '-00:00:00.5', interval '100:00:00', interval '2 decades 1 century', interval '5', interval '1d2h3m4s'
----
04:05:06|-00:00:00.5|100:00:00|120 years|00:00:05|1 day 02:03:04

query
SELECT interval '1' day, interval '3' hour, interval '2' year, interval '1 hour 30' minute
----
1 day|03:00:00|2 years|01:30:00

statement error 22007
SELECT interval 'x'
----
invalid input syntax for type interval: "x"

statement error 22007
SELECT interval ''
----
invalid input syntax for type interval: ""

statement error 22015
SELECT '1 day 2'::interval, '99999999999 years'::interval
----
interval field value out of range: "99999999999 years"

query
SELECT interval '1 day' + interval '2 hours', interval '1 mon' - interval '31 days', -interval '1 day 2 hours', interval '1 day' * 2, 2.5 * interval '1 day', interval '1 month 1 day' * 1.5, interval '1 day' / 3, interval '1 year' / 7, interval '1 mon' * 0.3
----
1 day 02:00:00|1 mon -31 days|-1 days -02:00:00|2 days|2 days 12:00:00|1 mon 16 days 12:00:00|08:00:00|1 mon 21 days 10:17:08.5344|9 days

statement error 22012
SELECT interval '1 day' / 0
----
division by zero

query
SELECT timestamp '2024-01-31' + interval '1 mon', timestamptz '2024-03-31 12:00+00' - interval '1 mon 1 day', date '2024-01-31' + interval '1 day', time '23:30' + interval '1 hour', time '00:30' - interval '1 hour', interval '1 day' + date '2024-01-01', interval '1 hour' + timestamp '2024-01-01'
----
2024-02-29 00:00:00|2024-02-28 12:00:00+00|2024-02-01 00:00:00|00:30:00|23:30:00|2024-01-02 00:00:00|2024-01-01 01:00:00

query
SELECT timestamp '2024-03-01 12:00' - timestamp '2024-02-28 13:30', timestamptz '2024-01-01+00' - timestamptz '2024-01-02 06:00+00', timestamp '2024-01-01' - date '2023-12-31', time '10:00' - time '12:30', timestamp '2024-01-02' - '2024-01-01', date '2024-01-02' - date '2024-01-01'
----
1 day 22:30:00|-1 days -06:00:00|1 day|-02:30:00|1 day|1

query
SELECT timestamp '2024-01-01' + '1 day', '1 day' + timestamp '2024-01-01'
----
2024-01-02 00:00:00|2024-01-02 00:00:00

query
SELECT age(timestamp '2024-03-01', timestamp '2023-01-31'), age(timestamp '2023-01-31', timestamp '2024-03-01'), age(timestamp '2024-02-29 12:00', timestamp '2024-02-28 13:00'), age(timestamptz '2001-04-10+00', timestamptz '1957-06-13+00')
----
1 year 1 mon 1 day|-1 years -1 mons -1 days|23:00:00|43 years 9 mons 27 days

query
SELECT extract(year FROM interval '3 years 5 mons'), extract(month FROM interval '3 years 5 mons'), extract(day FROM interval '40 days'), extract(hour FROM interval '50:10:20'), extract(minute FROM interval '50:10:20'), extract(second FROM interval '50:10:20.5'), extract(epoch FROM interval '1 year 1 mon 1 day 1 second'), extract(quarter FROM interval '5 mons'), extract(milliseconds FROM interval '1.5 s'), extract(microseconds FROM interval '1.5 s'), extract(century FROM interval '250 years')
----
3|5|40|50|10|20.500000|34236001.000000|2|1500.000|1500000|2

query
SELECT extract(epoch FROM timestamp '2024-01-02' - timestamp '2024-01-01'), date_part('epoch', interval '1 hour'), date_part('hour', interval '26 hours')
----
86400.000000|3600|26

statement error 0A000
SELECT extract(dow FROM interval '1 day')
----
unit "dow" not supported for type interval

statement error 22023
SELECT extract(foo FROM interval '1 day')
----
unit "foo" not recognized for type interval

query
SELECT make_interval(), make_interval(1), make_interval(1, 2, 3, 4, 5, 6, 7.5), make_interval(days => 10), make_interval(hours => 2, secs => 0.5), make_interval(1, mins => 3)
----
00:00:00|1 year|1 year 2 mons 25 days 05:06:07.5|10 days|02:00:00.5|1 year 00:03:00

query
SELECT justify_hours(interval '27 hours'), justify_days(interval '35 days'), justify_interval(interval '1 mon -1 hour'), justify_interval(interval '-40 days 25 hours'), justify_hours(interval '-1 day 30 hours')
----
1 day 03:00:00|1 mon 5 days|29 days 23:00:00|-1 mons -8 days -23:00:00|06:00:00

query
SELECT date_trunc('hour', interval '1 day 03:04:05'), date_trunc('month', interval '1 year 2 mons 3 days'), date_trunc('quarter', interval '8 mons'), date_trunc('decade', interval '25 years')
----
1 day 03:00:00|1 year 2 mons|6 mons|20 years

query
SELECT timestamptz '2021-03-28 02:30+00' AT TIME ZONE interval '2 hours', timestamp '2021-03-28 02:30' AT TIME ZONE interval '-3 hours'
----
2021-03-28 04:30:00|2021-03-28 05:30:00+00

query
SELECT interval '1 mon' = interval '30 days', interval '1 day' = interval '24 hours', interval '1 mon' > interval '29 days', interval '1 day' < '25 hours', interval '1 year' <> interval '12 mons', interval '1 day' IN ('24 hours', '1 hour'), interval '1 hour' BETWEEN '1 minute' AND '1 day'
----
t|t|t|t|f|t|t

query
SELECT i FROM (VALUES (interval '1 mon'), ('29 days'), ('31 days'), ('-1 day'), (NULL)) v(i) ORDER BY i
----
-1 days
29 days
1 mon
31 days
NULL

query
SELECT i, count(*) FROM (VALUES (interval '1 day'), ('1 day'), ('2 days')) v(i) GROUP BY i ORDER BY i DESC
----
2 days|1
1 day|2

query
SELECT count(DISTINCT i) FROM (VALUES (interval '1 day'), ('24 hours'), ('2 days')) v(i)
----
2

query
SELECT pg_typeof(interval '1 day'), pg_typeof(now() - now()), pg_typeof(array[interval '1 day']), interval '1 day'::text || '!', '02:03'::interval::time, time '10:11'::interval, array[interval '1 day', '02:00']
----
interval|interval|interval[]|1 day!|02:03:00|10:11:00|{"1 day",02:00:00}

query
SELECT coalesce(NULL, interval '1 day'), CASE WHEN true THEN interval '1 hour' END, nullif(interval '1 day', interval '24 hours')
----
1 day|01:00:00|NULL

statement error 42883
SELECT 1 + interval '1 day'
----
operator does not exist: integer + interval
HINT: No operator matches the given name and argument types. You might need to add explicit type casts.

statement error 42883
SELECT interval '1 day' * interval '1 day'
----
operator does not exist: interval * interval
HINT: No operator matches the given name and argument types. You might need to add explicit type casts.

statement ok
CREATE TABLE runs (id int PRIMARY KEY, took interval NOT NULL, most interval DEFAULT '1 hour')

statement ok
INSERT INTO runs VALUES (1, '90 minutes', '1 hour'), (2, interval '1 day', NULL), (3, make_interval(secs => 2.5), '1 mon')

query
SELECT * FROM runs ORDER BY took
----
3|00:00:02.5|1 mon
1|01:30:00|01:00:00
2|1 day|NULL

query
SELECT id FROM runs WHERE took > interval '1 hour' ORDER BY id
----
1
2

query
SELECT id FROM runs WHERE took = '1:30'
----
1

query
UPDATE runs SET took = took * 2, most = most + took WHERE id < 3 RETURNING id, took, most
----
1|03:00:00|02:30:00
2|2 days|NULL

statement error 22007
INSERT INTO runs VALUES (4, 'soon')
----
invalid input syntax for type interval: "soon"

query
SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'runs' ORDER BY ordinal_position
----
id|integer
took|interval
most|interval

query
SELECT id, timestamp '2024-01-01' + took FROM runs ORDER BY id
----
1|2024-01-01 03:00:00
2|2024-01-03 00:00:00
3|2024-01-01 00:00:02.5

query
SELECT a.id, b.id FROM runs a JOIN runs b ON a.took = b.took ORDER BY 1
----
1|1
2|2
3|3


# Not supported: indexes, and cutting to fields.

statement error 0A000
CREATE INDEX ON runs (took)
----
an index or key with column "took" of type interval is not supported

statement error 0A000
CREATE TABLE keyed (i interval PRIMARY KEY)

query
SELECT greatest(interval '1 day', interval '2 days'), least(interval '1 mon', '29 days')
----
2 days|29 days

query
SELECT sum(i), avg(i), sum(i) FILTER (WHERE i > '1 hour'), avg(i) FILTER (WHERE false) FROM (VALUES (interval '31 days'), ('1 mon'), ('10 hours'), ('-00:30'), (NULL)) v(i)
----
1 mon 31 days 09:30:00|15 days 08:22:30|1 mon 31 days 10:00:00|NULL

query
SELECT count(*) FROM (SELECT interval '1 day' UNION SELECT '24:00' UNION SELECT '2 days') s
----
2

query
SELECT '24:00'::interval AS i EXCEPT SELECT interval '1 day'
----

query
SELECT count(*) FROM (SELECT DISTINCT i FROM (VALUES (interval '1 day'), ('24:00'), (NULL)) v(i)) s
----
2

query
WITH RECURSIVE t(i) AS (SELECT interval '1 day' UNION SELECT i * 2 FROM t WHERE i < '4 days') SELECT * FROM t
----
1 day
2 days
4 days

query
SELECT sum(DISTINCT i), array_agg(DISTINCT i) FROM (VALUES (interval '31 days'), ('1 day'), ('31 days')) v(i)
----
32 days|{"1 day","31 days"}

query
SELECT min(i), max(i) FROM (VALUES (interval '31 days'), ('1 mon'), ('10 hours'), ('9 days')) v(i)
----
10:00:00|31 days

# Elements of arrays are compared as values are.

query
SELECT '1 day'::interval = any(array['24 hours']::interval[]), '2 hours'::interval > all(array['1 hour','119 minutes']::interval[]), '1 day'::interval <> all(array['24 hours']::interval[]), array_position(array['1 day','24 hours']::interval[], '24 hours'::interval), array_remove(array['1 day','2 days']::interval[], '24 hours'::interval)
----
t|t|f|1|{"2 days"}

# Numbers that no interval has.

statement error 22015
SELECT interval '99999999999999999999999 years'
----
interval field value out of range: "99999999999999999999999 years"

statement error 22015
SELECT '99999999999999999999999999999999999999-1'::interval

query
SELECT interval '0.375 years', interval '0.04 years', interval '-0.375 years', interval '0.125 years', interval '0.208 years'
----
4 mons|00:00:00|-4 mons|2 mons|2 mons

statement error 22008
SELECT - interval '-178956970 years -8 months'
----
interval out of range

# Types of columns that are stored as texts become each other where a cast does it.

statement ok
CREATE TABLE retyped (a text PRIMARY KEY, i interval, j json, x int[])

statement error 42804
ALTER TABLE retyped ALTER COLUMN a TYPE interval
----
column "a" cannot be cast automatically to type interval
HINT: You might need to specify "USING a::interval".

statement error 42804
ALTER TABLE retyped ALTER COLUMN i TYPE jsonb
----
column "i" cannot be cast automatically to type jsonb
HINT: You might need to specify "USING i::jsonb".

statement ok
ALTER TABLE retyped ALTER COLUMN j TYPE jsonb

statement ok
ALTER TABLE retyped ALTER COLUMN x TYPE bigint[]

statement ok
ALTER TABLE retyped ALTER COLUMN i TYPE text

statement error 42804
CREATE TABLE referring (id int PRIMARY KEY, a interval REFERENCES retyped)
----
foreign key constraint "referring_a_fkey" cannot be implemented
DETAIL: Key columns "a" and "a" are of incompatible types: interval and text.

statement error 42804
CREATE TABLE referring (id int PRIMARY KEY, a int[] REFERENCES retyped)
