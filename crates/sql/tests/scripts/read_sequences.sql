# The row of a sequence, and functions on its last number, in transactions. Each answer is PostgreSQL 15's.

statement ok
begin

statement ok
create sequence s9

query
select last_value, is_called from s9
----
1|f

query
select nextval('s9')
----
1

query
select last_value, is_called from s9
----
1|t

query
select pg_sequence_last_value('s9')
----
1

statement ok
commit

statement ok
begin

statement ok
create table st (id serial, a int)

query
select last_value from st_id_seq
----
1

statement ok
insert into st (a) values (1), (2)

query
select last_value from st_id_seq
----
2

statement ok
alter sequence st_id_seq rename to st2

query
select last_value from st2
----
2

query
select last_value from pg_sequences where sequencename = 'st2'
----
2

statement ok
commit

statement ok
insert into st (a) values (3)

query
select last_value from st2
----
3

# A transaction that reads a number before it draws is not its own conflict.

statement ok
begin

statement ok
update st set a = 5 where a = 1

query
select last_value from s9
----
1

query
select nextval('s9')
----
2

query
select last_value from s9
----
2

query
select setval('s9', 50)
----
50

query
select pg_sequence_last_value('s9')
----
50

query
select last_value from pg_sequences where sequencename = 's9'
----
50

statement ok
commit

query
select last_value from s9
----
50

# Nor are draws of others conflicts.

statement ok
begin

statement ok
update st set a = 6 where a = 5

query
select last_value from s9
----
50

session other

query
select nextval('s9')
----
51

session main

query
select last_value from s9
----
51

statement ok
commit

# Neither are sessions and transactions of others, in the statistics of the database.

statement ok
begin

query
select numbackends > 0, xact_commit >= 0, sessions > 0 from pg_stat_database where datname = current_database()
----
t|t|t

query
select count(*) > 0 from pg_stat_activity where wait_event is not null or state = 'active'
----
t

statement ok
update st set a = 7 where a = 6

session third

statement ok
create table of_third (a int)

statement ok
insert into of_third values (1)

session main

query
select count(*) from st
----
3

statement ok
commit

query
select a from st order by 1
----
2
3
7
