# CREATE RECURSIVE VIEW is a view of WITH RECURSIVE.

statement ok
CREATE TABLE parts (id int PRIMARY KEY, parent int, name text)

statement ok
INSERT INTO parts VALUES (1, NULL, 'car'), (2, 1, 'engine'), (3, 2, 'valve'), (4, 1, 'wheel')

statement ok
CREATE RECURSIVE VIEW numbers (n) AS SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 5

query
SELECT * FROM numbers
----
1
2
3
4
5

statement ok
CREATE OR REPLACE RECURSIVE VIEW public.paths (id, path) AS VALUES (0, 'all') UNION ALL SELECT p.id, path || '/' || name FROM parts p JOIN paths ON coalesce(p.parent, 0) = paths.id; INSERT INTO parts VALUES (5, 4, 'tyre')

query
SELECT path FROM paths ORDER BY path
----
all
all/car
all/car/engine
all/car/engine/valve
all/car/wheel
all/car/wheel/tyre

query
SELECT column_name FROM information_schema.columns WHERE table_name = 'paths' ORDER BY ordinal_position
----
id
path

statement error 42601
CREATE RECURSIVE VIEW nothing AS SELECT 1

statement ok
DROP VIEW numbers

# The row of a cursor is not named.

statement error 0A000
UPDATE parts SET name = 'x' WHERE CURRENT OF c
----
WHERE CURRENT OF a cursor is not supported
HINT: Name the row by its primary key.

statement error 0A000
DELETE FROM parts WHERE CURRENT OF c

query
SELECT count(*) FROM parts
----
5
