# Values of character(n) as PostgreSQL 15 has them: with their blanks where they are shown and matched, without them
# where they are compared, counted and put together.

query
select 'ab'::char(5)
----
ab   

query
select 'ab'::char(5) || 'x'
----
abx

query
select length('ab '::char(5)), octet_length('ab'::char(5)), char_length('ab'::char(5))
----
2|5|2

query
select 'ab'::char(5) = 'ab   '::char(3)
----
t

query
select 'ab'::char(5) = 'ab '::text
----
f

query
select 'ab'::char(5) = 'ab'::text
----
t

query
select 'ab'::char(5) = 'ab '::varchar
----
t

query
select 'ab'::char(5) = 'ab '
----
t

query
select 'ab '::text = 'ab'::char(5)
----
f

query
select 'ab '::varchar = 'ab'::char(5)
----
t

query
select 'ab'::char(5) like 'ab'
----
f

query
select 'ab'::char(5) like 'ab   '
----
t

query
select 'ab'::char(5) like 'ab%'
----
t

query
select 'ab'::char(5) like 'ab_'
----
f

query
select 'abc'::char
----
a

query
select 'abc'::char(2)
----
ab

query
select 'abc'::bpchar
----
abc

query
select 'ab   '::bpchar, length('ab   '::bpchar)
----
ab   |2

query
select upper('ab'::char(5)) || '|'
----
AB|

query
select lower('ab'::char(5)), initcap('ab'::char(5))
----
ab|Ab

query
select substring('abc'::char(6), 2) || '|'
----
bc|

query
select substr('abc'::char(6), 2, 4) || '|'
----
bc|

query
select position('b' in 'ab'::char(4))
----
2

query
select rpad('ab'::char(5), 7, 'x')
----
abxxxxx

query
select lpad('ab'::char(5), 7, 'x')
----
xxxxxab

query
select replace('ab'::char(5), ' ', 'x')
----
ab

query
select reverse('ab'::char(5))
----
ba

query
select repeat('ab'::char(3), 2)
----
abab

query
select 'ab'::char(5)::varchar(4) || '|'
----
ab|

query
select 'ab'::char(5)::text || '|'
----
ab|

query
select 'ab'::varchar::char(5) || '|'
----
ab|

query
select concat('ab'::char(5), 'x')
----
ab   x

query
select concat_ws('-', 'ab'::char(5), 'x')
----
ab   -x

query
select coalesce('ab'::char(5), 'x') || '|'
----
ab|

query
select coalesce('ab'::char(5), 'x')
----
ab   

query
select case when true then 'ab'::char(5) else 'x'::text end
----
ab

query
select case when true then 'ab'::char(5) else 'x' end
----
ab   

query
select greatest('ab'::char(5), 'b'::char(2))
----
b 

query
select greatest('ab'::char(5), 'b'::text)
----
b

query
select max(x), min(x) from (values ('ab'::char(5)), ('b')) as v(x)
----
b|ab   

query
select x, count(*) from (values ('ab'::char(5)), ('ab '), ('b')) as v(x) group by x order by x
----
ab   |2
b|1

query
select distinct x from (values ('ab'::char(5)), ('ab '), ('b')) as v(x) order by 1
----
ab   
b

query
select 'a'::char(5) < 'a'::char(3), 'a '::char(5) > E'a\t'::char(3)
----
f|f

query
select 'ab'::char(5) in ('ab', 'c')
----
t

query
select 'ab ' in ('ab'::char(5), 'c')
----
t

statement error 22P02
select 'ab'::char(5)::int

query
select '12'::char(5)::int
----
12

query
select 12::char(5), 12::char(1)
----
12   |1

query
select 123::char(2)
----
12

query
select true::char(5)
----
true 

query
select 1.5::char(5)
----
1.5  

query
select length(12::char(5))
----
2

query
select left('ab'::char(5), 4) || '|'
----
ab|

query
select right('ab'::char(5), 4) || '|'
----
ab|

query
select trim('ab'::char(5)) || '|'
----
ab|

query
select strpos('ab'::char(5), ' ')
----
0

query
select 'ab'::char(5) ~ '^ab$'
----
f

query
select 'ab'::char(5) ~ 'ab   '
----
t

query
select 'ab'::char(5) is distinct from 'ab'::char(7)
----
f

query
select 'ab'::char(5) between 'ab' and 'abc'
----
t

query
select array_agg(x) from (values ('ab'::char(5))) v(x)
----
{"ab   "}

query
select string_agg(x, ',') from (values ('ab'::char(5)), ('c')) v(x)
----
ab,c

query
select count(distinct x) from (values ('ab'::char(5)), ('ab')) v(x)
----
1

query
select cast('abcdef' as char(3))
----
abc

query
select cast('abc   ' as char(3))
----
abc

query
select pg_typeof('a'::char(3))
----
character

query
select nullif('ab'::char(5), 'ab')
----
NULL

query
select nullif('ab'::char(5), 'ab'::text)
----
NULL

query
select 'ab'::char(5) union select 'ab'::char(7)
----
ab   

query
select 'ab'::char(5) union all select 'cd'
----
ab   
cd

query
select 'ab'::char(5) union all select 'cd'::text
----
ab   
cd

query
select 'ab'::char(5) union select 'ab '::char(5) order by 1
----
ab   

query
select format_type(1042, 9)
----
character(5)

query
select ascii(''::char(3)), ascii('a'::char(3))
----
0|97

query
select row_number() over (partition by x) from (values ('ab'::char(5)), ('ab')) v(x)
----
1
2

query
select first_value(x) over () from (values ('ab'::char(5))) v(x)
----
ab   

query
select lag(x) over (order by x) from (values ('ab'::char(5)), ('b')) v(x)
----
NULL
ab   

statement CREATE TABLE
create table c1 (id int primary key, a char(5), b varchar(5), t text, d char)

statement INSERT 0 4
insert into c1 values (1, 'ab', 'ab', 'ab', 'x'), (2, 'ab   ', 'ab ', 'ab ', 'y'), (3, 'b', 'b', 'b', 'z'), (4, null, null, null, null)

statement error 22001
insert into c1 values (5, 'abcdef', 'a', 'a', 'a')

statement INSERT 0 1
insert into c1 values (5, 'abcde  ', 'abcde  ', 'a', 'a ')

statement error 22001
insert into c1 values (6, 'abcde', 'abcdef', 'a', 'a')

statement error 22001
insert into c1 values (6, 'abcde', 'a', 'a', 'ab')

query
select * from c1 order by id
----
1|ab   |ab|ab|x
2|ab   |ab |ab |y
3|b    |b|b|z
4|NULL|NULL|NULL|NULL
5|abcde|abcde|a|a

query
select max(a), min(a), max(d) from c1
----
b    |ab   |z

query
select id, length(a), octet_length(a), a || '|' from c1 order by id
----
1|2|5|ab|
2|2|5|ab|
3|1|5|b|
4|NULL|NULL|NULL
5|5|5|abcde|

query
select x.id, y.id from c1 x join c1 y on x.a = y.a order by 1, 2
----
1|1
1|2
2|1
2|2
3|3
5|5

query
select x.id, y.id from c1 x join c1 y on x.a = y.b order by 1, 2
----
1|1
1|2
2|1
2|2
3|3
5|5

query
select x.id, y.id from c1 x join c1 y on x.a = y.t order by 1, 2
----
1|1
2|1
3|3

query
select id from c1 where a = 'ab' order by id
----
1
2

query
select id from c1 where a = 'ab  ' order by id
----
1
2

query
select id from c1 where b = a order by id
----
1
2
3
5

query
select id from c1 where t = a order by id
----
1
3

query
select id from c1 where a like 'ab%' order by id
----
1
2
5

query
select id from c1 where a like 'ab   ' order by id
----
1
2

query
select id from c1 where a in (select b from c1) order by id
----
1
2
3
5

query
select id from c1 where b in (select a from c1) order by id
----
1
2
3
5

query
select id from c1 where t in (select a from c1) order by id
----
1
3

query
select id from c1 where a in (select t from c1) order by id
----
1
2
3

query
select id from c1 where a > 'ab' order by id
----
3
5

query
select a, count(*) from c1 group by a order by a
----
ab   |2
abcde|1
b    |1
NULL|1

query
select distinct a from c1 order by a
----
ab   
abcde
b    
NULL

statement CREATE TABLE
create table c2 (k char(4) primary key, v int)

statement error 23505
insert into c2 values ('a', 1), ('a  ', 2)

statement INSERT 0 2
insert into c2 values ('a', 1), ('b', 2)

statement error 23505
insert into c2 values ('a  ', 1)

query
select * from c2 where k = 'a'
----
a   |1

query
select * from c2 where k = 'a  '
----
a   |1

query
select * from c2 where k = 'a  '::text
----

query
select * from c2 where k = 'a'::text
----
a   |1

query
select * from c2 where k = 'a  '::varchar
----
a   |1

query
select k || '|' from c2 order by k
----
a|
b|

query
select k from c2 order by k
----
a   
b   

statement UPDATE 1
update c2 set k = 'b    ' where k = 'b'

statement error 22001
update c2 set k = 'bbbbbb' where k = 'b'

query
select a from c1 union select k from c2 order by 1
----
a   
ab   
abcde
b    
NULL

query
select x from (select a as x from c1) s where x = 'ab' order by 1
----
ab   
ab   

query
insert into c2 select 'zz', 3 returning k, k || '|', length(k)
----
zz  |zz||2

statement CREATE VIEW
create view cv as select a, a || 'x' as y, max(b) as m from c1 group by a

query
select * from cv order by a
----
ab   |abx|ab 
abcde|abcdex|abcde
b    |bx|b
NULL|NULL|NULL

statement DROP VIEW
drop view cv

statement DROP TABLE
drop table c1

statement DROP TABLE
drop table c2

# Literals beside others keep their length.

query
select coalesce('', 'ab'::char(5)) || '|', coalesce(null, 'ab'::char(5))
----
||ab   

query
select coalesce(',1a{', ''::char(1))
----
,1a{

query
select max(x), min(x) from (values ('_}'), (','::char(3))) v(x)
----
_}|,  

query
select x, count(*) from (values ('a'), ('a'::char(5))) v(x) group by x
----
a|2

query
select concat_ws('-'::char(3), 'a'::char(2), 'b'::char(2)) || '|'
----
a -b |

query
select case when true then 'ab' else 'c'::varchar(1) end
----
ab

query
select array['1-1A-1', 'a'::char(4)]
----
{1-1A-1,"a   "}
