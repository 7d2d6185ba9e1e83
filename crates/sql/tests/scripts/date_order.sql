# The order of a date's parts, spans of time, zones in the manner of POSIX, and functions of bytes; the answers are PostgreSQL 15's.

query
show datestyle
----
ISO, MDY

statement ok
set datestyle to dmy

query
show datestyle
----
ISO, DMY

query
select '1/2/2003'::date, '01-02-03'::timestamp, '1.2.2003 10:00'::timestamptz, '2003-02-01'::date, '1 Feb 2003'::date, array['1/2/2003']::date[], (d || '')::date from (values ('3/4/2005')) v(d)
----
2003-02-01|2003-02-01 00:00:00|2003-02-01 10:00:00+00|2003-02-01|2003-02-01|{2003-02-01}|2005-04-03

statement error 22008
select '12/27/2001'::date
----
date/time field value out of range: "12/27/2001"
HINT: Perhaps you need a different "datestyle" setting.

statement ok
create table days (id int primary key, d date, t timestamptz)

statement ok
insert into days values (1, '27/12/2001', '27/12/2001 04:05:06+00'), (2, '1/2/2003', '1/2/2003 00:00:00+00')

statement ok
set datestyle to iso

query
show datestyle
----
ISO, DMY

query
select * from days where d = '27/12/2001'
----
1|2001-12-27|2001-12-27 04:05:06+00

statement ok
set datestyle to 'ISO, YMD'

query
select '01/02/03'::date, '99-Jan-08'::date, '99 Jan 08'::date, '97FEB10 5:32:01PM UTC'::timestamp, '08-Jan-1999'::date
----
2001-02-03|1999-01-08|1999-01-08|1997-02-10 17:32:01|1999-01-08

statement error 22008
select '1/18/1999'::date
----
date/time field value out of range: "1/18/1999"
HINT: Perhaps you need a different "datestyle" setting.

query
select * from days order by id
----
1|2001-12-27|2001-12-27 04:05:06+00
2|2003-02-01|2003-02-01 00:00:00+00

statement error 22023
set datestyle to 'German'

statement ok
set datestyle to default

query
show datestyle
----
ISO, MDY

query
select '1/2/2003'::date
----
2003-01-02

statement ok
set datestyle to us

query
select (date '2001-02-16', date '2001-12-21') overlaps (date '2001-10-30', date '2002-10-30'), (date '2001-02-16', interval '100 days') overlaps (date '2001-10-30', date '2002-10-30'), (date '2001-10-29', date '2001-10-30') overlaps (date '2001-10-30', date '2001-10-31'), (date '2001-10-30', date '2001-10-30') overlaps (date '2001-10-30', date '2001-10-31')
----
t|f|f|t

query
select (time '00:00', time '01:00') overlaps (time '00:30', time '01:30'), (timestamp '2000-11-27', null) overlaps (timestamp '2000-11-28', null), (timestamptz '2000-11-27 00:00+00', interval '12 hours') overlaps (timestamptz '2000-11-27 12:00+00', timestamptz '2000-11-30 00:00+00')
----
t|NULL|f

statement error 42883
select (1, 2) overlaps (3, 4)

query
select '2000-03-15 08:14:01 GMT+8'::timestamptz, '2000-03-15 13:14:02 GMT-1'::timestamptz, '2000-03-15 02:14:05 MST+7:00'::timestamp
----
2000-03-15 16:14:01+00|2000-03-15 12:14:02+00|2000-03-15 02:14:05

query
select btrim('\x00616200'::bytea, '\x00'), ltrim('\x00616200'::bytea, '\x00'), rtrim('\x00616200'::bytea, '\x00'), float8send(1.5), float4send(-2::real)
----
\x6162|\x616200|\x006162|\x3ff8000000000000|\xc0000000

query
select unistr('\0064at\+0000610'), unistr('d\u0061t\U000000610'), unistr('a\\b'), unistr('\D83D\DE00')
----
data0|data0|a\b|😀

statement error 42601
select unistr('wrong: \db99')
----
invalid Unicode surrogate pair

statement error 42601
select unistr('wrong: \xyz')
----
invalid Unicode escape
HINT: Unicode escapes must be \XXXX, \+XXXXXX, \uXXXX, or \UXXXXXXXX.

statement error 22023
select unistr('wrong: \+2FFFFF')
----
invalid Unicode code point: 2FFFFF

query
select date_trunc('hours', timestamp '2024-01-01 10:11:12.345678'), date_trunc('millisecond', timestamp '2024-01-01 10:11:12.345678'), date_trunc('centuries', timestamp '2024-01-01')
----
2024-01-01 10:00:00|2024-01-01 10:11:12.345|2001-01-01 00:00:00

# Kept expressions mean the dates of the session that declared them.
statement ok
set datestyle = 'ISO, DMY'

statement ok
create table kept_order (id int primary key, d date check (d <> '05/03/2024'), g date generated always as (d + (date '02/03/2024' - date '01/03/2024')) stored)

statement ok
create unique index kept_order_later on kept_order (g) where d > '02/04/2024'

statement ok
insert into kept_order (id, d) values (1, '2024-05-03')

statement error 23514
insert into kept_order (id, d) values (2, '2024-03-05')
----
new row for relation "kept_order" violates check constraint "kept_order_d_check"
DETAIL: Failing row contains (2, 2024-03-05, 2024-03-06).
SCHEMA: public
TABLE: kept_order
CONSTRAINT: kept_order_d_check

query
select id, g from kept_order
----
1|2024-05-04

statement ok
alter table kept_order alter d set default '09/10/2024'

statement error 0A000
create view kept_order_view as select date '02/03/2024' as d
----
CREATE VIEW with another order of dates than MDY is not supported
HINT: SET datestyle = 'ISO, MDY' before.

statement ok
set datestyle = 'ISO, MDY'

statement ok
create view kept_order_view as select date '02/03/2024' as d

statement ok
insert into kept_order (id) values (3)

query
select d from kept_order where id = 3
----
2024-10-09

statement ok
set datestyle = 'ISO, DMY'

query
select d from kept_order_view
----
2024-02-03

statement ok
reset datestyle

statement error 22008
select timestamp '294247-01-10 04:00:54.775806' + interval '1 microsecond'
----
timestamp out of range
