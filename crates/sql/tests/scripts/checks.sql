# CHECK is any expression of SQL on the columns of the row. It is shown as it is written.

statement ok
CREATE TABLE t (a text CHECK (lower(a) = a) CONSTRAINT long CHECK (length(a) > 2), b int CHECK (b % 2 = 0), CHECK (a ~ '^[a-z]+$'), CHECK (coalesce(b, 0) >= 0))

query
SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 't'::regclass ORDER BY conname
----
long|CHECK ((length(a) > 2))
t_a_check|CHECK ((lower(a) = a))
t_a_check1|CHECK ((a ~ '^[a-z]+$'))
t_b_check|CHECK ((b % 2 = 0))
t_b_check1|CHECK ((coalesce(b, 0) >= 0))

statement ok
INSERT INTO t VALUES ('abc', 2), (NULL, NULL), ('xyz', 0)

statement error 23514
INSERT INTO t VALUES ('abc', 3)
----
new row for relation "t" violates check constraint "t_b_check"
DETAIL: Failing row contains (abc, 3).
SCHEMA: public
TABLE: t
CONSTRAINT: t_b_check

statement error 23514
INSERT INTO t VALUES ('Abc', 2)
----
new row for relation "t" violates check constraint "t_a_check"
DETAIL: Failing row contains (Abc, 2).
SCHEMA: public
TABLE: t
CONSTRAINT: t_a_check

statement error 23514
UPDATE t SET b = -2 WHERE a = 'abc'
----
new row for relation "t" violates check constraint "t_b_check1"
DETAIL: Failing row contains (abc, -2).
SCHEMA: public
TABLE: t
CONSTRAINT: t_b_check1

statement error 23514
INSERT INTO t VALUES ('ab', 2)
----
new row for relation "t" violates check constraint "long"
DETAIL: Failing row contains (ab, 2).
SCHEMA: public
TABLE: t
CONSTRAINT: long

statement error 23514
INSERT INTO t VALUES ('ab1', 2)
----
new row for relation "t" violates check constraint "t_a_check1"
DETAIL: Failing row contains (ab1, 2).
SCHEMA: public
TABLE: t
CONSTRAINT: t_a_check1

# Operators and forms.

statement ok
CREATE TABLE forms (n int, s text, d date, f float8, c char(3), CHECK (CASE WHEN n > 10 THEN s IS NOT NULL ELSE true END), CHECK (n IN (1, 2, 20 + 1)), CHECK (d BETWEEN '2020-01-01' AND date '2030-12-31'), CHECK (s LIKE 'a%' OR s ILIKE 'B_'), CHECK (n::text <> '3'), CHECK (f < 1e3), CHECK (c = 'x'), CHECK (s || 'x' <> 'ax'), CHECK (s IN ('a', 'ab', 'bc')))

statement ok
INSERT INTO forms VALUES (21, 'ab', '2025-05-05', 1.5, 'x')

statement error 23514
INSERT INTO forms (n) VALUES (21)

statement error 23514
INSERT INTO forms (n, s) VALUES (5, 'ab')

statement error 23514
INSERT INTO forms (d) VALUES ('2031-01-01')

statement error 23514
INSERT INTO forms (s) VALUES ('c')

statement error 23514
INSERT INTO forms (s) VALUES ('a')

statement error 23514
INSERT INTO forms (f) VALUES (1000)

statement error 23514
INSERT INTO forms (c) VALUES ('y')

# A condition that cannot be computed is an error.

statement ok
CREATE TABLE parts (whole int, part int, CHECK (whole / part > 1))

statement error 22012
INSERT INTO parts VALUES (1, 0)
----
division by zero

statement error 23514
INSERT INTO parts VALUES (1, 1)

statement ok
INSERT INTO parts VALUES (2, 1), (1, NULL)

# Parts that are not allowed in a condition.

statement error 0A000
CREATE TABLE u (a int CHECK (a IN (SELECT b FROM t)))
----
cannot use subquery in check constraint

statement error 0A000
CREATE TABLE u (a int CHECK (EXISTS (SELECT 1)))
----
cannot use subquery in check constraint

statement error 0A000
CREATE TABLE u (a int CHECK (a = (SELECT 1)))
----
cannot use subquery in check constraint

statement error 42803
CREATE TABLE u (a int CHECK (max(a) > 1))
----
aggregate functions are not allowed in check constraints

statement error 42P20
CREATE TABLE u (a int CHECK (rank() OVER () > 1))
----
window functions are not allowed in check constraints

statement error 42P17
CREATE TABLE u (a float8 CHECK (a < random()))
----
functions in check constraint must be marked IMMUTABLE

statement error 42P17
CREATE TABLE u (a timestamptz CHECK (a < now()))
----
functions in check constraint must be marked IMMUTABLE

statement error 42804
CREATE TABLE u (a int CHECK (a + 1))
----
argument of CHECK must be type boolean, not type integer

statement error 42703
CREATE TABLE u (a int CHECK (b % 2 = 0))
----
column "b" does not exist

statement error 42883
CREATE TABLE u (a int CHECK (nothing(a)))

statement error 42P01
CREATE TABLE u (a int CHECK (t.a > 0))

# Conditions on tables that are there.

statement ok
CREATE TABLE w (a varchar(5), b smallint)

statement ok
INSERT INTO w VALUES ('one', 1), ('two', 2)

statement error 23514
ALTER TABLE w ADD CHECK (b % 2 = 0)
----
check constraint "w_b_check" of relation "w" is violated by some row
SCHEMA: public
TABLE: w
CONSTRAINT: w_b_check

statement ok
ALTER TABLE w ADD CHECK (w.b % 4 < 3), ADD CONSTRAINT upper CHECK (upper(a) <> a)

statement ok
ALTER TABLE w RENAME COLUMN b TO "B"

statement ok
ALTER TABLE w RENAME TO v

query
SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'v'::regclass ORDER BY conname
----
upper|CHECK ((upper(a) <> a))
w_b_check|CHECK (("B" % 4 < 3))

statement error 23514
UPDATE v SET "B" = 3

statement ok
ALTER TABLE v ALTER COLUMN "B" TYPE bigint, ALTER COLUMN a TYPE varchar(10)

statement error 23514
UPDATE v SET "B" = 4000000003

statement ok
UPDATE v SET "B" = 4000000000

query
SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'v'::regclass ORDER BY conname
----
upper|CHECK ((upper(a) <> a))
w_b_check|CHECK (("B" % 4 < 3))

# It goes with its column.

statement ok
ALTER TABLE v DROP COLUMN "B"

query
SELECT conname FROM pg_constraint WHERE conrelid = 'v'::regclass ORDER BY conname
----
upper

# Names are folded as everywhere.

statement ok
CREATE TABLE folded ("A" int, a int, CHECK (A > 0))

statement ok
INSERT INTO folded VALUES (-1, 1)

statement error 23514
INSERT INTO folded VALUES (1, -1)

reopen

statement error 23514
INSERT INTO t VALUES ('abc', 3)

statement error 23514
INSERT INTO folded VALUES (1, -1)

# Conditions are tested before it is looked at whether a key is there.
statement ok
create table both (id int primary key, a int unique, c int check (c > 0), n int not null)

statement ok
insert into both values (1, 1, 1, 1), (2, 2, 2, 2)

statement error 23514
insert into both values (1, 3, -1, 1)

statement error 23514
insert into both values (3, 1, -1, 1)

statement error 23502
insert into both values (1, 3, -1, null)

statement error 23514
insert into both values (4, 4, 4, 4), (1, 1, -1, 1)

statement error 23514
update both set a = 2, c = -1 where id = 1

statement error 23514
update both set id = 2, c = -1 where id = 1

statement error 23505
update both set id = 2 where id = 1

statement error 23505
update both set a = 2 where id = 1
