# DROP NOT NULL of columns that were made with it, and DROP COLUMN with objects that name the column.

statement ok
CREATE TABLE kind (id int PRIMARY KEY, label text UNIQUE NOT NULL)

statement ok
CREATE TABLE t (id int PRIMARY KEY, a int NOT NULL, b text NOT NULL, c int NOT NULL DEFAULT 7, k int NOT NULL REFERENCES kind, UNIQUE (a, b), CHECK (a > 0))

statement ok
CREATE INDEX t_c ON t (c DESC)

statement ok
INSERT INTO kind VALUES (1, 'x'), (2, 'y')

statement ok
INSERT INTO t VALUES (1, 10, 'one', 5, 1), (2, 20, 'two', 6, 2), (3, 30, 'three', 7, 1)

statement ok
ALTER TABLE t ALTER COLUMN a DROP NOT NULL

statement ok
ALTER TABLE t ALTER b DROP NOT NULL, ALTER c DROP NOT NULL

statement ok
ALTER TABLE t ALTER COLUMN a DROP NOT NULL

query
SELECT * FROM t ORDER BY id
----
1|10|one|5|1
2|20|two|6|2
3|30|three|7|1

statement ok
INSERT INTO t VALUES (4, NULL, NULL, NULL, 2)

statement ok
INSERT INTO t (id, k) VALUES (5, 1)

query
SELECT * FROM t ORDER BY c DESC, id
----
4|NULL|NULL|NULL|2
3|30|three|7|1
5|NULL|NULL|7|1
2|20|two|6|2
1|10|one|5|1

query
SELECT id FROM t WHERE a = 20 AND b = 'two'
----
2

query
SELECT id FROM t WHERE c IS NULL
----
4

query
SELECT id FROM t WHERE c BETWEEN 6 AND 7 ORDER BY id
----
2
3
5

statement error 23505
INSERT INTO t VALUES (6, 10, 'one', 1, 1)
----
duplicate key value violates unique constraint "t_a_b_key"
DETAIL: Key (a, b)=(10, one) already exists.
SCHEMA: public
TABLE: t
CONSTRAINT: t_a_b_key

statement ok
UPDATE t SET a = NULL, c = NULL WHERE id = 1

statement ok
UPDATE t SET a = 40, b = 'four' WHERE id = 4

query
SELECT * FROM t ORDER BY id
----
1|NULL|one|NULL|1
2|20|two|6|2
3|30|three|7|1
4|40|four|NULL|2
5|NULL|NULL|7|1

query
SELECT attname, attnotnull, attnum FROM pg_attribute WHERE attrelid = 't'::regclass AND attnum > 0 ORDER BY attnum
----
id|t|1
a|f|2
b|f|3
c|f|4
k|t|5

statement error 23502
INSERT INTO t VALUES (7, 1, 'x', 1, NULL)
----
null value in column "k" of relation "t" violates not-null constraint
DETAIL: Failing row contains (7, 1, x, 1, null).
SCHEMA: public
TABLE: t
COLUMN: k

statement ok
ALTER TABLE t ALTER k DROP NOT NULL

statement ok
INSERT INTO t VALUES (7, 1, 'x', 1, NULL)

statement error 23503
INSERT INTO t VALUES (8, 1, 'y', 1, 9)
----
insert or update on table "t" violates foreign key constraint "t_k_fkey"
DETAIL: Key (k)=(9) is not present in table "kind".
SCHEMA: public
TABLE: t
CONSTRAINT: t_k_fkey

statement error 42P16
ALTER TABLE t ALTER id DROP NOT NULL
----
column "id" is in a primary key

statement ok
ALTER TABLE t ADD COLUMN late int NOT NULL DEFAULT 3

statement ok
ALTER TABLE t ALTER late DROP NOT NULL

statement ok
INSERT INTO t (id, late) VALUES (9, NULL)

query
SELECT id, a, late, k FROM t ORDER BY id
----
1|NULL|3|1
2|20|3|2
3|30|3|1
4|40|3|2
5|NULL|3|1
7|1|3|NULL
9|NULL|NULL|NULL

statement error 23502
ALTER TABLE t ALTER a SET NOT NULL
----
column "a" of relation "t" contains null values
SCHEMA: public
TABLE: t
COLUMN: a

statement ok
DELETE FROM t WHERE a IS NULL

statement ok
ALTER TABLE t ALTER a SET NOT NULL

statement error 23502
INSERT INTO t (id) VALUES (10)
----
null value in column "a" of relation "t" violates not-null constraint
DETAIL: Failing row contains (10, null, null, 7, null, 3).
SCHEMA: public
TABLE: t
COLUMN: a

# A rollback takes it back.

statement ok
CREATE TABLE r (id int PRIMARY KEY, a int NOT NULL)

statement ok
INSERT INTO r VALUES (1, 1)

statement ok
BEGIN

statement ok
ALTER TABLE r ALTER a DROP NOT NULL

statement ok
INSERT INTO r VALUES (2, NULL)

statement ok
ROLLBACK

statement error 23502
INSERT INTO r VALUES (2, NULL)
----
null value in column "a" of relation "r" violates not-null constraint
DETAIL: Failing row contains (2, null).
SCHEMA: public
TABLE: r
COLUMN: a

# With a column go its indexes, keys, conditions and references, not those of others.

statement ok
ALTER TABLE t DROP COLUMN c

statement ok
ALTER TABLE t DROP COLUMN a

statement ok
ALTER TABLE t DROP COLUMN k

query
SELECT conname FROM pg_constraint WHERE conrelid = 't'::regclass ORDER BY 1
----
t_pkey

query
SELECT indexname FROM pg_indexes WHERE tablename = 't' ORDER BY 1
----
t_pkey

statement ok
CREATE TABLE refers (id int PRIMARY KEY, label text REFERENCES kind (label))

statement error 2BP01
ALTER TABLE kind DROP COLUMN label
----
cannot drop column label of table kind because other objects depend on it
DETAIL: constraint refers_label_fkey on table refers depends on column label of table kind
HINT: Use DROP ... CASCADE to drop the dependent objects too.

statement ok
ALTER TABLE kind DROP COLUMN label CASCADE

query
SELECT conname FROM pg_constraint WHERE conrelid IN ('refers'::regclass, 'kind'::regclass) ORDER BY 1
----
kind_pkey
refers_pkey

statement ok
CREATE TABLE s (id serial, x int)

statement ok
ALTER TABLE s DROP COLUMN id

query
SELECT count(*) FROM pg_class WHERE relname = 's_id_seq'
----
0

statement ok
CREATE TABLE tree (id int PRIMARY KEY, parent int REFERENCES tree)

statement ok
ALTER TABLE tree DROP COLUMN parent, ADD COLUMN note text

query
SELECT * FROM tree
----
