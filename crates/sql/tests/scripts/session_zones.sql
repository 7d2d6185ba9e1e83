# The session's time zone: moments are read, shown and computed in it, as PostgreSQL does.
query
show timezone
----
UTC

statement ok
create table e (id int primary key, at timestamptz default '2024-07-01 12:00', d date, lt timestamp)

statement ok
insert into e values (1, '2024-01-15 10:00:00+00', '2024-01-15', '2024-01-15 10:00'), (2, '2024-07-15 22:30:00+00', '2024-07-16', '2024-07-15 22:30')

statement ok
set time zone 'Europe/Berlin'

query
show timezone
----
Europe/Berlin

query
select id, at, at::text, at::date, at::time, at::timestamp from e order by id
----
1|2024-01-15 11:00:00+01|2024-01-15 11:00:00+01|2024-01-15|11:00:00|2024-01-15 11:00:00
2|2024-07-16 00:30:00+02|2024-07-16 00:30:00+02|2024-07-16|00:30:00|2024-07-16 00:30:00

query
select '2024-03-31 02:30'::timestamptz, '2024-03-31 03:30'::timestamptz, '2024-10-27 02:30'::timestamptz, '2024-07-01'::timestamptz
----
2024-03-31 03:30:00+02|2024-03-31 03:30:00+02|2024-10-27 02:30:00+01|2024-07-01 00:00:00+02

query
select '2024-07-01 12:00+00'::timestamptz, '2024-07-01 12:00 America/New_York'::timestamptz
----
2024-07-01 14:00:00+02|2024-07-01 18:00:00+02

statement ok
insert into e values (3, '2024-07-01 00:00', '2024-07-01', '2024-07-01 00:00')

statement ok
insert into e (id) values (4)

query
select id, at at time zone 'UTC', at at time zone 'Asia/Tokyo' from e order by id
----
1|2024-01-15 10:00:00|2024-01-15 19:00:00
2|2024-07-15 22:30:00|2024-07-16 07:30:00
3|2024-06-30 22:00:00|2024-07-01 07:00:00
4|2024-07-01 12:00:00|2024-07-01 21:00:00

query
select id from e where at = '2024-07-01' order by id
----
3

query
select id from e where at >= date '2024-07-01' order by id
----
2
3
4

query
select id from e where at::date = '2024-07-16' order by id
----
2

query
select id from e where at = lt order by id
----
3

query
select d::timestamptz, lt::timestamptz from e order by id
----
2024-01-15 00:00:00+01|2024-01-15 10:00:00+01
2024-07-16 00:00:00+02|2024-07-15 22:30:00+02
2024-07-01 00:00:00+02|2024-07-01 00:00:00+02
NULL|NULL

query
select extract(hour from at), extract(timezone from at), extract(timezone_hour from at), extract(timezone_minute from at), extract(epoch from at), date_part('day', at) from e order by id
----
11|3600|1|0|1705312800.000000|15
0|7200|2|0|1721082600.000000|16
0|7200|2|0|1719784800.000000|1
14|7200|2|0|1719835200.000000|1

query
select date_trunc('day', at), date_trunc('month', at), date_trunc('hour', at), date_trunc('day', at, 'UTC') from e order by id
----
2024-01-15 00:00:00+01|2024-01-01 00:00:00+01|2024-01-15 11:00:00+01|2024-01-15 01:00:00+01
2024-07-16 00:00:00+02|2024-07-01 00:00:00+02|2024-07-16 00:00:00+02|2024-07-15 02:00:00+02
2024-07-01 00:00:00+02|2024-07-01 00:00:00+02|2024-07-01 00:00:00+02|2024-06-30 02:00:00+02
2024-07-01 00:00:00+02|2024-07-01 00:00:00+02|2024-07-01 14:00:00+02|2024-07-01 02:00:00+02

query
select at + interval '1 day', at + interval '24 hours', at - interval '6 months' from e order by id
----
2024-01-16 11:00:00+01|2024-01-16 11:00:00+01|2023-07-15 11:00:00+02
2024-07-17 00:30:00+02|2024-07-17 00:30:00+02|2024-01-16 00:30:00+01
2024-07-02 00:00:00+02|2024-07-02 00:00:00+02|2024-01-01 00:00:00+01
2024-07-02 14:00:00+02|2024-07-02 14:00:00+02|2024-01-01 14:00:00+01

query
select timestamptz '2024-03-30 12:00' + interval '1 day', timestamptz '2024-03-30 12:00' + interval '24 hours', timestamptz '2024-03-30 12:00' + interval '1 day 1 hour'
----
2024-03-31 12:00:00+02|2024-03-31 13:00:00+02|2024-03-31 13:00:00+02

query
select make_timestamptz(2024, 7, 1, 12, 0, 0), make_timestamptz(2024, 7, 1, 12, 0, 0, 'UTC')
----
2024-07-01 12:00:00+02|2024-07-01 14:00:00+02

query
select age(timestamptz '2024-07-15 00:30', timestamptz '2024-01-15 00:00')
----
6 mons 00:30:00

query
select to_json(at), json_build_object('at', at), concat(at, '!') from e where id = 2
----
"2024-07-16T00:30:00+02:00"|{"at" : "2024-07-16T00:30:00+02:00"}|2024-07-16 00:30:00+02!

query
select to_jsonb(at), jsonb_build_array(at) from e where id = 1
----
"2024-01-15T11:00:00+01:00"|["2024-01-15T11:00:00+01:00"]

query
select json_agg(at order by id), array_agg(at order by id) from e where id < 3
----
["2024-01-15T11:00:00+01:00", "2024-07-16T00:30:00+02:00"]|{"2024-01-15 11:00:00+01","2024-07-16 00:30:00+02"}

query
select array['2024-07-01 12:00'::timestamptz], '{2024-07-01 12:00,2024-01-01 12:00+00}'::timestamptz[]
----
{"2024-07-01 12:00:00+02"}|{"2024-07-01 12:00:00+02","2024-01-01 13:00:00+01"}

query
select ('{2024-07-01 12:00}'::timestamptz[])[1], ('{2024-07-01 12:00}'::timestamptz[])::text, ('{2024-07-01 12:00}'::timestamptz[])::timestamp[]
----
2024-07-01 12:00:00+02|{"2024-07-01 12:00:00+02"}|{"2024-07-01 12:00:00"}

query
select min(at), max(at) from e
----
2024-01-15 11:00:00+01|2024-07-16 00:30:00+02

query
select now()::date = current_date, localtimestamp = now()::timestamp, now() = localtimestamp::timestamptz
----
t|t|t

query
select current_date = (now() at time zone 'Europe/Berlin')::date
----
t

query
select timestamptz '2024-07-01 12:00' - date '2024-07-01', timestamptz '2024-07-01 12:00' > timestamp '2024-07-01 11:59'
----
12:00:00|t

query
select '12:00'::time, '2024-07-01'::date, timestamp '2024-07-01 12:00'
----
12:00:00|2024-07-01|2024-07-01 12:00:00

query
select to_timestamp(0), to_timestamp(1720000000.5)
----
1970-01-01 01:00:00+01|2024-07-03 11:46:40.5+02

query
select date '2024-07-01' = timestamptz '2024-07-01', date '2024-07-01' < timestamptz '2024-07-01 00:00:01'
----
t|t

statement ok
set time zone 'America/New_York'

query
select id, at from e order by id
----
1|2024-01-15 05:00:00-05
2|2024-07-15 18:30:00-04
3|2024-06-30 18:00:00-04
4|2024-07-01 08:00:00-04

query
select '1883-11-18 12:00'::timestamptz, '1800-01-01'::timestamptz
----
1883-11-18 12:00:00-05|1800-01-01 00:00:00-04:56:02

statement ok
set time zone -7

query
show timezone
----
<-07>+07

query
select at from e where id = 1
----
2024-01-15 03:00:00-07

statement ok
set time zone 5.5

query
show timezone
----
<+05:30>-05:30

query
select at from e where id = 1
----
2024-01-15 15:30:00+05:30

statement ok
set time zone interval '+02:00' hour to minute

query
show timezone
----
<+02>-02

query
select at from e where id = 1
----
2024-01-15 12:00:00+02

statement ok
set timezone to 'UTC+3'

query
show timezone
----
UTC+3

query
select at from e where id = 1
----
2024-01-15 07:00:00-03

statement ok
set time zone 'asia/kolkata'

query
show timezone
----
Asia/Kolkata

statement error 22023
set time zone 'Nowhere/Else'

statement error 22023
set timezone = '+200'

query
show timezone
----
Asia/Kolkata

statement ok
begin

statement ok
set local time zone 'Asia/Tokyo'

query
select at from e where id = 1
----
2024-01-15 19:00:00+09

statement ok
commit

query
select at from e where id = 1
----
2024-01-15 15:30:00+05:30

statement ok
prepare q as select at, '2024-07-01'::timestamptz from e where id = $1 and at < $2

statement ok
execute q(1, '2024-07-01')

statement ok
set timezone = 'America/New_York'

statement ok
execute q(1, '2024-07-01')

statement ok
set timezone = 'Europe/Berlin'

statement ok
set timezone = 'UTC'

statement error 42P17
create index on e ((at::date))

statement error 42P17
create index on e ((extract(year from at)))

statement error 42P17
create index on e (date_trunc('day', at))

statement ok
create index on e ((date_trunc('day', at at time zone 'UTC')))

statement error 42P17
create table g (at timestamptz, y numeric generated always as (extract(year from at)) stored)

query
select set_config('timezone', 'Asia/Tokyo', false)
----
Asia/Tokyo

query
select at from e where id = 2
----
2024-07-16 07:30:00+09


# Texts in EXECUTE are read in the session's zone.
statement ok
set timezone = 'Asia/Tokyo'

statement ok
create table executed (at timestamptz, of_day timetz)

statement ok
prepare put_moments as insert into executed values ($1, $2)

statement INSERT 0 1
execute put_moments ('2024-01-01 10:00', '10:00')

query
select * from executed
----
2024-01-01 10:00:00+09|10:00:00+09
