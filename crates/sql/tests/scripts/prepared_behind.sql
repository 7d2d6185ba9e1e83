# Behind other statements of a text, and behind definitions of the transaction, a statement is prepared over their tables.

statement ok
create table t (id int)

statement error 42P01
insert into t (id) values (77); prepare pm as select * from missing

query
select count(*) from t where id = 77
----
0

statement error 26000
execute pm

query
create table ab (i int); prepare pz as insert into ab values ($1); execute pz(3); select * from ab
----
3

statement ok
begin

statement ok
create table own (a int)

statement ok
insert into own values (4)

statement ok
prepare po as select a + $1 from own

query
execute po(3)
----
7

statement error 42P01
prepare pm as select * from missing

statement ok
rollback
