# The prepared statements of a session, as the catalogue lists them.

query
select count(*) from pg_prepared_statements
----
0

statement ok
prepare one (int, text) as select $1 + 1, $2

statement ok
prepare two as select 1

query
select name, statement, parameter_types, from_sql, prepare_time is not null, generic_plans from pg_prepared_statements order by name
----
one|SELECT $1 + 1, $2|{integer,text}|t|t|NULL
two|SELECT 1|{}|t|t|NULL

session other

query
select count(*) from pg_prepared_statements
----
0

session main

statement ok
deallocate one

query
select name from pg_prepared_statements
----
two

statement ok
discard all

query
select count(*) from pg_prepared_statements
----
0

query
select count(*) from pg_cursors
----
0

# The level of isolation is chosen before the first query.

statement ok
begin

statement ok
set transaction isolation level repeatable read

query
select 1
----
1

statement ok
set transaction isolation level repeatable read

statement error 25001
set transaction isolation level serializable
----
SET TRANSACTION ISOLATION LEVEL must be called before any query

statement ok
rollback
