# Errors of violated constraints, in PostgreSQL's words, and the time of their checks: the statement's end.

statement ok
CREATE TABLE customer (id int PRIMARY KEY, email text UNIQUE, amount int CHECK (amount > 0), low int, high int, CHECK (low < high), CHECK (low > -5), code varchar(3) NOT NULL DEFAULT 'x')

statement ok
CREATE TABLE invoice (a int, b int, customer int REFERENCES customer, UNIQUE (a, b), CONSTRAINT one FOREIGN KEY (customer) REFERENCES customer (id))

query
SELECT conname, contype FROM pg_constraint WHERE conrelid = 'customer'::regclass ORDER BY conname
----
customer_amount_check|c
customer_check|c
customer_email_key|u
customer_low_check|c
customer_pkey|p

query
SELECT conname, contype FROM pg_constraint WHERE conrelid = 'invoice'::regclass ORDER BY conname
----
invoice_a_b_key|u
invoice_customer_fkey|f
one|f

statement ok
ALTER TABLE invoice DROP CONSTRAINT one

statement ok
INSERT INTO customer VALUES (1, 'a@b', 5, 1, 2, 'abc')

statement error 23505
INSERT INTO customer VALUES (1, 'c@d', 5, 1, 2)
----
duplicate key value violates unique constraint "customer_pkey"
DETAIL: Key (id)=(1) already exists.
SCHEMA: public
TABLE: customer
CONSTRAINT: customer_pkey

statement error 23505
INSERT INTO customer VALUES (2, 'a@b', 5, 1, 2)
----
duplicate key value violates unique constraint "customer_email_key"
DETAIL: Key (email)=(a@b) already exists.
SCHEMA: public
TABLE: customer
CONSTRAINT: customer_email_key

statement error 23514
INSERT INTO customer VALUES (2, NULL, 0, 1, 2, 'abc')
----
new row for relation "customer" violates check constraint "customer_amount_check"
DETAIL: Failing row contains (2, null, 0, 1, 2, abc).
SCHEMA: public
TABLE: customer
CONSTRAINT: customer_amount_check

statement error 23514
UPDATE customer SET low = 9
----
new row for relation "customer" violates check constraint "customer_check"
DETAIL: Failing row contains (1, a@b, 5, 9, 2, abc).
SCHEMA: public
TABLE: customer
CONSTRAINT: customer_check

statement error 23502
UPDATE customer SET code = NULL
----
null value in column "code" of relation "customer" violates not-null constraint
DETAIL: Failing row contains (1, a@b, 5, 1, 2, null).
SCHEMA: public
TABLE: customer
COLUMN: code

statement error 23502
INSERT INTO customer VALUES (3, repeat('y', 70), 5, 1, 2, NULL)
----
null value in column "code" of relation "customer" violates not-null constraint
DETAIL: Failing row contains (3, yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy..., 5, 1, 2, null).
SCHEMA: public
TABLE: customer
COLUMN: code

statement error 23502
INSERT INTO customer (email) VALUES ('e@f')

statement error 22001
INSERT INTO customer VALUES (2, 'c@d', 5, 1, 2, 'toolong')
----
value too long for type character varying(3)

statement error 23503
INSERT INTO invoice VALUES (1, 1, 9)
----
insert or update on table "invoice" violates foreign key constraint "invoice_customer_fkey"
DETAIL: Key (customer)=(9) is not present in table "customer".
SCHEMA: public
TABLE: invoice
CONSTRAINT: invoice_customer_fkey

statement ok
INSERT INTO invoice VALUES (1, 1, 1)

statement error 23503
DELETE FROM customer
----
update or delete on table "customer" violates foreign key constraint "invoice_customer_fkey" on table "invoice"
DETAIL: Key (id)=(1) is still referenced from table "invoice".
SCHEMA: public
TABLE: invoice
CONSTRAINT: invoice_customer_fkey

statement error 23503
UPDATE customer SET id = 2

statement error 23505
INSERT INTO invoice VALUES (1, 1, NULL)
----
duplicate key value violates unique constraint "invoice_a_b_key"
DETAIL: Key (a, b)=(1, 1) already exists.
SCHEMA: public
TABLE: invoice
CONSTRAINT: invoice_a_b_key

# Constraints that are added are checked for the rows that are there.

statement ok
CREATE TABLE twice (v text, n int)

statement ok
INSERT INTO twice VALUES ('x', 1), ('x', NULL)

statement error 23505
CREATE UNIQUE INDEX ON twice (v)
----
could not create unique index "twice_v_idx"
DETAIL: Key (v)=(x) is duplicated.
SCHEMA: public
TABLE: twice
CONSTRAINT: twice_v_idx

statement error 23505
ALTER TABLE twice ADD UNIQUE (v)
----
could not create unique index "twice_v_key"
DETAIL: Key (v)=(x) is duplicated.
SCHEMA: public
TABLE: twice
CONSTRAINT: twice_v_key

statement error 23514
ALTER TABLE twice ADD CHECK (n > 1)
----
check constraint "twice_n_check" of relation "twice" is violated by some row
SCHEMA: public
TABLE: twice
CONSTRAINT: twice_n_check

statement error 42830
ALTER TABLE twice ADD FOREIGN KEY (n) REFERENCES customer (id), ADD CONSTRAINT two FOREIGN KEY (n) REFERENCES invoice (a)
----
there is no unique constraint matching given keys for referenced table "invoice"

statement ok
CREATE TABLE other (k int PRIMARY KEY)

statement ok
ALTER TABLE twice ADD FOREIGN KEY (n) REFERENCES other NOT VALID

statement error 23503
ALTER TABLE twice VALIDATE CONSTRAINT twice_n_fkey
----
insert or update on table "twice" violates foreign key constraint "twice_n_fkey"
DETAIL: Key (n)=(1) is not present in table "other".
SCHEMA: public
TABLE: twice
CONSTRAINT: twice_n_fkey

statement ok
INSERT INTO other VALUES (1)

statement ok
ALTER TABLE twice VALIDATE CONSTRAINT twice_n_fkey

statement error 42704
ALTER TABLE twice VALIDATE CONSTRAINT none

statement error 42710
ALTER TABLE twice ADD CONSTRAINT twice_n_fkey CHECK (n > 0)

statement ok
ALTER TABLE twice DROP CONSTRAINT twice_n_fkey

# A primary key has the name of its constraint also where that was given.

statement ok
CREATE TABLE named (id int, CONSTRAINT the_key PRIMARY KEY (id))

statement ok
INSERT INTO named VALUES (1)

statement error 23505
INSERT INTO named VALUES (1)
----
duplicate key value violates unique constraint "the_key"
DETAIL: Key (id)=(1) already exists.
SCHEMA: public
TABLE: named
CONSTRAINT: the_key

statement ok
INSERT INTO named VALUES (1) ON CONFLICT ON CONSTRAINT the_key DO NOTHING

statement ok
INSERT INTO named VALUES (1) ON CONFLICT (id) DO NOTHING

# Names that are taken get a number.

statement ok
CREATE TABLE many (a int CHECK (a > 0) CHECK (a < 10), b int UNIQUE, CHECK (a > b), CHECK (a <> b), UNIQUE (b))

query
SELECT conname FROM pg_constraint WHERE conrelid = 'many'::regclass ORDER BY conname
----
many_a_check
many_a_check1
many_b_key
many_check
many_check1

statement ok
ALTER TABLE many DROP CONSTRAINT many_a_check1, DROP CONSTRAINT many_check, ADD CHECK (b > 0), ADD UNIQUE (a, b), ADD FOREIGN KEY (a) REFERENCES other, ADD FOREIGN KEY (a) REFERENCES other, ADD PRIMARY KEY (a)

query
SELECT conname FROM pg_constraint WHERE conrelid = 'many'::regclass ORDER BY conname
----
many_a_b_key
many_a_check
many_a_fkey
many_a_fkey1
many_b_check
many_b_key
many_check1
many_pkey

# A tree refers to itself: children may come before their parents, and all may go at once.

statement ok
CREATE TABLE tree (id int PRIMARY KEY, parent int REFERENCES tree, label text UNIQUE)

statement ok
INSERT INTO tree VALUES (3, 2, 'c'), (2, 1, 'b'), (1, NULL, 'a')

statement error 23503
INSERT INTO tree VALUES (5, 4)
----
insert or update on table "tree" violates foreign key constraint "tree_parent_fkey"
DETAIL: Key (parent)=(4) is not present in table "tree".
SCHEMA: public
TABLE: tree
CONSTRAINT: tree_parent_fkey

statement ok
INSERT INTO tree SELECT n, n + 1 FROM generate_series(10, 19) n UNION ALL SELECT 20, NULL

statement ok
UPDATE tree SET id = id + 100, parent = parent + 100

query
SELECT * FROM tree WHERE id < 110 ORDER BY id
----
101|NULL|a
102|101|b
103|102|c

statement error 23503
UPDATE tree SET id = id + 1

statement error 23503
DELETE FROM tree WHERE id = 102
----
update or delete on table "tree" violates foreign key constraint "tree_parent_fkey" on table "tree"
DETAIL: Key (id)=(102) is still referenced from table "tree".
SCHEMA: public
TABLE: tree
CONSTRAINT: tree_parent_fkey

statement DELETE 2
DELETE FROM tree WHERE id IN (102, 103)

statement DELETE 12
DELETE FROM tree

statement ok
INSERT INTO tree VALUES (7, 7)

statement ok
DELETE FROM tree

# The same with ON DELETE RESTRICT: the statement has deleted the rows that refer at its end.

statement ok
CREATE TABLE strict (id int PRIMARY KEY, parent int REFERENCES strict ON DELETE RESTRICT ON UPDATE RESTRICT)

statement ok
INSERT INTO strict VALUES (1, 1), (2, 1), (3, 2)

statement error 23503
DELETE FROM strict WHERE id = 1

statement ok
UPDATE strict SET id = id

statement ok
DELETE FROM strict

# Unique keys may be exchanged, and moved past each other, in one statement.

statement ok
INSERT INTO tree VALUES (1, NULL, 'a'), (2, 1, 'b'), (3, 1, 'c')

statement UPDATE 2
UPDATE tree SET label = CASE label WHEN 'a' THEN 'b' ELSE 'a' END WHERE id < 3

statement UPDATE 3
UPDATE tree SET label = chr(ascii(label) + 1)

query
SELECT * FROM tree ORDER BY id
----
1|NULL|c
2|1|b
3|1|d

statement error 23505
UPDATE tree SET label = 'same'
----
duplicate key value violates unique constraint "tree_label_key"
DETAIL: Key (label)=(same) already exists.
SCHEMA: public
TABLE: tree
CONSTRAINT: tree_label_key

statement UPDATE 3
UPDATE tree SET id = id + 1, parent = parent + 1

query
SELECT * FROM tree ORDER BY id
----
2|NULL|c
3|2|b
4|2|d

# The key of a row moves though rows of others would be deleted with it: they must refer to it still.

statement ok
CREATE TABLE owner (id int PRIMARY KEY)

statement ok
CREATE TABLE thing (id int PRIMARY KEY, owner int REFERENCES owner ON DELETE CASCADE, again int REFERENCES thing ON DELETE CASCADE)

statement ok
INSERT INTO owner VALUES (1), (2), (3)

statement ok
INSERT INTO thing VALUES (1, 1, 2), (2, 2, 1), (3, NULL, 1)

statement error 23503
UPDATE owner SET id = 10 WHERE id = 1

statement UPDATE 2
UPDATE owner SET id = 3 - id WHERE id < 3

statement ok
UPDATE owner SET id = 30 WHERE id = 3

query
SELECT count(*) FROM thing
----
3

statement DELETE 1
DELETE FROM owner WHERE id = 1

query
SELECT count(*) FROM thing
----
0

# References without an index that finds the rows that refer.

statement ok
CREATE TABLE line (owner int REFERENCES owner, name text)

statement ok
INSERT INTO line SELECT 2, 'x' FROM generate_series(1, 5)

statement error 23503
DELETE FROM owner
----
update or delete on table "owner" violates foreign key constraint "line_owner_fkey" on table "line"
DETAIL: Key (id)=(2) is still referenced from table "line".
SCHEMA: public
TABLE: line
CONSTRAINT: line_owner_fkey

statement DELETE 1
DELETE FROM owner WHERE id = 30

statement ok
CREATE TABLE self (a text PRIMARY KEY, b text REFERENCES self, c numeric(5, 2), UNIQUE (c), d numeric(5, 2) REFERENCES self (c))

statement ok
INSERT INTO self VALUES ('x', 'y', 1.5, 2.50), ('y', 'x', 2.5, 1.50)

statement DELETE 2
DELETE FROM self

# COPY is one statement.

copy ok
COPY tree FROM STDIN
----
50	51	\N
51	\N	\N

copy error 23503
COPY tree FROM STDIN
----
60	61	\N

# Several statements of one transaction are checked each by itself.

statement ok
BEGIN

statement ok
INSERT INTO tree VALUES (90, NULL)

statement error 23503
INSERT INTO tree VALUES (91, 92)

statement ok
ROLLBACK

# The columns may come in another order than those of the key.

statement ok
CREATE TABLE turned (x int, y text, PRIMARY KEY (x, y))

statement ok
CREATE TABLE of_turned (p text, q int, FOREIGN KEY (p, q) REFERENCES turned (y, x))

statement error 23503
INSERT INTO of_turned VALUES ('a', 1)

statement ok
INSERT INTO turned VALUES (1, 'a')

statement ok
INSERT INTO of_turned VALUES ('a', 1)

# Whole numbers of any width refer to each other; other types do not.

statement ok
CREATE TABLE wide (n bigint REFERENCES owner, s smallint REFERENCES owner)

statement ok
INSERT INTO wide VALUES (2, 2), (NULL, 2)

statement error 23503
INSERT INTO wide VALUES (5000000000, NULL)
----
insert or update on table "wide" violates foreign key constraint "wide_n_fkey"
DETAIL: Key (n)=(5000000000) is not present in table "owner".
SCHEMA: public
TABLE: wide
CONSTRAINT: wide_n_fkey

statement error 23503
DELETE FROM owner

statement error 42804
CREATE TABLE wrong (a text REFERENCES owner)
----
foreign key constraint "wrong_a_fkey" cannot be implemented
DETAIL: Key columns "a" and "id" are of incompatible types: text and integer.

# MATCH FULL: all columns have values, or none.

statement ok
CREATE TABLE pair (a int, b int, PRIMARY KEY (a, b))

statement ok
CREATE TABLE of_pair (id int PRIMARY KEY, a int, b int, FOREIGN KEY (a, b) REFERENCES pair MATCH FULL)

statement ok
INSERT INTO pair VALUES (1, 1)

statement ok
INSERT INTO of_pair VALUES (1, 1, 1), (2, NULL, NULL)

statement error 23503
INSERT INTO of_pair VALUES (3, 1, NULL)
----
insert or update on table "of_pair" violates foreign key constraint "of_pair_a_b_fkey"
DETAIL: MATCH FULL does not allow mixing of null and nonnull key values.
SCHEMA: public
TABLE: of_pair
CONSTRAINT: of_pair_a_b_fkey

statement error 23503
UPDATE of_pair SET a = NULL WHERE id = 1

query
SELECT conname, confmatchtype, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'of_pair'::regclass ORDER BY 1
----
of_pair_a_b_fkey|f|FOREIGN KEY (a, b) REFERENCES pair(a, b) MATCH FULL
of_pair_pkey| |PRIMARY KEY (id)

statement ok
ALTER TABLE of_pair DROP CONSTRAINT of_pair_a_b_fkey

statement ok
INSERT INTO of_pair VALUES (3, 1, NULL)

statement error 0A000
CREATE TABLE refused (a int, b int, FOREIGN KEY (a, b) REFERENCES pair MATCH PARTIAL)

reopen

statement error 23514
INSERT INTO customer VALUES (2, NULL, 0, 1, 2)

statement error 23503
DELETE FROM customer

# A row is checked before it is looked at whether its key is there.

statement ok
CREATE TABLE checked_first (id int PRIMARY KEY, x int NOT NULL CHECK (x > 0), y int)

statement ok
ALTER TABLE checked_first ALTER y SET DEFAULT 1; UPDATE checked_first SET y = 1; ALTER TABLE checked_first ALTER y SET NOT NULL

statement ok
INSERT INTO checked_first VALUES (1, 1, 1)

statement error 23502
INSERT INTO checked_first VALUES (1, null) ON CONFLICT (id) DO UPDATE SET x = 2
----
null value in column "x" of relation "checked_first" violates not-null constraint
DETAIL: Failing row contains (1, null, 1).
SCHEMA: public
TABLE: checked_first
COLUMN: x

statement error 23502
INSERT INTO checked_first VALUES (1, 2, null) ON CONFLICT DO NOTHING
----
null value in column "y" of relation "checked_first" violates not-null constraint
DETAIL: Failing row contains (1, 2, null).
SCHEMA: public
TABLE: checked_first
COLUMN: y

statement error 23514
INSERT INTO checked_first VALUES (1, -1) ON CONFLICT DO NOTHING

statement error 23514
INSERT INTO checked_first VALUES (1, -1) ON CONFLICT (id) DO UPDATE SET x = 3

statement error 23502
INSERT INTO checked_first VALUES (1, null, null)
----
null value in column "x" of relation "checked_first" violates not-null constraint
DETAIL: Failing row contains (1, null, null).
SCHEMA: public
TABLE: checked_first
COLUMN: x

statement error 23502
UPDATE checked_first SET y = null, x = null
----
null value in column "x" of relation "checked_first" violates not-null constraint
DETAIL: Failing row contains (1, null, null).
SCHEMA: public
TABLE: checked_first
COLUMN: x

query
SELECT * FROM checked_first
----
1|1|1
