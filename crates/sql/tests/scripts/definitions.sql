statement CREATE TABLE
create table parents (id bigint primary key, name varchar(20) unique, code char(4))

statement CREATE TABLE
create table children (parent bigint references parents on delete cascade, n int, check (n > 0), primary key (parent, n))

statement error 42P07
create table parents (id int)

statement ok
create table if not exists parents (id int)

statement error 23503
insert into children values (1, 1)

statement ok
insert into parents values (1, 'a', 'x'), (2, 'b', 'abcd')

statement ok
insert into children values (1, 1), (1, 2), (2, 1)

statement error 23514
insert into children values (1, 0)

query
delete from parents where id = 1 returning name
----
a

query
select * from children
----
2|1

statement error 23503
update parents set id = 3 where id = 2

query
select code, length(code), code = 'abcd', code || '!' from parents
----
abcd|4|t|abcd!

statement ok
insert into parents values (7, 'g', 'x')

query
select code, length(code), code = 'x  ' from parents where id = 7
----
x   |1|t

# Columns.

statement ALTER TABLE
alter table parents add column age int default 7 not null, add column note text

query
select id, age, note from parents order by id
----
2|7|NULL
7|7|NULL

statement ok
alter table parents rename column note to remark

statement ok
alter table parents drop column age

statement error 42703
select age from parents

statement ok
alter table parents alter column remark set default 'none'

statement ok
insert into parents (id) values (8)

query
select id, remark from parents order by id
----
2|NULL
7|NULL
8|none

statement error 23502
alter table parents alter column name set not null

statement ok
update parents set name = 'h' where id = 8

statement ok
alter table parents alter column name set not null

statement error 23502
insert into parents (id) values (9)

statement ok
alter table parents alter column name drop not null

statement ok
insert into parents (id) values (9)

# Indexes.

statement CREATE INDEX
create index on parents (remark, id desc)

statement error 23505
create unique index twice on parents (remark)

query
select indexname, indexdef from pg_indexes where tablename = 'parents' order by indexname
----
parents_name_key|CREATE UNIQUE INDEX parents_name_key ON public.parents USING btree (name)
parents_pkey|CREATE UNIQUE INDEX parents_pkey ON public.parents USING btree (id)
parents_remark_id_idx|CREATE INDEX parents_remark_id_idx ON public.parents USING btree (remark, id DESC)

statement error 2BP01
drop index parents_name_key

statement DROP INDEX
drop index parents_remark_id_idx

statement error 42704
drop index nothing

statement ok
drop index if exists nothing

# Constraints.

statement error 23514
alter table parents add constraint small check (id < 5)

statement ok
alter table parents add constraint small check (id < 50)

statement error 23514
insert into parents (id) values (50)

statement ok
alter table parents drop constraint small

statement ok
insert into parents (id) values (50)

# Tables without a key.

statement ok
create table notes (body text, day date)

statement INSERT 0 2
insert into notes values ('a', '2026-01-01'), ('a', '2026-01-01')

query
select * from notes
----
a|2026-01-01
a|2026-01-01

statement error 23505
alter table notes add primary key (body)

statement ok
update notes set body = 'b' where day = '2026-01-01' and body = 'nothing'

statement ok
truncate notes

statement ok
insert into notes values ('a', null), ('b', null)

statement ok
alter table notes add primary key (body)

statement error 23505
insert into notes values ('a')

statement error 23502
insert into notes values (null)

query
explain select * from notes where body = 'a'
----
Index Scan using notes_pkey on notes
  Index Cond: (body = 'a'::text)

statement ok
alter table notes rename to papers

statement error 42P01
select * from notes

query
select * from papers order by body
----
a|NULL
b|NULL

# Definitions are durable.

reopen

query
select body, day from papers order by body
----
a|NULL
b|NULL

statement error 23502
insert into papers values (null)

statement error 23505
insert into parents (id, name) values (60, 'h')

# They are dropped together, and definitions of a failed transaction do not exist.

statement error 2BP01
drop table parents

statement DROP TABLE
drop table if exists parents, children, nothing

statement error 42P01
select * from parents

statement error 23505
create table x (id int primary key); insert into x values (1); insert into x values (1)

statement error 42P01
select * from x

statement error 42P16
create table "sql.objects" (id int primary key)
