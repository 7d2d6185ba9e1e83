# UNIQUE NULLS NOT DISTINCT of constraints and indexes, and NULLS FIRST and LAST of indexes.

statement ok
create table t (id int primary key, a int, b text, unique nulls not distinct (a, b))

statement ok
insert into t values (1, 1, null), (2, null, 'x'), (3, null, null)

statement error 23505
insert into t values (4, 1, null)
----
duplicate key value violates unique constraint "t_a_b_key"
DETAIL: Key (a, b)=(1, null) already exists.
SCHEMA: public
TABLE: t
CONSTRAINT: t_a_b_key

statement error 23505
insert into t values (4, null, null)

statement error 23505
update t set a = null, b = null where id = 2

statement INSERT 0 1
insert into t values (5, 1, 'x')

# Rows may exchange their keys within a statement.

statement UPDATE 2
update t set a = case id when 1 then null when 3 then 1 end, b = null where id in (1, 3)

query
select id, a, b from t order by id
----
1|NULL|NULL
2|NULL|x
3|1|NULL
5|1|x

# ON CONFLICT finds rows with nulls.

statement INSERT 0 1
insert into t values (6, null, null) on conflict (a, b) do update set id = 60

query
select id from t where a is null and b is null
----
60

statement INSERT 0 0
insert into t values (7, 1, null) on conflict do nothing

statement INSERT 0 0
insert into t values (7, 1, null) on conflict on constraint t_a_b_key do nothing

query
with w as (insert into t values (8, 1, null), (9, 9, 'new') on conflict (a, b) do nothing returning id) select id from w
----
9

query
select pg_get_constraintdef(oid) from pg_constraint where conname = 't_a_b_key'
----
UNIQUE NULLS NOT DISTINCT (a, b)

query
select indexdef from pg_indexes where indexname = 't_a_b_key'
----
CREATE UNIQUE INDEX t_a_b_key ON public.t USING btree (a, b) NULLS NOT DISTINCT

query
select i.relname, x.indnullsnotdistinct from pg_index x join pg_class i on i.oid = x.indexrelid where x.indrelid = 't'::regclass order by 1
----
t_a_b_key|t
t_pkey|f

query
select constraint_name, nulls_distinct from information_schema.table_constraints where table_name = 't' and constraint_type in ('UNIQUE', 'PRIMARY KEY') order by 1
----
t_a_b_key|NO
t_pkey|NULL

# Constraints and indexes of tables with rows.

statement ok
create table u (id int primary key, a int, b int)

statement ok
insert into u values (1, null, 1), (2, null, 2)

statement error 23505
alter table u add constraint u_a unique nulls not distinct (a)

statement error 23505
create unique index u_a on u (a) nulls not distinct

statement ok
create unique index u_b on u (b) nulls not distinct

statement ok
insert into u values (3, 3, null)

statement error 23505
insert into u values (4, 4, null)
----
duplicate key value violates unique constraint "u_b"
DETAIL: Key (b)=(null) already exists.
SCHEMA: public
TABLE: u
CONSTRAINT: u_b

statement ok
update u set a = id

statement ok
alter table u add constraint u_a unique nulls not distinct (a)

statement ok
alter table u alter column a type bigint

statement ok
update u set a = null where id = 1

statement error 23505
update u set a = null where id = 2

statement ok
alter table u add unique (a)

# Nulls that are told apart stay so.

statement ok
create table v (a int unique)

statement ok
insert into v values (null), (null)

statement error 0A000
create unique index v_of on v (a) nulls not distinct where a > 0
----
CREATE INDEX with NULLS NOT DISTINCT with WHERE is not supported

# The order of nulls in indexes.

statement ok
create index u_order on u (a desc nulls last, b nulls first, id asc nulls last)

query
select indexdef from pg_indexes where indexname = 'u_order'
----
CREATE INDEX u_order ON public.u USING btree (a DESC NULLS LAST, b NULLS FIRST, id)

query
select id, a, b from u order by a desc nulls last, b nulls first
----
3|3|NULL
2|2|2
1|NULL|1

query
select id, a from u order by a nulls first
----
1|NULL
2|2
3|3

statement ok
alter index u_order rename to u_ordered

query
select indexdef from pg_indexes where indexname = 'u_ordered'
----
CREATE INDEX u_ordered ON public.u USING btree (a DESC NULLS LAST, b NULLS FIRST, id)

reopen

query
select indexdef from pg_indexes where tablename = 'u' order by 1
----
CREATE INDEX u_ordered ON public.u USING btree (a DESC NULLS LAST, b NULLS FIRST, id)
CREATE UNIQUE INDEX u_a ON public.u USING btree (a) NULLS NOT DISTINCT
CREATE UNIQUE INDEX u_a_key ON public.u USING btree (a)
CREATE UNIQUE INDEX u_b ON public.u USING btree (b) NULLS NOT DISTINCT
CREATE UNIQUE INDEX u_pkey ON public.u USING btree (id)

statement error 23505
insert into u values (4, 4, null)

# Also in a transaction that runs beside others.

statement ok
create table beside (id int primary key, a int, unique nulls not distinct (a))

statement ok
insert into beside values (1, null);
begin;
insert into beside values (2, 2);
insert into beside values (3, 3);
insert into beside values (4, 4);
insert into beside values (5, 5);
insert into beside values (6, 6);
insert into beside values (7, 7);
insert into beside values (8, 8);
insert into beside values (9, 9);
insert into beside values (10, 10);
savepoint s

statement error 23505
insert into beside values (20, null)

statement ok
rollback to s

statement INSERT 0 0
insert into beside values (21, null) on conflict do nothing

statement ok
delete from beside where id = 1;
savepoint s;
insert into beside values (22, null)

statement error 23505
insert into beside values (23, null)

statement ok
rollback to s;
insert into beside values (24, null)

query
select id from beside where a is null
----
24

statement ok
commit

query
select count(*), count(a) from beside
----
10|9
