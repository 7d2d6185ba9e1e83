# CREATE TABLE AS, SELECT INTO and LIKE. Answers are PostgreSQL 15's.

statement CREATE TABLE
create table people (id int primary key, name varchar(20) not null, paid numeric(8,2) default 1.25, born date, check (paid > 0))

statement INSERT 0 2
insert into people values (1, 'Ada', 2, '1815-12-10'), (2, 'Emmy', 3.25, null)

statement SELECT 1
create table rich as select id, upper(name) as big, (paid * 2)::numeric(8,2) as twice, born from people where paid > 2

query
select * from rich
----
2|EMMY|6.50|NULL

query
select column_name, data_type, is_nullable from information_schema.columns where table_name = 'rich' order by ordinal_position
----
id|integer|YES
big|text|YES
twice|numeric|YES
born|date|YES

statement error 42P07
create table rich as select 1
----
relation "rich" already exists

statement CREATE TABLE AS
create table if not exists rich as select 1

statement SELECT 2
create table named (a, b) as select id, name from people order by id

query
select a, b from named order by a
----
1|Ada
2|Emmy

statement error 42601
create table named2 (a, b, c) as select id, name from people
----
too many column names were specified

statement CREATE TABLE AS
create table part (a) as select id, name from people with no data

query
select * from part
----

query
select column_name, data_type, character_maximum_length from information_schema.columns where table_name = 'part' order by ordinal_position
----
a|integer|NULL
name|character varying|20

statement error 42701
create table two as select id, id from people
----
column "id" specified more than once

statement SELECT 1
create table counts as with c as (select count(*) as n from people) select n, 'x' as t, null as u from c

query
select n, t, u, pg_typeof(t) from counts
----
2|x|NULL|text

statement SELECT 2
create table vals (k, v) as values (1, 'one'), (2, 'two')

query
select k, v from vals order by k
----
1|one
2|two

statement SELECT 2
create table all_of as table people

query
select id, name, paid, born from all_of order by id
----
1|Ada|2.00|1815-12-10
2|Emmy|3.25|NULL

statement SELECT 1
create temp table held on commit drop as select 1 as one

statement error 42P01
select * from held
----
relation "held" does not exist

statement SELECT 2
create temp table kept as select id from people

query
select count(*) from pg_temp.kept
----
2

statement SELECT 1
select id, name into chosen from people where id = 2

query
select * from chosen
----
2|Emmy

statement SELECT 2
select id into temp table chosen from people

query
select id from chosen order by id
----
1
2

query
select id, name from public.chosen
----
2|Emmy

statement error 42P07
select id into people from people
----
relation "people" already exists

statement BEGIN
begin

statement SELECT 3
create table inside as select generate_series(1, 3) as n

statement INSERT 0 1
insert into inside values (4)

query
select sum(n) from inside
----
10

statement ROLLBACK
rollback

statement error 42P01
select * from inside
----
relation "inside" does not exist

statement CREATE SEQUENCE
create sequence numbers

statement SELECT 2
create table drawn as select nextval('numbers') as n, id from people order by id

query
select n, id from drawn order by id
----
1|1
2|2

query
select nextval('numbers')
----
3

# LIKE.

statement CREATE INDEX
create index on people (born)

statement COMMENT
comment on column people.born is 'a day'

statement CREATE TABLE
create table alike (like people)

query
select column_name, is_nullable, column_default from information_schema.columns where table_name = 'alike' order by ordinal_position
----
id|NO|NULL
name|NO|NULL
paid|YES|NULL
born|YES|NULL

query
select conname, contype from pg_constraint where conrelid = 'alike'::regclass order by 1
----

statement CREATE TABLE
create table twin (first int, like people including all, last text)

query
select column_name, is_nullable, column_default from information_schema.columns where table_name = 'twin' order by ordinal_position
----
first|YES|NULL
id|NO|NULL
name|NO|NULL
paid|YES|1.25
born|YES|NULL
last|YES|NULL

query
select conname, contype from pg_constraint where conrelid = 'twin'::regclass order by 1
----
people_paid_check|c
twin_pkey|p

query
select indexname, indexdef from pg_indexes where tablename = 'twin' order by 1
----
twin_born_idx|CREATE INDEX twin_born_idx ON public.twin USING btree (born)
twin_pkey|CREATE UNIQUE INDEX twin_pkey ON public.twin USING btree (id)

query
select col_description('twin'::regclass, 5)
----
a day

statement CREATE TABLE
create table partly (like people including defaults including constraints excluding defaults)

query
select column_default from information_schema.columns where table_name = 'partly' and column_name = 'paid'
----
NULL

statement error 23514
insert into partly (id, name, paid) values (1, 'x', -1)
----
new row for relation "partly" violates check constraint "people_paid_check"
DETAIL: Failing row contains (1, x, -1.00, null).
SCHEMA: public
TABLE: partly
CONSTRAINT: people_paid_check

statement CREATE TABLE
create table ids (id int generated always as identity (start with 10), n serial)

statement CREATE TABLE
create table ids2 (like ids including identity including defaults)

statement INSERT 0 1
insert into ids2 default values

query
select id, n from ids2
----
10|1

statement CREATE TABLE
create temp table gone (like people including indexes) on commit delete rows

statement error 42P01
create table nosuch (like nosuch2)
----
relation "nosuch2" does not exist

statement error 42601
create table wrong (like people including nothing)

statement error 42601
create table wrong (a)

# A row as a value is no column of a table.

statement error 42P16
create table bad as select row(1, 2) as r
----
column "r" has pseudo-type record

statement error 42P16
create materialized view bad as select people from people
