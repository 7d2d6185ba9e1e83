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
