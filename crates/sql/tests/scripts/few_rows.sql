# Joins of few rows (VALUES, arrays, queries with LIMIT) with a table: each finds its rows by an index.

statement ok
create table t (id int primary key, v int, s text)

statement ok
insert into t select i, i % 10, 's' || i from generate_series(1, 100) g(i)

statement ok
create index t_v on t (v)

query
select t.id, x.s from t join (values (3, 'a'), (5, 'b'), (null, 'c'), (500, 'd'), (3, 'e')) x(id, s) on x.id = t.id order by 1, 2
----
3|a
3|e
5|b

query
explain select t.id, x.s from t join (values (3, 'a'), (5, 'b'), (null, 'c')) x(id, s) on x.id = t.id order by 1, 2
----
Sort
  Sort Key: t.id, x.s
  ->  Nested Loop
        ->  Subquery Scan
              ->  Values Scan
        ->  Index Scan using t_pkey on t
              Index Cond: (t.id = x.id)

query
update t set s = x.s from (values (3, 'a'), (5, 'b')) x(id, s) where t.id = x.id returning t.id, t.s
----
3|a
5|b

query
explain update t set s = x.s from (values (3, 'a'), (5, 'b')) x(id, s) where t.id = x.id
----
Update on t
  ->  Nested Loop
        ->  Subquery Scan
              ->  Values Scan
        ->  Index Scan using t_pkey on t
              Index Cond: (t.id = x.id)

query
delete from t using (select id from t order by v, id limit 2) x where x.id = t.id returning t.id
----
10
20

query
explain delete from t using (select id from t order by v, id limit 2) x where x.id = t.id
----
Delete on t
  ->  Nested Loop
        ->  Subquery Scan
              ->  Limit
                    ->  Sort
                          Sort Key: v, id
                          Sort Method: top-N heapsort
                          ->  Seq Scan on t
        ->  Index Scan using t_pkey on t
              Index Cond: (t.id = x.id)

query
select u, t.s from unnest('{7,8,NULL,8}'::int[]) u join t on t.id = u order by 1
----
7|s7
8|s8
8|s8

query
explain select u, t.s from unnest('{7,8,NULL,8}'::int[]) u join t on t.id = u order by 1
----
Sort
  Sort Key: u.u
  ->  Nested Loop
        ->  Function Scan on unnest
        ->  Index Scan using t_pkey on t
              Index Cond: (t.id = u.u)

query
select u, t.s from unnest('{7,8,NULL,1000}'::int[]) u left join t on t.id = u order by 1
----
7|s7
8|s8
1000|NULL
NULL|NULL

query
select id from t where id in (select unnest('{7,8,NULL,8}'::int[])) order by id
----
7
8

query
explain select id from t where id in (select unnest('{7,8,NULL,8}'::int[])) order by id
----
Sort
  Sort Key: id
  ->  Index Scan using t_pkey on t
        Index Cond: (id = ANY (hashed SubPlan 1))
        SubPlan 1
          ->  ProjectSet
                ->  Result

query
select id from t where id = any (array(select v from t where id < 9)) order by id
----
1
2
3
4
5
6
7
8

query
select count(*) from t where v + 0 = any (array(select id from t where id < 4))
----
30

query
explain select id from t where id = any (array(select v from t where id < 9)) order by id
----
Index Scan using t_pkey on t
  Index Cond: (id = ANY ((SubPlan 1)))
  SubPlan 1
    ->  Index Scan using t_pkey on t
          Index Cond: (id < 9)

query
delete from t where id in (select id from t where v = 4 order by id limit 3) returning id
----
4
14
24

query
select count(*), sum(id) from t
----
95|4978

query
select x, y from unnest('{3,1,2}'::int[]) as q(x) join (values (1, 'one'), (3, 'three')) v(z, y) on z = x order by x
----
1|one
3|three

query
select t.id, e from t, unnest(array[t.v, t.id]) e where t.id in (2, 11) order by 1, 2
----
2|2
2|2
11|1
11|11

query
select * from unnest('{a,b}'::text[]) order by 1 desc
----
b
a

query
select generate_series(1, 3)
----
1
2
3
