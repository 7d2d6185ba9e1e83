# A primary key that was declared with its table gets another type, or is dropped. The answers are those of PostgreSQL 15.

statement ok
CREATE TABLE owners (id serial PRIMARY KEY, name varchar(10) NOT NULL)

statement ok
CREATE TABLE pets (id int PRIMARY KEY, owner int NOT NULL REFERENCES owners ON DELETE CASCADE, name text)

statement ok
INSERT INTO owners (name) VALUES ('a'), ('b'), ('c')

statement ok
INSERT INTO pets VALUES (7, 1, 'x'), (3, 1, 'y'), (5, 3, 'z')

statement ok
DELETE FROM owners WHERE id = 2

statement ok
ALTER TABLE owners ALTER COLUMN id TYPE bigint

statement ok
ALTER SEQUENCE owners_id_seq AS bigint

statement ok
INSERT INTO owners (id, name) VALUES (3000000000, 'large')

statement error 23505
INSERT INTO owners (id, name) VALUES (3, 'twice')

statement error 23502
INSERT INTO owners (id, name) VALUES (NULL, 'null')

query
INSERT INTO owners (name) VALUES ('d') RETURNING id
----
4

query
SELECT id, name FROM owners ORDER BY id
----
1|a
3|c
4|d
3000000000|large

query
SELECT conname, contype, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid IN ('owners'::regclass, 'pets'::regclass) ORDER BY conname
----
owners_pkey|p|PRIMARY KEY (id)
pets_owner_fkey|f|FOREIGN KEY (owner) REFERENCES owners(id) ON DELETE CASCADE
pets_pkey|p|PRIMARY KEY (id)

query
SELECT indexrelid::regclass::text, indisprimary, indisunique, pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = 'owners'::regclass
----
owners_pkey|t|t|CREATE UNIQUE INDEX owners_pkey ON public.owners USING btree (id)

query
SELECT column_name, data_type, is_nullable, column_default, ordinal_position FROM information_schema.columns WHERE table_name = 'owners' ORDER BY ordinal_position
----
id|bigint|NO|nextval('owners_id_seq'::regclass)|1
name|character varying|NO|NULL|2

statement error 23503
INSERT INTO pets VALUES (8, 2, 'of none')

statement ok
ALTER TABLE pets ALTER COLUMN owner TYPE bigint, ALTER COLUMN id TYPE text USING 'p' || id

query
SELECT * FROM pets ORDER BY id
----
p3|1|y
p5|3|z
p7|1|x

statement ok
INSERT INTO pets VALUES ('p8', 3000000000, 'of large')

query
INSERT INTO pets VALUES ('p8', 1, 'again') ON CONFLICT (id) DO UPDATE SET name = excluded.name RETURNING id, owner, name
----
p8|3000000000|again

query
INSERT INTO pets VALUES ('p8', 1, 'again') ON CONFLICT ON CONSTRAINT pets_pkey DO NOTHING RETURNING id
----

statement ok
DELETE FROM owners WHERE id = 1

query
SELECT id, owner FROM pets ORDER BY id
----
p5|3
p8|3000000000

statement ok
UPDATE owners SET id = id + 1 WHERE id = 4

reopen

query
SELECT id FROM owners ORDER BY id
----
3
5
3000000000

statement error 23505
INSERT INTO pets VALUES ('p8', 3, '')

# It is back as it was if the transaction ends so.

statement ok
CREATE TABLE undone (a int, b text, PRIMARY KEY (b, a))

statement ok
INSERT INTO undone SELECT n, 'b' || n % 3 FROM generate_series(1, 20) n

statement ok
BEGIN

statement ok
ALTER TABLE undone ALTER COLUMN a TYPE numeric(6, 2) USING a / 4.0

statement ok
INSERT INTO undone VALUES (0.10, 'b0')

query
SELECT a, b FROM undone WHERE b = 'b0' ORDER BY a
----
0.10|b0
0.75|b0
1.50|b0
2.25|b0
3.00|b0
3.75|b0
4.50|b0

statement ok
SAVEPOINT here

statement ok
ALTER TABLE undone DROP CONSTRAINT undone_pkey

statement ok
INSERT INTO undone VALUES (0.10, 'b0')

statement ok
ROLLBACK TO here

statement error 23505
INSERT INTO undone VALUES (0.10, 'b0')

statement ok
ROLLBACK

statement error 23505
INSERT INTO undone VALUES (3, 'b0')

query
SELECT count(*), sum(a), min(b) FROM undone
----
20|210|b0

# Values that become equal.

statement error 23505
ALTER TABLE undone ALTER COLUMN a TYPE numeric(6, 2) USING 1

query
SELECT count(DISTINCT a) FROM undone
----
20

# A table that the same transaction makes, whose rows come and go.

statement ok
BEGIN

statement ok
CREATE TABLE fresh (id int PRIMARY KEY, v text)

statement ok
INSERT INTO fresh SELECT n, n::text FROM generate_series(1, 10) n

statement ok
DELETE FROM fresh WHERE id IN (1, 2, 5)

statement ok
UPDATE fresh SET id = 1 WHERE id = 10

statement ok
ALTER TABLE fresh ALTER COLUMN id TYPE bigint

query
SELECT id, v FROM fresh ORDER BY id
----
1|10
3|3
4|4
6|6
7|7
8|8
9|9

statement ok
COMMIT

query
SELECT id, v FROM fresh ORDER BY id
----
1|10
3|3
4|4
6|6
7|7
8|8
9|9

# The same of a table of others.

statement ok
BEGIN

statement ok
DELETE FROM fresh WHERE id IN (3, 4)

statement ok
INSERT INTO fresh VALUES (3, 'new')

statement ok
ALTER TABLE fresh DROP CONSTRAINT fresh_pkey

statement ok
INSERT INTO fresh VALUES (3, 'third')

statement ok
COMMIT

query
SELECT id, v FROM fresh ORDER BY id, v
----
1|10
3|new
3|third
6|6
7|7
8|8
9|9

# A key that is dropped, and another one.

statement error 2BP01
ALTER TABLE owners DROP CONSTRAINT owners_pkey

statement ok
ALTER TABLE owners DROP CONSTRAINT owners_pkey CASCADE

query
SELECT conname FROM pg_constraint WHERE conrelid IN ('owners'::regclass, 'pets'::regclass) ORDER BY conname
----
pets_pkey

statement ok
INSERT INTO owners (id, name) VALUES (3, 'twice')

statement error 23502
INSERT INTO owners (id, name) VALUES (NULL, 'null')

statement error 23505
ALTER TABLE owners ADD PRIMARY KEY (id)

statement ok
ALTER TABLE owners ADD COLUMN number serial, ADD PRIMARY KEY (number)

query
SELECT count(DISTINCT number), count(*) FROM owners
----
4|4

statement ok
ALTER TABLE owners ALTER COLUMN id DROP NOT NULL

statement ok
INSERT INTO owners (id, name) VALUES (NULL, 'null')

# DROP COLUMN of a key takes the key along.

statement ok
CREATE TABLE parts (a int, b int, c int, PRIMARY KEY (a, b))

statement ok
INSERT INTO parts VALUES (1, 1, 1), (1, 2, 2)

statement ok
ALTER TABLE parts DROP COLUMN b

query
SELECT * FROM parts ORDER BY c
----
1|1
1|2

statement ok
INSERT INTO parts VALUES (1, 1)

# Names, and a table that is renamed.

statement ok
CREATE TABLE named (id smallint CONSTRAINT of_named PRIMARY KEY, v int GENERATED ALWAYS AS (id * 2) STORED)

statement ok
INSERT INTO named VALUES (4), (2)

statement ok
ALTER TABLE named RENAME TO other_name

statement ok
ALTER TABLE other_name RENAME CONSTRAINT of_named TO of_other

statement ok
CREATE TABLE self (id int PRIMARY KEY, up int REFERENCES self, CHECK (id > 0))

statement ok
INSERT INTO self VALUES (1, NULL), (2, 1), (3, 2)

statement ok
ALTER TABLE self ALTER COLUMN up TYPE bigint, ALTER COLUMN id TYPE bigint

statement error 23514
INSERT INTO self VALUES (0, 1)

statement error 23503
DELETE FROM self WHERE id = 2

query
SELECT id, up FROM self ORDER BY 1
----
1|NULL
2|1
3|2

statement ok
CREATE TABLE counted (id int GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, v text)

statement ok
INSERT INTO counted (v) VALUES ('a'), ('b')

statement ok
ALTER TABLE counted ALTER COLUMN id TYPE bigint

query
INSERT INTO counted (v) VALUES ('c') RETURNING id
----
3

query
SELECT is_identity, identity_generation, data_type FROM information_schema.columns WHERE table_name = 'counted' AND column_name = 'id'
----
YES|BY DEFAULT|bigint

statement ok
CREATE TABLE lettered (id text PRIMARY KEY)

statement ok
INSERT INTO lettered VALUES ('10'), ('9')

statement error 42804
ALTER TABLE lettered ALTER COLUMN id TYPE int

statement ok
ALTER TABLE lettered ALTER COLUMN id TYPE int USING id::int

query
SELECT id FROM lettered WHERE id > 8 ORDER BY id
----
9
10
