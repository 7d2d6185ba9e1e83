statement ok
create table owners (id int primary key, name text)

statement ok
create table pets (id int primary key, owner bigint, kind text)

statement ok
insert into owners values (1, 'Ada'), (2, 'Grace'), (3, 'Alan')

statement ok
insert into pets values (10, 1, 'cat'), (11, 1, 'dog'), (12, 2, 'cat'), (13, null, 'fish'), (14, 9, 'bird')

query
select o.name, p.kind from owners o join pets p on p.owner = o.id order by p.id
----
Ada|cat
Ada|dog
Grace|cat

query
select o.name, p.kind from owners o left join pets p on p.owner = o.id and p.kind = 'cat' order by o.id
----
Ada|cat
Grace|cat
Alan|NULL

query
select o.name from owners o left join pets p on p.owner = o.id where p.id is null
----
Alan

query
select name, count(p.id) from owners left join pets p on owner = owners.id group by name order by 2 desc, 1
----
Ada|2
Grace|1
Alan|0

query
select count(*) from owners, pets where owners.id = pets.owner and kind = 'cat'
----
2

query
select count(*) from owners cross join pets
----
15

query
select a.id, b.id from owners a join owners b on a.id < b.id order by 1, 2
----
1|2
1|3
2|3

query
select o.name, p.id, q.id from owners o join pets p on p.owner = o.id join pets q on q.owner = o.id and q.id > p.id
----
Ada|10|11

query
select p.* from pets p join owners o on o.id = p.owner where o.id = 2 limit 1
----
12|2|cat

query
explain select * from owners o join pets p on p.owner = o.id where o.id = 1
----
Hash Join
  ->  Index Scan using owners_pkey on owners
        Index Cond: of 1 column
  ->  Seq Scan on pets

query
select n.nspname, c.relname from pg_catalog.pg_class c left join pg_catalog.pg_namespace n on n.oid = c.relnamespace where c.relkind = 'r' order by 2
----
public|owners
public|pets

statement error 42702
select id from owners, pets

statement error 42712
select 1 from owners, owners

statement error 42P01
select x.id from owners, pets

statement error 0A000
select 1 from owners right join pets on true

statement error 0A000
select 1 from owners join pets using (id)
