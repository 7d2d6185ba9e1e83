# Functions of users: in SQL and PL/pgSQL, in expressions and in FROM. The answers are those of PostgreSQL 15.

statement ok
CREATE FUNCTION add(a int, b int DEFAULT 1) RETURNS int AS 'SELECT a + b' LANGUAGE sql IMMUTABLE

query
SELECT add(1, 2), add(5), add(b => 7, a => 1), add(add(1), add(2)), public.add(3)
----
3|6|8|5|4

query
SELECT pg_typeof(add(1))
----
integer

statement error 22P02
SELECT add('x')
----
invalid input syntax for type integer: "x"

statement error 42883
SELECT add(1, 2, 3)
----
function add(integer, integer, integer) does not exist
HINT: No function matches the given name and argument types. You might need to add explicit type casts.

statement error 42883
SELECT add(c => 1)

statement error 42723
CREATE FUNCTION add(a int, b int) RETURNS int AS 'SELECT 1' LANGUAGE sql
----
function "add" already exists with same argument types

statement ok
CREATE OR REPLACE FUNCTION add(a int, b int DEFAULT 1) RETURNS int AS $$ SELECT $1 + b + 100 $$ LANGUAGE sql STRICT

query
SELECT add(1), add(NULL), add(1, NULL)
----
102|NULL|NULL

statement error 42P13
CREATE OR REPLACE FUNCTION add(a int, b int DEFAULT 1) RETURNS text AS 'SELECT 1::text' LANGUAGE sql
----
cannot change return type of existing function
HINT: Use DROP FUNCTION add(integer,integer) first.

statement ok
CREATE FUNCTION add(a text, b text) RETURNS text LANGUAGE sql RETURN a || '+' || b

query
SELECT add('x', 'y'), add(1, 2)
----
x+y|103

statement error 42725
DROP FUNCTION add
----
function name "add" is not unique
HINT: Specify the argument list to select the function unambiguously.

statement ok
DROP FUNCTION add(text, text)

statement error 22P02
SELECT add('x', 'y')
----
invalid input syntax for type integer: "x"

statement error 42883
DROP FUNCTION add(text)
----
function add(text) does not exist

statement ok
DROP FUNCTION IF EXISTS add(text)

statement error 42883
DROP FUNCTION nothing
----
could not find a function named "nothing"

statement ok
CREATE TABLE items (id int PRIMARY KEY, name text, price numeric(8, 2))

statement INSERT 0 3
INSERT INTO items VALUES (1, 'one', 1.5), (2, 'two', 2.5), (3, 'three', NULL)

statement ok
CREATE FUNCTION name_of(wanted int) RETURNS text LANGUAGE sql STABLE AS $$ SELECT name FROM items WHERE id = wanted $$

query
SELECT id, name_of(id), name_of(id + 1) FROM items ORDER BY id
----
1|one|two
2|two|three
3|three|NULL

query
SELECT id FROM items WHERE name_of(id) = 'two'
----
2

statement ok
CREATE FUNCTION cheap(most numeric) RETURNS SETOF items LANGUAGE sql STABLE AS $$ SELECT * FROM items WHERE price <= most ORDER BY id $$

query
SELECT * FROM cheap(2)
----
1|one|1.50

query
SELECT name, c.price * 2 FROM cheap(5) c WHERE c.id > 1
----
two|5.00

statement ok
CREATE FUNCTION numbered() RETURNS TABLE (n int, t text) LANGUAGE sql AS $$ SELECT id, name FROM items ORDER BY id $$

query
SELECT * FROM numbered()
----
1|one
2|two
3|three

query
SELECT n, t FROM numbered() AS x WHERE x.n <> 2
----
1|one
3|three

query
SELECT * FROM numbered() WITH ORDINALITY
----
1|one|1
2|two|2
3|three|3

statement ok
CREATE FUNCTION ids() RETURNS SETOF int LANGUAGE sql AS $$ SELECT id FROM items ORDER BY id DESC $$

query
SELECT * FROM ids()
----
3
2
1

query
SELECT i FROM ids() i WHERE i > 1
----
3
2

query
SELECT items.id, x FROM items, LATERAL (SELECT * FROM cheap(items.price)) c(a, x, p) ORDER BY 1, 2
----
1|one
2|one
2|two

statement error 42703
CREATE FUNCTION wrong() RETURNS int LANGUAGE sql AS 'SELECT nothing FROM items'
----
column "nothing" does not exist

statement error 42P13
CREATE FUNCTION wrong() RETURNS int LANGUAGE sql AS 'SELECT 1, 2'
----
return type mismatch in function declared to return integer
DETAIL: Final statement must return exactly one column.

statement error 42P13
CREATE FUNCTION wrong() RETURNS int LANGUAGE sql AS $$ SELECT 'a'::text $$
----
return type mismatch in function declared to return integer
DETAIL: Actual return type is text.

statement error 42704
CREATE FUNCTION wrong() RETURNS int LANGUAGE nothing AS 'SELECT 1'
----
language "nothing" does not exist

statement error 42704
CREATE FUNCTION wrong() RETURNS nothing LANGUAGE sql AS 'SELECT 1'
----
type "nothing" does not exist

statement error 42P13
CREATE FUNCTION wrong(a int, a int) RETURNS int LANGUAGE sql AS 'SELECT 1'
----
parameter name "a" used more than once

statement ok
CREATE FUNCTION fact(n int) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF n <= 1 THEN RETURN 1; END IF;
  RETURN n * fact(n - 1);
END $$

query
SELECT fact(1), fact(5), fact(10)
----
1|120|3628800

statement ok
CREATE FUNCTION steps(n int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  total int := 0;
  line text = '';
  i int;
  r record;
  limit_of CONSTANT int := 5;
BEGIN
  FOR i IN 1..n LOOP
    CONTINUE WHEN i = 2;
    EXIT WHEN i > limit_of;
    total := total + i;
    line := line || i || ',';
  END LOOP;
  FOR i IN REVERSE 4..1 BY 2 LOOP line := line || i; END LOOP;
  WHILE total < 100 LOOP total := total * 2; END LOOP;
  FOR r IN SELECT id, name FROM items ORDER BY id LOOP
    line := line || r.id || r.name;
  END LOOP;
  LOOP
    total := total - 1;
    IF total < 90 THEN EXIT; END IF;
  END LOOP;
  RETURN line || ' ' || total;
END $$

query
SELECT steps(3), steps(9)
----
1,3,421one2two3three 89|1,3,4,5,421one2two3three 89

statement ok
CREATE FUNCTION found_of(wanted int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE v items.name%TYPE; w items%ROWTYPE; p numeric; r record;
BEGIN
  SELECT name INTO v FROM items WHERE id = wanted;
  IF NOT FOUND THEN RETURN 'none'; END IF;
  SELECT * INTO w FROM items WHERE id = wanted;
  SELECT id, price INTO r FROM items WHERE id = wanted;
  RETURN concat_ws('|', v, w.name, w.price, r.id, r.price);
END $$

query
SELECT found_of(1), found_of(3), found_of(9)
----
one|one|1.50|1|1.50|three|three|3|none

statement ok
CREATE FUNCTION strict_of(wanted int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE v int;
BEGIN
  SELECT id INTO STRICT v FROM items WHERE id > wanted;
  RETURN v;
END $$

query
SELECT strict_of(2)
----
3

statement error P0002
SELECT strict_of(3)
----
query returned no rows

statement error P0003
SELECT strict_of(1)
----
query returned more than one row
HINT: Make sure the query returns a single row, or use LIMIT 1.

statement ok
CREATE FUNCTION caught(a int, b int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r int;
BEGIN
  BEGIN
    r := a / b;
  EXCEPTION WHEN division_by_zero THEN
    RETURN SQLSTATE || ' ' || SQLERRM;
  END;
  RETURN r::text;
END $$

query
SELECT caught(6, 2), caught(1, 0)
----
3|22012 division by zero

statement ok
CREATE FUNCTION refused(a int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
  IF a < 0 THEN RAISE EXCEPTION 'negative: %', a USING ERRCODE = '22023', HINT = 'be positive'; END IF;
  RETURN a;
END $$

query
SELECT refused(1)
----
1

statement error 22023
SELECT refused(-1)
----
negative: -1
HINT: be positive

statement ok
CREATE FUNCTION rows_of(n int) RETURNS TABLE (a int, b text) LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN 1..n LOOP
    a := i; b := 'b' || i;
    RETURN NEXT;
  END LOOP;
  RETURN QUERY SELECT id, name FROM items WHERE id = 1;
END $$

query
SELECT * FROM rows_of(2)
----
1|b1
2|b2
1|one

query
SELECT count(*), max(a) FROM rows_of(10)
----
11|10

statement ok
CREATE FUNCTION evens(n int) RETURNS SETOF int LANGUAGE plpgsql AS $$
BEGIN FOR i IN 1..n LOOP IF i % 2 = 0 THEN RETURN NEXT i; END IF; END LOOP; RETURN; END $$

query
SELECT * FROM evens(6)
----
2
4
6

query
SELECT sum(e) FROM evens(6) e
----
12

statement ok
CREATE FUNCTION nothing_returned() RETURNS int LANGUAGE plpgsql AS $$ BEGIN PERFORM 1; END $$

statement error 2F005
SELECT nothing_returned()
----
control reached end of function without RETURN

statement error 42601
CREATE FUNCTION bad_syntax() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN 1 END $$
----
syntax error at end of input

statement ok
CREATE FUNCTION add_item(new_id int, new_name text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE made int; many int;
BEGIN
  INSERT INTO items (id, name) VALUES (new_id, new_name) RETURNING id INTO made;
  UPDATE items SET price = 9 WHERE id = made;
  GET DIAGNOSTICS many = ROW_COUNT;
  RETURN made * 10 + many;
END $$

query
SELECT add_item(4, 'four')
----
41

query
SELECT * FROM items WHERE id = 4
----
4|four|9.00

query
SELECT * FROM add_item(5, 'five')
----
51

statement error 23505
SELECT add_item(5, 'five')
----
duplicate key value violates unique constraint "items_pkey"
DETAIL: Key (id)=(5) already exists.
SCHEMA: public
TABLE: items
CONSTRAINT: items_pkey

query
SELECT count(*) FROM items
----
5

statement ok
CREATE FUNCTION try_add(new_id int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO items (id) VALUES (100);
  INSERT INTO items (id) VALUES (new_id);
  RETURN 'added';
EXCEPTION WHEN unique_violation THEN
  RETURN 'there';
END $$

query
SELECT try_add(1)
----
there

query
SELECT count(*) FROM items WHERE id = 100
----
0

query
SELECT try_add(6)
----
added

statement ok
CREATE FUNCTION remove_item(old_id int) RETURNS void LANGUAGE sql AS $$ DELETE FROM items WHERE id = old_id; DELETE FROM items WHERE id = 100 $$

query
SELECT remove_item(6)
----
NULL

query
SELECT id FROM items ORDER BY id
----
1
2
3
4
5

statement ok
CREATE VIEW named_items AS SELECT id, name_of(id) AS called FROM items

query
SELECT * FROM named_items WHERE id < 3 ORDER BY id
----
1|one
2|two

statement ok
DROP VIEW named_items

statement ok
CREATE SCHEMA app

statement ok
CREATE FUNCTION app.twice(n int) RETURNS int LANGUAGE sql AS 'SELECT n * 2'

query
SELECT app.twice(4)
----
8

statement error 42883
SELECT twice(4)
----
function twice(integer) does not exist
HINT: No function matches the given name and argument types. You might need to add explicit type casts.

statement ok
SET search_path = app, public

query
SELECT twice(4)
----
8

statement ok
RESET search_path

query
SELECT proname, pronargs, pronargdefaults, provolatile, proisstrict, proretset, prokind, prorettype::regtype, l.lanname FROM pg_proc p JOIN pg_language l ON l.oid = prolang WHERE proname IN ('fact', 'cheap', 'name_of', 'evens', 'twice', 'remove_item') AND proname <> 'cheap' ORDER BY 1
----
evens|1|0|v|f|t|f|integer|plpgsql
fact|1|0|i|f|f|f|bigint|plpgsql
name_of|1|0|s|f|f|f|text|sql
remove_item|1|0|v|f|f|f|void|sql
twice|1|0|v|f|f|f|integer|sql

query
SELECT trim(trailing E'\n' from pg_get_functiondef(oid)) FROM pg_proc WHERE proname = 'fact'
----
CREATE OR REPLACE FUNCTION public.fact(n integer)
 RETURNS bigint
 LANGUAGE plpgsql
 IMMUTABLE
AS $function$
BEGIN
  IF n <= 1 THEN RETURN 1; END IF;
  RETURN n * fact(n - 1);
END $function$

query
SELECT trim(trailing E'\n' from pg_get_functiondef(oid)) FROM pg_proc WHERE proname = 'numbered'
----
CREATE OR REPLACE FUNCTION public.numbered()
 RETURNS TABLE(n integer, t text)
 LANGUAGE sql
AS $function$ SELECT id, name FROM items ORDER BY id $function$

query
SELECT pg_get_function_arguments(oid), pg_get_function_result(oid), pg_get_function_identity_arguments(oid) FROM pg_proc WHERE proname IN ('add', 'numbered', 'evens', 'remove_item') ORDER BY proname
----
a integer, b integer DEFAULT 1|integer|a integer, b integer
n integer|SETOF integer|n integer
|TABLE(n integer, t text)|
old_id integer|void|old_id integer

statement ok
DROP SCHEMA app CASCADE

statement ok
DROP FUNCTION name_of(int), cheap(numeric), numbered, ids()

query
SELECT routine_name, routine_type, data_type, type_udt_name, routine_body, external_language, is_deterministic, is_null_call FROM information_schema.routines WHERE routine_name IN ('add', 'fact', 'evens', 'remove_item') ORDER BY 1
----
add|FUNCTION|integer|int4|SQL|SQL|NO|YES
evens|FUNCTION|integer|int4|EXTERNAL|PLPGSQL|NO|NO
fact|FUNCTION|bigint|int8|EXTERNAL|PLPGSQL|YES|NO
remove_item|FUNCTION|void|void|SQL|SQL|NO|NO

query
SELECT ordinal_position, parameter_mode, parameter_name, data_type, udt_name, dtd_identifier FROM information_schema.parameters WHERE specific_name LIKE 'add\_item\_%' ORDER BY 1
----
1|IN|new_id|integer|int4|1
2|IN|new_name|text|text|2

statement ok
CREATE FUNCTION po(OUT a int, b text, INOUT c numeric DEFAULT 3) LANGUAGE sql AS 'SELECT 1, 2.0'

statement ok
CREATE FUNCTION pt(x int DEFAULT 5, y text DEFAULT 'q') RETURNS TABLE (u int, v text) LANGUAGE sql AS 'SELECT 1, ''a''::text'

# The default of y is 'q'::text in PostgreSQL.
query
SELECT specific_name ~ '^po', ordinal_position, parameter_mode, is_result, parameter_name, data_type, parameter_default, dtd_identifier FROM information_schema.parameters WHERE specific_name ~ '^p[ot]_' ORDER BY specific_name, ordinal_position
----
t|1|OUT|NO|a|integer|NULL|1
t|2|IN|NO|b|text|NULL|2
t|3|INOUT|NO|c|numeric|3|3
f|1|IN|NO|x|integer|5|1
f|2|IN|NO|y|text|'q'|2
f|3|OUT|NO|u|integer|NULL|3
f|4|OUT|NO|v|text|NULL|4

query
SELECT pg_get_function_arg_default('po(text, numeric)'::regprocedure, 3), pg_get_function_arg_default('po(text, numeric)'::regprocedure, 1), pg_get_function_arg_default('po(text, numeric)'::regprocedure, 9)
----
3|NULL|NULL

statement ok
DROP FUNCTION po(text, numeric), pt(int, text)

statement ok
CREATE FUNCTION one_or_other(b bool) RETURNS int LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN IF b THEN SELECT 1 AS a INTO r; ELSE SELECT 2 AS a INTO r; END IF; RETURN r.a; END $$

query
SELECT one_or_other(true), one_or_other(false)
----
1|2

statement ok
CREATE TABLE queue (id int PRIMARY KEY, n int)

statement ok
INSERT INTO queue VALUES (1, 10), (2, 20), (3, 30)

statement ok
CREATE FUNCTION work_off() RETURNS int LANGUAGE plpgsql AS $$ DECLARE r record; total int := 0; BEGIN SELECT * INTO r FROM queue ORDER BY id LIMIT 1; WHILE r.id IS NOT NULL LOOP total := total + r.n; DELETE FROM queue WHERE id = r.id; SELECT * INTO r FROM queue ORDER BY id LIMIT 1; END LOOP; RETURN total; END $$

query
SELECT work_off()
----
60

statement ok
INSERT INTO queue VALUES (1, 10), (2, 20)

statement ok
CREATE FUNCTION row_of_table() RETURNS text LANGUAGE plpgsql AS $$ DECLARE w queue%ROWTYPE; BEGIN BEGIN SELECT id, n INTO w FROM queue WHERE id = 2; END; RETURN w.id || ':' || w.n; END $$

query
SELECT row_of_table()
----
2:20

statement ok
CREATE FUNCTION two_forms() RETURNS text LANGUAGE plpgsql AS $$ DECLARE r record; said text := ''; BEGIN FOR i IN 1 .. 2 LOOP FOR r IN SELECT id FROM queue ORDER BY id LOOP said := said || r.id; END LOOP; FOR r IN SELECT n, 'x' AS t FROM queue ORDER BY id LOOP said := said || r.t || r.n; END LOOP; END LOOP; RETURN said; END $$

query
SELECT two_forms()
----
12x10x2012x10x20

statement ok
CREATE FUNCTION none_found() RETURNS int LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN SELECT 1 AS id INTO r; FOR r IN SELECT id FROM queue WHERE id > 9 LOOP NULL; END LOOP; RETURN coalesce(r.id, -1); END $$

query
SELECT none_found()
----
-1

statement ok
CREATE FUNCTION two_ways(b bool) RETURNS int LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN IF b THEN SELECT 1 AS a INTO r; ELSE SELECT 2 AS a, 3 AS c INTO r; END IF; RETURN r.a; END $$

# PostgreSQL finds the columns when it comes there.
statement error 0A000
SELECT two_ways(true)

statement ok
CREATE FUNCTION unknown_record() RETURNS int LANGUAGE plpgsql AS $$ BEGIN SELECT 1 AS a INTO r; RETURN r.a; END $$

# PostgreSQL says so when the function is created.
statement error 42601
SELECT unknown_record()
----
"r" is not a known variable

statement ok
DROP FUNCTION one_or_other(bool), work_off(), row_of_table(), two_forms(), none_found(), two_ways(bool), unknown_record()

statement ok
DROP TABLE queue

# SECURITY DEFINER: the function has the rights of the user that made it.

statement ok
CREATE FUNCTION of_maker() RETURNS int LANGUAGE sql STABLE STRICT SECURITY DEFINER AS 'SELECT 7'

query
SELECT of_maker(), prosecdef FROM pg_proc WHERE proname = 'of_maker'
----
7|t

query
SELECT trim(trailing E'\n' from pg_get_functiondef(oid)) FROM pg_proc WHERE proname = 'of_maker'
----
CREATE OR REPLACE FUNCTION public.of_maker()
 RETURNS integer
 LANGUAGE sql
 STABLE STRICT SECURITY DEFINER
AS $function$SELECT 7$function$

query
SELECT security_type FROM information_schema.routines WHERE routine_name = 'of_maker'
----
DEFINER

statement ok
CREATE OR REPLACE FUNCTION of_maker() RETURNS int LANGUAGE sql SECURITY INVOKER AS 'SELECT 8'

query
SELECT of_maker(), prosecdef FROM pg_proc WHERE proname = 'of_maker'
----
8|f

statement ok
DROP FUNCTION of_maker()
