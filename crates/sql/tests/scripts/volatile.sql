# Numbers of sequences are drawn for the rows that are given, in their order, and for those that OFFSET leaves out:
# the answers are those of PostgreSQL 15.

statement CREATE SEQUENCE
create sequence s1

statement CREATE TABLE
create table n1 (a int primary key, b int)

statement INSERT 0 10
insert into n1 select x, x % 3 from generate_series(1, 10) x

query
select nextval('s1') from n1 limit 3
----
1
2
3

query
select currval('s1')
----
3

query
select nextval('s1') from n1 offset 8
----
12
13

query
select currval('s1')
----
13

query
select nextval('s1'), a from n1 order by a desc limit 3
----
14|10
15|9
16|8

query
select currval('s1')
----
16

query
select nextval('s1'), a from n1 where a > 8 order by a desc
----
17|10
18|9

query
select currval('s1')
----
18

query
select nextval('s1') from n1 limit 0
----

query
select currval('s1')
----
18

query
select nextval('s1') from n1 where false
----

query
select currval('s1')
----
18

query
select * from (select nextval('s1') as n, a from n1) s where a = 1
----
19|1

query
select currval('s1')
----
19

query
select * from (select nextval('s1') as n, a from n1) s order by a limit 2
----
20|1
21|2

query
select currval('s1')
----
29

query
select * from (select nextval('s1') as n, a from n1 limit 2) s
----
30|1
31|2

query
select currval('s1')
----
31

query
select * from (select nextval('s1') as n, a from n1 order by a limit 2) s
----
32|1
33|2

query
select currval('s1')
----
33

query
select count(*) from (select nextval('s1') as n, a from n1) s
----
10

query
select currval('s1')
----
43

query
select a from (select nextval('s1') as n, a from n1) s order by a limit 2
----
1
2

query
select currval('s1')
----
53

query
select exists(select nextval('s1') from n1)
----
t

query
select currval('s1')
----
53

query
select currval('s1')
----
53

query
select nextval('s1') as n, a from n1 order by n limit 2
----
54|1
55|2

query
select currval('s1')
----
63

query
select nextval('s1') + a as n, a from n1 order by b, a offset 2 limit 3
----
75|9
68|1
72|4

query
select currval('s1')
----
68

query
select (select nextval('s1')), a from n1 order by a limit 2
----
69|1
69|2

query
select currval('s1')
----
69

query
select case when a > 8 then nextval('s1') end from n1 order by a
----
NULL
NULL
NULL
NULL
NULL
NULL
NULL
NULL
70
71

query
select currval('s1')
----
71

query
select nextval('s1'), count(*) from n1 group by b order by b limit 1
----
72|3

query
select currval('s1')
----
72

query
select distinct on (b) b, a, nextval('s1') from n1 order by b, a
----
0|3|73
1|1|74
2|2|75

query
select currval('s1')
----
75

query
select nextval('s1') union all select nextval('s1') limit 1
----
76

query
select currval('s1')
----
76

query
select nextval('s1') from n1 where a in (1,2) union all select a from n1 where a = 3
----
77
78
3

query
select currval('s1')
----
78

query
select coalesce(1, nextval('s1')) from n1 limit 2
----
1
1

query
select currval('s1')
----
78

query
select a from n1 where nextval('s1') > 0 and a < 3
----
1
2

query
select currval('s1')
----
80

query
select a from n1 order by nextval('s1') limit 1
----
1

query
select currval('s1')
----
90

statement INSERT 0 2
insert into n1 select nextval('s1') + 1000, 1 from n1 limit 2

query
select currval('s1')
----
92

query
select row_number() over (order by a desc), nextval('s1'), a from n1 where a < 4 order by a
----
3|93|1
2|94|2
1|95|3

query
select currval('s1')
----
95

query
select lastval()
----
95

query
select s.n from (select a, nextval('s1') n from n1 where a < 3) s, (values (1),(2)) v(x) order by s.a, x
----
96
96
97
97

query
select currval('s1')
----
97

statement DROP TABLE
drop table n1

statement DROP SEQUENCE
drop sequence s1

# Fields that are computed have their effects when rows are counted.
statement ok
create sequence counted_rows

query
select count(row(nextval('counted_rows'))) from generate_series(1, 3)
----
3

query
select nextval('counted_rows')
----
4
