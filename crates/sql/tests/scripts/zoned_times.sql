# Times of the day with a zone: read, written, cast, compared, computed with, and stored. The answers are those of PostgreSQL 15.

query
SELECT timetz '10:00:00+02', timetz '10:00', timetz '04:05:06.789-8', timetz '04:05:06-08:00', timetz '04:05-0800', timetz '040506-08', timetz '040506+0730', timetz '04:05:06+07:30:15', time with time zone '04:05:06 PST', '04:05 PM EST'::timetz
----
10:00:00+02|10:00:00+00|04:05:06.789-08|04:05:06-08|04:05:00-08|04:05:06-08|04:05:06+07:30|04:05:06+07:30:15|04:05:06-08|16:05:00-05

query
SELECT timetz '04:05:06 EDT', timetz '00:00:00 UTC', timetz 'allballs', timetz '10:00 Z', timetz '10:00 zulu', timetz '24:00:00+05', timetz '23:59:60-01', timetz 'T10:11:12+03', timetz '10:00:00 +3', timetz '12:00 AM +01'
----
04:05:06-04|00:00:00+00|00:00:00+00|10:00:00+00|10:00:00+00|24:00:00+05|24:00:00-01|10:11:12+03|10:00:00+03|00:00:00+01

query
SELECT timetz '2003-04-12 04:05:06 America/New_York', timetz '2003-12-12 04:05:06 America/New_York', timetz '2024-07-01 10:00 Europe/Berlin', timetz '10:00 UTC+3', timetz '2024-07-01 10:00 +05'
----
04:05:06-04|04:05:06-05|10:00:00+02|10:00:00-03|10:00:00+05

query
SELECT timetz '10:00 Etc/GMT+5', time '10:00 Etc/GMT+5', time '2024-07-01 10:00 Europe/Berlin'
----
10:00:00-05|10:00:00|10:00:00

statement error 22007
SELECT timetz '10:00 America/New_York'
----
invalid input syntax for type time with time zone: "10:00 America/New_York"

statement error 22007
SELECT time '10:00 America/New_York'
----
invalid input syntax for type time: "10:00 America/New_York"

statement error 22023
SELECT timetz '10:00 Nowhere/Else'
----
time zone "nowhere/else" not recognized

statement error 22008
SELECT timetz '25:00+01'
----
date/time field value out of range: "25:00+01"

statement error 22008
SELECT timetz '10:61+01'
----
date/time field value out of range: "10:61+01"

statement error 22009
SELECT timetz '10:00+16'
----
time zone displacement out of range: "10:00+16"

query
SELECT timetz '10:00+15:59:59', timetz '10:00-15:59:59'
----
10:00:00+15:59:59|10:00:00-15:59:59

statement error 22007
SELECT timetz ''
----
invalid input syntax for type time with time zone: ""

statement error 22007
SELECT timetz 'noon'
----
invalid input syntax for type time with time zone: "noon"

statement error 22007
SELECT timetz '10:00+02 garbage'
----
invalid input syntax for type time with time zone: "10:00+02 garbage"

statement error 22007
SELECT timetz '10:00 DST'
----
invalid input syntax for type time with time zone: "10:00 DST"

query
SELECT timetz '10:00 EST DST', timetz '10:00 MET DST'
----
10:00:00-04|10:00:00+02

query
SELECT timetz(2) '10:11:12.345678+02', '10:11:12.345678+02'::timetz(0), '23:59:59.9999+02'::time(3) with time zone, '10:11:12.5+02'::timetz::timetz(0), '10:11:12.345+02'::text::timetz(1)
----
10:11:12.35+02|10:11:12+02|24:00:00+02|10:11:13+02|10:11:12.3+02

query
SELECT timetz '10:00:00+02'::text, timetz '10:00:00+02'::time, time '10:00'::timetz, timestamptz '2024-07-01 10:11:12.5+00'::timetz, '10:00+02'::varchar::timetz, timetz '10:00:00+02'::varchar(5), 'at ' || timetz '10:00+02'
----
10:00:00+02|10:00:00|10:00:00+00|10:11:12.5+00|10:00:00+02|10:00|at 10:00:00+02

query
SELECT 'infinity'::timestamptz::timetz, null::timetz, null::timestamptz::timetz
----
NULL|NULL|NULL

statement error 42846
SELECT timestamp '2024-07-01 10:00'::timetz

statement error 42846
SELECT date '2024-07-01'::timetz

statement error 42846
SELECT interval '1 hour'::timetz

statement error 42846
SELECT timetz '10:00+02'::interval

statement error 42846
SELECT timetz '10:00+02'::timestamptz

statement error 42846
SELECT timetz '10:00+02'::date

statement error 42846
SELECT 1::timetz

query
SELECT timetz '10:00+02' = timetz '08:00+00', timetz '10:00+02' < timetz '08:00+00', timetz '10:00+02' > timetz '08:00+00', timetz '10:00+02' = timetz '10:00:00+02:00', timetz '10:00+02' <> timetz '10:00+03', timetz '10:00+02' >= timetz '09:00+01', timetz '10:00+02' BETWEEN timetz '09:00+02' AND timetz '11:00+02', timetz '10:00+02' IN ('10:00+02', '11:00+02')
----
f|t|f|t|t|f|t|t

query
SELECT time '10:00' = timetz '10:00+00', time '10:00' < timetz '10:00-01', timetz '10:00+02' < time '10:00', timetz '10:00+02' = '10:00+02', '10:00+02' = timetz '10:00+02'
----
t|t|t|t|t

statement error 42883
SELECT timetz '10:00+02' = interval '10 hours'
----
operator does not exist: time with time zone = interval
HINT: No operator matches the given name and argument types. You might need to add explicit type casts.

statement error 42883
SELECT timetz '10:00+02' = timestamptz '2024-07-01 10:00+00'
----
operator does not exist: time with time zone = timestamp with time zone
HINT: No operator matches the given name and argument types. You might need to add explicit type casts.

query
SELECT v FROM (VALUES (timetz '10:00+02'), ('08:00+00'), ('09:00+01'), ('23:00-10'), ('00:30+10'), ('24:00:00+00'), ('00:00:00+00')) x (v) ORDER BY v
----
00:30:00+10
00:00:00+00
10:00:00+02
09:00:00+01
08:00:00+00
24:00:00+00
23:00:00-10

query
SELECT v FROM (VALUES (timetz '10:00+02'), ('08:00+00'), (null), ('09:00+01')) x (v) ORDER BY v DESC NULLS LAST
----
08:00:00+00
09:00:00+01
10:00:00+02
NULL

query
SELECT min(v), max(v), count(DISTINCT v), array_agg(v ORDER BY v) FROM (VALUES (timetz '10:00+02'), ('08:00+00'), ('08:00+00'), (null), ('09:00+01')) x (v)
----
10:00:00+02|08:00:00+00|3|{10:00:00+02,09:00:00+01,08:00:00+00,08:00:00+00,NULL}

query
SELECT v, count(*) FROM (VALUES (timetz '10:00+02'), ('10:00:00+02:00'), ('08:00+00')) x (v) GROUP BY v ORDER BY 1
----
10:00:00+02|2
08:00:00+00|1

query
SELECT greatest(timetz '10:00+02', '08:30+00'), least(timetz '10:00+02', time '08:30'), coalesce(null, timetz '10:00+02'), nullif(timetz '10:00+02', '10:00+02'), CASE WHEN true THEN time '10:00' ELSE timetz '10:00+02' END
----
08:30:00+00|10:00:00+02|10:00:00+02|NULL|10:00:00+00

query
SELECT timetz '10:00+02' AT TIME ZONE 'UTC', timetz '23:30-05' AT TIME ZONE 'Asia/Tokyo', timetz '10:00+02' AT TIME ZONE interval '-3 hours', timetz '01:00+02' AT TIME ZONE 'PST', timezone('EST', timetz '10:00:00.5+02'), time '10:00' AT TIME ZONE 'PST', timetz '24:00+02' AT TIME ZONE 'UTC', timetz '10:00+02' AT TIME ZONE interval '20 hours'
----
08:00:00+00|13:30:00+09|05:00:00-03|15:00:00-08|03:00:00.5-05|02:00:00-08|22:00:00+00|04:00:00+20

statement error 22023
SELECT timetz '10:00+02' AT TIME ZONE interval '1 day'
----
interval time zone "1 day" must not include months or days

statement error 22023
SELECT timetz '10:00+02' AT TIME ZONE 'nowhere'
----
time zone "nowhere" not recognized

query
SELECT pg_typeof(timetz '10:00+02' AT TIME ZONE 'UTC'), pg_typeof(time '10:00' AT TIME ZONE 'UTC'), pg_typeof(timetz '10:00+02' + interval '1 hour'), pg_typeof(date '2024-01-01' + timetz '10:00+02'), pg_typeof(current_time), pg_typeof(localtime), pg_typeof(ARRAY[timetz '10:00+02'])
----
time with time zone|time with time zone|time with time zone|timestamp with time zone|time with time zone|time without time zone|time with time zone[]

query
SELECT extract(hour FROM timetz '10:11:12.345678-03:30'), extract(minute FROM timetz '10:11:12.345678-03:30'), extract(second FROM timetz '10:11:12.345678-03:30'), extract(millisecond FROM timetz '10:11:12.345678-03:30'), extract(microseconds FROM timetz '10:11:12.345678-03:30'), extract(timezone FROM timetz '10:11:12-03:30'), extract(timezone_hour FROM timetz '10:11:12-03:30'), extract(timezone_minute FROM timetz '10:11:12-03:30'), extract(epoch FROM timetz '10:11:12.5-03:30')
----
10|11|12.345678|12345.678|12345678|-12600|-3|-30|49272.500000

query
SELECT date_part('hour', timetz '10:11:12.5+02'), date_part('second', timetz '10:11:12.5+02'), date_part('timezone', timetz '10:11:12.5+02'), date_part('epoch', timetz '01:00+02'), date_part('milliseconds', timetz '10:11:12.5+02')
----
10|12.5|7200|-3600|12500

statement error 0A000
SELECT extract(day FROM timetz '10:00+02')
----
unit "day" not supported for type time with time zone

statement error 22023
SELECT extract(fortnight FROM timetz '10:00+02')
----
unit "fortnight" not recognized for type time with time zone

statement error 0A000
SELECT date_part('year', timetz '10:00+02')
----
unit "year" not supported for type time with time zone

query
SELECT timetz '10:00+02' + interval '1 day 15 hours', timetz '10:00+02' - interval '10:00:01', interval '2 hours' + timetz '23:00-03', timetz '10:00+02' + time '01:00', time '01:00' + timetz '10:00+02', timetz '10:00+02' - '1 hour', timetz '24:00+00' + interval '0'
----
01:00:00+02|23:59:59+02|01:00:00-03|11:00:00+02|11:00:00+02|09:00:00+02|00:00:00+00

statement error 42725
SELECT timetz '10:00+02' + '1 hour'
----
operator is not unique: time with time zone + unknown
HINT: Could not choose a best candidate operator. You might need to add explicit type casts.

statement error 42725
SELECT '1 hour' + timetz '10:00+02'
----
operator is not unique: unknown + time with time zone
HINT: Could not choose a best candidate operator. You might need to add explicit type casts.

statement error 42883
SELECT '1 hour' - timetz '10:00+02'
----
operator does not exist: unknown - time with time zone
HINT: No operator matches the given name and argument types. You might need to add explicit type casts.

query
SELECT date '2024-02-29' + timetz '10:00+02', timetz '23:30-05' + date '2024-02-29', date 'infinity' + timetz '10:00+02'
----
2024-02-29 08:00:00+00|2024-03-01 04:30:00+00|infinity

statement error 42883
SELECT timetz '10:00+02' - timetz '09:00+02'
----
operator does not exist: time with time zone - time with time zone
HINT: No operator matches the given name and argument types. You might need to add explicit type casts.

query
SELECT timetz '10:00+02' - time '09:00'
----
01:00:00+02

statement error 42883
SELECT timetz '10:00+02' * 2
----
operator does not exist: time with time zone * integer
HINT: No operator matches the given name and argument types. You might need to add explicit type casts.

query
SELECT (timetz '10:00+02', timetz '12:00+02') OVERLAPS (timetz '09:00+00', timetz '11:00+00'), (timetz '10:00+02', timetz '12:00+02') OVERLAPS (timetz '10:00+00', timetz '11:00+00'), (timetz '10:00+02', null) OVERLAPS (timetz '09:00+00', timetz '11:00+00')
----
t|f|NULL

query
SELECT ARRAY[timetz '10:00+02', '08:00+00'], '{10:00+02,NULL,08:30:00.5-01}'::timetz[], (ARRAY[timetz '10:00+02'])[1], timetz '10:00+02' = ANY('{10:00+02}'::timetz[]), ARRAY[time '10:00']::timetz[], '{10:00+02}'::text[]::timetz[], ARRAY[timetz '10:00+02']::time[], unnest('{10:00+02}'::timetz[])
----
{10:00:00+02,08:00:00+00}|{10:00:00+02,NULL,08:30:00.5-01}|10:00:00+02|t|{10:00:00+00}|{10:00:00+02}|{10:00:00}|10:00:00+02

query
SELECT ARRAY[timetz '10:00+02'] < ARRAY[timetz '08:00+00'], array_position('{10:00+02,08:00+00}'::timetz[], '08:00+00'), array_agg(v) FROM (VALUES (timetz '10:00+02'), (null)) x (v)
----
t|2|{10:00:00+02,NULL}

query
SELECT to_json(timetz '10:00:00+02'), to_jsonb(timetz '10:00:00+02'), json_build_object('t', timetz '10:00+02')
----
"10:00:00+02"|"10:00:00+02"|{"t" : "10:00:00+02"}

query
SELECT concat(timetz '10:00+02', '!'), format('%s %L', timetz '10:00+02', timetz '10:00+02'), quote_literal(timetz '10:00+02'), '10:00+02'::timetz::text LIKE '10%'
----
10:00:00+02!|10:00:00+02 '10:00:00+02'|'10:00:00+02'|t

query
SELECT format_type('timetz'::regtype, -1), format_type(1266, 3), 'time(2) with time zone'::regtype, 'timetz[]'::regtype, pg_typeof(null::timetz(3))
----
time with time zone|time(3) with time zone|time with time zone|time with time zone[]|time with time zone

query
SELECT typname, typlen, typbyval, typcategory, typispreferred, typalign, typstorage, typelem, typarray FROM pg_type WHERE typname IN ('timetz', '_timetz') ORDER BY 1
----
_timetz|-1|f|A|f|d|x|1266|0
timetz|12|f|D|f|d|p|0|1270

query
SELECT (current_time - localtime::interval) = timetz '00:00+00', extract(timezone FROM current_time)
----
t|0

query
SELECT count(*) FROM (SELECT count(v) OVER (ORDER BY v RANGE BETWEEN interval '1 hour' PRECEDING AND CURRENT ROW) AS n, v FROM (VALUES (timetz '10:00+02'), ('08:30+00'), ('09:31+00')) x (v)) y WHERE n = 1
----
2

query
SELECT v, count(*) OVER (ORDER BY v RANGE BETWEEN '1 hour' PRECEDING AND '30 minutes' FOLLOWING) FROM (VALUES (timetz '10:00+02'), ('08:30+00'), ('09:31+00'), ('23:50+00'), ('00:10+00')) x (v) ORDER BY 1
----
00:10:00+00|1
10:00:00+02|1
08:30:00+00|2
09:31:00+00|1
23:50:00+00|1

statement ok
CREATE TABLE shifts (id int PRIMARY KEY, at timetz NOT NULL, rounded timetz(1), many timetz[], d timetz DEFAULT '09:00+01', CHECK (at > '00:00+00'))

statement INSERT 0 4
INSERT INTO shifts VALUES (1, '10:00+02', '10:00:00.25+02', '{10:00+02,11:00-03}'), (2, '08:00Z', '10:00:00.251+02', '{}'), (3, '09:00+01', null, null), (4, '23:59:59.999999-15:59', '10:00:00.05-02', '{NULL}')

statement error 23514
INSERT INTO shifts (id, at) VALUES (5, '00:00+01')
----
new row for relation "shifts" violates check constraint "shifts_at_check"
DETAIL: Failing row contains (5, 00:00:00+01, null, null, 09:00:00+01).
SCHEMA: public
TABLE: shifts
CONSTRAINT: shifts_at_check

statement error 22007
INSERT INTO shifts (id, at) VALUES (5, 'late')
----
invalid input syntax for type time with time zone: "late"

statement INSERT 0 2
INSERT INTO shifts (id, at) VALUES (5, time '12:30'), (6, timestamptz '2024-07-01 12:31+00')

statement error 42804
INSERT INTO shifts (id, at) VALUES (7, timestamp '2024-07-01 12:31')

query
SELECT * FROM shifts ORDER BY at, id
----
1|10:00:00+02|10:00:00.3+02|{10:00:00+02,11:00:00-03}|09:00:00+01
3|09:00:00+01|NULL|NULL|09:00:00+01
2|08:00:00+00|10:00:00.3+02|{}|09:00:00+01
5|12:30:00+00|NULL|NULL|09:00:00+01
6|12:31:00+00|NULL|NULL|09:00:00+01
4|23:59:59.999999-15:59|10:00:00.1-02|{NULL}|09:00:00+01

statement ok
CREATE INDEX shifts_at ON shifts (at)

statement ok
CREATE UNIQUE INDEX shifts_key ON shifts (rounded DESC, id)

query
SELECT id FROM shifts WHERE at = '08:00+00'
----
2

query
SELECT id FROM shifts WHERE at > '08:00+00' ORDER BY at, id
----
5
6
4

query
SELECT id FROM shifts WHERE at BETWEEN timetz '10:00+02' AND timetz '08:00+00' ORDER BY at LIMIT 3
----
1
3
2

query
SELECT id FROM shifts WHERE rounded = '10:00:00.3+02' ORDER BY id
----
1
2

query
UPDATE shifts SET at = at + interval '1 hour', rounded = rounded - interval '50 milliseconds' WHERE id IN (1, 2) RETURNING at, rounded
----
11:00:00+02|10:00:00.3+02
09:00:00+00|10:00:00.3+02

statement ok
CREATE TABLE visits (at timetz PRIMARY KEY, who text)

statement INSERT 0 3
INSERT INTO visits VALUES ('10:00+02', 'a'), ('08:00+00', 'b'), ('09:00+01', 'c')

statement error 23505
INSERT INTO visits VALUES ('10:00:00+02:00', 'd')
----
duplicate key value violates unique constraint "visits_pkey"
DETAIL: Key (at)=(10:00:00+02) already exists.
SCHEMA: public
TABLE: visits
CONSTRAINT: visits_pkey

query
INSERT INTO visits VALUES ('08:00+00', 'e') ON CONFLICT (at) DO UPDATE SET who = excluded.who RETURNING *
----
08:00:00+00|e

query
SELECT * FROM visits WHERE at >= '10:00+02' ORDER BY at
----
10:00:00+02|a
09:00:00+01|c
08:00:00+00|e

query
SELECT v.who, s.id FROM visits v JOIN shifts s ON s.at = v.at + interval '1 hour' ORDER BY 1, 2
----
a|1
e|2

statement ok
CREATE TABLE calls (visit timetz REFERENCES visits ON DELETE CASCADE)

statement INSERT 0 2
INSERT INTO calls VALUES ('10:00+02'), (null)

statement error 23503
INSERT INTO calls VALUES ('10:00+03')
----
insert or update on table "calls" violates foreign key constraint "calls_visit_fkey"
DETAIL: Key (visit)=(10:00:00+03) is not present in table "visits".
SCHEMA: public
TABLE: calls
CONSTRAINT: calls_visit_fkey

statement error 42804
CREATE TABLE wrong_calls (visit bytea REFERENCES visits)
----
foreign key constraint "wrong_calls_visit_fkey" cannot be implemented
DETAIL: Key columns "visit" and "at" are of incompatible types: bytea and time with time zone.

statement DELETE 1
DELETE FROM visits WHERE who = 'a'

query
SELECT * FROM calls
----
NULL

statement ok
ALTER TABLE shifts ADD COLUMN later timetz GENERATED ALWAYS AS (at + interval '30 minutes') STORED

query
SELECT id, later FROM shifts ORDER BY id
----
1|11:30:00+02
2|09:30:00+00
3|09:30:00+01
4|00:29:59.999999-15:59
5|13:00:00+00
6|13:01:00+00

statement ok
ALTER TABLE shifts ALTER COLUMN rounded TYPE timetz(0)

query
SELECT id, rounded FROM shifts ORDER BY id
----
1|10:00:00+02
2|10:00:00+02
3|NULL
4|10:00:00-02
5|NULL
6|NULL

statement ok
ALTER TABLE shifts ALTER COLUMN rounded TYPE time

query
SELECT id, rounded FROM shifts ORDER BY id
----
1|10:00:00
2|10:00:00
3|NULL
4|10:00:00
5|NULL
6|NULL

statement ok
ALTER TABLE shifts ALTER COLUMN rounded TYPE text

query
SELECT attname, format_type(atttypid, atttypmod), pg_get_expr(adbin, adrelid) FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum WHERE attrelid = 'visits'::regclass AND attnum > 0 ORDER BY attnum
----
at|time with time zone|NULL
who|text|NULL

query
SELECT column_name, data_type, datetime_precision, udt_name FROM information_schema.columns WHERE table_name = 'shifts' ORDER BY ordinal_position
----
id|integer|NULL|int4
at|time with time zone|6|timetz
rounded|text|NULL|text
many|ARRAY|NULL|_timetz
d|time with time zone|6|timetz
later|time with time zone|6|timetz

reopen

query
SELECT * FROM visits ORDER BY at
----
09:00:00+01|c
08:00:00+00|e

query
SELECT id FROM shifts WHERE at = '09:00+00'
----
2

query
SELECT many[1], d FROM shifts ORDER BY id
----
10:00:00+02|09:00:00+01
NULL|09:00:00+01
NULL|09:00:00+01
NULL|09:00:00+01
NULL|09:00:00+01
NULL|09:00:00+01

statement ok
PREPARE at_of (timetz) AS SELECT who FROM visits WHERE at = $1

query
EXECUTE at_of ('08:00+00')
----
e

query
EXECUTE at_of (time '08:00')
----
e

statement ok
SET timezone TO '+03:30'

query
SELECT timetz '10:00', time '10:00'::timetz, timestamptz '2024-07-01 10:00+00'::timetz, timetz '10:00+02'::time, '10:00'::text::timetz, '{10:00}'::timetz[], time '10:00' = timetz '10:00+03:30', ARRAY[time '10:00']::timetz[], timetz '10:00+02'
----
10:00:00-03:30|10:00:00-03:30|06:30:00-03:30|10:00:00|10:00:00-03:30|{10:00:00-03:30}|f|{10:00:00-03:30}|10:00:00+02

query
INSERT INTO visits VALUES ('12:00', 'zoned'), (time '13:00', 'cast') RETURNING at
----
12:00:00-03:30
13:00:00-03:30

statement ok
SET timezone TO 'Europe/Berlin'

query
SELECT extract(timezone FROM timetz '10:00') = extract(timezone FROM (current_date + time '10:00')::timestamptz), extract(timezone FROM time '10:00'::timetz) = extract(timezone FROM (current_date + time '10:00')::timestamptz), extract(timezone FROM '10:00'::text::timetz) = extract(timezone FROM (current_date + time '10:00')::timestamptz)
----
t|t|t

query
SELECT timestamptz '2024-07-01 10:00+00'::timetz, timestamptz '2024-01-01 10:00+00'::timetz, timetz '2024-07-01 10:00', timetz '2024-01-01 10:00', timetz '10:00+05', timetz '10:00+05' AT TIME ZONE '+01', 'now'::timetz = current_time, timetz 'now' = current_time, localtime = current_time::time
----
12:00:00+02|11:00:00+01|10:00:00+02|10:00:00+01|10:00:00+05|04:00:00-01|t|t|t

query
SELECT count(*) FROM visits WHERE at = '08:00'
----
0

statement INSERT 0 1
INSERT INTO visits VALUES ('14:00', 'today')

query
SELECT extract(timezone FROM at) = extract(timezone FROM (current_date + time '14:00')::timestamptz) FROM visits WHERE who = 'today'
----
t

query
SELECT pg_typeof(current_time(0)), pg_typeof(localtime(2)), pg_typeof(localtimestamp(1)), extract(microseconds FROM current_timestamp(0))::int % 1000000, extract(microseconds FROM current_time(3))::int % 1000, current_timestamp(6) = now(), localtime(9) = localtime
----
time with time zone|time without time zone|timestamp without time zone|0|0|t|t

statement error 42601
SELECT current_time('x')

statement ok
RESET timezone

statement ok
DROP TABLE calls, visits, shifts
