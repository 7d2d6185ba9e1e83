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

statement LISTEN
listen channel

query
select pg_listening_channels()
----
channel

statement UNLISTEN
unlisten *

# Settings until the transaction's end are restored then, also those with a program's own names.

statement ok
set app.kept = 'before'

statement ok
begin; set local app.kept = 'inside'; set local app.fresh = 'x'

query
select current_setting('app.kept'), current_setting('app.fresh'), set_config('app.tenant', '42', true)
----
inside|x|42

query
show app.tenant
----
42

statement COMMIT
commit

query
show app.kept
----
before

statement error 42704
show app.fresh

statement error 42704
show app.tenant

query
select set_config('app.tenant', '43', true), current_setting('app.tenant', true)
----
43|43

query
select current_setting('app.tenant', true) is null
----
t

# A later setting for good stays.

statement ok
begin; set local statement_timeout = '5min'; set statement_timeout = '7min'; set local app.kept = 'y'; set app.kept = 'z'; commit

query
select current_setting('statement_timeout'), current_setting('app.kept')
----
7min|z

statement ok
begin; set statement_timeout = '8min'; set local statement_timeout = '9min'; set local app.kept to default

query
select current_setting('statement_timeout'), current_setting('app.kept', true) is null
----
9min|t

statement COMMIT
commit

query
select current_setting('statement_timeout'), current_setting('app.kept')
----
8min|z

statement ok
begin; set local statement_timeout = '1min'; reset statement_timeout; commit

query
show statement_timeout
----
0

statement ok
begin; set statement_timeout = '8min'; set local statement_timeout = '9min'; set app.kept = 'undone'; rollback

query
select current_setting('statement_timeout'), current_setting('app.kept')
----
0|z

# Without BEGIN the end is that of the flight.

statement ok
set local app.kept = 'short'

query
show app.kept
----
z

query
set local app.kept = 'short'; select current_setting('app.kept')
----
short

query
show app.kept
----
z

# A setting by a statement stays, however the statement runs.

statement ok
create table many (id int primary key)

statement ok
insert into many select i from generate_series(1, 3) as s (i)

query
select set_config('app.seen', id::text, false) from many where id > 1
----
2
3

query
show app.seen
----
3

statement ok
create procedure remember(v text) begin atomic select set_config('app.seen', v, false); end

query
call remember('a')
----
a

query
call remember('b')
----
b

query
show app.seen
----
b

# The session's last numbers are known in procedures and defaults, too.

statement ok
create sequence numbers

statement ok
create table noted (id bigint default currval('numbers') primary key, v int)

statement ok
create procedure last() begin atomic select currval('numbers'); end

query
select nextval('numbers')
----
1

query
call last()
----
1

query
call last()
----
1

query
insert into noted (v) values (5) returning id
----
1

query
select nextval('numbers')
----
2

query
insert into noted (v) values (5) returning id
----
2

# Values that would matter, and are not kept, are refused; others are kept as PostgreSQL shows them.

statement ok
set lock_timeout = '90s'; set idle_in_transaction_session_timeout = 1500; set row_security = off; set datestyle = 'iso'; set client_min_messages = WARNING; set extra_float_digits = 3

query
select current_setting('lock_timeout'), current_setting('idle_in_transaction_session_timeout'), current_setting('row_security'), current_setting('client_min_messages')
----
90s|1500ms|off|warning

statement error 22023
set lock_timeout = 'soon'

statement ok
set search_path = tenant

statement ok
set search_path = tenant, public

statement ok
select set_config('search_path', '', false)

statement error 22023
set datestyle = 'German'

statement error 22023
set extra_float_digits = 0

statement error 22023
set lc_messages = 'de_DE'

statement error 22023
set default_tablespace = fast

statement error 22023
set default_transaction_isolation = 'chaos'

statement error 22023
set row_security = perhaps

statement error 0A000
set session_authorization = 'somebody'

statement error 42704
set no_such_parameter = 1

statement error 0A000
set transaction snapshot 'x'

# A level of isolation alone does not say that transactions write.

statement ok
set default_transaction_read_only = on; set session characteristics as transaction isolation level read committed

query
show default_transaction_read_only
----
on

statement ok
reset all

# The session's last numbers are forgotten.

statement ok
create sequence s; select nextval('s')

statement ok
discard sequences

statement error 55000
select currval('s')

# The role is the user's own, or none.
query
show role
----
none

statement SET
set role tester

query
select current_setting('role'), current_user
----
tester|tester

statement RESET
reset role

query
show role
----
none

statement ok
begin; set local role tester

query
show role
----
tester

statement ROLLBACK
rollback

query
show role
----
none

statement SET
set role none

statement error 0A000
set role other

statement error 0A000
set role = 'other'

statement SET
set session authorization default

statement SET
set session authorization tester

statement error 0A000
set session authorization other
