# The optimisations of reads of many rows do not change answers, which are PostgreSQL's. Values of correlated queries
# are found by a hash, and joins are in the order of the tables' sizes. Common conditions are tested once, and days are
# compared as days.

statement ok
create table part (id int primary key, brand char(10) not null, size int, name varchar(30) not null)

statement ok
create table line (id bigint primary key, part int, quantity numeric(15,2), price numeric(15,4), shipped date, flag char(1), note text)

statement ok
create table small (k int primary key, name text)

statement ok
insert into part select i, 'Brand#' || i % 7, nullif(i % 11, 5), 'name of part ' || i from generate_series(1, 300) s(i)

statement ok
insert into line select i, nullif(i * 7 % 320, 13), (i % 50)::numeric + 0.25, (i * 37 % 10007) / 100.0, date '1995-01-01' + i % 700, substr('ANR', 1 + i % 3, 1), 'a note of more than twelve bytes ' || i % 5 from generate_series(1, 3000) s(i)

statement ok
insert into small select i, 'small ' || i from generate_series(0, 6) s(i)

# Values of groups, by a hash; for a part without lines, or for a null, the result of no rows.

query
select sum(price) / 7.0 from line, part where part.id = line.part and brand = 'Brand#3' and quantity < (select 0.5 * avg(quantity) from line l where l.part = part.id)
----
662.4800000000000000

query
select id, (select count(*) from line where part = p.id) from part p where id % 60 = 0 or id > 297 order by id
----
60|10
120|9
180|9
240|10
298|9
299|9
300|9

query
select x, (select count(*) from line where part = x), (select coalesce(sum(quantity), -1) from line where part = x), (select max(shipped) from line where part = x) from (values (1), (2), (null), (1000), (3), (1), (null), (4)) v(x)
----
1|9|219.25|1996-10-05
2|10|262.50|1996-11-17
NULL|0|-1|NULL
1000|0|-1|NULL
3|9|283.25|1996-11-20
1|9|219.25|1996-10-05
NULL|0|-1|NULL
4|10|222.50|1996-11-03

query
select x, (select sum(quantity) from line where part = x and flag = f) from (values (1, 'A'), (2, 'N'), (3, 'R'), (1, null), (null, 'A'), (1, 'N'), (2, 'A'), (4, 'R')) v(x, f)
----
1|79.75
2|95.00
3|87.75
1|NULL
NULL|NULL
1|99.75
2|78.75
4|79.00

query
select k, (select count(*) from small s where s.k = v.k), (select min(name) from small where small.k = v.k::numeric) from (values (1.0), (2.5), (3.00), (6), (7), (null)) v(k)
----
1.0|1|small 1
2.5|0|NULL
3.00|1|small 3
6|1|small 6
7|0|NULL
NULL|0|NULL

query
select k, (select sum(k) from small s where s.k = v.k::float8) from (values (1), (2), (3), (9), (null)) v(k)
----
1|1
2|2
3|3
9|NULL
NULL|NULL

# A group that no row asks for may have a value that cannot be computed.

query
select x, (select 1 / (sum(k) - 3) from small where k = x) from (values (1), (2), (4), (5), (6), (8)) v(x)
----
1|0
2|-1
4|1
5|0
6|0
8|NULL

statement error 22012
select x, (select 1 / (sum(k) - 3) from small where k = x) from (values (1), (2), (4), (5), (3), (8)) v(x)

# HAVING, LIMIT and comparisons with less are not rewritten.

query
select x, (select sum(k) from small where k = x having count(*) > 0), (select sum(k) from small where k < x), (select sum(k) from small where k = x limit 0) from (values (1), (2), (4), (5), (6), (8)) v(x)
----
1|1|0|NULL
2|2|1|NULL
4|4|6|NULL
5|5|10|NULL
6|6|15|NULL
8|NULL|21|NULL

query
select x, (select sum(k + x) from small where k = x) from (values (1), (2), (4), (5), (6), (8)) v(x)
----
1|2
2|4
4|8
5|10
6|12
8|NULL

query
select x, (select sum(k) from small where k = x and (select count(*) from part where size = x) > 0) from (values (1), (2), (4), (5), (6), (8)) v(x)
----
1|1
2|2
4|4
5|NULL
6|6
8|NULL

# Joins of tables of several sizes.

query
select count(*), sum(price), min(line.id), max(part.name) from line, part, small where small.k = part.size and part.id = line.part and small.name = 'small 4'
----
253|12664.1200|10|name of part 92

query
select small.name, count(*), sum(quantity) from small, line, part where line.part = part.id and part.size = small.k and shipped < date '1995-06-01' group by small.name order by 1
----
small 0|62|1547.50
small 1|67|1672.75
small 2|64|1541.00
small 3|67|1580.75
small 4|64|1536.00
small 6|64|1542.00

query
select p.id, s.name, l.id from part p join small s on s.k = p.size join line l on l.part = p.id and l.quantity > p.size * 10 where p.id < 60 and l.price < 20 order by 1, 2, 3
----
1|small 1|823
1|small 1|2743
2|small 2|46
2|small 2|1646
3|small 3|549
11|small 0|1373
12|small 1|276
12|small 1|2196
15|small 4|2745
22|small 0|826
22|small 0|2746
23|small 1|49
23|small 1|1649
24|small 2|2472
26|small 4|2198
33|small 0|279
33|small 0|2199
35|small 2|1925
36|small 3|2748
44|small 0|52
44|small 0|1652
45|small 1|2475
46|small 2|1378
46|small 2|2978
47|small 3|281
55|small 0|1105
55|small 0|2705
56|small 1|1928
57|small 2|831

query
select count(*) from line l, line m, part p where l.part = m.part and p.id = l.part and p.size = 3 and l.id < m.id
----
1107

query
select s.k, p.id from small s left join part p on p.size = s.k and p.id < 20 order by 1, 2
----
0|11
1|1
1|12
2|2
2|13
3|3
3|14
4|4
4|15
5|NULL
6|6
6|17

query
select count(*), count(p.id), count(s.k) from line l full join part p on p.id = l.part left join small s on s.k = p.size
----
3001|2806|1539

query
select count(*) from line l, small s, part p where p.id = l.part and l.id % 1000 = s.k
----
18

# A condition in all alternatives is tested once; conditions on one table are tested on that table.

query
select sum(price) from line, part where (part.id = line.part and brand = 'Brand#1' and quantity between 1 and 11 and size < 6) or (part.id = line.part and brand = 'Brand#2' and quantity between 10 and 20 and size < 8) or (part.id = line.part and brand = 'Brand#3' and quantity between 20 and 30)
----
7021.5800

query
explain select sum(price) from line, part where (part.id = line.part and brand = 'Brand#1' and quantity < 11) or (part.id = line.part and brand = 'Brand#2' and quantity < 20)
----
Aggregate
  ->  Hash Join
        Hash Cond: (line.part = part.id)
        Join Filter: (((part.brand = 'Brand#1'::text) AND (line.quantity < 11)) OR ((part.brand = 'Brand#2'::text) AND (line.quantity < 20)))
        ->  Seq Scan on line
              Filter: ((line.quantity < 11) OR (line.quantity < 20))
        ->  Seq Scan on part
              Filter: ((part.brand = 'Brand#1'::text) OR (part.brand = 'Brand#2'::text))

query
select count(*) from part where (size = 1 and id < 100) or (size = 1 and id > 200) or size = 1 and brand is null
----
18

query
select count(*) from part where (size = 1) or (size = 1 and id > 200)
----
28

query
select count(*) from part where ((size = 1) or (size = 1 and id > 200)) is null
----
27

# Days are compared with moments.

query
select count(*) from line where shipped >= date '1995-03-01' and shipped < date '1995-03-01' + interval '3' month
----
460

query
select count(*) from line where shipped > timestamp '1995-03-01 00:00:01' and timestamp '1995-06-01 12:00:00' >= shipped
----
460

query
select count(*) from line where shipped between date '1995-12-01' - interval '90' day and date '1995-12-01' and quantity < 0.06 + 24
----
192

query
explain select id from line where shipped < date '1995-01-01' + interval '1' year and quantity < 1 + 0.5
----
Seq Scan on line
  Filter: ((shipped < '1996-01-01'::date) AND (quantity < 1.5))

# Groups by several keys, with nulls, and texts that differ in blanks only.

query
select flag, part % 3, count(*), sum(quantity), avg(price), min(note), max(shipped) from line group by flag, part % 3 order by 1, 2
----
A|0|336|8271.00|40.9008035714285714|a note of more than twelve bytes 0|1996-11-30
A|1|333|8301.25|57.9705105105105105|a note of more than twelve bytes 0|1996-11-30
A|2|328|8120.00|50.2444817073170732|a note of more than twelve bytes 0|1996-11-15
A|NULL|3|57.75|58.0366666666666667|a note of more than twelve bytes 4|1996-04-04
N|0|330|8263.50|50.3449090909090909|a note of more than twelve bytes 0|1996-11-16
N|1|333|8116.25|40.9164264264264264|a note of more than twelve bytes 0|1996-11-30
N|2|334|8272.50|57.7950000000000000|a note of more than twelve bytes 0|1996-11-28
N|NULL|3|97.75|39.7066666666666667|a note of more than twelve bytes 4|1996-10-21
R|0|336|8371.00|57.6188988095238095|a note of more than twelve bytes 0|1996-11-29
R|1|328|8050.00|49.9989024390243902|a note of more than twelve bytes 0|1996-11-14
R|2|333|8211.25|40.9689789789789790|a note of more than twelve bytes 0|1996-11-30
R|NULL|3|117.75|76.3666666666666667|a note of more than twelve bytes 4|1996-08-22

query
select c, count(*) from (values ('a'::char(3)), ('a '), ('b'), (null), ('a  '), (null)) v(c) group by c order by 1
----
a  |3
b|1
NULL|2

query
select n, count(*) from (values (1.0), (1.00), (2), (null), (2.000), ('nan'::float8), ('nan'::float8), (0.0), (-0.0)) v(n) group by n order by 1
----
0|2
1|2
2|2
NaN|2
NULL|1

query
select part, count(distinct flag), sum(distinct quantity) from line where part < 5 group by part order by part
----
0|3|101.25
1|3|116.25
2|3|131.25
3|3|146.25
4|3|111.25

# The first rows in order.

query
select id, price, note from line order by price desc, id limit 5
----
2975|100.0500|a note of more than twelve bytes 0
2434|100.0200|a note of more than twelve bytes 4
1893|99.9900|a note of more than twelve bytes 3
1352|99.9600|a note of more than twelve bytes 2
811|99.9300|a note of more than twelve bytes 1

query
select id, shipped from line order by shipped nulls first, id desc limit 4 offset 90
----
2118|1995-01-19
1418|1995-01-19
718|1995-01-19
18|1995-01-19

query
select note, count(*) from line where note like 'a note%bytes%4' or note not like '%of%' group by note
----
a note of more than twelve bytes 4|600

query
select count(*) from part where name like '%part 1%' and name not like '%0' and name like '%__'
----
100

# Few rows find theirs by an index. A comparison of one of equal columns holds for all of them.

statement ok
create index line_part on line (part)

query
explain select count(*), sum(l.id) from part, line l where part.id = l.part and brand = 'Brand#3'
----
Aggregate
  ->  Hash Join
        Hash Cond: (l.part = part.id)
        For Few Rows: Index Scan using line_part on line l
        ->  Seq Scan on line l
        ->  Seq Scan on part
              Filter: (part.brand = 'Brand#3'::text)

query
select count(*), sum(l.id) from part, line l where part.id = l.part and brand = 'Brand#3'
----
387|592110

query
select count(*), sum(l.id) from part, line l where part.id + 0 = l.part + 0 and brand = 'Brand#3'
----
387|592110

query
explain select count(*) from line l, line m, part p where l.part = m.part and m.part = p.id and p.id = 7
----
Aggregate
  ->  Hash Join
        Hash Cond: (l.part = m.part)
        ->  Hash Join
              Hash Cond: (p.id = l.part)
              ->  Index Scan using part_pkey on part p
                    Index Cond: (p.id = 7)
              ->  Index Scan using line_part on line l
                    Index Cond: (l.part = 7)
        ->  Index Scan using line_part on line m
              Index Cond: (m.part = 7)

query
select count(*) from line l, line m, part p where l.part = m.part and m.part = p.id and p.id = 7
----
100

query
select count(*) from line l, line m, part p where l.part + 0 = m.part + 0 and m.part + 0 = p.id + 0 and p.id + 0 = 7
----
100
