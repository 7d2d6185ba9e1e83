# Literals of moments in kept expressions: they are those of the session that declares it, as in PostgreSQL.
statement ok
set time zone 'Europe/Berlin'

statement ok
create table c (t timestamptz check (t < '2024-01-01 00:00'::timestamptz), u timestamptz, constraint plain check (u between '2024-01-01' and timestamptz '2024-07-01 12:00'))

query
select pg_get_constraintdef(oid) from pg_constraint where conrelid = 'c'::regclass order by conname
----
CHECK ((t < '2023-12-31 23:00:00+00'::TIMESTAMPTZ))
CHECK ((u BETWEEN '2023-12-31 23:00:00+00' AND TIMESTAMPTZ '2024-07-01 10:00:00+00'))

statement ok
insert into c values ('2023-12-31 23:59:59', '2024-01-01')

statement error 23514
insert into c (t) values ('2024-01-01 00:30')

statement error 23514
insert into c (u) values ('2023-12-31 23:59')

statement ok
set time zone 'America/New_York'

statement error 23514
insert into c (t) values ('2023-12-31 18:30')

statement ok
insert into c (t) values ('2023-12-31 17:59')

statement ok
alter table c rename column t to moved

statement ok
alter table c alter column moved type timestamptz(0)

statement error 23514
insert into c (moved) values ('2023-12-31 18:30')

# Added to a table that is there.
statement error 23514
alter table c add check (moved < '2023-12-31 17:59')

statement ok
alter table c add constraint later check (moved < '2023-12-31 18:00')

statement ok
set time zone 'UTC'

statement error 23514
insert into c (moved) values ('2023-12-31 23:00')

statement ok
insert into c (moved) values ('2023-12-31 22:59')

# A text that is a moment at one place, and a day and a text at others.
statement ok
set time zone 'Europe/Berlin'

statement ok
create table several (t timestamptz, d date, s text, check (d = '2024-01-01' and s <> '2024-01-01' and t = '2024-01-01' and s <> E'x\'2024-01-01'), check (t in ('2024-01-01', '2024-01-02 00:00+00')), check (t = any ('{2024-01-01, 2024-01-02}'::timestamptz[])))

statement ok
insert into several values ('2024-01-01', '2024-01-01', 'x')

statement error 23514
insert into several values ('2024-01-01', '2024-01-01', '2024-01-01')

statement error 23514
insert into several values ('2024-01-01 01:00', '2024-01-01', 'x')

query
select pg_get_constraintdef(oid) from pg_constraint where conrelid = 'several'::regclass order by conname
----
CHECK ((d = '2024-01-01' AND s <> '2024-01-01' AND t = '2023-12-31 23:00:00+00' AND s <> E'x\'2024-01-01'))
CHECK ((t IN ('2023-12-31 23:00:00+00', '2024-01-02 00:00+00')))
CHECK ((t = ANY('{"2023-12-31 23:00:00+00","2024-01-01 23:00:00+00"}'::TIMESTAMPTZ[])))

# Between brackets.
statement ok
create table bracketed (t timestamptz, a int[], check (a[case when t < '2024-01-01' then 1 else 2 end] > 0))

query
select pg_get_constraintdef(oid) from pg_constraint where conrelid = 'bracketed'::regclass
----
CHECK ((a[CASE WHEN t < '2023-12-31 23:00:00+00' THEN 1 ELSE 2 END] > 0))

statement ok
create table taken (t timestamptz, a int[], check (a[case when t < '2024-01-01 00:00+00' then 1 else 2 end] > 0))

# A predicate of an index, and its expression.
statement ok
create table i (t timestamptz, n int)

statement ok
create unique index i_n on i (n) where t < '2024-01-01 00:00'

statement ok
create unique index i_e on i ((t < '2024-07-01 00:00'::timestamptz), n) where t >= '2024-01-01 00:00'::timestamptz

statement ok
insert into i values ('2024-01-01 00:00', 1), ('2024-01-01 00:30', 2)

statement ok
insert into i values ('2023-12-31 23:59', 1), ('2024-07-01 00:00', 1), ('2024-07-01 00:30', 2)

statement error 23505
insert into i values ('2023-12-31 12:00', 1)

statement error 23505
insert into i values ('2024-06-30 23:59', 2)

statement ok
set time zone 'UTC'

statement ok
insert into i values ('2023-12-31 12:00', 1) on conflict (n) where t < '2023-12-31 23:00' do nothing

query
select indexdef from pg_indexes where tablename = 'i' order by indexname
----
CREATE UNIQUE INDEX i_e ON public.i USING btree (((t < '2024-06-30 22:00:00+00'::timestamptz)), n) WHERE (t >= '2023-12-31 23:00:00+00'::timestamptz)
CREATE UNIQUE INDEX i_n ON public.i USING btree (n) WHERE (t < '2023-12-31 23:00:00+00')

# Generated columns.
statement ok
set time zone 'Europe/Berlin'

statement ok
create table g (t timestamptz, is_new boolean generated always as (t >= '2024-01-01 00:00') stored, fixed timestamptz generated always as ('2024-01-01 00:00') stored, day date generated always as (('2024-01-01 00:00'::timestamptz at time zone 'UTC')::date) stored)

statement ok
alter table g add column or_fixed timestamptz generated always as (coalesce(t, '2024-07-01 00:00')) stored

statement ok
insert into g values ('2024-01-01 00:00'), ('2023-12-31 23:59'), (null)

statement ok
set time zone 'UTC'

statement ok
insert into g values ('2023-12-31 23:00')

query
select is_new, fixed, day, or_fixed from g
----
t|2023-12-31 23:00:00+00|2023-12-31|2023-12-31 23:00:00+00
f|2023-12-31 23:00:00+00|2023-12-31|2023-12-31 22:59:00+00
NULL|2023-12-31 23:00:00+00|2023-12-31|2024-06-30 22:00:00+00
t|2023-12-31 23:00:00+00|2023-12-31|2023-12-31 23:00:00+00

# Domains: conditions and defaults.
statement ok
set time zone 'Europe/Berlin'

statement ok
create domain early as timestamptz default '2023-07-01 00:00' check (value < '2024-01-01 00:00')

statement ok
create table before_utc (e early, n int)

statement ok
set time zone 'America/New_York'

statement ok
alter domain early add constraint not_so_early check (value >= '2000-01-01 00:00')

statement ok
set time zone 'UTC'

statement ok
create table d (e early, n int)

statement ok
insert into d (n) values (1)

query
select e from d
----
2023-06-30 22:00:00+00

statement error 23514
insert into d values ('2023-12-31 23:00')

statement error 23514
insert into before_utc values ('2000-01-01 04:59')

statement ok
insert into before_utc values ('2000-01-01 05:00')

statement error 23514
select '2023-12-31 23:00'::early

statement ok
alter domain early set default null

# Defaults that are computed for each row.
statement ok
set time zone 'Europe/Berlin'

statement ok
create table e (n int, t timestamptz default greatest('2000-01-01 00:00'::timestamptz, least(now(), '2001-07-01 00:00')))

statement ok
alter table e add column u timestamptz

statement ok
alter table e alter column u set default least(now(), '2001-01-01 00:00')

statement ok
set time zone 'America/New_York'

statement ok
insert into e values (1)

statement ok
set time zone 'UTC'

reopen

statement ok
insert into e values (2)

query
select * from e order by n
----
1|2001-06-30 22:00:00+00|2000-12-31 23:00:00+00
2|2001-06-30 22:00:00+00|2000-12-31 23:00:00+00
