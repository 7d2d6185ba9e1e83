# Lists of values find rows by keys and indexes, with the answers of a scan.

statement ok
create table p (id int primary key, g int, h text, v bigint, n numeric(10,2), f float8, d date, u bool)

statement ok
insert into p select i, i % 7, 't' || (i % 5), i * 10, i / 4.0, i / 2.0, date '2024-01-01' + i, i % 2 = 0 from generate_series(1, 200) s(i)

statement ok
insert into p values (300, null, null, null, null, null, null, null), (301, 3, null, 9999, 0.10, 'NaN', null, true)

statement ok
create index p_g_h on p (g, h)

statement ok
create unique index p_v on p (v)

statement ok
create index p_n on p (n desc)

statement ok
create index p_f on p (f)

statement ok
create index p_d on p (d)

query
select id from p where id = any ('{9.5,8.0,1000000000000000000000000000000}'::numeric[]) order by id
----
8

query
select id from p where id = any ('{9.5,8.0,10000000000000000000000000000000,NaN}'::float8[]) order by id
----
8

query
select id from p where n = any ('{0.1,0.25}'::float8[]) order by n
----
301
1

query
select id from p where f = any ('{1.5,NaN}'::float8[]) order by f desc
----
301
3

query
explain select id from p where f = any ('{1.5,NaN}'::float8[]) order by f desc
----
Index Scan Backward using p_f on p
  Index Cond: (f = ANY ('{1.5,NaN}'::double precision[]))

query
select id from p where n = any ('{0.25,7,NULL}'::numeric[]) order by n
----
1
28

query
explain select id from p where n = any ('{0.25,7,NULL}'::numeric[]) order by n
----
Index Scan Backward using p_n on p
  Index Cond: (n = ANY ('{0.25,7,NULL}'::numeric[]))

query
select id from p where d = any ('{2024-01-05,2024-01-03}'::date[]) order by d
----
2
4

query
explain select id from p where d = any ('{2024-01-05,2024-01-03}'::date[]) order by d
----
Index Scan using p_d on p
  Index Cond: (d = ANY ('{2024-01-05,2024-01-03}'::date[]))

query
select id from p where u = any ('{t}'::bool[]) and id < 6 order by id
----
2
4

query
select id from p where id in (5, 3, 3, 900, 7, -1) order by id
----
3
5
7

query
explain select id from p where id in (5, 3, 3, 900, 7, -1) order by id
----
Index Scan using p_pkey on p
  Index Cond: (id = ANY ('{5,3,3,900,7,-1}'::integer[]))

query
select id from p where id in (5, 3, 3, 900, 7) order by id desc
----
7
5
3

query
explain select id from p where id in (5, 3, 3, 900, 7) order by id desc
----
Index Scan Backward using p_pkey on p
  Index Cond: (id = ANY ('{5,3,3,900,7}'::integer[]))

query
explain select id from p where id in (5, 3, 7) order by id desc limit 2
----
Limit
  ->  Index Scan Backward using p_pkey on p
        Index Cond: (id = ANY ('{5,3,7}'::integer[]))

query
select id from p where id in (5, 3, 7) order by id desc limit 2
----
7
5

query
select id from p where id in (5, 3, 7) order by v desc
----
7
5
3

query
explain select id from p where id in (5, 3, 7) order by v desc
----
Sort
  Sort Key: v DESC
  ->  Index Scan using p_pkey on p
        Index Cond: (id = ANY ('{5,3,7}'::integer[]))

query
select id from p where id = any (array[5, 3, null, 7]) order by id
----
3
5
7

query
explain select id from p where id = any (array[5, 3, null, 7])
----
Index Scan using p_pkey on p
  Index Cond: (id = ANY ('{5,3,NULL,7}'::integer[]))

query
select id from p where id = any ('{9,8,NULL,8}'::int[]) order by id
----
8
9

query
explain select id from p where id = any ('{9,8,NULL,8}'::int[])
----
Index Scan using p_pkey on p
  Index Cond: (id = ANY ('{9,8,NULL,8}'::integer[]))

query
select id from p where id = any ('{9999999999,8,-9999999999}'::bigint[]) order by id
----
8

query
select id from p where id = any ('{}'::int[])
----

query
select id from p where id = any (null::int[])
----

query
select count(*) from p where id <> all ('{}'::int[])
----
202

query
select count(*) from p where id <> all (null::int[])
----
0

query
select count(*) from p where not id = any ('{1,2,3}'::int[])
----
199

query
select count(*) from p where id not in (1, 2, 3)
----
199

query
explain select count(*) from p where id not in (1, 2, 3)
----
Aggregate
  ->  Seq Scan on p
        Filter: (id <> ALL ('{1,2,3}'::integer[]))

query
select count(*) from p where id not in (1, null, 3)
----
0

query
select count(*) from p where g not in (1, 2)
----
143

query
select null::int = any ('{}'::int[]), null::int = any ('{1}'::int[]), 1 = any ('{2,NULL}'::int[]), 2 = any ('{2,NULL}'::int[])
----
f|NULL|NULL|t

query
select null::int <> all ('{}'::int[]), 1 <> all ('{2,NULL}'::int[]), 2 <> all ('{2,NULL}'::int[])
----
t|NULL|f

query
select id from p where id = 4 or id = 2 or id = 2 order by id
----
2
4

query
explain select id from p where id = 4 or id = 2 or id = 2 order by id
----
Index Scan using p_pkey on p
  Index Cond: ((id = 4) OR (id = 2) OR (id = 2))

query
select id from p where 4 = id or id in (6, 8) order by id
----
4
6
8

query
explain select id from p where 4 = id or id in (6, 8)
----
Index Scan using p_pkey on p
  Index Cond: ((4 = id) OR (id = ANY ('{6,8}'::integer[])))

query
select id from p where id = 4 or id = null order by id
----
4

query
select id from p where id in (10, 11, 12, 13) and g = 4 order by id
----
11

query
explain select id from p where id in (10, 11, 12, 13) and g = 4
----
Index Scan using p_pkey on p
  Index Cond: (id = ANY ('{10,11,12,13}'::integer[]))
  Filter: (g = 4)

query
select id from p where g in (1, 3) and h = 't2' order by g, h, id
----
22
57
92
127
162
197
17
52
87
122
157
192

query
explain select id from p where g in (1, 3) and h = 't2' order by g, h
----
Index Scan using p_g_h on p
  Index Cond: ((g = ANY ('{1,3}'::integer[])) AND (h = 't2'::text))

query
select g, h, id from p where g in (3, 1) and h in ('t2', 't0', null, 't0') order by g, h, id limit 5
----
1|t0|15
1|t0|50
1|t0|85
1|t0|120
1|t0|155

query
explain select g, h, id from p where g in (3, 1) and h in ('t2', 't0', null, 't0') order by g desc, h desc
----
Index Scan Backward using p_g_h on p
  Index Cond: ((g = ANY ('{3,1}'::integer[])) AND (h = ANY ('{t2,t0,NULL,t0}'::text[])))

query
select g, h, count(*) from p where g in (3, 1) and h in ('t2', 't0') group by g, h order by g desc, h desc
----
3|t2|6
3|t0|6
1|t2|6
1|t0|6

query
select g, h from p where g in (3, 1) and h in ('t2', 't0') order by g desc, h desc limit 8
----
3|t2
3|t2
3|t2
3|t2
3|t2
3|t2
3|t0
3|t0

query
select g, h from p where g in (6, 2) and h > 't3' order by g, h limit 3
----
2|t4
2|t4
2|t4

query
explain select g, h from p where g in (6, 2) and h > 't3' order by g, h limit 3
----
Limit
  ->  Index Scan using p_g_h on p
        Index Cond: ((g = ANY ('{6,2}'::integer[])) AND (h > 't3'::text))

query
select id from p where g in (1, 3) and h is null
----
301

query
select id from p where v in (10, 30, 1000000) order by v desc
----
3
1

query
explain select id from p where v in (10, 30, 1000000) order by v desc
----
Index Scan Backward using p_v on p
  Index Cond: (v = ANY ('{10,30,1000000}'::integer[]))

query
select id from p where v = 30 and id in (1, 2, 3, 4)
----
3

query
explain select id from p where v = 30 and id in (1, 2, 3, 4)
----
Index Scan using p_v on p
  Index Cond: (v = 30)
  Filter: (id = ANY ('{1,2,3,4}'::integer[]))

query
select id from p where v = any ('{10,20}'::int[]) and id in (1, 2, 3, 4) order by id
----
1
2

query
select id from p where n in (0.25, 0.5, 0.333, 7) order by n
----
1
2
28

query
explain select id from p where n in (0.25, 0.5, 0.333, 7) order by n
----
Index Scan Backward using p_n on p
  Index Cond: (n = ANY ('{0.25,0.5,0.333,7}'::numeric[]))

query
select id from p where n in (1, 2) order by n desc
----
8
4

query
select id from p where f in (0.5, 'NaN', 'inf', 2) order by f
----
1
4
301

query
select id from p where d in ('2024-01-05', '2024-01-03', null) order by d
----
2
4

query
explain select id from p where d in ('2024-01-05', '2024-01-03')
----
Index Scan using p_d on p
  Index Cond: (d = ANY ('{2024-01-05,2024-01-03}'::date[]))

query
select id from p where h in ('t1', 't4') and id < 10 order by id
----
1
4
6
9

query
explain select id from p where h in ('t1', 't4') and id < 10
----
Index Scan using p_pkey on p
  Index Cond: (id < 10)
  Filter: (h = ANY ('{t1,t4}'::text[]))

query
select id from p where u in (true) and id < 6 order by id
----
2
4

query
select id from p where (id, g) in ((1, 1), (2, 2), (3, 9), (4, null)) order by id
----
1
2

query
explain select id from p where (id, g) in ((1, 1), (2, 2))
----
Index Union on p
  ->  Index Scan using p_pkey on p
        Index Cond: (id = 1)
        Filter: (g = 1)
  ->  Index Scan using p_pkey on p
        Index Cond: (id = 2)
        Filter: (g = 2)

query
select id from p where (g, h) in ((1, 't1'), (2, 't2'), (1, 't1')) and id < 80 order by id
----
1
2
36
37
71
72

query
explain select id from p where (g, h) in ((1, 't1'), (2, 't2')) and id < 80
----
Index Union on p
  Filter: (id < 80)
  ->  Index Scan using p_g_h on p
        Index Cond: ((g = 1) AND (h = 't1'::text))
  ->  Index Scan using p_g_h on p
        Index Cond: ((g = 2) AND (h = 't2'::text))

query
select count(*) from p where (g, h) not in ((1, 't1'), (2, 't2'))
----
189

query
select id from p where id = 5 or v = 70 or v = 50 order by id
----
5
7

query
explain select id from p where id = 5 or v = 70 or v = 50
----
Index Union on p
  ->  Index Scan using p_pkey on p
        Index Cond: (id = 5)
  ->  Index Scan using p_v on p
        Index Cond: (v = 70)
  ->  Index Scan using p_v on p
        Index Cond: (v = 50)

query
select id from p where (g = 1 and h = 't1') or (g = 2 and h = 't2' and id > 50) or id = 9 order by id limit 5
----
1
9
36
71
72

query
explain select id from p where (g = 1 and h = 't1') or (g = 2 and h = 't2' and id > 50) or id = 9
----
Index Union on p
  ->  Index Scan using p_g_h on p
        Index Cond: ((g = 1) AND (h = 't1'::text))
  ->  Index Scan using p_g_h on p
        Index Cond: ((g = 2) AND (h = 't2'::text))
        Filter: (id > 50)
  ->  Index Scan using p_pkey on p
        Index Cond: (id = 9)

query
explain select id from p where id = 5 or u
----
Seq Scan on p
  Filter: ((id = 5) OR u)

query
select count(*) from p where id = 5 or u
----
102

query
select count(*) from p where id = 5 or id > 195
----
8

query
explain select count(*) from p where id = 5 or id > 195
----
Aggregate
  ->  Seq Scan on p
        Filter: ((id = 5) OR (id > 195))

query
select count(*) from p where g = 1 or g = 1 or id = 1
----
29

query
select count(*) from p where g in (1, 2)
----
58

query
select count(*) from p where g > 4
----
56

query
select count(*) from p where g >= 5 and h > 't3'
----
11

query
select count(*) from p where n > 40
----
40

query
select count(*) from p where n < 0.3
----
2

query
select count(*) from p where n > 0.333 and n <= 1.111
----
3

query
select count(*) from p where f > 90
----
21

query
select count(*) from p where v > 1990.5
----
2

query
select id from p where v > 1990.5 order by v
----
200
301

query
explain select id from p where v > 1990.5 order by v
----
Index Scan using p_v on p
  Index Cond: (v > 1990.5)

query
select count(*) from p where id in (select id from p where g = 3)
----
30

query
select a.id, b.id from p a join p b on b.id in (a.id + 1, a.id + 2) where a.id in (1, 5) order by 1, 2
----
1|2
1|3
5|6
5|7

query
select a.id, b.id from p a join p b on b.v = a.v and b.id in (5, 6, 7) where a.id = any ('{5,7,100}') order by 1
----
5|5
7|7

query
explain select a.id, b.id from p a join p b on b.g = a.g and b.h in ('t1', 't2') where a.id = any ('{5,7,100}') order by 1
----
Sort
  Sort Key: a.id
  ->  Nested Loop
        ->  Index Scan using p_pkey on p a
              Index Cond: (a.id = ANY ('{5,7,100}'::integer[]))
        ->  Index Scan using p_g_h on p b
              Index Cond: ((b.h = ANY ('{t1,t2}'::text[])) AND (b.g = a.g))

query
select a.id, b.id from p a join p b on b.g = a.g and b.h in ('t1', 't2') where a.id = any ('{5,7,100}') and b.id < 40 order by 1, 2
----
5|12
5|26
7|7
7|21
100|2
100|16
100|37

query
select a.id, b.id from p a left join p b on b.id = a.id + 1 and b.id in (3, 5) where a.id in (2, 3, 4) order by 1
----
2|3
3|NULL
4|5

query
select id, (select count(*) from p b where b.id in (a.id, a.g)) from p a where id in (1, 9, 300) order by id
----
1|1
9|2
300|1

query
update p set u = not u where id in (1, 2, 2, 3, 999) returning id, u
----
1|t
2|f
3|t

query
explain update p set u = not u where id in (1, 2, 2, 3, 999)
----
Update on p
  ->  Index Scan using p_pkey on p
        Index Cond: (id = ANY ('{1,2,2,3,999}'::integer[]))

query
delete from p where id = any ('{1,2}') returning id
----
1
2

query
explain delete from p where id = 1 or id = 2
----
Delete on p
  ->  Index Scan using p_pkey on p
        Index Cond: ((id = 1) OR (id = 2))

query
update p set id = id + 1000 where id in (3, 4, 5) returning id
----
1003
1004
1005

query
update p set v = v + 1 where v = 60 or id = 6 returning id, v
----
6|61

statement ok
delete from p where g = 6 and h in ('t0', 't1') or id = 7

query
select count(*), sum(id) from p
----
187|22485

query
select id from p where (id, v) in ((8, 80)) or id = null
----
8

query
explain select id from p where (g, h) in ((1, 't1'))
----
Index Scan using p_g_h on p
  Index Cond: ((g = 1) AND (h = 't1'::text))

query
select count(*) from p where id between 10 and 20 or id = 30 or v between 150 and 250
----
16

query
explain select count(*) from p where id between 10 and 20 or id = 30 or v between 150 and 250
----
Aggregate
  ->  Index Union on p
        ->  Index Scan using p_pkey on p
              Index Cond: ((id >= 10) AND (id <= 20))
        ->  Index Scan using p_pkey on p
              Index Cond: (id = 30)
        ->  Index Scan using p_v on p
              Index Cond: ((v >= 150) AND (v <= 250))

query
select id from p where id in (9, '10', 11.0, 11.5) order by id
----
9
10
11

query
select id from p where id in (null)
----

query
select id from p where id = any (null)
----

statement error 22P02
select id from p where id in ('x')
