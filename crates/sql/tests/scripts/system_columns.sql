# ctid and tableoid, which every table has: texts of a row's key here, and no part of `*`.

statement ok
create table posts (id serial primary key, body text, n int)

statement ok
create table plain (a int, b text)

statement ok
create table pairs (a int, b text, primary key (a, b))

statement ok
insert into posts (body, n) values ('one', 1), ('two', 2), ('three', 3), ('four', 2)

statement ok
insert into plain values (1, 'x'), (1, 'x'), (2, 'y'), (2, 'y'), (2, 'y'), (3, null)

statement ok
insert into pairs values (1, 'a,b'), (1, 'a'), (2, '"'), (2, '')

query
select * from posts where id = 1
----
1|one|1

query
select count(distinct ctid), count(ctid), count(*) from plain
----
6|6|6

query
select count(distinct ctid) from pairs
----
4

# The first rows of an order, as Laravel changes and deletes them.

query
update posts set n = 10 where ctid in (select posts.ctid from posts order by id desc limit 1) returning id, n
----
4|10

query
delete from "posts" where "ctid" in (select "posts"."ctid" from "posts" inner join plain on plain.a = posts.n where plain.b = 'y') returning id
----
2

query
update posts as p set n = 20 where p.ctid = (select q.ctid from posts q where q.body = 'three') returning id, n
----
3|20

# Rows that are equal in all columns, but the first of each.

query
with gone as (delete from plain a using plain b where a.ctid < b.ctid and a.a = b.a and a.b = b.b returning a.a) select a from gone order by a
----
1
2
2

query
select a, b from plain order by a
----
1|x
2|y
3|NULL

statement ok
insert into plain values (1, 'x'), (3, null)

query
with gone as (delete from plain where ctid not in (select min(ctid) from plain group by a, b) returning a) select a from gone order by a
----
1
3

query
select a, count(*) from plain group by a order by a
----
1|1
2|1
3|1

query
select count(*) from posts p join posts q on p.ctid = q.ctid
----
3

query
select count(*) from plain p where exists (select 1 from plain q where q.ctid = p.ctid and q.a = p.a)
----
3

query
select p.a, q.ctid is null, q.tableoid is null from plain p left join posts q on q.id = p.a order by p.a
----
1|f|f
2|t|t
3|f|f

query
select tableoid::regclass, public.posts.tableoid = 'posts'::regclass from posts order by id limit 1
----
posts|t

query
with gone as (delete from plain where ctid = (select ctid from plain order by a limit 1) returning *) select * from gone
----
1|x

query
insert into plain values (9, 'z') returning ctid is not null, tableoid::regclass
----
t|plain

query
select ctid = ctid from (select ctid, a from plain) s order by a limit 1
----
t

query
select ctid is null, count(*) from plain group by ctid is null
----
f|3

# A row is none of its columns.

query
select row_to_json(plain) from plain where a = 9
----
{"a":9,"b":"z"}

statement error 42702
select ctid from plain, posts

statement error 42703
select ctid from (select a from plain) s

statement ok
create view v as select a from plain

statement error 42703
select ctid from v

statement error 42703
select xmin from plain
----
column "xmin" does not exist
HINT: This system column is not supported. The version of a row can be a column of its own that each UPDATE counts up.

# New columns cannot have the names of system columns; those of views and types can.
statement error 42701
create table named (ctid int)
----
column name "ctid" conflicts with a system column name

statement error 42701
create table named (a int, xmin int)
----
column name "xmin" conflicts with a system column name

statement ok
create table named (a int)

statement error 42701
alter table named add column tableoid int
----
column name "tableoid" conflicts with a system column name

statement error 42701
alter table named rename column a to cmax
----
column name "cmax" conflicts with a system column name

statement error 42701
create table made as select 1 as xmax
----
column name "xmax" conflicts with a system column name

statement ok
create view seen as select a as xmin from named

statement ok
create type of_rows as (ctid int)
