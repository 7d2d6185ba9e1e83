# WITH RECURSIVE.
query
with recursive t(n) as (values (1) union all select n + 1 from t where n < 5) select n from t
----
1
2
3
4
5

query
with recursive t(n) as (select 1 union all select n + 1 from t) select n from t limit 3
----
1
2
3

query
with recursive t(n) as (values (1) union all select n + 1 from t where n < 100) select sum(n), count(*) from t
----
5050|100

statement ok
create table folders (id int primary key, parent int, name text)

statement ok
create index folders_parent on folders (parent)

statement ok
insert into folders values (1, null, 'root'), (2, 1, 'usr'), (3, 1, 'etc'), (4, 2, 'bin'), (5, 2, 'lib'), (6, 5, 'x')

query
with recursive tree as (select id, name, 0 as depth, name as path from folders where parent is null union all select f.id, f.name, tree.depth + 1, tree.path || '/' || f.name from folders f join tree on f.parent = tree.id) select id, depth, path from tree order by path
----
1|0|root
3|1|root/etc
2|1|root/usr
4|2|root/usr/bin
5|2|root/usr/lib
6|3|root/usr/lib/x

# A row that was found before is not found again: a cycle ends.
statement ok
create table edges (a int, b int, primary key (a, b))

statement ok
insert into edges values (1, 2), (2, 3), (3, 1), (3, 4)

query
with recursive reached(node) as (select 1 union select b from edges join reached on a = node) select node from reached order by node
----
1
2
3
4

query
with recursive reached as (select a as node, b as next from edges where a = 1 union select e.a, e.b from reached r, edges e where e.a = r.next) select * from reached order by 1, 2
----
1|2
2|3
3|1
3|4

# One that does not name itself is a query like others; those before are seen, and it may be read twice.
query
with recursive start as (select 2 as id), up as (select f.id, f.parent from folders f, start where f.id = start.id union all select f.id, f.parent from folders f join up on f.id = up.parent) select x.id, y.id from up x join up y on x.id = y.id order by 1
----
1|1
2|2

# Names of columns, parameters, and one inside of another query.
statement ok
prepare below(int) as with recursive below as (select id from folders where id = $1 union all select f.id from folders f join below on f.parent = below.id) select count(*) from below

query
execute below(2)
----
4

query
execute below(1)
----
6

query
select f.name, (with recursive up(id, parent) as (select id, parent from folders o where o.id = f.id union all select o.id, o.parent from folders o join up on o.id = up.parent) select count(*) from up) as depth from folders f order by f.id
----
root|1
usr|2
etc|2
bin|3
lib|3
x|4

query
select * from (with recursive t(n) as (select 1 union all select n * 2 from t where n < 50) select n from t) s where n > 10
----
16
32
64

# A statement that changes rows by it.
query
with recursive below as (select id from folders where id = 5 union all select f.id from folders f join below on f.parent = below.id) delete from folders using below where folders.id = below.id returning folders.name
----
lib
x

statement ok
create view numbers as with recursive t(n) as (select 1 union all select n + 1 from t where n < 3) select n from t

query
select sum(n) from numbers
----
6

query
explain with recursive t(n) as (select 1 union all select n + 1 from t where n < 3) select n from t
----
Subquery Scan
  ->  Recursive Union
        ->  Result
        ->  WorkTable Scan
              Filter: (n < 3)

statement error 42P19
with recursive t(n) as (select 1 union all select count(*)::int from t) select n from t

statement error 42P19
with recursive t(n) as (select 1 union all select a.n + b.n from t a, t b) select n from t

statement error 42P19
with recursive t(n) as (select 1 union all select (select max(n) from t) where false) select n from t

statement error 42804
with recursive t(n) as (select 1 union all select n::bigint from t) select n from t

statement error 42601
with recursive t(n) as (select 1 union all select n, n from t) select n from t

statement error 42P01
with t(n) as (select 1 union all select n + 1 from t) select n from t

statement error 42P01
with recursive t(n) as (select n from t union all select 1) select n from t

# Endlessly many are too many.
statement error 53200
with recursive t(n, filler) as (select 1, repeat('x', 100000) union select n + 1, filler from t) select n from t
