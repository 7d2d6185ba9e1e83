# Names of relations, ALTER VIEW, and materialized views without data: each answer is PostgreSQL 15's.

statement ok
create table base (a int, b int)

statement ok
create index taken on base (a)

statement error 42P07
create table p (a int constraint taken primary key)

statement error 42P07
create table p (a int constraint taken unique)

statement error 42P07
create table p (a int constraint p primary key)

statement error 42P07
create table p (a int constraint one unique, b int constraint one unique)

statement error 42P07
create table p (a int constraint one primary key, b int constraint one unique)

statement error 42P07
alter table base add constraint taken unique (b)

statement error 42P07
alter table base add constraint taken primary key (b)

statement error 42P07
alter table base add constraint base unique (b)

statement ok
create view v as select 1 as x, a from base

statement ok
comment on view v is 'a view'

statement ok
comment on column v.x is 'one'

statement error 42P07
alter view v rename to taken

statement ok
alter view v rename to w

statement error 42601
alter view w rename to w.w

query
select obj_description('w'::regclass), col_description('w'::regclass, 1)
----
a view|one

query
select x from w
----


statement error 42P01
select x from v

statement ok
create view over as select x from w

statement ok
create schema app

statement ok
alter table over rename to over2

statement ok
alter view over2 set schema app

query
select x from app.over2
----


statement ok
alter view app.over2 owner to current_user

statement error 42704
alter view app.over2 owner to nobody_here

statement ok
alter table app.over2 owner to current_user

statement error 42809
alter table app.over2 add column z int

statement error 42809
alter view base rename to other

statement error 42P01
alter view nosuch rename to other

statement ok
alter view if exists nosuch rename to other

statement ok
create materialized view m as select count(*) as c from base with no data

statement error 55000
select c from m

query
select ispopulated from pg_matviews where matviewname = 'm'
----
f

statement ok
create view of_m as select c from m

statement error 55000
select c from of_m

statement ok
insert into base values (1, 2)

statement ok
refresh materialized view m

query
select c from of_m
----
1

statement ok
refresh materialized view m with no data

statement error 55000
select c from m

statement ok
refresh materialized view m with data

query
select c from m
----
1

statement ok
create materialized view m2 as select a from base with data

query
select a from m2
----
1

statement ok
alter materialized view m2 owner to current_user

statement ok
alter table m2 owner to current_user

statement error 42809
alter materialized view base owner to current_user

statement error 42P01
alter materialized view nosuch owner to current_user

statement ok
create table t_pkey (a int)

statement ok
create table t (a int primary key)

query
select conname from pg_constraint where conrelid = 't'::regclass
----
t_pkey1

statement error 23505
insert into t values (1), (1)

statement ok
create view aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa as select 1 as one

statement ok
create table bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb (a int primary key)

query
select conname from pg_constraint where conname like 'bbb%'
----
bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb_pkey
