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

# A block is undone before its error is handled; the numbers of the sequence stay drawn.

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

# Loops over the rows of a query.

statement ok
CREATE TABLE made (id int, name text, "Big Name" numeric(6, 2), at date, none text)

statement ok
DO $$
DECLARE
  r record;
  inner_row RECORD;
BEGIN
  FOR r IN SELECT n AS id, 'it''s ' || n AS name, n * 1.5 AS "Big Name", date '2026-01-31' + n AS at, null AS none FROM generate_series(1, 3) n LOOP
    INSERT INTO made VALUES (r.id, R.name, r."Big Name", r.at, r.none);
    FOR inner_row IN (VALUES (r.id * 10), (r.id * 100)) LOOP
      IF inner_row.column1 > 20 THEN
        INSERT INTO made (id, name) SELECT inner_row.column1, 'r.id ' || r.name WHERE r.none IS NULL;
      END IF;
    END LOOP;
    EXECUTE format('UPDATE made SET none = %L WHERE id = %s', upper(r.name), r.id);
  END LOOP;
END $$

query
SELECT * FROM made ORDER BY id
----
1|it's 1|1.50|2026-02-01|IT'S 1
2|it's 2|3.00|2026-02-02|IT'S 2
3|it's 3|4.50|2026-02-03|IT'S 3
30|r.id it's 3|NULL|NULL|NULL
100|r.id it's 1|NULL|NULL|NULL
200|r.id it's 2|NULL|NULL|NULL
300|r.id it's 3|NULL|NULL|NULL

statement ok
DO $$ DECLARE r record; BEGIN FOR r IN SELECT id FROM made WHERE id > 3 ORDER BY id LOOP DELETE FROM made WHERE id = r.id; IF r.id = 100 THEN RETURN; END IF; END LOOP; END $$

query
SELECT id FROM made ORDER BY id
----
1
2
3
200
300

statement error P0001
DO $$ DECLARE r record; BEGIN FOR r IN SELECT id FROM made WHERE id > 100 ORDER BY id LOOP RAISE EXCEPTION 'it is %', r.id; END LOOP; END $$
----
it is 200

statement error 42703
DO $$ DECLARE r record; BEGIN FOR r IN SELECT id FROM made LOOP PERFORM r.nothing; END LOOP; END $$
----
record "r" has no field "nothing"

statement error 42601
DO $$ BEGIN FOR r IN SELECT 1 LOOP NULL; END LOOP; END $$
----
loop variable of loop over rows must be a record variable or list of scalar variables

statement error 42601
DO $$ DECLARE r record; BEGIN FOR r IN SELECT 1 LOOP NULL; END; END $$

# Loops are bounded.
statement error 54000
DO $$ DECLARE r record; BEGIN FOR r IN SELECT generate_series(1, 10001) LOOP NULL; END LOOP; END $$
----
the loops of a block run at most 10000 times

# Refused by name: other variables, other loops, other languages.

statement error 0A000
DO $$ DECLARE x int := 1; BEGIN NULL; END $$

statement error 0A000
DO $$ BEGIN FOR i IN 1..3 LOOP NULL; END LOOP; END $$

statement error 0A000
DO $$ DECLARE r record; BEGIN FOR r IN EXECUTE 'SELECT 1' LOOP NULL; END LOOP; END $$

statement error 0A000
DO LANGUAGE plperl 'x'

statement ok
DROP TABLE b, made, "made here"

statement ok
DROP TYPE mood

statement error 22012
DO $$ BEGIN PERFORM 1/0; EXCEPTION WHEN SQLSTATE 'é000' THEN NULL; END $$

# Messages wait for the end of the block, so their bytes are bounded.
statement error 54000
DO $$ BEGIN RAISE NOTICE '%', repeat('x', 2000000); END $$

# The type of a field is its own: `character` without a length has any.
statement ok
CREATE TABLE kept_fields (c text, length int)

statement DO
DO $$ DECLARE r record; BEGIN FOR r IN SELECT 'abc'::bpchar AS c, 'de'::char(4) AS d, array['fgh', 'i']::bpchar[] AS e LOOP INSERT INTO kept_fields VALUES (r.c, 1), (r.d, length(r.d)), (r.e[1], 3); END LOOP; END $$

query
SELECT * FROM kept_fields ORDER BY c
----
abc|1
de|2
fgh|3

# A statement that has the record's name in another place may mean a table.
statement error 42702
DO $$ DECLARE r record; BEGIN FOR r IN SELECT 1 AS c LOOP DELETE FROM kept_fields r WHERE r.c = 'abc'; END LOOP; END $$
----
column reference "r.c" is ambiguous
DETAIL: It could refer to either a PL/pgSQL variable or a table column.

query
SELECT count(*) FROM kept_fields
----
3

# Refused by name: PostgreSQL has one variable, of which the outer loop keeps the inner one's row.
statement error 0A000
DO $$ DECLARE r record; BEGIN FOR r IN SELECT 1 AS a LOOP FOR r IN SELECT 2 AS a LOOP NULL; END LOOP; END LOOP; END $$
----
FOR over the variable "r" of a loop around it is not supported in blocks

statement DO
DO $$ DECLARE r record; BEGIN FOR r IN SELECT 1 AS a LOOP NULL; END LOOP; FOR r IN SELECT 2 AS a LOOP DECLARE r record; BEGIN FOR r IN SELECT 3 AS a LOOP NULL; END LOOP; END; END LOOP; END $$

# The lines of all loops are counted together.
statement error 54000
DO $$ DECLARE r record; BEGIN FOR r IN SELECT generate_series(1, 9000) LOOP BEGIN END; BEGIN END; BEGIN END; BEGIN END; BEGIN END; BEGIN END; BEGIN END; BEGIN END; BEGIN END; BEGIN END; BEGIN END; BEGIN END; END LOOP; END $$
----
a block runs at most 100000 lines
