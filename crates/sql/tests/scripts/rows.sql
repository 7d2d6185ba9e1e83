# Rows come, change and go.

statement CREATE TABLE
create table accounts (id int primary key, owner text not null, balance bigint default 0, note varchar(5))

statement INSERT 0 1
insert into accounts values (1, 'Ada', 100, 'x')

statement INSERT 0 2
insert into accounts (owner, id) values ('Grace', 2), ('Alan', 3)

query
select id, owner, balance, note from accounts order by id
----
1|Ada|100|x
2|Grace|0|NULL
3|Alan|0|NULL

statement UPDATE 1
update accounts set balance = balance + 5, note = 'y' where id = 1

query
update accounts set balance = balance - 1 where balance < 50 returning id, balance
----
2|-1
3|-1

statement UPDATE 0
update accounts set balance = 1 where id = 77

statement DELETE 1
delete from accounts where owner = 'Alan'

query
delete from accounts where id = 2 returning *
----
2|Grace|-1|NULL

query
select * from accounts
----
1|Ada|105|y

# A statement with a row that cannot be stored changes nothing.

statement error 23505
insert into accounts values (5, 'a', 1, null), (1, 'b', 1, null)

statement error 23502
insert into accounts (id) values (9)

statement error 22001
update accounts set note = 'too long'

statement error 22003
insert into accounts values (3000000000, 'a')

statement error 42703
insert into accounts (id, nothing) values (1, 2)

statement error 42804
insert into accounts (id, owner) values (true, 'x')

query
select count(*), sum(balance) from accounts
----
1|105

# A changed key moves the row; keys may be exchanged.

statement INSERT 0 1
insert into accounts values (2, 'Grace')

statement UPDATE 2
update accounts set id = 3 - id

query
select id, owner from accounts order by id
----
1|Grace
2|Ada

statement ok
drop table accounts

# On conflict.

statement ok
create table t (id int primary key, name text unique, n int default 1)

statement INSERT 0 1
insert into t values (1, 'a') on conflict do nothing

statement INSERT 0 0
insert into t values (1, 'b') on conflict do nothing

statement INSERT 0 0
insert into t values (2, 'a') on conflict (name) do nothing

statement error 23505
insert into t values (1, 'c') on conflict (name) do nothing

query
insert into t values (1, 'z', 10), (2, 'b', 20) on conflict (id) do update set n = t.n + excluded.n, name = excluded.name returning id, name, n
----
1|z|11
2|b|20

statement INSERT 0 0
insert into t values (1, 'q', 1) on conflict (id) do update set n = 0 where t.n < 5

statement error 42P10
insert into t values (1, 'q', 1) on conflict (n) do nothing

query
select * from t order by id
----
1|z|11
2|b|20

statement INSERT 0 2
insert into t (id, name) select id + 10, name || '!' from t

query
select id, name, n from t where id > 10 order by id desc
----
12|b!|1
11|z!|1
