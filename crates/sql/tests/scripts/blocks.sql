# DO: blocks of PL/pgSQL around definitions and changes; each answer is PostgreSQL 15's, but where blocks refuse by name.

statement ok
DO $$ BEGIN CREATE TYPE mood AS ENUM ('sad', 'ok'); EXCEPTION WHEN duplicate_object THEN null; END $$

statement ok
DO $$ BEGIN CREATE TYPE mood AS ENUM ('sad', 'ok'); EXCEPTION WHEN duplicate_object THEN null; END $$

statement ok
DO 'BEGIN CREATE TYPE "public"."mood" AS ENUM(''sad'', ''happy''); EXCEPTION WHEN duplicate_object THEN null; END'

statement ok
CREATE TABLE b (id serial PRIMARY KEY, m mood, n int UNIQUE CHECK (n < 100))

statement ok
DO $$
BEGIN
  ALTER TABLE b ADD CONSTRAINT b_self FOREIGN KEY (n) REFERENCES b (id);
EXCEPTION
  WHEN duplicate_object THEN RAISE NOTICE 'it is there';
END $$ LANGUAGE plpgsql

statement ok
DO LANGUAGE plpgsql $$
BEGIN
  ALTER TABLE b ADD CONSTRAINT b_self FOREIGN KEY (n) REFERENCES b (id);
EXCEPTION
  WHEN duplicate_object THEN RAISE NOTICE 'it is % there: %', upper('already'), SQLSTATE;
END $$

statement ok
DO $$ BEGIN
  IF NOT EXISTS (SELECT 1 FROM pg_type WHERE typname = 'mood') THEN
    CREATE TYPE mood AS ENUM ('x');
  ELSIF (SELECT count(*) FROM b) > 0 THEN
    RAISE EXCEPTION 'no';
  ELSE
    INSERT INTO b (m) VALUES ('ok');
    INSERT INTO b (m, n) VALUES ('sad', CASE WHEN true THEN 1 ELSE 2 END);
  END IF;
END $$

query
SELECT * FROM b ORDER BY id
----
1|ok|NULL
2|sad|1

# What a block did before its error is undone; the numbers of the sequence stay drawn.

statement ok
DO $$ BEGIN
  INSERT INTO b (m) VALUES ('ok');
  INSERT INTO b (m, n) VALUES ('ok', 1000);
EXCEPTION
  WHEN unique_violation OR foreign_key_violation THEN RAISE NOTICE 'other';
  WHEN check_violation THEN
    INSERT INTO b (m) VALUES ('sad');
END $$

query
SELECT * FROM b ORDER BY id
----
1|ok|NULL
2|sad|1
5|sad|NULL

statement ok
DO $$ BEGIN
  BEGIN
    DROP TABLE b;
    PERFORM 1 / 0;
  EXCEPTION WHEN others THEN
    RAISE WARNING 'inner: %', SQLERRM;
  END;
  EXECUTE format('CREATE TABLE %I (x int)', 'made here');
  EXECUTE 'INSERT INTO "made here" VALUES (1), (2)';
END $$

query
SELECT sum(x) FROM "made here"
----
3

query
SELECT count(*) FROM b
----
3

statement error 23505
DO $$ BEGIN RAISE EXCEPTION 'a % of %%', 'share' USING ERRCODE = 'unique_violation', HINT = 'take ' || 'less'; END $$

statement error 23505
DO $$ BEGIN RAISE unique_violation; END $$

statement error 22012
DO $$ BEGIN RAISE EXCEPTION SQLSTATE '22012'; END $$

statement error 42P01
DO $$ BEGIN PERFORM nothing FROM nowhere; EXCEPTION WHEN undefined_column THEN null; END $$

statement error 22012
DO $$ BEGIN PERFORM 1/0; EXCEPTION WHEN data_exception THEN RAISE NOTICE 'class'; RAISE; END $$

statement ok
DO $$ BEGIN RETURN; RAISE EXCEPTION 'not here'; END $$

statement error 42601
DO $$ BEGIN SELECT 1; END $$

statement error 2D000
DO $$ BEGIN COMMIT; END $$

statement error 42601
DO $$ BEGIN RAISE NOTICE '%'; END $$

statement error 42601
DO $$ BEGIN RAISE NOTICE 'x', 1; END $$

statement error 42601
DO $$ BEGIN NULL END $$

statement error 42601
DO $$ BEGIN NULL; $$

statement error 42704
DO $$ BEGIN EXCEPTION WHEN no_such_thing THEN NULL; END $$

# In transactions.

statement ok
BEGIN

statement ok
DO $$ BEGIN INSERT INTO b (m) VALUES ('ok'); END $$

statement ok
SAVEPOINT s

statement ok
DO $$ BEGIN CREATE TABLE later (a int); INSERT INTO later VALUES (7); END $$

query
SELECT * FROM later
----
7

statement ok
ROLLBACK TO s

statement ok
DO $$ BEGIN PERFORM * FROM later; EXCEPTION WHEN undefined_table THEN RAISE NOTICE 'not there'; END $$

statement ok
COMMIT

query
SELECT count(*), max(id) FROM b
----
4|6

statement ok
BEGIN

statement error 23514
DO $$ BEGIN INSERT INTO b (n) VALUES (100); END $$

statement ok
ROLLBACK

# Refused by name: variables, loops, other languages.

statement error 0A000
DO $$ DECLARE x int := 1; BEGIN NULL; END $$

statement error 0A000
DO $$ BEGIN FOR i IN 1..3 LOOP NULL; END LOOP; END $$

statement error 0A000
DO LANGUAGE plperl 'x'

statement ok
DROP TABLE b, "made here"

statement ok
DROP TYPE mood

statement error 22012
DO $$ BEGIN PERFORM 1/0; EXCEPTION WHEN SQLSTATE 'é000' THEN NULL; END $$

# Messages wait for the end of the block, so their bytes are bounded.
statement error 54000
DO $$ BEGIN RAISE NOTICE '%', repeat('x', 2000000); END $$
