# The first rows in order, and joins by hash: of all kinds, with nulls, numbers of different types, and unread columns.

statement ok
create table s (id int primary key, a int, b text)

statement ok
insert into s select i, (i * 37) % 101, case when i % 7 = 0 then null else 't' || (i * 13) % 17 end from generate_series(1, 500) g(i)

query
select id, a from s order by a, id limit 3
----
101|0
202|0
303|0

query
explain select id, a from s order by a, id limit 3
----
Limit
  ->  Sort
        Sort Key: a, id
        Sort Method: top-N heapsort
        ->  Seq Scan on s

query
select id, a from s order by a desc, id desc limit 3 offset 40
----
472|92
371|92
270|92

query
explain select id, a from s order by a desc, id desc offset 40
----
Limit
  ->  Sort
        Sort Key: a DESC, id DESC
        ->  Seq Scan on s

query
select id, b from s order by b nulls first, id limit 2 offset 70
----
497|NULL
17|t0

query
select id, b from s order by b desc, id limit 4
----
7|NULL
14|NULL
21|NULL
28|NULL

query
select id, b from s order by b desc nulls last, id limit 4 offset 2
----
36|t9
53|t9
87|t9
104|t9

query
select id from s order by a, id limit 0
----

query
select id from s order by a, id limit 2 offset 499
----
434

query
select id from s order by a, id limit 2 offset 600
----

query
select distinct b from s order by b desc nulls last limit 3 offset 1
----
t8
t7
t6

query
select distinct on (a) a, id from s order by a, id desc limit 3
----
0|404
1|475
2|445

query
select b, count(*) from s group by b order by count(*) desc, b limit 3
----
NULL|71
t10|26
t13|26

query
select sum(id) from (select id from s order by a desc, id limit 200) q
----
49916

query
select i from (select i, repeat('x', 2000) t from generate_series(1, 150000) g(i)) q order by t, i desc limit 2 offset 1
----
149999
149998

query
select s.id, o.id from s join s o on o.a = s.a and o.id <> s.id order by s.a desc, s.id, o.id limit 3
----
30|131
30|232
30|333

query
select s.id, (select o.id from s o where o.a = s.a order by o.b desc nulls last, o.id limit 1) from s order by s.a, s.id limit 3
----
101|202
202|202
303|202

query
select count(*), sum(s.id), max(o.b), min(o.id) from s join s o on o.a = s.a
----
2480|621240|t9|1

query
select count(*) from s join s o on o.a + 1 = s.a + 1 and o.b > s.b
----
708

query
select s.b, o.a, count(*) from s join s o on o.b = s.b where s.id < 10 and o.id > 490 group by s.b, o.a order by 1, 2
----
t10|81|1
t13|98|1
t14|44|1
t5|71|1
t9|34|1

query
select s.id, o.b, x.a from s left join s o on o.id = s.a and o.a > 50 left join s x on x.a = o.id + 1 and x.id < 50 where s.id < 6 order by 1, 2, 3
----
1|t5|NULL
2|NULL|NULL
3|t11|NULL
4|NULL|NULL
5|NULL|NULL

query
select s.id, o.id, o.b from (select id, a from s where id < 5) s full join (select id, b from s where id between 3 and 6) o on s.id = o.id order by 1, 2
----
1|NULL|NULL
2|NULL|NULL
3|3|t5
4|4|t1
NULL|5|t14
NULL|6|t10

query
explain select s.id, o.id, o.b from (select id, a from s where id < 5) s full join (select id, b from s where id between 3 and 6) o on s.id = o.id order by 1, 2
----
Sort
  Sort Key: s.id, o.id
  ->  Hash Full Join
        Hash Cond: (s.id = o.id)
        ->  Subquery Scan
              ->  Index Scan using s_pkey on s
                    Index Cond: (id < 5)
        ->  Subquery Scan
              ->  Index Scan using s_pkey on s
                    Index Cond: ((id >= 3) AND (id <= 6))

query
select count(*) from s join (values (1, 1.0), (2, 2.5), (null, 3)) v(k, n) on v.n = s.id
----
2

query
select s.id, v.f from s join (values (1::float8), (2.5), ('NaN'), (4)) v(f) on v.f = s.id order by 1
----
1|1
4|4

query
select a.f, b.f from (values ('NaN'::float8), (0.0), (1)) a(f) join (values ('NaN'::float8), (-0.0), (2)) b(f) on a.f = b.f order by 1
----
0|0
NaN|NaN

query
select a.n, b.f from (values (0.1), (0.25), (3)) a(n) join (values (0.1::float8), (0.25), (3)) b(f) on a.n = b.f order by 1
----
0.1|0.1
0.25|0.25
3|3

query
update s set a = o.a + 1000 from s o where o.id = s.a and s.id < 4 returning s.id, s.a, o.b
----
1|1056|t5
2|1011|t10
3|1067|t11

query
delete from s using s o where o.a = s.a and s.id > 490 and o.id < 100 returning s.id, o.b
----
491|t9
492|t5
493|t1
494|t14
495|NULL
496|t6
497|t2
498|t15
499|t11
500|t7

