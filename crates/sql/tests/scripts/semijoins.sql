# EXISTS and IN of queries that ask for outer columns: semi-joins and anti-joins by hash, with the nulls of the standard.

statement ok
create table a (id int primary key, x int, y int, t text)

statement ok
create table b (id int primary key, x int, y int, n numeric)

statement ok
create table k (id int primary key, b int, w int)

statement ok
insert into a select i, i % 10, i % 4, 'v' || i % 3 from generate_series(1, 30) s(i)

statement ok
insert into a values (100, null, 1, null), (101, 5, null, 'v1'), (102, null, null, null)

statement ok
insert into b select i, i * 2, i % 5, i / 2.0 from generate_series(1, 8) s(i)

statement ok
insert into b values (50, null, 1, 1.0), (51, 3, null, null), (52, null, null, 3)

statement ok
insert into k select i, i % 9, i from generate_series(1, 20) s(i)

statement ok
create index k_b on k (b)

query
select id from a where exists (select 1 from b where b.x = a.x) order by id
----
2
3
4
6
8
12
13
14
16
18
22
23
24
26
28

query
explain select id from a where exists (select 1 from b where b.x = a.x) order by id
----
Sort
  Sort Key: id
  ->  Hash Semi Join
        Hash Cond: (a.x = b.x)
        ->  Seq Scan on a
        ->  Seq Scan on b

query
select id from a where not exists (select 1 from b where b.x = a.x) order by id
----
1
5
7
9
10
11
15
17
19
20
21
25
27
29
30
100
101
102

query
explain select id from a where not exists (select 1 from b where b.x = a.x) order by id
----
Sort
  Sort Key: id
  ->  Hash Anti Join
        Hash Cond: (a.x = b.x)
        ->  Seq Scan on a
        ->  Seq Scan on b

query
select count(*), max(id) from a where exists (select * from b where a.x = b.x and b.y > 1 limit 1)
----
9|28

query
explain select count(*), max(id) from a where exists (select * from b where a.x = b.x and b.y > 1 limit 1)
----
Aggregate
  ->  Hash Semi Join
        Hash Cond: (a.x = b.x)
        ->  Seq Scan on a
        ->  Seq Scan on b
              Filter: (b.y > 1)

query
select id from a where exists (select 1 from b where b.x = a.x and b.y <= a.y) order by id
----
2
14
22

query
explain select id from a where exists (select 1 from b where b.x = a.x and b.y <= a.y) order by id
----
Sort
  Sort Key: id
  ->  Hash Semi Join
        Hash Cond: (a.x = b.x)
        Join Filter: (b.y <= a.y)
        ->  Seq Scan on a
        ->  Seq Scan on b

query
select id from a where not exists (select 1 from b where b.x = a.x and (b.y = a.y or b.y is null)) order by id
----
1
2
4
5
6
7
8
9
10
11
12
15
16
17
18
19
20
21
22
24
25
26
27
28
29
30
100
101
102

query
select id from a where x in (select y from b where b.x = a.x * 2) order by id
----
1
2
3
4
11
12
13
14
21
22
23
24

query
explain select id from a where x in (select y from b where b.x = a.x * 2) order by id
----
Sort
  Sort Key: id
  ->  Hash Semi Join
        Hash Cond: (((a.x * 2) = b.x) AND (a.x = b.y))
        ->  Seq Scan on a
        ->  Seq Scan on b

query
select id from a where y in (select y from b where b.x = a.x) order by id
----
14

query
select id, y in (select y from b where b.x = a.x) from a order by id
----
1|f
2|f
3|NULL
4|f
5|f
6|f
7|f
8|f
9|f
10|f
11|f
12|f
13|NULL
14|t
15|f
16|f
17|f
18|f
19|f
20|f
21|f
22|f
23|NULL
24|f
25|f
26|f
27|f
28|f
29|f
30|f
100|f
101|f
102|f

query
select id, y not in (select y from b where b.x = a.x) from a order by id
----
1|t
2|t
3|NULL
4|t
5|t
6|t
7|t
8|t
9|t
10|t
11|t
12|t
13|NULL
14|f
15|t
16|t
17|t
18|t
19|t
20|t
21|t
22|t
23|NULL
24|t
25|t
26|t
27|t
28|t
29|t
30|t
100|t
101|t
102|t

query
select id from a where y not in (select y from b where b.x = a.x) order by id
----
1
2
4
5
6
7
8
9
10
11
12
15
16
17
18
19
20
21
22
24
25
26
27
28
29
30
100
101
102

query
explain select id from a where y not in (select y from b where b.x = a.x)
----
Seq Scan on a
  Filter: (NOT (y = ANY (hashed SubPlan 1)))
  SubPlan 1
    ->  Seq Scan on b

query
select id from a where x not in (select x from b) order by id
----

query
select id from a where x not in (select x from b where x is not null) order by id
----
1
5
7
9
10
11
15
17
19
20
21
25
27
29
30
101

query
explain select id from a where x not in (select x from b where x is not null) order by id
----
Sort
  Sort Key: id
  ->  Seq Scan on a
        Filter: (NOT (x = ANY (hashed SubPlan 1)))
        SubPlan 1
          ->  Seq Scan on b
                Filter: (x IS NOT NULL)

query
select id from a where x in (select x from b) and id > 20 order by id
----
22
23
24
26
28

query
explain select id from a where x in (select x from b) and y > 2 order by id
----
Sort
  Sort Key: id
  ->  Hash Semi Join
        Hash Cond: (a.x = b.x)
        ->  Seq Scan on a
              Filter: (a.y > 2)
        ->  Seq Scan on b

query
select id, (x, y) in (select x, y from b) from a where id > 95 or id < 6 order by id
----
1|NULL
2|NULL
3|NULL
4|NULL
5|NULL
100|NULL
101|NULL
102|NULL

query
select id, (x, y) in (select b.x, b.y from b where b.id > a.id) from a order by id
----
1|NULL
2|NULL
3|NULL
4|NULL
5|NULL
6|NULL
7|NULL
8|NULL
9|NULL
10|NULL
11|NULL
12|NULL
13|NULL
14|NULL
15|NULL
16|NULL
17|NULL
18|NULL
19|NULL
20|NULL
21|NULL
22|NULL
23|NULL
24|NULL
25|NULL
26|NULL
27|NULL
28|NULL
29|NULL
30|NULL
100|f
101|f
102|f

query
select id, (x, y) not in (select b.x, b.y from b where b.n > a.y) from a order by id
----
1|NULL
2|NULL
3|t
4|NULL
5|NULL
6|NULL
7|t
8|NULL
9|NULL
10|NULL
11|t
12|NULL
13|NULL
14|NULL
15|t
16|NULL
17|NULL
18|NULL
19|t
20|NULL
21|NULL
22|NULL
23|t
24|NULL
25|NULL
26|NULL
27|t
28|NULL
29|NULL
30|NULL
100|NULL
101|t
102|t

query
select id from a where x in (select n from b where b.y = a.y) order by id
----
1
13
21

query
select id from a where exists (select 1 from b where b.n = a.x) order by id
----
1
2
3
4
11
12
13
14
21
22
23
24

query
select id from a where exists (select 1 from b join k on k.w = b.id where b.x = a.x) order by id
----
2
4
6
8
12
14
16
18
22
24
26
28

query
explain select id from a where exists (select 1 from b join k on k.w = b.id where b.x = a.x) order by id
----
Sort
  Sort Key: id
  ->  Hash Semi Join
        Hash Cond: (a.x = b.x)
        ->  Seq Scan on a
        ->  Hash Join
              Hash Cond: (b.id = k.w)
              ->  Seq Scan on b
              ->  Seq Scan on k

query
select id from a where exists (select 1 from k where k.b = a.x and k.w > 10) order by id
----
1
2
3
4
5
6
7
8
10
11
12
13
14
15
16
17
18
20
21
22
23
24
25
26
27
28
30
101

query
explain select id from a where exists (select 1 from k where k.b = a.x and k.w > 10) order by id
----
Sort
  Sort Key: id
  ->  Seq Scan on a
        Filter: EXISTS(SubPlan 1)
        SubPlan 1
          ->  Index Scan using k_b on k
                Index Cond: (k.b = a.x)
                Filter: (k.w > 10)

query
select id from a where exists (select 1 from b where b.x = a.x and exists (select 1 from k where k.w = b.id and k.b = a.y)) order by id
----
14

query
select id from a where exists (select 1 from b where b.x = a.x and b.id in (select b from k)) order by id
----
2
4
6
8
12
14
16
18
22
24
26
28

query
select id from a where exists (select 1 from b where b.x > a.x) order by id
----
1
2
3
4
5
6
7
8
9
10
11
12
13
14
15
16
17
18
19
20
21
22
23
24
25
26
27
28
29
30
101

query
select id from a where exists (select distinct b.x from b where b.x = a.x) order by id
----
2
3
4
6
8
12
13
14
16
18
22
23
24
26
28

query
select id from a where exists (select b.x, count(*) from b where b.x = a.x group by b.x having count(*) > 1) order by id
----

query
select id from a where exists (select 1 from b where b.x = a.x limit 0) order by id
----

query
select id from a where exists (select 1 from b where b.x = a.x offset 1) order by id
----

query
select id from a where exists (select 1 from (select x, y + 1 as z from b) q where q.x = a.x and q.z = 2) order by id
----
2
12
22

query
explain select id from a where exists (select 1 from (select x, y + 1 as z from b) q where q.x = a.x and q.z = 2) order by id
----
Sort
  Sort Key: id
  ->  Hash Semi Join
        Hash Cond: (a.x = q.x)
        ->  Seq Scan on a
        ->  Subquery Scan
              ->  Seq Scan on b
                    Filter: ((b.y + 1) = 2)

query
with c as (select x, max(y) m from b group by x) select id from a where exists (select 1 from c where c.x = a.x and c.m > a.y) order by id
----
4
6
8
12
16
18
24
26
28

query
select a.id, k.w from a join k on k.b = a.y where exists (select 1 from b where b.x = a.x and b.id < k.w) and a.id < 12 order by 1, 2
----
2|2
2|11
2|20
4|9
4|18
6|11
6|20
8|9
8|18

query
select a.id from a left join b on b.x = a.x where not exists (select 1 from k where k.w = b.id) order by 1
----
1
3
5
7
9
10
11
13
15
17
19
20
21
23
25
27
29
30
100
101
102

query
explain select a.id from a left join b on b.x = a.x where not exists (select 1 from k where k.w = b.id) order by 1
----
Sort
  Sort Key: a.id
  ->  Hash Anti Join
        Hash Cond: (b.id = k.w)
        ->  Hash Left Join
              Hash Cond: (a.x = b.x)
              ->  Seq Scan on a
              ->  Seq Scan on b
        ->  Seq Scan on k

query
select id, exists (select 1 from b where b.x = a.x) e from a where id > 25 order by id
----
26|t
27|f
28|t
29|f
30|f
100|f
101|f
102|f

query
select a.x, count(*) from a group by a.x having exists (select 1 from b where b.x = a.x) order by 1
----
2|3
3|3
4|3
6|3
8|3

query
select id from a where (select count(*) from b where b.x = a.x) > 0 order by id
----
2
3
4
6
8
12
13
14
16
18
22
23
24
26
28

query
select id from a where x = any (select b.x from b where b.y = a.y) order by id
----
14

query
select id from a where x <> all (select b.x from b where b.y = a.y) order by id
----
2
3
4
6
7
8
10
11
12
15
16
18
19
20
22
23
24
26
27
28
30
101
102

query
select id from a where x > all (select b.y from b where b.x = a.x) order by id
----
1
2
4
5
6
7
8
9
10
11
12
14
15
16
17
18
19
20
21
22
24
25
26
27
28
29
30
100
101
102

query
select id from a o where exists (select 1 from a i where i.x = o.x and i.y = o.y and i.id <> o.id) order by id
----
1
2
3
4
5
6
7
8
9
10
21
22
23
24
25
26
27
28
29
30

query
select id from a o where o.x in (select i.x from a i where i.y in (select y from b where b.x = o.x)) order by id
----
4
14
24

query
update a set t = 'hit' where exists (select 1 from b where b.x = a.x and b.y = a.y) returning id
----
14

query
explain update a set t = 'hit' where exists (select 1 from b where b.x = a.x and b.y = a.y)
----
Update on a
  ->  Hash Semi Join
        Hash Cond: ((a.x = b.x) AND (a.y = b.y))
        ->  Seq Scan on a
        ->  Seq Scan on b

query
delete from a where not exists (select 1 from b where b.x = a.x) returning id
----
1
5
7
9
10
11
15
17
19
20
21
25
27
29
30
100
101
102

query
explain delete from a where not exists (select 1 from b where b.x = a.x)
----
Delete on a
  ->  Hash Anti Join
        Hash Cond: (a.x = b.x)
        ->  Seq Scan on a
        ->  Seq Scan on b

query
delete from k where b in (select id from b where id < 4) returning id
----
1
10
19
2
11
20
3
12

query
explain delete from k where b in (select id from b where id < 4)
----
Delete on k
  ->  Index Scan using k_b on k
        Index Cond: (b = ANY (hashed SubPlan 1))
        SubPlan 1
          ->  Index Scan using b_pkey on b
                Index Cond: (id < 4)

query
select count(*) from a
----
15

query
select count(*) from k
----
12

query
select id from k where b in (select id from b where id between 5 and 6) order by b desc, id
----
6
15
5
14

query
explain select id from k where b in (select id from b where id between 5 and 6) order by b desc, id
----
Sort
  Sort Key: b DESC, id
  ->  Index Scan using k_b on k
        Index Cond: (b = ANY (hashed SubPlan 1))
        SubPlan 1
          ->  Index Scan using b_pkey on b
                Index Cond: ((id >= 5) AND (id <= 6))

query
select id from k where id in (select x from b) order by id
----
4
6
8
14
16

query
select id from k where id in (select x from b where x < 4) and b > 0 order by id desc
----

query
explain select id from k where id in (select x from b where x < 4) and b > 0 order by id desc
----
Sort
  Sort Key: id DESC
  ->  Index Scan using k_pkey on k
        Index Cond: (id = ANY (hashed SubPlan 1))
        Filter: (b > 0)
        SubPlan 1
          ->  Seq Scan on b
                Filter: (x < 4)

query
select id from k where id in (select n from b) order by id
----
4

query
select id from k where id in (select null::int) or id in (select 5)
----
5

query
select a.id, k.id from a join k on k.b = a.y and k.id in (select x from b where b.id <> a.id) where a.id < 4 order by 1, 2
----

query
update k set w = -w where id in (select id from b where b.y = 1) returning id, w
----
6|-6

