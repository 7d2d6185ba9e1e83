# CREATE INDEX USING a method other than btree. The answers are those of PostgreSQL 15.

statement ok
CREATE TABLE papers (id int PRIMARY KEY, title text, tags text[], data jsonb, pages int4range, words tsvector, host inet)

statement INSERT 0 2
INSERT INTO papers VALUES (1, 'On engines', '{a,b}', '{"k": [1]}', '[1,5)', 'engine', '10.0.0.1'), (2, 'On rows', '{b}', '{}', '[5,9)', 'row', '10.0.0.2')

statement ok
CREATE INDEX ON papers USING gin (tags)

statement ok
CREATE INDEX papers_data ON papers USING gin (data jsonb_path_ops)

statement ok
CREATE INDEX papers_both ON papers USING gin (tags, data)

statement ok
CREATE INDEX papers_words ON papers USING gin ((data -> 'k'::text))

statement ok
CREATE INDEX papers_found ON papers USING gist (words) WHERE id > 1

statement ok
CREATE INDEX papers_pages ON papers USING gist (pages) INCLUDE (id)

statement ok
CREATE INDEX papers_host ON papers USING gist (host inet_ops)

statement ok
CREATE INDEX papers_text ON papers USING spgist (title)

statement ok
CREATE INDEX papers_hash ON papers USING hash (title)

statement ok
CREATE INDEX papers_brin ON papers USING brin (id)

statement ok
CREATE INDEX parameters ON papers USING gin (tags) WITH (fastupdate = off)

statement ok
CREATE INDEX others ON papers USING brin (id) WITH (pages_per_range = 16)

statement ok
DROP INDEX parameters, others

statement ok
CREATE INDEX IF NOT EXISTS papers_data ON papers USING gin (data)

query
SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'papers' ORDER BY indexname COLLATE "C"
----
papers_both|CREATE INDEX papers_both ON public.papers USING gin (tags, data)
papers_brin|CREATE INDEX papers_brin ON public.papers USING brin (id)
papers_data|CREATE INDEX papers_data ON public.papers USING gin (data jsonb_path_ops)
papers_found|CREATE INDEX papers_found ON public.papers USING gist (words) WHERE (id > 1)
papers_hash|CREATE INDEX papers_hash ON public.papers USING hash (title)
papers_host|CREATE INDEX papers_host ON public.papers USING gist (host inet_ops)
papers_pages|CREATE INDEX papers_pages ON public.papers USING gist (pages) INCLUDE (id)
papers_pkey|CREATE UNIQUE INDEX papers_pkey ON public.papers USING btree (id)
papers_tags_idx|CREATE INDEX papers_tags_idx ON public.papers USING gin (tags)
papers_text|CREATE INDEX papers_text ON public.papers USING spgist (title)
papers_words|CREATE INDEX papers_words ON public.papers USING gin (((data -> 'k'::text)))

query
SELECT c.relname, a.amname, i.indkey, string_agg(o.opcname || o.opcdefault, ',' ORDER BY o.opcname) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam JOIN pg_opclass o ON o.oid = ANY (i.indclass) AND o.opcmethod = a.oid WHERE i.indrelid = 'papers'::regclass GROUP BY 1, 2, 3 ORDER BY c.relname COLLATE "C"
----
papers_both|gin|3 4|array_opstrue,jsonb_opstrue
papers_brin|brin|1|int4_minmax_opstrue
papers_data|gin|4|jsonb_path_opsfalse
papers_found|gist|6|tsvector_opstrue
papers_hash|hash|2|text_opstrue
papers_host|gist|7|inet_opsfalse
papers_pages|gist|5 1|range_opstrue
papers_pkey|btree|1|int4_opstrue
papers_tags_idx|gin|3|array_opstrue
papers_text|spgist|2|text_opstrue
papers_words|gin|0|jsonb_opstrue

# Queries and changes are as without them.
query
SELECT id FROM papers WHERE tags @> '{a}' AND data @> '{"k": [1]}' AND pages @> 3 AND title = 'On engines'
----
1

statement UPDATE 2
UPDATE papers SET tags = tags || '{c}', title = title || '!'

query
SELECT id FROM papers WHERE title = 'On rows!' AND id BETWEEN 1 AND 9
----
2

# Properties that methods do not have, and types without a class.
statement error 42704
CREATE INDEX ON papers USING rtree2 (id)
----
access method "rtree2" does not exist

statement error 0A000
CREATE UNIQUE INDEX ON papers USING gin (tags)
----
access method "gin" does not support unique indexes

statement error 0A000
CREATE INDEX ON papers USING gin (tags) INCLUDE (id)
----
access method "gin" does not support included columns

statement error 0A000
CREATE INDEX ON papers USING hash (id, title)
----
access method "hash" does not support multicolumn indexes

statement error 0A000
CREATE INDEX ON papers USING spgist (title DESC)
----
access method "spgist" does not support ASC/DESC options

statement error 0A000
CREATE INDEX ON papers USING gist (pages NULLS FIRST)
----
access method "gist" does not support NULLS FIRST/LAST options

statement error 42704
CREATE INDEX ON papers USING gin (title)
----
data type text has no default operator class for access method "gin"
HINT: You must specify an operator class for the index or define a default operator class for the data type.

statement error 42704
CREATE INDEX ON papers USING gin (tags text_ops)
----
operator class "text_ops" does not exist for access method "gin"

statement error 42804
CREATE INDEX ON papers USING gin (tags jsonb_ops)
----
operator class "jsonb_ops" does not accept data type text[]

statement error 22023
CREATE INDEX ON papers USING gin (tags) WITH (fillfactor = 70)
----
unrecognized parameter "fillfactor"

statement error 42703
CREATE INDEX ON papers USING gin (none)

statement error 42P07
CREATE INDEX papers_text ON papers USING gin (tags)
----
relation "papers_text" already exists

statement error 42P07
CREATE TABLE papers_text (id int)
----
relation "papers_text" already exists

# Names, comments and columns that change.
statement ok
ALTER INDEX papers_data RENAME TO papers_json

statement ok
COMMENT ON INDEX papers_json IS 'keys and values'

statement ok
ALTER TABLE papers RENAME COLUMN title TO heading

statement ok
ALTER TABLE papers RENAME COLUMN data TO body

statement ok
ALTER TABLE papers ALTER COLUMN tags TYPE varchar(40)[]

statement ok
ALTER TABLE papers DROP COLUMN pages

query
SELECT indexname, indexdef, obj_description(indexname::regclass) FROM pg_indexes WHERE tablename = 'papers' AND indexdef !~ 'btree|gist' ORDER BY indexname COLLATE "C"
----
papers_both|CREATE INDEX papers_both ON public.papers USING gin (tags, body)|NULL
papers_brin|CREATE INDEX papers_brin ON public.papers USING brin (id)|NULL
papers_hash|CREATE INDEX papers_hash ON public.papers USING hash (heading)|NULL
papers_json|CREATE INDEX papers_json ON public.papers USING gin (body jsonb_path_ops)|keys and values
papers_tags_idx|CREATE INDEX papers_tags_idx ON public.papers USING gin (tags)|NULL
papers_words|CREATE INDEX papers_words ON public.papers USING gin (((body -> 'k'::text)))|NULL

query
SELECT pg_get_indexdef('papers_json'::regclass, 1, true), pg_get_indexdef('papers_words'::regclass, 1, true)
----
body|(body -> 'k'::text)

statement ok
CREATE TABLE copies (LIKE papers INCLUDING INDEXES)

query
SELECT substring(indexdef FROM 'USING .*') COLLATE "C" FROM pg_indexes WHERE tablename = 'copies' AND indexdef ~ 'gin|hash|brin' ORDER BY 1
----
USING brin (id)
USING gin (((body -> 'k'::text)))
USING gin (body jsonb_path_ops)
USING gin (tags)
USING gin (tags, body)
USING hash (heading)

reopen

statement ok
DROP INDEX papers_json, papers_hash

statement error 42704
DROP INDEX papers_json
----
index "papers_json" does not exist

statement ok
CREATE INDEX papers_json ON copies USING gin (body)

statement ok
DROP TABLE papers

statement ok
CREATE TABLE papers_words (id int)

query
SELECT count(*) FROM pg_indexes WHERE indexname LIKE 'papers%'
----
1

statement ok
DROP TABLE copies

# Indexes and constraints have names of their own: an index may have the name of a reference or of a condition.
statement ok
CREATE TABLE shelves (p int PRIMARY KEY)

statement ok
CREATE TABLE books (a text[], p int, CONSTRAINT x FOREIGN KEY (p) REFERENCES shelves ON UPDATE CASCADE DEFERRABLE INITIALLY DEFERRED, CONSTRAINT c CHECK (a IS NOT NULL))

statement ok
CREATE INDEX x ON books USING gin (a)

statement ok
CREATE INDEX c ON books USING gin (a)

statement ok
CREATE INDEX d ON books USING gin (a) WHERE p > 1

statement ok
ALTER INDEX x RENAME TO y

statement ok
ALTER TABLE books RENAME CONSTRAINT c TO d

query
SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'books'::regclass AND contype IN ('c', 'f') ORDER BY 1
----
d|CHECK ((a IS NOT NULL))
x|FOREIGN KEY (p) REFERENCES shelves(p) ON UPDATE CASCADE DEFERRABLE INITIALLY DEFERRED

query
SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'books' AND indexdef ~ 'gin' ORDER BY 1
----
c|CREATE INDEX c ON public.books USING gin (a)
d|CREATE INDEX d ON public.books USING gin (a) WHERE (p > 1)
y|CREATE INDEX y ON public.books USING gin (a)

statement ok
DROP INDEX y

statement ok
ALTER TABLE books ADD CONSTRAINT e CHECK (p > 0)

statement ok
COMMENT ON CONSTRAINT e ON books IS 'kept'

statement ok
CREATE INDEX e ON books (p)

# The engine would rename the index.
statement error 0A000
ALTER TABLE books RENAME CONSTRAINT e TO f
----
constraint "e" is not renamed while an index has its name
HINT: Rename the index first.

statement ok
ALTER INDEX e RENAME TO f

query
SELECT conname, obj_description(oid) FROM pg_constraint WHERE conrelid = 'books'::regclass AND conname = 'e'
----
e|kept

statement ok
DROP TABLE books, shelves

# A change of a column's type lists all indexes again.
statement ok
CREATE TABLE many (a text[])

statement ok
DO $$ DECLARE r record; BEGIN FOR r IN SELECT i FROM generate_series(1, 31) i LOOP EXECUTE 'CREATE INDEX many_' || r.i || ' ON many USING gin (a)'; END LOOP; END $$

statement ok
ALTER TABLE many ALTER COLUMN a TYPE varchar(40)[] USING a::varchar(40)[]

query
SELECT count(*), min(pg_get_indexdef(indexrelid, 1, true)) FROM pg_index WHERE indrelid = 'many'::regclass AND indnatts = 1 AND indkey = '1'
----
31|a

statement ok
DROP TABLE many
