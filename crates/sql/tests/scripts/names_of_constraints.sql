# SET CONSTRAINTS with schemas. The answers are those of PostgreSQL 15.

statement ok
CREATE SCHEMA one

statement ok
CREATE SCHEMA two

statement ok
CREATE TABLE parents (id int PRIMARY KEY)

statement ok
CREATE TABLE one.kids (id int CONSTRAINT kids_key PRIMARY KEY, p int CONSTRAINT kids_p REFERENCES parents DEFERRABLE)

statement ok
CREATE TABLE two.kids (id int, p int CONSTRAINT kids_p REFERENCES parents DEFERRABLE, q int CONSTRAINT two_q REFERENCES parents)

statement error 3F000
SET CONSTRAINTS three.kids_p IMMEDIATE

statement error 42704
SET CONSTRAINTS one.two_q IMMEDIATE

statement error 42704
SET CONSTRAINTS kids_p DEFERRED

statement error 42809
SET CONSTRAINTS two.two_q DEFERRED

statement ok
SET CONSTRAINTS two.two_q IMMEDIATE

statement ok
BEGIN

statement ok
SET CONSTRAINTS one.kids_p DEFERRED

statement ok
INSERT INTO one.kids VALUES (1, 7)

statement error 23503
INSERT INTO two.kids VALUES (1, 7)

statement ok
ROLLBACK

statement ok
SET search_path = two, one, public

statement ok
BEGIN

statement ok
SET CONSTRAINTS kids_p DEFERRED

statement ok
INSERT INTO kids VALUES (1, 7)

statement ok
SAVEPOINT here

statement error 23503
INSERT INTO one.kids VALUES (1, 7)

statement ok
ROLLBACK TO here

statement error 23503
SET CONSTRAINTS two.kids_p, one.kids_p IMMEDIATE

statement ok
ROLLBACK TO here

statement ok
INSERT INTO parents VALUES (7)

statement ok
SET CONSTRAINTS two.kids_p, one.kids_p IMMEDIATE

statement ok
COMMIT

query
SELECT * FROM two.kids
----
1|7|NULL

# Other clients name a constraint in the statement that adds it.

statement ok
ALTER TABLE "one"."kids" ADD COLUMN "other" int NULL CONSTRAINT "kids_other" REFERENCES "public"."parents" ("id") DEFERRABLE INITIALLY DEFERRED; SET CONSTRAINTS "one"."kids_other" IMMEDIATE

# The length of elements, in every number of dimensions.

statement ok
CREATE TABLE lengths (f varchar(4)[][], n numeric(5, 2)[][][])

statement error 22001
INSERT INTO lengths VALUES ('{{abcde}}')

statement ok
INSERT INTO lengths VALUES ('{{abcd,a},{b,c}}', '{{{1.234}}}')

query
SELECT * FROM lengths
----
{{abcd,a},{b,c}}|{{{1.23}}}

query
SELECT f::varchar(2)[][], ARRAY[['abc','d']]::varchar(2)[][] FROM lengths
----
{{ab,a},{b,c}}|{{ab,d}}

query
SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'lengths'::regclass AND attnum > 0 ORDER BY attnum
----
character varying(4)[]
numeric(5,2)[]

statement error 22001
ALTER TABLE lengths ALTER COLUMN f TYPE varchar(3)[][]

statement ok
ALTER TABLE lengths ALTER COLUMN f TYPE varchar(3)[][] USING f::varchar(3)[][]

query
SELECT f FROM lengths
----
{{abc,a},{b,c}}
