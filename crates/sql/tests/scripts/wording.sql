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

# Kept texts are shown as they can be written.
statement CREATE TABLE
create table symmetric_bounds (a int check (a between symmetric (9) and 1), b int check (b not between symmetric abs(2) and 3 + 1), c text default 'it''s "sql.symmetric"(1)')

query
select pg_get_constraintdef(oid) from pg_constraint where conrelid = 'symmetric_bounds'::regclass order by conname
----
CHECK ((a BETWEEN SYMMETRIC (9) AND 1))
CHECK ((b NOT BETWEEN SYMMETRIC abs(2) AND 3 + 1))

statement CREATE VIEW
create view symmetric_view as select a, 'ä''s' as "ö" from symmetric_bounds where a between symmetric 9 and 1 and b in (1, 2)

query
select pg_get_viewdef('symmetric_view'::regclass)
----
SELECT a, 'ä''s' AS "ö" FROM symmetric_bounds WHERE a BETWEEN SYMMETRIC 9 AND 1 AND b IN (1, 2);

statement DROP VIEW
drop view symmetric_view

statement ALTER TABLE
alter table symmetric_bounds rename a to z

query
select pg_get_constraintdef(oid) from pg_constraint where conname = 'symmetric_bounds_a_check'
----
CHECK ((z BETWEEN SYMMETRIC (9) AND 1))
