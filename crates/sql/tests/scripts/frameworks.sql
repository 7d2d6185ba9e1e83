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

statement ok
CREATE TABLE words (id int PRIMARY KEY, a varchar(10), b text, c int, d char(5), e inet, f cidr, g uuid)

statement ok
CREATE INDEX words_some ON words (a varchar_pattern_ops, b, c int4_ops, d bpchar_pattern_ops DESC, e, f, g) INCLUDE (id)

statement ok
CREATE INDEX words_lower ON words (lower(b) text_pattern_ops) WHERE c > 1

statement error 42804
CREATE INDEX words_wrong ON words (b int4_ops)
----
operator class "int4_ops" does not accept data type text

query
SELECT pg_get_indexdef('words_some'::regclass)
----
CREATE INDEX words_some ON public.words USING btree (a varchar_pattern_ops, b, c, d bpchar_pattern_ops DESC, e, f, g) INCLUDE (id)

query
SELECT i.indexrelid::regclass::text, oc.opcname FROM pg_opclass oc JOIN pg_index i ON oc.oid = ANY (i.indclass) WHERE i.indrelid = 'words'::regclass ORDER BY 1, 2
----
words_lower|text_pattern_ops
words_pkey|int4_ops
words_some|bpchar_pattern_ops
words_some|inet_ops
words_some|int4_ops
words_some|text_ops
words_some|uuid_ops
words_some|varchar_pattern_ops

query
SELECT oid, opcmethod, opcname, opcfamily, opcintype, opcdefault FROM pg_opclass WHERE opcname IN ('text_ops', 'varchar_pattern_ops', 'inet_ops') AND opcmethod = 403 ORDER BY oid
----
3126|403|text_ops|1994|25|t
4218|403|varchar_pattern_ops|2095|25|f
10015|403|inet_ops|1974|869|t

statement ok
CREATE TABLE like_words (LIKE words INCLUDING INDEXES)

query
SELECT count(*) FROM pg_indexes WHERE tablename = 'like_words' AND indexdef LIKE '%a varchar_pattern_ops, b, c, d bpchar_pattern_ops DESC, e, f, g%'
----
1

statement ok
ALTER TABLE words ALTER COLUMN b TYPE varchar(20)

query
SELECT count(*) FROM pg_indexes WHERE tablename = 'words' AND indexdef LIKE '%text_pattern_ops%'
----
1

# SQLAlchemy compares the default of a column with its model. An operation is shown as it was written; PostgreSQL adds parentheses.
statement ok
CREATE TABLE defaults_shown (id int PRIMARY KEY, a bool DEFAULT true, b int DEFAULT 3 + 5, c int DEFAULT (3 * 5), d bool DEFAULT (1 > 2), e text DEFAULT 'x' || 'y', f int DEFAULT -1)

query
SELECT column_name, column_default FROM information_schema.columns WHERE table_name = 'defaults_shown' AND column_default IS NOT NULL ORDER BY ordinal_position
----
a|true
b|3 + 5
c|(3 * 5)
d|(1 > 2)
e|'x' || 'y'
f|-1

statement ok
INSERT INTO defaults_shown (id) VALUES (1); ALTER TABLE defaults_shown ADD COLUMN g int NOT NULL DEFAULT 2 * 3, ALTER COLUMN b SET DEFAULT 4 * 4; INSERT INTO defaults_shown (id) VALUES (2); ALTER TABLE defaults_shown ALTER COLUMN f SET DEFAULT 1 / 0

query
SELECT * FROM defaults_shown ORDER BY id
----
1|t|8|15|f|xy|-1|6
2|t|16|15|f|xy|-1|6

statement error 22012
INSERT INTO defaults_shown (id) VALUES (3)

# ActiveRecord's types of a connection.

query
SELECT 'array_in(cstring,oid,integer)'::regprocedure, 'array_in(cstring,oid,integer)'::regprocedure::oid, 'cstring'::regtype::oid, format_type(2275, -1)
----
array_in(cstring,oid,integer)|750|2275|cstring

query
SELECT t.oid, t.typname, t.typelem, t.typdelim, t.typinput, r.rngsubtype, t.typtype, t.typbasetype FROM pg_type as t LEFT JOIN pg_range as r ON oid = rngtypid WHERE t.typname IN ('int4', 'text', 'jsonb', 'daterange', 'oidvector') ORDER BY 1
----
23|int4|0|,|int4in|NULL|b|0
25|text|0|,|textin|NULL|b|0
30|oidvector|26|,|oidvectorin|NULL|b|0
3802|jsonb|0|,|jsonb_in|NULL|b|0
3912|daterange|0|,|range_in|1082|r|0

query
SELECT t.typname, t.typinput, t.typmodin, t.typanalyze FROM pg_type as t WHERE t.typinput = 'array_in(cstring,oid,integer)'::regprocedure AND t.typelem IN (16, 25, 1700) ORDER BY 1
----
_bool|array_in|-|array_typanalyze
_numeric|array_in|numerictypmodin|array_typanalyze
_text|array_in|-|array_typanalyze

# Does lower() take the type of a column, or one that it casts to? ActiveRecord asks so before it compares without case.

query
SELECT kind, exists(SELECT * FROM pg_proc WHERE proname = 'lower' AND proargtypes = ARRAY[kind::regtype]::oidvector) OR exists(SELECT * FROM pg_proc INNER JOIN pg_cast ON ARRAY[casttarget]::oidvector = proargtypes WHERE proname = 'lower' AND castsource = kind::regtype) FROM unnest(ARRAY['text', 'character varying', 'name', 'integer', 'uuid']) kind
----
text|t
character varying|t
name|t
integer|f
uuid|f

query
SELECT ARRAY[25, 26]::oidvector, ARRAY[1, 2]::int2vector
----
25 26|1 2

query
SELECT castsource::regtype, casttarget::regtype, castcontext, castmethod FROM pg_cast WHERE castsource IN ('int4'::regtype, 'date'::regtype) AND casttarget IN ('int8'::regtype, 'int2'::regtype, 'bool'::regtype, 'timestamp'::regtype, 'oid'::regtype) ORDER BY 1, 2
----
integer|boolean|e|f
integer|bigint|i|f
integer|smallint|a|f
integer|oid|i|b
date|timestamp without time zone|i|f
