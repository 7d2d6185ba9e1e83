# Infinite days and moments, words whose meaning the clock gives, and abbreviations of zones; the answers are PostgreSQL 15's.

query
select 'infinity'::date, '-infinity'::timestamp, 'INFINITY'::timestamptz, date '-infinity'::timestamptz, timestamp 'infinity'::date, timestamptz 'infinity'::timestamp
----
infinity|-infinity|infinity|-infinity|infinity|infinity

query
select date 'infinity' > date '5874897-12-31', date '-infinity' < date '4713-01-01 BC', 'infinity'::timestamp = 'infinity'::timestamp, greatest('infinity'::date, '2024-01-01')
----
t|t|t|infinity

query
select isfinite(date 'infinity'), isfinite(timestamp '2024-01-01'), isfinite(timestamptz '-infinity'), isfinite(interval '1 day')
----
f|t|f|t

query
select date 'infinity' + 1, date '-infinity' - 1, timestamp 'infinity' + interval '1 month', timestamptz '-infinity' - interval '1 hour', date 'infinity' + time '10:00', date 'infinity' + interval '1 day'
----
infinity|-infinity|infinity|-infinity|infinity|infinity

statement error 22008
select timestamp 'infinity' - timestamp '2024-01-01'
----
cannot subtract infinite timestamps

statement error 22008
select date 'infinity' - date '2024-01-01'
----
cannot subtract infinite dates

query
select date_trunc('month', timestamp 'infinity'), date_trunc('day', timestamptz '-infinity'), date_part('year', date 'infinity'), date_part('epoch', timestamp '-infinity'), date_part('month', date 'infinity'), date_part('hour', timestamp 'infinity')
----
infinity|-infinity|Infinity|-Infinity|NULL|NULL

query
select extract(month from date 'infinity'), extract(dow from timestamptz 'infinity'), timestamp 'infinity'::time, to_char(timestamp 'infinity', 'YYYY'), to_char(timestamptz '-infinity', 'YYYY')
----
NULL|NULL|NULL|NULL|NULL

statement error 22023
select date_part('xyz', date 'infinity')

query
select timestamp 'infinity' at time zone 'Europe/Berlin', timestamptz '-infinity' at time zone 'Europe/Berlin', to_timestamp('infinity'::float8), to_timestamp('-infinity'::float8), to_json(date 'infinity'), array[timestamp '-infinity']
----
infinity|-infinity|infinity|-infinity|"infinity"|{-infinity}

statement error 22008
select to_timestamp('nan'::float8)
----
timestamp cannot be NaN

statement error 22007
select 'infinity 2024-01-01'::date
----
invalid input syntax for type date: "infinity 2024-01-01"

statement ok
create table reigns (id int primary key, ends date, until timestamptz)

statement ok
insert into reigns values (1, 'infinity', '-infinity'), (2, '2024-01-01', 'infinity'), (3, '-infinity', '2024-01-01 00:00:00+00')

query
select * from reigns order by ends
----
3|-infinity|2024-01-01 00:00:00+00
2|2024-01-01|infinity
1|infinity|-infinity

query
select * from reigns order by until desc
----
2|2024-01-01|infinity
3|-infinity|2024-01-01 00:00:00+00
1|infinity|-infinity

query
select id from reigns where ends = 'infinity'
----
1

query
select min(ends), max(ends), min(until), max(until) from reigns
----
-infinity|infinity|-infinity|infinity

query
select 'today'::date = current_date, 'tomorrow'::date - 'today'::date, 'yesterday'::date - 'today'::date, 'now'::timestamptz = now(), 'now'::date = current_date, 'now'::time = localtimestamp::time
----
t|1|-1|t|t|t

query
select 'tomorrow'::timestamp = date_trunc('day', localtimestamp) + interval '1 day', 'today 10:30'::timestamp = current_date + time '10:30', 'now'::timestamp = localtimestamp, 'now'::timestamp(0) = localtimestamp::timestamp(0)
----
t|t|t|t

statement error 22007
select 'now now'::date
----
invalid input syntax for type date: "now now"

statement error 22007
select 'today'::time
----
invalid input syntax for type time: "today"

query
select '2011-03-27 01:00 MSK'::timestamptz, '2011-03-27 04:00 MSK'::timestamptz, '2014-10-26 03:00 MSK'::timestamptz, '2024-01-01 00:00 CEST'::timestamptz, timestamp '2011-03-27 00:00' at time zone 'MSK', timestamptz '2012-03-27 00:00+00' at time zone 'MSK'
----
2011-03-26 22:00:00+00|2011-03-27 00:00:00+00|2014-10-26 00:00:00+00|2023-12-31 22:00:00+00|2011-03-26 21:00:00+00|2012-03-27 04:00:00

query
select '2024-01-01 00:00 nzst'::timestamptz, '2024-01-01 00:00 PKT'::timestamptz, timestamp '2024-01-01' at time zone 'BRST'
----
2023-12-31 12:00:00+00|2023-12-31 19:00:00+00|2024-01-01 02:00:00+00

query
select date_bin('15 minutes', timestamp '2020-02-11 15:44:17', timestamp '2001-01-01'), date_bin('5 days', timestamptz '2020-02-01 01:01:01+00', timestamptz '2020-02-10 00:00+00'), date_bin('1 day', timestamp 'infinity', timestamp '2001-01-01')
----
2020-02-11 15:30:00|2020-01-31 00:00:00+00|infinity

statement error 0A000
select date_bin('5 months', timestamp '2020-02-01 01:01:01', timestamp '2001-01-01')
----
timestamps cannot be binned into intervals containing months or years

statement error 22008
select date_bin('0 days', timestamp '2020-02-01 01:01:01', timestamp '2001-01-01')
----
stride must be greater than zero

statement error 22008
select date_bin('-2 days', timestamp '2020-02-01 01:01:01', timestamp '2001-01-01')
----
stride must be greater than zero

statement error 22008
select date_bin('1 day', timestamp '2020-02-01', timestamp 'infinity')
----
origin out of range

