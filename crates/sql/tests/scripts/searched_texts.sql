# Documents and questions of texts: the parser, and the configurations english and simple. The answers are those of PostgreSQL 15.

query
SELECT to_tsvector('english', 'The quick brown foxes jumped over the lazy dogs'), to_tsvector('simple', 'The quick brown foxes')
----
'brown':3 'dog':9 'fox':4 'jump':5 'lazi':8 'quick':2|'brown':3 'foxes':4 'quick':2 'the':1

query
SELECT to_tsvector('english', 'Running runners ran; easily connected connections of organizations, generalizing relational happiness')
----
'connect':5,6 'easili':4 'general':9 'happi':11 'organ':8 'ran':3 'relat':10 'run':1 'runner':2

query
SELECT to_tsvector('pg_catalog.english'::regconfig, 'A fat-cat and state-of-the-art x-5 x5-foo it''s O''Hara''s 3rd')
----
'-5':12 '3rd':21 'art':10 'cat':4 'fat':3 'fat-cat':2 'foo':15 'hara':19 'o':18 'state':7 'state-of-the-art':6 'x':11 'x5':14 'x5-foo':13

query
SELECT to_tsvector('simple', '12 -12 +3 1.5 -1.5 1e5 2.5e-3 1.2.3 v1.2 10.0.0.1')
----
'+3':3 '-1.5':5 '-12':2 '1.2.3':8 '1.5':4 '10.0.0.1':10 '12':1 '1e5':6 '2.5e-3':7 'v1.2':9

query
SELECT to_tsvector('simple', 'mail ada.b@example.org or see http://www.example.com/a/b.html?x=1 and example.com, www.test.org:8080/x')
----
'/a/b.html?x=1':7 '/x':12 'ada.b@example.org':2 'and':8 'example.com':9 'mail':1 'or':3 'see':4 'www.example.com':6 'www.example.com/a/b.html?x=1':5 'www.test.org:8080':11 'www.test.org:8080/x':10

query
SELECT to_tsvector('simple', '/usr/local/bin/x and/or ~/x.txt foo_bar e.g. U.S.A. end.Next <b>bold</b> &amp; R&D')
----
'/usr/local/bin/x':1 '/x.txt':3 'and/or':2 'bar':5 'bold':9 'd':11 'e.g':6 'end.next':8 'foo':4 'r':10 'u.s.a':7

query
SELECT to_tsvector('simple', 'Größe ÉCOLE naïve 東京 привет-мир'), to_tsvector('english', '')
----
'größe':1 'naïve':3 'école':2 'мир':7 'привет':6 'привет-мир':5 '東京':4|

query
SELECT to_tsvector('english', NULL), to_tsvector('english', 'a the of')
----
NULL|

query
SELECT to_tsquery('english', 'The & fat & cats'), to_tsquery('english', 'fat | !running'), to_tsquery('simple', 'fat:*A & ''fat cats'''), to_tsquery('english', 'cat <-> the <-> dogs')
----
'fat' & 'cat'|'fat' | !'run'|'fat':*A & 'fat' <-> 'cats'|'cat' <2> 'dog'

query
SELECT to_tsquery('english', '(the & of) | cat'), to_tsquery('english', '!the'), to_tsquery('english', 'well-known & cat'), to_tsquery('english', 'a <-> cat <-> of <-> the <-> dog')
----
'cat'||'well-known' <-> 'well' <-> 'known' & 'cat'|'cat' <3> 'dog'

query
SELECT plainto_tsquery('english', 'The Fat Rats are running'), plainto_tsquery('simple', 'The Fat'), plainto_tsquery('english', 'the of')
----
'fat' & 'rat' & 'run'|'the' & 'fat'|

query
SELECT phraseto_tsquery('english', 'The Fat Rats of the house'), phraseto_tsquery('simple', 'a b c')
----
'fat' <-> 'rat' <3> 'hous'|'a' <-> 'b' <-> 'c'

query
SELECT websearch_to_tsquery('english', '"supernovae stars" -crab'), websearch_to_tsquery('english', 'sad cat or "fat rat" dogs'), websearch_to_tsquery('simple', 'or a or')
----
'supernova' <-> 'star' & !'crab'|'sad' & 'cat' | 'fat' <-> 'rat' & 'dog'|'or' & 'a' & 'or'

query
SELECT 'fat cats ate rats' @@ to_tsquery('english', 'cat & rat'), 'fat cats' @@ 'cat', to_tsvector('english', 'fat cats ate fat rats') @@ to_tsquery('english', 'fat <-> rats'), to_tsvector('simple', 'cats') @@ to_tsquery('english', 'cats')
----
t|t|t|f

query
SELECT ts_rank(to_tsvector('english', 'a fat cat sat on a mat and ate a fat rat'), to_tsquery('english', 'fat')), ts_rank(to_tsvector('english', 'a fat cat sat on a mat and ate a fat rat'), to_tsquery('english', 'fat & rat')), ts_rank(to_tsvector('english', 'a fat cat'), to_tsquery('english', 'dog | cat')), ts_rank(to_tsvector('english', 'a fat cat'), to_tsquery('english', 'dog'))
----
0.075990885|0.13493292|0.030396355|0

query
SELECT ts_rank('{0.1,0.2,0.4,1.0}', setweight(to_tsvector('english', 'cat rat'), 'A') || to_tsvector('english', 'cat dog bird'), to_tsquery('english', 'cat & rat'), 32), ts_rank(to_tsvector('english', 'cat rat dog'), to_tsquery('english', 'cat & dog'), 2), ts_rank(to_tsvector('english', 'cat rat dog'), to_tsquery('english', 'cat'), 1), ts_rank('{0,0,0,0.5}', 'cat:1A rat:2'::tsvector, 'cat & rat'::tsquery)
----
0.49845588|0.032833617|0.030396355|0

query
SELECT 'english'::regconfig::oid = (SELECT oid FROM pg_ts_config WHERE cfgname = 'english'), 'simple'::regconfig, 3748::regconfig, current_setting('default_text_search_config')
----
t|simple|simple|pg_catalog.english

statement error 42704
SELECT 'klingon'::regconfig
----
text search configuration "klingon" does not exist

statement error 42704
SELECT to_tsvector('klingon', 'x')
----
text search configuration "klingon" does not exist

statement error 42601
SELECT to_tsquery('english', 'a b')
----
syntax error in tsquery: "a b"

statement error 2202E
SELECT ts_rank('{0.1}', 'a'::tsvector, 'a'::tsquery)
----
array of weight is too short

# The session's configuration.
statement ok
SET default_text_search_config = 'simple'

query
SELECT to_tsvector('The Cats'), to_tsquery('Cats'), get_current_ts_config(), plainto_tsquery('The'), websearch_to_tsquery('The'), phraseto_tsquery('The Cats')
----
'cats':2 'the':1|'cats'|simple|'the'|'the'|'the' <-> 'cats'

statement ok
SET default_text_search_config TO DEFAULT

# Generated columns and indexes name their configuration.
statement ok
CREATE TABLE papers (id int PRIMARY KEY, title text, body text, words tsvector GENERATED ALWAYS AS (setweight(to_tsvector('english', coalesce(title, '')), 'A') || to_tsvector('english', coalesce(body, ''))) STORED)

statement ok
CREATE INDEX papers_words ON papers USING gin (words)

statement ok
CREATE INDEX papers_title ON papers USING gin (to_tsvector('simple', title))

statement ok
INSERT INTO papers VALUES (1, 'Engines', 'The engine of the car'), (2, 'Cars', 'Engines run'), (3, NULL, 'nothing')

query
SELECT id, words FROM papers ORDER BY id
----
1|'car':6 'engin':1A,3
2|'car':1A 'engin':2 'run':3
3|'noth':1

query
SELECT id, ts_rank(words, q) FROM papers, plainto_tsquery('english', 'engine') q WHERE words @@ q ORDER BY 2 DESC, 1
----
1|0.6231253
2|0.06079271

statement ok
UPDATE papers SET body = 'running cats' WHERE id = 3

query
SELECT id FROM papers WHERE words @@ websearch_to_tsquery('english', 'cat -engine')
----
3

statement error 42P17
CREATE TABLE refused (t text, w tsvector GENERATED ALWAYS AS (to_tsvector(t)) STORED)
----
generation expression is not immutable

statement ok
DROP TABLE papers

# Signs end words, `or` is a word where an operand is awaited.
query
SELECT websearch_to_tsquery('simple', 'fat:*rat'), websearch_to_tsquery('simple', 'user:admin'), websearch_to_tsquery('simple', 'cat|dog(a)!b&c'), websearch_to_tsquery('simple', 'fat:A!cat:B|rat:C<')
----
'fat' & 'rat'|'user' & 'admin'|'cat' & 'dog' & 'a' & 'b' & 'c'|'fat' & 'a' & 'cat' & 'b' & 'rat' & 'c'

query
SELECT websearch_to_tsquery('simple', 'a or or b'), websearch_to_tsquery('simple', 'a or "b c"or d'), websearch_to_tsquery('simple', '--a -(b'), websearch_to_tsquery('simple', 'a or ) '), websearch_to_tsquery('english', 'the or a:b -the')
----
'a' | 'or' & 'b'|'a' | 'b' <-> 'c' | 'd'|!!'a' & !'b'|'a'|'b'

# A logarithm is not rounded before the division; a lexeme without places is at the last one.
query
SELECT ts_rank(to_tsvector('simple', 'a b c d e f g h i j k'), 'a', 1), ts_rank(to_tsvector('simple', 'a b c d e f g h i j k'), 'a', 16), ts_rank(to_tsvector('simple', 'a b c d e f g h i j k'), 'a', 17), ts_rank('a b:16380'::tsvector, 'a & b')
----
0.016957698|0.016957698|0.00473023|0.09735848

# Deep questions and long texts take time and memory that are linear in their length.
query
SELECT numnode(to_tsquery('simple', repeat('a&(', 32767) || 'a' || repeat(')', 32767)))
----
65535

query
SELECT to_tsquery('english', 'a <-> (the & cat) <-> !(of | dog)'), to_tsquery('english', '!(the) & (cat | (a <-> b))')
----
'cat' <-> !'dog'|'cat' | 'b'

query
SELECT to_tsvector('simple', repeat('b ', 20000)) = to_tsvector('simple', repeat('b ', 256)), length(to_tsvector('simple', repeat('b ', 20000) || 'c'))
----
t|2

statement error 54000
SELECT websearch_to_tsquery('simple', repeat('b ', 40000))

statement error 54000
SELECT plainto_tsquery('simple', repeat('b ', 40000))

# Signs behind an operand mean nothing, and of equal words one counts.
query
select websearch_to_tsquery('simple', '<->dogs'), websearch_to_tsquery('simple', 'a(or cat'), websearch_to_tsquery('simple', 'a<b'), websearch_to_tsquery('simple', 'a ( & or <b'), websearch_to_tsquery('simple', 'a !or b')
----
!'dogs'|'a' | 'cat'|'a' & 'b'|'a' | 'b'|'a' | 'b'

query
select ts_rank(to_tsvector('simple', 'cat cats catsy'), 'cat:* | cat'), ts_rank(to_tsvector('simple', 'cat cats catsy'), 'cat | cat:*'), ts_rank(to_tsvector('simple', 'cat cats catsy'), 'cat & cat:*')
----
0.06079271|0.18237813|0.18237813

statement error 2202E
select ts_rank('{{0.1,0.2},{0.3,0.5}}', to_tsvector('simple', 'cat'), 'cat')
----
array of weight must be one-dimensional

statement error 2202E
select ts_rank('{}', to_tsvector('simple', 'cat'), 'cat')
----
array of weight must be one-dimensional

statement error 2202E
select ts_rank('{0.1,0.2}', to_tsvector('simple', 'cat'), 'cat')
----
array of weight is too short
