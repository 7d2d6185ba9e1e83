# hstore: read, written, computed with, compared, and stored. The answers are those of PostgreSQL 15; errors of its texts have the code of PostgreSQL 16.

statement ok
CREATE EXTENSION IF NOT EXISTS hstore

query
SELECT 'a=>1, b=>NULL, "c d"=>"x\"y"'::hstore, ''::hstore, 'bb=>1,a=>2,ccc=>3,ab=>4'::hstore
----
"a"=>"1", "b"=>NULL, "c d"=>"x\"y"||"a"=>"2", "ab"=>"4", "bb"=>"1", "ccc"=>"3"

query
SELECT 'a=>1,a=>2'::hstore, 'a=>null, b=>"null", NULL=>1'::hstore, 'a=>1,'::hstore, 'a=>b=c, x=>,'::hstore
----
"a"=>"1"|"a"=>NULL, "b"=>"null", "NULL"=>"1"|"a"=>"1"|"a"=>"b=c", "x"=>","

query
SELECT hstore('a', 'b'), hstore('a', NULL), hstore(NULL::text, 'b'), hstore('{a,1,b,2}'::text[]), hstore('{{a,1},{b,NULL}}'::text[]), hstore('{a,b}'::text[], '{1,NULL}'), hstore('{a,b}'::text[], NULL), hstore('{}'::text[])
----
"a"=>"b"|"a"=>NULL|NULL|"a"=>"1", "b"=>"2"|"a"=>"1", "b"=>NULL|"a"=>"1", "b"=>NULL|"a"=>NULL, "b"=>NULL|

statement error 2202E
SELECT hstore('{a,b,c}'::text[])

statement error 2202E
SELECT hstore('{a,b,c}'::text[], '{1}')

statement error 2202E
SELECT hstore('{{a,b,c}}'::text[])

statement error 22004
SELECT hstore('{a,NULL}'::text[], '{a,b}')

query
SELECT 'a=>1,b=>2'::hstore -> 'a', 'a=>1,b=>2'::hstore -> 'c', 'a=>1,b=>2'::hstore -> ARRAY['b','x','a']
----
1|NULL|{2,NULL,1}

query
SELECT 'a=>1,b=>2'::hstore ? 'a', 'a=>1'::hstore ? 'x', 'a=>1,b=>NULL'::hstore ?& ARRAY['a','b'], 'a=>1'::hstore ?& '{a,b}', 'a=>1'::hstore ?| ARRAY['x','a'], 'a=>1'::hstore ?| ARRAY['x']
----
t|f|t|f|t|f

query
SELECT 'a=>1,b=>2'::hstore @> 'a=>1', 'a=>1'::hstore @> 'a=>NULL', 'a=>NULL'::hstore @> 'a=>NULL', 'a=>1'::hstore <@ 'a=>1,b=>2', ''::hstore <@ 'a=>1', 'a=>1'::hstore @> ''
----
t|f|t|t|t|t

query
SELECT 'a=>1,b=>2'::hstore || 'b=>3,c=>4', 'a=>1'::hstore || '', 'a=>1,b=>2'::hstore - 'a'::text, 'a=>1,b=>2'::hstore - ARRAY['a','x'], 'a=>1,b=>2'::hstore - 'a=>2,b=>2'::hstore
----
"a"=>"1", "b"=>"3", "c"=>"4"|"a"=>"1"|"b"=>"2"|"b"=>"2"|"a"=>"1"

statement error 42601
SELECT 'a=>1,b=>2'::hstore - 'a'

query
SELECT 'a=>1'::hstore = 'a => "1"', 'a=>1'::hstore <> 'a=>2'
----
t|t

query
SELECT akeys('b=>1,a=>2'), avals('b=>1,a=>NULL'), akeys(''), exist('a=>1', 'a'), defined('a=>NULL', 'a'), defined('a=>1', 'a'), delete('a=>1,b=>2', 'a'::text), delete('a=>1,b=>2', ARRAY['b']), slice('a=>1,b=>2', ARRAY['b','c']), isexists('a=>1', 'b'), isdefined('a=>1', 'a')
----
{a,b}|{NULL,1}|{}|t|f|t|"b"=>"2"|"a"=>"1"|"b"=>"2"|f|t

query
SELECT skeys('b=>1,a=>2')
----
a
b

query
SELECT svals('b=>1,a=>NULL')
----
NULL
1

query
SELECT hstore_to_array('b=>1,a=>NULL'), hstore_to_matrix('b=>1,a=>NULL'), hstore_to_matrix('')
----
{a,NULL,b,1}|{{a,NULL},{b,1}}|{}

query
SELECT hstore_to_json('a=>1,b=>t,c=>NULL,"d\"e"=>1.5e3'), hstore_to_json_loose('a=>1,b=>t,c=>NULL,d=>1.5e3,e=>01,f=>-.5'), hstore_to_jsonb('b=>1,a=>x'), hstore_to_jsonb_loose('b=>1e2,a=>f')
----
{"a": "1", "b": "t", "c": null, "d\"e": "1.5e3"}|{"a": 1, "b": true, "c": null, "d": 1.5e3, "e": "01", "f": "-.5"}|{"a": "x", "b": "1"}|{"a": false, "b": 100}

query
SELECT 'a=>1'::hstore::json, 'a=>1'::hstore::jsonb, 'a=>1'::hstore::text, '{a,1}'::text[]::hstore, to_json('a=>1'::hstore), to_jsonb(ARRAY['a=>1'::hstore]), json_build_object('x', 'a=>1'::hstore)
----
{"a": "1"}|{"a": "1"}|"a"=>"1"|"a"=>"1"|{"a": "1"}|[{"a": "1"}]|{"x" : {"a": "1"}}

query
SELECT pg_typeof('a=>1'::hstore), pg_typeof(ARRAY['a=>1'::hstore]), ARRAY['a=>1'::hstore, ''], '{"\"a\"=>\"1\"",NULL}'::hstore[]
----
hstore|hstore[]|{"\"a\"=>\"1\"",""}|{"\"a\"=>\"1\"",NULL}

statement error 42601
SELECT 'a'::hstore

statement error 42601
SELECT 'a=>'::hstore

statement error 42601
SELECT '=>1'::hstore

statement error 42601
SELECT 'a=>"1'::hstore

statement error 42883
SELECT 'a=>1'::hstore -> 1

statement error 42883
SELECT 'a=>1'::hstore + 'b=>2'::hstore

statement ok
CREATE TABLE h_store (id int PRIMARY KEY, h hstore, hs hstore[], d hstore DEFAULT 'x=>1')

statement ok
INSERT INTO h_store (id, h) VALUES (1, 'a=>1,b=>2'), (2, 'a=>2'), (3, NULL), (4, ''), (5, hstore('a', NULL))

statement error 42601
INSERT INTO h_store (id, h) VALUES (6, 'a')

statement error 42804
INSERT INTO h_store (id, h) VALUES (7, '{"a": 1}'::jsonb)

statement ok
UPDATE h_store SET h = h || 'z=>9', hs = ARRAY[h, 'q=>NULL'] WHERE id = 2

query
SELECT * FROM h_store ORDER BY id
----
1|"a"=>"1", "b"=>"2"|NULL|"x"=>"1"
2|"a"=>"2", "z"=>"9"|{"\"a\"=>\"2\"","\"q\"=>NULL"}|"x"=>"1"
3|NULL|NULL|"x"=>"1"
4||NULL|"x"=>"1"
5|"a"=>NULL|NULL|"x"=>"1"

query
SELECT id FROM h_store WHERE h ? 'a' ORDER BY id
----
1
2
5

query
SELECT id FROM h_store WHERE h -> 'a' = '1' ORDER BY id
----
1

query
SELECT id FROM h_store WHERE h @> 'a=>2' ORDER BY id
----
2

query
SELECT id FROM h_store WHERE h = '"b"=>"2", "a"=>"1"'
----
1

query
SELECT id, h FROM h_store ORDER BY h, id
----
4|
5|"a"=>NULL
1|"a"=>"1", "b"=>"2"
2|"a"=>"2", "z"=>"9"
3|NULL

query
SELECT h, count(*) FROM h_store GROUP BY h ORDER BY h
----
|1
"a"=>NULL|1
"a"=>"1", "b"=>"2"|1
"a"=>"2", "z"=>"9"|1
NULL|1

query
SELECT DISTINCT h -> 'a' AS v FROM h_store ORDER BY v
----
1
2
NULL

query
SELECT id FROM h_store WHERE h IN ('a=>1,b=>2', '') ORDER BY id
----
1
4

query
SELECT count(DISTINCT h) FROM h_store
----
4

query
SELECT a.id, b.id FROM h_store a JOIN h_store b ON a.h = b.h ORDER BY 1
----
1|1
2|2
4|4
5|5

query
SELECT coalesce(h, 'n=>1') FROM h_store WHERE id = 3
----
"n"=>"1"

statement ok
ALTER TABLE h_store ALTER COLUMN d TYPE text

query
SELECT d FROM h_store WHERE id = 1
----
"x"=>"1"

statement ok
ALTER TABLE h_store ALTER COLUMN d TYPE hstore USING d::hstore

query
SELECT d -> 'x' FROM h_store WHERE id = 1
----
1

query
SELECT typname, typcategory, typlen FROM pg_type WHERE typname IN ('hstore', '_hstore') ORDER BY typname
----
_hstore|A|-1
hstore|U|-1

query
SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'h_store'::regclass AND attnum > 0 ORDER BY attnum
----
integer
hstore
hstore[]
hstore

statement error 0A000
CREATE INDEX ON h_store (h)

statement error 0A000
CREATE TABLE h_key (h hstore PRIMARY KEY)

statement error 42883
SELECT * FROM each('a=>1'::hstore)

statement error 0A000
CREATE EXTENSION postgis

statement ok
DROP TABLE h_store

statement error 42883
SELECT 'a=>1'::hstore ? ARRAY['a']

statement error 42883
SELECT 'a=>1'::hstore || ARRAY['a','b']

statement error 42883
SELECT 'a=>1'::hstore @> ARRAY['a']

# A column keeps the extension; a type of a user of its name comes first.
statement ok
CREATE TABLE t_keeps (id int, h hstore, hs hstore[])

statement error 2BP01
DROP EXTENSION hstore

statement error 0A000
DROP EXTENSION hstore CASCADE

statement error 42710
CREATE DOMAIN hstore AS text

statement ok
DROP TABLE t_keeps

statement ok
DROP EXTENSION hstore

statement ok
CREATE DOMAIN hstore AS text

query
SELECT 'qq'::hstore
----
qq

statement error 42710
CREATE EXTENSION hstore

statement ok
DROP DOMAIN hstore

statement ok
CREATE EXTENSION hstore

# Each row within an expression is a value.
query
SELECT unnest(ARRAY['a=>1'::hstore, 'c=>3']) || 'b=>2'
----
"a"=>"1", "b"=>"2"
"b"=>"2", "c"=>"3"

query
SELECT skeys('a=>1'::hstore) || 'x'
----
ax

query
SELECT 'a=>1'::public.hstore
----
"a"=>"1"

# Extensions of index methods and types that are refused where they are named.
statement ok
CREATE EXTENSION IF NOT EXISTS btree_gin

statement ok
CREATE EXTENSION bloom

statement ok
CREATE EXTENSION btree_gist

statement ok
CREATE EXTENSION citext

statement error 42710
CREATE EXTENSION citext

statement ok
CREATE EXTENSION IF NOT EXISTS plpgsql

statement error 0A000
CREATE TABLE t_keeps (t citext)

statement ok
CREATE TABLE t_keeps (t text)

statement error 42704
CREATE INDEX ON t_keeps USING gin (t)

statement error 0A000
CREATE INDEX ON t_keeps USING bloom (t)

statement ok
DROP TABLE t_keeps
