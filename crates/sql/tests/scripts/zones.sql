# Time zones by name. The session's is UTC.

query
SELECT timestamptz '2020-07-01 12:00 Europe/Berlin', timestamptz '2020-07-01 Singapore', timestamp '2020-07-01 12:00 Europe/Berlin', date '2020-07-01 12:00 Europe/Berlin'
----
2020-07-01 10:00:00+00|2020-06-30 16:00:00+00|2020-07-01 12:00:00|2020-07-01

statement error 22007
SELECT timestamptz '2020-07-01 12:00 nowhere'
----
invalid input syntax for type timestamp with time zone: "2020-07-01 12:00 nowhere"

statement error 22023
SELECT timestamptz '2020-07-01 12:00 Nowhere/Else'
----
time zone "nowhere/else" not recognized

query
SELECT timestamptz '2020-01-01 America/New_York', timestamptz '2020-07-01 12:00:00.5 america/port-au-prince', timestamptz '2020-01-01 00:00 Etc/GMT+5'
----
2020-01-01 05:00:00+00|2020-07-01 16:00:00.5+00|2020-01-01 05:00:00+00

# A local time that is left out, and one that is there twice.

query
SELECT timestamptz '2021-03-28 02:30 Europe/Berlin', timestamptz '2021-10-31 02:30 Europe/Berlin'
----
2021-03-28 01:30:00+00|2021-10-31 01:30:00+00

query
SELECT timestamp '2021-03-28 02:30' AT TIME ZONE 'Europe/Berlin', timestamp '2021-10-31 02:30' AT TIME ZONE 'Europe/Berlin'
----
2021-03-28 01:30:00+00|2021-10-31 01:30:00+00

query
SELECT timestamptz '2021-03-28 00:59+00' AT TIME ZONE 'Europe/Berlin', timestamptz '2021-03-28 01:00+00' AT TIME ZONE 'Europe/Berlin', timestamptz '2021-10-31 00:59+00' AT TIME ZONE 'Europe/Berlin', timestamptz '2021-10-31 01:00+00' AT TIME ZONE 'Europe/Berlin'
----
2021-03-28 01:59:00|2021-03-28 03:00:00|2021-10-31 02:59:00|2021-10-31 02:00:00

query
SELECT timestamptz '2021-03-28 02:30+00' AT TIME ZONE 'UTC+2', timestamptz '2021-03-28 02:30+00' AT TIME ZONE 'est', timezone('UTC-02:30', timestamp '2021-03-28 02:30'), timestamptz '2021-03-28 02:30+00' AT TIME ZONE '<+03>-3', timestamptz '2021-03-28 02:30+00' AT TIME ZONE 'EST5EDT'
----
2021-03-28 00:30:00|2021-03-27 21:30:00|2021-03-28 00:00:00+00|2021-03-28 05:30:00|2021-03-27 22:30:00

statement error 22023
SELECT timestamptz '2021-03-28 02:30+00' AT TIME ZONE 'bogus'
----
time zone "bogus" not recognized

query
SELECT date '2021-03-28' AT TIME ZONE 'Europe/Berlin', '2021-03-28' AT TIME ZONE 'Europe/Berlin'
----
2021-03-28 01:00:00|2021-03-28 01:00:00

query
SELECT pg_typeof(date '2021-03-28' AT TIME ZONE 'Europe/Berlin'), pg_typeof(timestamp '2021-03-28' AT TIME ZONE 'Europe/Berlin')
----
timestamp without time zone|timestamp with time zone

query
SELECT timestamp '12000-07-01' AT TIME ZONE 'Europe/Berlin', timestamp '0800-07-01' AT TIME ZONE 'Europe/Berlin', timestamp '1890-01-01' AT TIME ZONE 'Europe/Berlin', timestamptz '4000-07-01' AT TIME ZONE 'America/New_York'
----
12000-06-30 22:00:00+00|0800-06-30 23:06:32+00|1889-12-31 23:06:32+00|4000-06-30 20:00:00

query
SELECT timestamp '200000-07-01' AT TIME ZONE 'Australia/Sydney', timestamp '4000-01-01 BC' AT TIME ZONE 'America/New_York'
----
200000-06-30 14:00:00+00|4000-01-01 04:56:02+00 BC

query
SELECT NULL::timestamptz AT TIME ZONE 'UTC', now() AT TIME ZONE NULL
----
NULL|NULL

query
SELECT date_trunc('day', timestamptz '2021-06-01 23:30+00', 'Europe/Berlin'), date_trunc('month', timestamptz '2021-06-30 23:30+00', 'Australia/Sydney'), date_trunc('hour', timestamptz '2021-10-31 01:30+00', 'Europe/Berlin'), date_trunc('hour', timestamptz '2021-10-31 00:30+00', 'Europe/Berlin'), date_trunc('day', timestamptz '2021-03-28 12:00+00', 'Europe/Berlin'), date_trunc('week', timestamptz '2021-03-28 23:00+00', 'Europe/Berlin')
----
2021-06-01 22:00:00+00|2021-06-30 14:00:00+00|2021-10-31 01:00:00+00|2021-10-31 00:00:00+00|2021-03-27 23:00:00+00|2021-03-28 22:00:00+00

query
SELECT make_timestamptz(2021, 7, 1, 12, 0, 0, 'Europe/Berlin'), make_timestamptz(2021, 7, 1, 12, 0, 0), make_timestamptz(2021, 1, 1, 12, 0, 0, 'Europe/Berlin')
----
2021-07-01 10:00:00+00|2021-07-01 12:00:00+00|2021-01-01 11:00:00+00

query
SELECT extract(timezone FROM timestamptz '2021-03-28 02:30+00'), extract(timezone_hour FROM timestamptz '2021-03-28 02:30+00')
----
0|0

query
SELECT (timestamptz '2021-03-28 23:30+00' AT TIME ZONE 'Europe/Berlin')::date, extract(hour FROM timestamptz '2021-03-28 23:30+00' AT TIME ZONE 'Asia/Kolkata')
----
2021-03-29|5

# As frameworks ask for the days of a zone.

statement ok
CREATE TABLE seen (id int PRIMARY KEY, at timestamptz NOT NULL)

statement ok
INSERT INTO seen VALUES (1, '2021-03-27 22:59:59+00'), (2, '2021-03-27 23:00+00'), (3, '2021-03-28 21:59+00'), (4, '2021-03-28 22:00+00')

query
SELECT (at AT TIME ZONE 'Europe/Berlin')::date AS day, count(*) FROM seen GROUP BY day ORDER BY day
----
2021-03-27|1
2021-03-28|2
2021-03-29|1

query
SELECT id FROM seen WHERE (at AT TIME ZONE 'Europe/Berlin')::date = '2021-03-28' ORDER BY id
----
2
3

query
SELECT DATE_TRUNC('day', at AT TIME ZONE 'America/Los_Angeles') AS day, min(id) FROM seen GROUP BY 1 ORDER BY 1
----
2021-03-27 00:00:00|1
2021-03-28 00:00:00|3
