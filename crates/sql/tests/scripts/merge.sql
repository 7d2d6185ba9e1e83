# MERGE, as PostgreSQL 15 has it.

statement ok
CREATE TABLE t (id int PRIMARY KEY, n int NOT NULL, name text)

statement ok
CREATE TABLE s (id int, n int, name text)

statement INSERT 0 3
INSERT INTO t VALUES (1, 10, 'a'), (2, 20, 'b'), (3, 30, 'c')

statement INSERT 0 4
INSERT INTO s VALUES (2, 5, 'bb'), (3, 0, 'gone'), (4, 40, 'd'), (NULL, 1, 'null')

statement MERGE 3
MERGE INTO t USING s ON t.id = s.id WHEN MATCHED AND s.n = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET n = t.n + s.n, name = s.name WHEN NOT MATCHED AND s.id IS NOT NULL THEN INSERT VALUES (s.id, s.n, s.name)

query
SELECT * FROM t ORDER BY id
----
1|10|a
2|25|bb
4|40|d

# No action for a row counts as none.
statement MERGE 0
MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN DO NOTHING WHEN NOT MATCHED THEN DO NOTHING

statement MERGE 2
MERGE INTO t AS d USING (SELECT id, sum(n) AS n FROM s WHERE id IS NOT NULL GROUP BY id) AS q ON d.id = q.id WHEN MATCHED THEN UPDATE SET n = q.n

query
SELECT * FROM t ORDER BY id
----
1|10|a
2|5|bb
4|40|d

statement error 23502
MERGE INTO t USING (VALUES (1, 'one'), (7, 'seven')) AS v (id, name) ON t.id = v.id WHEN MATCHED THEN UPDATE SET name = v.name WHEN NOT MATCHED THEN INSERT (id, name, n) VALUES (v.id, v.name, DEFAULT)

statement MERGE 2
MERGE INTO t USING (VALUES (1, 'one'), (7, 'seven')) AS v (id, name) ON t.id = v.id WHEN MATCHED THEN UPDATE SET name = v.name WHEN NOT MATCHED THEN INSERT (id, name, n) VALUES (v.id, v.name, 70)

query
SELECT * FROM t ORDER BY id
----
1|10|one
2|5|bb
4|40|d
7|70|seven

# Several columns at once, and DEFAULT.
statement MERGE 2
MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET (n, name) = (s.n * 2, DEFAULT)

query
SELECT * FROM t ORDER BY id
----
1|10|one
2|10|NULL
4|80|NULL
7|70|seven

# A row twice.
statement INSERT 0 1
INSERT INTO s VALUES (2, 6, 'again')

statement error 21000
MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET n = s.n

statement error 21000
MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN DELETE

statement MERGE 1
MERGE INTO t USING s ON t.id = s.id WHEN MATCHED AND s.name = 'again' THEN UPDATE SET n = s.n WHEN MATCHED THEN DO NOTHING

query
SELECT * FROM t ORDER BY id
----
1|10|one
2|6|NULL
4|80|NULL
7|70|seven

# A row of the source that comes twice is inserted twice.
statement error 23505
MERGE INTO t USING (VALUES (8), (8)) v (id) ON t.id = v.id WHEN NOT MATCHED THEN INSERT VALUES (v.id, 1, 'x')

statement MERGE 1
MERGE INTO t USING (SELECT 1) q ON false WHEN NOT MATCHED THEN INSERT (id, n) VALUES (100, 1)

query
SELECT count(*) FROM t
----
5

# Subqueries in conditions and values.
statement MERGE 2
MERGE INTO t USING s ON t.id = s.id AND s.name <> 'again' WHEN MATCHED AND t.n < (SELECT max(n) FROM s) THEN UPDATE SET name = (SELECT min(name) FROM s) WHEN NOT MATCHED AND EXISTS (SELECT 1 FROM t WHERE t.id = s.n) THEN INSERT VALUES (s.n + 1000, 0, s.name)

query
SELECT * FROM t ORDER BY id
----
1|10|one
2|6|again
4|80|NULL
7|70|seven
100|1|NULL
1001|0|null

# WITH before it, also one that writes.
statement MERGE 1
WITH q AS (SELECT id, n FROM s WHERE id = 4) MERGE INTO t USING q ON q.id = t.id WHEN MATCHED THEN UPDATE SET n = -1 WHEN NOT MATCHED THEN INSERT VALUES (q.id, q.n, 'with')

query
SELECT * FROM t WHERE id = 4
----
4|-1|NULL

# Foreign keys, checks and generated columns are kept.
statement ok
CREATE TABLE k (id int PRIMARY KEY, t int REFERENCES t, n int CHECK (n > 0), d int GENERATED ALWAYS AS (n + 1) STORED)

statement MERGE 1
MERGE INTO k USING s ON k.id = s.id WHEN NOT MATCHED AND s.id IS NOT NULL AND name = 'bb' THEN INSERT (id, t, n) VALUES (s.id, s.id, s.n)

query
SELECT * FROM k
----
2|2|5|6

statement error 23503
MERGE INTO k USING s ON k.id = s.id AND name = 'bb' WHEN MATCHED THEN UPDATE SET t = 999

statement error 23514
MERGE INTO k USING s ON k.id = s.id AND name = 'bb' WHEN MATCHED THEN UPDATE SET n = 0

statement MERGE 1
MERGE INTO k USING s ON k.id = s.id AND name = 'bb' WHEN MATCHED THEN UPDATE SET n = 50

query
SELECT * FROM k
----
2|2|50|51

statement error 23503
MERGE INTO t USING k ON t.id = k.t WHEN MATCHED THEN DELETE

statement error 23503
MERGE INTO t USING (SELECT 2 AS id) q ON t.id = q.id WHEN MATCHED THEN UPDATE SET id = 3

# Keys move.
statement ok
CREATE TABLE m (id int PRIMARY KEY)

statement INSERT 0 3
INSERT INTO m VALUES (1), (2), (3)

statement MERGE 2
MERGE INTO m USING (VALUES (1), (2)) v (id) ON m.id = v.id WHEN MATCHED THEN UPDATE SET id = m.id + 10

query
SELECT * FROM m ORDER BY id
----
3
11
12

# A table without a key.
statement ok
CREATE TABLE l (a int, b text)

statement MERGE 2
MERGE INTO l USING (VALUES (1), (2)) v (x) ON l.a = v.x WHEN NOT MATCHED THEN INSERT (a) VALUES (v.x)

statement MERGE 3
MERGE INTO l USING (VALUES (1), (2), (3)) v (x) ON l.a = v.x WHEN MATCHED THEN UPDATE SET a = v.x * 10 WHEN NOT MATCHED THEN INSERT (a, b) VALUES (v.x, 'new')

query
SELECT * FROM l ORDER BY a
----
3|new
10|NULL
20|NULL

# DEFAULT VALUES.
statement ok
CREATE TABLE dv (id int DEFAULT 7, n text DEFAULT 'dv')

statement MERGE 1
MERGE INTO dv USING (SELECT 1 AS x) q ON dv.id = q.x WHEN MATCHED THEN DELETE WHEN NOT MATCHED AND x = 1 THEN INSERT DEFAULT VALUES WHEN NOT MATCHED THEN insert /* of */ default values

query
SELECT * FROM dv
----
7|dv

statement error 42601
WITH RECURSIVE r AS (SELECT 1 AS x) MERGE INTO dv USING r ON dv.id = r.x WHEN NOT MATCHED THEN INSERT DEFAULT VALUES

# Prepared.
statement ok
PREPARE p AS MERGE INTO t USING (SELECT $1::int AS id, $2::int AS n) q ON t.id = q.id WHEN MATCHED THEN UPDATE SET n = q.n WHEN NOT MATCHED THEN INSERT (id, n) VALUES (q.id, q.n)

statement MERGE 1
EXECUTE p(500, 1)

statement MERGE 1
EXECUTE p(500, 2)

query
SELECT n FROM t WHERE id = 500
----
2

# The table joined to itself.
statement MERGE 1
MERGE INTO t USING t AS o ON t.id = o.id AND o.id = 500 WHEN MATCHED THEN UPDATE SET n = o.n + 1

query
SELECT n FROM t WHERE id = 500
----
3

# Errors.
statement error 42P01
MERGE INTO t USING s ON t.id = s.id WHEN NOT MATCHED THEN INSERT VALUES (t.id, 1, 'x')

statement error 42P01
MERGE INTO t USING s ON t.id = s.id WHEN NOT MATCHED AND t.id = 1 THEN DO NOTHING

statement error 42712
MERGE INTO t USING t ON t.id = t.id WHEN MATCHED THEN DO NOTHING

statement error 42601
MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN DELETE WHEN MATCHED THEN DO NOTHING

statement error 42601
MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN INSERT VALUES (1)

statement error 42601
MERGE INTO t USING s ON t.id = s.id WHEN NOT MATCHED THEN UPDATE SET n = 1

statement error 42703
MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET missing = 1

statement error 42601
MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET n = 1, n = 2

statement error 42P01
MERGE INTO missing USING s ON true WHEN MATCHED THEN DELETE

statement error 42804
MERGE INTO t USING s ON t.id = s.id WHEN MATCHED AND t.n THEN DELETE

statement error 42601
MERGE INTO t USING s ON t.id = s.id WHEN NOT MATCHED THEN INSERT (id) VALUES (1, 2)

statement error 42601
MERGE INTO t USING s ON t.id = s.id WHEN NOT MATCHED THEN INSERT (id, n) VALUES (1)

statement error 0A000
MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN DELETE RETURNING t.id

statement error 0A000
WITH x AS (MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN DELETE) SELECT 1

statement ok
CREATE VIEW v AS SELECT * FROM t

statement error 42809
MERGE INTO v USING s ON v.id = s.id WHEN MATCHED THEN DELETE

statement ok
BEGIN READ ONLY

statement error 25006
MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN DELETE

statement ok
ROLLBACK
