# Statements that frameworks send: extensions, locks of several tables, dropped defaults. The answers are those of PostgreSQL 15.

query
SELECT 1 FROM pg_extension WHERE extname = 'pgcrypto'
----

statement ok
CREATE EXTENSION IF NOT EXISTS "pgcrypto"

statement error 42710
CREATE EXTENSION pgcrypto
----
extension "pgcrypto" already exists

query
SELECT extname, extversion, extrelocatable FROM pg_extension WHERE extname = 'pgcrypto'
----
pgcrypto|1.3|t

query
SELECT encode(digest('abc', 'md5'), 'hex'), encode(digest('abc', 'SHA1'), 'hex'), encode(digest('\x616263'::bytea, 'sha224'), 'hex'), encode(digest('ä', 'sha256'), 'hex')
----
900150983cd24fb0d6963f7d28e17f72|a9993e364706816aba3e25717850c26c9cd0d89d|23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7|33e6d73fee82904c8d7afb78de1154d1e8dc2a0edb08120e63df5b9385c2d9cc

statement error 22023
SELECT digest('abc', 'crc32')
----
Cannot use "crc32": No such hash algorithm

statement ok
DROP EXTENSION pgcrypto

statement ok
DROP EXTENSION IF EXISTS pgcrypto

statement error 42704
DROP EXTENSION pgcrypto
----
extension "pgcrypto" does not exist

statement ok
CREATE TABLE a (id int PRIMARY KEY, b text DEFAULT 'x', "of" int)

statement ok
CREATE TABLE b (id int PRIMARY KEY)

query
SELECT a.id FROM a JOIN b USING (id) FOR UPDATE OF a, b
----

query
SELECT a.id FROM a JOIN b USING (id) FOR NO KEY UPDATE OF a, b NOWAIT
----

query
SELECT a.id FROM a JOIN b USING (id) FOR UPDATE OF a FOR SHARE OF b
----

statement error 42P01
SELECT a.id FROM a JOIN b USING (id) FOR UPDATE OF a, c
----
relation "c" in FOR UPDATE clause not found in FROM clause

query
SELECT a.id, "of", substring(a.b from 1 for 2) FROM a, (SELECT id FROM b FOR UPDATE OF b) q, b WHERE a.id = b.id
----

statement ok
ALTER TABLE a ALTER COLUMN b DROP DEFAULT

query
SELECT column_name, column_default FROM information_schema.columns WHERE table_name = 'a' ORDER BY ordinal_position
----
id|NULL
b|NULL
of|NULL

statement ok
INSERT INTO a VALUES (1)

query
SELECT * FROM a
----
1|NULL|NULL
