# The catalogue's tables that are queries over others: as PostgreSQL 15 answers.

statement ok
create table a (x int, y int, primary key (y, x), unique (x)); create table b (p int constraint p_check check (p > 0), q int references a (x), r int, foreign key (p, r) references a (y, x) on delete cascade deferrable); create view v as select x from a; create sequence s increment 2 minvalue 1 maxvalue 9 cycle

query
select table_name, table_type, is_insertable_into from information_schema.tables where table_schema = 'public' and table_name <> 'v' order by 1
----
a|BASE TABLE|YES
b|BASE TABLE|YES

query
select table_name, table_type from information_schema.tables where table_name = 'v'
----
v|VIEW

query
select table_name, check_option, is_updatable from information_schema.views where table_schema = 'public' and false
----

query
select constraint_name, table_name, constraint_type, is_deferrable, initially_deferred from information_schema.table_constraints where table_schema = 'public' and constraint_name not like '%not_null' order by 1
----
a_pkey|a|PRIMARY KEY|NO|NO
a_x_key|a|UNIQUE|NO|NO
b_p_r_fkey|b|FOREIGN KEY|YES|NO
b_q_fkey|b|FOREIGN KEY|NO|NO
p_check|b|CHECK|NO|NO

query
select constraint_name, table_name, column_name, ordinal_position, position_in_unique_constraint from information_schema.key_column_usage where constraint_schema = 'public' order by 1, 4
----
a_pkey|a|y|1|NULL
a_pkey|a|x|2|NULL
a_x_key|a|x|1|NULL
b_p_r_fkey|b|p|1|1
b_p_r_fkey|b|r|2|2
b_q_fkey|b|q|1|1

query
select constraint_name, table_name, column_name from information_schema.constraint_column_usage where constraint_schema = 'public' and constraint_name not like '%check' order by 1, 3
----
a_pkey|a|x
a_pkey|a|y
a_x_key|a|x
b_p_r_fkey|a|x
b_p_r_fkey|a|y
b_q_fkey|a|x

query
select constraint_name, unique_constraint_name, match_option, update_rule, delete_rule from information_schema.referential_constraints order by 1
----
b_p_r_fkey|a_pkey|NONE|NO ACTION|CASCADE
b_q_fkey|a_x_key|NONE|NO ACTION|NO ACTION

query
select constraint_name, check_clause from information_schema.check_constraints where constraint_schema = 'public' and constraint_name not like '%not_null' order by 1
----
p_check|((p > 0))

query
select sequence_name, data_type, start_value, minimum_value, maximum_value, increment, cycle_option from information_schema.sequences order by 1
----
s|bigint|1|1|9|2|YES

query
select schema_name from information_schema.schemata where schema_name in ('public', 'pg_catalog', 'information_schema') order by 1
----
information_schema
pg_catalog
public

query
select tablename, hasindexes from pg_tables where schemaname = 'public' order by 1
----
a|t
b|f

query
select tc.table_name, kcu.column_name, ccu.table_name, ccu.column_name from information_schema.table_constraints tc join information_schema.key_column_usage kcu on tc.constraint_name = kcu.constraint_name join information_schema.constraint_column_usage ccu on ccu.constraint_name = tc.constraint_name where tc.constraint_type = 'FOREIGN KEY' and tc.table_name = 'b' order by 1, 2, 3, 4
----
b|p|a|x
b|p|a|y
b|q|a|x
b|r|a|x
b|r|a|y

# They see the names of the catalogue, whatever names tables have.

statement ok
create table pg_class (x int); create table pg_namespace (oid int)

query
select table_name from information_schema.tables where table_schema = 'public' and table_name like 'pg%' order by 1
----
pg_class
pg_namespace
