# Triggers of statements: once before or after, however many rows. The answers are those of PostgreSQL 15.
statement ok
create table t (a int primary key, b int)

statement ok
create table log (n serial, line text)

statement ok
create function note() returns trigger language plpgsql as $$ begin insert into log (line) values (tg_name || ' ' || tg_when || ' ' || tg_level || ' ' || tg_op || ' ' || (select count(*) from t) || ' ' || pg_trigger_depth()); return null; end $$

statement ok
create trigger after_all after insert or update or delete on t for each statement execute function note()

statement ok
create trigger of_rows after insert or update or delete on t for each row execute function note()

statement ok
create trigger of_b after update of b on t execute function note('x')

statement ok
create function guard() returns trigger language plpgsql as $$ begin if (select count(*) from t) > 3 then raise exception 'too many'; end if; return null; end $$

statement ok
create trigger before_insert before insert on t for each statement execute function guard()

statement ok
insert into t values (1, 1), (2, 2)

statement ok
insert into t select 1, 1 where false

statement ok
update t set b = b + 1

statement ok
update t set a = 3 where a = 1

statement ok
delete from t where a > 100

statement ok
insert into t values (2, 5), (4, 4) on conflict (a) do update set b = excluded.b

statement ok
with gone as (delete from t where a = 4 returning a) insert into t select a + 5, 0 from gone

query
select line from log order by n
----
of_rows AFTER ROW INSERT 2 1
of_rows AFTER ROW INSERT 2 1
after_all AFTER STATEMENT INSERT 2 1
after_all AFTER STATEMENT INSERT 2 1
of_rows AFTER ROW UPDATE 2 1
of_rows AFTER ROW UPDATE 2 1
after_all AFTER STATEMENT UPDATE 2 1
of_b AFTER STATEMENT UPDATE 2 1
of_rows AFTER ROW UPDATE 2 1
after_all AFTER STATEMENT UPDATE 2 1
after_all AFTER STATEMENT DELETE 2 1
of_rows AFTER ROW UPDATE 3 1
of_rows AFTER ROW INSERT 3 1
after_all AFTER STATEMENT UPDATE 3 1
of_b AFTER STATEMENT UPDATE 3 1
after_all AFTER STATEMENT INSERT 3 1
of_rows AFTER ROW DELETE 3 1
of_rows AFTER ROW INSERT 3 1
after_all AFTER STATEMENT DELETE 3 1
after_all AFTER STATEMENT INSERT 3 1

statement ok
delete from log

statement ok
insert into t values (10, 1), (11, 1), (12, 1)

statement error P0001
insert into t values (13, 1)
----
too many

statement ok
alter table t disable trigger after_all

statement ok
update t set b = 0 where a = 2

query
select line from log order by n
----
of_rows AFTER ROW INSERT 6 1
of_rows AFTER ROW INSERT 6 1
of_rows AFTER ROW INSERT 6 1
after_all AFTER STATEMENT INSERT 6 1
of_rows AFTER ROW UPDATE 6 1
of_b AFTER STATEMENT UPDATE 6 1

query
select tgname, tgtype, pg_get_triggerdef(oid) from pg_trigger where tgrelid = 't'::regclass order by tgname
----
after_all|28|CREATE TRIGGER after_all AFTER INSERT OR DELETE OR UPDATE ON public.t FOR EACH STATEMENT EXECUTE FUNCTION note()
before_insert|6|CREATE TRIGGER before_insert BEFORE INSERT ON public.t FOR EACH STATEMENT EXECUTE FUNCTION guard()
of_b|16|CREATE TRIGGER of_b AFTER UPDATE OF b ON public.t FOR EACH STATEMENT EXECUTE FUNCTION note('x')
of_rows|29|CREATE TRIGGER of_rows AFTER INSERT OR DELETE OR UPDATE ON public.t FOR EACH ROW EXECUTE FUNCTION note()

query
select trigger_name, event_manipulation, action_orientation, action_timing from information_schema.triggers where event_object_table = 't' order by 1, 2
----
after_all|DELETE|STATEMENT|AFTER
after_all|INSERT|STATEMENT|AFTER
after_all|UPDATE|STATEMENT|AFTER
before_insert|INSERT|STATEMENT|BEFORE
of_b|UPDATE|STATEMENT|AFTER
of_rows|DELETE|ROW|AFTER
of_rows|INSERT|ROW|AFTER
of_rows|UPDATE|ROW|AFTER

statement error 42P17
create trigger bad before insert on t for each statement when (new.a > 1) execute function note()
----
statement trigger's WHEN condition cannot reference column values

query
select pg_trigger_depth()
----
0

statement ok
create trigger of_truncate after insert or truncate on t for each statement execute function note()

query
select tgtype, pg_get_triggerdef(oid) from pg_trigger where tgname = 'of_truncate'
----
36|CREATE TRIGGER of_truncate AFTER INSERT OR TRUNCATE ON public.t FOR EACH STATEMENT EXECUTE FUNCTION note()

statement error 0A000
create trigger of_truncate_rows after truncate on t for each row execute function note()
----
TRUNCATE FOR EACH ROW triggers are not supported

reopen

statement ok
delete from t

query
select line from log order by n
----
of_rows AFTER ROW INSERT 6 1
of_rows AFTER ROW INSERT 6 1
of_rows AFTER ROW INSERT 6 1
after_all AFTER STATEMENT INSERT 6 1
of_rows AFTER ROW UPDATE 6 1
of_b AFTER STATEMENT UPDATE 6 1
of_rows AFTER ROW DELETE 0 1
of_rows AFTER ROW DELETE 0 1
of_rows AFTER ROW DELETE 0 1
of_rows AFTER ROW DELETE 0 1
of_rows AFTER ROW DELETE 0 1
of_rows AFTER ROW DELETE 0 1

# Parts of a statement that change one table run its triggers once for an event.
statement ok
create table parts (a int)

statement ok
create table seen (n serial, line text)

statement ok
create function see() returns trigger language plpgsql as $$ begin insert into seen (line) values (tg_table_name || ' ' || tg_when || ' ' || tg_op); return null; end $$

statement ok
create trigger two after insert or delete on parts for each statement execute function see()

query
with a as (insert into parts values (1) returning 1), b as (insert into parts values (2) returning 1), c as (delete from parts returning 1) select 1
----
1

query
select line, count(*) from seen group by line order by line
----
parts AFTER DELETE|1
parts AFTER INSERT|1

# ON UPDATE of a reference is an UPDATE of the other table.
statement ok
create table above (a int primary key)

statement ok
create table below (a int references above on update cascade)

statement ok
create trigger two after update of a on below for each statement execute function see()

statement ok
insert into above values (1), (2)

statement ok
insert into below values (1), (1), (2)

statement ok
delete from seen

statement ok
update above set a = a + 10

query
select line from seen order by n
----
below AFTER UPDATE

# ON DELETE runs no triggers here.
statement error 0A000
create table below2 (a int references above on delete cascade); create trigger one after delete on below2 for each statement execute function see()

statement error 0A000
create table below3 (a int references above on delete set null); create trigger one before update on below3 for each statement execute function see()

statement ok
create table below4 (a int)

statement ok
create trigger one after delete on below4 for each statement execute function see()

statement error 0A000
alter table below4 add foreign key (a) references above on delete cascade

statement ok
create trigger two after insert on below4 for each statement execute function see()
