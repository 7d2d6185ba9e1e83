# Aggregates of an ordered set: the answers are those of PostgreSQL 15.

statement ok
create table t(g int, k int, v numeric, s text, f float8, d date, ts timestamp, i interval, tz timestamptz)

statement ok
insert into t values (1,1,10,'a',1.5,'2024-01-01','2024-01-01 10:00','1 day','2024-01-01 10:00+00'),(1,2,20,'b',2.5,'2024-01-02','2024-01-01 11:00','2 days','2024-01-03 10:00+00'),(2,1,5,'c',null,'2024-01-05','2024-01-02 10:00','1 mon','2024-01-05 10:00+00'),(2,2,null,'d','NaN',null,null,null,null),(3,null,7,'a','inf','2024-01-05','2024-03-02 10:00','32 days','2024-03-01 10:00+00'),(3,4,7.50,'a','-inf','2024-02-05','2024-03-02 10:00','03:00','2024-03-01 10:00+00')

query
select percentile_disc(array[0.5,0.9,null]) within group (order by k desc) from t
----
{2,1,NULL}

query
select percentile_cont(array[0.1,0.5,1]) within group (order by k desc) from t
----
{3.2,2,1}

query
select percentile_cont(0.3) within group (order by i) from t
----
1 day 04:48:00

query
select percentile_cont('{0.3,0.7}'::float8[]) within group (order by i) from t
----
{"1 day 04:48:00","25 days -14:24:00"}

statement error 42883
select percentile_cont(0.3) within group (order by s) from t

statement error 22003
select percentile_cont(1.3) within group (order by k) from t

query
select percentile_cont(null) within group (order by k) from t
----
NULL

query
select percentile_cont(0.4) within group (order by f) from t
----
2.1

query
select percentile_disc(0.4) within group (order by s), percentile_disc(0.4) within group (order by s desc) from t
----
a|b

query
select percentile_disc(0.4) within group (order by d), pg_typeof(percentile_disc(0.4) within group (order by d)) from t
----
2024-01-02|date

query
select mode() within group (order by s desc), mode() within group (order by v) from t
----
a|5

query
select mode() within group (order by g) from t where false
----
NULL

query
select g, mode() within group (order by s) filter (where k>1) from t group by g order by 1
----
1|b
2|d
3|a

query
select rank(2) within group (order by k), dense_rank(2) within group (order by k), percent_rank(2) within group (order by k), cume_dist(2) within group (order by k) from t
----
3|2|0.3333333333333333|0.7142857142857143

query
select rank(2,'a') within group (order by k,s), rank(2,'z') within group (order by k desc,s) from t
----
3|5

query
select rank(null) within group (order by k), rank(null) within group (order by k nulls first) from t
----
6|1

query
select rank('b') within group (order by s), rank(2.5) within group (order by k) from t
----
4|5

query
select rank(2) within group (order by k) from t where false
----
1

query
select cume_dist(2) within group (order by k), percent_rank(2) within group (order by k) from t where false
----
1|0

statement error 42883
select rank(1,2) within group (order by k) from t

statement error 42883
select rank(1) within group (order by k,g) from t

query
select g, rank(g) within group (order by k) from t group by g order by g
----
1|1
2|2
3|1

statement error 42803
select g, rank(k) within group (order by k) from t group by g order by g

query
select g, percentile_disc(g/3.0) within group (order by k) from t group by g order by g
----
1|1
2|2
3|4

statement error 42883
select sum(k) within group (order by k) from t

statement error 42883
select percentile_cont(0.5) from t

statement error 42883
select mode(k) within group (order by k) from t

statement error 42883
select mode() from t

statement error 42809
select rank(1) from t

statement error 0A000
select percentile_cont(0.5) within group (order by k) over () from t

statement error 42601
select percentile_cont(distinct 0.5) within group (order by k) from t

statement error 42601
select percentile_cont(0.5 order by k) within group (order by k) from t

statement error 42883
select percentile_cont(0.5) within group (order by k, g) from t

statement error 42803
select percentile_cont(sum(k)) within group (order by k) from t

statement error 42803
select percentile_cont(0.5) within group (order by sum(k)) from t

query
select percentile_cont(0.5) within group (order by (select max(k) from t t2 where t2.g=t.g)) from t
----
2

query
select (select percentile_cont(0.5) within group (order by t.k)) from t
----
2

query
select g from t group by g having percentile_cont(0.5) within group (order by v) > 6 order by g
----
1
3

query
select percentile_cont(0.5) within group (order by v)+1 as x from t group by g order by percentile_cont(0.5) within group (order by v) desc
----
16
8.25
6
