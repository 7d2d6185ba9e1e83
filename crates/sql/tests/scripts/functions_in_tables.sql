# Functions of users in what a table keeps: expressions and conditions of indexes, CHECK, generated columns. A function whose
# body is one expression in SQL stands there by its body.

statement ok
create function in_mask(mask bit(8), state text) returns boolean language sql immutable as $$ select case state when 'available' then get_bit(mask, 7) when 'running' then get_bit(mask, 1) else 0 end = 1; $$

statement ok
create function folded(text) returns text language sql immutable strict as 'select lower(trim($1))'

statement ok
create function twice(n int) returns bigint language sql immutable return n * 2 + length(folded('  A '))

statement ok
create table jobs (id serial primary key, key text, state text not null default 'available', mask bit(8), name text, n int check (twice(n) < 100), both bigint generated always as (twice(n) + 1) stored)

statement ok
create unique index jobs_once on jobs (key) where key is not null and mask is not null and in_mask(mask, state)

statement ok
create index jobs_folded on jobs (folded(name), public.folded(key) desc)

query
select indexname from pg_indexes where tablename = 'jobs' order by 1
----
jobs_folded
jobs_once
jobs_pkey

query
insert into jobs (key, mask, n) values ('a', B'10000001', 1) on conflict (key) where key is not null and mask is not null and in_mask(mask, state) do update set n = 50 returning id, n, both
----
1|1|4

query
insert into jobs (key, mask, n) values ('a', B'10000001', 1) on conflict (key) where key is not null and mask is not null and in_mask(mask, state) do update set n = 40 returning id, n, both
----
1|40|82

statement error 23505
insert into jobs (key, mask) values ('a', B'00000001')

statement ok
insert into jobs (key, mask, state) values ('a', B'00000001', 'running')

statement error 23514
insert into jobs (n) values (50)

statement ok
alter table jobs add constraint jobs_name check (folded(name) <> 'none')

statement error 23514
insert into jobs (name) values (' NONE ')

statement ok
alter table jobs add column short text generated always as (left(folded(name), 2)) stored

statement ok
insert into jobs (name) values (' ADA ')

query
select short from jobs where folded(name) = 'ada'
----
ad

# The table keeps the body that the function had.

statement ok
create or replace function folded(text) returns text language sql immutable strict as 'select upper($1)'

statement ok
insert into jobs (name) values ('Bob')

query
select short from jobs where name = 'Bob'
----
bo

# Others are refused.

statement ok
create function changes(n int) returns int language sql as 'select n'

statement error 42P17
create index on jobs (changes(n))
----
functions in index expression must be marked IMMUTABLE

statement ok
create function counted(n int) returns bigint language sql immutable as 'select count(*) from jobs where id = n'

statement error 0A000
create index on jobs (counted(n))

statement ok
create function stepped(n int) returns int language plpgsql immutable as $$ begin return n + 1; end $$

statement error 0A000
create index on jobs (stepped(n))

statement error 42883
create index on jobs (not_there(n))

statement ok
create function itself(n int) returns int language sql immutable as 'select n'

statement ok
create or replace function itself(n int) returns int language sql immutable as 'select itself(n + 1)'

statement error 54001
create index on jobs (itself(n))

# The arguments are of the parameters' types, or become it without a cast.
statement ok
create table given (name text, part numeric, small smallint, list text[])

statement ok
create function of_int(n int) returns int language sql immutable as 'select n + 1'

statement error 42883
create index on given (of_int(name))

statement error 42883
create unique index on given (of_int(part))

statement error 42883
alter table given add check (of_int(part) > 0)

statement error 42883
create table given2 (part numeric, check (of_int(part) > 0))

statement error 42883
alter table given add column more int generated always as (of_int(part)) stored

statement ok
create index on given (of_int(small), of_int(of_int(small)), of_int(name::int))

# An element of an argument.
statement ok
create function first_of(v text[]) returns text language sql immutable as 'select v[1]'

statement ok
create unique index on given (first_of(list))

statement ok
insert into given (list) values ('{x,a}'), ('{y,a}')

statement error 23505
insert into given (list) values ('{x,b}')

# Arguments by name, and defaults of arguments.

statement ok
create function dfl(i int, j int default 5) returns int language sql immutable as 'select i * 10 + j'

statement ok
create table filled (a int, b int, c int generated always as (dfl(b)) stored, d int generated always as (dfl(j => a, i => b)) stored, check (dfl(a) > 0))

statement ok
insert into filled (a, b) values (1, 2)

query
select * from filled
----
1|2|25|21

statement ok
create index on filled (dfl(j := a, i := b))

statement error 23514
insert into filled (a, b) values (-1, 2)

statement error 42883
create index on filled (dfl(k => a))

# The bodies of functions are bounded: by their bytes, and by those of all texts that are read for them.
statement ok
create function often(x text) returns text language sql immutable as 'select coalesce(x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x)'

statement ok
create table bounded (a text check (often(a) is not null))

statement error 54001
alter table bounded add check (often(often(often(a))) is not null)
----
an expression of a table has too many functions of users

statement error 54001
create index on bounded (often(often(often(often(often(often(a)))))))

statement ok
create function none_of(a int, b int, c int, d int, e int, f int, g int, h int) returns int language sql immutable as 'select 1'

statement ok
create function none_1(n int) returns int language sql immutable as 'select none_of(n, n, n, n, n, n, n, n)'

statement ok
create function none_2(n int) returns int language sql immutable as 'select none_of(none_1(n), none_1(n), none_1(n), none_1(n), none_1(n), none_1(n), none_1(n), none_1(n))'

statement ok
create function none_3(n int) returns int language sql immutable as 'select none_of(none_2(n), none_2(n), none_2(n), none_2(n), none_2(n), none_2(n), none_2(n), none_2(n))'

statement ok
create function none_4(n int) returns int language sql immutable as 'select none_of(none_3(n), none_3(n), none_3(n), none_3(n), none_3(n), none_3(n), none_3(n), none_3(n))'

statement ok
create function none_5(n int) returns int language sql immutable as 'select none_of(none_4(n), none_4(n), none_4(n), none_4(n), none_4(n), none_4(n), none_4(n), none_4(n))'

statement error 54001
create index on bounded (none_5(length(a)))
