# Texts of SQL that the database changes before it keeps or shows them keep their literals: the letters of E'' and U&'' stay as they are
# written. The answers are those of PostgreSQL 15, but for the form in which expressions are shown.

statement ok
create function u(x int) returns int language sql immutable as 'select x'

statement ok
create table b1 (b text check (b <> E'a\\n'), c text generated always as (b || E'\\n') stored)

statement ok
insert into b1 (b) values ('q')

query
select c, length(c) from b1
----
q\n|3

statement error 23514
insert into b1 (b) values (E'a\\n')

statement ok
insert into b1 (b) values (E'a\n')

statement ok
create table b2 (b text check (b <> E'a\'b' and b <> U&'\0061\\'), n int check (u(n) < 5))

statement error 23514
insert into b2 values ('a''b', 1)

statement error 23514
insert into b2 values (E'a\\', 1)

statement error 23514
insert into b2 values ('a', 5)

statement ok
insert into b2 values ('a', 4)

# In the body of a function.

statement ok
create function unescaped(s text) returns text language sql immutable as $$ select replace(replace(s, E'\\n', E'\n'), U&'\0062', E'\'') $$

statement ok
create table b3 (s text, t text generated always as (unescaped(s)) stored)

statement ok
create unique index on b3 (unescaped(s))

statement ok
insert into b3 values ('a\nb'), (E'a\nc')

query
select t = E'a\n\'', t = E'a\nc' from b3
----
t|f
f|t

statement error 23505
insert into b3 values (E'a\nb')

# In ON CONFLICT.

statement ok
create table b4 (k text, n int)

statement ok
create unique index on b4 (k) where k <> E'x\\n'

statement ok
insert into b4 values ('a', 1)

query
insert into b4 values ('a', 2) on conflict (k) where k <> E'x\\n' do update set n = excluded.n returning n
----
2

# Beside labels of an enum type.

statement ok
create type letter as enum ('x', 'y')

statement ok
create table b5 (s letter, b text, check (s <> 'y' and b <> E'a\\n'), c text generated always as (case when s = 'x' then b || E'\\n' else E'it\'s' end) stored)

statement ok
create table b6 (like b5 including all)

query
insert into b6 (s, b) values ('x', E'a\n') returning c = E'a\n\\n'
----
t

statement error 23514
insert into b6 (s, b) values ('x', E'a\\n')

statement error 23514
insert into b6 (s, b) values ('y', 'a')

# Beside a sequence, and beside bits.

statement ok
create sequence numbers

statement ok
create table b7 (id int, t text default E'x\\n' || nextval('numbers')::text, o text default (case when nextval('numbers' || '') > 0 then E'\\' end))

statement ok
alter table b7 alter o drop default

query
insert into b7 (id) values (1) returning t
----
x\n1

statement ok
create view b8 as select X'1F' as bits, E'a\\n' as t, U&'\0061\\' as o

query
select * from b8
----
00011111|a\n|a\

# Beside the names of rows in a trigger.

statement ok
create table b9 (a text, b text)

statement ok
create table b9_log (t text, a text, b text)

statement ok
create function log_b9() returns trigger language plpgsql as $$ begin insert into b9_log select E'a\\n', NEW.*; if NEW.* is distinct from OLD.* then insert into b9_log values (E'\\', NEW.b, OLD.b); end if; return null; end $$

statement ok
create trigger b9_log after update on b9 for each row when (OLD.a <> E'a\\n') execute function log_b9()

statement ok
insert into b9 values ('1', '2'), (E'a\\n', '2')

statement ok
update b9 set b = '3'

statement ok
alter table b9 rename a to first

statement ok
update b9 set b = '4'

query
select * from b9_log order by 1, 2, 3
----
\|3|2
\|4|3
a\n|1|3
a\n|1|4

query
select pg_get_triggerdef(oid) from pg_trigger where tgname = 'b9_log'
----
CREATE TRIGGER b9_log AFTER UPDATE ON public.b9 FOR EACH ROW WHEN ((OLD.first <> E'a\\n')) EXECUTE FUNCTION log_b9()

# The arguments of a function in what a table keeps: by name, and left out; a parameter that has the name of a word.

statement ok
create function scaled(n int, by int default 2, plus int default 0) returns int language sql immutable as 'select n * by + plus'

statement ok
create table b10 (n int, m int, check (scaled(n) < 100), check (scaled(m, plus => 1) <> 7), c int generated always as (scaled(plus => 5, n => n)) stored)

statement error 23514
insert into b10 values (50, 1)

statement error 23514
insert into b10 values (1, 3)

query
insert into b10 values (49, 4) returning c
----
103

statement ok
create function years(year date) returns int language sql immutable as $$ select extract(year from year)::int $$

statement ok
create function days(date date) returns int language sql immutable as $$ select date - date '2000-01-01' $$

statement ok
create table b11 (day date, y int generated always as (years(day) + days(day)) stored)

query
insert into b11 values ('2024-05-05') returning y
----
10915

statement ok
create function doubled(n int) returns int language sql immutable as 'select n * 2'

statement ok
create domain small_int as int check (doubled(value) < 10)

statement ok
create table b12 (n small_int)

statement ok
insert into b12 values (4)

statement error 23514
insert into b12 values (5)

statement ok
alter domain small_int add constraint other check (doubled(doubled(value)) <> 8)

statement ok
alter domain small_int add constraint more check (doubled(doubled(value)) <> 12)

statement error 23514
insert into b12 values (3)

# Expressions between brackets have their columns, too.

statement ok
create table b13 (list int[], n int, check (list[n] > 0), c int generated always as (list[n + 1]) stored)

statement ok
alter table b13 rename n to place

statement ok
alter table b13 rename list to all_of_it

query
insert into b13 values ('{1,2}', 1) returning c
----
2

statement error 23514
insert into b13 values ('{0,2}', 1)

query
select pg_get_constraintdef(oid) from pg_constraint where conrelid = 'b13'::regclass
----
CHECK ((all_of_it[place] > 0))
