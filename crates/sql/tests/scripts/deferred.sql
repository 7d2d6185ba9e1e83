# Foreign keys that are checked when the transaction ends, as Django declares all of them.

statement ok
CREATE TABLE parent (id int PRIMARY KEY)

statement ok
CREATE TABLE child (id int PRIMARY KEY, parent int NOT NULL REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED, second int CONSTRAINT second_fk REFERENCES parent DEFERRABLE, third int REFERENCES parent NOT DEFERRABLE INITIALLY IMMEDIATE)

query
SELECT conname, condeferrable, condeferred, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'child'::regclass AND contype = 'f' ORDER BY conname
----
child_parent_fkey|t|t|FOREIGN KEY (parent) REFERENCES parent(id) DEFERRABLE INITIALLY DEFERRED
child_third_fkey|f|f|FOREIGN KEY (third) REFERENCES parent(id)
second_fk|t|f|FOREIGN KEY (second) REFERENCES parent(id) DEFERRABLE

# A statement by itself is a transaction.

statement error 23503
INSERT INTO child VALUES (1, 1)
----
insert or update on table "child" violates foreign key constraint "child_parent_fkey"
DETAIL: Key (parent)=(1) is not present in table "parent".
SCHEMA: public
TABLE: child
CONSTRAINT: child_parent_fkey

query
SELECT count(*) FROM child
----
0

# So are several that come together.

statement ok
INSERT INTO child VALUES (1, 1); INSERT INTO parent VALUES (1)

statement ok
BEGIN

statement ok
INSERT INTO child VALUES (2, 2)

statement ok
INSERT INTO parent VALUES (2)

statement COMMIT
COMMIT

statement ok
BEGIN

statement ok
INSERT INTO child VALUES (3, 3)

statement error 23503
COMMIT
----
insert or update on table "child" violates foreign key constraint "child_parent_fkey"
DETAIL: Key (parent)=(3) is not present in table "parent".
SCHEMA: public
TABLE: child
CONSTRAINT: child_parent_fkey

# The transaction is over, and has done nothing.

query
SELECT id FROM child ORDER BY id
----
1
2

# The other way round.

statement ok
BEGIN

statement ok
DELETE FROM parent WHERE id = 1

statement error 23503
COMMIT
----
update or delete on table "parent" violates foreign key constraint "child_parent_fkey" on table "child"
DETAIL: Key (id)=(1) is still referenced from table "child".
SCHEMA: public
TABLE: child
CONSTRAINT: child_parent_fkey

statement ok
BEGIN

statement ok
DELETE FROM parent WHERE id = 1

statement ok
INSERT INTO parent VALUES (1)

statement COMMIT
COMMIT

# Constraints that are not deferred are checked at the end of the statement, also in such a transaction.

statement ok
BEGIN

statement error 23503
INSERT INTO child VALUES (3, 3, 3)

statement ok
ROLLBACK

statement ok
BEGIN

statement SET CONSTRAINTS
SET CONSTRAINTS ALL DEFERRED

statement ok
INSERT INTO child VALUES (3, 3, 3)

statement error 23503
INSERT INTO child VALUES (4, 1, 1, 9)

statement ok
ROLLBACK

# SET CONSTRAINTS … IMMEDIATE runs the deferred checks, as if the statement were at its end.

statement ok
BEGIN

statement ok
INSERT INTO child VALUES (3, 3)

statement ok
SET CONSTRAINTS second_fk IMMEDIATE

statement error 23503
SET CONSTRAINTS child_parent_fkey, second_fk IMMEDIATE
----
insert or update on table "child" violates foreign key constraint "child_parent_fkey"
DETAIL: Key (parent)=(3) is not present in table "parent".
SCHEMA: public
TABLE: child
CONSTRAINT: child_parent_fkey

statement error 25P02
SELECT 1

statement ROLLBACK
COMMIT

statement ok
BEGIN

statement ok
SET CONSTRAINTS ALL IMMEDIATE

statement error 23503
INSERT INTO child VALUES (3, 3)

statement ok
ROLLBACK

statement ok
BEGIN; SET CONSTRAINTS public.child_parent_fkey IMMEDIATE

statement error 23503
INSERT INTO child VALUES (3, 3)

statement ok
ROLLBACK

# A transaction's SET CONSTRAINTS ends with it.

statement ok
BEGIN; SET CONSTRAINTS ALL IMMEDIATE; COMMIT

statement ok
BEGIN; INSERT INTO child VALUES (3, 3); INSERT INTO parent VALUES (3); COMMIT

# A savepoint takes back rows, and SET CONSTRAINTS.

statement ok
BEGIN

statement ok
INSERT INTO child VALUES (4, 4)

statement ok
SAVEPOINT one

statement ok
INSERT INTO parent VALUES (4)

statement ok
SET CONSTRAINTS ALL IMMEDIATE

statement ok
ROLLBACK TO one

statement ok
INSERT INTO child VALUES (5, 5)

statement error 23503
COMMIT

statement ok
BEGIN

statement ok
SAVEPOINT one

statement ok
INSERT INTO child VALUES (4, 4)

statement ok
ROLLBACK TO one

statement COMMIT
COMMIT

statement error 42704
SET CONSTRAINTS none DEFERRED
----
constraint "none" does not exist

statement error 42809
SET CONSTRAINTS child_third_fkey DEFERRED
----
constraint "child_third_fkey" is not deferrable

statement error 42601
SET CONSTRAINTS ALL

statement error 42601
CREATE TABLE wrong (a int REFERENCES parent NOT DEFERRABLE INITIALLY DEFERRED)

statement ok
CREATE TABLE plain (a int PRIMARY KEY NOT DEFERRABLE, b int UNIQUE NOT DEFERRABLE INITIALLY IMMEDIATE)

# A transaction that only reads may say it.

statement ok
BEGIN READ ONLY; SET CONSTRAINTS ALL IMMEDIATE; COMMIT

# References that are added later, and after the database was opened again.

statement ok
ALTER TABLE plain ADD CONSTRAINT late FOREIGN KEY (b) REFERENCES parent DEFERRABLE INITIALLY DEFERRED

reopen

statement ok
BEGIN; INSERT INTO plain VALUES (1, 8); INSERT INTO parent VALUES (8); COMMIT

statement error 23503
BEGIN; INSERT INTO plain VALUES (2, 9); COMMIT

statement ok
ALTER TABLE parent RENAME TO elder

statement ok
ALTER TABLE plain RENAME TO plainer

query
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'late'
----
FOREIGN KEY (b) REFERENCES elder(id) DEFERRABLE INITIALLY DEFERRED

statement ok
BEGIN; INSERT INTO plainer VALUES (2, 9); DROP TABLE plainer; COMMIT

# A cycle of two tables.

statement ok
CREATE TABLE one (id int PRIMARY KEY, two int)

statement ok
CREATE TABLE two (id int PRIMARY KEY, one int REFERENCES one DEFERRABLE INITIALLY DEFERRED)

statement ok
ALTER TABLE one ADD FOREIGN KEY (two) REFERENCES two DEFERRABLE INITIALLY DEFERRED

statement ok
BEGIN; INSERT INTO one VALUES (1, 1); INSERT INTO two VALUES (1, 1); COMMIT

statement ok
BEGIN; DELETE FROM one; DELETE FROM two; COMMIT

# ON DELETE CASCADE acts at once, deferred or not.

statement ok
CREATE TABLE follower (id int PRIMARY KEY, of int REFERENCES elder ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED)

statement ok
INSERT INTO elder VALUES (20)

statement ok
INSERT INTO follower VALUES (1, 20)

statement ok
BEGIN; DELETE FROM elder WHERE id = 20

query
SELECT count(*) FROM follower
----
0

statement COMMIT
COMMIT

# ON DELETE RESTRICT is not deferred.

statement ok
CREATE TABLE stays (id int PRIMARY KEY, of int REFERENCES elder ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED)

statement ok
INSERT INTO elder VALUES (21)

statement ok
INSERT INTO stays VALUES (1, 21)

statement ok
BEGIN

statement error 23503
DELETE FROM elder WHERE id = 21

statement ok
ROLLBACK

# ActiveRecord says it twice, of a foreign key of the table.

statement ok
CREATE TABLE said_twice (id int PRIMARY KEY, up int, CONSTRAINT once FOREIGN KEY (up) REFERENCES said_twice (id) NOT DEFERRABLE NOT DEFERRABLE)

statement ok
ALTER TABLE said_twice ADD CONSTRAINT twice
FOREIGN KEY (up) REFERENCES said_twice (id) ON DELETE CASCADE
 DEFERRABLE INITIALLY DEFERRED DEFERRABLE INITIALLY DEFERRED

query
SELECT conname, condeferrable, condeferred FROM pg_constraint WHERE conrelid = 'said_twice'::regclass AND contype = 'f' ORDER BY 1
----
once|f|f
twice|t|t

statement error 42601
ALTER TABLE said_twice ADD FOREIGN KEY (up) REFERENCES said_twice DEFERRABLE NOT DEFERRABLE

statement error 42601
CREATE TABLE of_column (id int REFERENCES said_twice DEFERRABLE DEFERRABLE)

statement ok
DROP TABLE said_twice
