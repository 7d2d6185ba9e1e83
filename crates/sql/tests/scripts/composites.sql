# Composite types: as columns, parameters and elements of arrays. The answers are those of PostgreSQL 15, but for the types that one cannot drop.
statement ok
create type mood as enum ('sad', 'ok')

statement ok
create type item as (name text, price numeric(6, 2), m mood)

statement error 42710
create type item as (a int)
----
type "item" already exists

statement error 42701
create type twice as (a int, a int)
----
column "a" specified more than once

query
select ('a b', 1.239, 'ok')::item, row('x', null, null)::item, '(q,5,sad)'::item, null::item
----
("a b",1.24,ok)|(x,,)|(q,5.00,sad)|NULL

query
select (row('a', 2, 'ok')::item).price, (row('a', 2, 'ok')::item).*
----
2.00|a|2.00|ok

statement error 22P02
select '(a,b,c)'::item
----
invalid input syntax for type numeric: "b"

statement error 22P02
select '(a,1)'::item
----
malformed record literal: "(a,1)"
DETAIL: Too few columns.

statement error 22P02
select '(a,1,ok,4)'::item
----
malformed record literal: "(a,1,ok,4)"
DETAIL: Too many columns.

statement error 22P02
select 'a,1'::item
----
malformed record literal: "a,1"
DETAIL: Missing left parenthesis.

statement error 42846
select row(1, 2)::item
----
cannot cast type record to item
DETAIL: Input has too few columns.

statement ok
create table stock (id int primary key, what item, more item[])

statement ok
insert into stock values (1, ('pen', 1.5, 'ok'), array[('a', 1, 'ok')::item, ('b', 2, null)::item])

statement ok
insert into stock values (2, '("big ""box"",",10,)', '{"(c,3,sad)",NULL}'), (3, null, null), (4, row(null, null, null), '{}')

query
select * from stock order by id
----
1|(pen,1.50,ok)|{"(a,1.00,ok)","(b,2.00,)"}
2|("big ""box"",",10.00,)|{"(c,3.00,sad)",NULL}
3|NULL|NULL
4|(,,)|{}

query
select id, (what).name, (what).price + 1, (what).m from stock order by id
----
1|pen|2.50|ok
2|big "box",|11.00|NULL
3|NULL|NULL|NULL
4|NULL|NULL|NULL

query
select id, what is null, what is not null from stock order by id
----
1|f|t
2|f|f
3|t|f
4|t|f

query
select id from stock where (what).price > 5
----
2

query
select id from stock where what = row('pen', 1.50, 'ok')::item
----
1

query
select (more[1]).name, more[2] from stock where id = 1
----
a|(b,2.00,)

query
select u.* from stock, unnest(more) u order by 1
----
a|1.00|ok
b|2.00|NULL
c|3.00|sad
NULL|NULL|NULL

query
select name, price from unnest(array[('z', 9, 'ok')::item, ('y', 8, 'sad')::item])
----
z|9.00
y|8.00

query
select (u).m from stock, unnest(more) as u where id = 1 order by 1
----
ok
NULL

query
select what, count(*) from stock group by what order by what
----
("big ""box"",",10.00,)|1
(pen,1.50,ok)|1
(,,)|1
NULL|1

query
select distinct (what).m from stock order by 1
----
ok
NULL

statement ok
update stock set what = ('pen', 2, 'sad') where id = 1

query
select what from stock where id = 1
----
(pen,2.00,sad)

query
select row_to_json(what), to_json(more) from stock where id = 1
----
{"name":"pen","price":2.00,"m":"sad"}|[{"name":"a","price":1.00,"m":"ok"},{"name":"b","price":2.00,"m":null}]

query
select json_agg(what order by id) from stock where id < 3
----
[{"name":"pen","price":2.00,"m":"sad"}, 
 {"name":"big \"box\",","price":10.00,"m":null}]

statement ok
create function priced(i item, factor int default 2) returns numeric language sql as $$ select (i).price * factor $$

query
select priced(('a', 3, 'ok')), priced('(b,4,ok)'::item, 3)
----
6.00|12.00

query
select id, priced(what) from stock order by id
----
1|4.00
2|20.00
3|NULL
4|NULL

statement ok
create function added(items item[]) returns int language plpgsql as $$ declare n int; begin insert into stock select 10 + row_number() over (), (i.name, i.price, i.m)::item, null from unnest(items) i; get diagnostics n = row_count; return n; end $$

query
select added(array[row('new', 1, 'ok'), row('other', 2, null)]::item[])
----
2

query
select id, what from stock where id > 10 order by id
----
11|(new,1.00,ok)
12|(other,2.00,)

statement ok
create function listed() returns setof item language sql as $$ select what from stock where id < 3 order by id $$

query
select name, price from listed()
----
pen|2.00
big "box",|10.00

query
select listed()
----
(pen,2.00,sad)
("big ""box"",",10.00,)

statement ok
create function plain() returns setof item language sql as $$ select 'a', 1.5, 'ok'::mood union all select 'b', 2, null order by 1 $$

query
select * from plain()
----
a|1.50|ok
b|2.00|NULL

statement ok
create function raised(i item) returns item language plpgsql as $$ declare j item; begin j := row((i).name, (i).price + 1, 'sad')::item; return j; end $$

query
select raised('(a,1,ok)'), (raised('(b,2,ok)')).price
----
(a,2.00,sad)|3.00

query
select * from raised('(c,3,ok)')
----
c|4.00|sad

statement ok
create function looped() returns setof item language plpgsql as $$ begin return next ('x', 1, 'ok')::item; return query select (what).* from stock where id = 1; return; end $$

query
select * from looped()
----
x|1.00|ok
pen|2.00|sad

statement ok
create function made(name text) returns item language sql as $$ select row(name, 1, 'ok'::mood)::item $$

query
select made('x'), (made('y')).name
----
(x,1.00,ok)|y

query
select typname, typtype, typcategory, typarray <> 0, typrelid <> 0 from pg_type where typname in ('item', '_item') order by 1
----
_item|b|A|f|f
item|c|C|t|t

query
select relname, relkind, relnatts, reltype = 'item'::regtype from pg_class where relname = 'item'
----
item|c|3|t

query
select attname, attnum, format_type(atttypid, atttypmod) from pg_attribute where attrelid = (select typrelid from pg_type where typname = 'item') and attnum > 0 order by attnum
----
name|1|text
price|2|numeric(6,2)
m|3|mood

query
select column_name, data_type, udt_name from information_schema.columns where table_name = 'stock' order by ordinal_position
----
id|integer|int4
what|USER-DEFINED|item
more|ARRAY|_item

statement ok
create type crate as (i item, n int[])

query
select row(('a', 1, 'ok')::item, '{1,2}')::crate
----
("(a,1.00,ok)","{1,2}")

query
select ((row(('a', 1, 'ok')::item, '{1,2}')::crate).i).price
----
1.00

statement error 2BP01
drop type mood
----
cannot drop type mood because other objects depend on it
DETAIL: column m of composite type item depends on type mood
HINT: Drop the other type first.

reopen

query
select * from stock where id < 3 order by id
----
1|(pen,2.00,sad)|{"(a,1.00,ok)","(b,2.00,)"}
2|("big ""box"",",10.00,)|{"(c,3.00,sad)",NULL}

statement ok
alter table stock drop column more

statement ok
drop type crate

statement ok
drop table stock

statement ok
drop function priced(item, int)

statement ok
drop function added(item[])

statement ok
drop function made(text)

statement ok
drop function raised(item)

statement ok
drop function listed()

statement ok
drop function plain()

statement ok
drop function looped()

statement ok
drop type item

query
select count(*) from pg_class where relname = 'item'
----
0

# Expressions of tables cannot name a row: it is refused before the table has rows.
statement ok
create type kept_row as (name text, price numeric)

statement error 0A000
create table reads (id int, i kept_row check (i is not null))
----
column "i" of type kept_row is not supported in check constraints
HINT: A BEFORE trigger can test its fields, or compute another column of them.

statement error 0A000
create table reads (id int, i kept_row check (i::text <> 'x'))

statement error 0A000
create table reads (id int, ar kept_row[] check (array_length(ar, 1) > 0))
----
column "ar" of type kept_row[] is not supported in check constraints
HINT: A BEFORE trigger can test its fields, or compute another column of them.

statement error 0A000
create table reads (id int, i kept_row, n text generated always as (i::text) stored)

statement ok
create table reads (id int, i kept_row, ar kept_row[])

statement error 0A000
create index on reads (id) where i is not null

statement error 0A000
create index on reads ((array_length(ar, 1)))

statement error 0A000
alter table reads add check ((i).price > 0)

statement ok
insert into reads values (1, '(a,1)', '{}')

# The type of a column is known in a plain scan, too.
query
select pg_typeof(i), 'kept_row'::regtype, id from reads
----
kept_row|kept_row|1
