# Collations of ICU: an order of a language, and equality of bytes.

statement ok
CREATE TABLE names (id int PRIMARY KEY, name varchar(20) COLLATE "sv-x-icu", plain text, c text COLLATE "C")

statement ok
INSERT INTO names VALUES (1, 'zebra', 'zebra', 'zebra'), (2, 'Ärla', 'Ärla', 'Ärla'), (3, 'örn', 'örn', 'örn'), (4, 'apa', 'apa', 'apa'), (5, 'Apa', 'Apa', 'Apa'), (6, 'ål', 'ål', 'ål'), (7, 'vit', 'vit', 'vit'), (8, 'wit', 'wit', 'wit'), (9, NULL, NULL, NULL), (10, 'a-b', 'a-b', 'a-b'), (11, 'ab', 'ab', 'ab')

query
SELECT name FROM names ORDER BY name
----
a-b
ab
apa
Apa
vit
wit
zebra
ål
Ärla
örn
NULL

query
SELECT name FROM names ORDER BY name DESC NULLS LAST, id
----
örn
Ärla
ål
zebra
wit
vit
Apa
apa
ab
a-b
NULL

query
SELECT plain FROM names ORDER BY plain COLLATE "sv-x-icu"
----
a-b
ab
apa
Apa
vit
wit
zebra
ål
Ärla
örn
NULL

query
SELECT plain FROM names ORDER BY plain COLLATE "de-x-icu"
----
a-b
ab
ål
apa
Apa
Ärla
örn
vit
wit
zebra
NULL

query
SELECT name FROM names ORDER BY name COLLATE "C"
----
Apa
a-b
ab
apa
vit
wit
zebra
Ärla
ål
örn
NULL

query
SELECT name FROM names ORDER BY name COLLATE pg_catalog."de-x-icu" LIMIT 3
----
a-b
ab
ål

query
SELECT id FROM names WHERE name > 'zz' ORDER BY id
----
2
3
6

query
SELECT id FROM names WHERE name BETWEEN 'A' AND 'b' ORDER BY id
----
4
5
10
11

query
SELECT id FROM names WHERE name = 'Apa'
----
5

query
SELECT id FROM names WHERE name IN ('apa', 'ål') ORDER BY id
----
4
6

query
SELECT id FROM names WHERE name <> 'apa' AND name LIKE 'a%' ORDER BY id
----
10
11

query
SELECT id FROM names WHERE name ILIKE 'Ä%' ORDER BY id
----
2

query
SELECT min(name), max(name), min(name COLLATE "C"), max(plain), max(plain COLLATE "sv-x-icu") FROM names
----
a-b|örn|Apa|örn|örn

query
SELECT upper(name), lower(name) FROM names WHERE id IN (2, 3) ORDER BY id
----
ÄRLA|ärla
ÖRN|örn

query
SELECT upper('straße' COLLATE "de-x-icu"), upper('straße' COLLATE "C"), lower('ΣΑΣ' COLLATE "und-x-icu")
----
STRASSE|STRAßE|σας


# It is derived from the parts of an expression.

query
SELECT id FROM names WHERE lower(name) < 'b' ORDER BY id
----
4
5
10
11

query
SELECT id FROM names WHERE name || 'x' > 'zz' ORDER BY id
----
2
3
6

query
SELECT id FROM names WHERE coalesce(name, 'ä') > 'zz' ORDER BY id
----
2
3
6
9

query
SELECT id FROM names WHERE CASE WHEN id > 5 THEN name ELSE 'z' END > 'zz' ORDER BY id
----
6

query
SELECT id FROM names WHERE name::text > 'zz' ORDER BY id
----
2
3
6

query
SELECT x FROM (SELECT name AS x FROM names) q WHERE x > 'zz' ORDER BY x
----
ål
Ärla
örn

query
WITH q AS (SELECT upper(name) AS x FROM names) SELECT x FROM q ORDER BY x LIMIT 4
----
A-B
AB
APA
APA

query
SELECT (SELECT name FROM names WHERE id = 6) > 'zz', (SELECT plain FROM names WHERE id = 1) > 'zz'
----
t|f

query
SELECT x FROM (SELECT name AS x FROM names WHERE id < 4 UNION SELECT plain FROM names WHERE id > 9) q ORDER BY x
----
a-b
ab
zebra
Ärla
örn

query
SELECT string_agg(name, ',' ORDER BY name) FROM names
----
a-b,ab,apa,Apa,vit,wit,zebra,ål,Ärla,örn

query
SELECT name, row_number() OVER (ORDER BY name), rank() OVER (ORDER BY name COLLATE "C") FROM names ORDER BY 2
----
a-b|1|2
ab|2|3
apa|3|4
Apa|4|1
vit|5|5
wit|6|6
zebra|7|7
ål|8|9
Ärla|9|8
örn|10|10
NULL|11|11

query
SELECT DISTINCT name FROM names ORDER BY name
----
a-b
ab
apa
Apa
vit
wit
zebra
ål
Ärla
örn
NULL

query
SELECT name, count(*) FROM names GROUP BY name HAVING name > 'zz' ORDER BY name
----
ål|1
Ärla|1
örn|1

query
SELECT DISTINCT ON (name COLLATE "sv-x-icu") plain, name FROM names ORDER BY name COLLATE "sv-x-icu", plain LIMIT 3
----
a-b|a-b
ab|ab
apa|apa

query
SELECT a.id, b.id FROM names a JOIN names b ON a.name < b.name WHERE a.id IN (1, 6) ORDER BY 1, 2
----
1|2
1|3
1|6
6|2
6|3

query
SELECT id FROM names WHERE name < ALL (SELECT plain FROM names WHERE id IN (1, 6)) ORDER BY id
----
4
5
7
8
10
11

query
SELECT id FROM names WHERE (name, id) > ('z', 0) ORDER BY id
----
1
2
3
6

query
SELECT 'a' < 'B', 'a' COLLATE "sv-x-icu" < 'B', 'a' < 'B' COLLATE "und-x-icu"
----
f|t|t


query
SELECT id FROM names WHERE lower(name) < 'B' ORDER BY id
----
4
5
10
11

query
SELECT id FROM names WHERE name || '' < 'B' ORDER BY id
----
4
5
10
11

query
SELECT id FROM names WHERE coalesce(name, 'z') < 'B' ORDER BY id
----
4
5
10
11

query
SELECT id FROM names WHERE CASE WHEN id > 3 THEN name END < 'B' ORDER BY id
----
4
5
10
11

query
SELECT id FROM names WHERE name::text < 'B' ORDER BY id
----
4
5
10
11

query
SELECT x FROM (SELECT name || '' AS x FROM names WHERE id IN (4, 8) UNION SELECT 'B') q ORDER BY x
----
apa
B
wit

query
SELECT (SELECT name FROM names WHERE id = 4) < 'B', (SELECT plain FROM names WHERE id = 4) < 'B'
----
t|f

query
SELECT max(name) < 'B', min(lower(name)) < 'B' FROM names
----
f|t


# Texts that the rules do not tell apart are ordered by their bytes.

query
SELECT x FROM (VALUES (E'a\u0308'), ('ä'), (E'a\u00ADb'), ('ab')) v(x) ORDER BY x COLLATE "sv-x-icu"
----
ab
a­b
ä
ä

query
SELECT E'a\u0308' COLLATE "sv-x-icu" = 'ä', E'a\u0308' < 'ä' COLLATE "sv-x-icu"
----
f|t


# Of two, one must be chosen.

statement error 42P22
SELECT name < c FROM names
----
could not determine which collation to use for string comparison
HINT: Use the COLLATE clause to set the collation explicitly.

statement error 42P22
SELECT name = c FROM names
----
could not determine which collation to use for string comparison
HINT: Use the COLLATE clause to set the collation explicitly.

statement error 42P21
SELECT name COLLATE "C" < name COLLATE "sv-x-icu" FROM names
----
collation mismatch between explicit collations "C" and "sv-x-icu"

statement error 42P21
SELECT (name COLLATE "C") || (name COLLATE "sv-x-icu") FROM names
----
collation mismatch between explicit collations "C" and "sv-x-icu"

query
SELECT count(*) FROM names WHERE name COLLATE "C" < c
----
0

statement error 42804
SELECT id COLLATE "sv-x-icu" FROM names
----
collations are not supported by type integer


# Keys and references are of the bytes.

statement ok
CREATE UNIQUE INDEX names_name ON names (name)

statement error 23505
INSERT INTO names VALUES (12, 'apa')

statement ok
INSERT INTO names VALUES (12, 'APA')

statement ok
CREATE TABLE refers (name text REFERENCES names (name))

statement ok
INSERT INTO refers VALUES ('ål')

statement error 23503
INSERT INTO refers VALUES ('Ål')

query
SELECT id FROM names WHERE name = 'ål'
----
6

query
SELECT name FROM names ORDER BY name LIMIT 3
----
a-b
ab
apa

query
SELECT name FROM names WHERE name > 'w' ORDER BY name LIMIT 2
----
wit
zebra


# A table of a query, and one that is changed.

statement ok
CREATE TABLE made AS SELECT name, plain, name || plain AS both_of FROM names

query
SELECT attname, collname FROM pg_attribute a JOIN pg_collation c ON c.oid = attcollation WHERE attrelid = 'made'::regclass AND attnum > 0 ORDER BY attnum
----
name|sv-x-icu
plain|default
both_of|sv-x-icu

query
SELECT both_of FROM made ORDER BY both_of LIMIT 3
----
a-ba-b
abab
apaapa

statement ok
CREATE TABLE like_it (LIKE names)

query
SELECT attname, collname FROM pg_attribute a JOIN pg_collation c ON c.oid = attcollation WHERE attrelid = 'like_it'::regclass AND attnum > 0 ORDER BY attnum
----
name|sv-x-icu
plain|default
c|C

statement ok
ALTER TABLE names ALTER COLUMN plain TYPE varchar(30) COLLATE "sv-x-icu"

query
SELECT plain FROM names ORDER BY plain
----
a-b
ab
apa
Apa
vit
wit
zebra
ål
Ärla
örn
NULL
NULL

statement ok
ALTER TABLE names ALTER plain SET DATA TYPE text COLLATE "de-x-icu" USING plain || '!', ALTER COLUMN c TYPE varchar(20)

query
SELECT plain, c FROM names ORDER BY plain
----
a-b!|a-b
ab!|ab
ål!|ål
apa!|apa
Apa!|Apa
Ärla!|Ärla
örn!|örn
vit!|vit
wit!|wit
zebra!|zebra
NULL|NULL
NULL|NULL

query
SELECT attname, collname FROM pg_attribute a JOIN pg_collation c ON c.oid = attcollation WHERE attrelid = 'names'::regclass AND attnum > 0 ORDER BY attnum
----
name|sv-x-icu
plain|de-x-icu
c|default

statement ok
ALTER TABLE names ADD COLUMN more text COLLATE "fr-x-icu" DEFAULT 'é'

query
SELECT DISTINCT more > 'ez' FROM names
----
f

statement ok
ALTER TABLE names ALTER COLUMN plain TYPE text

query
SELECT plain FROM names ORDER BY plain LIMIT 3
----
Apa!
a-b!
ab!

statement error 42804
ALTER TABLE names ALTER COLUMN id TYPE bigint COLLATE "C"
----
collations are not supported by type bigint

statement ok
CREATE VIEW shown AS SELECT name FROM names

query
SELECT name FROM shown WHERE name > 'zz' ORDER BY name
----
ål
Ärla
örn

statement ok
CREATE TABLE computed (name text, lower_name varchar(20) COLLATE "sv-x-icu" GENERATED ALWAYS AS (lower(name)) STORED)

statement ok
INSERT INTO computed VALUES ('ö'), ('å'), ('Z')

query
SELECT lower_name FROM computed ORDER BY lower_name
----
z
å
ö

statement ok
CREATE TABLE arrays (a text[] COLLATE "sv-x-icu")

statement ok
PREPARE later (text) AS SELECT id FROM names WHERE name > $1 ORDER BY id

query
EXECUTE later('zz')
----
2
3
6

query
SELECT collname, collprovider, collisdeterministic, colliculocale FROM pg_collation WHERE collname IN ('sv-x-icu', 'und-x-icu', 'C', 'default') ORDER BY collname
----
C|c|t|NULL
default|d|t|NULL
sv-x-icu|i|t|sv
und-x-icu|i|t|und

# A column may be named as the words around a collation are.

statement ok
CREATE TABLE words (type text COLLATE "C", alter_text text)

statement ok
ALTER TABLE words ADD COLUMN kind text COLLATE "sv-x-icu"

statement ok
CREATE TABLE types (id int)

statement ok
ALTER TABLE types ADD COLUMN type text COLLATE "C"

statement ok
ALTER TABLE types ADD CONSTRAINT not_a CHECK (type <> 'a' COLLATE "C")

statement error 23514
INSERT INTO types VALUES (1, 'a')

statement ok
ALTER TABLE types ALTER COLUMN type TYPE varchar(9) COLLATE "C", ALTER id SET DATA TYPE bigint

statement ok
ALTER TABLE types ADD COLUMN y int; SELECT type FROM types ORDER BY type COLLATE "C"

statement ok
ALTER TABLE types ALTER "type" SET DATA TYPE text COLLATE "sv-x-icu"

query
SELECT a.attname, format_type(a.atttypid, a.atttypmod), c.collname FROM pg_attribute a LEFT JOIN pg_collation c ON c.oid = a.attcollation WHERE a.attrelid = 'types'::regclass AND a.attnum > 0 ORDER BY a.attnum
----
id|bigint|NULL
type|text|sv-x-icu
y|integer|NULL
