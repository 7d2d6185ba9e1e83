# Set-returning functions inside of expressions: the answers are those of PostgreSQL 15.

statement ok
create table t(g int, k int, v numeric, s text, f float8, d date, ts timestamp, i interval, tz timestamptz, tm time)

statement ok
insert into t values (1,1,10,'a',1.5,'2024-01-01','2024-01-01 10:00','1 day','2024-01-01 10:00+00','10:00'),(1,2,20,'b',2.5,'2024-01-02','2024-01-01 11:00','2 days','2024-01-03 10:00+00','11:30'),(2,1,5,'c',null,'2024-01-05','2024-01-02 10:00','1 mon','2024-01-05 10:00+00','12:00'),(2,2,null,'d','NaN',null,null,null,null,null),(3,null,7,'a','inf','2024-01-05','2024-03-02 10:00','32 days','2024-03-01 10:00+00','23:30'),(3,4,7.5,'a','-inf','2024-02-05','2024-03-02 10:00','03:00','2024-03-01 10:00+00','00:15'),(9,5,8.5,'e',3,'2024-02-06','infinity','03:00','-infinity','01:15')

# Sets.

query
select unnest(array[1,2])+1, g from t where g=1 order by 1,2
----
2|1
2|1
3|1
3|1

query
select lower(unnest(array['A','B'])) as l
----
a
b

query
select generate_series(1, unnest(array[1,2,3]))
----
1
1
2
1
2
3

query
select unnest(array[1,2]), generate_series(1, unnest(array[1,2]))
----
1|1
2|1
2|2

query
select unnest(array[3,1,2]) u, unnest(array['a','b']) order by 1
----
1|b
2|NULL
3|a

query
select g from t where k=1 order by unnest(array[1,2]), g
----
1
2
1
2

query
select unnest(array[1,2]) u, count(*) from t group by unnest(array[1,2]) order by 1
----
1|7
2|7

query
select unnest(array[1,2]) u, count(*) from t group by u order by 1
----
1|7
2|7

query
select unnest(array[g,k]) u, count(*) from t group by 1 order by 1
----
1|4
2|4
3|2
4|1
5|1
9|1
NULL|1

query
select unnest(array[1,2])*10 u, sum(g) from t group by 1 order by 1
----
10|21
20|21

query
select unnest(array_agg(g order by g)) x from t
----
1
1
2
2
3
3
9

query
select g, unnest(array_agg(k order by k)) from t group by g order by 1,2
----
1|1
1|2
2|1
2|2
3|4
3|NULL
9|5

query
select distinct unnest(array[1,1,2]) order by 1
----
1
2

query
select distinct on (unnest(array[1,1,2])) unnest(array[1,1,2]) u, g from t order by u, g
----
1|1
2|1

statement error 0A000
select unnest(array[1,2]) from t where unnest(array[true])

statement error 0A000
select case when true then unnest(array[1,2]) end

statement error 0A000
select coalesce(unnest(array[1,null]), 5)

statement error 0A000
select sum(unnest(array[1,2]))

statement error 0A000
select count(*) filter (where unnest(array[true]))

query
select generate_series(1, row_number() over (order by g,k)) from t order by 1 limit 5
----
1
1
1
1
1

query
select unnest(array[1,2]) limit 1
----
1

query
select unnest(array[1,2,3]) offset 1
----
2
3

query
select 1 from (select unnest(array[1,2]) u) q
----
1
1

query
select * from (select unnest(array[1,2]) u, g from t) q where u=2 and g=1
----
2|1
2|1

query
select count(*) from (select unnest(array[1,2]), g from t) q
----
14

query
select (select unnest(array[1]) + 1)
----
2

query
select array(select unnest(array[1,2]) + 1)
----
{2,3}

query
select 1 where 1 in (select unnest(array[1,2]))
----
1

query
select exists(select unnest('{}'::int[]))
----
f

statement ok
insert into t(g) select 100 + generate_series(1,3)

query
select g from t where g>100 order by 1
----
101
102
103

statement error 0A000
update t set k=unnest(array[1]) where g=101

statement error 0A000
delete from t where g=101 returning unnest(array[1])

query
select unnest(array[1,2]) union select 3 order by 1
----
1
2
3

query
select generate_series(1,3)::text || 'x'
----
1x
2x
3x

query
select abs(generate_series(-1,1)), -generate_series(1,2)
----
1|-1
0|-2
1|NULL

query
select generate_series(1,2) + generate_series(1,3)
----
2
4
NULL

query
select generate_series(1,2) = any(array[2])
----
f
t

query
select array[generate_series(1,2)]
----
{1}
{2}

query
select row_number() over () , unnest(array['x','y']) from t where g=1
----
1|x
1|y
2|x
2|y

query
select unnest(null::int[]), 1
----

query
select unnest('{}'::int[]), unnest(array[1])
----
NULL|1

query
select to_char(generate_series(1,2),'009')
----
 001
 002

query
select generate_series(1,2)::float8/2 as h order by h desc
----
1
0.5

query
select generate_subscripts(array[5,6],1), unnest(array[5,6])
----
1|5
2|6

statement error 0A000
select * from generate_series(1, unnest(array[1,2]))

query
select greatest(unnest(array[1,5]), 3), nullif(unnest(array[1,2]),1)
----
3|NULL
5|2

query
select interval '1 day' * generate_series(1,2)
----
1 day
2 days

query
select date '2024-01-01' + generate_series(0,2)
----
2024-01-01
2024-01-02
2024-01-03

statement error 0A000
select g from t group by g having unnest(array[true])

query
select string_to_table('a,b',',') || '!'
----
a!
b!

query
select upper(regexp_split_to_table('a b',' '))
----
A
B

query
select jsonb_array_elements('[1,2]')->>0, jsonb_array_elements_text('["a","b"]') || 'c'
----
1|ac
2|bc

statement error 0A000
values (generate_series(1,2))

query
select generate_series(1,3) order by random()*0, 1 desc
----
3
2
1

statement ok
create view vv as select unnest(array[1,2])+g x from t where g<3

query
select * from vv order by 1
----
2
2
3
3
3
3
4
4

query
select * from vv where x=2
----
2
2

# Moments, by steps that are not all as long.

query
select * from generate_series(timestamp '2024-01-31', '2024-05-01', '1 month') g
----
2024-01-31 00:00:00
2024-02-29 00:00:00
2024-03-29 00:00:00
2024-04-29 00:00:00

query
select generate_series(timestamp '2024-01-02', timestamp '2024-01-01', interval '-8 hours')::time
----
00:00:00
16:00:00
08:00:00
00:00:00

statement error 22023
select generate_series(timestamp '2024-01-02', timestamp '2024-01-01', interval '0')

statement ok
set timezone = 'Europe/Berlin'

query
select generate_series(timestamptz '2024-03-30 00:00', '2024-04-01 00:00', '1 day')
----
2024-03-30 00:00:00+01
2024-03-31 00:00:00+01
2024-04-01 00:00:00+02

query
select count(*) from generate_series(date '2024-01-01', date '2024-01-03', '1 day') d
----
3
