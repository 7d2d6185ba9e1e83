# Views of information_schema on rights, domains, arrays and types.

statement ok
CREATE TYPE mood AS ENUM ('sad', 'ok')

statement ok
CREATE DOMAIN short AS varchar(5) DEFAULT 'a' CHECK (VALUE <> 'x')

statement ok
CREATE DOMAIN price AS numeric(8, 2)

statement ok
CREATE TABLE t (a int PRIMARY KEY, b short, c int[], d mood)

statement ok
CREATE TABLE u (a int REFERENCES t (a), p price UNIQUE)

statement ok
CREATE VIEW v AS SELECT a, b FROM t

query
SELECT table_schema, table_name, privilege_type, is_grantable, with_hierarchy, grantor = current_user, grantee = current_user FROM information_schema.table_privileges WHERE table_name IN ('t', 'v') ORDER BY table_name, privilege_type
----
public|t|DELETE|YES|NO|t|t
public|t|INSERT|YES|NO|t|t
public|t|REFERENCES|YES|NO|t|t
public|t|SELECT|YES|YES|t|t
public|t|TRIGGER|YES|NO|t|t
public|t|TRUNCATE|YES|NO|t|t
public|t|UPDATE|YES|NO|t|t
public|v|DELETE|YES|NO|t|t
public|v|INSERT|YES|NO|t|t
public|v|REFERENCES|YES|NO|t|t
public|v|SELECT|YES|YES|t|t
public|v|TRIGGER|YES|NO|t|t
public|v|TRUNCATE|YES|NO|t|t
public|v|UPDATE|YES|NO|t|t

query
SELECT (SELECT count(*) FROM information_schema.role_table_grants WHERE table_name = 't'), (SELECT count(*) FROM information_schema.role_column_grants WHERE table_name = 't')
----
7|16

query
SELECT table_name, column_name, privilege_type, is_grantable FROM information_schema.column_privileges WHERE table_name = 'v' AND column_name = 'a' ORDER BY privilege_type
----
v|a|INSERT|YES
v|a|REFERENCES|YES
v|a|SELECT|YES
v|a|UPDATE|YES

query
SELECT domain_schema, domain_name, data_type, character_maximum_length, character_octet_length, numeric_precision, numeric_precision_radix, numeric_scale, datetime_precision, udt_schema, udt_name, dtd_identifier FROM information_schema.domains WHERE domain_schema = 'public' ORDER BY domain_name
----
public|price|numeric|NULL|NULL|8|10|2|NULL|pg_catalog|numeric|1
public|short|character varying|5|20|NULL|NULL|NULL|NULL|pg_catalog|varchar|1

# A view's column has its query's type; in PostgreSQL, the domain.

query
SELECT domain_name, table_name, column_name FROM information_schema.column_domain_usage WHERE domain_schema = 'public' ORDER BY 1, 2, 3
----
price|u|p
short|t|b

query
SELECT table_name, column_name, udt_schema, udt_name FROM information_schema.column_udt_usage WHERE table_schema = 'public' AND table_name <> 'v' ORDER BY 1, 2
----
t|a|pg_catalog|int4
t|b|pg_catalog|varchar
t|c|pg_catalog|_int4
t|d|public|mood
u|a|pg_catalog|int4
u|p|pg_catalog|numeric

query
SELECT object_name, object_type, collection_type_identifier, data_type, udt_schema, udt_name, dtd_identifier FROM information_schema.element_types WHERE object_schema = 'public' AND object_type = 'TABLE'
----
t|TABLE|3|integer|pg_catalog|int4|a3

query
SELECT table_name, constraint_schema, constraint_name FROM information_schema.constraint_table_usage WHERE table_schema = 'public' ORDER BY constraint_name
----
t|public|t_pkey
t|public|u_a_fkey
u|public|u_p_key

query
SELECT object_name, object_type, privilege_type, is_grantable, grantee = 'PUBLIC' FROM information_schema.usage_privileges WHERE object_schema = 'public' ORDER BY object_name, is_grantable
----
price|DOMAIN|USAGE|NO|t
price|DOMAIN|USAGE|YES|f
short|DOMAIN|USAGE|NO|t
short|DOMAIN|USAGE|YES|f

query
SELECT udt_name, privilege_type, is_grantable, grantee = 'PUBLIC' FROM information_schema.udt_privileges WHERE udt_schema = 'public' ORDER BY udt_name, is_grantable
----
t|TYPE USAGE|NO|t
t|TYPE USAGE|YES|f
u|TYPE USAGE|NO|t
u|TYPE USAGE|YES|f
v|TYPE USAGE|NO|t
v|TYPE USAGE|YES|f

query
SELECT catalog_name = current_database() FROM information_schema.information_schema_catalog_name
----
t

query
SELECT role_name FROM information_schema.enabled_roles WHERE role_name <> current_user AND role_name NOT LIKE 'pg%'
----

query
SELECT character_set_name, character_repertoire, form_of_use, default_collate_schema FROM information_schema.character_sets
----
UTF8|UCS|UTF8|pg_catalog

query
SELECT collation_schema, collation_name, pad_attribute FROM information_schema.collations WHERE collation_name IN ('C', 'POSIX') ORDER BY collation_name
----
pg_catalog|C|NO PAD
pg_catalog|POSIX|NO PAD

query
SELECT routine_name, specific_name = routine_name || '_' || 'boolin'::regproc::oid, privilege_type, is_grantable FROM information_schema.routine_privileges WHERE routine_name = 'boolin' ORDER BY is_grantable
----
boolin|t|EXECUTE|NO
boolin|t|EXECUTE|YES

query
SELECT (SELECT count(*) FROM information_schema.attributes), (SELECT count(*) FROM information_schema.user_defined_types), (SELECT count(*) FROM information_schema.foreign_tables), (SELECT count(*) FROM information_schema.column_column_usage), (SELECT count(*) FROM information_schema.triggers)
----
0|0|0|0|0

# Older views have all of PostgreSQL's columns.

query
SELECT table_name, table_type, self_referencing_column_name, is_typed, commit_action FROM information_schema.tables WHERE table_schema = 'public' ORDER BY table_name
----
t|BASE TABLE|NULL|NO|NULL
u|BASE TABLE|NULL|NO|NULL
v|VIEW|NULL|NO|NULL

query
SELECT schema_name, default_character_set_name, sql_path FROM information_schema.schemata WHERE schema_name = 'public'
----
public|NULL|NULL

query
SELECT table_name, is_trigger_updatable, is_trigger_deletable, is_trigger_insertable_into FROM information_schema.views WHERE table_schema = 'public'
----
v|NO|NO|NO
