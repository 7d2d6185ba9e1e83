# A table's name has 63 bytes.

statement ok
CREATE SCHEMA a_schema_with_a_name_of_just_forty_bytes

statement ok
CREATE TABLE a_schema_with_a_name_of_just_forty_bytes.a_table_with_a_name_that_has_just_sixty_three_bytes_and_no_more (a int PRIMARY KEY)

statement ok
CREATE TABLE a_table_with_a_name_that_has_just_sixty_three_bytes_and_no_more (a int PRIMARY KEY, b text)

statement ok
INSERT INTO a_table_with_a_name_that_has_just_sixty_three_bytes_and_no_more VALUES (1, 'x')

statement error 42622
CREATE TABLE a_table_with_a_name_that_has_just_sixty_three_bytes_and_no_mores (a int)

statement error 42622
ALTER TABLE a_table_with_a_name_that_has_just_sixty_three_bytes_and_no_more RENAME TO a_table_with_a_name_that_has_just_sixty_three_bytes_and_no_mores

reopen

query
SELECT b FROM a_table_with_a_name_that_has_just_sixty_three_bytes_and_no_more
----
x

query
SELECT n.nspname, length(relname) FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE relname LIKE 'a_table%more' ORDER BY 1
----
a_schema_with_a_name_of_just_forty_bytes|63
public|63

statement ok
ALTER TABLE a_table_with_a_name_that_has_just_sixty_three_bytes_and_no_more RENAME TO t

query
SELECT b FROM t
----
x
