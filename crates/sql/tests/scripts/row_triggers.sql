# Triggers of rows, before and after their change. The answers are those of PostgreSQL 15.

statement ok
CREATE TABLE t (id int PRIMARY KEY, name text, n int DEFAULT 0, updated_at text)

statement ok
CREATE TABLE log (no int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, what text)

statement ok
CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.updated_at := 'touched ' || TG_OP;
  RETURN NEW;
END $$

statement ok
CREATE TRIGGER t_touch BEFORE INSERT OR UPDATE ON t FOR EACH ROW EXECUTE FUNCTION touch()

query
INSERT INTO t (id, name) VALUES (1, 'a'), (2, 'b') RETURNING *
----
1|a|0|touched INSERT
2|b|0|touched INSERT

query
UPDATE t SET name = 'c' WHERE id = 1 RETURNING id, name, updated_at
----
1|c|touched UPDATE

query
INSERT INTO t (id, name) VALUES (1, 'x') ON CONFLICT (id) DO UPDATE SET name = excluded.name RETURNING *
----
1|x|0|touched UPDATE

query
INSERT INTO t (id, name) VALUES (1, 'y') ON CONFLICT DO NOTHING RETURNING *
----

query
SELECT * FROM t ORDER BY id
----
1|x|0|touched UPDATE
2|b|0|touched INSERT

statement ok
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO log (what) VALUES (concat_ws(' ', TG_NAME, TG_WHEN, TG_LEVEL, TG_OP, TG_TABLE_SCHEMA, TG_TABLE_NAME, TG_NARGS, TG_ARGV[0], OLD.id, OLD.name, NEW.id, NEW.name));
  RETURN NULL;
END $$

statement ok
CREATE TRIGGER t_note AFTER INSERT OR UPDATE OR DELETE ON t FOR EACH ROW EXECUTE PROCEDURE note('first', 2)

statement INSERT 0 1
INSERT INTO t (id, name) VALUES (3, 'd')

statement UPDATE 2
UPDATE t SET n = n + 1 WHERE id >= 2

statement DELETE 1
DELETE FROM t WHERE id = 3

statement INSERT 0 1
INSERT INTO t (id, name) VALUES (2, 'q') ON CONFLICT (id) DO UPDATE SET name = excluded.name

statement INSERT 0 0
INSERT INTO t (id, name) VALUES (2, 'r') ON CONFLICT DO NOTHING

query
SELECT what FROM log ORDER BY no
----
t_note AFTER ROW INSERT public t 2 first 3 d
t_note AFTER ROW UPDATE public t 2 first 2 b 2 b
t_note AFTER ROW UPDATE public t 2 first 3 d 3 d
t_note AFTER ROW DELETE public t 2 first 3 d
t_note AFTER ROW UPDATE public t 2 first 2 b 2 q

statement ok
DROP TRIGGER t_note ON t

statement error 42704
DROP TRIGGER t_note ON t
----
trigger "t_note" for table "t" does not exist

statement ok
DROP TRIGGER IF EXISTS t_note ON t

statement ok
CREATE FUNCTION guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    IF OLD.name = 'keep' THEN RETURN NULL; END IF;
    RETURN OLD;
  END IF;
  IF NEW.n > 100 THEN RAISE EXCEPTION 'n is %, beyond 100', NEW.n; END IF;
  IF NEW.n < 0 THEN RETURN NULL; END IF;
  NEW.n := NEW.n * 2;
  RETURN NEW;
END $$

statement ok
CREATE TRIGGER t_guard BEFORE INSERT OR UPDATE OF n OR DELETE ON t FOR EACH ROW EXECUTE FUNCTION guard()

statement INSERT 0 2
INSERT INTO t (id, name, n) VALUES (10, 'keep', 4), (11, 'skip', -1), (12, 'x', 5)

query
SELECT id, name, n FROM t ORDER BY id
----
1|x|0
2|q|1
10|keep|8
12|x|10

statement error P0001
INSERT INTO t (id, n) VALUES (13, 101)
----
n is 101, beyond 100

statement UPDATE 1
UPDATE t SET n = n + 1 WHERE id = 10

statement UPDATE 2
UPDATE t SET name = 'keep' WHERE id IN (10, 12)

query
UPDATE t SET n = -1 WHERE id = 12 RETURNING id
----

query
DELETE FROM t WHERE id >= 10 RETURNING id
----

query
SELECT id, name, n FROM t ORDER BY id
----
1|x|0
2|q|1
10|keep|18
12|keep|10

statement ok
ALTER TABLE t DISABLE TRIGGER t_guard

statement UPDATE 1
UPDATE t SET n = 7 WHERE id = 12

query
SELECT n FROM t WHERE id = 12
----
7

statement ok
ALTER TABLE t ENABLE TRIGGER t_guard

statement error 42704
ALTER TABLE t DISABLE TRIGGER nothing
----
trigger "nothing" for table "t" does not exist

statement ok
ALTER TABLE t DISABLE TRIGGER USER

statement UPDATE 1
UPDATE t SET n = 8, updated_at = 'plain' WHERE id = 12

statement ok
ALTER TABLE t ENABLE TRIGGER ALL

query
SELECT n, updated_at FROM t WHERE id = 12
----
8|plain

statement ok
CREATE TRIGGER t_when AFTER UPDATE ON t FOR EACH ROW WHEN (OLD.name IS DISTINCT FROM NEW.name) EXECUTE FUNCTION note()

statement ok
TRUNCATE log

statement UPDATE 4
UPDATE t SET name = name

statement UPDATE 1
UPDATE t SET name = name || '!' WHERE id = 1

query
SELECT what FROM log ORDER BY no
----
t_when AFTER ROW UPDATE public t 0 1 x 1 x!

statement ok
CREATE OR REPLACE TRIGGER t_when AFTER UPDATE ON t FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION note('again')

statement UPDATE 1
UPDATE t SET n = 1 WHERE id = 1

query
SELECT count(*), max(what) FROM log
----
2|t_when AFTER ROW UPDATE public t 1 again 1 x! 1 x!

statement error 42710
CREATE TRIGGER t_when AFTER UPDATE ON t FOR EACH ROW EXECUTE FUNCTION note()
----
trigger "t_when" for relation "t" already exists

statement error 42P17
CREATE TRIGGER t_wrong AFTER INSERT ON t FOR EACH ROW WHEN (OLD.id = 1) EXECUTE FUNCTION note()
----
INSERT trigger's WHEN condition cannot reference OLD values

statement error 42883
CREATE TRIGGER t_wrong AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION nothing()
----
function nothing() does not exist

statement error 42703
CREATE TRIGGER t_wrong AFTER UPDATE OF nothing ON t FOR EACH ROW EXECUTE FUNCTION note()
----
column "nothing" of relation "t" does not exist

statement ok
CREATE FUNCTION no_trigger() RETURNS int LANGUAGE sql AS 'SELECT 1'

statement error 42P17
CREATE TRIGGER t_wrong AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION no_trigger()
----
function no_trigger must return type trigger

statement error 0A000
SELECT touch()
----
trigger functions can only be called as triggers

statement error 2BP01
DROP FUNCTION note()
----
cannot drop function note() because other objects depend on it
DETAIL: trigger t_when on table t depends on function note()
HINT: Use DROP ... CASCADE to drop the dependent objects too.

statement ok
CREATE FUNCTION whole() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO log (what) VALUES (row_to_json(NEW)::text), (to_jsonb(OLD) ->> 'name'), ((NEW).id::text);
  RETURN NEW;
END $$

statement ok
CREATE TABLE w (id int PRIMARY KEY, name text)

statement ok
CREATE TRIGGER w_whole AFTER INSERT OR UPDATE ON w FOR EACH ROW EXECUTE FUNCTION whole()

statement ok
TRUNCATE log

statement INSERT 0 1
INSERT INTO w VALUES (1, 'a')

statement UPDATE 1
UPDATE w SET name = 'b'

query
SELECT what FROM log ORDER BY no
----
{"id":1,"name":"a"}
NULL
1
{"id":1,"name":"b"}
a
1

statement ok
CREATE FUNCTION count_up() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE there int;
BEGIN
  SELECT count(*) INTO there FROM w WHERE id <> NEW.id;
  NEW.name := coalesce(NEW.name, 'row ' || there);
  RETURN NEW;
END $$

statement ok
CREATE TRIGGER w_count BEFORE INSERT ON w FOR EACH ROW EXECUTE FUNCTION count_up()

statement INSERT 0 2
INSERT INTO w (id) VALUES (2), (3)

query
SELECT * FROM w ORDER BY id
----
1|b
2|row 1
3|row 2

statement ok
CREATE TABLE parents (id int PRIMARY KEY, total int DEFAULT 0)

statement ok
CREATE TABLE kids (id int PRIMARY KEY, parent int REFERENCES parents ON UPDATE CASCADE, amount int)

statement ok
CREATE FUNCTION sum_up() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'INSERT' THEN UPDATE parents SET total = total - OLD.amount WHERE id = OLD.parent; END IF;
  IF TG_OP <> 'DELETE' THEN UPDATE parents SET total = total + NEW.amount WHERE id = NEW.parent; END IF;
  RETURN COALESCE(NEW, OLD);
END $$

statement ok
CREATE TRIGGER kids_sum AFTER INSERT OR UPDATE OR DELETE ON kids FOR EACH ROW EXECUTE FUNCTION sum_up()

statement INSERT 0 2
INSERT INTO parents VALUES (1), (2)

statement INSERT 0 3
INSERT INTO kids VALUES (1, 1, 5), (2, 1, 6), (3, 2, 7)

statement UPDATE 1
UPDATE kids SET amount = amount + 1, parent = 2 WHERE id = 1

statement DELETE 1
DELETE FROM kids WHERE id = 2

query
SELECT * FROM parents ORDER BY id
----
1|0
2|13

query
WITH gone AS (DELETE FROM kids WHERE id = 3 RETURNING amount) INSERT INTO kids SELECT 9, 1, amount FROM gone
----

query
SELECT * FROM parents ORDER BY id
----
1|7
2|6

statement error 23503
INSERT INTO kids VALUES (10, 99, 1)
----
insert or update on table "kids" violates foreign key constraint "kids_parent_fkey"
DETAIL: Key (parent)=(99) is not present in table "parents".
SCHEMA: public
TABLE: kids
CONSTRAINT: kids_parent_fkey

query
SELECT count(*) FROM kids
----
2

query
SELECT tgname, tgrelid::regclass, tgtype, tgenabled, tgisinternal, tgnargs FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1
----
kids_sum|kids|29|O|f|0
t_guard|t|31|O|f|0
t_touch|t|23|O|f|0
t_when|t|17|O|f|1
w_count|w|7|O|f|0
w_whole|w|21|O|f|0

query
SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal ORDER BY tgname
----
CREATE TRIGGER kids_sum AFTER INSERT OR DELETE OR UPDATE ON public.kids FOR EACH ROW EXECUTE FUNCTION sum_up()
CREATE TRIGGER t_guard BEFORE INSERT OR DELETE OR UPDATE OF n ON public.t FOR EACH ROW EXECUTE FUNCTION guard()
CREATE TRIGGER t_touch BEFORE INSERT OR UPDATE ON public.t FOR EACH ROW EXECUTE FUNCTION touch()
CREATE TRIGGER t_when AFTER UPDATE ON public.t FOR EACH ROW WHEN ((OLD.* IS DISTINCT FROM NEW.*)) EXECUTE FUNCTION note('again')
CREATE TRIGGER w_count BEFORE INSERT ON public.w FOR EACH ROW EXECUTE FUNCTION count_up()
CREATE TRIGGER w_whole AFTER INSERT OR UPDATE ON public.w FOR EACH ROW EXECUTE FUNCTION whole()

query
SELECT trigger_name, event_manipulation, event_object_table, action_timing, action_orientation, action_statement FROM information_schema.triggers ORDER BY 1, 2
----
kids_sum|DELETE|kids|AFTER|ROW|EXECUTE FUNCTION sum_up()
kids_sum|INSERT|kids|AFTER|ROW|EXECUTE FUNCTION sum_up()
kids_sum|UPDATE|kids|AFTER|ROW|EXECUTE FUNCTION sum_up()
t_guard|DELETE|t|BEFORE|ROW|EXECUTE FUNCTION guard()
t_guard|INSERT|t|BEFORE|ROW|EXECUTE FUNCTION guard()
t_guard|UPDATE|t|BEFORE|ROW|EXECUTE FUNCTION guard()
t_touch|INSERT|t|BEFORE|ROW|EXECUTE FUNCTION touch()
t_touch|UPDATE|t|BEFORE|ROW|EXECUTE FUNCTION touch()
t_when|UPDATE|t|AFTER|ROW|EXECUTE FUNCTION note('again')
w_count|INSERT|w|BEFORE|ROW|EXECUTE FUNCTION count_up()
w_whole|INSERT|w|AFTER|ROW|EXECUTE FUNCTION whole()
w_whole|UPDATE|w|AFTER|ROW|EXECUTE FUNCTION whole()

statement ok
DROP FUNCTION sum_up() CASCADE

query
SELECT count(*) FROM pg_trigger WHERE tgname = 'kids_sum'
----
0

statement ok
DROP TABLE w, kids, parents, t

query
SELECT count(*) FROM pg_trigger WHERE NOT tgisinternal
----
0

statement ok
CREATE TABLE tx (id int PRIMARY KEY, kind text)

statement ok
INSERT INTO tx VALUES (1, 'kind'), (2, 'other')

statement ok
CREATE FUNCTION tx_f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.kind := NEW.kind || array_to_string(TG_ARGV, ','); RETURN NEW; END $$

statement ok
CREATE TRIGGER tx_a BEFORE INSERT ON tx FOR EACH ROW EXECUTE FUNCTION tx_f('a', 1, 1.5, B, int, E'e\n', 'it''s'); DELETE FROM tx WHERE kind = 'kind'

query
SELECT id FROM tx ORDER BY id
----
2

statement ok
CREATE TABLE ty (id int PRIMARY KEY, kind text); CREATE TRIGGER ty_a BEFORE INSERT ON ty FOR EACH ROW EXECUTE FUNCTION tx_f('x'); CREATE TRIGGER ty_b BEFORE INSERT ON ty FOR EACH ROW EXECUTE PROCEDURE public.tx_f('y', 'z'); INSERT INTO ty VALUES (1, 'k')

query
SELECT kind FROM ty
----
kxy,z

statement ok
INSERT INTO tx VALUES (3, 'k')

query
SELECT kind FROM tx WHERE id = 3
----
ka,1,1.5,b,int,e
,it's

statement ok
CREATE TABLE tn (id int PRIMARY KEY, n int)

statement ok
CREATE FUNCTION give_new() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$

statement ok
CREATE FUNCTION give_old() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN OLD; END $$

statement ok
CREATE FUNCTION give_either() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN COALESCE(NEW, OLD); END $$

statement ok
CREATE FUNCTION give_made() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN OLD.id := 7; OLD.n := NULL; RETURN OLD; END $$

statement ok
CREATE TRIGGER tn_i BEFORE INSERT ON tn FOR EACH ROW EXECUTE FUNCTION give_old()

statement ok
INSERT INTO tn VALUES (1, 1)

query
SELECT * FROM tn
----

statement ok
DROP TRIGGER tn_i ON tn; CREATE TRIGGER tn_i BEFORE INSERT ON tn FOR EACH ROW EXECUTE FUNCTION give_made()

statement ok
INSERT INTO tn VALUES (1, 1)

statement ok
DROP TRIGGER tn_i ON tn; CREATE TRIGGER tn_d BEFORE DELETE ON tn FOR EACH ROW EXECUTE FUNCTION give_new()

statement ok
DELETE FROM tn

query
SELECT * FROM tn
----
7|NULL

statement ok
DROP TRIGGER tn_d ON tn; CREATE TRIGGER tn_d BEFORE DELETE ON tn FOR EACH ROW EXECUTE FUNCTION give_either()

statement ok
DELETE FROM tn

query
SELECT count(*) FROM tn
----
0

statement ok
CREATE TABLE tw (a int, n int)

statement ok
CREATE TRIGGER tw_t BEFORE INSERT ON tw FOR EACH ROW WHEN (NEW.a > 0 AND (NEW.n) = 1) EXECUTE FUNCTION give_old()

statement ok
ALTER TABLE tw RENAME a TO "B b"

statement ok
INSERT INTO tw VALUES (1, 1), (0, 1)

query
SELECT * FROM tw
----
0|1

statement error 2BP01
ALTER TABLE tw DROP COLUMN "B b"
----
cannot change column B b of table tw, since trigger tw_t names it in WHEN
HINT: Drop the trigger first.

statement ok
DROP TABLE tx, ty, tn, tw; DROP FUNCTION give_new(), give_old(), give_either(), give_made(), tx_f()
