statement ok
create table accounts (id int primary key, balance bigint)

statement ok
create table moves (source int, target int, amount bigint)

statement ok
insert into accounts values (1, 100), (2, 0)

statement CREATE PROCEDURE
create procedure transfer(source int, target int, amount bigint) language sql as $$
  update accounts set balance = balance - amount where id = source;
  update accounts set balance = balance + amount where id = $2;
  insert into moves values (source, target, amount);
$$

statement CALL
call transfer(1, 2, 30)

query
select * from accounts order by id
----
1|70
2|30

query
select amount from moves where source = 1
----
30

statement error 42723
create procedure transfer(a int) language sql as 'select 1'

statement ok
create or replace procedure look(which int) language sql begin atomic select balance from accounts where id = which; end

query
call look(2)
----
30

statement error 0A000
create procedure rows_of_a_cursor() language sql as 'fetch 1 from c'

# Among other statements, behind a comment, and with objects that the same text has made.

statement ok
create table steps (n int); create procedure step(n int) language sql as $$ insert into steps values (n); insert into steps values (n + 1) $$; call step(1)

statement CREATE PROCEDURE
/* two of them; in one text */ create or replace procedure step(n int) language sql as 'insert into steps values (n)'

statement ok
-- one after the other
create procedure a() begin atomic insert into steps values (10); end; create procedure b() begin atomic delete from steps where n = 10; end; call a(); call b();

statement error 42601
create procedure c() language sql as 'select 1' 'select 2'

statement error 42P01
create procedure d() language sql as 'select 1'; select * from nothing

statement error 42883
call d()

query
select n from steps order by n
----
1
2

statement ok
drop procedure step

# All of it, or nothing.

statement ok
alter table accounts add constraint enough check (balance >= 0)

statement error 23514
call transfer(1, 2, 100)

query
select count(*), sum(amount) + 70 from moves
----
1|100

statement error 42883
call transfer(1)

statement error 42883
call nothing()

statement error 0A000
create procedure p() language plpgsql as $$ begin end $$

statement error 42P01
create procedure p() language sql as $$ select * from nothing $$

# Also in a transaction, and after the database was opened again.

statement ok
begin; call transfer(2, 1, 5); rollback

query
select balance from accounts where id = 1
----
70

reopen

query
call look(1)
----
70

statement ok
drop procedure look

statement error 42883
call look(1)

statement ok
drop procedure if exists look
