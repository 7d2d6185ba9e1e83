# Similar texts (pg_trgm), texts without accents (unaccent), and the overlap of arrays. The answers are those of
# PostgreSQL 15.

statement ok
CREATE EXTENSION IF NOT EXISTS pg_trgm

statement ok
CREATE EXTENSION IF NOT EXISTS unaccent

query
SELECT show_trgm('word'), show_trgm('Two words'), show_trgm(''), show_trgm('é'), show_trgm('a-b')
----
{"  w"," wo",ord,"rd ",wor}|{"  t","  w"," tw"," wo","ds ",ord,rds,two,"wo ",wor}|{}|{0xe69b54,0xe82c48}|{"  a","  b"," a "," b "}

query
SELECT similarity('word', 'two words'), similarity('', 'a'), similarity('a', 'A'), word_similarity('word', 'two words'), strict_word_similarity('word', 'two words'), strict_word_similarity('words', 'two words')
----
0.36363637|0|1|0.8|0.5714286|1

query
SELECT similarity('Straße', 'strasse'), similarity(NULL, 'a'), similarity_dist('word', 'words'), 'word' <-> 'words'::text
----
0.36363637|NULL|0.4285714|0.4285714

query
SELECT 'word'::text % 'words', 'word'::text % 'x', 'word'::text <% 'two words', 'two words'::text %> 'word', 'word'::text <<% 'two words', 'two words'::text %>> 'word'
----
t|f|t|t|t|t

query
SELECT 'word'::text <<-> 'two words', 'two words'::text <->> 'word', 'word'::text <<<-> 'two words', 'two words'::text <->>> 'word'
----
0.19999999|0.19999999|0.4285714|0.4285714

query
SELECT 7 % 4, 7 % 4 = 3
----
3|t

query
SELECT similarity('abc', 'abd') > 0.3 AND 'abc'::text % 'abd', 1 - ('abc'::text <-> 'abd')
----
t|0.3333333730697632

statement ok
SET pg_trgm.similarity_threshold = 0.9

query
SELECT 'word'::text % 'words', show_limit()
----
f|0.9

statement ok
RESET pg_trgm.similarity_threshold

query
SELECT show_limit()
----
0.3

statement ok
CREATE TABLE t_trgm (id int, name text, v varchar(20))

statement ok
INSERT INTO t_trgm VALUES (1, 'Mathew', 'Matthew'), (2, 'Cathy', 'Kathy'), (3, NULL, 'x')

query
SELECT id, similarity(name, 'Mathews') FROM t_trgm WHERE name % 'Mathews' ORDER BY name <-> 'Mathews'
----
1|0.6666667

query
SELECT id FROM t_trgm WHERE v % 'Kathie' OR v % 'Mathew' ORDER BY id
----
1
2

statement ok
DROP TABLE t_trgm

query
SELECT unaccent('Hôtel'), unaccent('ÀÉÎõü'), unaccent('Straße Æsir œuvre ½ №'), unaccent(''), unaccent('日本'), unaccent(NULL)
----
Hotel|AEIou|Strasse AEsir oeuvre 1/2 No||日本|NULL

query
SELECT unaccent('é') = 'e', upper(unaccent('é'))
----
t|E

query
SELECT '{1,2,3}'::int[] @> '{2,3}', '{1,2,3}'::int[] @> '{4}', '{1,2}'::int[] <@ '{1,2,3}', '{1,2}'::int[] && '{2,9}', '{1}'::int[] && '{}', '{1}'::int[] @> '{}', '{}'::int[] <@ '{}'
----
t|f|t|t|f|t|t

query
SELECT '{1,NULL}'::int[] @> '{NULL}', '{1,NULL}'::int[] @> '{1}', '{NULL}'::int[] && '{NULL}', '{NULL}'::int[] <@ '{NULL}'
----
f|t|f|f

query
SELECT ARRAY['a','b'] @> ARRAY['a'], ARRAY['a']::varchar[] && ARRAY['a']::varchar[], '{{1,2},{3,4}}'::int[] @> '{4}', ARRAY[1.0, 2] @> ARRAY[1.00], ARRAY[1.5::float8] <@ ARRAY[1.5::float8, 2]
----
t|t|t|t|t

query
SELECT ARRAY[date '2020-01-01'] && ARRAY[date '2020-01-01'], NULL::int[] @> '{1}', '{"{\"a\": 1}"}'::jsonb[] @> '{"{\"a\":1}"}'
----
t|NULL|t

statement error 42883
SELECT ARRAY[1] @> ARRAY['a']::text[]

statement error 42883
SELECT '{1}'::int[] @> 1

statement ok
CREATE TABLE t_arr (id int, a varchar(3)[], n numeric(5,2)[], t time(0)[])

statement ok
INSERT INTO t_arr VALUES (1, '{abc,NULL}', '{1.234,99}', '{12:00:00.6}')

statement error 22001
INSERT INTO t_arr VALUES (2, '{abcd}', NULL, NULL)

statement error 22001
INSERT INTO t_arr VALUES (2, ARRAY['abcd'], NULL, NULL)

statement error 22003
INSERT INTO t_arr VALUES (2, ARRAY['abc  '], '{1000}', NULL)

statement ok
INSERT INTO t_arr (id, a) SELECT 3, ARRAY['abc  ', 'd']

statement error 22001
UPDATE t_arr SET a = a || 'wxyz'::varchar WHERE id = 1

query
SELECT * FROM t_arr ORDER BY id
----
1|{abc,NULL}|{1.23,99.00}|{12:00:01}
3|{abc,d}|NULL|NULL

query
SELECT id FROM t_arr WHERE a @> ARRAY['abc']::varchar[] ORDER BY id
----
1
3

query
SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 't_arr'::regclass AND attnum > 0 ORDER BY attnum
----
integer
character varying(3)[]
numeric(5,2)[]
time(0) without time zone[]

statement error 22001
ALTER TABLE t_arr ALTER COLUMN a TYPE varchar(1)[]

statement ok
ALTER TABLE t_arr ALTER COLUMN a TYPE varchar(10)[]

statement ok
ALTER TABLE t_arr ALTER COLUMN a TYPE varchar(1)[] USING a::varchar(1)[]

query
SELECT a FROM t_arr ORDER BY id
----
{a,NULL}
{a,d}

statement ok
DROP TABLE t_arr

# Thresholds are known without the extension, and checked.
query
SHOW pg_trgm.similarity_threshold
----
0.3

statement error 22023
SET pg_trgm.word_similarity_threshold = 2

statement error 22023
SET pg_trgm.word_similarity_threshold = 'x'

statement error 42883
SELECT 'a'::text <-> 1

query
SELECT similarity(repeat('abc def é ', 40000), repeat('xyz é ', 40000)), similarity('İx', 'ix')
----
0.14285715|1

query
SELECT cardinality(show_trgm(repeat('Größe abc ÿz 日本語 x1 ', 9000))), show_trgm(repeat('Größe abc ÿz 日本語 x1 ', 9000)) = show_trgm('Größe abc ÿz 日本語 x1 ')
----
20|t

query
SELECT unaccent(repeat('é', 100000)) = repeat('e', 100000)
----
t

statement error 54000
SELECT word_similarity('aaaa', repeat('a', 30000))

statement error 54000
SELECT strict_word_similarity('a', repeat('a ', 600000))

statement error 0A000
CREATE TABLE t_kept (a text, b text, s real GENERATED ALWAYS AS (word_similarity(a, b)) STORED)

statement error 0A000
CREATE TABLE t_kept (a text, b text, CHECK (strict_word_similarity(a, b) > 0.5))
