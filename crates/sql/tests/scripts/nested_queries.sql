# Queries in expressions that begin with a parenthesis, as Django and others send them. The answers are those of PostgreSQL 15.

statement ok
CREATE TABLE numbers (n int PRIMARY KEY, t text)

statement ok
INSERT INTO numbers SELECT n, 'n' || n FROM generate_series(1, 9) n

query
SELECT n FROM numbers WHERE n IN ((SELECT 1) UNION (SELECT 3)) ORDER BY n
----
1
3

query
SELECT n, ((SELECT u.n FROM numbers u WHERE u.n = o.n AND u.n > 7) UNION (SELECT u.n FROM numbers u WHERE u.n = o.n AND u.n < 2)) AS number FROM numbers o ORDER BY n
----
1|1
2|NULL
3|NULL
4|NULL
5|NULL
6|NULL
7|NULL
8|8
9|9

query
SELECT n FROM numbers o WHERE EXISTS((SELECT 1 FROM numbers u WHERE u.n = o.n + 5) INTERSECT (SELECT 1)) ORDER BY n
----
1
2
3
4

query
SELECT n FROM numbers WHERE n = ANY((SELECT 2) UNION ALL (SELECT 4)) AND n <> ALL((SELECT 4) EXCEPT (SELECT 5))
----
2

query
SELECT ARRAY((SELECT n FROM numbers WHERE n < 4) ORDER BY n DESC LIMIT 2)
----
{3,2}

query
SELECT n FROM numbers WHERE n IN (((SELECT 1) UNION (SELECT 2)) EXCEPT (SELECT 1) UNION ((SELECT 8) UNION (SELECT 9) ORDER BY 1 LIMIT 1 OFFSET 1)) ORDER BY n
----
2
9

query
SELECT n FROM numbers WHERE n NOT IN ((SELECT n FROM numbers ORDER BY n DESC LIMIT 4) UNION (VALUES (1), (2))) ORDER BY n
----
3
4
5

query
SELECT ((SELECT 1) UNION (SELECT 1)) + 1, ((SELECT 2)), ((SELECT 2) + 1), (((SELECT 3) UNION (SELECT 3)))
----
2|2|3|3

query
SELECT n, sum((SELECT 1)) OVER (ORDER BY n) FROM numbers WHERE n < 3 ORDER BY n
----
1|1
2|2

query
SELECT array_agg((SELECT max(n) FROM numbers) ORDER BY n) FROM numbers WHERE n < 3
----
{9,9}

query
SELECT string_agg(((SELECT 'a') UNION (SELECT 'a')) || n, ',' ORDER BY n) FROM numbers WHERE n < 3
----
a1,a2

query
SELECT * FROM ((SELECT 1 AS a) UNION (SELECT 2)) q, LATERAL ((SELECT q.a + 1 AS b) UNION (SELECT q.a + 2)) r ORDER BY a, b
----
1|2
1|3
2|3
2|4

query
SELECT x FROM numbers, ((SELECT 1 AS x) UNION (SELECT 2)) q WHERE n = 1 ORDER BY x
----
1
2

query
WITH w AS ((SELECT 1 AS a) UNION (SELECT 2) ORDER BY 1 LIMIT 1) SELECT a FROM w
----
1

query
((SELECT 2 AS a) UNION (SELECT 1)) ORDER BY 1
----
1
2

query
((SELECT 2 AS a) UNION (SELECT 1)) EXCEPT ((SELECT 3) UNION (SELECT 1))
----
2

statement ok
CREATE VIEW both_ends AS SELECT n FROM numbers WHERE n IN ((SELECT min(n) FROM numbers) UNION (SELECT max(n) FROM numbers))

query
SELECT n FROM both_ends ORDER BY n
----
1
9

statement ok
UPDATE numbers SET t = ((SELECT 'x') UNION (SELECT 'x')) WHERE n = ((SELECT 5) UNION (SELECT 5))

query
SELECT n, t FROM numbers WHERE t = 'x'
----
5|x

statement ok
DELETE FROM numbers WHERE n IN ((SELECT 5) UNION (SELECT 6))

query
SELECT CASE WHEN n IN ((SELECT 1) UNION (SELECT 2)) THEN 'low' ELSE 'high' END, count(*) FROM numbers GROUP BY 1 ORDER BY 1
----
high|5
low|2

query
SELECT coalesce(((SELECT NULL::int) EXCEPT (SELECT NULL)), 7)
----
7

statement error 42601
SELECT abs((SELECT 1) UNION (SELECT 2))

statement error 42601
SELECT ((SELECT 1) UNION (SELECT 2)

statement error 21000
SELECT ((SELECT 1) UNION (SELECT 2))

statement error 42601
SELECT 1 WHERE 1 IN ((SELECT 1) UNION)

query
SELECT 1 IN ((SELECT 1), 2), 3 IN ((SELECT 1), (SELECT 2)), (1, 2) IN ((SELECT 1, 2) UNION (SELECT 3, 4))
----
t|f|t

# Rows, and EXPLAIN, before queries in parentheses.

query
SELECT (1, 2) IN ((SELECT 1, 2) UNION (SELECT 3, 4)), (1, 2) <> ALL ((SELECT 1, 3) UNION SELECT 2, 2)
----
t|t

query
EXPLAIN (COSTS OFF, FORMAT TEXT) ((SELECT 1) UNION ALL (SELECT 2))
----
Subquery Scan
  ->  Append
        ->  Result
        ->  Result

# A row of values beside the only row of a query.

query
SELECT (1,2) = (SELECT 1,2), (1,2) = ((SELECT 1,3) LIMIT 1), (1,2) <> (SELECT 1,3), ROW(1,null) = (SELECT 1,2), (1,2) = (SELECT 1,2 WHERE false), (1,'a') IN (SELECT 1,'a')
----
t|f|t|NULL|NULL|t

statement error 21000
SELECT (1,2) = (SELECT * FROM (VALUES (1,2), (3,4)) v)

statement error 42601
SELECT (1,2) = (SELECT 1)

statement error 42601
SELECT (1,2) = (SELECT 1,2,3)

# Several columns from a row, or from the only row of a query.

statement ok
CREATE TABLE of_rows (id int PRIMARY KEY, a int, b text); INSERT INTO of_rows VALUES (1, 10, 'x'), (2, 20, 'y')

statement UPDATE 1
UPDATE of_rows SET (a, b) = ROW(11, 'z') WHERE id = 1

statement UPDATE 2
UPDATE of_rows o SET (a, b) = (SELECT p.a + o.id, p.b || o.id FROM of_rows p WHERE p.id = 3 - o.id)

query
SELECT * FROM of_rows ORDER BY id
----
1|21|y1
2|13|z2

statement UPDATE 1
UPDATE of_rows SET (a) = (SELECT 5), (b) = ROW('w') WHERE id = 2

statement UPDATE 1
UPDATE of_rows SET (b, a) = (SELECT 'q', 1 WHERE false) WHERE id = 1

query
SELECT * FROM of_rows ORDER BY id
----
1|NULL|NULL
2|5|w

statement error 21000
UPDATE of_rows SET (a, b) = (SELECT a, b FROM of_rows)

statement error 42601
UPDATE of_rows SET (a, b) = (SELECT 1)

statement error 42601
UPDATE of_rows SET (a, b) = ROW(1)

statement error 42601
UPDATE of_rows SET (a, b) = (SELECT * FROM of_rows)

# VALUES in several parentheses.

query
SELECT ((VALUES (2))), 1 + ((VALUES (3)))
----
2|4

query
SELECT array_agg((VALUES (2)))
----
{2}

query
SELECT coalesce((VALUES (2)), 3), coalesce(((VALUES (4))), 3)
----
2|4

query
SELECT * FROM ((VALUES (2))) t
----
2

# Labels without AS before other clauses than FROM.

query
SELECT 1 view ORDER BY 1
----
1

query
SELECT 1 end LIMIT 1
----
1

query
SELECT 1 values UNION SELECT 2 ORDER BY 1
----
1
2

statement error 42601
SELECT 1 day WHERE true

statement error 42601
SELECT 1 over WHERE true

statement error 42601
SELECT 1 array

statement error 42601
SELECT 1 for

query
SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY x) FROM (VALUES (1)) v(x)
----
1

query
SELECT INTERVAL '1' YEAR ORDER BY 1
----
1 year

query
SELECT 1::double precision ORDER BY 1
----
1
