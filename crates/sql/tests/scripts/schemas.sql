# Schemas: made, looked in, and dropped. Answers are PostgreSQL 15's.

statement CREATE SCHEMA
create schema app

statement error 42P06
create schema app
----
schema "app" already exists

statement CREATE SCHEMA
create schema if not exists app

statement CREATE SCHEMA
create schema authorization tester

statement DROP SCHEMA
drop schema tester

statement CREATE SCHEMA
create schema "Odd One" authorization current_user

statement error 42704
create schema other authorization nosuch
----
role "nosuch" does not exist
HINT: Schemas have no owners here: users and their rights are in the configuration.

statement error 42939
create schema pg_mine
----
unacceptable schema name "pg_mine"
DETAIL: The prefix "pg_" is reserved for system schemas.

query
select nspname from pg_namespace where nspname not like 'pg_%' order by 1
----
Odd One
app
information_schema
public

# A schema with no table is there.

query
select schema_name from information_schema.schemata where schema_name in ('app', 'Odd One') order by 1
----
Odd One
app

statement CREATE TABLE
create table app.t (id serial primary key, v text unique, n int check (n > 0))

statement CREATE TABLE
create table t (id int primary key, w text)

statement CREATE TABLE
create table "Odd One"."T t" (id int primary key, t int references app.t on delete cascade)

statement error 3F000
create table nosuch.t (id int)
----
schema "nosuch" does not exist

statement error 42P07
create table app.t (id int)
----
relation "t" already exists

statement CREATE TABLE
create table if not exists app.t (id int)

statement INSERT 0 2
insert into app.t (v, n) values ('a', 1), ('b', 2)

statement INSERT 0 1
insert into t values (1, 'public')

statement INSERT 0 2
insert into "Odd One"."T t" values (1, 1), (2, 2)

statement error 23503
insert into "Odd One"."T t" values (3, 3)
----
insert or update on table "T t" violates foreign key constraint "T t_t_fkey"
DETAIL: Key (t)=(3) is not present in table "t".
SCHEMA: Odd One
TABLE: T t
CONSTRAINT: T t_t_fkey

statement error 23505
insert into app.t (v, n) values ('a', 1)
----
duplicate key value violates unique constraint "t_v_key"
DETAIL: Key (v)=(a) already exists.
SCHEMA: app
TABLE: t
CONSTRAINT: t_v_key

statement error 23514
insert into app.t (v, n) values ('c', 0)
----
new row for relation "t" violates check constraint "t_n_check"
DETAIL: Failing row contains (4, c, 0).
SCHEMA: app
TABLE: t
CONSTRAINT: t_n_check

query
select t.id, app.t.v, o.id from app.t join "Odd One"."T t" o on o.t = app.t.id order by 1
----
1|a|1
2|b|2

query
select app.t.v, public.t.w from app.t, public.t order by 1
----
a|public
b|public

query
select app.t.*, public.t.* from app.t, public.t where app.t.id = 1
----
1|a|1|1|public

statement error 42P01
select app.t.v from t
----
invalid reference to FROM-clause entry for table "t"
HINT: There is an entry for table "t", but it cannot be referenced from this part of the query.

statement error 42P01
select nosuch.t.v from app.t
----
invalid reference to FROM-clause entry for table "t"
HINT: There is an entry for table "t", but it cannot be referenced from this part of the query.

statement UPDATE 1
update app.t set n = n + 10 where v = 'a'

query
select id, v, n from app.t order by id
----
1|a|11
2|b|2

statement DELETE 1
delete from app.t where app.t.v = 'b'

query
select * from "Odd One"."T t"
----
1|1

statement error 42P01
select * from nosuch.t
----
relation "nosuch.t" does not exist

statement error 42P01
select * from app.nosuch
----
relation "app.nosuch" does not exist

# The search path.

query
show search_path
----
"$user", public

query
select current_schema(), current_schemas(false), current_schemas(true)
----
public|{public}|{pg_catalog,public}

statement SET
set search_path to app, public

query
show search_path
----
app, public

query
select current_schema(), current_schema, current_schemas(false), current_schemas(true)
----
app|app|{app,public}|{pg_catalog,app,public}

query
select v from t
----
a

statement CREATE TABLE
create table here (id int)

statement CREATE INDEX
create index here_idx on here (id)

statement CREATE SEQUENCE
create sequence counted

statement CREATE VIEW
create view seen as select t.v, p.w from t left join public.t p on p.id = t.id

query
select schemaname, tablename from pg_tables where schemaname in ('app', 'public') order by 1, 2
----
app|here
app|t
public|t

statement SET
set search_path to nosuch

query
select current_schema(), current_schemas(false)
----
NULL|{}

statement error 42P01
select v from t
----
relation "t" does not exist

statement error 3F000
create table nowhere (id int)
----
no schema has been selected to create in

statement error 42P01
select count(*) from here
----
relation "here" does not exist

query
select v, w from app.seen
----
a|public

statement SET
set search_path to "$user", public, app

query
select count(*) from here
----
0

query
select w from t
----
public

statement CREATE SCHEMA
create schema tester

statement CREATE TABLE
create table t (id int, mine text)

statement INSERT 0 1
insert into t values (1, 'mine')

query
select mine from t
----
mine

query
select current_schema()
----
tester

statement DROP TABLE
drop table t

query
select w from t
----
public

statement DROP SCHEMA
drop schema tester

statement RESET
reset search_path

statement BEGIN
begin

statement SET
set local search_path to app

query
select v from t
----
a

statement COMMIT
commit

query
select w from t
----
public

# Sequences of schemas.

query
select nextval('app.counted'), nextval('app.t_id_seq') > 0
----
1|t

statement error 42P01
select nextval('counted')
----
relation "counted" does not exist

statement SET
set search_path to app

query
select nextval('counted'), currval('app.counted'), currval('counted')
----
2|2|2

query
select setval('counted', 10), nextval('"app"."counted"')
----
10|11

query
select pg_get_serial_sequence('t', 'id'), pg_get_serial_sequence('app.t', 'id')
----
app.t_id_seq|app.t_id_seq

query
select column_default from information_schema.columns where table_schema = 'app' and table_name = 't' and column_name = 'id'
----
nextval('t_id_seq'::regclass)

statement RESET
reset search_path

query
select pg_get_serial_sequence('app.t', 'id')
----
app.t_id_seq

query
select column_default from information_schema.columns where table_schema = 'app' and table_name = 't' and column_name = 'id'
----
nextval('app.t_id_seq'::regclass)

# The rows of the catalogue.

query
select n.nspname, c.relname, c.relkind, pg_table_is_visible(c.oid), c.oid::regclass from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname in ('app', 'Odd One', 'public') order by 1, 2
----
Odd One|T t|r|f|"Odd One"."T t"
Odd One|T t_pkey|i|f|"Odd One"."T t_pkey"
app|counted|S|f|app.counted
app|here|r|f|app.here
app|here_idx|i|f|app.here_idx
app|seen|v|f|app.seen
app|t|r|f|app.t
app|t_id_seq|S|f|app.t_id_seq
app|t_pkey|i|f|app.t_pkey
app|t_v_key|i|f|app.t_v_key
public|t|r|t|t
public|t_pkey|i|t|t_pkey

query
select 'app.t'::regclass, 't'::regclass, 'public.t'::regclass, '"Odd One"."T t"'::regclass, to_regclass('app.nosuch'), to_regclass('nosuch.t'), 'pg_class'::regclass, 'pg_catalog.pg_class'::regclass, to_regclass('app.here_idx')
----
app.t|t|t|"Odd One"."T t"|NULL|NULL|pg_class|pg_class|app.here_idx

statement error 3F000
select 'nosuch.t'::regclass
----
schema "nosuch" does not exist

statement error 42602
select 'a b'::regclass
----
invalid name syntax

query
select n.nspname, k.conname, pg_get_constraintdef(k.oid) from pg_constraint k join pg_namespace n on n.oid = k.connamespace where n.nspname in ('app', 'Odd One', 'public') order by 1, 2
----
Odd One|T t_pkey|PRIMARY KEY (id)
Odd One|T t_t_fkey|FOREIGN KEY (t) REFERENCES app.t(id) ON DELETE CASCADE
app|t_n_check|CHECK ((n > 0))
app|t_pkey|PRIMARY KEY (id)
app|t_v_key|UNIQUE (v)
public|t_pkey|PRIMARY KEY (id)

query
select schemaname, tablename, indexname, indexdef from pg_indexes where schemaname in ('app', 'Odd One', 'public') order by 1, 2, 3
----
Odd One|T t|T t_pkey|CREATE UNIQUE INDEX "T t_pkey" ON "Odd One"."T t" USING btree (id)
app|here|here_idx|CREATE INDEX here_idx ON app.here USING btree (id)
app|t|t_pkey|CREATE UNIQUE INDEX t_pkey ON app.t USING btree (id)
app|t|t_v_key|CREATE UNIQUE INDEX t_v_key ON app.t USING btree (v)
public|t|t_pkey|CREATE UNIQUE INDEX t_pkey ON public.t USING btree (id)

query
select table_schema, table_name, table_type from information_schema.tables where table_schema in ('app', 'Odd One', 'public') order by 1, 2
----
Odd One|T t|BASE TABLE
app|here|BASE TABLE
app|seen|VIEW
app|t|BASE TABLE
public|t|BASE TABLE

query
select table_schema, table_name, column_name from information_schema.columns where table_schema in ('app', 'Odd One') order by 1, 2, 3
----
Odd One|T t|id
Odd One|T t|t
app|here|id
app|seen|v
app|seen|w
app|t|id
app|t|n
app|t|v

query
select constraint_schema, constraint_name, unique_constraint_schema, unique_constraint_name from information_schema.referential_constraints order by 2
----
Odd One|T t_t_fkey|app|t_pkey

query
select sequence_schema, sequence_name from information_schema.sequences order by 1, 2
----
app|counted
app|t_id_seq

query
select schemaname, viewname from pg_views where schemaname not in ('pg_catalog', 'information_schema')
----
app|seen

# Changes of tables in schemas.

statement DROP VIEW
drop view app.seen

statement ALTER TABLE
alter table app.t add column m int default 5

statement ALTER TABLE
alter table app.t rename to u

statement error 42601
alter table app.u rename to app.v
----
syntax error at or near "."

statement error 42P07
alter table app.here rename to u
----
relation "u" already exists

statement error 42P01
alter table app.nosuch add column x int
----
relation "app.nosuch" does not exist

statement ALTER TABLE
alter table if exists app.nosuch add column x int

statement error 0A000
truncate app.u
----
cannot truncate a table referenced in a foreign key constraint
DETAIL: Table "T t" references "u".
HINT: Truncate table "T t" at the same time, or use TRUNCATE ... CASCADE.

statement TRUNCATE TABLE
truncate app.u cascade

statement CREATE INDEX
create index on app.u (n)

statement DROP INDEX
drop index app.u_n_idx

statement DROP INDEX
drop index if exists app.nosuch, nosuch.i

statement error 3F000
drop index nosuch.i
----
schema "nosuch" does not exist

statement COMMENT
comment on schema app is 'of the application'

statement COMMENT
comment on table app.u is 'rows'

statement COMMENT
comment on column app.u.v is 'a column'

statement error 3F000
comment on schema nosuch is 'none'
----
schema "nosuch" does not exist

query
select obj_description((select oid from pg_namespace where nspname = 'app'), 'pg_namespace'), obj_description('app.u'::regclass), col_description('app.u'::regclass, 2)
----
of the application|rows|a column

# Renaming a schema.

statement error 42P06
alter schema app rename to "Odd One"
----
schema "Odd One" already exists

statement error 3F000
alter schema nosuch rename to x
----
schema "nosuch" does not exist

statement ALTER SCHEMA
alter schema app rename to store

query
select v from store.u
----

query
insert into store.u (v, n) values ('x', 1) returning v, n, m
----
x|1|5

query
select pg_get_serial_sequence('store.u', 'id')
----
store.t_id_seq

statement error 42P01
select * from app.u
----
relation "app.u" does not exist

query
select obj_description(oid, 'pg_namespace') from pg_namespace where nspname = 'store'
----
of the application

# Objects that are dropped with a schema.

statement error 2BP01
drop schema store
----
cannot drop schema store because other objects depend on it
DETAIL: table store.u depends on schema store
constraint T t_t_fkey on table "Odd One"."T t" depends on table store.u
table store.here depends on schema store
sequence store.counted depends on schema store
HINT: Use DROP ... CASCADE to drop the dependent objects too.

statement error 3F000
drop schema nosuch
----
schema "nosuch" does not exist

statement DROP SCHEMA
drop schema if exists nosuch

statement error 2BP01
drop table store.u
----
cannot drop table store.u because other objects depend on it
DETAIL: constraint T t_t_fkey on table "Odd One"."T t" depends on table store.u
HINT: Use DROP ... CASCADE to drop the dependent objects too.

statement error 3F000
drop table nosuch.t
----
schema "nosuch" does not exist

statement DROP TABLE
drop table if exists nosuch.t, store.nosuch

statement DROP SCHEMA
drop schema store cascade

query
select pg_get_constraintdef(oid) from pg_constraint where conrelid = '"Odd One"."T t"'::regclass order by 1
----
PRIMARY KEY (id)

query
select count(*) from pg_class where relname = 'counted'
----
0

statement error 2BP01
drop schema "Odd One" restrict
----
cannot drop schema Odd One because other objects depend on it
DETAIL: table "Odd One"."T t" depends on schema Odd One
HINT: Use DROP ... CASCADE to drop the dependent objects too.

statement DROP SCHEMA
drop schema "Odd One" cascade

query
select nspname from pg_namespace where nspname not like 'pg_%' order by 1
----
information_schema
public

# A default's sequence is the one that was found when it was declared, on any path of the inserting session.

statement CREATE SCHEMA
create schema counts

statement CREATE SEQUENCE
create sequence counts.draws start 100

statement CREATE SEQUENCE
create sequence public.draws

statement SET
set search_path to counts, public

statement CREATE TABLE
create table drawn_there (id int default nextval('draws'), v int)

statement SET
set search_path to public

statement CREATE TABLE
create table drawn_here (id int default nextval('draws'), v int)

statement INSERT 0 1
insert into counts.drawn_there (v) values (1)

statement SET
set search_path to counts, public

statement INSERT 0 1
insert into drawn_here (v) values (1)

statement SET
set search_path to public

query
select (select id from drawn_here), (select id from counts.drawn_there)
----
1|100

statement ALTER SCHEMA
alter schema counts rename to counted_in

statement INSERT 0 1
insert into counted_in.drawn_there (v) values (2)

query
select count(*) from counted_in.drawn_there where id >= 100
----
2

# The schema chooses among the tables of the queries around a query, too.
statement CREATE SCHEMA
create schema around

statement CREATE TABLE
create table around.same (id int)

statement CREATE TABLE
create table public.same (id int)

statement INSERT 0 2
insert into around.same values (1), (2)

statement INSERT 0 1
insert into public.same values (1)

query
select * from around.same where exists (select 1 from public.same where exists (select 1 where around.same.id = 2))
----
2

query
select around.same.id from around.same, public.same where exists (select 1 where around.same.id = 2)
----
2

query
select * from around.same where not exists (select 1 from public.same where public.same.id = around.same.id)
----
2

query
select * from around.same where (select count(*) + around.same.id from public.same) = 3
----
2

statement error 42P01
select * from public.same where exists (select 1 where around.same.id = 1)

statement error 42703
select * from around.same where exists (select 1 from public.same where around.same.nosuch = 1)

# Functions find tables of all schemas of the path by name.
statement ok
create schema first_of_path

statement ok
create table public.found_by_name (a int)

statement ok
set search_path = first_of_path, public

query
select pg_total_relation_size('found_by_name'), pg_table_size('found_by_name'), pg_relation_size('found_by_name')
----
0|0|0

statement ok
create index found_index on found_by_name (a)

statement ok
drop index concurrently if exists found_index

statement error 42704
drop index concurrently found_index

statement ok
reset search_path
