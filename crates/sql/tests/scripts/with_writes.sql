# Parts of WITH that write, and what they give, as PostgreSQL 15 has it: all read the state before the statement.

statement ok
CREATE TABLE a (id int PRIMARY KEY, n int, t text)

statement ok
CREATE TABLE b (id int PRIMARY KEY, n int, t text)

statement ok
CREATE TABLE log (what text, id int)

statement INSERT 0 6
INSERT INTO a SELECT i, i * 10, 't' || i FROM generate_series(1, 6) i

query
WITH x AS (INSERT INTO b VALUES (1, 1, 'one'), (2, 2, 'two') RETURNING id, t) SELECT * FROM x ORDER BY id
----
1|one
2|two

# The snapshot of the main query is the one before.
query
WITH x AS (INSERT INTO b VALUES (3, 3, 'three') RETURNING id) SELECT count(*), (SELECT count(*) FROM x) FROM b
----
2|1

query
SELECT * FROM b ORDER BY id
----
1|1|one
2|2|two
3|3|three

query
WITH x AS (UPDATE a SET n = n + 1 WHERE id <= 2 RETURNING id, n) SELECT x.id, x.n, a.n FROM x JOIN a USING (id) ORDER BY 1
----
1|11|10
2|21|20

query
WITH x AS (DELETE FROM a WHERE id = 6 RETURNING *) SELECT x.*, (SELECT count(*) FROM a) FROM x
----
6|60|t6|6

query
SELECT id, n FROM a ORDER BY id
----
1|11
2|21
3|30
4|40
5|50

# Rows are moved.
statement INSERT 0 1
WITH moved AS (DELETE FROM a WHERE id = 5 RETURNING *) INSERT INTO b SELECT * FROM moved

query
SELECT * FROM b ORDER BY id
----
1|1|one
2|2|two
3|3|three
5|50|t5

query
WITH moved AS (DELETE FROM b WHERE id > 3 RETURNING *), back AS (INSERT INTO a SELECT * FROM moved RETURNING id) SELECT 'back', id FROM back
----
back|5

query
SELECT (SELECT count(*) FROM a), (SELECT count(*) FROM b)
----
5|3

# The classic upsert.
statement INSERT 0 0
WITH up AS (UPDATE b SET t = 'again' WHERE id = 1 RETURNING *) INSERT INTO b SELECT 1, 1, 'new' WHERE NOT EXISTS (SELECT * FROM up)

statement INSERT 0 1
WITH up AS (UPDATE b SET t = 'again' WHERE id = 9 RETURNING *) INSERT INTO b SELECT 9, 9, 'new' WHERE NOT EXISTS (SELECT * FROM up)

query
SELECT * FROM b ORDER BY id
----
1|1|again
2|2|two
3|3|three
9|9|new

# A part that is read by none runs whole.
query
WITH x AS (INSERT INTO log SELECT 'unread', id FROM a) SELECT 1
----
1

query
WITH x AS (UPDATE a SET n = 0 WHERE id = 1), y AS (DELETE FROM b WHERE id = 2) SELECT count(*) FROM a WHERE n = 0
----
0

query
SELECT (SELECT count(*) FROM log), (SELECT n FROM a WHERE id = 1), (SELECT count(*) FROM b)
----
5|0|3

# A part that is read in portions runs whole.
query
WITH x AS (INSERT INTO log SELECT 'limit', g FROM generate_series(1, 10) g RETURNING id) SELECT id FROM x ORDER BY id LIMIT 2
----
1
2

query
SELECT count(*) FROM log WHERE what = 'limit'
----
10

# INSERT … ON CONFLICT in a part; what it returns.
query
WITH ins AS (INSERT INTO b VALUES (1, 1, 'no'), (4, 4, 'four') ON CONFLICT (id) DO NOTHING RETURNING id, t) SELECT * FROM ins UNION ALL SELECT id, t FROM b WHERE id IN (1, 4) ORDER BY 1
----
1|again
4|four

query
WITH ins AS (INSERT INTO b VALUES (1, 1, 'upd'), (5, 5, 'five') ON CONFLICT (id) DO UPDATE SET t = excluded.t || b.t RETURNING id, t) SELECT * FROM ins ORDER BY 1
----
1|updagain
5|five

query
SELECT * FROM b ORDER BY id
----
1|1|updagain
3|3|three
4|4|four
5|5|five
9|9|new

# Parts before an INSERT with ON CONFLICT are seen by its keys.
query
WITH gone AS (DELETE FROM b WHERE id = 5 RETURNING *), ins AS (INSERT INTO b SELECT id, n, 'moved' FROM gone ON CONFLICT DO NOTHING RETURNING t) SELECT * FROM ins
----
moved

query
SELECT t FROM b WHERE id = 5
----
moved

statement ok
WITH one AS (INSERT INTO b VALUES (7, 7, 'one') RETURNING id), two AS (INSERT INTO b SELECT id, 8, 'two' FROM one ON CONFLICT DO NOTHING RETURNING id) SELECT count(*) FROM two

query
SELECT t FROM b WHERE id = 7
----
one

# UPDATE and DELETE behind parts.
statement UPDATE 2
WITH x AS (INSERT INTO log VALUES ('u', 1), ('u', 2) RETURNING id) UPDATE a SET t = 'seen' FROM x WHERE a.id = x.id

statement DELETE 1
WITH x AS (DELETE FROM log WHERE what = 'u' RETURNING id) DELETE FROM a USING x WHERE a.id = x.id AND a.id = 2

query
WITH x AS (DELETE FROM log WHERE what = 'limit' RETURNING id) UPDATE a SET n = (SELECT count(*) FROM x) WHERE id = 3 RETURNING id, n
----
3|10

query
SELECT * FROM a ORDER BY id
----
1|0|seen
3|10|t3
4|40|t4
5|50|t5

# Several parts that read each other, also queries that only read.
query
WITH src AS (SELECT id, n FROM a WHERE id >= 3), up AS (UPDATE a SET n = a.n * 2 FROM src WHERE a.id = src.id RETURNING a.id, a.n), ins AS (INSERT INTO log SELECT 'chain', id FROM up RETURNING id) SELECT (SELECT count(*) FROM src), (SELECT sum(n) FROM up), (SELECT count(*) FROM ins)
----
3|200|3

query
SELECT id, n FROM a ORDER BY id
----
1|0
3|20
4|80
5|100

# References are checked at the end of the whole.
statement ok
CREATE TABLE parent (id int PRIMARY KEY, name text UNIQUE)

statement ok
CREATE TABLE child (id int PRIMARY KEY, parent int REFERENCES parent ON DELETE CASCADE)

statement INSERT 0 1
WITH p AS (INSERT INTO parent VALUES (1, 'p1') RETURNING id) INSERT INTO child SELECT 10, id FROM p

statement ok
WITH c AS (INSERT INTO child VALUES (11, 2)), p AS (INSERT INTO parent VALUES (2, 'p2')) SELECT 1

statement error 23503
WITH c AS (INSERT INTO child VALUES (12, 3) RETURNING id) SELECT * FROM c

statement INSERT 0 2
WITH p AS (INSERT INTO parent VALUES (1, 'x'), (4, 'p4') ON CONFLICT (id) DO UPDATE SET name = excluded.name RETURNING id, name) INSERT INTO child SELECT 20 + id, id FROM p

query
SELECT * FROM parent ORDER BY id
----
1|x
2|p2
4|p4

query
SELECT * FROM child ORDER BY id
----
10|1
11|2
21|1
24|4

statement ok
WITH p AS (DELETE FROM parent WHERE id = 1 RETURNING id) SELECT * FROM p

query
SELECT * FROM child ORDER BY id
----
11|2
24|4

# Keys that are there are errors of the whole, and nothing happens.
statement error 23505
WITH p AS (INSERT INTO parent VALUES (8, 'p8')) INSERT INTO parent VALUES (8, 'again')

statement error 23505
WITH p AS (INSERT INTO log VALUES ('lost', 1)) INSERT INTO parent VALUES (2, 'there')

query
SELECT count(*) FROM log WHERE what = 'lost'
----
0

# Hidden keys of a table without a key.
query
WITH x AS (INSERT INTO log VALUES ('h', 1), ('h', 2) RETURNING id), y AS (INSERT INTO log VALUES ('h', 3) RETURNING id) SELECT id FROM x UNION ALL SELECT id FROM y ORDER BY 1
----
1
2
3

query
SELECT id FROM log WHERE what = 'h' ORDER BY id
----
1
2
3

# A column list, and the names of a query.
query
WITH x (k, v) AS (INSERT INTO parent VALUES (30, 'thirty') RETURNING id, name) SELECT v, k FROM x
----
thirty|30

query
WITH x AS (UPDATE parent p SET name = upper(name) WHERE id = 30 RETURNING p.*) SELECT x.id, x.name FROM x
----
30|THIRTY

# A row is changed by one part.
query
WITH x AS (UPDATE parent SET name = 'first' WHERE id = 30 RETURNING id), y AS (UPDATE parent SET name = 'second' WHERE id = 30 RETURNING id) SELECT (SELECT count(*) FROM x), (SELECT count(*) FROM y)
----
1|0

query
SELECT name FROM parent WHERE id = 30
----
first

query
WITH x AS (DELETE FROM parent WHERE id = 30 RETURNING id), y AS (UPDATE parent SET name = 'second' WHERE id = 30 RETURNING id) SELECT (SELECT count(*) FROM x), (SELECT count(*) FROM y)
----
1|0

query
SELECT count(*) FROM parent WHERE id = 30
----
0

# Prepared statements.
statement ok
PREPARE p AS WITH x AS (INSERT INTO log VALUES ($1, $2) RETURNING id) SELECT id + $3 FROM x

query
EXECUTE p('prep', 1, 100)
----
101

query
EXECUTE p('prep', 2, 100)
----
102

query
SELECT count(*) FROM log WHERE what = 'prep'
----
2

# In a transaction, with a savepoint.
statement ok
BEGIN

statement ok
SAVEPOINT sp

query
WITH x AS (DELETE FROM log RETURNING id) SELECT count(*) > 0 FROM x
----
t

statement ok
ROLLBACK TO sp

query
SELECT count(*) > 0 FROM log
----
t

statement ok
COMMIT

# Errors.
statement error 0A000
WITH x AS (INSERT INTO log VALUES ('e', 1)) SELECT * FROM x

statement error 0A000
SELECT * FROM (WITH x AS (INSERT INTO log VALUES ('e', 1) RETURNING id) SELECT * FROM x) q

statement error 0A000
INSERT INTO log WITH x AS (DELETE FROM log RETURNING *) SELECT * FROM x

statement error 0A000
WITH x AS (WITH y AS (DELETE FROM log RETURNING *) SELECT * FROM y) SELECT * FROM x

statement error 0A000
WITH x AS (WITH y AS (DELETE FROM log RETURNING *) INSERT INTO log SELECT * FROM y) SELECT 1

statement error 0A000
CREATE VIEW v AS WITH x AS (DELETE FROM log RETURNING *) SELECT * FROM x

statement error 0A000
DECLARE c CURSOR FOR WITH x AS (DELETE FROM log RETURNING *) SELECT * FROM x

statement error 42703
WITH x AS (UPDATE log SET nothing = 1 RETURNING id) SELECT * FROM x

statement error 42703
WITH x AS (DELETE FROM log RETURNING missing) SELECT * FROM x

statement ok
BEGIN READ ONLY

statement error 25006
WITH x AS (DELETE FROM log RETURNING id) SELECT * FROM x

statement ok
ROLLBACK

query
SELECT count(*) > 0 FROM log
----
t
