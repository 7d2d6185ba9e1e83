# Questions of tools to the catalogue.

statement ok
CREATE TABLE t (id serial PRIMARY KEY, n int, s text)

statement ok
CREATE INDEX t_some ON t (n) INCLUDE (s) WHERE n > 0

statement ok
CREATE VIEW v AS SELECT id, s FROM t

statement ok
CREATE SEQUENCE own

# No sequence belongs to a column of a view, a sequence, an index or a table of the catalogue.

query
SELECT pg_get_serial_sequence('t', 'id'), pg_get_serial_sequence('t', 'n'), pg_get_serial_sequence('v', 'id'), pg_get_serial_sequence('public.v', 's')
----
public.t_id_seq|NULL|NULL|NULL

query
SELECT pg_get_serial_sequence('own', 'last_value'), pg_get_serial_sequence('t_some', 'n'), pg_get_serial_sequence('pg_class', 'relname')
----
NULL|NULL|NULL

statement error 42703
SELECT pg_get_serial_sequence('v', 'n')
----
column "n" of relation "v" does not exist

statement error 42P01
SELECT pg_get_serial_sequence('nothing', 'n')
----
relation "nothing" does not exist

# An index for people is written without a schema that the path has.

query
SELECT pg_get_indexdef('t_some'::regclass), pg_get_indexdef('t_some'::regclass, 0, false)
----
CREATE INDEX t_some ON public.t USING btree (n) INCLUDE (s) WHERE (n > 0)|CREATE INDEX t_some ON public.t USING btree (n) INCLUDE (s) WHERE (n > 0)

query
SELECT pg_get_indexdef('t_some'::regclass, 0, true), pg_get_indexdef('t_some'::regclass, 1, true)
----
CREATE INDEX t_some ON t USING btree (n) INCLUDE (s) WHERE n > 0|n

statement ok
SET search_path = pg_catalog

query
SELECT pg_get_indexdef('public.t_some'::regclass, 0, true)
----
CREATE INDEX t_some ON public.t USING btree (n) INCLUDE (s) WHERE n > 0

statement ok
RESET search_path

# Parameters have PostgreSQL's descriptions, and values in its units.

query
SELECT name, setting, unit, category, context, vartype, source, min_val, max_val, enumvals, boot_val, reset_val FROM pg_settings WHERE name IN ('work_mem', 'block_size', 'bytea_output', 'statement_timeout', 'random_page_cost') ORDER BY name
----
block_size|8192|NULL|Preset Options|internal|integer|default|8192|8192|NULL|8192|8192
bytea_output|hex|NULL|Client Connection Defaults / Statement Behavior|user|enum|default|NULL|NULL|{escape,hex}|hex|hex
random_page_cost|4|NULL|Query Tuning / Planner Cost Constants|user|real|default|0|1.79769e+308|NULL|4|4
statement_timeout|0|ms|Client Connection Defaults / Statement Behavior|user|integer|default|0|2147483647|NULL|0|0
work_mem|4096|kB|Resource Usage / Memory|user|integer|default|64|2147483647|NULL|4096|4096

statement ok
SET work_mem = '8MB'

statement ok
SET statement_timeout = '2min'

query
SELECT name, setting, source, boot_val, reset_val FROM pg_settings WHERE source = 'session' ORDER BY name
----
statement_timeout|120000|session|0|0
work_mem|8192|session|4096|4096

statement ok
RESET statement_timeout

query
SELECT current_setting('block_size'), current_setting('segment_size'), current_setting('wal_block_size'), current_setting('wal_segment_size'), current_setting('max_function_args')
----
8192|1GB|8192|16MB|100

query
SELECT current_setting('max_identifier_length'), current_setting('lc_collate'), current_setting('debug_assertions'), current_setting('server_encoding')
----
63|C|off|UTF8

statement error 55P02
SET block_size = 4096
----
parameter "block_size" cannot be changed

# Functions that monitors and introspection call.

query
SELECT has_any_column_privilege('t', 'SELECT'), has_any_column_privilege(current_user, 't', 'INSERT, UPDATE'), has_sequence_privilege('own', 'USAGE'), has_function_privilege('upper(text)', 'EXECUTE')
----
t|t|t|t

query
SELECT pg_get_function_identity_arguments('boolin'::regproc), pg_get_function_arguments('to_char(timestamptz,text)'::regprocedure), pg_get_function_identity_arguments(1)
----
cstring|timestamp with time zone, text|NULL

query
SELECT pg_blocking_pids(0), pg_last_xact_replay_timestamp(), pg_database_size(current_database()) >= 0, pg_relation_filepath('v')
----
{}|NULL|t|NULL

query
SELECT 'to_char(timestamptz,text)'::regprocedure, 'boolin'::regproc, 'boolin(cstring)'::regprocedure
----
to_char(timestamp with time zone,text)|boolin|boolin(cstring)

statement error 3D000
SELECT pg_database_size('no_such_database')
----
database "no_such_database" does not exist

statement error 55000
SELECT pg_is_wal_replay_paused()
----
recovery is not in progress
HINT: Recovery control functions can only be executed during recovery.

# What generators of code and tools ask further: lengths and digits by the modifiers of types, elements of arrays with their
# numbers in FROM, last numbers of sequences, and the numbers of the catalogue's tables.

query
select information_schema._pg_char_max_length(1043, 44), information_schema._pg_char_max_length(25, -1), information_schema._pg_char_octet_length(1043, 44), information_schema._pg_char_octet_length(25, -1), information_schema._pg_char_max_length(1560, 8)
----
40|NULL|160|1073741824|8

query
select t.t, information_schema._pg_numeric_precision(t.t, t.m), information_schema._pg_numeric_precision_radix(t.t, t.m), information_schema._pg_numeric_scale(t.t, t.m), information_schema._pg_datetime_precision(t.t, t.m) from (values (21::oid, -1), (23, -1), (20, -1), (700, -1), (701, -1), (1700, -1), (1700, 655366), (1082, -1), (1184, -1), (1114, 3), (1186, -1), (1186, 2147418112)) t(t, m)
----
21|16|2|0|NULL
23|32|2|0|NULL
20|64|2|0|NULL
700|24|2|NULL|NULL
701|53|2|NULL|NULL
1700|NULL|10|NULL|NULL
1700|10|10|2|NULL
1082|NULL|NULL|NULL|0
1184|NULL|NULL|NULL|6
1114|NULL|NULL|NULL|3
1186|NULL|NULL|NULL|6
1186|NULL|NULL|NULL|0

query
select information_schema._pg_interval_type(1186, 327679), information_schema._pg_interval_type(1186, -1) , information_schema._pg_interval_type(25, -1)
----
YEAR|NULL|NULL

query
select x, n from information_schema._pg_expandarray(array['b', 'a', null]) order by n
----
b|1
a|2
NULL|3

query
select s.x, s.n, a.k from (values (array[7, 8]), (array[9])) a(k), information_schema._pg_expandarray(a.k) s order by s.x
----
7|1|{7,8}
8|2|{7,8}
9|1|{9}

statement ok
create table named (id bigint generated always as identity (sequence name "Named_Numbers" increment by 5 start with 100 cache 1) primary key, other int generated by default as identity (sequence name public.named_other), a text)

query
insert into named (a) values ('x'), ('y') returning id, other
----
100|1
105|2

query
select pg_get_serial_sequence('named', 'id'), pg_get_serial_sequence('named', 'other')
----
public."Named_Numbers"|public.named_other

query
select pg_sequence_last_value('"Named_Numbers"'), pg_sequence_last_value('named_other'::regclass)
----
105|2

statement ok
create sequence unasked

query
select pg_sequence_last_value('unasked')
----
NULL

statement error 42P07
create table again (id int generated always as identity (sequence name named_other))

statement ok
alter table named add column third int generated always as identity (sequence name named_third start with 7)

query
select id, third from named order by third
----
100|7
105|8

query
select t.tableoid::regclass, t.tableoid = 'pg_type'::regclass from pg_type t where t.typname = 'int4'
----
pg_type|t

query
select getdatabaseencoding(), pg_ts_config_is_visible(3748), pg_get_function_sqlbody(1) is null, pg_tablespace_location(1663)
----
UTF8|t|t|

statement ok
drop table named

query
select nameconcatoid('a', 7), nameconcatoid(repeat('é', 31), 123), nameconcatoid('a', null) is null, pg_typeof(nameconcatoid('a', 1))
----
a_7|ééééééééééééééééééééééééééééé_123|t|name

statement ok
create function a_function_with_a_name_that_is_fifty_eight_letters_long_ab() returns int language sql as 'select 1'

query
select r.specific_name = nameconcatoid(p.proname, p.oid), length(r.specific_name)
    from information_schema.routines r join pg_proc p on p.proname = r.routine_name where p.proname like 'a\_function%'
----
t|63

statement ok
drop function a_function_with_a_name_that_is_fifty_eight_letters_long_ab()

statement ok
create table in_quotes (id "serial" primary key, b "bigserial")

query
insert into in_quotes default values returning id, b, pg_typeof(b)
----
1|1|bigint

statement error 42704
create table other_letters (id "SERIAL")

statement ok
drop table in_quotes

query
select t.typname, t.oid = any('{int,int8,bool}'::regtype[]), t.oid = any(array['int', 'text']::regtype[]),
    'int'::regtype = any('{text,null}'::regtype[])
    from pg_type t where t.oid in (20, 23) order by t.oid
----
int8|t|f|NULL
int4|t|t|NULL

statement error 42704
select 1 = any('{no_such_type}'::regtype[])

statement ok
create extension if not exists plpgsql with schema pg_catalog

statement error 42710
create extension plpgsql with schema pg_catalog

statement ok
create table lengths (a interval second(3), b interval(2), c interval day to second(1), d interval, e interval year)

query
select attname, information_schema._pg_interval_type(atttypid, atttypmod) from pg_attribute where attrelid = 'lengths'::regclass and attnum > 0 order by attnum
----
a|SECOND(3)
b|NULL
c|DAY TO SECOND(1)
d|NULL
e|YEAR


query
select array_ndims('{{int,text}}'::regtype[]), 'text'::regtype = any('{{int,text},{bool,null}}'::regtype[]), 'int8'::regtype = any('{{int,text}}'::regtype[])
----
2|t|f
