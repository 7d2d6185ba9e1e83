# GROUPING SETS, ROLLUP, CUBE and GROUPING: the answers are those of PostgreSQL 15.

statement ok
create table t(g int, k int, v numeric, s text, f float8, d date, ts timestamp, i interval, tz timestamptz)

statement ok
insert into t values (1,1,10,'a',1.5,'2024-01-01','2024-01-01 10:00','1 day','2024-01-01 10:00+00'),(1,2,20,'b',2.5,'2024-01-02','2024-01-01 11:00','2 days','2024-01-03 10:00+00'),(2,1,5,'c',null,'2024-01-05','2024-01-02 10:00','1 mon','2024-01-05 10:00+00'),(2,2,null,'d','NaN',null,null,null,null),(3,null,7,'a','inf','2024-01-05','2024-03-02 10:00','32 days','2024-03-01 10:00+00'),(3,4,7.50,'a','-inf','2024-02-05','2024-03-02 10:00','03:00','2024-03-01 10:00+00')

# Grouping sets.

query
select g,k,grouping(k,g) from t group by cube(g,k) order by 1,2,3
----
1|1|0
1|2|0
1|NULL|2
2|1|0
2|2|0
2|NULL|2
3|4|0
3|NULL|0
3|NULL|2
NULL|1|1
NULL|2|1
NULL|4|1
NULL|NULL|1
NULL|NULL|3

query
select g,k from t group by grouping sets((g,k),(g,k)) order by 1,2
----
1|1
1|1
1|2
1|2
2|1
2|1
2|2
2|2
3|4
3|4
3|NULL
3|NULL

query
select g,k from t group by g, rollup(k) order by 1,2
----
1|1
1|2
1|NULL
2|1
2|2
2|NULL
3|4
3|NULL
3|NULL

query
select g,k,s from t group by rollup((g,k),s) order by 1,2,3
----
1|1|a
1|1|NULL
1|2|b
1|2|NULL
2|1|c
2|1|NULL
2|2|d
2|2|NULL
3|4|a
3|4|NULL
3|NULL|a
3|NULL|NULL
NULL|NULL|NULL

query
select g,k,s,grouping(g,k,s) from t group by grouping sets(rollup(g,k), cube(s), ()) order by 1,2,3,4
----
1|1|NULL|1
1|2|NULL|1
1|NULL|NULL|3
2|1|NULL|1
2|2|NULL|1
2|NULL|NULL|3
3|4|NULL|1
3|NULL|NULL|1
3|NULL|NULL|3
NULL|NULL|a|6
NULL|NULL|b|6
NULL|NULL|c|6
NULL|NULL|d|6
NULL|NULL|NULL|7
NULL|NULL|NULL|7
NULL|NULL|NULL|7

query
select g,k,s,grouping(g,k,s) from t group by grouping sets(grouping sets((g),(k,s)), (s)) order by 1,2,3,4
----
1|NULL|NULL|3
2|NULL|NULL|3
3|NULL|NULL|3
NULL|1|a|4
NULL|1|c|4
NULL|2|b|4
NULL|2|d|4
NULL|4|a|4
NULL|NULL|a|4
NULL|NULL|a|6
NULL|NULL|b|6
NULL|NULL|c|6
NULL|NULL|d|6

query
select count(*) from t group by grouping sets(())
----
6

query
select count(*) from t where false group by grouping sets((),(g))
----
0

query
select count(*), g from t where false group by rollup(g)
----
0|NULL

query
select count(*) from t where false group by ()
----
0

query
select g+1 as x, sum(k) from t group by rollup(x) order by 1
----
2|3
3|3
4|4
NULL|10

query
select g+1 as x, sum(k) from t group by rollup(1) order by 1
----
2|3
3|3
4|4
NULL|10

query
select g, grouping(g) from t group by g order by 1
----
1|0
2|0
3|0

statement error 42803
select grouping(g) from t

statement error 42803
select grouping(k) from t group by g

statement error 42803
select g, k from t group by rollup(g)

query
select g, sum(k), grouping(g) from t group by rollup(g) having grouping(g)=1
----
NULL|10|1

query
select g, sum(k) from t group by rollup(g) having g is null
----
NULL|10

query
select g, sum(sum(k)) over (partition by grouping(g) order by g) from t group by rollup(g) order by g
----
1|3
2|6
3|10
NULL|10

query
select g, rank() over (order by sum(v) nulls first) from t group by cube(g) order by 1
----
1|3
2|1
3|2
NULL|4

query
select distinct k from t group by rollup(g,k) order by 1
----
1
2
4
NULL

query
select g, count(distinct s), string_agg(s,',' order by s) from t group by cube(g) order by g
----
1|2|a,b
2|2|c,d
3|1|a,a
NULL|4|a,a,a,b,c,d

query
select x.* from (select g,k,sum(v) s from t group by rollup(g,k)) x where g=1 order by 1,2
----
1|1|10
1|2|20
1|NULL|30

query
select coalesce(g::text,'all'), sum(k) from t group by rollup(g) order by 1
----
1|3
2|3
3|4
all|10

query
select case when grouping(g)=1 then 'all' else g::text end, sum(k) from t group by rollup(g) order by 1
----
1|3
2|3
3|4
all|10

query
select 1 as one, g from t group by rollup(g) order by g limit 2
----
1|1
1|2

statement error 42601
select g, 'x' from t group by grouping sets(g, 'x')

statement error 54011
select g from t group by cube(g,k,s,v,f,d,ts,i,g,k,s,v,f)

statement ok
create table p(id int primary key, a int, b int)

statement ok
insert into p values(1,2,3),(2,2,4)

query
select id, a, sum(b) from p group by id, rollup(b) order by 1,3
----
1|2|3
1|2|3
2|2|4
2|2|4

statement error 42803
select id, a from p group by rollup(id)

query
select a, b from p group by (a, b) order by 1,2
----
2|3
2|4

query
select a, sum(b) from p group by rollup(a) order by a nulls first fetch first 1 row with ties
----
NULL|7

query
select grouping(g), g from t group by rollup(g) order by grouping(g), g
----
0|1
0|2
0|3
1|NULL

query
select sum(k) from t group by grouping sets ((g), ()) order by 1
----
3
3
4
10

query
select g, (select sum(p.b) from p where p.id = t.g) from t group by rollup(g) order by 1
----
1|3
2|4
3|NULL
NULL|NULL

query
select percentile_cont(0.5) within group (order by v), g from t group by rollup(g) order by 2
----
15|1
5|2
7.25|3
7.5|NULL
