# Temporary tables. Answers are PostgreSQL 15's.

statement CREATE TABLE
create table t (id int primary key, v text)

statement INSERT 0 1
insert into t values (1, 'kept')

query
select current_schemas(true) = '{pg_catalog,public}'
----
t

statement CREATE TABLE
create temp table t (id serial primary key, v text unique, n int default 7 check (n > 0))

statement INSERT 0 2
insert into t (v) values ('a'), ('b')

query
select id, v, n from t order by id
----
1|a|7
2|b|7

query
select id, v, n from pg_temp.t order by id
----
1|a|7
2|b|7

query
select * from public.t
----
1|kept

statement error 23505
insert into t (v) values ('a')
----
duplicate key value violates unique constraint "t_v_key"
DETAIL: Key (v)=(a) already exists.
SCHEMA: pg_temp_1
TABLE: t
CONSTRAINT: t_v_key

statement CREATE INDEX
create index t_n on t (n)

statement error 42P07
create temporary table t (id int)
----
relation "t" already exists

statement CREATE TABLE
create temp table if not exists t (id int)

query
select relname, relkind, relpersistence, nspname like 'pg_temp%', pg_table_is_visible(c.oid) from pg_class c join pg_namespace n on n.oid = relnamespace where nspname like 'pg_temp%' order by 1
----
t|r|t|t|t
t_id_seq|S|t|t|t
t_n|i|t|t|t
t_pkey|i|t|t|t
t_v_key|i|t|t|t

query
select nspname like 'pg_temp%', relpersistence, pg_table_is_visible(c.oid) from pg_class c join pg_namespace n on n.oid = relnamespace where relname = 't' order by 1
----
f|p|f
t|t|t

query
select table_type from information_schema.tables where table_name = 't' order by 1
----
BASE TABLE
LOCAL TEMPORARY

query
select 't'::regclass = 'pg_temp.t'::regclass, 'public.t'::regclass
----
t|public.t

statement error 42P16
create temp table public.u (id int)
----
cannot create temporary relation in non-temporary schema

statement CREATE TABLE
create table pg_temp.w (id int)

statement INSERT 0 1
insert into w values (1)

statement error 42P16
create table u (id int) on commit drop
----
ON COMMIT can only be used on temporary tables

statement CREATE TABLE
create temp table child (t int references t)

statement error 42P16
create temp table other (t int references public.t)
----
constraints on temporary tables may reference only temporary tables

statement error 42P16
create table lasting (t int references pg_temp.t)
----
constraints on permanent tables may reference only permanent tables

# Other sessions do not see them, and have their own.

session other

query
select * from t
----
1|kept

statement error 42P01
select * from w
----
relation "w" does not exist

statement CREATE TABLE
create temp table t (mine text)

statement INSERT 0 1
insert into t values ('the other one''s')

query
select * from t
----
the other one's

session main

query
select id, v from t order by id
----
1|a
2|b

# A view of one goes with it.

statement CREATE VIEW
create view seen as select v from t

query
select v from seen order by v
----
a
b

query
select nspname like 'pg_temp%' from pg_class c join pg_namespace n on n.oid = relnamespace where relname = 'seen'
----
t

statement CREATE VIEW
create temp view plain as select 1 as one

query
select one from pg_temp.plain
----
1

statement CREATE SEQUENCE
create temp sequence counted

query
select nextval('counted'), nextval('pg_temp.counted')
----
1|2

# Transactions.

statement BEGIN
begin

statement CREATE TABLE
create temp table made (id int)

statement INSERT 0 1
insert into made values (1)

statement SAVEPOINT
savepoint s

statement CREATE TABLE
create temp table later (id int)

statement INSERT 0 1
insert into made values (2)

statement ROLLBACK
rollback to s

query
select * from made
----
1

statement error 42P01
select * from later
----
relation "later" does not exist

statement ROLLBACK
rollback

statement error 42P01
select * from made
----
relation "made" does not exist

statement BEGIN
begin

statement CREATE TABLE
create temp table emptied (id int) on commit delete rows

statement CREATE TABLE
create temp table dropped (id int) on commit drop

statement CREATE TABLE
create temp table preserved (id int) on commit preserve rows

statement INSERT 0 1
insert into emptied values (1)

statement INSERT 0 1
insert into dropped values (1)

statement INSERT 0 1
insert into preserved values (1)

query
select (select count(*) from emptied), (select count(*) from dropped), (select count(*) from preserved)
----
1|1|1

statement COMMIT
commit

query
select (select count(*) from emptied), (select count(*) from preserved)
----
0|1

statement error 42P01
select * from dropped
----
relation "dropped" does not exist

statement INSERT 0 2
insert into emptied values (1), (2)

query
select count(*) from emptied
----
0

statement BEGIN
begin

statement INSERT 0 20
insert into emptied select generate_series(1, 20)

query
select count(*) from emptied
----
20

statement ROLLBACK
rollback

statement DROP TABLE
drop table t cascade

query
select * from t
----
1|kept

statement CREATE TABLE
create temp table again (id int) on commit drop

statement error 42P01
select * from again
----
relation "again" does not exist

statement DISCARD TEMP
discard temp

statement error 42P01
select * from preserved
----
relation "preserved" does not exist

statement CREATE TABLE
create temp table "Odd t" (id int)

statement ALTER TABLE
alter table "Odd t" rename to even

statement ALTER TABLE
alter table even add column v text default 'x'

statement INSERT 0 1
insert into even values (1)

query
select * from even
----
1|x

statement TRUNCATE TABLE
truncate even

statement DROP TABLE
drop table pg_temp.even

# Tables that refer to each other are emptied together, behind the deferred constraints.

statement CREATE TABLE
create temp table parent (id int primary key) on commit delete rows

statement error 0A000
create temp table lasting (p int references parent)
----
unsupported ON COMMIT and foreign key combination
DETAIL: Table "lasting" references "parent", but they do not have the same ON COMMIT setting.

statement CREATE TABLE
create temp table kin (p int references parent deferrable initially deferred) on commit delete rows

statement BEGIN
begin

statement INSERT 0 1
insert into parent values (1)

statement INSERT 0 1
insert into kin values (1)

statement COMMIT
commit

query
select (select count(*) from parent), (select count(*) from kin)
----
0|0

statement error 23503
insert into kin values (2)

statement BEGIN
begin

statement INSERT 0 1
insert into kin values (2)

statement error 23503
commit

statement INSERT 0 1
insert into parent values (1)

# A view of a temporary view is temporary, and a commit drops it with the view that it reads.

statement CREATE VIEW
create temp view tv as select 1 as a

statement CREATE VIEW
create view pv as select * from tv

query
select relname, relpersistence from pg_class where relname in ('tv', 'pv') order by 1
----
pv|t
tv|t

statement CREATE VIEW
create view lasting_view as select id from public.t

statement BEGIN
begin

statement CREATE TABLE
create temp table short (id int) on commit drop

statement CREATE VIEW
create view of_short as select id from short

statement COMMIT
commit

query
select relname from pg_class where relname in ('tv', 'pv', 'of_short', 'lasting_view') order by 1
----
lasting_view
pv
tv

statement DISCARD TEMP
discard temp

query
select relname from pg_class where relname in ('tv', 'pv', 'lasting_view') order by 1
----
lasting_view

# A default of a table that stays names no sequence that does not.

statement CREATE SEQUENCE
create temp sequence passing

statement error 42P16
create table drawn (id int default nextval('passing'))
----
a default of a permanent table cannot use the temporary sequence "passing"

statement CREATE TABLE
create temp table drawn (id int default nextval('passing'), v int)

statement INSERT 0 1
insert into drawn (v) values (1)

query
select id from drawn
----
1
