# Views: queries with a name.

statement ok
create table people(id int primary key, name text not null, city text, born date)

statement ok
create table payments(id int primary key, person int references people(id), amount numeric(10,2))

statement ok
insert into people values (1, 'Ada', 'London', '1815-12-10'), (2, 'Emmy', 'Erlangen', '1882-03-23'), (3, 'Grace', 'New York', '1906-12-09')

statement ok
insert into payments values (1, 1, 10.50), (2, 1, 4.50), (3, 2, 7.25)

statement ok
create view paid as select p.id, p.name, sum(y.amount) as total, count(y.id) from people p left join payments y on y.person = p.id group by p.id, p.name

query
select * from paid order by id
----
1|Ada|15.00|2
2|Emmy|7.25|1
3|Grace|NULL|0

query
select name from paid where total > 5 and count > 1
----
Ada

# Columns get the names that are said; others keep theirs.

statement ok
create view towns(town) as select city, count(*) from people group by city

query
select t.town, t.count from towns t where t.town like 'L%'
----
London|1

query
select a.name, b.town from paid a join people using (id) join towns b on b.town = city where a.id = 2
----
Emmy|Erlangen

query
table towns order by town limit 1
----
Erlangen|1

query
select x from towns as t(x, y) where y = 1 order by x desc limit 1
----
New York

# Conditions on a view's rows go into its query.

statement ok
create view early as select id, name from people where born < '1900-01-01'

query
explain select * from early where id = 2
----
Subquery Scan
  ->  Index Scan using people_pkey on people
        Index Cond: (id = 2)
        Filter: (born < '1900-01-01'::date)

query
select name from people where id in (select id from early) and exists (select 1 from paid where paid.id = people.id and total > 8)
----
Ada

# A view of a view; names of the statement around it mean nothing inside.

statement ok
create view first_of_them as with early as (select name from early order by id) select name from early limit 1

query
with people as (select 7 as id, 'Nobody' as name, date '1800-01-01' as born) select early.id, people.name from early, people order by 1
----
1|Nobody
2|Nobody

query
select * from first_of_them
----
Ada

# A view of all columns has those that there were.

statement ok
create view everybody as select *, id * 2 as twice from people

statement ok
alter table people add column note text default 'new'

query
select * from everybody where id = 3
----
3|Grace|New York|1906-12-09|6

# Views that are refused.

statement error 42P07
create view paid as select 1 as one

statement error 42P07
create table paid(id int primary key)

statement error 42P07
create view people as select 1 as one

statement error 42701
create view twice as select id, id from people

statement error 42703
create view wrong as select nothing from people

statement error 42P02
create view wrong as select id from people where id = $1

statement error 42601
create view wrong(a, b) as select id from people

statement error 0A000
create view wrong with (security_barrier) as select id from people

statement error 42809
insert into early values (9, 'x')

statement error 42809
update early set name = 'x'

statement error 42809
delete from early

statement error 42P01
drop view nothing

statement error 42809
drop view people

query
drop view if exists nothing; select 1
----
1

# Replaced: with the same columns, or more behind them.

statement ok
create or replace view early as select id, name, city from people where born < '1850-01-01'

query
select * from early
----
1|Ada|London

statement error 42P16
create or replace view early as select name, id, city from people

statement error 42P16
create or replace view early as select id from people

statement error 2BP01
create or replace view early as select id, name, city from early

# A table that a view reads cannot be dropped without it.

statement error 2BP01
drop table payments

statement error 2BP01
alter table people drop column born

statement error 2BP01
alter table people rename column city to town

statement error 2BP01
drop view early

statement ok
alter table people drop column note

statement ok
drop table payments cascade

statement error 42P01
select * from paid

statement ok
drop view early cascade

statement error 42P01
select * from first_of_them

query
select table_name, table_type from information_schema.tables where table_schema = 'public' order by table_name
----
everybody|VIEW
people|BASE TABLE
towns|VIEW

query
select table_name, column_name, data_type from information_schema.columns where table_name = 'towns' order by ordinal_position
----
towns|town|text
towns|count|bigint

query
select relname, relkind, relnatts from pg_class where relname in ('towns', 'people') order by relname
----
people|r|4
towns|v|2

query
select attname, format_type(atttypid, atttypmod) from pg_attribute where attrelid = 'towns'::regclass and attnum > 0 order by attnum
----
town|text
count|bigint

query
select viewname, definition from pg_views where viewname = 'towns'
----
towns|SELECT city, count(*) FROM people GROUP BY city;

query
select pg_get_viewdef('towns'::regclass), pg_get_viewdef('towns'::regclass, true) is not null
----
SELECT city, count(*) FROM people GROUP BY city;|t

# In a transaction, with data.

query
begin; create view big as select id from people where id > 1; insert into people values (4, 'Kurt', 'Brno', '1906-04-28'); select count(*) from big; rollback; select count(*) from pg_views
----
2
