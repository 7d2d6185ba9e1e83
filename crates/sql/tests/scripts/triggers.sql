# ENABLE and DISABLE TRIGGER: references do not check the changes of a table's rows. The answers are those of PostgreSQL 15.

statement ok
CREATE TABLE parents (id int PRIMARY KEY)

statement ok
CREATE TABLE children (id int PRIMARY KEY, parent int REFERENCES parents ON DELETE CASCADE ON UPDATE CASCADE, up int REFERENCES children)

statement INSERT 0 3
INSERT INTO parents VALUES (1), (2), (3)

statement INSERT 0 1
INSERT INTO children VALUES (1, 1)

# Of the table that refers: its new rows are not checked, deletions of others are.
statement ok
ALTER TABLE children DISABLE TRIGGER ALL

statement INSERT 0 2
INSERT INTO children VALUES (2, 99), (3, 2)

statement UPDATE 1
UPDATE children SET up = 77 WHERE id = 1

statement DELETE 1
DELETE FROM parents WHERE id = 2

query
SELECT * FROM children ORDER BY id
----
1|1|77
2|99|NULL

statement UPDATE 1
UPDATE parents SET id = 10 WHERE id = 1

query
SELECT id, parent FROM children ORDER BY id
----
1|10
2|99

statement ok
ALTER TABLE children ENABLE TRIGGER ALL

statement error 23503
INSERT INTO children VALUES (4, 98)
----
insert or update on table "children" violates foreign key constraint "children_parent_fkey"
DETAIL: Key (parent)=(98) is not present in table "parents".
SCHEMA: public
TABLE: children
CONSTRAINT: children_parent_fkey

# Of the table to which others refer: neither checks nor actions follow its changes.
statement ok
ALTER TABLE parents DISABLE TRIGGER ALL

statement UPDATE 1
UPDATE parents SET id = 11 WHERE id = 10

statement DELETE 1
DELETE FROM parents WHERE id = 11

query
SELECT id, parent FROM children ORDER BY id
----
1|10
2|99

statement error 23503
INSERT INTO children VALUES (4, 98)

statement ok
ALTER TABLE parents ENABLE TRIGGER ALL

# Rows that are there are not checked again.
statement UPDATE 1
UPDATE children SET up = null WHERE id = 2

statement error 23503
UPDATE children SET parent = 98 WHERE id = 2

# In a transaction, with other definitions, and after the database was opened again.
statement ok
BEGIN

statement ok
ALTER TABLE children DISABLE TRIGGER ALL; ALTER TABLE parents DISABLE TRIGGER ALL

statement DELETE 2
DELETE FROM children

statement INSERT 0 1
INSERT INTO children VALUES (1, 55)

statement ok
ALTER TABLE children ADD COLUMN note text

statement ok
COMMIT

reopen

statement INSERT 0 1
INSERT INTO children VALUES (2, 56)

statement ok
BEGIN

statement ok
ALTER TABLE children ENABLE TRIGGER ALL

statement error 23503
INSERT INTO children VALUES (3, 57)

statement ok
ROLLBACK

statement INSERT 0 1
INSERT INTO children VALUES (3, 57)

statement ok
ALTER TABLE children ENABLE TRIGGER ALL, ENABLE TRIGGER USER; ALTER TABLE parents ENABLE TRIGGER ALL

statement error 23503
INSERT INTO children VALUES (4, 58)

# A reference that is added later is checked.
statement ok
ALTER TABLE children DISABLE TRIGGER USER, DISABLE TRIGGER ALL

statement ok
ALTER TABLE children ADD CONSTRAINT other FOREIGN KEY (up) REFERENCES parents

statement error 23503
INSERT INTO children (id, parent, up) VALUES (5, 59, 60)
----
insert or update on table "children" violates foreign key constraint "other"
DETAIL: Key (up)=(60) is not present in table "parents".
SCHEMA: public
TABLE: children
CONSTRAINT: other

statement error 42704
ALTER TABLE children DISABLE TRIGGER none
----
trigger "none" for table "children" does not exist

statement error 42P01
ALTER TABLE nothing DISABLE TRIGGER ALL

# A program has constraints validated again, in a loop over them: Rails does so behind its fixtures.
statement ok
ALTER TABLE children ENABLE TRIGGER ALL

query
SELECT conname, convalidated FROM pg_constraint WHERE contype = 'f' ORDER BY 1
----
children_parent_fkey|t
children_up_fkey|t
other|t

statement UPDATE 1
UPDATE pg_constraint SET convalidated = false WHERE conname = 'other' AND connamespace::regnamespace = 'public'::regnamespace

query
SELECT conname FROM pg_constraint WHERE contype = 'f' AND NOT convalidated
----
other

statement error 23503
DO $$
  declare r record;
BEGIN
FOR r IN (
  SELECT FORMAT(
    'UPDATE pg_constraint SET convalidated=false WHERE conname = ''%I'' AND connamespace::regnamespace = ''%I''::regnamespace; ALTER TABLE %I.%I VALIDATE CONSTRAINT %I;',
    constraint_name, table_schema, table_schema, table_name, constraint_name
  ) AS constraint_check
  FROM information_schema.table_constraints WHERE constraint_type = 'FOREIGN KEY'
)
  LOOP
    EXECUTE (r.constraint_check);
  END LOOP;
END;
$$
----
insert or update on table "children" violates foreign key constraint "children_parent_fkey"
DETAIL: Key (parent)=(55) is not present in table "parents".
SCHEMA: public
TABLE: children
CONSTRAINT: children_parent_fkey

statement DELETE 3
DELETE FROM children

statement ok
DO $$
  declare r record;
BEGIN
FOR r IN (
  SELECT FORMAT(
    'UPDATE pg_catalog.pg_constraint SET convalidated=false WHERE conname = ''%1$I'' AND connamespace::regnamespace = ''%2$I''::regnamespace; ALTER TABLE %2$I.%3$I VALIDATE CONSTRAINT %1$I;',
    constraint_name, table_schema, table_name
  ) AS constraint_check
  FROM information_schema.table_constraints WHERE constraint_type = 'FOREIGN KEY'
)
  LOOP
    EXECUTE (r.constraint_check);
  END LOOP;
END;
$$

query
SELECT conname, convalidated FROM pg_constraint WHERE contype = 'f' ORDER BY 1
----
children_parent_fkey|t
children_up_fkey|t
other|t

statement UPDATE 0
UPDATE pg_constraint SET convalidated = false WHERE false

# Rows that came unchecked stay when a column takes nulls, and are checked when it gets another type.
statement ok
CREATE TABLE kept_parents (id int PRIMARY KEY)

statement ok
CREATE TABLE kept_children (id int PRIMARY KEY, parent int NOT NULL REFERENCES kept_parents)

statement ok
ALTER TABLE kept_children DISABLE TRIGGER ALL

statement INSERT 0 1
INSERT INTO kept_children VALUES (1, 9)

statement ok
ALTER TABLE kept_children ENABLE TRIGGER ALL

statement ok
ALTER TABLE kept_children ALTER parent DROP NOT NULL

query
SELECT * FROM kept_children
----
1|9

statement error 23503
UPDATE kept_children SET parent = 8 WHERE id = 1

statement ok
ALTER TABLE kept_children DISABLE TRIGGER ALL

statement error 23503
ALTER TABLE kept_children ALTER parent TYPE bigint

statement DELETE 1
DELETE FROM kept_children

statement ok
ALTER TABLE kept_children ALTER parent TYPE bigint

statement error 23503
INSERT INTO kept_children VALUES (2, 9)

# In the transaction that makes the tables, with more statements than run in the stage at once.
statement ok
BEGIN

statement ok
CREATE TABLE new_parents (id int PRIMARY KEY)

statement ok
CREATE TABLE new_children (id int PRIMARY KEY, parent int REFERENCES new_parents)

statement ok
ALTER TABLE new_children DISABLE TRIGGER ALL

statement ok
INSERT INTO new_children VALUES (1, 9)

statement ok
INSERT INTO new_children VALUES (2, 9)

statement ok
INSERT INTO new_children VALUES (3, 9)

statement ok
INSERT INTO new_children VALUES (4, 9)

statement ok
INSERT INTO new_children VALUES (5, 9)

statement ok
INSERT INTO new_children VALUES (6, 9)

statement ok
INSERT INTO new_children VALUES (7, 9)

statement ok
INSERT INTO new_children VALUES (8, 9)

statement ok
INSERT INTO new_children VALUES (9, 9)

statement ok
INSERT INTO new_children VALUES (10, 9)

statement ok
ALTER TABLE new_children ENABLE TRIGGER ALL

statement ok
COMMIT

query
SELECT count(*) FROM new_children
----
10
