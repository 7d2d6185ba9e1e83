# GENERATED ALWAYS AS (…) STORED: computed wherever a row is written.

statement ok
CREATE TABLE items (id int PRIMARY KEY, price numeric(10,2), amount int DEFAULT 1, total numeric(12,2) GENERATED ALWAYS AS (price * amount) STORED, name text, code varchar(5) GENERATED ALWAYS AS (upper(name)) STORED NOT NULL)

query
INSERT INTO items (id, price, name) VALUES (1, 2.50, 'ab') RETURNING *
----
1|2.50|1|2.50|ab|AB

query
INSERT INTO items VALUES (2, 3, 4, DEFAULT, 'cd', DEFAULT), (3, null, 1, DEFAULT, 'ef', DEFAULT) RETURNING total, code
----
12.00|CD
NULL|EF

statement error 428C9
INSERT INTO items VALUES (4, 1, 1, 5, 'x', DEFAULT)
----
cannot insert a non-DEFAULT value into column "total"
DETAIL: Column "total" is a generated column.

statement error 428C9
INSERT INTO items (id, total) SELECT 4, 5
----
cannot insert a non-DEFAULT value into column "total"
DETAIL: Column "total" is a generated column.

statement error 23502
INSERT INTO items (id, name) VALUES (4, null)
----
null value in column "code" of relation "items" violates not-null constraint
DETAIL: Failing row contains (4, null, 1, null, null, null).
SCHEMA: public
TABLE: items
COLUMN: code

statement error 22001
INSERT INTO items (id, name) VALUES (4, 'abcdef')
----
value too long for type character varying(5)

statement error 428C9
UPDATE items SET total = 5
----
column "total" can only be updated to DEFAULT
DETAIL: Column "total" is a generated column.

query
UPDATE items SET amount = amount + 1, total = DEFAULT RETURNING id, total, code
----
1|5.00|AB
2|15.00|CD
3|NULL|EF

query
UPDATE items SET name = 'new' WHERE id = 3 RETURNING *
----
3|NULL|2|NULL|new|NEW

statement error 23502
UPDATE items SET name = null WHERE id = 3
----
null value in column "code" of relation "items" violates not-null constraint
DETAIL: Failing row contains (3, null, 2, null, null, null).
SCHEMA: public
TABLE: items
COLUMN: code

query
INSERT INTO items (id, price, name) VALUES (1, 7, 'q') ON CONFLICT (id) DO UPDATE SET amount = 10, name = excluded.code || '!' WHERE excluded.total = 7 RETURNING *
----
1|2.50|10|25.00|Q!|Q!

query
SELECT id, total, code FROM items WHERE total > 1 ORDER BY total DESC
----
1|25.00|Q!
2|15.00|CD

query
SELECT attname, attgenerated, atthasdef, attnotnull FROM pg_attribute WHERE attrelid = 'items'::regclass AND attnum > 0 ORDER BY attnum
----
id||f|t
price||f|f
amount||t|f
total|s|t|f
name||f|f
code|s|t|t

query
SELECT column_name, column_default, is_nullable, is_generated FROM information_schema.columns WHERE table_name = 'items' ORDER BY ordinal_position
----
id|NULL|NO|NEVER
price|NULL|YES|NEVER
amount|1|YES|NEVER
total|NULL|YES|ALWAYS
name|NULL|YES|NEVER
code|NULL|NO|ALWAYS

# Conditions, keys, indexes and references on generated columns.

statement ok
CREATE TABLE refs (id int PRIMARY KEY, a int, b int GENERATED ALWAYS AS (a * 2) STORED UNIQUE CHECK (b < 100))

statement ok
INSERT INTO refs VALUES (1, 1), (2, 2), (3, null), (4, null)

statement error 23505
INSERT INTO refs VALUES (5, 2)
----
duplicate key value violates unique constraint "refs_b_key"
DETAIL: Key (b)=(4) already exists.
SCHEMA: public
TABLE: refs
CONSTRAINT: refs_b_key

statement error 23514
INSERT INTO refs VALUES (5, 50)
----
new row for relation "refs" violates check constraint "refs_b_check"
DETAIL: Failing row contains (5, 50, 100).
SCHEMA: public
TABLE: refs
CONSTRAINT: refs_b_check

statement error 23514
UPDATE refs SET a = 51 WHERE id = 1
----
new row for relation "refs" violates check constraint "refs_b_check"
DETAIL: Failing row contains (1, 51, 102).
SCHEMA: public
TABLE: refs
CONSTRAINT: refs_b_check

statement error 23505
UPDATE refs SET a = 2 WHERE id = 1
----
duplicate key value violates unique constraint "refs_b_key"
DETAIL: Key (b)=(4) already exists.
SCHEMA: public
TABLE: refs
CONSTRAINT: refs_b_key

query
SELECT id FROM refs WHERE b = 4
----
2

statement ok
CREATE UNIQUE INDEX refs_b1 ON refs ((b + 1)) WHERE b > 2

statement ok
UPDATE refs SET a = 3 WHERE id = 3

query
SELECT id FROM refs WHERE b + 1 = 7 AND b > 2
----
3

statement ok
CREATE TABLE children (id int, p int REFERENCES refs (b))

statement ok
INSERT INTO children VALUES (1, 6)

statement error 23503
INSERT INTO children VALUES (1, 7)
----
insert or update on table "children" violates foreign key constraint "children_p_fkey"
DETAIL: Key (p)=(7) is not present in table "refs".
SCHEMA: public
TABLE: children
CONSTRAINT: children_p_fkey

statement error 23503
UPDATE refs SET a = 4 WHERE id = 3
----
update or delete on table "refs" violates foreign key constraint "children_p_fkey" on table "children"
DETAIL: Key (b)=(6) is still referenced from table "children".
SCHEMA: public
TABLE: children
CONSTRAINT: children_p_fkey

statement ok
DROP TABLE children

statement ok
CREATE TABLE children (id int, q int, p int GENERATED ALWAYS AS (q + 1) STORED REFERENCES refs (b))

statement error 42601
CREATE TABLE others (id int, q int, p int GENERATED ALWAYS AS (q + 1) STORED REFERENCES refs (b) ON DELETE SET NULL)
----
invalid ON DELETE action for foreign key constraint containing generated column

statement error 42601
ALTER TABLE children ADD FOREIGN KEY (p) REFERENCES refs (b) ON DELETE SET DEFAULT
----
invalid ON DELETE action for foreign key constraint containing generated column

statement ok
INSERT INTO children VALUES (1, 5), (2, null)

statement error 23503
UPDATE children SET q = 6
----
insert or update on table "children" violates foreign key constraint "children_p_fkey"
DETAIL: Key (p)=(7) is not present in table "refs".
SCHEMA: public
TABLE: children
CONSTRAINT: children_p_fkey

statement ok
DROP TABLE children

# Columns that are added are computed in the rows that are there.

statement ok
ALTER TABLE refs ADD COLUMN c text GENERATED ALWAYS AS ('n' || id) STORED

statement ok
ALTER TABLE refs ADD COLUMN d int GENERATED ALWAYS AS (id + 1) STORED NOT NULL

statement error 23502
ALTER TABLE refs ADD COLUMN e int GENERATED ALWAYS AS (a) STORED NOT NULL
----
column "e" of relation "refs" contains null values
SCHEMA: public
TABLE: refs
COLUMN: e

statement error 22012
ALTER TABLE refs ADD COLUMN e int GENERATED ALWAYS AS (10 / (id - 2)) STORED
----
division by zero

query
SELECT id, a, b, d FROM refs ORDER BY id
----
1|1|2|2
2|2|4|3
3|3|6|4
4|NULL|NULL|5

statement ok
UPDATE refs SET id = 30 WHERE id = 3

query
SELECT id, a, b, d FROM refs ORDER BY id
----
1|1|2|2
2|2|4|3
4|NULL|NULL|5
30|3|6|31

# Columns that are refused.

statement error 42601
CREATE TABLE w (a int, b int DEFAULT 1 GENERATED ALWAYS AS (a) STORED)
----
both default and generation expression specified for column "b"

statement error 42P17
CREATE TABLE w (a int, b int GENERATED ALWAYS AS (b + 1) STORED)
----
cannot use generated column "b" in column generation expression
DETAIL: A generated column cannot reference another generated column.

statement error 42P17
CREATE TABLE w (a int, b int GENERATED ALWAYS AS (a) STORED, c int GENERATED ALWAYS AS (b) STORED)
----
cannot use generated column "b" in column generation expression
DETAIL: A generated column cannot reference another generated column.

statement error 42P17
CREATE TABLE w (a int, b float8 GENERATED ALWAYS AS (a * random()) STORED)
----
generation expression is not immutable

statement error 42P17
CREATE TABLE w (a timestamptz, b date GENERATED ALWAYS AS (a::date) STORED)
----
generation expression is not immutable

statement error 42P17
CREATE TABLE w (a timestamptz, b timestamp GENERATED ALWAYS AS (a) STORED)
----
generation expression is not immutable

# Names of indexes' own columns.

statement error 42P16
CREATE TABLE w (a int, "sardonyx.key.1" int GENERATED ALWAYS AS (a + 1) STORED)
----
the name "sardonyx.key.1" is one of the database's own

statement error 42P16
ALTER TABLE items ADD COLUMN "sardonyx.where.1" bool GENERATED ALWAYS AS (amount > 1) STORED
----
the name "sardonyx.where.1" is one of the database's own

statement error 42P16
ALTER TABLE items RENAME COLUMN total TO "sardonyx.key.t"
----
the name "sardonyx.key.t" is one of the database's own

statement error 42804
CREATE TABLE w (a int, b int GENERATED ALWAYS AS (a || 'x') STORED)
----
column "b" is of type integer but default expression is of type text
HINT: You will need to rewrite or cast the expression.

statement error 0A000
CREATE TABLE w (a int, b int GENERATED ALWAYS AS ((SELECT 1)) STORED)
----
cannot use subquery in column generation expression

statement error 42803
CREATE TABLE w (a int, b int GENERATED ALWAYS AS (sum(a)) STORED)
----
aggregate functions are not allowed in column generation expressions

statement error 42703
CREATE TABLE w (a int, b int GENERATED ALWAYS AS (nothing) STORED)
----
column "nothing" does not exist

statement error 42601
ALTER TABLE refs ALTER COLUMN b SET DEFAULT 4
----
column "b" of relation "refs" is a generated column

statement error 42601
ALTER TABLE refs ALTER COLUMN b DROP DEFAULT
----
column "b" of relation "refs" is a generated column
HINT: Use ALTER TABLE ... ALTER COLUMN ... DROP EXPRESSION instead.

statement error 0A000
ALTER TABLE refs ALTER COLUMN a TYPE bigint
----
cannot alter type of a column used by a generated column
DETAIL: Column "a" is used by generated column "b".

statement error 2BP01
ALTER TABLE refs DROP COLUMN a
----
cannot drop column a of table refs because other objects depend on it
DETAIL: column b of table refs depends on column a of table refs
HINT: Use DROP ... CASCADE to drop the dependent objects too.

statement ok
ALTER TABLE refs DROP COLUMN b

statement ok
ALTER TABLE refs ADD COLUMN f int GENERATED ALWAYS AS (a + id) STORED

statement ok
ALTER TABLE refs DROP COLUMN a CASCADE

query
SELECT * FROM refs ORDER BY 1
----
1|n1|2
2|n2|3
4|n4|5
30|n30|31

# COPY has no generated columns.

statement error 42P10
COPY items (id, total) FROM STDIN
----
column "total" is a generated column
DETAIL: Generated columns cannot be used in COPY.

statement ok
DELETE FROM items WHERE id < 9

copy COPY 1
COPY items FROM STDIN
----
9	5	2	z

copy_out
COPY (SELECT total, code FROM items WHERE id = 9) TO STDOUT
----
10.00	Z

copy_out
COPY items TO STDOUT
----
9	5.00	2	z

reopen

query
SELECT id, total, code FROM items WHERE id = 9
----
9|10.00|Z
