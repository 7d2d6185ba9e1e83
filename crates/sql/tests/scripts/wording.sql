# Errors have PostgreSQL's words.

statement ok
CREATE TABLE t (a int PRIMARY KEY, b text)

statement ok
CREATE TABLE u ("Y" int REFERENCES t)

statement error 42703
SELECT t.nothing FROM t
----
column t.nothing does not exist

statement error 42703
SELECT nothing FROM t
----
column "nothing" does not exist

statement error 42803
SELECT a, count(*) FROM t
----
column "t.a" must appear in the GROUP BY clause or be used in an aggregate function

statement error 42803
SELECT q.b FROM t q GROUP BY a + 1
----
column "q.b" must appear in the GROUP BY clause or be used in an aggregate function

statement error 42803
SELECT * FROM t GROUP BY a + 1
----
column "t.a" must appear in the GROUP BY clause or be used in an aggregate function

statement error 42803
SELECT a FROM t HAVING b > 'x'

statement error 2BP01
DROP TABLE t
----
cannot drop table t because other objects depend on it
DETAIL: constraint u_Y_fkey on table u depends on table t
HINT: Use DROP ... CASCADE to drop the dependent objects too.

statement ok
DROP TABLE t CASCADE

statement ok
DROP TABLE u
