# COMMENT ON is stored with its object, shown by the catalogue, and dropped with the object.

statement ok
CREATE TABLE t (id int CONSTRAINT t_pk PRIMARY KEY, v text CHECK (v <> ''), n int, k int UNIQUE)

statement ok
CREATE INDEX t_v_idx ON t (v)

statement ok
CREATE VIEW w AS SELECT id, v FROM t

statement ok
CREATE SEQUENCE s

statement COMMENT
COMMENT ON TABLE t IS 'the table''s'

statement ok
COMMENT ON COLUMN t.v IS 'a column'; COMMENT ON COLUMN public.t.n IS E'with\ttab'; COMMENT ON CONSTRAINT t_v_check ON t IS 'a condition'; COMMENT ON CONSTRAINT t_pk ON public.t IS 'a key'; COMMENT ON INDEX t_v_idx IS 'an index'; COMMENT ON VIEW w IS 'a view'; COMMENT ON COLUMN w.id IS 'of a view'; COMMENT ON SEQUENCE s IS 'a sequence'; COMMENT ON SCHEMA public IS 'a schema'; COMMENT ON DATABASE sardonyx IS 'a database'

query
SELECT obj_description('t'::regclass), obj_description('t'::regclass, 'pg_class'), col_description('t'::regclass, 2), col_description('t'::regclass, 1), obj_description('w'::regclass), col_description('w'::regclass, 1), obj_description('s'::regclass, 'pg_class')
----
the table's|the table's|a column|NULL|a view|of a view|a sequence

query
SELECT c.conname, obj_description(c.oid, 'pg_constraint') FROM pg_constraint c ORDER BY 1
----
t_k_key|NULL
t_pk|a key
t_v_check|a condition

query
SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname = 'public'
----
a schema

query
SELECT shobj_description(oid, 'pg_database') FROM pg_database
----
a database

query
SELECT objsubid, description FROM pg_description WHERE classoid = 1259 ORDER BY 2
----
2|a column
0|a sequence
0|a view
0|an index
1|of a view
0|the table's
3|with	tab

reopen

query
SELECT obj_description('w'::regclass), col_description('w'::regclass, 1)
----
a view|of a view

statement ok
DROP VIEW w

statement ok
ALTER TABLE t RENAME TO u

statement ok
ALTER TABLE u RENAME COLUMN n TO m

query
SELECT obj_description('u'::regclass), col_description('u'::regclass, 3) = E'with\ttab'
----
the table's|t

statement ok
ALTER TABLE u ALTER COLUMN m TYPE bigint

query
SELECT description FROM pg_description WHERE description LIKE 'with%'
----
with	tab

# An empty comment, and NULL, take it away.

statement ok
COMMENT ON TABLE u IS NULL; COMMENT ON COLUMN u.v IS ''; COMMENT ON SCHEMA public IS NULL

query
SELECT count(*) FROM pg_description WHERE description IN ('the table''s', 'a column', 'a schema')
----
0

# A dropped object takes its comments along.

statement ok
DROP INDEX t_v_idx; ALTER TABLE u DROP CONSTRAINT t_v_check; DROP SEQUENCE s

query
SELECT description FROM pg_description ORDER BY 1
----
a key
standard public schema
with	tab

statement ok
CREATE SEQUENCE s; CREATE VIEW w AS SELECT 1 id; CREATE INDEX t_v_idx ON u (v)

query
SELECT count(*) FROM pg_description
----
3

statement ok
BEGIN; COMMENT ON TABLE u IS 'undone'; ROLLBACK

query
SELECT obj_description('u'::regclass)
----
NULL

statement error 42P01
COMMENT ON TABLE nothing IS 'x'

statement error 42703
COMMENT ON COLUMN u.nothing IS 'x'

statement error 42704
COMMENT ON CONSTRAINT nothing ON u IS 'x'
----
constraint "nothing" for table "u" does not exist

statement error 42809
COMMENT ON VIEW u IS 'x'

statement error 42809
COMMENT ON TABLE w IS 'x'

statement error 3F000
COMMENT ON SCHEMA other IS 'x'

statement error 42601
COMMENT ON TABLE u

statement error 42601
COMMENT ON COLUMN v IS 'x'

statement error 0A000
COMMENT ON ROLE ada IS 'x'
----
COMMENT ON ROLE is not supported
