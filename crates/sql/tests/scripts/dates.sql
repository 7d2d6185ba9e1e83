# Dates and timestamps are read whole, as PostgreSQL does.

query
select '0044-03-15 BC'::date, '0044-03-15 10:00:00 BC'::timestamp, '10000-01-01'::date
----
0044-03-15 BC|0044-03-15 10:00:00 BC|10000-01-01

query
select '2024-01-01 10:00:00+02'::date, '2024-01-01 AD'::date, '2024-01-01T10:00:00Z'::timestamp
----
2024-01-01|2024-01-01|2024-01-01 10:00:00

query
select '0001-01-01'::date - '0001-12-31 BC'::date, '0044-03-15 BC'::date < '0043-03-15 BC'::date
----
1|t

statement error 22007
select '2024-01-01 garbage'::date

statement error 22007
select '2024-01-01 10:00:00 garbage'::timestamp

statement error 22007
select '2024-01-01 10:00:00+02x'::timestamp

statement error 22007
select '2024-01-01 BC BC'::timestamptz

statement error 22008
select '0000-01-01'::date

statement ok
create table d (a date primary key)

statement ok
insert into d values ('0044-03-15 BC'), ('2024-02-29')

statement error 22007
insert into d values ('2024-02-28 or so')

query
select a from d order by a
----
0044-03-15 BC
2024-02-29

# A timestamp becomes one with a zone where they meet.
query
select pg_typeof(coalesce(timestamp '2024-01-01', timestamptz '2024-01-01+00')), pg_typeof(case when true then date '2024-01-01' else timestamptz '2024-01-01+00' end), pg_typeof(greatest(timestamptz '2024-01-01+00', timestamp '2024-01-01'))
----
timestamp with time zone|timestamp with time zone|timestamp with time zone

query
select pg_typeof(x) from (select timestamp '2024-01-01' as x union all select timestamptz '2024-01-01+00') v
----
timestamp with time zone
timestamp with time zone

query
select timestamp '2024-01-01' = timestamptz '2024-01-01 00:00+00', date '2024-01-01' < timestamptz '2024-01-01 00:00+00', nullif(timestamptz '2024-01-01+00', timestamp '2024-01-01')
----
t|f|NULL

query
select timestamptz '2024-01-01 12:00+02'::timestamp, cast(timestamptz '2024-01-01+00' as time)
----
2024-01-01 10:00:00|00:00:00

query
select timestamptz '2024-01-01 00:00+00' in (timestamp '2024-01-01', date '2024-01-02'), timestamptz '2024-01-01+00' between date '2023-01-01' and timestamp '2024-01-01'
----
t|t

query
select array[timestamp '2024-01-01', timestamptz '2024-01-01+00']
----
{"2024-01-01 00:00:00+00","2024-01-01 00:00:00+00"}

