# ON UPDATE CASCADE, SET NULL and SET DEFAULT, as PostgreSQL does them.
statement ok
create table parent (id int primary key, code text unique, n int)

statement ok
create table child (id int primary key, p int references parent on update cascade, c text references parent (code) on update set null on delete cascade, d int default 1 references parent on update set default)

statement ok
create table grand (id int primary key, c int references child on update cascade on delete cascade)

statement ok
insert into parent values (1, 'a', 0), (2, 'b', 0), (3, 'c', 0)

statement ok
insert into child values (10, 1, 'a', 1), (20, 2, 'b', 2), (30, null, null, null), (40, 1, 'b', 3)

statement ok
insert into grand values (100, 10), (200, 20)

statement ok
update parent set id = 11 where id = 2

query
select * from child order by id
----
10|1|a|1
20|11|b|1
30|NULL|NULL|NULL
40|1|b|3

statement ok
update parent set id = id + 100 where id in (11, 3)

query
select * from child order by id
----
10|1|a|1
20|111|b|1
30|NULL|NULL|NULL
40|1|b|1

statement ok
update parent set code = code || '!' where id = 1

query
select * from child order by id
----
10|1|NULL|1
20|111|b|1
30|NULL|NULL|NULL
40|1|b|1

statement ok
update parent set n = n + 1

query
select * from child order by id
----
10|1|NULL|1
20|111|b|1
30|NULL|NULL|NULL
40|1|b|1

statement ok
update child set id = id + 1 where id = 10

query
select * from grand order by id
----
100|11
200|20

statement error 23503
update parent set id = 5 where id = 1

statement error 23505
insert into parent values (1, 'z', 0)

query
update parent set id = 6 where id = 111 returning id
----
6

query
select * from child order by id
----
11|1|NULL|1
20|6|b|1
30|NULL|NULL|NULL
40|1|b|1

statement ok
create table tree (id int primary key, up int references tree on update cascade)

statement ok
insert into tree values (1, null), (2, 1), (3, 1), (4, 4)

statement ok
update tree set id = 10 where id = 1

statement ok
update tree set id = 40 where id = 4

query
select * from tree order by id
----
2|10
3|10
10|NULL
40|40

statement ok
create table pair (a int, b int, primary key (a, b))

statement ok
create table of_pair (id int primary key, a int, b int, foreign key (a, b) references pair on update cascade)

statement ok
insert into pair values (1, 1), (1, 2), (2, 2)

statement ok
insert into of_pair values (1, 1, 1), (2, 1, 2), (3, 1, null), (4, 2, 2)

statement ok
update pair set a = 9 where a = 1

query
select * from of_pair order by id
----
1|9|1
2|9|2
3|1|NULL
4|2|2

statement ok
insert into pair values (2, 2) on conflict (a, b) do update set b = 7

query
select * from of_pair order by id
----
1|9|1
2|9|2
3|1|NULL
4|2|7

query
select conname, confupdtype, confdeltype, pg_get_constraintdef(oid) from pg_constraint where contype = 'f' order by conname
----
child_c_fkey|n|c|FOREIGN KEY (c) REFERENCES parent(code) ON UPDATE SET NULL ON DELETE CASCADE
child_d_fkey|d|a|FOREIGN KEY (d) REFERENCES parent(id) ON UPDATE SET DEFAULT
child_p_fkey|c|a|FOREIGN KEY (p) REFERENCES parent(id) ON UPDATE CASCADE
grand_c_fkey|c|c|FOREIGN KEY (c) REFERENCES child(id) ON UPDATE CASCADE ON DELETE CASCADE
of_pair_a_b_fkey|c|a|FOREIGN KEY (a, b) REFERENCES pair(a, b) ON UPDATE CASCADE
tree_up_fkey|c|a|FOREIGN KEY (up) REFERENCES tree(id) ON UPDATE CASCADE

query
select constraint_name, update_rule, delete_rule from information_schema.referential_constraints order by 1
----
child_c_fkey|SET NULL|CASCADE
child_d_fkey|SET DEFAULT|NO ACTION
child_p_fkey|CASCADE|NO ACTION
grand_c_fkey|CASCADE|CASCADE
of_pair_a_b_fkey|CASCADE|NO ACTION
tree_up_fkey|CASCADE|NO ACTION

statement ok
create table strict (id int references parent (id) on update restrict)

statement ok
insert into strict values (6)

statement error 23503
update parent set id = 7 where id = 6

statement ok
create table chk (id int primary key, p int references parent on update cascade check (p < 50))

statement error 23503
insert into chk values (1, 5)

statement ok
update parent set id = 60 where id = 5

query
select id from parent order by id
----
1
6
103

statement ok
begin

statement ok
update parent set id = 8 where id = 5

query
select p from chk
----

statement ok
rollback

query
select p from chk
----

statement error 42601
create table gen (a int, g int generated always as (a + 1) stored references parent on update cascade)

statement ok
alter table grand drop constraint grand_c_fkey

statement ok
alter table grand add constraint again foreign key (c) references child (id) on update cascade on delete set null

statement ok
update child set id = 21 where id = 20

query
select * from grand order by id
----
100|11
200|21

statement ok
create table small (id smallint primary key)

statement ok
create table wide (id bigint references small on update cascade)

statement ok
insert into small values (1)

statement ok
insert into wide values (1)

statement ok
update small set id = 2

query
select * from wide
----
2

