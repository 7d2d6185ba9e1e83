# Functions that return rows: of a table, of OUT parameters, one or many, in FROM and in expressions. The answers are those of PostgreSQL 15.
statement ok
create table jobs (id int primary key, queue text, tries int)

statement ok
insert into jobs values (1, 'a', 0), (2, 'b', 3), (3, 'a', 1)

statement ok
create function first_of(wanted text) returns jobs language sql as $$ select * from jobs where queue = wanted order by id limit 1 $$

query
select * from first_of('a')
----
1|a|0

query
select first_of('a')
----
(1,a,0)

query
select (first_of('a')).tries, (first_of('b')).id
----
0|2

query
select (first_of('a')).*
----
1|a|0

query
select * from first_of('none')
----
NULL|NULL|NULL

query
select first_of('none'), first_of('none') is null
----
NULL|t

query
select j.id, f.queue from jobs j, first_of(j.queue) f order by 1
----
1|a
2|b
3|a

statement ok
create function taken(wanted text) returns jobs language plpgsql as $$ declare found_job jobs; begin update jobs set tries = tries + 1 where id = (select id from jobs where queue = wanted order by id limit 1) returning jobs.* into found_job; return found_job; end $$

query
select * from taken('a')
----
1|a|1

query
select id, tries from taken('none')
----
NULL|NULL

query
select * from jobs order by id
----
1|a|1
2|b|3
3|a|1

statement ok
create function two() returns jobs language plpgsql as $$ begin return row(7, 'x'::text, 8); end $$

query
select * from two()
----
7|x|8

statement ok
create function nothing() returns jobs language plpgsql as $$ begin return null; end $$

query
select * from nothing()
----
NULL|NULL|NULL

statement ok
create function wrong() returns jobs language plpgsql as $$ begin return row(7, 'x'::text); end $$

statement error 42804
select * from wrong()
----
returned record type does not match expected record type

statement ok
create function all_of(wanted text) returns setof jobs language sql stable as $$ select * from jobs where queue = wanted order by id $$

query
select all_of('a')
----
(1,a,1)
(3,a,1)

query
select id, all_of(queue) from jobs order by id, 2
----
1|(1,a,1)
1|(3,a,1)
2|(2,b,3)
3|(1,a,1)
3|(3,a,1)

query
select count(*) from all_of('a')
----
2

statement ok
create function numbers(n int) returns setof int language plpgsql as $$ begin for i in 1 .. n loop return next i; end loop; return query select n * 10; end $$

query
select numbers(2), numbers(1)
----
1|1
2|10
20|NULL

query
select sum(n) from numbers(3) n
----
36

statement ok
create function pairs() returns table (a int, b text) language sql as $$ values (1, 'x'), (2, 'y') $$

query
select pairs()
----
(1,x)
(2,y)

query
select b, a from pairs()
----
x|1
y|2

statement ok
create function divided(a int, b int, out quotient int, out rest int) language plpgsql as $$ begin quotient := a / b; rest := a % b; end $$

query
select * from divided(17, 5)
----
3|2

query
select divided(17, 5)
----
(3,2)

query
select (divided(17, 5)).rest
----
2

query
select rest from divided(9, 4) as d
----
1

statement ok
create function plus_one(inout n int) language plpgsql as $$ begin n := n + 1; end $$

query
select plus_one(4), n from plus_one(6)
----
5|7

statement ok
create function both_of(a int, out x int, out y int) language sql as $$ select a, a * 2 $$

query
select * from both_of(4)
----
4|8

statement ok
create function several(n int, out i int, out square int) returns setof record language plpgsql as $$ begin for i in 1 .. n loop square := i * i; return next; end loop; end $$

query
select square from several(3)
----
1
4
9

statement ok
create function named(out name text) returns setof text language sql as $$ select queue from jobs order by id $$

query
select * from named()
----
a
b
a

statement error 42P13
create function wrong_type(out a int) returns text language sql as $$ select 1 $$
----
function result type must be integer because of OUT parameters

statement error 42P13
create function wrong_record(out a int, out b int) returns int language sql as $$ select 1 $$
----
function result type must be record because of OUT parameters

statement error 42P13
create or replace function both_of(a int, out x int, out z int) language sql as $$ select a, a * 2 $$
----
cannot change return type of existing function
DETAIL: Row type defined by OUT parameters is different.
HINT: Use DROP FUNCTION both_of(integer) first.

query
select proname, pg_get_function_arguments(oid), pg_get_function_identity_arguments(oid), pg_get_function_result(oid), pronargs, proargmodes, proargnames, proretset from pg_proc where proname in ('divided', 'plus_one', 'several', 'named', 'first_of', 'all_of', 'pairs') order by 1
----
all_of|wanted text|wanted text|SETOF jobs|1|NULL|{wanted}|t
divided|a integer, b integer, OUT quotient integer, OUT rest integer|a integer, b integer, OUT quotient integer, OUT rest integer|record|2|{i,i,o,o}|{a,b,quotient,rest}|f
first_of|wanted text|wanted text|jobs|1|NULL|{wanted}|f
named|OUT name text|OUT name text|SETOF text|0|{o}|{name}|t
pairs|||TABLE(a integer, b text)|0|{t,t}|{a,b}|t
plus_one|INOUT n integer|INOUT n integer|integer|1|{b}|{n}|f
several|n integer, OUT i integer, OUT square integer|n integer, OUT i integer, OUT square integer|SETOF record|1|{i,o,o}|{n,i,square}|t

query
select rtrim(pg_get_functiondef('divided'::regproc), E'\n')
----
CREATE OR REPLACE FUNCTION public.divided(a integer, b integer, OUT quotient integer, OUT rest integer)
 RETURNS record
 LANGUAGE plpgsql
AS $function$ begin quotient := a / b; rest := a % b; end $function$

query
select 'divided'::regproc, 'divided'::regproc::oid = oid from pg_proc where proname = 'divided'
----
divided|t

statement ok
create function each_of() returns setof jobs language plpgsql as $$ declare j jobs%rowtype; begin for j in select * from jobs order by id loop j.tries := j.tries + 100; return next j; end loop; end $$

query
select id, tries from each_of()
----
1|101
2|103
3|101

reopen

query
select * from first_of('b')
----
2|b|3

query
select * from divided(7, 2)
----
3|1

statement ok
drop function divided(int, int)

statement ok
drop function both_of(a int, out x int, out y int)

statement ok
alter table jobs add column note text default 'n'

query
select * from first_of('b')
----
2|b|3|n
