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
  Hash Cond: (o.id = p.owner)
  ->  Index Scan using owners_pkey on owners o
        Index Cond: (o.id = 1)
  ->  Seq Scan on pets p
        Filter: (p.owner = 1)

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

query
select o.name, p.id from owners o right join pets p on p.owner = o.id order by p.id
----
Ada|10
Ada|11
Grace|12
NULL|13
NULL|14

query
select o.name, p.id from owners o full join pets p on p.owner = o.id order by o.name, p.id
----
Ada|10
Ada|11
Alan|NULL
Grace|12
NULL|13
NULL|14

query
select o.id, p.id from owners o full join pets p on false order by 1, 2
----
1|NULL
2|NULL
3|NULL
NULL|10
NULL|11
NULL|12
NULL|13
NULL|14

query
select o.id, p.id from owners o left join pets p on p.id > 12 + o.id order by 1, 2
----
1|14
2|NULL
3|NULL

query
select o.id, p.id from owners o left join pets p on o.name = 'Ada' and p.kind = 'cat' order by 1, 2
----
1|10
1|12
2|NULL
3|NULL

query
select count(*) from owners join pets using (id)
----
0

query
select * from (values (1, 'a'), (2, 'b')) l(k, x) join (values (2, 'c'), (3, 'd')) r(k, y) using (k)
----
2|b|c

query
select * from (values (1, 'a'), (2, 'b')) l(k, x) full join (values (2, 'c'), (3, 'd')) r(k, y) using (k) order by k
----
1|a|NULL
2|b|c
3|NULL|d

query
select k, l.k, r.k from (values (1, 'a'), (2, 'b')) l(k, x) right join (values (2, 'c'), (3, 'd')) r(k, y) using (k) order by 1
----
2|2|2
3|NULL|3

query
select * from (values (1, 'a'), (2, 'b')) l(k, x) natural join (values (2, 'c'), (3, 'd')) r(k, y)
----
2|b|c

query
select count(*) from (values (1), (2)) l(a) natural join (values (3), (4)) r(b)
----
4

query
select k from (values (1), (2)) a(k) full join (values (2), (3)) b(k) using (k) full join (values (3), (4)) c(k) using (k) order by k
----
1
2
3
4

query
select a.x, b.y, c.z from (values (1), (2)) a(x), (values (1)) b(y) right join (values (1), (5)) c(z) on b.y = c.z order by 1, 3
----
1|1|1
1|NULL|5
2|1|1
2|NULL|5

query
select a.x, b.y, c.z from (values (1), (2)) a(x) left join ((values (1), (3)) b(y) join (values (1)) c(z) on b.y = c.z) on a.x = b.y order by 1
----
1|1|1
2|NULL|NULL

query
select o.id from owners o left join pets p on p.owner = o.id where p.kind is null or p.kind = 'cat' order by 1
----
1
2
3

query
select o.id, count(*) from owners o join pets p on p.owner in (select id from owners where id = o.id) group by o.id order by 1
----
1|2
2|1

query
explain select * from owners o right join pets p on p.owner = o.id where p.id = 10
----
Hash Right Join
  Hash Cond: (o.id = p.owner)
  ->  Seq Scan on owners o
  ->  Index Scan using pets_pkey on pets p
        Index Cond: (p.id = 10)

statement error 42703
select 1 from owners join pets using (kind)

statement error 42P01
select 1 from owners o, pets p right join owners q on o.id = q.id

statement ok
create index pets_owner on pets (owner)

query
explain select * from owners o join pets p on p.owner = o.id where o.id = 1
----
Hash Join
  Hash Cond: (o.id = p.owner)
  ->  Index Scan using owners_pkey on owners o
        Index Cond: (o.id = 1)
  ->  Index Scan using pets_owner on pets p
        Index Cond: (p.owner = 1)

query
select o.name, p.id from owners o join pets p on p.owner = o.id where o.id = 1 order by 2
----
Ada|10
Ada|11

query
explain select * from pets p left join owners o on o.id = p.owner and o.name <> 'Ada' where p.id = 12
----
Nested Loop Left Join
  ->  Index Scan using pets_pkey on pets p
        Index Cond: (p.id = 12)
  ->  Index Scan using owners_pkey on owners o
        Index Cond: (o.id = p.owner)
        Filter: (o.name <> 'Ada'::text)

query
select p.id, o.name from pets p left join owners o on o.id = p.owner and o.name <> 'Ada' where p.id in (select 10) or p.id = 12 order by 1
----
10|NULL
12|Grace

query
select p.id, o.name from pets p left join owners o on o.id = p.owner and o.name <> 'Ada' where p.id = 10
----
10|NULL

query
select p.id, o.name from pets p left join owners o on o.id = p.owner where p.id = 13
----
13|NULL

# Conditions that have another value each time are of their own join, not of an outer join around it.
query
select o.id, p.id from owners o full join pets p on p.owner = o.id and random() < 0 order by 1, 2
----
1|NULL
2|NULL
3|NULL
NULL|10
NULL|11
NULL|12
NULL|13
NULL|14

query
select o.id, p.id, q.id from (owners o join pets p on p.owner = o.id and random() < 0) full join owners q on q.id = o.id order by 3
----
NULL|NULL|1
NULL|NULL|2
NULL|NULL|3

query
select o.id, p.id, q.id from owners q full join (owners o join pets p on random() < 0) on q.id = o.id order by 3
----
NULL|NULL|1
NULL|NULL|2
NULL|NULL|3

query
select o.id, p.id, q.id from owners q left join (owners o join pets p on p.owner = o.id and random() < 0) on true order by 3
----
NULL|NULL|1
NULL|NULL|2
NULL|NULL|3

query
select count(*) from (owners o join pets p on p.owner = o.id and random() < 0) left join owners q on true
----
0

query
select count(*) from (owners o join pets p on p.owner = o.id and random() >= 0) full join owners q on q.id = o.id
----
4
