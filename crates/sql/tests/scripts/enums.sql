# Enum types: ordered as they are declared, stored by numbers, as PostgreSQL has them.
statement ok
create type mood as enum ('sad', 'ok', 'happy')

statement error 42710
create type mood as enum ('x')

statement error 23505
create type twice as enum ('a', 'a')

statement ok
create type bare as enum ()

statement ok
drop type bare

statement ok
create table person (id int primary key, name text, m mood default 'ok' not null, ms mood[])

statement ok
insert into person values (1, 'a', 'happy', '{sad,happy}'), (2, 'b', 'sad', array['ok'::mood]), (3, 'c', default, null)

query
select id, m from person order by m, id
----
2|sad
3|ok
1|happy

query
select id, m from person order by m desc
----
1|happy
3|ok
2|sad

query
select id from person where m > 'sad' order by id
----
1
3

query
select id from person where m in ('sad', 'happy') order by id
----
1
2

query
select id from person where m between 'ok' and 'happy' order by id
----
1
3

statement error 22P02
insert into person values (4, 'd', 'angry', null)

statement error 22P02
select 'angry'::mood

query
select 'happy'::mood > 'ok'::mood, 'sad'::mood = 'sad', 'sad' <> 'ok'::mood, 'ok'::mood is distinct from null
----
t|t|t|t

query
select max(m), min(m), count(distinct m) from person
----
happy|sad|3

query
select m, count(*) from person group by m order by m
----
sad|1
ok|1
happy|1

query
select m::text || '!' from person order by id
----
happy!
sad!
ok!

query
select id, ms from person order by id
----
1|{sad,happy}
2|{ok}
3|NULL

query
select id from person where 'ok' = any(ms)
----
2

query
select ms[2] from person where id = 1
----
happy

query
select array_agg(m order by m) from person
----
{sad,ok,happy}

query
select id from person where m = any(array['sad','ok']::mood[]) order by id
----
2
3

query
select enum_range(null::mood), enum_first(null::mood), enum_last(null::mood), enum_range('ok'::mood, null), enum_range('sad'::mood, 'ok'::mood)
----
{sad,ok,happy}|sad|happy|{ok,happy}|{sad,ok}

statement error 42883
select m = 1 from person

statement error 42883
select m || 1 from person where false

statement error 42883
select m from person where m like 's%'

query
select pg_typeof('ok'::mood)
----
mood

query
select pg_typeof('{ok}'::mood[])
----
mood[]

query
update person set m = 'ok' where id = 1 returning m
----
ok

query
update person set m = case when id = 2 then 'happy'::mood else m end where id = 2 returning id, m
----
2|happy

query
select coalesce(null, 'ok'::mood), nullif('ok'::mood, 'ok'), greatest('sad'::mood, 'ok'), case when true then 'ok'::mood end
----
ok|NULL|ok|ok

query
insert into person select 10 + id, name, m from person where id = 2 returning id, m
----
12|happy

statement error 42804
insert into person (id, m) values (20, 'sad'::text)

query
insert into person (id, m) values (20, 'sad'::text::mood) returning id, m, ms
----
20|sad|NULL

statement ok
create index person_m on person (m)

statement error 23505
create unique index person_m_name on person (m, name)

statement ok
insert into person values (30, 'c', 'ok', null)

query
select id from person where m = 'sad'
----
20

query
select id, m from person where m >= 'ok' order by m, id
----
1|ok
3|ok
30|ok
2|happy
12|happy

statement ok
alter type mood add value 'great'

statement ok
alter type mood add value if not exists 'great'

statement error 42710
alter type mood add value 'great'

statement ok
alter type mood add value 'fine' after 'ok'

statement ok
alter type mood add value 'awful' before 'sad'

statement error 22023
alter type mood add value 'x' before 'nothing'

query
select enum_range(null::mood)
----
{awful,sad,ok,fine,happy,great}

statement ok
insert into person (id, m) values (40, 'awful'), (41, 'great'), (42, 'fine')

query
select id, m from person order by m, id
----
40|awful
20|sad
1|ok
3|ok
30|ok
42|fine
2|happy
12|happy
41|great

query
select enumlabel, enumsortorder from pg_enum e join pg_type t on t.oid = e.enumtypid where typname = 'mood' order by enumsortorder
----
awful|0
sad|1
ok|2
fine|2.5
happy|3
great|4

statement error 22023
alter type mood rename value 'nothing' to 'y'

statement error 42710
alter type mood rename value 'fine' to 'ok'

query
select typname, typtype, typcategory, typlen, typbyval, typalign, typstorage from pg_type where typname in ('mood', '_mood') order by typname
----
_mood|b|A|-1|f|i|x
mood|e|E|4|t|i|p

query
select format_type(atttypid, atttypmod) from pg_attribute where attrelid = 'person'::regclass and attnum > 0 order by attnum
----
integer
text
mood
mood[]

query
select data_type, udt_schema, udt_name, column_default from information_schema.columns where table_name = 'person' order by ordinal_position
----
integer|pg_catalog|int4|NULL
text|pg_catalog|text|NULL
USER-DEFINED|public|mood|'ok'::mood
ARRAY|public|_mood|NULL

query
select to_regtype('mood') = 'mood'::regtype, to_regtype('nothing'), to_regtype('mood[]') = 'mood[]'::regtype
----
t|NULL|t

statement error 42704
select 'nothing'::regtype

statement ok
alter table person alter column m drop default

statement ok
alter table person alter column m set default 'sad'

query
insert into person (id) values (50) returning m
----
sad

statement ok
alter table person add column m2 mood default 'ok'

query
select distinct m2 from person
----
ok

statement ok
alter table person alter column name type mood using 'ok'

statement ok
alter table person alter column name type text

query
select name, pg_typeof(name) from person where id = 50
----
ok|text

statement error 2BP01
drop type mood

statement ok
create schema app

statement ok
create type app.color as enum ('red', 'green')

statement error 42704
select 'red'::color

query
select 'red'::app.color
----
red

statement ok
create table app.t (c app.color primary key, n int)

statement ok
insert into app.t values ('green', 1), ('red', 2)

statement error 23505
insert into app.t values ('red', 3)

query
select c from app.t order by c
----
red
green

statement ok
set search_path = app, public

query
select 'red'::color < 'green'::color, 'ok'::mood
----
t|ok

statement ok
set search_path = public

statement ok
alter type app.color rename to colour

statement error 22P02
insert into app.t values ('blue', 3)

statement ok
alter type app.colour rename value 'red' to 'crimson'

query
select c from app.t order by c
----
crimson
green

query
select c from app.t where c = 'crimson'
----
crimson

statement ok
alter schema app rename to other

query
select 'crimson'::other.colour, pg_typeof('crimson'::other.colour)
----
crimson|other.colour

statement error 2BP01
drop schema other

statement ok
drop schema other cascade

statement ok
comment on type mood is 'how one feels'

query
select obj_description('mood'::regtype, 'pg_type')
----
how one feels

statement ok
begin

statement ok
create type tmp as enum ('a', 'b')

statement ok
create table uses_tmp (t tmp)

statement ok
insert into uses_tmp values ('b'), ('a')

query
select t from uses_tmp order by t
----
a
b

statement ok
rollback

statement error 42704
select 'a'::tmp

statement ok
drop type if exists tmp

statement error 42704
drop type tmp

statement ok
create view sad as select id from person where m = 'sad'

query
select count(*) from sad
----
2

query
select to_json('ok'::mood), json_build_object('m', 'ok'::mood), to_jsonb(array['ok','sad']::mood[]), concat('ok'::mood, 1)
----
"ok"|{"m" : "ok"}|["ok", "sad"]|ok1

query
with recursive r as (select 'ok'::mood as m union select 'sad'::mood) select m from r order by m
----
sad
ok

query
select m from person union select 'great' order by m
----
awful
sad
ok
fine
happy
great

statement ok
prepare p as select id from person where m = $1 order by id

statement ok
execute p('great')

query
select row_number() over (order by m, id), m, lag(m) over (order by m, id) from person order by m, id limit 3
----
1|awful|NULL
2|sad|awful
3|sad|sad

statement ok
truncate person

statement ok
drop view sad

statement ok
drop type mood cascade

query
select column_name from information_schema.columns where table_name = 'person' order by ordinal_position
----
id
name

statement ok
create type "Odd Name" as enum ('A b', 'c''d')

statement ok
create table odd (v "Odd Name" default 'c''d')

statement ok
insert into odd default values

query
select v, 'A b'::"Odd Name" from odd
----
c'd|A b

query
select format_type(to_regtype('"Odd Name"'), null)
----
"Odd Name"

statement ok
drop table odd

statement ok
drop type "Odd Name"

