# SET search_path of functions, as PostgreSQL 15 has it; and the path of functions with SECURITY DEFINER, which is not their
# caller's here.

statement ok
create schema app

statement ok
create table app.t (i int)

statement ok
insert into app.t values (7)

statement ok
create function f1(i int) returns int language sql security definer set search_path = app, pg_temp as 'select 1'

statement ok
create function f2() returns int language sql set search_path to 'public', "Odd" as 'select 1'

statement ok
create function f4() returns int language sql set search_path = '' as 'select 1'

query
select proname, proconfig from pg_proc where proname in ('f1', 'f2', 'f4') order by 1
----
f1|{"search_path=app, pg_temp"}
f2|{"search_path=public, \"Odd\""}
f4|{"search_path=\"\""}

query
select trim(trailing E'\n' from pg_get_functiondef(oid)) from pg_proc where proname in ('f1', 'f2', 'f4') order by proname
----
CREATE OR REPLACE FUNCTION public.f1(i integer)
 RETURNS integer
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'app', 'pg_temp'
AS $function$select 1$function$
CREATE OR REPLACE FUNCTION public.f2()
 RETURNS integer
 LANGUAGE sql
 SET search_path TO 'public', 'Odd'
AS $function$select 1$function$
CREATE OR REPLACE FUNCTION public.f4()
 RETURNS integer
 LANGUAGE sql
 SET search_path TO ''
AS $function$select 1$function$

statement ok
create function f5() returns int language sql security definer set search_path = app as 'select i from t'

statement ok
create function f6() returns int language plpgsql set search_path = app as 'begin return (select i from t); end'

query
select f5(), f6()
----
7|7

statement ok
create function f7() returns text language plpgsql set search_path = app as 'begin return current_schema(); end'

query
select f7(), current_schema()
----
app|public

statement error 42P01
create function f9() returns int language sql set search_path = public as 'select i from t'

statement error 0A000
create function f9() returns int language sql set work_mem = '1MB' as 'select 1'
----
CREATE FUNCTION with SET work_mem is not supported: only SET search_path is

# Here the path is that of the creator, and a caller's tables are not found. PostgreSQL takes the caller's path.

statement ok
create table who (name text)

statement ok
insert into who values ('creator')

statement ok
create function peek() returns text language sql security definer as 'select name from who'

statement ok
create function in_path() returns text language plpgsql as 'begin return (select name from who); end'

statement ok
create schema evil; create table evil.who (name text); insert into evil.who values ('evil')

statement ok
set search_path = evil, public

query
select peek(), in_path()
----
creator|evil

statement ok
create temporary table who (name text); insert into who values ('temporary')

query
select peek(), in_path()
----
creator|temporary

statement ok
drop table pg_temp.who; set search_path = app, public

statement ok
create function public.of_app() returns int language sql security definer as 'select i from t'

query
select proconfig from pg_proc where proname = 'of_app'
----
{"search_path=app, public"}

statement ok
set search_path = evil

query
select public.of_app()
----
7
