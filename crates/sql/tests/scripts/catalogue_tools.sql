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
