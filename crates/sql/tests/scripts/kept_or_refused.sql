# Clauses and options are kept, or refused by their names.

statement ok
CREATE UNLOGGED TABLE t (a int, b text COLLATE "C", c varchar(5) COLLATE pg_catalog."default") WITH (fillfactor = 70, autovacuum_enabled = false)

statement error 22023
CREATE TABLE u (a int) WITH (speed = 5)
----
unrecognized parameter "speed"

statement error 42601
CREATE TABLE u (a int) WITH OIDS

statement error 0A000
CREATE TABLE u (a text COLLATE "de_DE")
----
the collation "de_DE" is not supported
HINT: Texts are ordered by their bytes, as with COLLATE "C", or by a collation of ICU in pg_collation.

statement error 0A000
CREATE TABLE u (a int) PARTITION BY RANGE (a)

statement error 0A000
CREATE TABLE u () INHERITS (t)

statement error 0A000
CREATE TABLE u (a int, b int, UNIQUE (a) INCLUDE (b))

statement error 0A000
CREATE INDEX ON t USING bloom (a)
----
CREATE INDEX with USING bloom is not supported

statement error 0A000
CREATE INDEX ON t (b gin_trgm_ops)
----
the operator class gin_trgm_ops is not supported

statement error 0A000
CREATE INDEX ON t (b COLLATE "de_DE")

statement error 22023
CREATE INDEX ON t (a) WITH (speed = 5)

statement ok
CREATE INDEX CONCURRENTLY IF NOT EXISTS by_b ON t USING btree (b COLLATE "C" text_pattern_ops ASC NULLS LAST, a DESC NULLS FIRST) WITH (fillfactor = 70)

statement error 42601
ALTER TABLE t ADD COLUMN x int FIRST

statement ok
ALTER TABLE t SET UNLOGGED, SET LOGGED

statement error 22023
ALTER TABLE t SET (speed = 5)

statement ok
ALTER TABLE ONLY t SET (fillfactor = 50)

statement error 0A000
CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT 1 x

statement error 0A000
CREATE VIEW v WITH (security_barrier) AS SELECT 1 x

statement error 0A000
CREATE VIEW v AS SELECT a FROM t WHERE a > 0 WITH LOCAL CHECK OPTION
----
WITH CHECK OPTION is supported only on automatically updatable views
HINT: Views are read only. A CHECK of the table holds for all programs.

query
SELECT cycle, search FROM (SELECT 1 AS cycle, 2 AS search) cycle
----
1|2

query
SELECT 2 OPERATOR(pg_catalog.+) 3 * 4, 'ab' OPERATOR(pg_catalog.=) 'ab', 1 OPERATOR(<) 2 AND true, 'a' OPERATOR(pg_catalog.||) 'b', ARRAY[1] OPERATOR(pg_catalog.@>) ARRAY[1]
----
14|t|t|ab|t

statement error 0A000
SELECT 1 OPERATOR(public.+) 2

query
SELECT substring('foobar' SIMILAR '%#"o_b#"%' ESCAPE '#'), substring('x' SIMILAR 'y' ESCAPE '#') IS NULL, substring('abc' FROM 2 FOR 1), 'abc' SIMILAR TO 'a%'
----
oob|t|b|t

# Queries.

statement ok
INSERT INTO t VALUES (1, 'x'), (2, 'y')

query
SELECT a FROM ONLY t ORDER BY a FOR UPDATE OF t NOWAIT
----
1
2

query
SELECT a FROM t WHERE a = 1 FOR SHARE
----
1

statement ok
BEGIN

statement ok
SELECT a INTO UNLOGGED u FROM t

statement ok
ROLLBACK

statement error 0A000
SELECT a FROM t ORDER BY a FETCH FIRST 10 PERCENT ROWS ONLY

# EXPLAIN.

statement error 22023
EXPLAIN (FORMAT csv) SELECT 1
----
unrecognized value for EXPLAIN option "format": "csv"

query
EXPLAIN VERBOSE SELECT 1
----
Result
  Output: 1

statement error 0A000
EXPLAIN (ANALYZE, BUFFERS) SELECT 1

statement error 42601
EXPLAIN (NONSENSE) SELECT 1

statement ok
EXPLAIN (ANALYZE true, COSTS off, TIMING off, BUFFERS false, FORMAT text) DELETE FROM t WHERE a = 2

query
SELECT a FROM t
----
1

# Transactions.

statement error 0A000
BEGIN; COMMIT AND CHAIN
----
COMMIT with AND CHAIN is not supported

statement ok
BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY

statement error 25006
DELETE FROM t

statement ok
ROLLBACK AND NO CHAIN

# Others.

statement error 0A000
DROP TABLE t PURGE

statement error 25P01
LOCK TABLE t

statement ok
TRUNCATE TABLE ONLY t CONTINUE IDENTITY RESTRICT

# TRUNCATE … CASCADE empties the tables that refer, and RESTART IDENTITY begins again.

statement ok
CREATE TABLE head (id int GENERATED ALWAYS AS IDENTITY (START 10) PRIMARY KEY, v text)

statement ok
CREATE TABLE body (id serial PRIMARY KEY, head int REFERENCES head)

statement ok
CREATE TABLE foot (id int PRIMARY KEY, body int REFERENCES body)

statement ok
INSERT INTO head (v) VALUES ('a'), ('b')

statement ok
INSERT INTO body (head) VALUES (10), (11)

statement ok
INSERT INTO foot VALUES (1, 1)

statement error 0A000
TRUNCATE head
----
cannot truncate a table referenced in a foreign key constraint
DETAIL: Table "body" references "head".
HINT: Truncate table "body" at the same time, or use TRUNCATE ... CASCADE.

statement ok
TRUNCATE head RESTART IDENTITY CASCADE

query
SELECT (SELECT count(*) FROM head), (SELECT count(*) FROM body), (SELECT count(*) FROM foot)
----
0|0|0

statement ok
INSERT INTO head (v) VALUES ('c')

statement ok
INSERT INTO body (head) VALUES (10)

query
SELECT head.id, body.id FROM head, body
----
10|1

statement ok
BEGIN; TRUNCATE head RESTART IDENTITY CASCADE; ROLLBACK

statement ok
INSERT INTO head (v) VALUES ('d')

query
SELECT id FROM head ORDER BY id
----
10
11

# A column that goes with CASCADE takes the references to it along.

statement ok
CREATE TABLE kept (id int PRIMARY KEY, code int UNIQUE)

statement ok
CREATE TABLE of_kept (code int REFERENCES kept (code))

statement error 2BP01
ALTER TABLE kept DROP CONSTRAINT kept_code_key

statement ok
ALTER TABLE kept DROP CONSTRAINT kept_code_key CASCADE

statement ok
INSERT INTO of_kept VALUES (5)

# Maintenance.

statement ok
VACUUM (FREEZE, VERBOSE off, PARALLEL 2) kept

statement error 42601
VACUUM (FASTER) kept
----
unrecognized VACUUM option "faster"

statement error 42601
ANALYZE (FULL)

statement error 0A000
REINDEX (TABLESPACE fast) TABLE kept

# FETCH FIRST ROW is one row; two limits are none.

query
select x from (values (1), (2), (3)) v(x) order by x fetch first row only
----
1

query
select x from (values (1), (2), (3)) v(x) order by x offset 1 rows fetch next row only
----
2

statement error 42601
select x from (values (1), (2)) v(x) limit 1 fetch first 2 rows only

statement error 42601
select x from (values (1), (2)) v(x) order by 'x'
----
non-integer constant in ORDER BY

# Options of columns do not contradict each other.

statement error 42601
create table bad (a int not null null)
----
conflicting NULL/NOT NULL declarations for column "a"

statement error 42601
create table bad (a int default 1 default 2)
----
multiple default values specified for column "a"

statement error 42601
create table bad (a serial default 3)

statement error 42601
create table bad (a int default 3 generated always as identity)
----
both default and identity specified for column "a"

statement error 42601
create table bad (a int generated always as identity generated by default as identity)

statement error 42804
create table bad (a int collate "C")
----
collations are not supported by type integer

statement error 22023
create table bad (a float(0))

statement error 22023
create table bad (a float(54))

statement error 42601
create table bad (a int4(5))
----
type modifier is not allowed for type "int4"

query
select array['abc', null]::varchar(2)[], '{1.25,2}'::numeric(4,1)[]
----
{ab,NULL}|{1.3,2.0}

statement error 0A000
select array['abc']::char(2)[]
----
an array whose elements are character(2) is not supported

statement error 0A000
create table bad (a char(2)[])

statement error 22023
create table bad (a int) with (fillfactor = 700)
----
value 700 out of bounds for option "fillfactor"

statement ok
create table good (a int, n numeric(10, 2), v varchar(5), m timestamp(3))

statement error 22023
create index on good (a) with (fillfactor = 5)

statement error 22023
create index on good (a) with (autovacuum_enabled = true)
----
unrecognized parameter "autovacuum_enabled"

# A type that does not hold all values of another replaces it if it holds those that are there.

statement ok
alter table good alter n type numeric(12, 2)

statement ok
alter table good alter n type numeric(5, 2)

statement ok
alter table good alter m type timestamp(0)

statement ok
alter table good alter v type char(10)

statement ok
alter table good alter m type timestamp

statement ok
alter table good alter v type varchar(6)

# A procedure is dropped by the types of its parameters, where they are named.

statement ok
create procedure twice (x int, y text) language sql as 'insert into good (a) values (x)'

statement error 42883
drop procedure twice (int)
----
procedure twice(integer) does not exist

statement error 42883
drop procedure twice (text, int)

statement error 42883
drop procedure nosuch
----
could not find a procedure named "nosuch"

statement ok
drop procedure twice (x int, in y text)

statement error 42601
create procedure other () language sql as 'select 1' as 'select 2'
----
conflicting or redundant options

# Modes of transactions.

statement ok
begin isolation level serializable read only deferrable

query
show transaction_read_only
----
on

statement ok
commit

statement ok
begin transaction not deferrable, isolation level serializable, read write

statement error 3F000
truncate nosuch.good

statement ok
rollback

statement ok
set session characteristics as transaction read only

statement ok
set session characteristics as transaction isolation level serializable

query
show default_transaction_read_only
----
on

statement ok
set session characteristics as transaction read write

# A name before a column in SET is a column, too; a constraint that ON CONFLICT names is there.

statement error 42703
update good set good.a = 5
----
column "good" of relation "good" does not exist

statement error 0A000
update good set a.x = 5

statement error 42704
insert into good (a) values (1) on conflict on constraint nosuch do nothing
----
constraint "nosuch" for table "good" does not exist

statement error 42P10
select string_agg(distinct x, ',' order by y) from (values ('b', 1), ('a', 2)) v(x, y)
----
in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list

statement error 0A000
select extract(year from time '13:14:15')
----
unit "year" not supported for type time without time zone

query
select extract(epoch from time '13:14:15.5'), extract(julian from date '2024-02-29')
----
47655.500000|2460370

statement error 42809
select 1 = any (1)

# Errors of syntax have PostgreSQL's words, and the words that the parser expected.

statement error 42601
selec 1
----
syntax error at or near "selec"
DETAIL: Expected: an SQL statement.

statement error 42601
select 1 from

# A list behind DISTINCT ON, an operator with its schema and a window's name are no operands before a label.
statement ok
CREATE TABLE spans (id int, year int, day int, x int, month int)

statement INSERT 0 1
INSERT INTO spans VALUES (1, 2, 3, 4, 5)

query
SELECT DISTINCT ON (id) year, x FROM spans
----
2|4

query
SELECT DISTINCT ON (id) day FROM spans ORDER BY id
----
3

query
SELECT sum(x) OVER month FROM spans WINDOW month AS (ORDER BY x)
----
4

query
SELECT x OPERATOR(pg_catalog.+) day FROM spans
----
7

statement error 42601
SELECT (x) year FROM spans

# A FROM of IS DISTINCT FROM is none of substring.
query
SELECT substring('abcdef' FROM 2 FOR CASE WHEN 1 IS DISTINCT FROM 2 THEN 1 ELSE 2 END), substring('abcdef' FOR CASE WHEN 1 IS DISTINCT FROM 2 THEN 1 ELSE 2 END FROM 3), substring('abcdef' FOR CASE WHEN 1 IS DISTINCT FROM 2 THEN 1 ELSE 2 END)
----
b|c|a

# Tables and columns may have the name of a type.
statement ok
CREATE TABLE nchar (a int)

statement INSERT 0 1
INSERT INTO nchar (a) VALUES (1)

query
SELECT a AS nchar, 'abc'::nchar, CAST('abc' AS nchar), CAST('abc' AS nchar(2)) FROM nchar
----
1|a|a|ab

query
SELECT n.nchar FROM (SELECT a AS nchar FROM nchar) n
----
1

statement ok
DROP TABLE nchar, spans

query
SELECT NUMERIC(3,-1) '12', '12'::numeric(3,-1)
----
10|10

# Words of options within a query are its own.
copy_out
copy (select force_quote * 2 from (values (3)) t (force_quote)) to stdout (format csv, force_quote *)
----
"6"

# A query without a record's name says so itself.
statement ok
CREATE FUNCTION unnamed() RETURNS int LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN FOR r IN SELECT customer.nope FROM (SELECT 1 AS a) customer LOOP RETURN 1; END LOOP; RETURN 2; END $$

statement error 42703
SELECT unnamed()

statement ok
DROP FUNCTION unnamed()
