# Features that do not support a collation of ICU refuse it by its name.

statement ok
CREATE TABLE t (id int PRIMARY KEY, name text COLLATE "sv-x-icu", plain text)

statement ok
INSERT INTO t VALUES (1, 'ål', 'ål'), (2, 'zebra', 'zebra')

statement error 0A000
SELECT greatest(name, 'a') FROM t
----
the collation "sv-x-icu" is not supported by GREATEST and LEAST
HINT: COLLATE "C" orders by bytes.

query
SELECT greatest(name COLLATE "C", 'a') FROM t ORDER BY id
----
ål
zebra

statement error 0A000
SELECT id FROM t WHERE name < ANY (ARRAY['a', 'b'])
----
the collation "sv-x-icu" is not supported by ANY and ALL of an array
HINT: COLLATE "C" orders by bytes.

query
SELECT id FROM t WHERE name = ANY (ARRAY['a', 'ål'])
----
1

statement error 0A000
SELECT ARRAY[name] FROM t ORDER BY 1

statement error 0A000
SELECT id FROM t WHERE ARRAY[name] < ARRAY['b']

statement error 0A000
SELECT max(ARRAY[name]) FROM t

query
SELECT array_agg(name ORDER BY name) FROM t
----
{zebra,ål}

statement error 0A000
SELECT initcap(name) FROM t
----
the collation "sv-x-icu" is not supported by initcap
HINT: COLLATE "C" orders by bytes.

# Nothing that is kept depends on the release of a language's rules.

statement error 0A000
ALTER TABLE t ADD CHECK (name < 'zz')
----
the collation "sv-x-icu" is not supported by check constraints
HINT: COLLATE "C" orders by bytes.

statement ok
ALTER TABLE t ADD CONSTRAINT is_named CHECK (name <> '')

statement error 0A000
ALTER TABLE t ADD is_late boolean GENERATED ALWAYS AS (name > 'm') STORED
----
the collation "sv-x-icu" is not supported by column generation expressions
HINT: COLLATE "C" orders by bytes.

statement error 0A000
CREATE INDEX ON t (id) WHERE name > 'm'
----
the collation "sv-x-icu" is not supported by index predicates
HINT: COLLATE "C" orders by bytes.

statement ok
ALTER TABLE t ADD CONSTRAINT is_early CHECK (plain < 'å~')

statement error 0A000
ALTER TABLE t ALTER plain TYPE text COLLATE "sv-x-icu"
----
the collation "sv-x-icu" is not supported by check constraints
HINT: COLLATE "C" orders by bytes.

query
SELECT plain FROM t ORDER BY plain
----
zebra
ål

statement error 0A000
CREATE INDEX ON t (plain COLLATE "sv-x-icu")
----
an index with the collation "sv-x-icu" is not supported: the column has "default"

statement ok
CREATE INDEX ON t (name COLLATE "sv-x-icu", plain COLLATE "C")

statement error 0A000
CREATE DOMAIN word AS text COLLATE "sv-x-icu"

statement error 0A000
SELECT name COLLATE "sv_SE" FROM t
----
the collation "sv_SE" is not supported
HINT: Texts are ordered by their bytes, as with COLLATE "C", or by a collation of ICU in pg_collation.

statement error 0A000
SELECT name COLLATE public."sv-x-icu" FROM t

# The order of Chinese characters is another one there.

statement ok
INSERT INTO t VALUES (3, '漢字', 'a')

statement error 0A000
SELECT name FROM t ORDER BY name
----
the order of "漢" in the collation "sv-x-icu" is not supported
HINT: COLLATE "C" orders by bytes.

query
SELECT name FROM t WHERE name = '漢字' ORDER BY name COLLATE "C"
----
漢字

# All of it is there when the database is opened again.

reopen

query
SELECT name FROM t WHERE id < 3 ORDER BY name
----
zebra
ål

query
SELECT plain FROM t WHERE id < 3 ORDER BY plain COLLATE "de-x-icu"
----
ål
zebra

# Letters of some languages change their case by rules of their own.

statement error 0A000
SELECT upper(name COLLATE "tr-x-icu") FROM t
----
the collation "tr-x-icu" is not supported by upper
HINT: COLLATE "C" orders by bytes.

statement error 0A000
SELECT id FROM t WHERE name ILIKE 'I%' COLLATE "az-x-icu"

query
SELECT plain FROM t WHERE id < 3 ORDER BY plain COLLATE "tr-x-icu"
----
ål
zebra

# No kept expression changes case by a language's rules, whether the column has them at first or gets them later.

statement ok
CREATE TABLE cases (id int PRIMARY KEY, a text COLLATE "de-x-icu", plain text)

statement ok
INSERT INTO cases VALUES (1, 'ß', 'ß'), (2, 'ss', 'ss'), (3, 'İ', 'İ')

query
SELECT id FROM cases WHERE upper(a) = 'SS' ORDER BY id
----
1
2

statement error 0A000
CREATE INDEX ON cases (upper(a))
----
the collation "de-x-icu" is not supported by index expressions
HINT: COLLATE "C" orders by bytes.

statement error 0A000
CREATE UNIQUE INDEX ON cases (lower(a))

statement error 0A000
CREATE INDEX ON cases (id) WHERE a ILIKE 'S%'

statement error 0A000
ALTER TABLE cases ADD CONSTRAINT no_ss CHECK (upper(a) <> 'SS')
----
the collation "de-x-icu" is not supported by check constraints
HINT: COLLATE "C" orders by bytes.

statement error 0A000
CREATE TABLE more (a text COLLATE "de-x-icu", b text GENERATED ALWAYS AS (upper(a)) STORED)
----
the collation "de-x-icu" is not supported by column generation expressions
HINT: COLLATE "C" orders by bytes.

statement ok
CREATE UNIQUE INDEX by_upper ON cases (upper(plain))

statement ok
ALTER TABLE cases ADD CONSTRAINT lower_case CHECK (lower(plain) <> 'x')

statement error 0A000
ALTER TABLE cases ALTER COLUMN plain TYPE text COLLATE "de-x-icu"

query
SELECT id FROM cases WHERE upper(plain) = 'SS' ORDER BY id
----
2

statement ok
DROP INDEX by_upper

statement error 0A000
ALTER TABLE cases ALTER COLUMN plain TYPE varchar(10) COLLATE "de-x-icu"
----
the collation "de-x-icu" is not supported by check constraints
HINT: COLLATE "C" orders by bytes.

statement ok
ALTER TABLE cases DROP CONSTRAINT lower_case

statement ok
ALTER TABLE cases ALTER COLUMN plain TYPE text COLLATE "de-x-icu"

query
SELECT id FROM cases WHERE upper(plain) = 'SS' ORDER BY id
----
1
2

statement ok
CREATE INDEX plain_case ON cases (upper(a COLLATE "C"))
