query
show server_version
----
15.0

query
show transaction isolation level
----
serializable

query
show standard_conforming_strings
----
on

statement SET
set application_name = 'tests'

query
show application_name
----
tests

query
select current_setting('application_name'), set_config('search_path', 'public', false)
----
tests|public

query
show search_path
----
public

statement error 42704
set nothing_of_the_kind = 1

statement error 42704
show nothing_of_the_kind

statement error 22023
set client_encoding = 'LATIN1'

statement ok
set time zone 'UTC'

statement ok
begin; set local application_name = 'inside'; commit

query
show application_name
----
tests

statement ok
begin; set application_name = 'undone'; rollback

query
show application_name
----
tests

statement RESET
reset application_name

query
select current_setting('application_name') = ''
----
t

statement DISCARD ALL
discard all

# Prepared statements.

statement ok
create table p (id int primary key, x text)

statement PREPARE
prepare add(int, text) as insert into p values ($1, $2)

statement INSERT 0 1
execute add(1, 'a')

statement INSERT 0 1
execute add(1 + 1, 'b' || 'c')

statement error 42P05
prepare add as select 1

query
select * from p order by id
----
1|a
2|bc

statement DEALLOCATE
deallocate add

statement error 26000
execute add(3, 'c')

statement error 0A000
listen channel
