# ON CONFLICT DO UPDATE changes a row once, as in PostgreSQL 15; so does UPDATE … FROM that joins a row several times.

statement CREATE TABLE
create table oc (id int primary key, v int, u int unique, t text default 'd')

statement INSERT 0 2
insert into oc values (1, 1, 1), (2, 2, 2)

statement error 21000
insert into oc values (3, 3, 3), (3, 4, 4) on conflict (id) do update set v = excluded.v

statement error 21000
insert into oc values (1, 9, 9), (1, 8, 8) on conflict (id) do update set v = excluded.v

query
select * from oc order by id
----
1|1|1|d
2|2|2|d

statement INSERT 0 1
insert into oc values (5, 5, 5), (5, 6, 6) on conflict do nothing

query
insert into oc values (6, 6, 6), (6, 7, 7) on conflict (id) do nothing returning id, v
----
6|6

query
select * from oc order by id
----
1|1|1|d
2|2|2|d
5|5|5|d
6|6|6|d

query
insert into oc values (1, 9, 19), (2, 8, 18) on conflict (id) do update set v = excluded.v returning *
----
1|9|1|d
2|8|2|d

statement INSERT 0 0
insert into oc values (1, 9, 19), (1, 8, 18) on conflict (id) do update set v = excluded.v where false

statement error 21000
insert into oc values (7, 9, 29), (7, 8, 28) on conflict (id) do update set v = excluded.v where false

statement INSERT 0 1
insert into oc values (10, 1, 1) on conflict (u) do update set id = 100

query
insert into oc values (10, 1, 19), (11, 1, 18) on conflict (u) do update set id = oc.id + 50 returning id
----
10
11

statement error 21000
insert into oc select x, x, x + 1000 from (values (40), (40)) s(x) on conflict (id) do update set v = 0

query
insert into oc values (50, 1, null), (51, 1, null) on conflict (u) do update set v = 7 returning id, v
----
50|1
51|1

statement error 21000
insert into oc values (60, 1, 600), (61, 2, 600) on conflict (u) do update set v = excluded.v

query
insert into oc (id, v) values (1, 5) on conflict on constraint oc_pkey do update set t = excluded.t || oc.t returning t
----
d

statement error 42601
insert into oc values (1, 5, 5) on conflict do update set v = 1

statement error 42P10
insert into oc values (1, 5, 5) on conflict (v) do update set v = 1

statement error 23505
insert into oc values (70, 1, 6) on conflict (id) do update set v = 1

query
insert into oc values (5, 1, 1) on conflict (id) do update set v = excluded.v + oc.v returning v
----
6

statement CREATE TABLE
create table uf (id int primary key, v int)

statement CREATE TABLE
create table us (k int, w int)

statement INSERT 0 3
insert into uf values (1, 0), (2, 0), (3, 0)

statement INSERT 0 4
insert into us values (1, 10), (1, 10), (2, 20), (9, 90)

statement UPDATE 2
update uf set v = us.w from us where us.k = uf.id

query
select * from uf order by id
----
1|10
2|20
3|0

query
update uf set v = v + 1 from us where us.k = uf.id returning uf.id, uf.v
----
1|11
2|21

query
delete from uf using us where us.k = uf.id returning uf.id
----
1
2

query
select * from uf order by id
----
3|0

statement CREATE TABLE
create table nk (a int, b int unique)

statement error 21000
insert into nk values (1, 1), (2, 1) on conflict (b) do update set a = 5

statement INSERT 0 1
insert into nk values (1, 1)

query
insert into nk values (2, 1) on conflict (b) do update set a = excluded.a returning *
----
2|1

statement error 21000
insert into nk values (3, 1), (4, 2), (5, 1) on conflict (b) do update set a = excluded.a

statement INSERT 0 1
insert into nk values (3, 1), (4, 2), (5, 2) on conflict (b) do nothing

query
select * from nk order by a
----
2|1
4|2

statement DROP TABLE
drop table oc

statement DROP TABLE
drop table uf

statement DROP TABLE
drop table us

statement DROP TABLE
drop table nk

# Conflicts in other indexes than that which ON CONFLICT names.

statement ok
CREATE TABLE conflicts (id int PRIMARY KEY, a text, b text)

statement ok
CREATE UNIQUE INDEX conflicts_lower ON conflicts (lower(a))

statement INSERT 0 1
INSERT INTO conflicts VALUES (1, 'A', 'x')

statement error 23505
INSERT INTO conflicts VALUES (1, 'b', 'y') ON CONFLICT (lower(a)) DO NOTHING
----
duplicate key value violates unique constraint "conflicts_pkey"
DETAIL: Key (id)=(1) already exists.
SCHEMA: public
TABLE: conflicts
CONSTRAINT: conflicts_pkey

statement INSERT 0 0
INSERT INTO conflicts VALUES (2, 'a', 'y') ON CONFLICT (lower(a)) DO NOTHING

statement INSERT 0 0
INSERT INTO conflicts VALUES (1, 'a', 'y') ON CONFLICT (lower(a)) DO NOTHING

statement INSERT 0 0
INSERT INTO conflicts VALUES (1, 'a', 'y') ON CONFLICT (id) DO NOTHING

statement error 23505
INSERT INTO conflicts VALUES (2, 'a', 'y') ON CONFLICT (id) DO NOTHING
----
duplicate key value violates unique constraint "conflicts_lower"
DETAIL: Key (lower(a))=(a) already exists.
SCHEMA: public
TABLE: conflicts
CONSTRAINT: conflicts_lower

query
INSERT INTO conflicts VALUES (1, 'a', 'y') ON CONFLICT (lower(a)) DO UPDATE SET b = excluded.b RETURNING *
----
1|A|y

query
INSERT INTO conflicts VALUES (2, 'a', 'z') ON CONFLICT (lower(a)) DO UPDATE SET id = excluded.id RETURNING *
----
2|A|y

statement error 23505
INSERT INTO conflicts VALUES (2, 'c', 'z') ON CONFLICT (lower(a)) DO UPDATE SET b = 'never'
----
duplicate key value violates unique constraint "conflicts_pkey"
DETAIL: Key (id)=(2) already exists.
SCHEMA: public
TABLE: conflicts
CONSTRAINT: conflicts_pkey

statement INSERT 0 1
INSERT INTO conflicts VALUES (3, 'C', 'z'), (2, 'a', 'q'), (3, 'c', 'z') ON CONFLICT (lower(a)) DO NOTHING

query
WITH one AS (INSERT INTO conflicts VALUES (2, 'a', 'r') ON CONFLICT (lower(a)) DO NOTHING RETURNING id) SELECT count(*) FROM one
----
0

statement error 23505
WITH one AS (INSERT INTO conflicts VALUES (2, 'd', 'r') ON CONFLICT (lower(a)) DO NOTHING RETURNING id) SELECT count(*) FROM one
----
duplicate key value violates unique constraint "conflicts_pkey"
DETAIL: Key (id)=(2) already exists.
SCHEMA: public
TABLE: conflicts
CONSTRAINT: conflicts_pkey

statement INSERT 0 0
INSERT INTO conflicts VALUES (2, 'd', 'r') ON CONFLICT DO NOTHING

query
SELECT * FROM conflicts ORDER BY id
----
2|A|y
3|C|z
