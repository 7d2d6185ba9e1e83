statement ok
create table sales (id int primary key, region text, amount numeric(10,2), day date, flag boolean)

statement INSERT 0 6
insert into sales values (1, 'north', 10.50, '2026-01-01', true), (2, 'south', 20.25, '2026-01-02', false), (3, 'north', 5, '2026-01-03', null), (4, 'east', 7.75, '2026-01-01', true), (5, 'south', null, '2026-02-01', false), (6, null, 1, null, true)

query
select count(*), count(amount), sum(amount), min(amount), max(day), avg(id) from sales
----
6|5|44.50|1.00|2026-02-01|3.5000000000000000

query
select region, count(*), sum(amount) as total from sales group by region order by total desc nulls last, region
----
south|2|20.25
north|2|15.50
east|1|7.75
NULL|1|1.00

query
select region from sales group by region having count(*) > 1 order by 1
----
north
south

query
select distinct region from sales order by region desc
----
NULL
south
north
east

query
select upper(region) as r, sum(amount) * 2 from sales where amount > 1 group by upper(region) order by r
----
EAST|15.50
NORTH|31.00
SOUTH|40.50

query
select count(distinct region), count(*) filter (where flag), bool_and(flag), bool_or(flag) from sales
----
3|3|f|t

query
select id from sales order by amount desc nulls first limit 2 offset 1
----
2
1

query
select id + 1 as next, -id from sales where flag order by next desc limit 2
----
7|-6
5|-4

query
select s.id, s.* from sales as s where s.id = 6
----
6|6|NULL|1.00|NULL|t

query
select count(*) from sales where id > 100
----
0

query
select sum(amount), max(region) from sales where false
----
NULL|NULL

query
select id from sales where flag is not true order by id
----
2
3
5

query
select id from sales where region in ('east', 'south') and amount is not null order by region, id
----
4
2

query
values (1, 'a'), (2, null)
----
1|a
2|NULL

query
select extract(month from day) as m, count(*) from sales where day is not null group by m order by m
----
1|4
2|1

statement error 42803
select region, amount from sales group by region

statement error 42803
select sum(amount) from sales where sum(amount) > 1

statement error 42P10
select id from sales order by 5

statement error 2201W
select id from sales limit -1

query
select table_name from information_schema.tables where table_schema = 'public'
----
sales

query
select column_name, data_type, is_nullable from information_schema.columns where table_name = 'sales' order by ordinal_position
----
id|integer|NO
region|text|YES
amount|numeric|YES
day|date|YES
flag|boolean|YES

query
select relname, relkind from pg_class where relname like 'sales%' order by relname
----
sales|r
sales_pkey|i

query
select attname from pg_catalog.pg_attribute where attrelid = 'sales'::regclass and attnum > 0 order by attnum limit 2
----
id
region

query
select distinct amount > 1, 'NaN'::float8 * 2 from sales where amount is not null order by 1, 'NaN'::float8 * 2 limit 1
----
f|NaN

query
select 'NaN'::float8 + 1, count(*) > 0 from sales group by 'NaN'::float8 + 1
----
NaN|t

# DISTINCT ON without ORDER BY gives the order of its expressions.

statement ok
CREATE TABLE firsts (a int, b int)

statement INSERT 0 6
INSERT INTO firsts VALUES (3, 1), (1, 5), (2, 2), (3, 0), (1, 4), (2, 9)

query
SELECT DISTINCT ON (a) a FROM firsts
----
1
2
3

query
SELECT DISTINCT ON (a) a, b FROM firsts ORDER BY a, b
----
1|4
2|2
3|0

query
SELECT DISTINCT ON (a, b) a, b FROM firsts
----
1|4
1|5
2|2
2|9
3|0
3|1

query
SELECT DISTINCT ON (b, a) a, b FROM firsts
----
3|0
3|1
2|2
1|4
1|5
2|9

query
SELECT DISTINCT ON (a) a, b FROM (SELECT * FROM firsts ORDER BY b) x ORDER BY a DESC, b DESC
----
3|1
2|9
1|5

statement error 42P10
SELECT DISTINCT ON (a) b FROM firsts ORDER BY b
----
SELECT DISTINCT ON expressions must match initial ORDER BY expressions

query
SELECT DISTINCT ON (a > 1) a > 1 FROM firsts
----
f
t

query
SELECT count(*) FROM (SELECT DISTINCT ON (a) a, b FROM firsts) x
----
3

query
SELECT DISTINCT ON (a) a, b FROM firsts ORDER BY a, b LIMIT 2
----
1|4
2|2
