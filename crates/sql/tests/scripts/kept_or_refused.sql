# Clauses and options are kept, or refused by their names.

statement error 0A000
CREATE UNLOGGED TABLE t (a int)
----
CREATE TABLE with UNLOGGED is not supported

statement error 0A000
CREATE TEMP TABLE t (a int)

statement ok
CREATE TABLE t (a int, b text COLLATE "C", c varchar(5) COLLATE pg_catalog."default") WITH (fillfactor = 70, autovacuum_enabled = false)
