# Scans that test conditions on bytes, and groups of batches of columns: rows that fit no batch, conditions in their order; the answers are PostgreSQL 15's.

statement ok
create table b (id int primary key, c char(1), v varchar(40), s smallint, i int, l bigint, n numeric(12,2) not null, w numeric(30,2), f float8, d date, t timestamp, o boolean, tm time)

statement ok
insert into b select g, chr(65 + g % 3), case g % 4 when 0 then 'short' when 1 then 'a text of twenty-one b' when 2 then 'a text of twenty-one c' else '' end, g % 100, g, g * 1000000000::bigint, g * 1.01, g * 0.5, g / 4.0, date '2000-01-01' + g % 50, timestamp '2000-01-01' + g * interval '1 hour', g % 5 = 0, time '00:00' + g * interval '1 second' from generate_series(1, 3000) g

query
select count(*), sum(i), sum(l), sum(s), sum(n), sum(w), avg(n), avg(i), avg(l), avg(s), min(n), max(n), min(d), max(d), min(t), max(t), min(l), max(s), min(tm), max(tm) from b
----
3000|4501500|4501500000000000|148500|4546515.00|2250750.00|1515.5050000000000000|1500.5000000000000000|1500500000000.0000|49.5000000000000000|1.01|3030.00|2000-01-01|2000-02-19|2000-01-01 01:00:00|2000-05-05 00:00:00|1000000000|99|00:00:01|00:50:00

query
select c, count(*), sum(n), sum(n * (1 - w)), sum(n * (1 + n) * 2), avg(n * n), count(v), count(distinct s), sum(f), min(v), bool_and(o) from b group by c order by c
----
A|1000|1516515.00|-1515756742.5000|6132816990.3000|3064891.980150000000|1000|100|375375||f
B|1000|1514495.00|-1512727752.5000|6120567669.9000|3058769.339950000000|1000|100|374875||f
C|1000|1515505.00|-1514241742.5000|6126690289.9000|3061829.639950000000|1000|100|375125||f

query
select c, d, count(*), sum(i * 2 - 1), sum(n - i), sum(n + l) from b where d < '2000-01-04' group by c, d order by c, d
----
A|2000-01-01|20|62980|315.00|31500000031815.00
A|2000-01-02|20|59020|295.20|29520000029815.20
A|2000-01-03|20|61060|305.40|30540000030845.40
B|2000-01-01|20|60980|305.00|30500000030805.00
B|2000-01-02|20|57020|285.20|28520000028805.20
B|2000-01-03|20|59060|295.40|29540000029835.40
C|2000-01-01|20|58980|295.00|29500000029795.00
C|2000-01-02|20|61020|305.20|30520000030825.20
C|2000-01-03|20|57060|285.40|28540000028825.40

query
select v, count(*), sum(n), min(id) from b group by v order by v
----
|750|1137007.50|3
a text of twenty-one b|750|1135492.50|1
a text of twenty-one c|750|1136250.00|2
short|750|1137765.00|4

query
select o, s % 2, sum(n), count(*) filter (where s > 50), sum(n) filter (where v = 'short') from b group by o, s % 2 order by 1, 2
----
f|0|1818000.00|600|909000.00
f|1|1818000.00|600|NULL
t|0|456015.00|120|228765.00
t|1|454500.00|150|NULL

query
select sum(n), avg(n), min(n), max(d), count(*), sum(i), sum(l) from b where n > 100000
----
NULL|NULL|NULL|NULL|0|NULL|NULL

query
select c, sum(n) from b where n > 100000 group by c
----

query
select c, sum(n) s from b group by c having sum(n) > 1514000 order by c
----
A|1516515.00
B|1514495.00
C|1515505.00

query
select sum(n::numeric(12,1)), sum(i::numeric), sum(n * 0), sum(-n), sum(n / 3), sum(n % 7) from b
----
4546530.0|4501500|0.00|-4546515.00|1515505.00000000000000000000|10487.00

query
select sum(case when c = 'A' then n else 0 end), sum(case when c = 'Z' then n else 0 end), 100.00 * sum(case when c = 'A' then n * w else 0 end) / sum(n * w) from b
----
1516515.00|0|33.3666648138894545

# Conditions on columns of each type.
query
select count(*) from b where d >= date '2000-01-10' and d < date '2000-01-10' + interval '1' month
----
1860

query
select count(*) from b where n between 10.1 and 20 and n <> 12.12 and n >= 10.105
----
8

query
select count(*) from b where i = 7.0 or i = 7.5
----
1

query
select count(*) from b where i > 7.5 and i < 10.0 and l = 9000000000
----
1

query
select count(*) from b where v = 'a text of twenty-one b'
----
750

query
select count(*) from b where v <> 'a text of twenty-one b'
----
2250

query
select count(*) from b where v in ('short', 'a text of twenty-one c', 'none')
----
1500

query
select count(*) from b where v > 'a text of twenty-one b' and c < 'C'
----
1000

query
select count(*) from b where v like 'a text%' and c in ('A', 'B') and 5 < s
----
940

query
select count(*) from b where c = 'A   ' and t >= '2000-02-01' and tm < '00:20'
----
152

query
select count(*), sum(n) from b where i < l and w < n and s <> i and o
----
581|909555.50

query
select count(*) from b where f > 10 and f < 11.5
----
5

query
select count(*) from b where n > null
----
0

query
select count(*) from b where n > 'NaN' or n < '-Infinity'
----
0

query
select count(*) from b where n < 'NaN'
----
3000

query
select count(*) from b where n < (select avg(n) from b) and i > (select max(id) from b where c = 'A') - 5
----
0

# A comparison of a column with a constant comes before parts that cost more.
query
select count(*) from b where 1 / (i - 7) > 0 and n > 1000000
----
0

statement error 22012
select count(*) from b where 1 / (i - 7) > 0 and n > 5
----
division by zero

query
select count(*) from b where n > 1000000 and 1 / (i - 7) > 0
----
0

statement error 22012
select sum(1 / (i - 7)) from b
----
division by zero

statement error 22003
select sum(i * 1000000), count(*) from b
----
integer out of range

statement error 22003
select sum(s * 1000::smallint) from b
----
smallint out of range

statement error 22003
select sum(l * l) from b
----
bigint out of range

query
select sum(l::numeric * l), avg(l::numeric * l * n) from b
----
9004500500000000000000000000|6822045757500000000000000000.00

# Nulls, NaN, infinities and numbers of more than 64 bits.
statement ok
insert into b (id, n) values (5001, 0), (5002, 'NaN'), (5003, 5)

statement ok
insert into b (id, c, n, w, i, l) values (5004, 'A', -1.5, 9999999999999999999999999999.99, 3, -9223372036854775808), (5005, 'B', 2, -9999999999999999999999999999.99, 4, 9223372036854775807), (5006, 'B', 2, 1, 4, 9223372036854775807)

query
select c, count(*), count(i), sum(n), avg(n), min(n), max(n), sum(w), min(w), max(w), sum(l), min(l), max(l), sum(i) from b group by c order by c
----
A|1001|1001|1516513.50|1514.9985014985014985|-1.50|3030.00|10000000000000000000000750749.99|1.50|9999999999999999999999999999.99|-9221870536854775808|-9223372036854775808|3000000000000|1501503
B|1002|1002|1514499.00|1511.4760479041916168|1.01|3027.98|-9999999999999999999999250248.99|-9999999999999999999999999999.99|1499.00|18448243573709551614|1000000000|9223372036854775807|1499508
C|1000|1000|1515505.00|1515.5050000000000000|2.02|3028.99|750250.00|1.00|1499.50|1500500000000000|2000000000|2999000000000|1500500
NULL|3|0|NaN|NaN|0.00|NaN|NULL|NULL|NULL|NULL|NULL|NULL|NULL

query
select count(*), count(w), sum(w), avg(w), sum(w * n), min(w * n) from b where n < 'NaN'
----
3005|3003|2250751.00|749.5008325008325008|-34999999999999999995452727245.4650|-19999999999999999999999999999.9800

query
select max(d), min(d), sum(n), avg(l) from b where i is null
----
NULL|NULL|NaN|NULL

query
select count(*) from b where w > 1000 and w < 1000.01
----
0

query
select count(*) from b where w = 9999999999999999999999999999.99
----
1

query
select count(*), sum(n) from b where not (c = 'A') and not (w > 5)
----
9|41.37

statement error 22003
select sum(l - 1), count(*) from b
----
bigint out of range

# Columns that were added later, and changes of an open transaction.
statement ok
alter table b add column a int default 7, add column z numeric(6,3)

statement ok
insert into b (id, c, n, a, z) values (6001, 'A', 1, 8, 1.5), (6002, 'C', 1, null, 2.25)

query
select c, sum(a), min(a), count(z), sum(z), sum(n * a), avg(z) from b where n < 'NaN' group by c order by c
----
A|7015|7|1|1.500|10615602.50|1.50000000000000000000
B|7014|7|0|NULL|10601493.00|NULL
C|7000|7|1|2.250|10608535.00|2.2500000000000000
NULL|14|7|0|NULL|35.00|NULL

query
select a, count(*), sum(n) from b where a >= 7 group by a order by a
----
7|3006|NaN
8|1|1.00

statement ok
begin

statement ok
update b set n = 1000 where id <= 2

statement ok
delete from b where id = 3

statement ok
insert into b (id, c, n, i) values (7001, 'A', 12.34, 3)

query
select c, count(*), sum(n), sum(i), max(i) from b where n < 'NaN' group by c order by c
----
A|1002|1516523.81|1501503|3000
B|1002|1515497.99|1499508|2998
C|1001|1516503.98|1500500|2999
NULL|2|5.00|NULL|NULL

query
select count(*), sum(n) from b where n >= 1000 and i < 5
----
2|2000.00

statement ok
rollback

query
select c, count(*), sum(n) from b where n < 'NaN' group by c order by c
----
A|1002|1516514.50
B|1002|1514499.00
C|1001|1515506.00
NULL|2|5.00

# Without rows, and without keys.
statement ok
create table e (k int primary key, n numeric(5,1), t text)

query
select count(*), sum(n), avg(n), min(k), max(n), sum(k) from e
----
0|NULL|NULL|NULL|NULL|NULL

query
select t, count(*), sum(n) from e group by t
----

statement ok
insert into e select g, null, repeat('x', g) from generate_series(1, 200) g

query
select count(*), count(n), sum(n), avg(n), min(n), sum(k), max(t) from e
----
200|0|NULL|NULL|NULL|20100|xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx

query
select count(*), sum(k) from e where n is null and t = repeat('x', 13)
----
1|13

query
select length(t) / 50, count(*), sum(k), avg(k) from e group by length(t) / 50 order by 1
----
0|49|1225|25.0000000000000000
1|50|3725|74.5000000000000000
2|50|6225|124.5000000000000000
3|50|8725|174.5000000000000000
4|1|200|200.0000000000000000

# Joins test their tables' conditions on bytes, too.
query
select count(*), sum(b.n), sum(e.k) from b join e on e.k = b.i where b.d < '2000-01-15' and b.c = 'B' and e.k between 10 and 90
----
6|251.49|249

query
select e.k, count(b.id), sum(b.n) from e left join b on b.s = e.k and b.n > 1000 and b.v <> 'short' where e.k < 5 group by e.k order by e.k
----
1|20|39410.20
2|20|39430.40
3|20|39450.60
4|0|NULL

query
select count(*) from e where exists (select from b where b.s = e.k and b.d > '2000-01-20') and not exists (select from b where b.s = e.k and b.c = 'A' and b.n < 30)
----
57

# The order of the parts of a condition: by their costs, as PostgreSQL counts them, else as written.
statement ok
create table x (i int primary key, v text, ts timestamp, w text, a int)

statement ok
insert into x values (0, repeat('a', 20), timestamp '2000-01-01', '(', 1)

query
select count(*) from x where 1 / i > 0 and v = repeat('b', 20)
----
0

query
select count(*) from x where 1 / i > 0 and v in ('b', 'c')
----
0

statement error 22012
select count(*) from x where 1 / i > 0 and v in ('b', 'c', 'd', 'e', 'f', 'g')
----
division by zero

query
select count(*) from x where 1 / i > 0 and ts > timestamp '2000-01-01' + interval '1 day'
----
0

statement error 22012
select count(*) from x where 1 / i > 0 and ts > localtimestamp - interval '1 day'
----
division by zero

query
select count(*) from x where 1 / i > 0 and a = 7
----
0

statement error 22012
select count(*) from x where 1 / i > 0 and a = 7.0
----
division by zero

statement error 22025
select count(*) from x where v like 'aa\' and a = 7
----
LIKE pattern must not end with escape character

statement error 2201B
select count(*) from x where v ~ w and a = 7
----
invalid regular expression: parentheses () not balanced

query
select count(*) from x where v like 'a%' and 1 / i > 0 and a = 7
----
0

query
select count(*) from x where (select 1 / x.i) > 0 and a = 7
----
0

statement error 22012
select count(*) from x where 1 / (select 0) > 0 and i is not null and a = 7.0
----
division by zero

# Rows from before a column was added.
statement ok
create table y (i int primary key)

statement ok
insert into y values (0)

statement ok
alter table y add a int default 1

query
select count(*) from y where 1 / i > 0 and a = 2
----
0

# The first row with an error gives it, whichever part of the statement that is.
statement error 22003
select sum(i * 1000000000) from b where 100 / (5 - i) <> 0
----
integer out of range

statement error 22003
select 10 / (i - 7), max(i * 1000000000), min(i / (i - 9)) from b group by 10 / (i - 7)
----
integer out of range

statement error 22012
select 10 / (i - 2), max(i * 1000000000) from b group by 10 / (i - 2)
----
division by zero

# A condition ends at a null; an AND inside an expression does not.
statement ok
insert into b (id, n, o, i) values (8001, 1, null, 7)

query
select count(*), sum(n) from b where id > 8000 and o and 1 / (i - 7) > 0
----
0|NULL

query
select count(*), sum(n) from b where n = 1 and o and 1 / (i - 7) > 0
----
0|NULL

query
select count(*), sum(n) from (select * from b offset 0) b where id = 8001 and o and 1 / (i - 7) > 0
----
0|NULL

query
select id from b where n = 1 and o and 1 / (i - 7) > 0
----

query
select count(*) from b join x on b.i = x.i + 7 where b.n = 1 and b.o and 1 / (b.i + x.i - 7) > 0
----
0

statement error 22012
select case when o and 1 / (i - 7) > 0 then 1 else 0 end from b where id = 8001
----
division by zero

statement error 22012
select count(*) filter (where o and 1 / (i - 7) > 0) from b where id = 8001
----
division by zero
