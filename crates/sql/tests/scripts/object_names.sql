# Numbers of objects that are read from and written as names.

statement ok
create table t (id int primary key, b text)

statement ok
create schema app

statement ok
create table app.u (id int)

statement ok
create type mood as enum ('a', 'b')

query
select 't'::regclass, 'app.u'::regclass::text, 't'::regclass::oid = (select oid from pg_class where relname = 't'), to_regclass('no')
----
t|app.u|t|NULL

query
select 'int'::regtype, 'int4'::regtype::text, 23::regtype, 'varchar(3)'::regtype, 'text[]'::regtype, 'timestamp with time zone'::regtype, 'mood'::regtype, 'mood[]'::regtype, 1000::regtype::text, 0::regtype, 99::regtype
----
integer|integer|integer|character varying|text[]|timestamp with time zone|mood|mood[]|boolean[]|-|99

query
select pg_typeof(1), pg_typeof(1) = 'int'::regtype, pg_typeof(1)::text, pg_typeof(pg_typeof(1)), pg_typeof('a'::mood), pg_typeof(null), pg_typeof(array[1]), pg_typeof(1)::oid
----
integer|t|integer|regtype|mood|unknown|integer[]|23

query
select 'public'::regnamespace, 'app'::regnamespace::text, 'pg_catalog'::regnamespace::oid, 11::regnamespace, to_regnamespace('app'), to_regnamespace('no'), 999999::regnamespace::text
----
public|app|11|pg_catalog|app|NULL|999999

query
select relnamespace::regnamespace, relname from pg_class where relname in ('t', 'u') order by 2
----
public|t
app|u

query
select nspname from pg_namespace where oid = 'app'::regnamespace
----
app

statement error 3F000
select 'no'::regnamespace

statement error 42602
select 'a.b'::regnamespace

query
select current_user::regrole::text = current_user::text, to_regrole('nobody_of_this_name'), 10::regrole::text = current_user::text
----
t|NULL|t

statement error 42704
select 'nobody_of_this_name'::regrole

query
select 'upper(text)'::regprocedure, to_regprocedure('upper(text)'), to_regprocedure('no(int)'), 'pg_backend_pid'::regproc, 'pg_backend_pid()'::regprocedure::text, to_regproc('no'), to_regproc('abs'), 'int4in'::regproc
----
upper(text)|upper(text)|NULL|pg_backend_pid|pg_backend_pid()|NULL|NULL|int4in

query
select 'abs(integer)'::regprocedure::text, 'pg_catalog.upper(text)'::regprocedure
----
abs(integer)|upper(text)

statement error 42725
select 'abs'::regproc

statement error 42883
select 'nothing_here'::regproc

statement error 42704
select 'abs(nothing)'::regprocedure

statement error 22P02
select 'abs'::regprocedure

query
select '"C"'::regcollation, to_regcollation('"POSIX"')::text, to_regcollation('none')
----
"C"|"POSIX"|NULL

statement error 42704
select 'none'::regcollation

statement error 42704
select 'nothing'::regtype

query
select to_regtype('int'), to_regtype('nothing'), to_regtype('mood')::text
----
integer|NULL|mood

query
select atttypid::regtype, attname from pg_attribute where attrelid = 't'::regclass and attnum > 0 order by attnum
----
integer|id
text|b

query
select '-'::regtype::oid, '-'::regproc::oid
----
0|0

statement ok
create table kept (r regtype, n regnamespace)

statement ok
insert into kept values ('int', 2200), (25, 11)

query
select r, n, r::oid, n::text from kept order by r::oid
----
integer|public|23|public
text|pg_catalog|25|pg_catalog

query
select count(*) from kept where r = 'integer'::regtype
----
1

# Types with commas and parentheses among the arguments of a function.

query
SELECT to_regprocedure('upper(text)'), to_regprocedure('upper( pg_catalog . text )'), to_regprocedure('abs(numeric(10, 2))'), to_regprocedure('"upper"("text")'), to_regprocedure('abs(int[])'), to_regprocedure('upper()'), to_regprocedure('nothing(text)')
----
upper(text)|upper(text)|abs(numeric)|upper(text)|NULL|NULL|NULL

statement error 22P02
SELECT to_regprocedure('upper')
----
expected a left parenthesis

statement error 22P02
SELECT to_regprocedure('upper(text')
----
expected a right parenthesis

statement error 22P02
SELECT to_regprocedure('upper(text,)')
----
expected a type name

statement error 22P02
SELECT to_regprocedure('abs(numeric(10, 2)')
----
improper type name

statement error 22P02
SELECT to_regprocedure('abs(numeric(10, 2)))')
----
improper type name

statement error 42883
SELECT 'substr(character varying(3), int, int)'::regprocedure
----
function "substr(character varying(3), int, int)" does not exist

query
SELECT 'abs(numeric(10, 2))'::regprocedure
----
abs(numeric)
