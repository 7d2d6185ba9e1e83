# Unique and primary keys that are checked at the end of a statement, or of the transaction. The answers are those of PostgreSQL 15.

statement ok
CREATE TABLE places (id int PRIMARY KEY, place int UNIQUE DEFERRABLE INITIALLY DEFERRED, name text, CONSTRAINT named UNIQUE (name) DEFERRABLE)

query
SELECT conname, contype, condeferrable, condeferred, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'places'::regclass ORDER BY conname
----
named|u|t|f|UNIQUE (name) DEFERRABLE
places_pkey|p|f|f|PRIMARY KEY (id)
places_place_key|u|t|t|UNIQUE (place) DEFERRABLE INITIALLY DEFERRED

query
SELECT indexrelid::regclass, indisunique, indisprimary, indimmediate FROM pg_index WHERE indrelid = 'places'::regclass ORDER BY indexrelid::regclass::text
----
named|t|f|f
places_pkey|t|t|t
places_place_key|t|f|f

query
SELECT pg_get_indexdef('named'::regclass)
----
CREATE UNIQUE INDEX named ON public.places USING btree (name)

statement ok
INSERT INTO places VALUES (1, 1, 'a'), (2, 2, 'b'), (3, NULL, NULL), (4, NULL, NULL)

statement ok
UPDATE places SET place = place + 1

statement ok
UPDATE places SET name = CASE name WHEN 'a' THEN 'b' WHEN 'b' THEN 'a' END WHERE name IS NOT NULL

statement error 23505
INSERT INTO places VALUES (5, 2, 'c')
----
duplicate key value violates unique constraint "places_place_key"
DETAIL: Key (place)=(2) already exists.
SCHEMA: public
TABLE: places
CONSTRAINT: places_place_key

statement error 23505
INSERT INTO places VALUES (5, 5, 'a')
----
duplicate key value violates unique constraint "named"
DETAIL: Key (name)=(a) already exists.
SCHEMA: public
TABLE: places
CONSTRAINT: named

statement ok
BEGIN

statement ok
INSERT INTO places VALUES (5, 2, 'c')

query
SELECT id FROM places WHERE place = 2 ORDER BY id
----
1
5

statement ok
UPDATE places SET place = 7 WHERE id = 1

statement ok
COMMIT

statement ok
BEGIN

statement ok
UPDATE places SET place = 7

statement error 23505
UPDATE places SET name = 'a' WHERE id = 3
----
duplicate key value violates unique constraint "named"
DETAIL: Key (name)=(a) already exists.
SCHEMA: public
TABLE: places
CONSTRAINT: named

statement ok
ROLLBACK

statement ok
BEGIN

statement ok
UPDATE places SET place = 7

statement error 23505
COMMIT
----
duplicate key value violates unique constraint "places_place_key"
DETAIL: Key (place)=(7) already exists.
SCHEMA: public
TABLE: places
CONSTRAINT: places_place_key

query
SELECT * FROM places ORDER BY id
----
1|7|b
2|3|a
3|NULL|NULL
4|NULL|NULL
5|2|c

statement ok
BEGIN

statement ok
SET CONSTRAINTS ALL IMMEDIATE

statement error 23505
INSERT INTO places VALUES (6, 2, 'd')
----
duplicate key value violates unique constraint "places_place_key"
DETAIL: Key (place)=(2) already exists.
SCHEMA: public
TABLE: places
CONSTRAINT: places_place_key

statement ok
ROLLBACK

statement ok
BEGIN

statement ok
SET CONSTRAINTS named DEFERRED

statement ok
UPDATE places SET name = 'same' WHERE id IN (1, 2)

statement error 23505
SET CONSTRAINTS named IMMEDIATE
----
duplicate key value violates unique constraint "named"
DETAIL: Key (name)=(same) already exists.
SCHEMA: public
TABLE: places
CONSTRAINT: named

statement ok
ROLLBACK

statement ok
BEGIN

statement ok
SET CONSTRAINTS named DEFERRED

statement ok
UPDATE places SET name = 'same' WHERE id IN (1, 2)

statement ok
SAVEPOINT a

statement ok
UPDATE places SET name = 'other' WHERE id = 2

statement ok
ROLLBACK TO a

statement ok
DELETE FROM places WHERE id = 2

statement ok
COMMIT

query
SELECT id, name FROM places ORDER BY id
----
1|same
3|NULL
4|NULL
5|c

statement ok
BEGIN

statement error 42809
SET CONSTRAINTS places_pkey DEFERRED
----
constraint "places_pkey" is not deferrable

statement ok
ROLLBACK

statement ok
INSERT INTO places VALUES (1, 100, 'z') ON CONFLICT (id) DO NOTHING

statement error 55000
INSERT INTO places VALUES (9, 100, 'z') ON CONFLICT (place) DO NOTHING
----
ON CONFLICT does not support deferrable unique constraints/exclusion constraints as arbiters
SCHEMA: public
TABLE: places
CONSTRAINT: places_place_key

statement error 55000
INSERT INTO places VALUES (9, 100, 'z') ON CONFLICT ON CONSTRAINT named DO UPDATE SET name = 'y'
----
ON CONFLICT does not support deferrable unique constraints/exclusion constraints as arbiters
SCHEMA: public
TABLE: places
CONSTRAINT: named

statement error 55000
INSERT INTO places VALUES (9, 100, 'z') ON CONFLICT DO NOTHING
----
ON CONFLICT does not support deferrable unique constraints/exclusion constraints as arbiters
SCHEMA: public
TABLE: places
CONSTRAINT: places_place_key

statement error 55000
CREATE TABLE refers (place int REFERENCES places (place))
----
cannot use a deferrable unique constraint for referenced table "places"

statement ok
CREATE TABLE keyed (a int, b int, PRIMARY KEY (a, b) DEFERRABLE INITIALLY DEFERRED)

statement ok
INSERT INTO keyed VALUES (1, 1), (1, 2)

statement error 23502
INSERT INTO keyed VALUES (1, NULL)
----
null value in column "b" of relation "keyed" violates not-null constraint
DETAIL: Failing row contains (1, null).
SCHEMA: public
TABLE: keyed
COLUMN: b

statement ok
BEGIN

statement ok
INSERT INTO keyed VALUES (1, 1)

statement error 23505
COMMIT
----
duplicate key value violates unique constraint "keyed_pkey"
DETAIL: Key (a, b)=(1, 1) already exists.
SCHEMA: public
TABLE: keyed
CONSTRAINT: keyed_pkey

query
SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'keyed'::regclass
----
keyed_pkey|PRIMARY KEY (a, b) DEFERRABLE INITIALLY DEFERRED

query
SELECT * FROM keyed ORDER BY 1, 2
----
1|1
1|2

statement error 23505
ALTER TABLE keyed ADD CONSTRAINT one UNIQUE (a) DEFERRABLE
----
could not create unique index "one"
DETAIL: Key (a)=(1) is duplicated.
SCHEMA: public
TABLE: keyed
CONSTRAINT: one

statement ok
ALTER TABLE keyed ADD CONSTRAINT one UNIQUE (b) DEFERRABLE INITIALLY DEFERRED

statement error 23505
INSERT INTO keyed VALUES (2, 2)
----
duplicate key value violates unique constraint "one"
DETAIL: Key (b)=(2) already exists.
SCHEMA: public
TABLE: keyed
CONSTRAINT: one

statement ok
ALTER TABLE keyed DROP CONSTRAINT one

statement ok
INSERT INTO keyed VALUES (2, 2)

statement ok
CREATE TABLE copied (LIKE places INCLUDING INDEXES)

query
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'copied'::regclass ORDER BY 1
----
PRIMARY KEY (id)
UNIQUE (name) DEFERRABLE
UNIQUE (place) DEFERRABLE INITIALLY DEFERRED

statement error 42601
CREATE TABLE wrong (a int UNIQUE NOT DEFERRABLE INITIALLY DEFERRED)
----
constraint declared INITIALLY DEFERRED must be DEFERRABLE

query
SELECT count(*) FROM places
----
4

reopen

statement error 23505
INSERT INTO places VALUES (50, 2, 'q')
----
duplicate key value violates unique constraint "places_place_key"
DETAIL: Key (place)=(2) already exists.
SCHEMA: public
TABLE: places
CONSTRAINT: places_place_key

statement error 23505
INSERT INTO places VALUES (50, 51, 'c')
----
duplicate key value violates unique constraint "named"
DETAIL: Key (name)=(c) already exists.
SCHEMA: public
TABLE: places
CONSTRAINT: named

query
SELECT conname, condeferrable, condeferred FROM pg_constraint WHERE conrelid = 'places'::regclass ORDER BY conname
----
named|t|f
places_pkey|f|f
places_place_key|t|t

statement ok
ALTER TABLE places ALTER COLUMN place TYPE bigint

statement error 23505
INSERT INTO places VALUES (50, 2, 'q')
----
duplicate key value violates unique constraint "places_place_key"
DETAIL: Key (place)=(2) already exists.
SCHEMA: public
TABLE: places
CONSTRAINT: places_place_key

statement ok
BEGIN

statement ok
INSERT INTO places VALUES (50, 2, 'q')

statement ok
DELETE FROM places WHERE id = 50

statement ok
COMMIT

statement ok
ALTER TABLE places RENAME CONSTRAINT places_place_key TO one_place

statement error 23505
INSERT INTO places VALUES (50, 2, 'q')
----
duplicate key value violates unique constraint "one_place"
DETAIL: Key (place)=(2) already exists.
SCHEMA: public
TABLE: places
CONSTRAINT: one_place

statement ok
ALTER TABLE places RENAME COLUMN place TO spot

query
SELECT conname, condeferrable, condeferred, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'places'::regclass ORDER BY conname
----
named|t|f|UNIQUE (name) DEFERRABLE
one_place|t|t|UNIQUE (spot) DEFERRABLE INITIALLY DEFERRED
places_pkey|f|f|PRIMARY KEY (id)

# Two transactions with one key: the second one to commit fails, also one whose reads and changes are beside a snapshot.

session first

statement ok
BEGIN

statement ok
INSERT INTO keyed VALUES (70, 70)

session second

statement ok
INSERT INTO keyed VALUES (70, 70)

session first

statement error 23505
COMMIT

statement ok
BEGIN; SELECT 1; SELECT 2; SELECT 3; SELECT 4; SELECT 5; SELECT 6; SELECT 7; SELECT 8

statement ok
SELECT 9

statement ok
SELECT 10

statement ok
INSERT INTO keyed VALUES (71, 71)

session second

statement ok
INSERT INTO keyed VALUES (71, 71)

session first

statement error 23505
COMMIT

query
SELECT a, count(*) FROM keyed WHERE a >= 70 GROUP BY a ORDER BY a
----
70|1
71|1

# Duplicates of a deferred key are found before it gets another name.

statement ok
CREATE TABLE renamed_key (id int CONSTRAINT rk PRIMARY KEY DEFERRABLE INITIALLY DEFERRED)

statement ok
BEGIN

statement ok
INSERT INTO renamed_key VALUES (1), (1)

statement error 23505
ALTER TABLE renamed_key RENAME CONSTRAINT rk TO other

statement ok
ROLLBACK

statement ok
BEGIN

statement ok
INSERT INTO renamed_key VALUES (1), (1)

statement error 23505
ALTER INDEX rk RENAME TO other

statement ok
ROLLBACK

statement ok
BEGIN

statement ok
INSERT INTO renamed_key VALUES (1), (2)

statement ok
ALTER TABLE renamed_key RENAME CONSTRAINT rk TO other

statement ok
COMMIT

query
SELECT count(*) FROM renamed_key
----
2
