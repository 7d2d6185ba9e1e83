# Domains: a type with a default and conditions, as PostgreSQL has them.
statement ok
create domain posint as int check (value > 0)

statement error 42710
create domain posint as int

statement ok
create domain email as varchar(20) not null default 'a@b' constraint has_at check (value like '%@%') check (length(value) > 2)

statement error 42804
create domain broken as int check (value || 'x')

statement ok
create domain zip text check (value ~ '^[0-9]{5}$')

statement ok
create table t (id int primary key, p posint, e email, z zip default '12345')

statement ok
insert into t (id, p) values (1, 5)

query
select * from t
----
1|5|a@b|12345

statement error 23514
insert into t (id, p) values (2, 0)

statement error 23514
insert into t (id, p) values (2, -1)

statement error 23502
insert into t (id, e) values (2, null)

statement error 23514
insert into t (id, e) values (2, 'nothing')

statement error 23514
insert into t (id, e) values (2, '@')

statement error 22001
insert into t (id, e) values (2, 'much too long for it@example.org')

statement error 23514
insert into t (id, z) values (2, '1')

statement error 23514
update t set p = 0

query
update t set p = p + 1 returning p
----
6

query
select 5::posint, cast('7' as posint), posint '8', null::posint
----
5|7|8|NULL

statement error 23514
select 0::posint

statement error 23514
select (-1)::posint

statement error 23502
select null::email

statement error 23514
select 'x'::email

query
select p + 1, p > 3, e || '!' from t
----
7|t|a@b!

statement ok
create index on t (p)

query
select id from t where p = 6
----
1

query
select format_type(atttypid, atttypmod) from pg_attribute where attrelid = 't'::regclass and attnum > 0 order by attnum
----
integer
posint
email
zip

query
select column_name, data_type, udt_name, domain_name from information_schema.columns where table_name = 't' order by ordinal_position
----
id|integer|int4|NULL
p|integer|int4|posint
e|character varying|varchar|email
z|text|text|zip

query
select typname, typtype, typnotnull, format_type(typbasetype, null), typtypmod from pg_type where typname in ('posint', 'email', 'zip') order by 1
----
email|d|t|character varying|24
posint|d|f|integer|-1
zip|d|f|text|-1

statement error 23514
alter domain posint add constraint small check (value < 6)

statement ok
alter domain posint add constraint small check (value < 100)

statement error 42710
alter domain posint add constraint small check (value < 100)

statement error 23514
insert into t (id, p) values (3, 100)

statement error 23514
select 100::posint

statement ok
alter domain posint drop constraint small

statement error 42704
alter domain posint drop constraint small

statement ok
alter domain posint drop constraint if exists small

query
insert into t (id, p) values (3, 100) returning p
----
100

statement ok
alter domain zip set not null

statement error 23502
insert into t (id, z) values (4, null)

statement ok
alter domain zip drop not null

query
insert into t (id, z) values (4, null) returning z
----
NULL

statement error 23502
alter domain zip set not null

statement ok
alter domain email rename constraint has_at to at_sign

statement error 23514
insert into t (id, e) values (5, 'nothing')

statement ok
alter domain posint rename to positive

statement error 23514
insert into t (id, p) values (6, -6)

statement ok
alter table t rename column p to q

statement error 23514
insert into t (id, q) values (6, -6)

statement ok
alter table t add column more positive

statement error 23514
update t set more = 0 where id = 1

statement error 23514
alter table t add column bad positive default -1

statement ok
alter table t drop column more

statement error 2BP01
drop domain positive

statement error 2BP01
drop type positive

statement error 42809
alter type positive add value 'x'

statement error 42704
drop domain nothing

statement ok
drop domain if exists nothing

statement ok
comment on domain positive is 'above zero'

query
select obj_description('positive'::regtype, 'pg_type')
----
above zero

statement ok
create schema app

statement ok
create domain app.d as text check (value <> '')

statement ok
create table app.u (v app.d)

statement error 23514
insert into app.u values ('')

statement ok
alter schema app rename to other

statement error 23514
insert into other.u values ('')

statement error 23514
select ''::other.d

statement ok
drop schema other cascade

statement ok
drop domain positive cascade

query
select column_name from information_schema.columns where table_name = 't' order by 1
----
e
id
z

statement ok
drop domain email, zip cascade

query
select column_name from information_schema.columns where table_name = 't' order by 1
----
id

statement ok
begin

statement ok
create domain inside as int check (value between 1 and 3)

statement ok
create table of_inside (v inside)

statement ok
insert into of_inside values (2)

statement ok
rollback

statement error 42704
select 1::inside

statement ok
create domain n as numeric(5, 2) check (value >= 0)

statement ok
create table money (a n, b n default 1.005)

query
insert into money (a) values (1.239) returning a, b
----
1.24|1.01

query
insert into money (a) values (-0.001) returning a
----
0.00

statement error 23514
insert into money (a) values (-0.01)

