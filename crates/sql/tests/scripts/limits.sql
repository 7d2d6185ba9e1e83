# FETCH FIRST with an expression.

query
SELECT x FROM generate_series(1, 5) x ORDER BY x OFFSET (1) ROWS FETCH FIRST (1 + 1) ROWS ONLY
----
2
3

query
SELECT x FROM generate_series(1, 5) x ORDER BY x FETCH NEXT (1) ROW ONLY
----
1

query
SELECT x FROM generate_series(1, 5) x ORDER BY x FETCH FIRST 2 ROWS ONLY
----
1
2

query
SELECT * FROM (SELECT x FROM generate_series(1, 5) x ORDER BY x DESC FETCH FIRST ((2)) ROWS ONLY) s ORDER BY x
----
4
5

statement error 42601
SELECT x FROM generate_series(1, 5) x FETCH FIRST (1) ROWS

query
SELECT 'fetch first (1) rows only' AS fetch
----
fetch first (1) rows only
