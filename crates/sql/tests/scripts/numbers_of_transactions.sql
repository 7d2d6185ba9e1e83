# Numbers of transactions: the same within one, and another in each.

statement ok
create table numbers (place int primary key, number bigint)

statement ok
insert into numbers values (1, txid_current())

statement ok
insert into numbers values (2, txid_current())

statement ok
begin

statement ok
insert into numbers values (3, txid_current())

statement ok
savepoint s

statement ok
insert into numbers values (4, pg_current_xact_id()::text::bigint)

statement ok
commit

query
select count(distinct number), bool_and(number > 0) from numbers
----
3|t

query
select (select number from numbers where place = 3) = (select number from numbers where place = 4), max(number) < txid_current() from numbers
----
t|t

query
select txid_current() = txid_current(), txid_current()::text = pg_current_xact_id()::text, txid_current_if_assigned() = txid_current()
----
t|t|t

statement ok
begin

statement ok
insert into numbers values (5, txid_current_if_assigned()), (6, txid_current()), (7, pg_current_xact_id_if_assigned()::text::bigint)

query
select count(distinct number) from numbers where place > 5
----
1

statement ok
rollback
