# Tables, views and types of one name. The answers are those of PostgreSQL 15.

statement ok
CREATE TYPE mood AS ENUM ('sad', 'ok')

statement ok
CREATE DOMAIN positive AS int CHECK (value > 0)

statement error 42710
CREATE TABLE mood (a int)
----
type "mood" already exists
HINT: A relation has an associated type of the same name, so you must use a name that doesn't conflict with any existing type.

statement error 42710
CREATE TABLE IF NOT EXISTS mood (a int)
----
type "mood" already exists
HINT: A relation has an associated type of the same name, so you must use a name that doesn't conflict with any existing type.

statement error 42710
CREATE TABLE positive (a int)
----
type "positive" already exists
HINT: A relation has an associated type of the same name, so you must use a name that doesn't conflict with any existing type.

statement error 42710
CREATE TABLE mood AS SELECT 1 AS a
----
type "mood" already exists
HINT: A relation has an associated type of the same name, so you must use a name that doesn't conflict with any existing type.

statement error 42710
CREATE VIEW mood AS SELECT 1 AS a
----
type "mood" already exists
HINT: A relation has an associated type of the same name, so you must use a name that doesn't conflict with any existing type.

statement error 42710
CREATE MATERIALIZED VIEW mood AS SELECT 1 AS a
----
type "mood" already exists
HINT: A relation has an associated type of the same name, so you must use a name that doesn't conflict with any existing type.

statement ok
CREATE TEMPORARY TABLE mood (m mood)

statement ok
DROP TABLE mood

statement ok
CREATE TABLE happy (m mood)

statement error 42710
ALTER TABLE happy RENAME TO mood
----
type "mood" already exists

statement error 42710
CREATE TYPE happy AS ENUM ('a')
----
type "happy" already exists

statement error 42710
CREATE DOMAIN happy AS int
----
type "happy" already exists

statement error 42710
ALTER TYPE mood RENAME TO happy
----
type "happy" already exists

statement ok
ALTER TABLE happy RENAME TO glad

statement ok
ALTER TYPE mood RENAME TO happy

statement ok
CREATE SCHEMA other

statement ok
CREATE TABLE other.happy (a int)

statement ok
CREATE INDEX happy ON glad (m)

statement ok
DROP TABLE glad, other.happy

statement ok
DROP SCHEMA other

statement ok
DROP TYPE happy

statement ok
DROP DOMAIN positive
