# FETCH FIRST … WITH TIES: the answers are those of PostgreSQL 15.

statement ok
create table t(g int, k int, v numeric, s text, f float8, d date, ts timestamp, i interval, tz timestamptz, tm time)

statement ok
insert into t values (1,1,10,'a',1.5,'2024-01-01','2024-01-01 10:00','1 day','2024-01-01 10:00+00','10:00'),(1,2,20,'b',2.5,'2024-01-02','2024-01-01 11:00','2 days','2024-01-03 10:00+00','11:30'),(2,1,5,'c',null,'2024-01-05','2024-01-02 10:00','1 mon','2024-01-05 10:00+00','12:00'),(2,2,null,'d','NaN',null,null,null,null,null),(3,null,7,'a','inf','2024-01-05','2024-03-02 10:00','32 days','2024-03-01 10:00+00','23:30'),(3,4,7.5,'a','-inf','2024-02-05','2024-03-02 10:00','03:00','2024-03-01 10:00+00','00:15'),(9,5,8.5,'e',3,'2024-02-06','infinity','03:00','-infinity','01:15')

# Ties.

query
select g from t order by g fetch first 1 row with ties
----
1
1

query
select g from t order by g fetch first 3 rows with ties
----
1
1
2
2

query
select g from t order by g offset 1 fetch first 2 rows with ties
----
1
2
2

query
select g from t order by g fetch first (1+2) rows with ties
----
1
1
2
2

statement error 42601
select g from t fetch first 1 row with ties

query
select g from t order by g fetch first 0 rows with ties
----

statement error 2201W
select g from t order by g fetch first null rows with ties

query
select g from t order by g fetch first 100 rows with ties
----
1
1
2
2
3
3
9

query
select distinct g from t order by g fetch first 2 rows with ties
----
1
2

query
select k from t order by k desc fetch first row with ties
----
NULL

query
select x from (select g x from t order by g fetch first 1 row with ties) q order by 1
----
1
1

statement error 21000
select (select g from t order by g fetch first 1 row with ties)

query
select exists(select g from t order by g fetch first 1 row with ties)
----
t

query
(select g from t union all select k from t) order by 1 fetch first 2 rows with ties
----
1
1
1
1

query
select 1 from t order by 'a'::text fetch first 1 row with ties
----
1
1
1
1
1
1
1

statement ok
create index on t(g)

query
select g from t order by g fetch first 3 rows with ties
----
1
1
2
2

query
values (1),(1),(2) order by 1 fetch first row with ties
----
1
1

query
select g from t order by g fetch first 1 row with ties for update
----
1
1
