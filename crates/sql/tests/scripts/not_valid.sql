# Constraints that rows of earlier times need not meet: NOT VALID and VALIDATE CONSTRAINT. The answers are those of PostgreSQL 15.

statement ok
CREATE TABLE parents (id int PRIMARY KEY)

statement ok
CREATE TABLE children (id int PRIMARY KEY, parent int, n int)

statement INSERT 0 2
INSERT INTO parents VALUES (1), (2)

statement INSERT 0 3
INSERT INTO children VALUES (1, 1, 10), (2, 99, -5), (3, null, 7)

statement ok
ALTER TABLE children ADD CONSTRAINT of_parent FOREIGN KEY (parent) REFERENCES parents NOT VALID

statement ok
ALTER TABLE children ADD CONSTRAINT positive CHECK (n > 0) NOT VALID

query
SELECT conname, contype, convalidated, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'children'::regclass ORDER BY 1
----
children_pkey|p|t|PRIMARY KEY (id)
of_parent|f|f|FOREIGN KEY (parent) REFERENCES parents(id) NOT VALID
positive|c|f|CHECK ((n > 0)) NOT VALID

# A second one of the same columns is not held by one that is not valid.
statement error 23503
ALTER TABLE children ADD CONSTRAINT again FOREIGN KEY (parent) REFERENCES parents
----
insert or update on table "children" violates foreign key constraint "again"
DETAIL: Key (parent)=(99) is not present in table "parents".
SCHEMA: public
TABLE: children
CONSTRAINT: again

statement error 23503
INSERT INTO children VALUES (4, 98, 1)
----
insert or update on table "children" violates foreign key constraint "of_parent"
DETAIL: Key (parent)=(98) is not present in table "parents".
SCHEMA: public
TABLE: children
CONSTRAINT: of_parent

statement error 23514
INSERT INTO children VALUES (4, 1, -1)
----
new row for relation "children" violates check constraint "positive"
DETAIL: Failing row contains (4, 1, -1).
SCHEMA: public
TABLE: children
CONSTRAINT: positive

statement INSERT 0 1
INSERT INTO children VALUES (4, 2, 1)

statement error 23514
UPDATE children SET n = n - 1 WHERE id = 2
----
new row for relation "children" violates check constraint "positive"
DETAIL: Failing row contains (2, 99, -6).
SCHEMA: public
TABLE: children
CONSTRAINT: positive

statement UPDATE 1
UPDATE children SET n = 3 WHERE id = 2

statement error 23503
UPDATE children SET parent = 97 WHERE id = 1
----
insert or update on table "children" violates foreign key constraint "of_parent"
DETAIL: Key (parent)=(97) is not present in table "parents".
SCHEMA: public
TABLE: children
CONSTRAINT: of_parent

statement error 23503
UPDATE children SET parent = 97 WHERE id = 2
----
insert or update on table "children" violates foreign key constraint "of_parent"
DETAIL: Key (parent)=(97) is not present in table "parents".
SCHEMA: public
TABLE: children
CONSTRAINT: of_parent

statement UPDATE 1
UPDATE children SET parent = 99 WHERE id = 2

statement error 23514
UPDATE children SET n = -5 WHERE id = 3
----
new row for relation "children" violates check constraint "positive"
DETAIL: Failing row contains (3, null, -5).
SCHEMA: public
TABLE: children
CONSTRAINT: positive

statement error 23503
DELETE FROM parents WHERE id = 2
----
update or delete on table "parents" violates foreign key constraint "of_parent" on table "children"
DETAIL: Key (id)=(2) is still referenced from table "children".
SCHEMA: public
TABLE: children
CONSTRAINT: of_parent

statement DELETE 0
DELETE FROM parents WHERE id = 99

statement INSERT 0 1
INSERT INTO parents VALUES (99)

statement error 23503
DELETE FROM parents WHERE id = 99
----
update or delete on table "parents" violates foreign key constraint "of_parent" on table "children"
DETAIL: Key (id)=(99) is still referenced from table "children".
SCHEMA: public
TABLE: children
CONSTRAINT: of_parent

statement ok
ALTER TABLE children ADD CONSTRAINT small CHECK (n < 100)

statement ok
ALTER TABLE children ADD CONSTRAINT one_small CHECK (id < 100), ADD CONSTRAINT odd CHECK (n % 2 = 1) NOT VALID

statement ok
ALTER TABLE children VALIDATE CONSTRAINT of_parent

statement error 23514
ALTER TABLE children VALIDATE CONSTRAINT odd
----
check constraint "odd" of relation "children" is violated by some row
SCHEMA: public
TABLE: children
CONSTRAINT: odd

query
SELECT conname, convalidated FROM pg_constraint WHERE conrelid = 'children'::regclass ORDER BY 1
----
children_pkey|t
odd|f
of_parent|t
one_small|t
positive|f
small|t

statement UPDATE 3
UPDATE children SET parent = 1, n = 5 WHERE id IN (1, 2, 4)

statement ok
ALTER TABLE children VALIDATE CONSTRAINT of_parent

statement ok
ALTER TABLE children VALIDATE CONSTRAINT of_parent

statement ok
ALTER TABLE children VALIDATE CONSTRAINT odd, VALIDATE CONSTRAINT positive

query
SELECT conname, convalidated, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'children'::regclass ORDER BY 1
----
children_pkey|t|PRIMARY KEY (id)
odd|t|CHECK ((n % 2 = 1))
of_parent|t|FOREIGN KEY (parent) REFERENCES parents(id)
one_small|t|CHECK ((id < 100))
positive|t|CHECK ((n > 0))
small|t|CHECK ((n < 100))

statement error 23503
INSERT INTO children VALUES (5, 98, 1)
----
insert or update on table "children" violates foreign key constraint "of_parent"
DETAIL: Key (parent)=(98) is not present in table "parents".
SCHEMA: public
TABLE: children
CONSTRAINT: of_parent

statement error 42809
ALTER TABLE children VALIDATE CONSTRAINT children_pkey
----
constraint "children_pkey" of relation "children" is not a foreign key or check constraint

statement error 42704
ALTER TABLE children VALIDATE CONSTRAINT none
----
constraint "none" of relation "children" does not exist

statement error 0A000
ALTER TABLE children ADD CONSTRAINT one UNIQUE (n) NOT VALID
----
UNIQUE constraints cannot be marked NOT VALID

statement error 0A000
ALTER TABLE children ADD PRIMARY KEY (n) NOT VALID
----
PRIMARY KEY constraints cannot be marked NOT VALID

statement ok
ALTER TABLE children DROP CONSTRAINT of_parent, DROP CONSTRAINT odd

statement INSERT 0 2
INSERT INTO children VALUES (6, 60, 61), (7, 70, 71)

statement ok
ALTER TABLE children ADD FOREIGN KEY (parent) REFERENCES parents ON DELETE CASCADE ON UPDATE CASCADE NOT VALID

statement ok
ALTER TABLE children RENAME CONSTRAINT children_parent_fkey TO renamed

statement ok
ALTER TABLE children ADD CONSTRAINT few CHECK (n < 50) NOT VALID

statement INSERT 0 1
INSERT INTO parents VALUES (60)

reopen

query
SELECT conname, convalidated, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'children'::regclass ORDER BY 1
----
children_pkey|t|PRIMARY KEY (id)
few|f|CHECK ((n < 50)) NOT VALID
one_small|t|CHECK ((id < 100))
positive|t|CHECK ((n > 0))
renamed|f|FOREIGN KEY (parent) REFERENCES parents(id) ON UPDATE CASCADE ON DELETE CASCADE NOT VALID
small|t|CHECK ((n < 100))

statement error 23503
INSERT INTO children VALUES (8, 80, 1)
----
insert or update on table "children" violates foreign key constraint "renamed"
DETAIL: Key (parent)=(80) is not present in table "parents".
SCHEMA: public
TABLE: children
CONSTRAINT: renamed

statement error 23514
INSERT INTO children VALUES (8, 60, 51)
----
new row for relation "children" violates check constraint "few"
DETAIL: Failing row contains (8, 60, 51).
SCHEMA: public
TABLE: children
CONSTRAINT: few

statement error 23514
UPDATE children SET id = 77 WHERE id = 7
----
new row for relation "children" violates check constraint "few"
DETAIL: Failing row contains (77, 70, 71).
SCHEMA: public
TABLE: children
CONSTRAINT: few

statement UPDATE 1
UPDATE children SET n = 1 WHERE id = 7

statement error 23514
UPDATE parents SET id = 600 WHERE id = 60
----
new row for relation "children" violates check constraint "few"
DETAIL: Failing row contains (6, 600, 61).
SCHEMA: public
TABLE: children
CONSTRAINT: few

statement UPDATE 1
UPDATE children SET n = 1 WHERE id = 6

statement UPDATE 1
UPDATE parents SET id = 600 WHERE id = 60

query
SELECT * FROM children ORDER BY id
----
1|1|5
2|1|5
3|NULL|7
4|1|5
6|600|1
7|70|1

statement DELETE 1
DELETE FROM parents WHERE id = 600

query
SELECT * FROM children ORDER BY id
----
1|1|5
2|1|5
3|NULL|7
4|1|5
7|70|1

statement ok
ALTER TABLE children VALIDATE CONSTRAINT few

statement error 23503
ALTER TABLE children VALIDATE CONSTRAINT renamed
----
insert or update on table "children" violates foreign key constraint "renamed"
DETAIL: Key (parent)=(70) is not present in table "parents".
SCHEMA: public
TABLE: children
CONSTRAINT: renamed

statement ok
ALTER TABLE children ALTER COLUMN parent TYPE bigint

query
SELECT conname, convalidated, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'children'::regclass ORDER BY 1
----
children_pkey|t|PRIMARY KEY (id)
few|t|CHECK ((n < 50))
one_small|t|CHECK ((id < 100))
positive|t|CHECK ((n > 0))
renamed|f|FOREIGN KEY (parent) REFERENCES parents(id) ON UPDATE CASCADE ON DELETE CASCADE NOT VALID
small|t|CHECK ((n < 100))

statement ok
ALTER TABLE children ALTER COLUMN id TYPE bigint

statement error 23503
INSERT INTO children VALUES (9, 90, 1)
----
insert or update on table "children" violates foreign key constraint "renamed"
DETAIL: Key (parent)=(90) is not present in table "parents".
SCHEMA: public
TABLE: children
CONSTRAINT: renamed

statement ok
ALTER TABLE children DROP CONSTRAINT renamed

statement ok
ALTER TABLE children ADD CONSTRAINT renamed FOREIGN KEY (parent) REFERENCES parents NOT VALID

query
SELECT convalidated FROM pg_constraint WHERE conname = 'renamed'
----
f

statement ok
ALTER TABLE children DROP CONSTRAINT renamed

statement ok
ALTER TABLE children ADD CONSTRAINT renamed CHECK (id > 0)

query
SELECT convalidated FROM pg_constraint WHERE conname = 'renamed'
----
t

statement ok
BEGIN

statement ok
CREATE TABLE fresh (a int, b int)

statement INSERT 0 2
INSERT INTO fresh VALUES (-1, 50), (1, 1)

statement ok
ALTER TABLE fresh ADD CONSTRAINT plus CHECK (a > 0) NOT VALID

statement ok
ALTER TABLE fresh ADD CONSTRAINT of_parent FOREIGN KEY (b) REFERENCES parents NOT VALID

statement INSERT 0 1
INSERT INTO fresh VALUES (2, 2)

statement ok
SAVEPOINT s

statement error 23514
INSERT INTO fresh VALUES (-2, 1)
----
new row for relation "fresh" violates check constraint "plus"
DETAIL: Failing row contains (-2, 1).
SCHEMA: public
TABLE: fresh
CONSTRAINT: plus

statement ok
ROLLBACK TO s

statement ok
COMMIT

query
SELECT * FROM fresh ORDER BY a
----
-1|50
1|1
2|2

statement error 23514
INSERT INTO fresh VALUES (-2, 1)
----
new row for relation "fresh" violates check constraint "plus"
DETAIL: Failing row contains (-2, 1).
SCHEMA: public
TABLE: fresh
CONSTRAINT: plus

statement error 23514
ALTER TABLE fresh VALIDATE CONSTRAINT plus
----
check constraint "plus" of relation "fresh" is violated by some row
SCHEMA: public
TABLE: fresh
CONSTRAINT: plus

statement ok
BEGIN

statement ok
ALTER TABLE fresh ADD CONSTRAINT mixed CHECK (a <> b) NOT VALID

statement INSERT 0 1
INSERT INTO fresh VALUES (2, 1)

statement ok
COMMIT

query
SELECT conname, convalidated FROM pg_constraint WHERE conrelid = 'fresh'::regclass ORDER BY 1
----
mixed|f
of_parent|f
plus|f

statement ok
CREATE TABLE copied (LIKE fresh INCLUDING ALL)

query
SELECT conname, convalidated, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'copied'::regclass ORDER BY 1
----
mixed|t|CHECK ((a <> b))
plus|t|CHECK ((a > 0))

statement ok
CREATE TABLE pairs (x int, y int, PRIMARY KEY (x, y))

statement ok
CREATE TABLE of_pairs (x int, y int)

statement INSERT 0 2
INSERT INTO of_pairs VALUES (1, null), (null, null)

statement ok
ALTER TABLE of_pairs ADD CONSTRAINT whole FOREIGN KEY (x, y) REFERENCES pairs MATCH FULL NOT VALID

statement error 23503
INSERT INTO of_pairs VALUES (2, null)
----
insert or update on table "of_pairs" violates foreign key constraint "whole"
DETAIL: MATCH FULL does not allow mixing of null and nonnull key values.
SCHEMA: public
TABLE: of_pairs
CONSTRAINT: whole

statement error 23503
ALTER TABLE of_pairs VALIDATE CONSTRAINT whole
----
insert or update on table "of_pairs" violates foreign key constraint "whole"
DETAIL: MATCH FULL does not allow mixing of null and nonnull key values.
SCHEMA: public
TABLE: of_pairs
CONSTRAINT: whole

statement DELETE 1
DELETE FROM of_pairs WHERE x = 1

statement ok
ALTER TABLE of_pairs VALIDATE CONSTRAINT whole

query
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'whole'
----
FOREIGN KEY (x, y) REFERENCES pairs(x, y) MATCH FULL

statement ok
CREATE TABLE owners (id int PRIMARY KEY)

statement ok
CREATE TABLE things (owner int REFERENCES owners)

statement ok
ALTER TABLE things ADD CONSTRAINT deferred FOREIGN KEY (owner) REFERENCES owners DEFERRABLE INITIALLY DEFERRED NOT VALID

query
SELECT conname, condeferred, convalidated, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'things'::regclass ORDER BY 1
----
deferred|t|f|FOREIGN KEY (owner) REFERENCES owners(id) DEFERRABLE INITIALLY DEFERRED NOT VALID
things_owner_fkey|f|t|FOREIGN KEY (owner) REFERENCES owners(id)

# A reference of the same columns as one that is not valid is checked.
statement ok
CREATE TABLE towns (id int PRIMARY KEY)

statement ok
CREATE TABLE streets (id int PRIMARY KEY, town int, n int)

statement INSERT 0 2
INSERT INTO streets VALUES (1, 1, -5), (2, null, 3)

statement ok
ALTER TABLE streets ADD CONSTRAINT unchecked FOREIGN KEY (town) REFERENCES towns NOT VALID

statement error 23503
ALTER TABLE streets ADD CONSTRAINT checked FOREIGN KEY (town) REFERENCES towns ON DELETE CASCADE

statement ok
ALTER TABLE streets RENAME CONSTRAINT unchecked TO of_town

query
SELECT conname, convalidated FROM pg_constraint WHERE conrelid = 'streets'::regclass ORDER BY 1
----
of_town|f
streets_pkey|t

# A row that is stored elsewhere as it gets a value of a later column keeps its reference.
statement ok
ALTER TABLE streets ADD COLUMN name text

statement UPDATE 1
UPDATE streets SET name = 'a' WHERE id = 1

statement ok
ALTER TABLE streets ADD COLUMN code int

statement error 23503
UPDATE streets SET code = 1, town = 2 WHERE id = 1

statement UPDATE 1
UPDATE streets SET code = 1 WHERE id = 1

# A condition that cannot be computed of a row has its own error.
statement ok
CREATE TABLE divided (x int PRIMARY KEY); INSERT INTO divided VALUES (1), (0)

statement ok
ALTER TABLE divided ADD CONSTRAINT d CHECK (10 / x > 1) NOT VALID

statement error 22012
ALTER TABLE divided VALIDATE CONSTRAINT d
