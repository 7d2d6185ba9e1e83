# Types of rows, and the one tablespace. The answers are those of PostgreSQL 15.

statement ok
CREATE SCHEMA other

statement ok
CREATE TABLE plain (a int) TABLESPACE pg_default

statement ok
CREATE TABLE other.plain (a int PRIMARY KEY, tablespace text) WITH (fillfactor = 90) TABLESPACE "pg_default"

statement ok
CREATE INDEX plain_a ON plain (a) TABLESPACE pg_default WHERE a > 1

statement ok
CREATE INDEX plain_b ON other.plain (a) INCLUDE (tablespace) TABLESPACE pg_default

statement error 42704
CREATE TABLE none (a int) TABLESPACE elsewhere

statement error 42704
CREATE INDEX plain_c ON plain (a) TABLESPACE Elsewhere

query
SELECT tablespace FROM other.plain
----

statement ok
CREATE VIEW seen AS SELECT a, a + 1 AS b FROM plain

statement ok
CREATE MATERIALIZED VIEW kept AS SELECT 1 AS one

statement ok
CREATE SEQUENCE counted

query
SELECT c.relname, c.relkind, t.typname, t.typtype, t.typcategory, t.typlen, t.typbyval, t.typalign, t.typstorage, t.typispreferred, t.typisdefined, t.typdelim, t.typelem, t.typnotnull, t.typbasetype, t.typtypmod, t.typndims, t.typcollation, n.nspname FROM pg_class c JOIN pg_type t ON t.oid = c.reltype AND t.typrelid = c.oid JOIN pg_namespace n ON n.oid = t.typnamespace WHERE n.nspname IN ('public', 'other') ORDER BY n.nspname, c.relname
----
plain|r|plain|c|C|-1|f|d|x|f|t|,|0|f|0|-1|0|0|other
kept|m|kept|c|C|-1|f|d|x|f|t|,|0|f|0|-1|0|0|public
plain|r|plain|c|C|-1|f|d|x|f|t|,|0|f|0|-1|0|0|public
seen|v|seen|c|C|-1|f|d|x|f|t|,|0|f|0|-1|0|0|public

query
SELECT relname, relkind, reltype = 0 FROM pg_class WHERE relname IN ('plain', 'plain_a', 'plain_pkey', 'seen', 'kept', 'counted') ORDER BY 1, 2
----
counted|S|t
kept|m|f
plain|r|f
plain|r|f
plain_a|i|t
plain_pkey|i|t
seen|v|f

query
SELECT p.proname, p.pronargs, p.proisstrict, p.provolatile, p.proargtypes FROM pg_type t JOIN pg_proc p ON p.oid IN (t.typinput, t.typoutput, t.typreceive, t.typsend) WHERE t.typname = 'seen' ORDER BY p.oid
----
record_in|3|t|s|2275 26 23
record_out|1|t|s|2249
record_recv|3|t|s|2281 26 23
record_send|1|t|s|2249

query
SELECT count(*), count(DISTINCT oid) = count(*) FROM pg_type WHERE typname IN ('plain', 'seen')
----
3|t

query
SELECT count(*) FROM pg_class c WHERE reltype > 0 AND NOT EXISTS (SELECT 1 FROM pg_type t WHERE t.oid = c.reltype)
----
0
