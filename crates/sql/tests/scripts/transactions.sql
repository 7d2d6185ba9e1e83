statement ok
create table t (id int primary key, x int)

statement ok
insert into t values (1, 10), (2, 20)

# Reads of one transaction are of one state.

session a

statement BEGIN
begin

query
select x from t where id = 1
----
10

session b

statement UPDATE 1
update t set x = 11 where id = 1

session a

query
select x from t where id = 1
----
10

statement COMMIT
commit

query
select x from t where id = 1
----
11

# A transaction that read changed rows, and writes, cannot be serialized.

statement ok
begin

query
select x from t where id = 1
----
11

session b

statement ok
update t set x = 12 where id = 1

session a

statement error 40001
update t set x = 0 where id = 2

statement error 25P02
select 1

statement ROLLBACK
commit

query
select x from t order by id
----
12
20

# Nor can one that finds the change at its commit.

statement ok
begin

query
update t set x = x + 1 where id = 1 returning x
----
13

session b

query
update t set x = x + 100 where id = 1 returning x
----
112

session a

statement error 40001
commit

query
select x from t where id = 1
----
112

# Statements whose answers did not depend on the change are run again: no change is lost.

statement ok
begin

statement UPDATE 1
update t set x = x + 1 where id = 1

session b

statement UPDATE 1
update t set x = x + 100 where id = 1

session a

statement COMMIT
commit

query
select x from t where id = 1
----
213

# Others do not see uncommitted changes; the transaction itself does.

statement ok
begin

statement ok
insert into t values (3, 30)

query
select count(*) from t
----
3

session b

query
select count(*) from t
----
2

session a

statement ROLLBACK
rollback

query
select count(*) from t
----
2

# Savepoints.

statement ok
begin

statement ok
insert into t values (3, 30)

statement SAVEPOINT
savepoint s

statement error 23505
insert into t values (3, 31)

statement error 25P02
select 1

statement ROLLBACK
rollback to s

statement ok
insert into t values (4, 40)

statement RELEASE
release s

statement error 3B001
rollback to savepoint s

statement ROLLBACK
rollback

statement ok
begin; insert into t values (3, 30); savepoint s; insert into t values (4, 40); rollback to s; insert into t values (5, 50); commit

query
select id from t order by id
----
1
2
3
5

# Several statements without BEGIN are one transaction.

statement error 22012
insert into t values (6, 60); select 1 / 0

query
select count(*) from t where id = 6
----
0

# A transaction that only reads does not write.

statement ok
begin read only

statement error 25006
delete from t

statement ok
rollback

statement ok
set default_transaction_read_only = on

statement error 25006
delete from t

statement ok
set default_transaction_read_only = off

# Tables are made in transactions, too.

statement ok
begin

statement ok
create table fresh (id int primary key, n numeric(4,1))

statement ok
insert into fresh values (1, 2.25)

query
select * from fresh
----
1|2.3

session b

statement error 42P01
select * from fresh

session a

statement ok
commit

query
select * from fresh
----
1|2.3

session b

query
select * from fresh
----
1|2.3

statement error 25P01
savepoint x

statement error 3B001
begin; rollback to nothing

statement ok
rollback

statement CHECKPOINT
checkpoint

statement VACUUM
vacuum analyze t
