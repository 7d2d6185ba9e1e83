# An open transaction is run again with the parameters that its session had in the first run.

statement ok
create table l (id int primary key, who text)

session a

statement ok
begin

statement ok
set app.user = 'alice'

statement ok
insert into l values (1, current_setting('app.user'))

statement ok
set app.user = 'bob'

statement ok
insert into l values (2, current_setting('app.user'))

query
select set_config('app.user', 'carol', false)
----
carol

query
insert into l values (3, current_setting('app.user')) returning who
----
carol

statement COMMIT
commit

query
select who from l order by id
----
alice
bob
carol

query
show app.user
----
carol

# And with the numbers that it had drawn from sequences.

statement ok
create sequence s

query
select nextval('s')
----
1

statement ok
begin

statement ok
insert into l values (10, currval('s')::text)

statement ok
insert into l values (11, lastval()::text)

query
select nextval('s')
----
2

query
insert into l values (12, currval('s')::text) returning who
----
2

statement COMMIT
commit

query
select who from l where id >= 10 order by id
----
1
1
2

query
select currval('s'), lastval()
----
2|2

# The time of a statement is a part of its answer, and is no reason to refuse the commit.

statement ok
begin

statement EXPLAIN
explain analyze select * from l

statement EXPLAIN
explain analyze update l set who = 'x' where id = 1

statement COMMIT
commit

query
select who from l where id = 1
----
x

# Answers since a savepoint to which the client goes back are compared, and undone.

statement ok
create table v (id int primary key, v int)

statement ok
insert into v values (1, 100), (2, 100)

session a

statement ok
begin; savepoint s

query
select v from v where id = 1
----
100

statement ROLLBACK
rollback to s

session b

statement ok
update v set v = 50 where id = 1

session a

# The first statement that needs a serial call finds it out.
statement error 40001
update v set v = 70 where id = 1

statement ROLLBACK
commit

query
select v from v where id = 1
----
50

# Its answer is sent together with the rollback, and with the commit.

statement ok
begin; savepoint s

query
select v from v where id = 1; select v from v where id = 2; rollback to s; select v from v where id = 2
----
100

session b

statement ok
update v set v = 51 where id = 1

session a

statement error 40001
update v set v = 70 where id = 1; commit

statement ROLLBACK
rollback

# The place that a savepoint marks moves behind undone statements; nested ones are undone within each other.

statement ok
begin

statement ok
savepoint a; insert into v values (3, 1); savepoint b; insert into v values (4, 1)

statement ok
rollback to b

statement ok
insert into v values (4, 2)

statement ok
rollback to b; insert into v values (4, 3)

statement ok
rollback to a

query
select count(*) from v
----
2

statement ok
savepoint c; insert into v values (5, 5); release c

query
insert into v values (3, 2) returning v
----
2

statement COMMIT
commit

query
select id, v from v order by id
----
1|51
2|100
3|2
5|5

# Tables that were made and unmade.

statement ok
begin; savepoint s

statement ok
create table made (id int primary key); insert into made values (1)

statement ok
rollback to s

statement ok
create table made (id text primary key); insert into made values ('x')

query
select * from made
----
x

statement COMMIT
commit

query
select * from made
----
x

# An error tells, too: here, that there was a row.

session a

statement ok
begin; savepoint s

statement error 23505
insert into v values (2, 0)

statement ROLLBACK
rollback to s

statement ok
update v set v = v + 1 where id = 1

session b

statement ok
delete from v where id = 2

session a

statement error 40001
commit

# As long as it fails in the same way, it goes on.

statement ok
begin; savepoint s

statement error 23505
insert into v values (3, 0)

statement ROLLBACK
rollback to s

statement ok
update v set v = 0 where id = 3

statement COMMIT
commit

# And the log has nothing else.

reopen

query
select id, v from v order by id
----
1|51
3|0
5|5

query
select * from made
----
x
