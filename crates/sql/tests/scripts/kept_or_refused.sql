# Clauses and options are kept, or refused by their names.

statement error 0A000
CREATE UNLOGGED TABLE t (a int)
----
CREATE TABLE with UNLOGGED is not supported

statement error 0A000
CREATE TEMP TABLE t (a int)

statement ok
CREATE TABLE t (a int, b text COLLATE "C", c varchar(5) COLLATE pg_catalog."default") WITH (fillfactor = 70, autovacuum_enabled = false)

statement error 22023
CREATE TABLE u (a int) WITH (speed = 5)
----
unrecognized parameter "speed"

statement error 42601
CREATE TABLE u (a int) WITH OIDS

statement error 0A000
CREATE TABLE u (a text COLLATE "de_DE")
----
the collation "de_DE" is not supported
HINT: Texts are ordered by their bytes, as with COLLATE "C".

statement error 0A000
CREATE TABLE u (a int) PARTITION BY RANGE (a)

statement error 0A000
CREATE TABLE u () INHERITS (t)

statement error 0A000
CREATE TABLE u (LIKE t)

statement error 0A000
CREATE TABLE u (a int UNIQUE NULLS NOT DISTINCT)

statement error 0A000
CREATE TABLE u (a int, b int, UNIQUE (a) INCLUDE (b))

statement error 0A000
CREATE TABLE u (a int REFERENCES t ON DELETE SET NULL)

statement error 0A000
CREATE TABLE u (a int GENERATED ALWAYS AS (b * 2) STORED, b int)

statement error 0A000
CREATE INDEX ON t USING hash (a)
----
CREATE INDEX with USING other than btree is not supported

statement error 0A000
CREATE INDEX ON t (a) INCLUDE (b)

statement error 0A000
CREATE INDEX ON t (a) WHERE a > 0

statement error 0A000
CREATE INDEX ON t (b gin_trgm_ops)
----
the operator class gin_trgm_ops is not supported

statement error 0A000
CREATE INDEX ON t (b COLLATE "de_DE")

statement error 0A000
CREATE INDEX ON t (a NULLS FIRST)

statement error 22023
CREATE INDEX ON t (a) WITH (speed = 5)

statement ok
CREATE INDEX CONCURRENTLY IF NOT EXISTS by_b ON t USING btree (b COLLATE "C" text_pattern_ops ASC NULLS LAST, a DESC NULLS FIRST) WITH (fillfactor = 70)

statement error 42601
ALTER TABLE t ADD COLUMN x int FIRST

statement error 0A000
ALTER TABLE t SET UNLOGGED

statement error 22023
ALTER TABLE t SET (speed = 5)

statement ok
ALTER TABLE ONLY t SET (fillfactor = 50)

statement error 0A000
CREATE MATERIALIZED VIEW v AS SELECT 1 x

statement error 0A000
CREATE VIEW v WITH (security_barrier) AS SELECT 1 x

statement error 0A000
CREATE TEMP VIEW v AS SELECT 1 x

# Queries.

statement ok
INSERT INTO t VALUES (1, 'x'), (2, 'y')

query
SELECT a FROM ONLY t ORDER BY a FOR UPDATE OF t NOWAIT
----
1
2

query
SELECT a FROM t WHERE a = 1 FOR SHARE
----
1

statement error 0A000
SELECT a FROM t FOR UPDATE SKIP LOCKED
----
SELECT with SKIP LOCKED is not supported

statement error 0A000
UPDATE t SET a = 5 WHERE a IN (SELECT a FROM t ORDER BY a LIMIT 1 FOR UPDATE SKIP LOCKED)

statement error 0A000
SELECT * FROM t TABLESAMPLE SYSTEM (10)

statement error 0A000
SELECT a INTO u FROM t

statement error 0A000
SELECT a FROM t ORDER BY a FETCH FIRST 1 ROWS WITH TIES

# EXPLAIN.

statement error 0A000
EXPLAIN (FORMAT json) SELECT 1
----
EXPLAIN with FORMAT other than text is not supported

statement error 0A000
EXPLAIN VERBOSE SELECT 1

statement error 0A000
EXPLAIN (ANALYZE, BUFFERS) SELECT 1

statement error 42601
EXPLAIN (NONSENSE) SELECT 1

statement error 0A000
EXPLAIN (ANALYZE) DELETE FROM t WHERE a IN (SELECT a FROM t FOR UPDATE SKIP LOCKED)

statement ok
EXPLAIN (ANALYZE true, COSTS off, TIMING off, BUFFERS false, FORMAT text) DELETE FROM t WHERE a = 2

query
SELECT a FROM t
----
1

# Transactions.

statement error 0A000
BEGIN; COMMIT AND CHAIN
----
COMMIT with AND CHAIN is not supported

statement ok
BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY

statement error 25006
DELETE FROM t

statement ok
ROLLBACK AND NO CHAIN

# Others.

statement error 0A000
DROP TABLE t PURGE

statement error 0A000
LOCK TABLE t

statement ok
TRUNCATE TABLE ONLY t CONTINUE IDENTITY RESTRICT

# TRUNCATE … CASCADE empties the tables that refer, and RESTART IDENTITY begins again.

statement ok
CREATE TABLE head (id int GENERATED ALWAYS AS IDENTITY (START 10) PRIMARY KEY, v text)

statement ok
CREATE TABLE body (id serial PRIMARY KEY, head int REFERENCES head)

statement ok
CREATE TABLE foot (id int PRIMARY KEY, body int REFERENCES body)

statement ok
INSERT INTO head (v) VALUES ('a'), ('b')

statement ok
INSERT INTO body (head) VALUES (10), (11)

statement ok
INSERT INTO foot VALUES (1, 1)

statement error 0A000
TRUNCATE head
----
cannot truncate a table referenced in a foreign key constraint
DETAIL: Table "body" references "head".
HINT: Truncate table "body" at the same time, or use TRUNCATE ... CASCADE.

statement ok
TRUNCATE head RESTART IDENTITY CASCADE

query
SELECT (SELECT count(*) FROM head), (SELECT count(*) FROM body), (SELECT count(*) FROM foot)
----
0|0|0

statement ok
INSERT INTO head (v) VALUES ('c')

statement ok
INSERT INTO body (head) VALUES (10)

query
SELECT head.id, body.id FROM head, body
----
10|1

statement ok
BEGIN; TRUNCATE head RESTART IDENTITY CASCADE; ROLLBACK

statement ok
INSERT INTO head (v) VALUES ('d')

query
SELECT id FROM head ORDER BY id
----
10
11

# A column that goes with CASCADE takes the references to it along.

statement ok
CREATE TABLE kept (id int PRIMARY KEY, code int UNIQUE)

statement ok
CREATE TABLE of_kept (code int REFERENCES kept (code))

statement error 2BP01
ALTER TABLE kept DROP CONSTRAINT kept_code_key

statement ok
ALTER TABLE kept DROP CONSTRAINT kept_code_key CASCADE

statement ok
INSERT INTO of_kept VALUES (5)

# Maintenance.

statement ok
VACUUM (FULL, VERBOSE off, PARALLEL 2) kept

statement error 42601
VACUUM (FASTER) kept
----
unrecognized VACUUM option "faster"

statement error 42601
ANALYZE (FULL)

statement error 42601
REINDEX (TABLESPACE fast) TABLE kept
