# PREPARE takes statements on rows only: it never keeps another EXECUTE, or the end of a transaction.

statement ok
create table t (id int primary key, v int)

statement ok
create procedure p() begin atomic insert into t values (9, 9); end

statement ok
prepare a as select 1

statement error 42601
prepare b as execute a

statement error 42601
prepare b as commit

statement error 42601
prepare b as rollback

statement error 42601
prepare b as savepoint s

statement error 42601
prepare b as call p()

statement error 42601
prepare b as create table u (id int)

statement error 42601
prepare b as set work_mem = 1

statement error 42601
prepare b as explain select 1

# It was not kept, and the transaction that names it fails as one.

statement error 26000
begin; insert into t values (2, 2); execute b

statement ok
rollback

query
select count(*) from t
----
0

statement ok
prepare c as values (1, 'x'), (2, 'y')

query
execute c
----
1|x
2|y

statement ok
prepare d as with two as (select 2 as n) insert into t select n, n from two

statement INSERT 0 1
execute d

# A prepared statement keeps its columns; if they change, the client prepares it again.

statement ok
prepare e as select * from t

query
execute e
----
2|2

statement ok
alter table t add column w double precision default 1.5

statement error 0A000
execute e

statement ok
deallocate e; prepare e as select * from t

query
execute e
----
2|2|1.5

query
select * from t
----
2|2|1.5
