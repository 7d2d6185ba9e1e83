# Names that begin with the name of the database: the sessions of these scripts connected as "sardonyx".

statement CREATE TABLE
create table sardonyx.public.t (a int primary key, b int)

statement INSERT 0 1
insert into sardonyx.public.t values (1, 2)

query
select sardonyx.public.t.b from sardonyx.public.t
----
2

query
select Sardonyx . public . t.*, "sardonyx".public.t.a from sardonyx.public.t order by sardonyx.public.t.a
----
1|2|1

statement UPDATE 1
update sardonyx.public.t set b = 3 where sardonyx.public.t.a = 1

query
select 'sardonyx.public.t'::regclass::text, sardonyx.pg_catalog.lower('A'), 'sardonyx.public.t'
----
t|a|sardonyx.public.t

statement CREATE VIEW
create view sardonyx.public.v as select sardonyx.public.t.a from sardonyx.public.t

query
select pg_get_viewdef('sardonyx.public.v'::regclass), a from sardonyx.public.v
----
SELECT public.t.a FROM public.t;|1

statement CREATE TABLE
create table sardonyx.public.u (a int references sardonyx.public.t check (sardonyx.public.u.a > 0))

statement CREATE SEQUENCE
create sequence sardonyx.public.s owned by sardonyx.public.u.a

query
select nextval('sardonyx.public.s')
----
1

statement COMMENT
comment on column sardonyx.public.t.a is 'x'

statement DROP TABLE
drop table sardonyx.public.u

statement error 0A000
select * from other.public.t
----
cross-database references are not implemented: "other.public.t"

statement error 0A000
select other.public.t.b from t
----
cross-database references are not implemented: other.public.t.b

statement error 42601
select a.sardonyx.public.t.b from t
----
improper qualified name (too many dotted names): a.sardonyx.public.t.b

statement error 42601
select * from a.sardonyx.public.t
----
improper qualified name (too many dotted names): a.sardonyx.public.t

statement error 0A000
select 'other.public.t'::regclass
----
cross-database references are not implemented: "other.public.t"

statement error 0A000
create table other.public.z (a int)
----
cross-database references are not implemented: "other.public.z"

# Names of primary keys are names of relations, also given ones.
statement CREATE TABLE
create table k (a int constraint kx primary key)

statement error 42P07
create table kx (a int)
----
relation "kx" already exists

statement error 42P07
create index kx on k (a)

statement error 42P07
create sequence kx

statement error 42P07
create view kx as select 1

statement error 42P07
create table k2 (a int constraint kx primary key)

query
select 'kx'::regclass::text
----
kx

reopen

statement error 42P07
create table kx (a int)

statement ALTER TABLE
alter table k rename constraint kx to ky

statement CREATE TABLE
create table kx (a int)

statement error 42P07
create table ky (a int)

statement DROP TABLE
drop table k, kx

statement CREATE TABLE
create table ky (a int)

# Another schema has names of its own.
statement CREATE SCHEMA
create schema app

statement CREATE TABLE
create table app.k (a int constraint kx primary key)

statement CREATE TABLE
create table kx (a int)

statement error 42P07
create table app.kx (a int)
