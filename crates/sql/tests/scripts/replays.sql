# What an open transaction did is run again as it ran before: under the parameters that its session had then.

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

# And with what it had drawn from sequences.

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

# How long a statement took is told, and is no reason to refuse the commit.

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
