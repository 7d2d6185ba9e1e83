# Relations that a text names are found wherever the text stands: in a view, a function, a trigger, a default, a plain scan. The answers
# are those of PostgreSQL 15.

statement ok
create table places (id int primary key, name text)

statement ok
insert into places values (1, 'a')

statement ok
create view named as select 'places'::regclass as t, to_regclass('no_such') is null as is_none, 'places'::regclass::text as n

query
select * from named
----
places|t|places

statement ok
create view scanned as select tableoid::regclass as t, id, pg_table_is_visible(tableoid) as seen from places

query
select * from scanned
----
places|1|t

statement ok
create function is_there(name text) returns bool language sql stable as 'select to_regclass(name) is not null'

query
select is_there('places'), is_there('no_such')
----
t|f

query
select is_there(name), is_there('places') from places
----
f|t

statement ok
create table noted (of regclass default 'places'::regclass, by regclass, id int)

statement ok
insert into noted (id) values (1)

statement ok
insert into noted (id) select 2

statement ok
insert into noted select 'noted'::regclass, 'places', 3

statement ok
insert into noted values ('noted', to_regclass('places'), 4), (default, default, 5)

query
select * from noted order by id
----
places|NULL|1
places|NULL|2
noted|places|3
noted|places|4
places|NULL|5

query
update noted set by = default, of = 'named'::regclass where id = 5 returning of, by
----
named|NULL

statement ok
create function note() returns trigger language plpgsql as $$ begin NEW.by := TG_RELID::regclass; return NEW; end $$

statement ok
create trigger note before insert on noted for each row execute function note()

query
insert into noted (id) values (6) returning of, by
----
places|noted

statement ok
create function note_more() returns int language sql as $$ insert into noted (of, id) values ('places'::regclass, 7) returning id $$

query
select note_more()
----
7

query
select of, by from noted where id = 7
----
places|noted

copy COPY 1
copy noted (id) from stdin
----
8

query
select of, by from noted where id = 8
----
places|noted

# A type in a plain scan.

statement ok
create type feeling as enum ('sad')

statement ok
create table felt (id int, f feeling)

statement ok
insert into felt values (1, 'sad')

query
select pg_typeof(f), id from felt
----
feeling|1

query
select 'feeling'::regtype, id from felt
----
feeling|1
