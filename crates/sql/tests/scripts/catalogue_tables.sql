# Tables of pg_catalog on users, casts, time zones and on objects that are not supported.

query
SELECT u.usename = current_user, u.usesuper, u.passwd, s.passwd IS NULL, a.rolcanlogin FROM pg_user u JOIN pg_shadow s USING (usesysid) JOIN pg_authid a ON a.oid = u.usesysid
----
t|t|********|t|t

# Casts are those of PostgreSQL that expressions know.

query
SELECT castsource::regtype, casttarget::regtype, castcontext, castmethod FROM pg_cast WHERE (castsource::regtype::text, casttarget::regtype::text) IN (('integer', 'bigint'), ('bigint', 'integer'), ('boolean', 'integer'), ('text', 'character varying'), ('date', 'timestamp without time zone')) ORDER BY castsource, casttarget
----
boolean|integer|e|f
bigint|integer|a|f
integer|bigint|i|f
text|character varying|i|b
date|timestamp without time zone|i|f

query
SELECT name, abbrev, utc_offset, is_dst FROM pg_timezone_names WHERE name IN ('UTC', 'Asia/Tokyo', 'Asia/Kolkata', 'America/Phoenix') ORDER BY name
----
America/Phoenix|MST|-07:00:00|f
Asia/Kolkata|IST|05:30:00|f
Asia/Tokyo|JST|09:00:00|f
UTC|UTC|00:00:00|f

query
SELECT abbrev, utc_offset, is_dst FROM pg_timezone_abbrevs WHERE abbrev IN ('CEST', 'EST', 'MSK', 'UTC', 'ACST') ORDER BY abbrev
----
ACST|09:30:00|f
CEST|02:00:00|t
EST|-05:00:00|f
MSK|03:00:00|f
UTC|00:00:00|f

query
SELECT datname = current_database() FROM pg_stat_database WHERE datid = 5
----
t

query
SELECT aggfnoid::oid = p.oid, aggkind FROM pg_aggregate a JOIN pg_proc p ON p.oid = a.aggfnoid WHERE proname = 'bool_and'
----
t|n

# Tables of objects that are not supported have PostgreSQL's columns, and no rows.

query
SELECT (SELECT count(*) FROM pg_policies), (SELECT count(*) FROM pg_rules), (SELECT count(*) FROM pg_stats), (SELECT count(*) FROM pg_event_trigger), (SELECT count(*) FROM pg_foreign_data_wrapper), (SELECT count(*) FROM pg_default_acl), (SELECT count(*) FROM pg_replication_slots)
----
0|0|0|0|0|0|0

query
SELECT (SELECT count(*) FROM pg_partitioned_table), (SELECT count(*) FROM pg_db_role_setting), (SELECT count(*) FROM pg_shdepend), (SELECT count(*) FROM pg_user_mappings), (SELECT count(*) FROM pg_subscription), (SELECT count(*) FROM pg_publication_tables), (SELECT count(*) FROM pg_stat_progress_vacuum)
----
0|0|0|0|0|0|0
