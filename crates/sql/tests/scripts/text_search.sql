# Text search: documents and questions, without dictionaries. The answers are those of PostgreSQL 15.

query
SELECT 'a fat cat'::tsvector, 'a:1 fat:2,4A cat:3b,2D fat'::tsvector, ''::tsvector, $$'it''s' 'b\\c':20000 ' x '$$::tsvector, 'b:3,1,3A a'::tsvector
----
'a' 'cat' 'fat'|'a':1 'cat':2,3B 'fat':2,4A||' x ' 'b\\c':16383 'it''s'|'a' 'b':1,3A

statement error 42601
SELECT 'a:0'::tsvector

statement error 42601
SELECT 'a:x'::tsvector

statement error 42601
SELECT $$'a$$::tsvector

statement error 42601
SELECT $$''$$::tsvector

query
SELECT 'fat & rat'::tsquery, 'fat&rat|cat'::tsquery, '!fat & (rat | cat)'::tsquery, '(fat | rat) & cat'::tsquery, 'a <-> b <3> c'::tsquery, 'a <-> (b <-> c)'::tsquery, '!!a'::tsquery, '!(a & b)'::tsquery
----
'fat' & 'rat'|'fat' & 'rat' | 'cat'|!'fat' & ( 'rat' | 'cat' )|( 'fat' | 'rat' ) & 'cat'|'a' <-> 'b' <3> 'c'|'a' <-> ( 'b' <-> 'c' )|!!'a'|!( 'a' & 'b' )

query
SELECT 'fat:ab & cat'::tsquery, 'super:*'::tsquery, 'super:*A'::tsquery, $$'a b' | 'it''s'$$::tsquery, ''::tsquery
----
'fat':AB & 'cat'|'super':*|'super':*A|'a b' | 'it''s'|

statement error 42601
SELECT 'a &'::tsquery

statement error 42601
SELECT '(a'::tsquery

statement error 42601
SELECT 'a b'::tsquery

statement error 22023
SELECT 'a <16385> b'::tsquery

query
SELECT 'fat:2 cat:3 rat:1A'::tsvector @@ 'fat & rat', 'fat:2'::tsvector @@ 'cat', 'fat'::tsvector @@ '!cat', 'fat & cat'::tsquery @@ 'fat:1 cat:2'::tsvector, 'fat:1 cat:2'::tsvector @@ 'fat <-> cat', 'fat:1 cat:3'::tsvector @@ 'fat <-> cat', 'fat:1 cat:3'::tsvector @@ 'fat <2> cat'
----
t|f|t|t|t|f|t

query
SELECT 'fat cat'::tsvector @@ 'fat <-> cat', 'fat:1A cat:2'::tsvector @@ 'fat:A & cat:D', 'fat:1A'::tsvector @@ 'fat:B', 'fatter:1'::tsvector @@ 'fat:*', 'fatter:1 cat:2'::tsvector @@ 'fat:* <-> cat', ''::tsvector @@ 'a', 'a'::tsvector @@ ''
----
f|t|f|t|t|f|f

query
SELECT 'fat:1 cat:2 rat:3'::tsvector @@ 'fat <-> !rat', 'fat:1 cat:2 rat:3'::tsvector @@ '!fat <-> cat', 'fat:1 cat:2 rat:3'::tsvector @@ 'fat <-> (cat | dog) <-> rat', 'fat:1 cat:2'::tsvector @@ 'fat <-> (cat & !dog)', 'a:1 b:2 c:3'::tsvector @@ 'a <-> (b <-> c)', 'a:1 b:2 c:3'::tsvector @@ '(a <-> b) <-> c'
----
t|f|t|t|t|t

query
SELECT length('a:1 b'::tsvector), strip('a:1,2A b:3'::tsvector), setweight('a:1,2A b:3 c'::tsvector, 'B'), setweight('a:1 b:2'::tsvector, 'A', '{a}'), 'a:1 b:2'::tsvector || 'c:1 b:1'::tsvector, 'a'::tsvector || 'b:1'::tsvector
----
2|'a' 'b'|'a':1B,2B 'b':3B 'c'|'a':1A 'b':2|'a':1 'b':2,3 'c':3|'a' 'b':1

statement error 22023
SELECT setweight('a:1'::tsvector, 'x')

query
SELECT ts_delete('a:1 b:2 c:3'::tsvector, 'a'), ts_delete('a:1 b:2 c:3'::tsvector, ARRAY['a','c']), ts_filter('a:1A,2 b:3B c:4'::tsvector, '{a,b}'), tsvector_to_array('b:1 a:2'::tsvector), array_to_tsvector(ARRAY['b','a','b'])
----
'b':2 'c':3|'b':2|'a':1A 'b':3B|{a,b}|'a' 'b'

statement error 22004
SELECT array_to_tsvector(ARRAY['a', NULL])

statement error 2200F
SELECT array_to_tsvector(ARRAY['a', ''])

query
SELECT numnode('(fat & rat) | cat'::tsquery), numnode(''::tsquery), querytree('fat & !rat'::tsquery), querytree('!rat'::tsquery), querytree('a | !b'::tsquery)
----
5|0|'fat'|T|T

query
SELECT 'a'::tsquery && 'b | c', 'a'::tsquery || 'b & c', !! 'a & b'::tsquery, 'a'::tsquery <-> 'b | c', tsquery_phrase('a', 'b', 4), 'a'::tsquery && '', tsquery_not('a')
----
'a' & ( 'b' | 'c' )|'a' | 'b' & 'c'|!( 'a' & 'b' )|'a' <-> ( 'b' | 'c' )|'a' <4> 'b'|'a'|!'a'

statement error 22023
SELECT tsquery_phrase('a', 'b', 20000)

query
SELECT pg_typeof('a'::tsvector), pg_typeof(ARRAY['a'::tsquery]), ARRAY['a:1'::tsvector, 'b'], 'a'::tsvector::text, to_json('a:1'::tsvector)
----
tsvector|tsquery[]|{'a':1,'b'}|'a'|"'a':1"

query
SELECT 'a:1'::tsvector = 'a:1'::tsvector, 'a:1'::tsvector < 'b:1'::tsvector, 'b'::tsvector < 'a:1'::tsvector, 'a'::tsquery = 'a', 'a:1,2'::tsvector < 'a:1'::tsvector, 'a:2'::tsvector < 'a:1'::tsvector
----
t|t|t|t|f|t

statement ok
CREATE TABLE t_doc (id int PRIMARY KEY, doc tsvector, asked tsquery, docs tsvector[])

statement ok
INSERT INTO t_doc VALUES (1, 'fat:1 cat:2', 'fat & cat'), (2, 'rat:1', NULL), (3, NULL, 'rat'), (4, '', '')

statement error 42601
INSERT INTO t_doc VALUES (5, 'a:0')

statement ok
UPDATE t_doc SET doc = doc || 'new:1', docs = ARRAY[doc] WHERE id = 2

query
SELECT * FROM t_doc ORDER BY id
----
1|'cat':2 'fat':1|'fat' & 'cat'|NULL
2|'new':2 'rat':1|NULL|{'rat':1}
3|NULL|'rat'|NULL
4|||NULL

query
SELECT id FROM t_doc WHERE doc @@ 'fat | rat' ORDER BY id
----
1
2

query
SELECT d.id, q.id FROM t_doc d JOIN t_doc q ON d.doc @@ q.asked ORDER BY 1, 2
----
1|1
2|3

query
SELECT doc, count(*) FROM t_doc GROUP BY doc ORDER BY doc
----
|1
'cat':2 'fat':1|1
'new':2 'rat':1|1
NULL|1

query
SELECT id FROM t_doc ORDER BY doc, id
----
4
1
2
3

query
SELECT count(DISTINCT doc) FROM t_doc
----
3

statement error 42883
SELECT 'a'::tsvector @@ 'b'::tsvector

statement error 42883
SELECT 'a'::tsquery + 1

query
SELECT typname, oid, typarray FROM pg_type WHERE typname IN ('tsvector', 'tsquery') ORDER BY 1
----
tsquery|3615|3645
tsvector|3614|3643

statement error 0A000
CREATE INDEX ON t_doc (doc)

statement ok
CREATE INDEX ON t_doc USING gin (doc)

statement ok
DROP TABLE t_doc

query
SELECT 'ab:1 ac d:2'::tsvector @@ 'a:* <-> d', 'ab:1 ac:1 d:2'::tsvector @@ 'a:* <-> d'
----
f|t

query
SELECT length(E'a\u00a0b\u0085c\u3000d\u2007e'::tsvector), length(E'a\u2003b'::tsvector)
----
2|2

query
SELECT ts_delete('a:1 b'::tsvector, ARRAY['a',NULL]), setweight('a:1 b:2'::tsvector,'A',ARRAY['a',NULL])
----
'b'|'a':1A 'b':2

query
SELECT numnode((repeat('(',100) || 'a' || repeat(repeat('&b',49) || ')', 100))::tsquery)
----
9801

query
SELECT numnode(('(' || repeat('w|', 299) || 'w)')::tsquery || ('(' || repeat('w|', 299) || 'w)')::tsquery), 'w:1'::tsvector @@ (('(' || repeat('w|', 299) || 'w)')::tsquery || ('(' || repeat('w|', 299) || 'w)')::tsquery)
----
1199|t

query
SELECT numnode(('(' || repeat('w&', 299) || 'w)&(' || repeat('w&', 299) || 'w)')::tsquery), 'w:1'::tsvector @@ ('(' || repeat('w&', 299) || 'w)&(' || repeat('w&', 299) || 'w)')::tsquery
----
1199|t

query
SELECT querytree('!a'::tsquery), querytree('a & !b'::tsquery), querytree('a | !b'::tsquery), querytree('(a | !b) & c'::tsquery), querytree('!(a & b) <-> (c | d)'::tsquery), querytree(''::tsquery)
----
T|'a'|T|'c'|'c' | 'd'|

query
SELECT (repeat('x', 2046))::tsquery @@ 'a'::tsvector, length((repeat('x', 2046))::tsvector)
----
f|1

statement error 54000
SELECT (repeat('x', 2047))::tsquery

statement error 54000
SELECT (repeat('x', 2047))::tsvector

query
SELECT 'a & (b & c)'::tsquery::text, 'a <-> (b <-> c)'::tsquery, 'a <-> b <-> c'::tsquery, '!!(a|!b)&c'::tsquery, '(a <2> b) <-> !c:*A'::tsquery
----
'a' & 'b' & 'c'|'a' <-> ( 'b' <-> 'c' )|'a' <-> 'b' <-> 'c'|!!( 'a' | !'b' ) & 'c'|'a' <2> 'b' <-> !'c':*A

query
SELECT 'a:1 b:2 c:3'::tsvector @@ 'a <-> (b <-> c)', 'a:1 b:2 c:3'::tsvector @@ 'a <-> !(c | d)', 'a:1 b:2 c:3'::tsvector @@ '!(a <-> b) <-> c', 'a:1 b:2 c:3'::tsvector @@ 'a <-> (b & !c)', 'a:1 b:2'::tsvector @@ '(a | x) <-> (y | b)', 'a b'::tsvector @@ 'a <-> b'
----
t|t|f|t|t|f

# Words that PostgreSQL's array_to_tsvector takes, though their text does not read.
statement error 54000
SELECT array_to_tsvector(ARRAY[repeat('x', 3000), 'b'])

statement error 54000
SELECT (repeat('a&', 40000) || 'a')::tsquery

# 49,000 operators on the left of each other.
query
SELECT numnode((repeat('(',490) || 'a' || repeat(repeat('&b',50) || ')', 490))::tsquery)
----
49001

statement ok
CREATE TABLE t_kept (doc tsvector, q tsquery)

statement error 0A000
ALTER TABLE t_kept ADD CHECK (doc @@ q)

statement ok
DROP TABLE t_kept
