# With an empty path, the texts of the catalogue have the schemas of all names in them, and nothing else of them changes: pg_dump writes
# them so, and they are read again. The words are the database's, the places of the schemas those of PostgreSQL 15.

statement ok
create type mood as enum ('sad', 'ok')

statement ok
create type pair as (a int, m mood)

statement ok
create type pairs as (first pair, others mood[])

statement ok
create domain glad as mood default 'ok'

statement ok
create table created (id int primary key, at timestamp, year int)

statement ok
create table status (id int primary key, name text, m mood, created timestamp, p pair)

statement ok
create table c (id int primary key, status int references status (id) check (status is distinct from 5))

statement ok
create function lowered(t text, m mood default 'ok') returns text language sql immutable as 'select lower(t)'

statement ok
create function pairs_of(p pair, many mood[]) returns setof pair language sql as 'select p'

statement ok
create function statuses(g mood) returns setof status language sql as 'select * from status'

statement ok
create view v1 as select replace(name, E'\\', E'\n') as r, name ~ E'^\\w+$' as m, U&'\0061\\' as u from status

statement ok
create view v2 as select extract(year from created) as y, id is distinct from status.id as d, name, overlay(name placing 'x' from id for 1) as o from status

statement ok
create view v3 as select s.id, c.id as c, k.id as k from status s join c on c.status = s.id, created k

statement ok
create view v4 as select id from status join created using (id), c as c2(c_id)

statement ok
create view v5 as select s.id from status s left join (c join created k on k.id = c.id) on c.status = s.id

statement ok
create view v6 as select id, id as again from status union table c union all (select id, year from created) order by 1

statement ok
create sequence numbers

statement ok
create view v7 as select 'status'::REGCLASS as r, cast('{sad}' as mood[]) as l, mood 'ok' as k, cast('c' as regclass) as q, nextval('numbers') as n

statement ok
create view v8 as with status as (select 1 as id), w as (select * from status) select w.id, (select max(id) from created) as m, exists (select from c where c.id = w.id) as e, array(select lowered(name::text) from status s(name)) as l from w, status

statement ok
create view v9 as with recursive c as (select 1 as id union all select id + 1 from c where id < 3) select c.id from c where c.id in (select id from created)

statement ok
create view v10 as select (row(1, 'ok')::pair).a, p.m from pairs_of(row(1, 'ok'), '{sad}'::mood[]) p, lateral lowered(p.a::text, m => p.m) l(t)

statement ok
create view "V11" as select "Status"."From" from (select 1 as "From") "Status", status

statement ok
create view v12 as select lowered(name) filter_ from status where lowered(name) in (select lowered(name, 'sad'::mood) from status) group by lowered(name) having max(lowered(name)) > '' order by lowered(name)

statement ok
create table d (id int default nextval('numbers'), t text, m mood default 'ok'::mood, p pair, check (lowered(t) <> E'a\\'))

statement ok
create index d_t on d (lowered(t), (t || E'\\')) where lowered(t) <> E'\''

statement ok
create function touched() returns trigger language plpgsql as $$ begin return new; end $$

statement ok
create trigger touched before update on status for each row when (lowered(old.name) <> lowered(new.name)) execute function touched('status', E'\\')

statement ok
select set_config('search_path', '', false)


query
select pg_get_viewdef('public.v1'::regclass)
----
SELECT replace(name, E'\\', E'\n') AS r, name ~ E'^\\w+$' AS m, U&'a\\' AS u FROM public.status;

query
select pg_get_viewdef('public.v2'::regclass)
----
SELECT EXTRACT(YEAR FROM created) AS y, id IS DISTINCT FROM status.id AS d, name, OVERLAY(name PLACING 'x' FROM id FOR 1) AS o FROM public.status;

query
select pg_get_viewdef('public.v3'::regclass)
----
SELECT s.id, c.id AS c, k.id AS k FROM public.status s JOIN public.c ON c.status = s.id, public.created k;

query
select pg_get_viewdef('public.v4'::regclass)
----
SELECT id FROM public.status JOIN public.created USING(id), public.c AS c2 (c_id);

query
select pg_get_viewdef('public.v5'::regclass)
----
SELECT s.id FROM public.status s LEFT JOIN (public.c JOIN public.created k ON k.id = c.id) ON c.status = s.id;

query
select pg_get_viewdef('public.v6'::regclass)
----
SELECT id, id AS again FROM public.status UNION SELECT * FROM public.c UNION ALL (SELECT id, year FROM public.created) ORDER BY 1;

query
select pg_get_viewdef('public.v7'::regclass)
----
SELECT 'public.status'::REGCLASS AS r, CAST('{sad}' AS public.mood[]) AS l, public.mood 'ok' AS k, CAST('public.c' AS REGCLASS) AS q, nextval('public.numbers') AS n;

query
select pg_get_viewdef('public.v8'::regclass)
----
WITH status AS (SELECT 1 AS id), w AS (SELECT * FROM status) SELECT w.id, (SELECT max(id) FROM public.created) AS m, EXISTS (SELECT FROM public.c WHERE c.id = w.id) AS e, array(SELECT public.lowered(name::TEXT) FROM status s (name)) AS l FROM w, status;

query
select pg_get_viewdef('public.v9'::regclass)
----
WITH RECURSIVE c AS (SELECT 1 AS id UNION ALL SELECT id + 1 FROM c WHERE id < 3) SELECT c.id FROM c WHERE c.id IN (SELECT id FROM public.created);

query
select pg_get_viewdef('public.v10'::regclass)
----
SELECT (row(1, 'ok')::public.pair).a, p.m FROM public.pairs_of(row(1, 'ok'), '{sad}'::public.mood[]) p, LATERAL public.lowered(p.a::TEXT, m => p.m) l (t);

query
select pg_get_viewdef('public."V11"'::regclass)
----
SELECT "Status"."From" FROM (SELECT 1 AS "From") "Status", public.status;

query
select pg_get_viewdef('public.v12'::regclass)
----
SELECT public.lowered(name) AS filter_ FROM public.status WHERE public.lowered(name) IN (SELECT public.lowered(name, 'sad'::public.mood) FROM public.status) GROUP BY public.lowered(name) HAVING max(public.lowered(name)) > '' ORDER BY public.lowered(name);

query
select pg_get_expr(adbin, adrelid) from pg_attrdef where adrelid = 'public.d'::regclass order by adnum
----
nextval('public.numbers')
'ok'::public.mood

query
select pg_get_constraintdef(oid) from pg_constraint where conrelid in ('public.d'::regclass, 'public.c'::regclass) order by conname
----
PRIMARY KEY (id)
CHECK ((status IS DISTINCT FROM 5))
FOREIGN KEY (status) REFERENCES public.status(id)
CHECK ((CAST((lower(CAST((t) AS TEXT))) AS TEXT) <> E'a\\'))

query
select pg_get_indexdef('public.d_t'::regclass)
----
CREATE INDEX d_t ON public.d USING btree (((CAST((lower(CAST((t) AS TEXT))) AS TEXT))), ((t || E'\\'))) WHERE (CAST((lower(CAST((t) AS TEXT))) AS TEXT) <> E'\'')

query
select pg_get_triggerdef(oid) from pg_trigger where tgname = 'touched'
----
CREATE TRIGGER touched BEFORE UPDATE ON public.status FOR EACH ROW WHEN ((public.lowered(old.name) <> public.lowered(new.name))) EXECUTE FUNCTION public.touched('status', '\')

query
select format_type(atttypid, atttypmod) from pg_attribute where attrelid in ('public.d'::regclass, (select typrelid from pg_type where typname = 'pairs')) and attnum > 0 order by attrelid, attnum
----
integer
text
public.mood
public.pair
public.pair
public.mood[]

query
select proname, pg_get_function_arguments(oid), pg_get_function_identity_arguments(oid), pg_get_function_result(oid) from pg_proc where proname in ('lowered', 'pairs_of', 'statuses') order by 1
----
lowered|t text, m public.mood DEFAULT 'ok'|t text, m public.mood|text
pairs_of|p public.pair, many public.mood[]|p public.pair, many public.mood[]|SETOF public.pair
statuses|g public.mood|g public.mood|SETOF public.status

query
select pg_get_functiondef('public.statuses'::regproc) like '%statuses(g public.mood)% SETOF public.status%'
----
t


# The order in which pg_dump writes types.

query
select c.relname, d.objsubid, d.deptype, t.typname from pg_depend d join pg_class c on c.oid = d.objid and d.classid = 'pg_class'::regclass join pg_type t on t.oid = d.refobjid and d.refclassid = 'pg_type'::regclass where c.relkind = 'c' order by 1, 4
----
pair|2|n|mood
pair|0|i|pair
pairs|2|n|_mood
pairs|1|n|pair
pairs|0|i|pairs

query
select distinct a.typname, d.deptype, t.typname from pg_depend d join pg_type a on a.oid = d.objid and d.classid = 'pg_type'::regclass join pg_type t on t.oid = d.refobjid and d.refclassid = 'pg_type'::regclass where t.typname in ('mood', 'pair') order by 1, 3
----
_mood|i|mood
_pair|i|pair
glad|n|mood
