# The fields of rows are read and written in the session's zone, order of dates and style of intervals.
statement ok
create type at_zone as (name text, at timestamptz)

statement ok
create table zoned (n int, i at_zone, a at_zone[], s text)

statement ok
set timezone = 'America/New_York'

statement ok
insert into zoned values (1, row('a', '2020-01-01 00:00')::at_zone, array[row('b', '2020-01-01 00:00')::at_zone], '(c,2020-01-01 00:00)')

statement ok
insert into zoned values (2, row('a', '2020-01-01 00:00'), array[row('b', '2020-01-01 00:00')]::at_zone[], '(c,2020-01-01 00:00)')

statement ok
insert into zoned values (3, '(a,2020-01-01 00:00)', array['(b,2020-01-01 00:00)'::at_zone], '(c,2020-01-01 00:00)')

statement ok
insert into zoned select 4, row('a', '2020-01-01 00:00')::at_zone, array[]::at_zone[], '(c,2020-01-01 00:00)'

statement ok
update zoned set i = row('a', '2020-01-01 00:00'), a = a || row('b', '2020-01-01 00:00')::at_zone where n = 4

query
select count(distinct (i, a, s::at_zone)) from zoned
----
1

query
select i, a, s::at_zone, i::text, a::text, ('{"' || s || '"}')::at_zone[], array[s]::at_zone[], a::text[], row(i, a)::text from zoned where n = 1
----
(a,"2020-01-01 00:00:00-05")|{"(b,\"2020-01-01 00:00:00-05\")"}|(c,"2020-01-01 00:00:00-05")|(a,"2020-01-01 00:00:00-05")|{"(b,\"2020-01-01 00:00:00-05\")"}|{"(c,\"2020-01-01 00:00:00-05\")"}|{"(c,\"2020-01-01 00:00:00-05\")"}|{"(b,\"2020-01-01 00:00:00-05\")"}|("(a,""2020-01-01 00:00:00-05"")","{""(b,\\""2020-01-01 00:00:00-05\\"")""}")

query
select row('a', '2020-01-01 00:00')::at_zone = '(a,2020-01-01 00:00)'::at_zone
----
t

statement ok
create function shown(x at_zone) returns text language sql as 'select x::text'

query
select shown(row('a', '2020-01-01 00:00')), shown(i) from zoned where n = 1
----
(a,"2020-01-01 00:00:00-05")|(a,"2020-01-01 00:00:00-05")

statement ok
set timezone = 'UTC'

query
select i, a, s::at_zone, i::text, a::text from zoned where n = 2
----
(a,"2020-01-01 05:00:00+00")|{"(b,\"2020-01-01 05:00:00+00\")"}|(c,"2020-01-01 00:00:00+00")|(a,"2020-01-01 05:00:00+00")|{"(b,\"2020-01-01 05:00:00+00\")"}

statement ok
create type of_days as (d date, e timestamp)

statement ok
set datestyle = 'ISO, DMY'

query
select row('01/02/2020', '03/04/2020 1:00')::of_days, s::of_days, array[s]::of_days[], (array[row('01/02/2020', '03/04/2020 1:00')])::of_days[] from (values ('(01/02/2020,03/04/2020 1:00)')) v (s)
----
(2020-02-01,"2020-04-03 01:00:00")|(2020-02-01,"2020-04-03 01:00:00")|{"(2020-02-01,\"2020-04-03 01:00:00\")"}|{"(2020-02-01,\"2020-04-03 01:00:00\")"}

statement ok
reset datestyle

statement ok
create type texts as (a text, b text)

statement ok
set timezone = 'America/New_York'

statement ok
set intervalstyle = 'iso_8601'

query
select row('2020-01-01 05:00+00'::timestamptz, interval '1 day')::texts
----
("2020-01-01 00:00:00-05",P1D)

statement ok
create type lengths as (a interval)

query
select row(interval '1 day')::lengths::text, row('P1D')::lengths, ('(' || 'P1D' || ')')::lengths, array[row(interval '1 day')::lengths]::text
----
(P1D)|(P1D)|(P1D)|{(P1D)}

statement ok
reset intervalstyle

statement ok
reset timezone
