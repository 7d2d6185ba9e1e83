# The index of ON CONFLICT: its expression may be that of another one, too, and its condition may follow from another one.
statement ok
create table k (id int, a int, b text)

statement ok
create function imt(t text) returns text immutable language sql as 'select lower(t)'

statement ok
create unique index on k (imt(b), id)

statement ok
create unique index on k (lower(b), a)

statement ok
insert into k values (1, 1, 'X') on conflict (lower(b), a) do nothing

statement ok
insert into k values (2, 1, 'x') on conflict (lower(b), a) do update set id = k.id + excluded.id

statement ok
insert into k values (3, 2, 'x') on conflict (id, imt(b)) do update set a = 9

statement ok
insert into k values (3, 3, 'X') on conflict (lower(b), id) do update set a = excluded.a * 10

query
select * from k order by id
----
3|30|X

statement error 42P10
insert into k values (3, 3, 'X') on conflict (lower(b)) do nothing
----
there is no unique or exclusion constraint matching the ON CONFLICT specification

statement error 42P10
insert into k values (3, 3, 'X') on conflict (upper(b), id) do nothing
----
there is no unique or exclusion constraint matching the ON CONFLICT specification

statement ok
create table p (id int, a int, s text)

statement ok
create unique index p_a on p (a) where id > 5

statement ok
create unique index p_s on p (s) where a <= 10 and s is not null

statement ok
insert into p values (8, 1, 'x')

statement ok
insert into p values (9, 1, 'y') on conflict (a) where id > 7 do update set s = 'seven'

statement ok
insert into p values (9, 1, 'y') on conflict (a) where 5 < id do update set s = p.s || '5'

statement ok
insert into p values (9, 1, 'y') on conflict (a) where id >= 6 and s = 'k' do update set s = p.s || '6'

statement ok
insert into p values (9, 1, 'y') on conflict (a) where id in (6, 9) do update set s = p.s || '9'

statement ok
insert into p values (9, 1, 'y') on conflict (a) where id = 6 do update set s = p.s || '='

statement error 42P10
insert into p values (9, 1, 'y') on conflict (a) where id >= 5 do nothing
----
there is no unique or exclusion constraint matching the ON CONFLICT specification

statement error 42P10
insert into p values (9, 1, 'y') on conflict (a) where id in (5, 9) do nothing
----
there is no unique or exclusion constraint matching the ON CONFLICT specification

statement error 42P10
insert into p values (9, 1, 'y') on conflict (a) where id <> 5 do nothing
----
there is no unique or exclusion constraint matching the ON CONFLICT specification

statement error 42P10
insert into p values (9, 1, 'y') on conflict (a) where id < 9 do nothing
----
there is no unique or exclusion constraint matching the ON CONFLICT specification

statement error 42P10
insert into p values (9, 1, 'y') on conflict (a) do nothing
----
there is no unique or exclusion constraint matching the ON CONFLICT specification

statement ok
insert into p values (1, 4, (select s from p)) on conflict (s) where a < 5 and s > 'a' do update set id = p.id + 100

query
select * from p
----
108|1|seven569=

statement error 42P10
insert into p values (1, 4, 'q') on conflict (s) where a < 5 do nothing
----
there is no unique or exclusion constraint matching the ON CONFLICT specification
