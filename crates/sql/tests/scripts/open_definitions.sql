# A transaction that defines tables, a statement at a time, with savepoints and errors: the answers are PostgreSQL 15's.

statement BEGIN
begin

statement CREATE TABLE
create table a (id serial primary key, n int unique, t text default 'none')

statement CREATE TABLE
create table b (id int primary key, a int not null references a on delete cascade)

statement INSERT 0 2
insert into a (n) values (10), (20)

statement INSERT 0 2
insert into b values (1, 1), (2, 2)

statement ALTER TABLE
alter table a add column d date default '2024-02-29'

statement CREATE INDEX
create index a_t on a (t, n)

query
select * from a order by id
----
1|10|none|2024-02-29
2|20|none|2024-02-29

statement SAVEPOINT
savepoint s

statement error 23505
insert into a (n) values (20)

statement ROLLBACK
rollback to s

statement error 23503
insert into b values (3, 7)

statement ROLLBACK
rollback to s

statement error 42P07
create table a (id int)

statement ROLLBACK
rollback to s

statement ALTER TABLE
alter table a drop column n

statement ALTER TABLE
alter table a rename to c

statement CREATE VIEW
create view v as select c.id, b.id as b from c join b on b.a = c.id

query
select * from v order by 1, 2
----
1|1
2|2

statement error 2BP01
drop table b

statement ROLLBACK
rollback to s

query
select column_name, data_type, is_nullable from information_schema.columns where table_name = 'a' order by ordinal_position
----
id|integer|NO
n|integer|YES
t|text|YES
d|date|YES

query
select indexname from pg_indexes where tablename in ('a', 'c') order by 1
----
a_n_key
a_pkey
a_t

statement error 42P01
select * from c

statement ROLLBACK
rollback to s

statement ALTER TABLE
alter table a alter column t drop default

statement ALTER TABLE
alter table a alter column t type int using 5

query
select * from a order by id
----
1|10|5|2024-02-29
2|20|5|2024-02-29

statement ALTER TABLE
alter table b add constraint few check (id < 3)

statement ROLLBACK
rollback to s

statement error 23514
alter table b add constraint small check (id < 2)

statement ROLLBACK
rollback to s

statement DELETE 1
delete from a where n = 10

query
select * from b
----
2|2

statement CREATE TYPE
create type mood as enum ('sad', 'ok')

statement ALTER TABLE
alter table b add column m mood

statement UPDATE 1
update b set m = 'ok'

statement error 0A000
truncate a

statement ROLLBACK
rollback to s

statement TRUNCATE TABLE
truncate a, b

query
insert into a (id, n) values (4, 1) returning id
----
4

statement DROP TABLE
drop table b

statement ALTER TABLE
alter table a rename column n to number

statement ALTER TABLE
alter table a alter column number set not null

statement error 23502
insert into a (t) values ('x')

statement ROLLBACK
rollback to s

statement CREATE SEQUENCE
create sequence q start 5

query
select nextval('q'), nextval('q')
----
5|6

statement SELECT 2
create table e as select id, n from a

query
select count(*) from e
----
2

statement COMMIT
commit

query
select nextval('q')
----
7

query
select * from a order by id
----
1|10|none|2024-02-29
2|20|none|2024-02-29

query
insert into e values (1, 1) returning *
----
1|1

statement error 23505
insert into a (n) values (10)

query
select conname from pg_constraint where conrelid in ('a'::regclass, 'b'::regclass) order by 1
----
a_n_key
a_pkey
b_a_fkey
b_pkey
