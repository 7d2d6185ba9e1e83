# Sources of MERGE that are joins, and OVERRIDING.

statement CREATE TABLE
create table m (id int primary key, v int)

statement CREATE TABLE
create table s1 (id int, w int)

statement CREATE TABLE
create table s2 (id int, x int)

statement INSERT 0 2
insert into m values (1, 1), (2, 2)

statement INSERT 0 2
insert into s1 values (1, 10), (3, 30)

statement INSERT 0 2
insert into s2 values (1, 100), (3, 300)

statement MERGE 2
merge into m using s1 join s2 using (id) on m.id = s1.id
  when matched then update set v = case when x > 50 then x else 0 end when not matched then insert values (s1.id, w)

query
select * from m order by 1
----
1|100
2|2
3|30

statement MERGE 2
merge into m using s1 a left join s2 b on a.id = b.id and b.x > 200 on m.id = a.id
  when matched and b.x is null then delete when matched then update set v = b.x

query
select * from m order by 1
----
2|2
3|300

statement MERGE 2
with q as (select 3 as id) merge into m using q natural join s1 cross join (values (1), (2)) y(n) on m.id = q.id and n = 1
  when matched then delete when not matched then insert values (n + 10, w)

query
select * from m order by 1
----
2|2
12|30

statement error 42601
merge into m using s1, s2 on m.id = s1.id when matched then do nothing

statement CREATE TABLE
create table i (id int generated always as identity, v int)

statement error 428C9
merge into i using s1 on false when not matched then insert (id, v) values (9, 1)

statement MERGE 2
merge into i using s1 on false when not matched then insert (id, v) overriding system value values (w, 1)

statement MERGE 2
merge into i using s1 on false when not matched then insert overriding system value values (w + 1, 2)

statement MERGE 2
merge into i using s1 on false when not matched then insert (id, v) overriding user value values (w, 3)

statement MERGE 2
merge into i using s1 on false when not matched then insert (v) overriding user value values (4)

query
select * from i order by v, id
----
10|1
30|1
11|2
31|2
1|3
2|3
3|4
4|4

# The words are names elsewhere.
query
select overriding, system from (values (1, 2)) merge(overriding, system)
----
1|2
