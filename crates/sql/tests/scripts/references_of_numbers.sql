# References of whole numbers and of numerics to numerics; keys on which references depend. The answers are those of PostgreSQL 15.

statement ok
CREATE TABLE amounts (n numeric PRIMARY KEY, m numeric(10, 2) UNIQUE)

statement INSERT 0 4
INSERT INTO amounts VALUES (1, 1.00), (2.5, 2.50), (3, 3.25), (7, 7)

statement ok
CREATE TABLE of_amounts (id int PRIMARY KEY, i int REFERENCES amounts, b bigint REFERENCES amounts (m) ON UPDATE CASCADE ON DELETE CASCADE, d numeric(12, 4) REFERENCES amounts (m), s smallint REFERENCES amounts (n) ON DELETE SET NULL)

statement INSERT 0 2
INSERT INTO of_amounts VALUES (1, 1, null, 2.5, 3), (2, null, 7, 3.25, null)

statement error 23503
INSERT INTO of_amounts VALUES (3, 2, null, null, null)
----
insert or update on table "of_amounts" violates foreign key constraint "of_amounts_i_fkey"
DETAIL: Key (i)=(2) is not present in table "amounts".
SCHEMA: public
TABLE: of_amounts
CONSTRAINT: of_amounts_i_fkey

statement error 23503
INSERT INTO of_amounts VALUES (3, null, 2, null, null)
----
insert or update on table "of_amounts" violates foreign key constraint "of_amounts_b_fkey"
DETAIL: Key (b)=(2) is not present in table "amounts".
SCHEMA: public
TABLE: of_amounts
CONSTRAINT: of_amounts_b_fkey

statement error 23503
INSERT INTO of_amounts VALUES (3, null, null, 2.5001, null)
----
insert or update on table "of_amounts" violates foreign key constraint "of_amounts_d_fkey"
DETAIL: Key (d)=(2.5001) is not present in table "amounts".
SCHEMA: public
TABLE: of_amounts
CONSTRAINT: of_amounts_d_fkey

statement error 23503
INSERT INTO of_amounts VALUES (3, null, null, null, 2)
----
insert or update on table "of_amounts" violates foreign key constraint "of_amounts_s_fkey"
DETAIL: Key (s)=(2) is not present in table "amounts".
SCHEMA: public
TABLE: of_amounts
CONSTRAINT: of_amounts_s_fkey

statement error 23503
DELETE FROM amounts WHERE n = 1
----
update or delete on table "amounts" violates foreign key constraint "of_amounts_i_fkey" on table "of_amounts"
DETAIL: Key (n)=(1) is still referenced from table "of_amounts".
SCHEMA: public
TABLE: of_amounts
CONSTRAINT: of_amounts_i_fkey

statement error 23503
DELETE FROM amounts WHERE n = 2.5

statement error 23503
UPDATE amounts SET n = 10 WHERE n = 1
----
update or delete on table "amounts" violates foreign key constraint "of_amounts_i_fkey" on table "of_amounts"
DETAIL: Key (n)=(1) is still referenced from table "of_amounts".
SCHEMA: public
TABLE: of_amounts
CONSTRAINT: of_amounts_i_fkey

statement UPDATE 1
UPDATE amounts SET m = 8 WHERE m = 7

query
SELECT * FROM of_amounts ORDER BY id
----
1|1|NULL|2.5000|3
2|NULL|8|3.2500|NULL

statement error 23503
UPDATE amounts SET m = 8.5 WHERE m = 8
----
insert or update on table "of_amounts" violates foreign key constraint "of_amounts_b_fkey"
DETAIL: Key (b)=(9) is not present in table "amounts".
SCHEMA: public
TABLE: of_amounts
CONSTRAINT: of_amounts_b_fkey

statement UPDATE 1
UPDATE of_amounts SET d = null WHERE id = 2

statement DELETE 1
DELETE FROM amounts WHERE n = 3

query
SELECT * FROM of_amounts ORDER BY id
----
1|1|NULL|2.5000|NULL
2|NULL|8|NULL|NULL

statement ok
BEGIN

statement DELETE 1
DELETE FROM amounts WHERE n = 7

query
SELECT * FROM of_amounts ORDER BY id
----
1|1|NULL|2.5000|NULL

statement ok
ROLLBACK

statement ok
CREATE INDEX of_amounts_i ON of_amounts (i)

statement error 23503
DELETE FROM amounts WHERE n = 1
----
update or delete on table "amounts" violates foreign key constraint "of_amounts_i_fkey" on table "of_amounts"
DETAIL: Key (n)=(1) is still referenced from table "of_amounts".
SCHEMA: public
TABLE: of_amounts
CONSTRAINT: of_amounts_i_fkey

statement UPDATE 1
UPDATE of_amounts SET i = 7 WHERE id = 1

statement error 23503
DELETE FROM amounts WHERE n = 7
----
update or delete on table "amounts" violates foreign key constraint "of_amounts_i_fkey" on table "of_amounts"
DETAIL: Key (n)=(7) is still referenced from table "of_amounts".
SCHEMA: public
TABLE: of_amounts
CONSTRAINT: of_amounts_i_fkey

statement ok
CREATE TABLE later (i int REFERENCES amounts DEFERRABLE INITIALLY DEFERRED, d numeric(5, 1) REFERENCES amounts (m) DEFERRABLE INITIALLY DEFERRED)

statement INSERT 0 1
INSERT INTO amounts VALUES (20, 8.5)

statement INSERT 0 1
INSERT INTO later VALUES (20, 8.5)

statement ok
BEGIN

statement DELETE 1
DELETE FROM amounts WHERE n = 20

statement INSERT 0 1
INSERT INTO amounts VALUES (20.000, 8.50)

statement INSERT 0 1
INSERT INTO later VALUES (11, null)

statement INSERT 0 3
INSERT INTO amounts VALUES (11, 4.44), (12.5, null), (13.5, null)

statement DELETE 2
DELETE FROM amounts WHERE n IN (12.5, 13.5)

statement ok
COMMIT

statement ok
BEGIN

statement DELETE 1
DELETE FROM amounts WHERE n = 11

statement error 23503
COMMIT
----
update or delete on table "amounts" violates foreign key constraint "later_i_fkey" on table "later"
DETAIL: Key (n)=(11) is still referenced from table "later".
SCHEMA: public
TABLE: later
CONSTRAINT: later_i_fkey

statement ok
BEGIN

statement INSERT 0 1
INSERT INTO later VALUES (12, null)

statement error 23503
COMMIT
----
insert or update on table "later" violates foreign key constraint "later_i_fkey"
DETAIL: Key (i)=(12) is not present in table "amounts".
SCHEMA: public
TABLE: later
CONSTRAINT: later_i_fkey

statement UPDATE 1
UPDATE amounts SET m = 4.4 WHERE n = 11

query
SELECT * FROM later ORDER BY i
----
11|NULL
20|8.5

statement ok
DROP TABLE later

statement error 42804
ALTER TABLE of_amounts ADD CONSTRAINT wrong FOREIGN KEY (d) REFERENCES of_amounts (id)
----
foreign key constraint "wrong" cannot be implemented
DETAIL: Key columns "d" and "id" are of incompatible types: numeric and integer.

statement error 42804
CREATE TABLE whole_amounts (n numeric REFERENCES of_amounts)
----
foreign key constraint "whole_amounts_n_fkey" cannot be implemented
DETAIL: Key columns "n" and "id" are of incompatible types: numeric and integer.

statement error 42804
CREATE TABLE float_amounts (n real REFERENCES amounts)
----
foreign key constraint "float_amounts_n_fkey" cannot be implemented
DETAIL: Key columns "n" and "n" are of incompatible types: real and numeric.

statement error 42804
CREATE TABLE text_amounts (n text REFERENCES amounts)
----
foreign key constraint "text_amounts_n_fkey" cannot be implemented
DETAIL: Key columns "n" and "n" are of incompatible types: text and numeric.

statement ok
ALTER TABLE amounts ALTER COLUMN n TYPE numeric(10, 3)

statement ok
ALTER TABLE of_amounts ALTER COLUMN s TYPE numeric

statement ok
DROP TABLE of_amounts, amounts

statement ok
CREATE TABLE keyed (a int PRIMARY KEY, b int CONSTRAINT keyed_b UNIQUE)

statement ok
CREATE UNIQUE INDEX keyed_other ON keyed (a)

statement ok
CREATE UNIQUE INDEX keyed_b_other ON keyed (b)

statement ok
CREATE TABLE of_keyed (a int REFERENCES keyed, b int REFERENCES keyed (b))

statement error 2BP01
ALTER TABLE keyed DROP CONSTRAINT keyed_pkey
----
cannot drop constraint keyed_pkey on table keyed because other objects depend on it
DETAIL: constraint of_keyed_a_fkey on table of_keyed depends on index keyed_pkey
HINT: Use DROP ... CASCADE to drop the dependent objects too.

statement error 2BP01
ALTER TABLE keyed DROP CONSTRAINT keyed_b
----
cannot drop constraint keyed_b on table keyed because other objects depend on it
DETAIL: constraint of_keyed_b_fkey on table of_keyed depends on index keyed_b
HINT: Use DROP ... CASCADE to drop the dependent objects too.

statement ok
DROP INDEX keyed_other

statement ok
DROP INDEX keyed_b_other

statement ok
ALTER TABLE keyed DROP CONSTRAINT keyed_b CASCADE

query
SELECT conname FROM pg_constraint WHERE conrelid = 'of_keyed'::regclass ORDER BY 1
----
of_keyed_a_fkey

statement ok
CREATE UNIQUE INDEX keyed_new ON keyed (b)

statement ok
ALTER TABLE of_keyed ADD FOREIGN KEY (b) REFERENCES keyed (b)

statement error 2BP01
DROP INDEX keyed_new
----
cannot drop index keyed_new because other objects depend on it
DETAIL: constraint of_keyed_b_fkey on table of_keyed depends on index keyed_new
HINT: Use DROP ... CASCADE to drop the dependent objects too.

statement ok
DROP TABLE of_keyed, keyed
