# GRANT, REVOKE and statements on roles: taken where they ask for what the session's user has, refused otherwise. The user is
# "tester", and no configuration has others.

statement ok
create table t (id serial primary key, a int)

statement ok
create view v as select a from t

statement GRANT
grant select, insert, update (a), delete on t to tester

statement GRANT
grant all privileges on table t, v to current_user granted by current_user

statement GRANT
grant all on all tables in schema public to tester

statement GRANT
grant usage, select on sequence t_id_seq to public

statement GRANT
grant usage, create on schema public to group tester

statement GRANT
grant connect, temporary on database sardonyx to public

statement GRANT
grant execute on all functions in schema public to tester

statement GRANT
grant execute on function lower(text), upper(text) to tester

statement ALTER DEFAULT PRIVILEGES
alter default privileges for role tester in schema public grant select, insert on tables to tester

statement error 42704
grant select on t to reader
----
role "reader" does not exist
HINT: The server's configuration has users and their rights (users.NAME.tables, users.NAME.table): change it, and have the server reload it.

statement error 42P01
grant select on nosuch to tester

statement error 3F000
grant usage on schema nosuch to tester

statement error 0LP01
grant usage on t to tester
----
invalid privilege type USAGE for relation

statement error 42601
grant fly on t to tester
----
unrecognized privilege type "fly"

statement error 0A000
grant select on t to tester with grant option
----
GRANT with GRANT OPTION is not supported
HINT: The server's configuration has users and their rights (users.NAME.tables, users.NAME.table): change it, and have the server reload it.

statement error 0A000
revoke insert on t from tester
----
REVOKE is not supported: the configuration gives user "tester" this right
HINT: The server's configuration has users and their rights (users.NAME.tables, users.NAME.table): change it, and have the server reload it.

statement error 0A000
revoke grant option for select on t from tester cascade

statement error 0A000
grant readers to tester
----
GRANT of roles to roles is not supported: a user has no roles
HINT: The server's configuration has users and their rights (users.NAME.tables, users.NAME.table): change it, and have the server reload it.

statement error 42710
create role tester login
----
role "tester" already exists

statement error 0A000
create user reader with password 'x'
----
CREATE ROLE is not supported: the server's configuration has the users
HINT: Add [users.reader] with a password (sardonyx password) and rights to the configuration, and have the server reload it.

statement error 42704
alter role reader set search_path = app

statement DROP ROLE
drop role if exists reader, writer

statement error 42704
drop role reader

statement error 42704
reassign owned by reader to tester

statement error 0A000
drop owned by tester

# The names of tables may be those of kinds.

statement ok
create table sequence (a int)

statement GRANT
grant select on sequence, t to tester

statement error 42601
grant select t to tester

statement error 42601
grant select on t
