# Columns of enum types in conditions, indexes' expressions and conditions, and generated columns. The answers are those of PostgreSQL 15, but for the form
# in which expressions are shown.
statement ok
create type job_state as enum ('available', 'running', 'done')

statement ok
create table jobs (id int primary key, state job_state not null default 'available'::job_state, kind text, finished date, constraint finished_is_known check ((state = 'done' and finished is not null) or (state <> 'done' and finished is null)), constraint kinds check (kind <> 'done' or state in ('available', 'running')))

statement ok
insert into jobs values (1, 'available', 'a', null), (2, 'done', 'b', '2024-01-01')

statement error 23514
insert into jobs values (3, 'done', 'a', null)
----
new row for relation "jobs" violates check constraint "finished_is_known"
DETAIL: Failing row contains (3, done, a, null).
SCHEMA: public
TABLE: jobs
CONSTRAINT: finished_is_known

statement error 23514
insert into jobs values (3, 'done', 'done', '2024-01-01')
----
new row for relation "jobs" violates check constraint "kinds"
DETAIL: Failing row contains (3, done, done, 2024-01-01).
SCHEMA: public
TABLE: jobs
CONSTRAINT: kinds

query
select conname, pg_get_constraintdef(oid) from pg_constraint where conrelid = 'jobs'::regclass and contype = 'c' order by conname
----
finished_is_known|CHECK (((state = 'done'::job_state AND finished IS NOT NULL) OR (state <> 'done'::job_state AND finished IS NULL)))
kinds|CHECK ((kind <> 'done' OR state IN ('available'::job_state, 'running'::job_state)))

statement ok
create unique index one_running on jobs (kind) where state in ('available', 'running')

query
select indexdef from pg_indexes where indexname = 'one_running'
----
CREATE UNIQUE INDEX one_running ON public.jobs USING btree (kind) WHERE (state IN ('available'::job_state, 'running'::job_state))

statement error 23505
insert into jobs values (4, 'running', 'a', null)
----
duplicate key value violates unique constraint "one_running"
DETAIL: Key (kind)=(a) already exists.
SCHEMA: public
TABLE: jobs
CONSTRAINT: one_running

statement ok
insert into jobs values (4, 'running', 'b', null)

statement ok
insert into jobs values (5, 'running', 'a', null) on conflict (kind) where state in ('available', 'running') do nothing

query
select id from jobs where kind = 'b' and state in ('available', 'running')
----
4

statement ok
create index by_rank on jobs ((case state when 'running' then 1 when 'available' then 2 else 3 end))

query
select id from jobs where case state when 'running' then 1 when 'available' then 2 else 3 end = 1
----
4

statement ok
alter table jobs add column is_open boolean generated always as (state < 'done') stored

statement ok
alter table jobs add column next job_state generated always as (case when state = 'available' then 'running'::job_state else state end) stored

query
select id, state, is_open, next from jobs order by id
----
1|available|t|running
2|done|f|done
4|running|t|running

# New labels and names change no meaning.
statement ok
alter type job_state rename value 'done' to 'completed'

statement ok
alter type job_state add value 'paused' before 'running'

statement ok
alter type job_state add value 'lost'

statement error 23514
insert into jobs values (6, 'completed', 'c', null)
----
new row for relation "jobs" violates check constraint "finished_is_known"
DETAIL: Failing row contains (6, completed, c, null, f, completed).
SCHEMA: public
TABLE: jobs
CONSTRAINT: finished_is_known

statement error 23514
insert into jobs values (6, 'completed', 'done', '2024-01-01')
----
new row for relation "jobs" violates check constraint "kinds"
DETAIL: Failing row contains (6, completed, done, 2024-01-01, f, completed).
SCHEMA: public
TABLE: jobs
CONSTRAINT: kinds

statement ok
insert into jobs values (6, 'paused', 'a', null), (7, 'lost', 'b', null)

query
select id, state, is_open, next from jobs order by id
----
1|available|t|running
2|completed|f|completed
4|running|t|running
6|paused|t|paused
7|lost|f|lost

query
select conname, pg_get_constraintdef(oid) from pg_constraint where conrelid = 'jobs'::regclass and contype = 'c' order by conname
----
finished_is_known|CHECK (((state = 'completed'::job_state AND finished IS NOT NULL) OR (state <> 'completed'::job_state AND finished IS NULL)))
kinds|CHECK ((kind <> 'done' OR state IN ('available'::job_state, 'running'::job_state)))

query
select attname, pg_get_expr(adbin, adrelid) from pg_attribute join pg_attrdef on attrelid = adrelid and attnum = adnum where attrelid = 'jobs'::regclass and attgenerated = 's' order by attname
----
is_open|state < 'completed'::job_state
next|CASE WHEN state = 'available'::job_state THEN 'running'::job_state ELSE state END

query
select id from jobs where kind = 'b' and state in ('available', 'running')
----
4

statement ok
alter type job_state rename to task_state

query
select indexdef from pg_indexes where indexname = 'one_running'
----
CREATE UNIQUE INDEX one_running ON public.jobs USING btree (kind) WHERE (state IN ('available'::task_state, 'running'::task_state))

statement ok
alter table jobs rename column state to status

query
select pg_get_constraintdef(oid) from pg_constraint where conname = 'finished_is_known'
----
CHECK (((status = 'completed'::task_state AND finished IS NOT NULL) OR (status <> 'completed'::task_state AND finished IS NULL)))

reopen

statement error 23514
insert into jobs values (8, 'completed', 'c', null)
----
new row for relation "jobs" violates check constraint "finished_is_known"
DETAIL: Failing row contains (8, completed, c, null, f, completed).
SCHEMA: public
TABLE: jobs
CONSTRAINT: finished_is_known

statement error 23505
insert into jobs values (8, 'running', 'a', null)
----
duplicate key value violates unique constraint "one_running"
DETAIL: Key (kind)=(a) already exists.
SCHEMA: public
TABLE: jobs
CONSTRAINT: one_running

query
select id, status, is_open, next from jobs order by id
----
1|available|t|running
2|completed|f|completed
4|running|t|running
6|paused|t|paused
7|lost|f|lost

# An expression may not depend on the text of a label.
statement error 42P17
create index by_text on jobs ((status::text))
----
functions in index expression must be marked IMMUTABLE

statement ok
create table copied (like jobs including all)

statement error 23514
insert into copied (id, status, kind) values (1, 'completed', 'x')

query
select pg_get_constraintdef(oid) from pg_constraint where conrelid = 'copied'::regclass and conname = 'finished_is_known'
----
CHECK (((status = 'completed'::task_state AND finished IS NOT NULL) OR (status <> 'completed'::task_state AND finished IS NULL)))

statement ok
alter table copied add constraint ordered check (status between 'available' and 'completed')

statement error 23514
insert into copied (id, status, kind) values (1, 'lost', 'x')

statement error 22P02
alter table copied add check (status <> 'unknown')
----
invalid input value for enum task_state: "unknown"

statement error 42883
alter table copied add check (status <> kind)
----
operator does not exist: task_state <> text
HINT: No operator matches the given name and argument types. You might need to add explicit type casts.

statement ok
create table few (s task_state check (s = any (array['available'::task_state, 'lost'::task_state])), t task_state check (t is not null), u task_state check (coalesce(u, 'lost') <> 'paused'))

statement error 23514
insert into few values ('paused', 'lost', 'lost')
----
new row for relation "few" violates check constraint "few_s_check"
DETAIL: Failing row contains (paused, lost, lost).
SCHEMA: public
TABLE: few
CONSTRAINT: few_s_check

statement error 23514
insert into few values ('lost', null, 'lost')
----
new row for relation "few" violates check constraint "few_t_check"
DETAIL: Failing row contains (lost, null, lost).
SCHEMA: public
TABLE: few
CONSTRAINT: few_t_check

statement error 23514
insert into few values ('lost', 'lost', 'paused')
----
new row for relation "few" violates check constraint "few_u_check"
DETAIL: Failing row contains (lost, lost, paused).
SCHEMA: public
TABLE: few
CONSTRAINT: few_u_check

statement ok
insert into few values ('lost', 'lost', null)

statement error 2BP01
drop type task_state
----
cannot drop type task_state because other objects depend on it
DETAIL: column status of table jobs depends on type task_state
column next of table jobs depends on type task_state
column status of table copied depends on type task_state
column next of table copied depends on type task_state
column s of table few depends on type task_state
column t of table few depends on type task_state
column u of table few depends on type task_state
HINT: Use DROP ... CASCADE to drop the dependent objects too.

query
select count(*) from few
----
1

statement ok
create function in_mask(mask bit(3), state task_state) returns boolean language sql immutable as $$ select case state when 'available' then get_bit(mask, 2) when 'running' then get_bit(mask, 1) when 'completed' then get_bit(mask, 0) else 0 end = 1 $$

statement ok
drop index one_running

statement ok
alter table jobs add column mask bit(3)

statement ok
create unique index masked on jobs (kind) where mask is not null and in_mask(mask, status)

statement ok
insert into jobs (id, status, kind, mask) values (20, 'running', 'm', b'010')

statement ok
insert into jobs (id, status, kind, mask) values (21, 'running', 'm', b'101')

statement error 23505
insert into jobs (id, status, kind, mask) values (22, 'available', 'm', b'001')
----
duplicate key value violates unique constraint "masked"
DETAIL: Key (kind)=(m) already exists.
SCHEMA: public
TABLE: jobs
CONSTRAINT: masked

query
insert into jobs (id, status, kind, mask) values (23, 'available', 'm', b'001') on conflict (kind) where mask is not null and in_mask(mask, status) do update set id = 30 returning id, status
----
30|running
