# Clauses without an effect in their place are refused, with PostgreSQL 15's code.

statement ok
CREATE TABLE t (a int PRIMARY KEY, b text, c int DEFAULT 3)

statement ok
INSERT INTO t VALUES (1, 'x', 1), (2, 'y', 2)

# Clauses of aggregates and window functions only.

statement error 42809
SELECT lower('A') FILTER (WHERE true)
----
FILTER specified, but lower is not an aggregate function

statement error 42809
SELECT lower(DISTINCT 'A')
----
DISTINCT specified, but lower is not an aggregate function

statement error 42809
SELECT coalesce(b ORDER BY a) FROM t

statement error 42809
SELECT b FROM t WHERE upper(DISTINCT b) = 'X'

# Rows are counted by constants.

statement error 42P10
SELECT c FROM t LIMIT a
----
argument of LIMIT must not contain variables

statement error 42P10
SELECT c FROM t OFFSET c + 1

query
SELECT a FROM t ORDER BY a LIMIT (SELECT min(a) FROM t)
----
1

query
SELECT t.a, (SELECT u.a FROM t u ORDER BY u.a LIMIT t.a - 1) FROM t ORDER BY t.a
----
1|NULL
2|1

statement error 42601
SELECT DISTINCT ON () a FROM t

# A schema before a table's name is the table's.

statement error 42P01
SELECT nothing.t.a FROM t
----
invalid reference to FROM-clause entry for table "t"
HINT: There is an entry for table "t", but it cannot be referenced from this part of the query.

statement error 42P01
SELECT nothing.t.* FROM t

query
SELECT public.t.a FROM t WHERE public.t.a = 1
----
1

# There is one order of texts.

statement error 0A000
SELECT b COLLATE "de_DE" FROM t

statement error 42704
SELECT b FROM t ORDER BY b COLLATE "nothing"

statement error 42804
SELECT a FROM t ORDER BY a COLLATE "C"
----
collations are not supported by type integer

query
SELECT b COLLATE "C" FROM t ORDER BY b COLLATE pg_catalog."default" DESC
----
y
x

# A name in ORDER BY is of one column.

statement error 42702
SELECT a, c AS a FROM t ORDER BY a
----
ORDER BY "a" is ambiguous

query
SELECT a, a FROM t ORDER BY a LIMIT 1
----
1|1

statement error 42601
SELECT *
----
SELECT * with no tables specified is not valid

statement error 42601
SELECT * FROM t JOIN t u

statement error 42601
SELECT * FROM t LEFT JOIN t u

query
SELECT count(*) FROM t CROSS JOIN t u
----
4

statement error 42703
INSERT INTO t (t.a) VALUES (5)

statement error 42804
INSERT INTO t (b.x) VALUES (5)

# The connected user is the only owner.

statement error 42704
ALTER TABLE t OWNER TO somebody
----
role "somebody" does not exist
HINT: Tables have no owners here: users and their rights are in the configuration.

statement ok
ALTER TABLE t OWNER TO CURRENT_USER

statement ok
BEGIN

statement error 25001
CREATE INDEX CONCURRENTLY t_b ON t (b)
----
CREATE INDEX CONCURRENTLY cannot run inside a transaction block

statement ok
ROLLBACK

statement ok
CREATE INDEX CONCURRENTLY t_b ON t (b)

# COPY.

statement error 42601
COPY t FROM STDIN (FORMAT csv, FORMAT csv)
----
conflicting or redundant options

statement error 22023
COPY t FROM STDIN (DELIMITER 'a')
----
COPY delimiter cannot be "a"

statement error 22023
COPY t FROM STDIN (NULL E'x\n')

statement error 0A000
COPY t TO STDOUT (DELIMITER '|', NULL 'a|b')

statement error 0A000
COPY t TO STDOUT (FORMAT csv, NULL 'a"b')

statement error 0A000
COPY t TO STDOUT (FORMAT binary, HEADER)

copy error 42701
COPY t (a, a) FROM STDIN
----
1	2

statement error 42701
COPY t (a, a) TO STDOUT

# Options that need each other, or exclude each other.

statement error 22023
EXPLAIN (TIMING) SELECT 1
----
EXPLAIN option TIMING requires ANALYZE

statement ok
EXPLAIN (TIMING off) SELECT 1

statement error 0A000
VACUUM (FULL, PARALLEL 2) t

statement ok
VACUUM (FULL, PARALLEL 0) t

statement error 42701
ANALYZE t (a, b, a)
----
column "a" of relation "t" appears more than once

# Each part of a path is a name, and shown as one.

statement ok
SET search_path TO "$user", public

query
SHOW search_path
----
"$user", public

statement ok
SET search_path TO 'public, other'

query
SHOW search_path
----
"public, other"

statement ok
RESET search_path

# COMMENT ON names the whole unsupported object.

statement error 0A000
COMMENT ON EVENT TRIGGER x IS 'y'
----
COMMENT ON EVENT TRIGGER is not supported

statement error 0A000
COMMENT ON TEXT SEARCH PARSER x IS 'y'
----
COMMENT ON TEXT SEARCH PARSER is not supported

statement error 0A000
COMMENT ON OPERATOR + (int, int) IS 'y'
----
COMMENT ON OPERATOR is not supported

statement error 0A000
COMMENT ON CONSTRAINT x ON DOMAIN d IS 'y'

statement error 42601
COMMENT ON NOTHING x IS 'y'

statement COMMENT
COMMENT ON INDEX t_pkey IS $$a key's$$; COMMENT ON INDEX t_b IS 'another'

query
SELECT obj_description('t_pkey'::regclass), obj_description('public.t_b'::regclass, 'pg_class'), 't_b'::regclass
----
a key's|another|t_b
