# The dimensions of arrays that columns declare. The answers are those of PostgreSQL 15.

statement ok
CREATE TABLE dims (a int[], b int[][], c text[3][2], d int ARRAY, e int, f varchar(3)[])

query
SELECT attname, attndims FROM pg_attribute WHERE attrelid = 'dims'::regclass AND attnum > 0 ORDER BY attnum
----
a|1
b|2
c|2
d|1
e|0
f|1

statement ok
ALTER TABLE dims ALTER COLUMN a TYPE bigint[][], ALTER COLUMN b TYPE text USING 'x', ADD COLUMN g date[]

query
SELECT attname, attndims FROM pg_attribute WHERE attrelid = 'dims'::regclass AND attnum > 0 ORDER BY attnum
----
a|2
b|0
c|2
d|1
e|0
f|1
g|1

statement ok
CREATE VIEW of_dims AS SELECT * FROM dims

query
SELECT attname, attndims FROM pg_attribute WHERE attrelid = 'of_dims'::regclass AND attnum > 0 ORDER BY attnum
----
a|0
b|0
c|0
d|0
e|0
f|0
g|0

statement ok
DROP VIEW of_dims

statement ok
DROP TABLE dims
