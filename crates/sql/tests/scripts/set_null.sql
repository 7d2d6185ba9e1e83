
# ON DELETE SET NULL and SET DEFAULT: changes of rows whose referenced row is deleted.

statement ok
CREATE TABLE parent (id int PRIMARY KEY, code text UNIQUE)

statement ok
CREATE TABLE child (id int PRIMARY KEY, p int REFERENCES parent ON DELETE SET NULL, d int DEFAULT 9 REFERENCES parent ON DELETE SET DEFAULT, c text REFERENCES parent (code) ON DELETE CASCADE)

query
SELECT conname, confdeltype, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'child'::regclass AND contype = 'f' ORDER BY conname
----
child_c_fkey|c|FOREIGN KEY (c) REFERENCES parent(code) ON DELETE CASCADE
child_d_fkey|d|FOREIGN KEY (d) REFERENCES parent(id) ON DELETE SET DEFAULT
child_p_fkey|n|FOREIGN KEY (p) REFERENCES parent(id) ON DELETE SET NULL

statement ok
INSERT INTO parent VALUES (1, 'a'), (2, 'b'), (3, 'c'), (9, 'z')

statement ok
INSERT INTO child VALUES (10, 1, 1, null), (11, 1, 2, 'b'), (12, 3, 3, 'c'), (13, null, 9, 'z')

# A row that refers twice is set once.

statement ok
DELETE FROM parent WHERE id = 1

query
SELECT * FROM child ORDER BY id
----
10|NULL|9|NULL
11|NULL|2|b
12|3|3|c
13|NULL|9|z

# One that goes is not set.

statement ok
DELETE FROM parent WHERE id IN (2, 3)

query
SELECT * FROM child ORDER BY id
----
10|NULL|9|NULL
13|NULL|9|z

# The default is to be there.

statement error 23503
DELETE FROM parent WHERE id = 9
----
update or delete on table "parent" violates foreign key constraint "child_d_fkey" on table "child"
DETAIL: Key (id)=(9) is still referenced from table "child".
SCHEMA: public
TABLE: child
CONSTRAINT: child_d_fkey

query
SELECT (SELECT count(*) FROM parent), (SELECT count(*) FROM child)
----
1|2

statement ok
ALTER TABLE child ALTER d SET DEFAULT 8

statement error 23503
DELETE FROM parent WHERE id = 9
----
insert or update on table "child" violates foreign key constraint "child_d_fkey"
DETAIL: Key (d)=(8) is not present in table "parent".
SCHEMA: public
TABLE: child
CONSTRAINT: child_d_fkey

statement ok
ALTER TABLE child ALTER d DROP DEFAULT

statement ok
DELETE FROM parent

query
SELECT * FROM child
----
10|NULL|NULL|NULL

# A column that may not be null, and a condition, are kept.

statement ok
CREATE TABLE strict (id int PRIMARY KEY, p int NOT NULL REFERENCES parent ON DELETE SET NULL)

statement ok
CREATE TABLE tested (id int PRIMARY KEY, p int REFERENCES parent ON DELETE SET NULL, CHECK (p IS NOT NULL OR id > 1))

statement ok
INSERT INTO parent VALUES (1, 'a'), (2, 'b'), (3, 'c')

statement ok
INSERT INTO strict VALUES (1, 1); INSERT INTO tested VALUES (1, 2), (2, 3)

statement error 23502
DELETE FROM parent WHERE id = 1

statement error 23514
DELETE FROM parent WHERE id = 2

statement ok
DELETE FROM parent WHERE id = 3

query
SELECT * FROM tested ORDER BY id
----
1|2
2|NULL

# A tree: the children of a deleted row have no parent.

statement ok
CREATE TABLE tree (id int PRIMARY KEY, up int REFERENCES tree ON DELETE SET NULL)

statement ok
INSERT INTO tree VALUES (1, 1), (2, 1), (3, 2)

statement ok
DELETE FROM tree WHERE id = 1

query
SELECT * FROM tree ORDER BY id
----
2|NULL
3|2

# Rows that a key of several columns refers to.

statement ok
CREATE TABLE pair (a int, b int, PRIMARY KEY (a, b))

statement ok
CREATE TABLE of_pair (id int PRIMARY KEY, a int DEFAULT 7, b int, FOREIGN KEY (a, b) REFERENCES pair ON DELETE SET DEFAULT)

statement ok
INSERT INTO pair VALUES (1, 1), (1, 2); INSERT INTO of_pair VALUES (1, 1, 1), (2, 1, 2)

statement ok
DELETE FROM pair WHERE b = 1

query
SELECT * FROM of_pair ORDER BY id
----
1|7|NULL
2|1|2
