# Sizes on disk are those of PostgreSQL only where a table has no rows, and where rows are compared with none.

statement ok
create table empty (a int primary key, b text)

statement ok
create table full_one (a int primary key, b text)

query
select pg_relation_size('empty'), pg_table_size('empty'), pg_relation_size('full_one')
----
0|0|0

statement ok
insert into full_one select i, repeat('x', 500) from generate_series(1, 1000) i

query
select pg_relation_size('full_one') >= 500000, pg_relation_size('full_one') < 5000000,
    pg_total_relation_size('full_one') >= pg_table_size('full_one'),
    pg_table_size('full_one') >= pg_relation_size('full_one'),
    pg_relation_size('full_one', 'main') = pg_relation_size('full_one'), pg_relation_size('full_one', 'init')
----
t|t|t|t|t|0

query
select pg_database_size(current_database()) >= pg_table_size('full_one'), pg_relation_size(0::oid) is null,
    pg_database_size(1234567::oid) is null
----
t|t|t

statement error 22023
select pg_relation_size('full_one', 'side')
----
invalid fork name
HINT: Valid fork names are "main", "fsm", "vm", and "init".

query
select relname, pg_size_pretty(pg_relation_size(oid)) from pg_class where relname = 'empty'
----
empty|0 bytes

statement ok
truncate full_one

query
select pg_relation_size('full_one')
----
0
