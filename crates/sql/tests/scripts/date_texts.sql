# Dates, times and timestamps are read as PostgreSQL reads them: fields in any order, months by name, units, zones.

query
select '2024-1-1'::date, '20240101'::date, '240101'::date, 'Jan 1 2024'::date
----
2024-01-01|2024-01-01|2024-01-01|2024-01-01

query
select 'January 1, 2024'::date, '1-Jan-2024'::date, '2024-Jan-01'::date, '1/2/2024'::date
----
2024-01-01|2024-01-01|2024-01-01|2024-01-02

query
select '1.2.2024'::date, '01/02/24'::date, '2024.035'::date, '2024-035'::date
----
2024-01-02|2024-01-02|2024-02-04|2024-02-04

query
select '2024/01/02'::date, 'J2451187'::date, 'epoch'::date, 'Jan-08-99'::date
----
2024-01-02|1999-01-08|1970-01-01|1999-01-08

query
select '08-Jan-99'::date, 'January 8, 99 BC'::date, 'y2024m01d02'::date, 'Mon Jan 01 2024'::date
----
1999-01-08|0099-01-08 BC|2024-01-02|2024-01-01

query
select 'Sept 5 2024'::date, '5874897-12-31'::date, '  2024-01-01  '::date, '2024 Jan 5'::date
----
2024-09-05|5874897-12-31|2024-01-01|2024-01-05

query
select '20240101T000000'::date
----
2024-01-01

query
select '2024-1-1 1:2:3'::timestamptz, '2024-01-01 10:11:12.'::timestamptz, '2024-01-01 23:59:59.9999999'::timestamptz, '2024-01-01 10:11:12 +02:30'::timestamptz
----
2024-01-01 01:02:03+00|2024-01-01 10:11:12+00|2024-01-02 00:00:00+00|2024-01-01 07:41:12+00

query
select '2024-01-01 10:11:12-0330'::timestamptz, '2024-01-01 10:11:12+02:30:15'::timestamptz, '2024-01-01 10:11:12 EST'::timestamptz, '2024-01-01 12:00 AM'::timestamptz
----
2024-01-01 13:41:12+00|2024-01-01 07:40:57+00|2024-01-01 15:11:12+00|2024-01-01 00:00:00+00

query
select '2024-01-01 10:11:12 PM'::timestamptz, '2024-01-01 24:00:00'::timestamptz, '2024-01-01 10:11:60'::timestamptz, '20240101 101112'::timestamptz
----
2024-01-01 22:11:12+00|2024-01-02 00:00:00+00|2024-01-01 10:12:00+00|2024-01-01 10:11:12+00

query
select '2024-01-01 101112.5'::timestamptz, 'Mon Jan 01 10:11:12 2024'::timestamptz, 'Jan 1 10:11:12 2024 PST'::timestamptz, 'J2451187 10:00'::timestamptz
----
2024-01-01 10:11:12.5+00|2024-01-01 10:11:12+00|2024-01-01 18:11:12+00|1999-01-08 10:00:00+00

query
select '2024-01-01T040506-08'::timestamptz, '2024-01-01 00:00:00.0000005'::timestamptz
----
2024-01-01 12:05:06+00|2024-01-01 00:00:00+00

query
select '2024-1-1 1:2:3'::timestamp, '2024-01-01 10:11:12.'::timestamp, '2024-01-01 23:59:59.9999999'::timestamp, '2024-01-01 10:11:12 +02:30'::timestamp
----
2024-01-01 01:02:03|2024-01-01 10:11:12|2024-01-02 00:00:00|2024-01-01 10:11:12

query
select '2024-01-01 10:11:12-0330'::timestamp, '2024-01-01 10:11:12+02:30:15'::timestamp, '2024-01-01 10:11:12 EST'::timestamp, '2024-01-01 12:00 AM'::timestamp
----
2024-01-01 10:11:12|2024-01-01 10:11:12|2024-01-01 10:11:12|2024-01-01 00:00:00

query
select '2024-01-01 10:11:12 PM'::timestamp, '2024-01-01 24:00:00'::timestamp, '2024-01-01 10:11:60'::timestamp, '20240101 101112'::timestamp
----
2024-01-01 22:11:12|2024-01-02 00:00:00|2024-01-01 10:12:00|2024-01-01 10:11:12

query
select '2024-01-01 101112.5'::timestamp, 'Mon Jan 01 10:11:12 2024'::timestamp, 'Jan 1 10:11:12 2024 PST'::timestamp, 'J2451187 10:00'::timestamp
----
2024-01-01 10:11:12.5|2024-01-01 10:11:12|2024-01-01 10:11:12|1999-01-08 10:00:00

query
select '2024-01-01T040506-08'::timestamp, '2024-01-01 00:00:00.0000005'::timestamp
----
2024-01-01 04:05:06|2024-01-01 00:00:00

query
select '10:11'::time, '101112'::time, '1011'::time, '24:00:00'::time
----
10:11:00|10:11:12|10:11:00|24:00:00

query
select '10:11:12 PM'::time, '12:05 am'::time, '040506.789'::time, '04:05:06 PST'::time
----
22:11:12|00:05:00|04:05:06.789|04:05:06

query
select '2024-01-01 04:05:06'::time, '23:59:59.9999999'::time, 'T040506'::time, '04:05-8'::time
----
04:05:06|24:00:00|04:05:06|04:05:00

query
select 'allballs'::time
----
00:00:00

statement error 22007
select '2024-01-01-01'::date
----
invalid input syntax for type date: "2024-01-01-01"

statement error 22007
select '2024-01'::date
----
invalid input syntax for type date: "2024-01"

statement error 22007
select '01:02:03'::date
----
invalid input syntax for type date: "01:02:03"

statement error 22007
select 'monday 2024-01-01'::date
----
invalid input syntax for type date: "monday 2024-01-01"

statement error 22007
select '2024-01-01 10:11:12.5.5'::timestamp
----
invalid input syntax for type timestamp: "2024-01-01 10:11:12.5.5"

statement error 22007
select '2024-01-01T10:11'::time
----
invalid input syntax for type time: "2024-01-01T10:11"

statement error 22007
select 'x'::time
----
invalid input syntax for type time: "x"

statement error 22007
select ''::date
----
invalid input syntax for type date: ""

statement error 22007
select 'Jan 1 Feb 2 2024'::date
----
invalid input syntax for type date: "Jan 1 Feb 2 2024"

statement error 22008
select '13/01/2024'::date
----
date/time field value out of range: "13/01/2024"
HINT: Perhaps you need a different "datestyle" setting.

statement error 22008
select '2023-02-29'::date
----
date/time field value out of range: "2023-02-29"

statement error 22008
select '44-03-15 BC'::date
----
date/time field value out of range: "44-03-15 BC"
HINT: Perhaps you need a different "datestyle" setting.

statement error 22008
select '5874898-01-01'::date
----
date out of range: "5874898-01-01"

statement error 22008
select '4714-11-23 23:59:59 BC'::timestamp
----
timestamp out of range: "4714-11-23 23:59:59 BC"

statement error 22008
select '2024-01-01 13:00 PM'::timestamp
----
date/time field value out of range: "2024-01-01 13:00 PM"

statement error 22008
select '2024-01-01 24:00:01'::timestamp
----
date/time field value out of range: "2024-01-01 24:00:01"

statement error 22008
select '25:00'::time
----
date/time field value out of range: "25:00"

statement error 22009
select '2024-01-01 10:11:12+16'::timestamptz
----
time zone displacement out of range: "2024-01-01 10:11:12+16"

statement error 22009
select '-2024-01-01'::date
----
time zone displacement out of range: "-2024-01-01"

query
select 'epoch utc'::timestamp, 'epoch 10:00'::timestamptz
----
1970-01-01 00:00:00|1970-01-01 00:00:00+00

statement error 22007
select 'epoch allballs'::timestamp

statement error 22008
select 'epoch 23:00 PM'::timestamp

query
select '2024-07-01 10:00 America/New_York'::timestamptz
----
2024-07-01 14:00:00+00

# A place has no distance from UTC without a day.

statement error 22007
select '10:00 America/New_York'::time
----
invalid input syntax for type time: "10:00 America/New_York"

# A word for the present that is no literal of a query is refused by name.

statement error 0A000
select (w || '')::date from (values ('today')) v(w)
----
the date/time value "today" is not supported

# A time, a timestamp has as many digits of a second's fraction as its type says.

query
select '10:11:12.987654'::time(2), '10:11:12.987654'::time(0), '23:59:59.9'::time(0)
----
10:11:12.99|10:11:13|24:00:00

query
select '2024-01-01 10:11:12.987654'::timestamp(3), '2024-12-31 23:59:59.987654'::timestamptz(0), '1999-12-31 23:59:59.5'::timestamp(0), '1999-12-31 23:59:58.5'::timestamp(0)
----
2024-01-01 10:11:12.988|2025-01-01 00:00:00+00|1999-12-31 23:59:59|1999-12-31 23:59:58

query
select cast('2024-01-01 10:11:12.55'::timestamp as timestamptz(1)), '2024-01-01 10:11:12.5'::timestamp::time(0), '2024-01-01 10:11:12.1234567'::timestamp(6)
----
2024-01-01 10:11:12.6+00|10:11:13|2024-01-01 10:11:12.123457

query
select '2024-01-01'::date::timestamp(0)
----
2024-01-01 00:00:00

statement ok
create table moments (id int primary key, a time(1), b timestamp(0), c timestamptz(3) default '2024-01-01 00:00:00.98765')

statement ok
insert into moments values (1, '10:11:12.96', '2024-01-01 10:11:12.5', '2024-01-01 10:11:12.98765'), (2, null, null, default)

statement ok
update moments set b = '2024-01-01 10:11:12.987654'::timestamp where id = 2

query
select * from moments order by id
----
1|10:11:13|2024-01-01 10:11:13|2024-01-01 10:11:12.988+00
2|NULL|2024-01-01 10:11:13|2024-01-01 00:00:00.988+00

query
select attname, format_type(atttypid, atttypmod) from pg_attribute where attrelid = 'moments'::regclass and attnum > 1 order by attnum
----
a|time(1) without time zone
b|timestamp(0) without time zone
c|timestamp(3) with time zone
