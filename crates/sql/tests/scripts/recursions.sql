# SEARCH and CYCLE of recursive queries. Each answer is PostgreSQL 15's.

statement ok
create table tree (id int primary key, link int, note text)

statement ok
insert into tree values (1, null, 'root'), (2, 1, 'b'), (3, 1, 'a'), (4, 2, 'c'), (5, 3, 'd'), (6, 5, 'e')

query
with recursive t(id, link) as (select id, link from tree where link is null union all select c.id, c.link from tree c join t on c.link = t.id) search depth first by id set path select id, link from t order by path
----
1|NULL
2|1
4|2
3|1
5|3
6|5

query
with recursive t as (select id, link, note from tree where link is null union all select c.id, c.link, c.note from tree c, t up where c.link = up.id) search breadth first by note, id set o select id, note, o from t order by o
----
1|root|(0,root,1)
3|a|(1,a,3)
2|b|(1,b,2)
4|c|(2,c,4)
5|d|(2,d,5)
6|e|(3,e,6)

query
with recursive t(a, b) as (select id, link from tree where id = 1 union all select c.id, c.link from t join tree c on c.link = a) search depth first by a set "Path" select * from t order by "Path" desc
----
6|5|{(1),(3),(5),(6)}
5|3|{(1),(3),(5)}
3|1|{(1),(3)}
4|2|{(1),(2),(4)}
2|1|{(1),(2)}
1|NULL|{(1)}

statement ok
create table graph (f int, t int, label text)

statement ok
insert into graph values (1, 2, 'a'), (1, 3, 'b'), (2, 3, 'c'), (1, 4, 'd'), (4, 5, 'e'), (5, 1, 'f')

query
with recursive s as (select g.* from graph g union all select g.* from graph g, s where g.f = s.t) cycle f, t set is_cycle using path select * from s order by path
----
1|2|a|f|{"(1,2)"}
2|3|c|f|{"(1,2)","(2,3)"}
1|3|b|f|{"(1,3)"}
1|4|d|f|{"(1,4)"}
4|5|e|f|{"(1,4)","(4,5)"}
5|1|f|f|{"(1,4)","(4,5)","(5,1)"}
1|2|a|f|{"(1,4)","(4,5)","(5,1)","(1,2)"}
2|3|c|f|{"(1,4)","(4,5)","(5,1)","(1,2)","(2,3)"}
1|3|b|f|{"(1,4)","(4,5)","(5,1)","(1,3)"}
1|4|d|t|{"(1,4)","(4,5)","(5,1)","(1,4)"}
2|3|c|f|{"(2,3)"}
4|5|e|f|{"(4,5)"}
5|1|f|f|{"(4,5)","(5,1)"}
1|2|a|f|{"(4,5)","(5,1)","(1,2)"}
2|3|c|f|{"(4,5)","(5,1)","(1,2)","(2,3)"}
1|3|b|f|{"(4,5)","(5,1)","(1,3)"}
1|4|d|f|{"(4,5)","(5,1)","(1,4)"}
4|5|e|t|{"(4,5)","(5,1)","(1,4)","(4,5)"}
5|1|f|f|{"(5,1)"}
1|2|a|f|{"(5,1)","(1,2)"}
2|3|c|f|{"(5,1)","(1,2)","(2,3)"}
1|3|b|f|{"(5,1)","(1,3)"}
1|4|d|f|{"(5,1)","(1,4)"}
4|5|e|f|{"(5,1)","(1,4)","(4,5)"}
5|1|f|t|{"(5,1)","(1,4)","(4,5)","(5,1)"}

query
with recursive s(f, t) as (select f, t from graph where f = 1 union select g.f, g.t from graph g, s where g.f = s.t) cycle f, t set mark to 'Y' default 'N' using path select f, t, mark, path from s order by path
----
1|2|N|{"(1,2)"}
2|3|N|{"(1,2)","(2,3)"}
1|3|N|{"(1,3)"}
1|4|N|{"(1,4)"}
4|5|N|{"(1,4)","(4,5)"}
5|1|N|{"(1,4)","(4,5)","(5,1)"}
1|2|N|{"(1,4)","(4,5)","(5,1)","(1,2)"}
2|3|N|{"(1,4)","(4,5)","(5,1)","(1,2)","(2,3)"}
1|3|N|{"(1,4)","(4,5)","(5,1)","(1,3)"}
1|4|Y|{"(1,4)","(4,5)","(5,1)","(1,4)"}

query
with recursive s(f, t) as (select f, t from graph where f = 1 union all select g.f, g.t from graph g, s where g.f = s.t) search depth first by f, t set seq cycle f, t set is_cycle using path select f, t, is_cycle, seq = path from s order by seq
----
1|2|f|t
2|3|f|t
1|3|f|t
1|4|f|t
4|5|f|t
5|1|f|t
1|2|f|t
2|3|f|t
1|3|f|t
1|4|t|t

query
with recursive s(f, t) as (select f, t from graph where f = 1 union all select g.f, g.t from graph g, s where g.f = s.t) search breadth first by f set seq cycle t set is_cycle using path select * from s order by seq, t
----
1|2|(0,1)|f|{(2)}
1|3|(0,1)|f|{(3)}
1|4|(0,1)|f|{(4)}
2|3|(1,2)|f|{(2),(3)}
4|5|(1,4)|f|{(4),(5)}
5|1|(2,5)|f|{(4),(5),(1)}
1|2|(3,1)|f|{(4),(5),(1),(2)}
1|3|(3,1)|f|{(4),(5),(1),(3)}
1|4|(3,1)|t|{(4),(5),(1),(4)}
2|3|(4,2)|f|{(4),(5),(1),(2),(3)}

# Words that are names.
query
select cycle, search from (select 1 as cycle, 2 as search) cycle
----
1|2

# Wrong ones.
statement error 42601
with t(a) as (select 1) search depth first by a set o select * from t
----
WITH query is not recursive

statement error 42601
with recursive t(a) as (select 1 union all select a + 1 from t where a < 3) search depth first by b set o select * from t
----
search column "b" not in WITH query column list

statement error 42701
with recursive t(a) as (select 1 union all select a + 1 from t where a < 3) search depth first by a, a set o select * from t
----
search column "a" specified more than once

statement error 42601
with recursive t(a) as (select 1 union all select a + 1 from t where a < 3) cycle a set c using c select * from t
----
cycle mark column name and cycle path column name are the same

statement error 42601
with recursive t(a) as (select 1 union all select a + 1 from t where a < 3) search depth first by a set o cycle a set o using p select * from t
----
search sequence column name and cycle mark column name are the same

query
with recursive t(a) as (values (1) union all select a + 1 from t where a < 3) search depth first by a set o select * from t
----
1|{(1)}
2|{(1),(2)}
3|{(1),(2),(3)}

statement error 0A000
with recursive t(a) as (select 1 union all select * from (select a + 1 from t where a < 3) x) search depth first by a set o select * from t
----
with a SEARCH or CYCLE clause, the recursive reference to WITH query "t" must be at the top level of its right-hand SELECT

# In a view.
statement ok
create view walked as with recursive t(id, link) as (select id, link from tree where link is null union all select c.id, c.link from tree c join t on c.link = t.id) search depth first by id set path select id, path::text from t

query
select * from walked order by path
----
4|{(1),(2),(4)}
2|{(1),(2)}
6|{(1),(3),(5),(6)}
5|{(1),(3),(5)}
3|{(1),(3)}
1|{(1)}

# The added columns are no part of *.
query
with recursive t(a) as (select 1 union all select * from t where a < 3) cycle a set c using p select * from t
----
1|f|{(1)}
1|t|{(1),(1)}

query
with recursive t(a) as (select 1 union all select t.* from t where a < 3) search depth first by a set o select * from t limit 3
----
1|{(1)}
1|{(1),(1)}
1|{(1),(1),(1)}

query
with recursive t(a, b) as (select 1, 2 union all select * from t as x (p) where p < 3) cycle a set c using q select * from t
----
1|2|f|{(1)}
1|2|t|{(1),(1)}

query
with recursive t(a, b) as (select 1, 2 union all select u.*, x.b from (values (2)) u (n), t x where a < 2) search breadth first by a set o select * from t limit 3
----
1|2|(0,1)
2|2|(1,2)

query
with recursive t(a) as (select 1 union all select * from t where not c) cycle a set c using p select * from t
----
1|f|{(1)}
1|t|{(1),(1)}

# PostgreSQL has its answer. Here the columns have to be named.
statement error 0A000
with recursive t(a) as (select 1 union all select * from t join (values (1)) u (a) using (a)) cycle a set c using p select * from t

# Values of a mark with quotes.
query
with recursive t(a) as (select 1 union all select a % 2 + 1 from t) cycle a set c to 'it''s' default 'no' using p select * from t
----
1|no|{(1)}
2|no|{(1),(2)}
1|it's|{(1),(2),(1)}

query
with recursive t(a) as (select 1 union all select a % 2 + 1 from t) cycle a set c to 'x'' || ''y' default 'n' using p select a, c from t
----
1|n
2|n
1|x' || 'y

query
with recursive t("a""b") as (select 1 union all select "a""b" % 2 + 1 from t) cycle "a""b" set "c""" to E'it\'s' default E'\\' using p select * from t
----
1|\|{(1)}
2|\|{(1),(2)}
1|it's|{(1),(2),(1)}

# Their text. PostgreSQL breaks its lines, and writes the query otherwise.
statement ok
create view marked as with recursive t(a, b) as (select 1, 2 union all select a % 2 + 1, b from t) search breadth first by a, b set o cycle a set c to 'it''s' default 'no' using p select a, b, c, p::text from t

statement ok
create view marked_alone as with recursive t as (select 1 as a union all select a % 2 + 1 from t) cycle a set "C" using p select a, "C" from t

query
select definition from pg_views where viewname in ('marked', 'marked_alone') order by viewname
----
WITH RECURSIVE t (a, b) AS (SELECT 1, 2 UNION ALL SELECT a % 2 + 1, b FROM t) SEARCH BREADTH FIRST BY a, b SET o CYCLE a SET c TO 'it''s' DEFAULT 'no' USING p SELECT a, b, c, p::TEXT FROM t;
WITH RECURSIVE t AS (SELECT 1 AS a UNION ALL SELECT a % 2 + 1 FROM t) CYCLE a SET "C" USING p SELECT a, "C" FROM t;

query
select * from marked
----
1|2|no|{(1)}
2|2|no|{(1),(2)}
1|2|it's|{(1),(2),(1)}

query
select * from marked_alone
----
1|f
2|f
1|t
