# UPDATE … FROM, DELETE … USING, and both behind WITH.
statement ok
create table accounts (id int primary key, owner text, balance int not null)

statement ok
create table payments (number int primary key, account int, amount int)

statement ok
insert into accounts values (1, 'Ada', 100), (2, 'Grace', 50), (3, 'Alan', 0)

statement ok
insert into payments values (10, 1, -5), (11, 2, 7), (12, null, 1000), (13, 9, 1)

query
update accounts a set balance = balance + p.amount from payments p where p.account = a.id returning a.id, a.balance, p.number, p.amount
----
1|95|10|-5
2|57|11|7

query
select id, balance from accounts order by id
----
1|95
2|57
3|0

# All columns: of the table first.
query
update accounts set balance = 1 from payments where account = id and number = 10 returning *
----
1|Ada|1|10|1|-5

# A row that goes with several is changed once.
statement ok
insert into payments values (14, 3, 2), (15, 3, 2)

query
update accounts set balance = balance + amount from payments where account = id and id = 3 returning id, balance
----
3|2

# Joins behind FROM, a query, and a table beside itself.
query
update accounts a set balance = s.total from (select account, sum(amount)::int as total from payments group by account) s join payments p on p.account = s.account where a.id = s.account and p.number = 15 returning a.id, a.balance
----
3|4

query
update accounts set balance = other.balance from accounts other where other.id = accounts.id + 1 and accounts.id = 2 returning accounts.id, accounts.balance, other.balance
----
2|4|4

# All rows, with each of the other table's.
query
update accounts set balance = 0 from (values (1), (2)) v returning id
----
1
2
3

# The key may change.
query
update accounts set id = id + number from payments where account = id and id = 2 returning id, number
----
13|11

statement ok
update accounts set id = 2 where id = 13

statement error 42702
update accounts a set balance = 1 from accounts b where balance = 2

statement error 42712
update accounts set balance = 1 from accounts where id = 1

statement error 42P01
update accounts set balance = 1 from nothing

statement error 42703
update accounts set amount = 1 from payments where account = id

query
explain update accounts set balance = 0 from payments where account = id and number = 10
----
Update on accounts
  ->  Nested Loop
        ->  Index Scan using payments_pkey on payments
              Index Cond: (payments.number = 10)
        ->  Index Scan using accounts_pkey on accounts
              Index Cond: (accounts.id = payments.account)

query
delete from payments p using accounts a where a.id = p.account and a.owner = 'Alan' returning p.number, a.owner
----
14|Alan
15|Alan

# One that goes with several is deleted, and counted, once.
statement DELETE 1
delete from payments using accounts where number = 13

statement ok
insert into payments values (13, 9, 1)

query
with gone as (delete from payments where false returning 1) select 1
----
1

query
delete from payments using accounts where number = 13 returning number
----
13

query
with rich as (select id from accounts where owner <> 'Ada'), more as (select 5 as by) update accounts a set balance = balance + more.by from rich, more where a.id = rich.id returning a.id, a.balance
----
2|5
3|5

query
with rich as (select id from accounts where balance > 0) update accounts set balance = 9 where id in (select id from rich) returning id, balance
----
2|9
3|9

query
with last as (select max(number) as number from payments) delete from payments using last where payments.number = last.number returning payments.number
----
12

# Prepared, in a transaction that is run again.
statement ok
prepare pay(int, int) as with paid as (select $1::int as id, $2::int as amount) update accounts a set balance = balance + amount from paid where a.id = paid.id returning balance

statement ok
begin

query
execute pay(2, 1)
----
10

query
execute pay(2, 1)
----
11

statement ok
commit

query
select number from payments order by number
----
10
11

query
select id, owner, balance from accounts order by id
----
1|Ada|0
2|Grace|11
3|Alan|9

statement ok
begin read only

statement error 25006
with one as (select 1 as id) update accounts a set balance = 0 from one where one.id = a.id

statement ok
rollback
