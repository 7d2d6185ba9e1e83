# ALTER COLUMN … TYPE, with USING and without: every row gets a new value, and objects that name the column are checked
# again.

statement ok
CREATE TABLE t (id int PRIMARY KEY, a int DEFAULT 5, b text UNIQUE, c varchar(20) NOT NULL DEFAULT 'x', d numeric(10,2), e timestamp, CHECK (a > 0))

statement ok
CREATE INDEX t_a ON t (a DESC, c)

statement ok
CREATE INDEX t_sum ON t ((a + id)) WHERE a < 100

statement ok
CREATE INDEX t_wide ON t (d) INCLUDE (a)

statement ok
INSERT INTO t VALUES (1, 10, '7', 'seven', 1.50, '2026-01-02 03:04:05'), (2, null, '8', 'eight', 2.25, null), (3, 30, null, 'nine', null, '2026-02-03')

statement ok
ALTER TABLE t ALTER COLUMN a TYPE bigint

statement error 42883
ALTER TABLE t ALTER COLUMN a TYPE text
----
operator does not exist: text < integer
HINT: No operator matches the given name and argument types. You might need to add explicit type casts.

statement ok
ALTER TABLE t DROP CONSTRAINT t_a_check

statement error 42804
ALTER TABLE t ALTER COLUMN b TYPE int
----
column "b" cannot be cast automatically to type integer
HINT: You might need to specify "USING b::integer".

statement ok
ALTER TABLE t ALTER COLUMN b TYPE int USING b::int + 1

query
SELECT * FROM t ORDER BY id
----
1|10|8|seven|1.50|2026-01-02 03:04:05
2|NULL|9|eight|2.25|NULL
3|30|NULL|nine|NULL|2026-02-03 00:00:00

query
SELECT attname, attnum, format_type(atttypid, atttypmod), attnotnull, atthasdef FROM pg_attribute WHERE attrelid = 't'::regclass AND attnum > 0 ORDER BY attnum
----
id|1|integer|t|f
a|2|bigint|f|t
b|3|integer|f|f
c|4|character varying(20)|t|t
d|5|numeric(10,2)|f|f
e|6|timestamp without time zone|f|f

query
SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 't' AND indexname <> 't_sum' ORDER BY indexname
----
t_a|CREATE INDEX t_a ON public.t USING btree (a DESC, c)
t_b_key|CREATE UNIQUE INDEX t_b_key ON public.t USING btree (b)
t_pkey|CREATE UNIQUE INDEX t_pkey ON public.t USING btree (id)
t_wide|CREATE INDEX t_wide ON public.t USING btree (d) INCLUDE (a)

query
SELECT id FROM t WHERE a + id = 11 AND a < 100
----
1

statement error 23505
INSERT INTO t VALUES (4, 1, 8, 'd')
----
duplicate key value violates unique constraint "t_b_key"
DETAIL: Key (b)=(8) already exists.
SCHEMA: public
TABLE: t
CONSTRAINT: t_b_key

statement ok
INSERT INTO t (id, b) VALUES (4, 10)

query
SELECT * FROM t WHERE id = 4
----
4|5|10|x|NULL|NULL

# Narrower types: a value that does not fit is an error, and nothing has changed.

statement ok
ALTER TABLE t ALTER COLUMN a TYPE smallint

statement error 22003
UPDATE t SET a = 40000 WHERE id = 3
----
smallint out of range

statement ok
ALTER TABLE t ALTER COLUMN a TYPE int

statement ok
ALTER TABLE t ALTER COLUMN a TYPE smallint

statement error 22001
ALTER TABLE t ALTER COLUMN c TYPE varchar(4)
----
value too long for type character varying(4)

statement ok
ALTER TABLE t ALTER COLUMN c TYPE varchar(4) USING left(c, 4)

statement ok
ALTER TABLE t ALTER COLUMN c TYPE char(6)

statement ok
ALTER TABLE t ALTER COLUMN d TYPE numeric(3,1)

statement error 22003
ALTER TABLE t ALTER COLUMN d TYPE numeric(2,2)
----
numeric field overflow
DETAIL: A field with precision 2, scale 2 must round to an absolute value less than 1.

statement ok
ALTER TABLE t ALTER COLUMN e TYPE date

statement error 23502
ALTER TABLE t ALTER COLUMN c TYPE text USING null
----
column "c" of relation "t" contains null values
SCHEMA: public
TABLE: t
COLUMN: c

statement error 23505
ALTER TABLE t ALTER COLUMN b TYPE int USING 1
----
could not create unique index "t_b_key"
DETAIL: Key (b)=(1) is duplicated.
SCHEMA: public
TABLE: t
CONSTRAINT: t_b_key

query
SELECT id, a, b, c || '.', d, e FROM t ORDER BY id
----
1|10|8|seve.|1.5|2026-01-02
2|NULL|9|eigh.|2.3|NULL
3|30|NULL|nine.|NULL|2026-02-03
4|5|10|x.|NULL|NULL

statement error 22001
INSERT INTO t (id, c) VALUES (5, 'toolong')
----
value too long for type character(6)

statement ok
INSERT INTO t (id, c) VALUES (5, 'e')

query
SELECT id, a, c FROM t WHERE id = 5
----
5|5|e     

# Defaults go along, or are refused.

statement ok
CREATE TABLE u (id int, f text DEFAULT 'on', g text DEFAULT '12', h serial)

statement ok
INSERT INTO u (id, f) VALUES (1, 'yes'), (2, 'f')

statement error 42804
ALTER TABLE u ALTER COLUMN f TYPE bool USING f::bool
----
default for column "f" cannot be cast automatically to type boolean

statement ok
ALTER TABLE u ALTER COLUMN f DROP DEFAULT, ALTER COLUMN f TYPE bool USING f::bool, ALTER COLUMN f SET DEFAULT false

statement error 42804
ALTER TABLE u ALTER COLUMN g TYPE int USING g::int
----
default for column "g" cannot be cast automatically to type integer

statement ok
ALTER TABLE u ALTER COLUMN g DROP DEFAULT

statement ok
ALTER TABLE u ALTER COLUMN g TYPE int USING length(f::text) + g::int

statement ok
ALTER TABLE u ALTER COLUMN h TYPE bigint

statement ok
INSERT INTO u (id) VALUES (3)

query
SELECT * FROM u ORDER BY id
----
1|t|16|1
2|f|17|2
3|f|NULL|3

statement error 42883
ALTER TABLE u ALTER COLUMN id TYPE bool USING lower(id)
----
function lower(integer) does not exist
HINT: No function matches the given name and argument types. You might need to add explicit type casts.

statement error 42703
ALTER TABLE u ALTER COLUMN id TYPE bool USING nothing
----
column "nothing" does not exist

statement error 0A000
ALTER TABLE u ALTER COLUMN id TYPE int USING (SELECT 1)
----
cannot use subquery in transform expression

statement error 42803
ALTER TABLE u ALTER COLUMN id TYPE int USING sum(id)
----
aggregate functions are not allowed in transform expressions

statement error 42804
ALTER TABLE u ALTER COLUMN id TYPE date USING id
----
result of USING clause for column "id" cannot be cast automatically to type date
HINT: You might need to add an explicit cast.

# References on both sides.

statement ok
CREATE TABLE parents (id int PRIMARY KEY, code int UNIQUE)

statement ok
CREATE TABLE kids (id int PRIMARY KEY, code int REFERENCES parents (code) ON DELETE SET NULL)

statement ok
INSERT INTO parents VALUES (1, 10), (2, 20)

statement ok
INSERT INTO kids VALUES (1, 10), (2, null)

statement error 23503
ALTER TABLE parents ALTER COLUMN code TYPE bigint USING code + 1
----
insert or update on table "kids" violates foreign key constraint "kids_code_fkey"
DETAIL: Key (code)=(10) is not present in table "parents".
SCHEMA: public
TABLE: kids
CONSTRAINT: kids_code_fkey

statement ok
ALTER TABLE parents ALTER COLUMN code TYPE bigint

statement error 42804
ALTER TABLE kids ALTER COLUMN code TYPE text
----
foreign key constraint "kids_code_fkey" cannot be implemented
DETAIL: Key columns "code" and "code" are of incompatible types: text and bigint.

statement ok
ALTER TABLE kids ALTER COLUMN code TYPE smallint

statement ok
DELETE FROM parents WHERE code = 10

statement error 23503
INSERT INTO kids VALUES (3, 30)
----
insert or update on table "kids" violates foreign key constraint "kids_code_fkey"
DETAIL: Key (code)=(30) is not present in table "parents".
SCHEMA: public
TABLE: kids
CONSTRAINT: kids_code_fkey

query
SELECT * FROM kids ORDER BY id
----
1|NULL
2|NULL

query
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'kids'::regclass AND contype = 'f'
----
FOREIGN KEY (code) REFERENCES parents(code) ON DELETE SET NULL

# Columns whose values are computed for rows that are there: the rows need not meet a condition that is not valid.
statement ok
CREATE TABLE streets (id int PRIMARY KEY, n int)

statement INSERT 0 2
INSERT INTO streets VALUES (1, -5), (2, 3)

statement ok
ALTER TABLE streets ADD CONSTRAINT positive CHECK (n > 0) NOT VALID

statement ok
ALTER TABLE streets ADD COLUMN number serial

statement ok
ALTER TABLE streets ADD COLUMN built date DEFAULT now()::date

statement ok
ALTER TABLE streets ADD COLUMN next int GENERATED ALWAYS AS (n + 1) STORED

query
SELECT id, n, number, next FROM streets ORDER BY id
----
1|-5|1|-4
2|3|2|4

statement error 23514
UPDATE streets SET built = null WHERE id = 1
