# Materialized views. Answers are PostgreSQL 15's.

statement CREATE TABLE
create table t (id int primary key, v text, n numeric(6,2))

statement INSERT 0 2
insert into t values (1, 'a', 1.5), (2, 'b', 2)

statement CREATE SCHEMA
create schema app

statement SELECT 1
create materialized view m as select * from t where n > 1.6

statement SELECT 2
create materialized view app.sums (kind, total) as select v, sum(n)::numeric(8,2) from t group by v

query
select * from m
----
2|b|2.00

query
select kind, total from app.sums order by kind
----
a|1.50
b|2.00

statement error 42P07
create materialized view m as select 1
----
relation "m" already exists

statement CREATE MATERIALIZED VIEW
create materialized view if not exists m as select 1

statement INSERT 0 1
insert into t values (3, 'c', 3)

query
select count(*) from m
----
1

statement REFRESH MATERIALIZED VIEW
refresh materialized view m

query
select * from m order by id
----
2|b|2.00
3|c|3.00

statement CREATE INDEX
create unique index m_id on m (id)

statement REFRESH MATERIALIZED VIEW
refresh materialized view concurrently m

statement error 42809
insert into m values (4, 'd', 4)
----
cannot change materialized view "m"

statement error 42809
update m set v = 'x'
----
cannot change materialized view "m"

statement error 42809
delete from m
----
cannot change materialized view "m"

statement error 42809
truncate m
----
"m" is not a table

statement error 42809
drop table m
----
"m" is not a table
HINT: Use DROP MATERIALIZED VIEW to remove a materialized view.

statement error 42809
drop view m
----
"m" is not a view
HINT: Use DROP MATERIALIZED VIEW to remove a materialized view.

statement error 42809
drop materialized view t
----
"t" is not a materialized view
HINT: Use DROP TABLE to remove a table.

statement error 42P01
drop materialized view nosuch
----
materialized view "nosuch" does not exist

statement DROP MATERIALIZED VIEW
drop materialized view if exists nosuch

statement error 0A000
refresh materialized view t
----
"t" is not a materialized view

statement error 42809
create table child (id int references m)
----
referenced relation "m" is not a table

query
select c.relname, c.relkind, c.relpersistence, pg_get_viewdef(c.oid) is not null from pg_class c join pg_namespace n on n.oid = relnamespace where nspname in ('public', 'app') and relkind in ('r', 'm') order by 1
----
m|m|p|t
sums|m|p|t
t|r|p|f

query
select attname, format_type(atttypid, atttypmod) from pg_attribute where attrelid = 'm'::regclass and attnum > 0 order by attnum
----
id|integer
v|text
n|numeric(6,2)

query
select table_name, table_type from information_schema.tables where table_schema in ('public', 'app') order by 1
----
t|BASE TABLE

query
select table_name, column_name from information_schema.columns where table_schema in ('public', 'app') order by 1, 2
----
t|id
t|n
t|v

query
select schemaname, matviewname, hasindexes, ispopulated from pg_matviews order by 1, 2
----
app|sums|f|t
public|m|t|t

query
select viewname from pg_views where schemaname in ('public', 'app')
----

statement BEGIN
begin

statement DROP MATERIALIZED VIEW
drop materialized view m

statement ROLLBACK
rollback

query
select count(*) from m
----
2

statement DROP MATERIALIZED VIEW
drop materialized view app.sums

statement DROP TABLE
drop table t cascade

statement error 42P01
select * from m
----
relation "m" does not exist
