# Frames with GROUPS, with RANGE and an offset, and with EXCLUDE: the answers are those of PostgreSQL 15.

statement ok
create table t(g int, k int, v numeric, s text, f float8, d date, ts timestamp, i interval, tz timestamptz, tm time)

statement ok
insert into t values (1,1,10,'a',1.5,'2024-01-01','2024-01-01 10:00','1 day','2024-01-01 10:00+00','10:00'),(1,2,20,'b',2.5,'2024-01-02','2024-01-01 11:00','2 days','2024-01-03 10:00+00','11:30'),(2,1,5,'c',null,'2024-01-05','2024-01-02 10:00','1 mon','2024-01-05 10:00+00','12:00'),(2,2,null,'d','NaN',null,null,null,null,null),(3,null,7,'a','inf','2024-01-05','2024-03-02 10:00','32 days','2024-03-01 10:00+00','23:30'),(3,4,7.5,'a','-inf','2024-02-05','2024-03-02 10:00','03:00','2024-03-01 10:00+00','00:15'),(9,5,8.5,'e',3,'2024-02-06','infinity','03:00','-infinity','01:15')

query
select g,k,count(*) over (order by g groups between 2 preceding and 1 preceding), count(*) over (order by g groups between 1 following and 2 following), count(*) over (order by g groups between unbounded preceding and 1 following exclude group) from t order by g,k
----
1|1|0|4|2
1|2|0|4|2
2|1|2|3|4
2|2|2|3|4
3|4|4|1|5
3|NULL|4|1|5
9|5|4|0|6

query
select g,k,count(*) over (order by g groups 1 preceding),count(*) over (order by g groups between 5 preceding and 3 preceding),count(*) over (partition by g order by k groups between 0 preceding and 0 following) from t order by g,k
----
1|1|2|0|1
1|2|2|0|1
2|1|4|0|1
2|2|4|0|1
3|4|4|0|1
3|NULL|4|0|1
9|5|3|2|1

query
select f, count(*) over (order by f range between 1 preceding and 1.5 following), count(*) over (order by f desc range between 1 preceding and 1.5 following), count(*) over (order by f range between 'inf' preceding and 'inf' following),count(*) over (order by f range between 'inf' following and 'inf' following),count(*) over (order by f range between 'inf' preceding and 'inf' preceding) from t order by f
----
-Infinity|1|1|5|5|1
1.5|3|2|5|1|1
2.5|3|3|5|1|1
3|2|3|5|1|1
Infinity|1|1|5|1|5
NaN|1|1|1|1|1
NULL|1|1|1|1|1

query
select d, array_agg(k) over (order by d, k rows 1 preceding), count(*) over (order by d range between '1 day' preceding and interval '1 month' following),count(*) over (order by d desc range between '1 day'::interval preceding and interval '1 month' following) from t order by d, k
----
2024-01-01|{1}|4|2
2024-01-02|{1,2}|4|2
2024-01-05|{2,1}|3|4
2024-01-05|{1,NULL}|3|4
2024-02-05|{NULL,4}|2|4
2024-02-06|{4,5}|2|2
NULL|{5,2}|1|1

query
select ts, count(*) over (order by ts range between '1 hour' preceding and '1 day' following),count(*) over (order by ts desc range between '1 hour' preceding and '1 day' following) from t order by ts
----
2024-01-01 10:00:00|3|2
2024-01-01 11:00:00|3|2
2024-01-02 10:00:00|1|3
2024-03-02 10:00:00|2|2
2024-03-02 10:00:00|2|2
infinity|1|1
NULL|1|1

query
select tz, count(*) over (order by tz range between '1 month' preceding and '2 day' following),count(*) over (order by tz desc range between '1 hour' preceding and '2 day' following) from t order by tz
----
-infinity|1|1
2024-01-01 10:00:00+00|2|1
2024-01-03 10:00:00+00|3|2
2024-01-05 10:00:00+00|3|2
2024-03-01 10:00:00+00|2|2
2024-03-01 10:00:00+00|2|2
NULL|1|1

query
select tm, count(*) over (order by tm range between '1 hour' preceding and '2 hours' following),count(*) over (order by tm desc range between '1 hour' preceding and '2 hour' following) from t order by tm
----
00:15:00|2|2
01:15:00|2|2
10:00:00|3|1
11:30:00|2|3
12:00:00|2|3
23:30:00|1|1
NULL|1|1

query
select i, count(*) over (order by i range between '1 day' preceding and '2 hours' following),count(*) over (order by i desc range between '1 day' preceding and '2 hour' following) from t order by i
----
03:00:00|2|3
03:00:00|2|3
1 day|3|2
2 days|2|1
1 mon|1|1
32 days|1|1
NULL|1|1

query
select g,k,array_agg(k) over (order by g,k rows between 1 preceding and 1 following exclude current row), array_agg(k) over (order by g rows between unbounded preceding and unbounded following exclude ties), array_agg(k) over (order by g range between 1 preceding and 1 following exclude group), sum(k) over (order by g,k rows 2 preceding exclude no others) from t order by g,k
----
1|1|{2}|{1,1,2,4,NULL,5}|{1,2}|1
1|2|{1,1}|{2,1,2,4,NULL,5}|{1,2}|3
2|1|{2,2}|{1,2,1,4,NULL,5}|{1,2,4,NULL}|4
2|2|{1,4}|{1,2,2,4,NULL,5}|{1,2,4,NULL}|5
3|4|{2,NULL}|{1,2,1,2,4,5}|{1,2}|7
3|NULL|{4,5}|{1,2,1,2,NULL,5}|{1,2}|6
9|5|{NULL}|{1,2,1,2,4,NULL,5}|NULL|9

query
select g,k,first_value(k) over w, last_value(k) over w, nth_value(k,2) over w from t window w as (order by g,k nulls first rows between 2 preceding and 2 following exclude current row) order by g,k
----
1|1|2|1|1
1|2|1|2|1
2|1|1|NULL|2
2|2|2|4|1
3|4|2|5|NULL
3|NULL|1|5|2
9|5|NULL|4|4

query
select g,k,first_value(k) over w, last_value(k) over w, nth_value(k,2) over w from t window w as (order by g range between unbounded preceding and current row exclude ties) order by g,k
----
1|1|1|1|NULL
1|2|2|2|NULL
2|1|1|1|2
2|2|1|2|2
3|4|1|4|2
3|NULL|1|NULL|2
9|5|1|5|2

query
select g,k,lag(k) over w, rank() over w, row_number() over w from t window w as (order by g,k rows between 1 preceding and 1 preceding exclude group) order by g,k
----
1|1|NULL|1|1
1|2|1|2|2
2|1|2|3|3
2|2|1|4|4
3|4|2|5|5
3|NULL|4|6|6
9|5|NULL|7|7

query
select string_agg(s,',') over (order by g,k rows between unbounded preceding and current row exclude current row) from t order by g,k
----
NULL
a
a,b
a,b,c
a,b,c,d
a,b,c,d,a
a,b,c,d,a,a

statement error 42P20
select count(*) over (groups 1 preceding) from t

statement error 42P20
select count(*) over (range 1 preceding) from t

statement error 42P20
select count(*) over (order by g,k range 1 preceding) from t

statement error 0A000
select count(*) over (order by s range 1 preceding) from t

statement error 0A000
select count(*) over (order by g range 1.5 preceding) from t

statement error 22P02
select count(*) over (order by g range '1 day' preceding) from t

statement error 0A000
select count(*) over (order by d range 1 preceding) from t

statement error 22013
select count(*) over (order by g range -1 preceding) from t

statement error 22013
select count(*) over (order by g groups -1 preceding) from t

statement error 22013
select count(*) over (order by g rows -1 preceding) from t

statement error 22004
select count(*) over (order by g range null preceding) from t

statement error 42P10
select count(*) over (order by g rows g preceding) from t

statement error 22013
select count(*) over (order by d range '-1 day' preceding) from t

statement error 22013
select count(*) over (order by d range interval '-1 day' preceding) from t

statement error 42P20
select count(*) over (order by g range between 1 following and 1 preceding) from t

statement error 42P20
select count(*) over (order by g rows between 1 following and current row exclude ties) from t

query
select count(*) over (order by g rows '1' preceding), count(*) over (order by g range '1' preceding) from t order by g,k
----
1|2
2|2
2|4
2|4
2|4
2|4
2|1

query
select g, count(*) over (order by g groups between 1 preceding and current row) from t group by g order by g
----
1|1
2|2
3|2
9|2

query
select g, sum(count(*)) over (order by sum(k) range between 1 preceding and 2 following) from t group by g order by g
----
1|7
2|7
3|7
9|3

query
select exclude from (values(1)) v(exclude)
----
1

query
select g,k,sum(k) over w2 from t window w as (order by g), w2 as (w range between 1 preceding and current row exclude current row) order by g,k
----
1|1|2
1|2|1
2|1|5
2|2|4
3|4|3
3|NULL|7
9|5|NULL
