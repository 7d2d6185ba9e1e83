# Fields and digits of intervals, as PostgreSQL cuts to them.
query
select interval '1-2' year to month, interval '1-2' year, interval '14' month, interval '3 4:05:06.789' day to second(1)
----
1 year 2 mons|1 year|1 year 2 mons|3 days 04:05:06.8

query
select interval '5' minute, interval '5' hour, interval '5' day, interval '5' second, interval '5' year, interval '1 2:03' day to minute
----
00:05:00|05:00:00|5 days|00:00:05|5 years|1 day 02:03:00

query
select interval '1:30' minute to second, interval '1:30' hour to minute, interval '1:30' hour to second, interval '-1:30' minute to second
----
00:01:30|01:30:00|01:30:00|-00:01:30

query
select interval(3) '1.23456 s', interval '1.23456' second(2), interval(0) '1.5 s', interval(0) '-1.5 s'
----
00:00:01.235|00:00:01.23|00:00:02|-00:00:02

query
select '1 day 02:03:04.567'::interval day to hour, '1 day 02:03:04.567'::interval(1), '1 year 5 mon 3 days'::interval year
----
1 day 02:00:00|1 day 02:03:04.6|1 year

query
select '10'::interval minute, '10'::interval day to second, '90 minutes'::interval hour
----
00:10:00|00:00:10|01:00:00

statement ok
create table i (a interval(2), b interval day to minute, c interval year to month, d interval, e interval second(0))

statement ok
insert into i values ('1.239 s', '1 day 02:03:04', '1 year 2 mon 3 days', '1.239 s', '61.5')

query
select * from i
----
00:00:01.24|1 day 02:03:00|1 year 2 mons|00:00:01.239|00:01:02

query
insert into i select d, d, d, d, d from i returning *
----
00:00:01.24|00:00:00|00:00:00|00:00:01.239|00:00:01

query
select format_type(atttypid, atttypmod), atttypmod from pg_attribute where attrelid = 'i'::regclass and attnum > 0 order by attnum
----
interval(2)|2147418114
interval day to minute|201916415
interval year to month|458751
interval|-1
interval second(0)|268435456

statement ok
alter table i alter column d type interval(1)

query
select d from i
----
00:00:01.2
00:00:01.2

query
select time '12:34:56.789'::interval(0), (interval '1 day 01:02:03' * 2)::interval hour to minute
----
12:34:57|2 days 02:04:00

query
select time(2) '01:02:03.456', timestamp(0) '2024-01-01 00:00:00.5', timestamptz(1) '2024-01-01 00:00:00.55+00'
----
01:02:03.46|2024-01-01 00:00:01|2024-01-01 00:00:00.6+00

