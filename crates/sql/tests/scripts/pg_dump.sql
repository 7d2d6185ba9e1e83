# What pg_dump asks: the number of a table, sequences as relations, dependencies, and texts with schemas.

statement ok
CREATE SCHEMA shop

statement ok
CREATE TYPE mood AS ENUM ('sad', 'ok')

statement ok
CREATE DOMAIN positive AS integer CONSTRAINT is_positive CHECK (VALUE > 0)

statement ok
CREATE SEQUENCE shop.tickets START 5 INCREMENT 3

statement ok
CREATE TABLE parts (id integer PRIMARY KEY, feeling mood, ticket bigint DEFAULT nextval('shop.tickets'))

statement ok
CREATE TABLE orders (id integer PRIMARY KEY, part integer REFERENCES parts (id))

statement ok
CREATE VIEW z_parts AS SELECT id, feeling FROM parts WHERE feeling = 'ok'::mood

statement ok
CREATE VIEW a_parts AS SELECT z.id, o.part FROM z_parts z, orders o WHERE o.part = z.id

statement ok
INSERT INTO parts VALUES (1, 'ok')

statement ok
INSERT INTO parts VALUES (2, 'sad', 7)

statement ok
INSERT INTO orders VALUES (1, 1)

query
SELECT tableoid::regclass, id FROM parts ORDER BY id
----
parts|1
parts|2

query
SELECT p.tableoid = 'parts'::regclass, public.parts.tableoid FROM parts p, public.parts LIMIT 0
----

query
SELECT p.id, o.tableoid::regclass FROM parts p LEFT JOIN orders o ON o.part = p.id ORDER BY p.id
----
1|orders
2|NULL

query
SELECT p.id, o.tableoid::regclass, x.tableoid::regclass FROM parts p LEFT JOIN (orders o LEFT JOIN parts x ON x.id = o.part AND x.id > 5) ON o.part = p.id ORDER BY p.id
----
1|orders|NULL
2|NULL|NULL

statement error 42702
SELECT tableoid FROM parts p, orders o

statement error 42703
SELECT tableoid FROM (SELECT 1) q

query
SELECT *, (SELECT tableoid::regclass FROM orders) FROM parts p ORDER BY 1
----
1|ok|5|orders
2|sad|7|orders

query
SELECT tableoid::regclass, count(*) FROM parts GROUP BY tableoid
----
parts|2

query
UPDATE parts SET feeling = 'ok' WHERE tableoid = 'parts'::regclass AND id = 2 RETURNING tableoid::regclass, id
----
parts|2

query
SELECT tableoid, oid FROM pg_namespace WHERE nspname = 'pg_catalog'
----
2615|11

query
SELECT last_value, log_cnt > 32, is_called FROM shop.tickets
----
5|f|t

query
SELECT nextval('shop.tickets')
----
8

query
SELECT last_value, is_called FROM shop.tickets t
----
8|t

query
SELECT setval('shop.tickets', 20, false)
----
20

query
SELECT t.last_value, t.is_called FROM shop.tickets AS t
----
20|f

query
SELECT relname[0], relname[4], relname[5] = '', relname[64] IS NULL FROM pg_class WHERE relname = 'parts'
----
p|s|t|t

query
SELECT acldefault('n', 10)::text, acldefault('r', 10)::text, acldefault('f', 10)::text
----
{tester=UC/tester}|{tester=arwdDxt/tester}|{=X/tester,tester=X/tester}

statement error XX000
SELECT acldefault('q', 10)

query
SELECT * FROM pg_options_to_table(ARRAY['a=1', 'b=x=y', 'c'])
----
a|1
b|x=y
c|NULL

query
SELECT option_value FROM pg_options_to_table(NULL)
----

query
SELECT c.relname FROM pg_class c WHERE c.relkind OPERATOR(pg_catalog.=) ANY (array['r', 'S']) AND c.relname OPERATOR(pg_catalog.~) '^(parts|tickets)$' COLLATE pg_catalog.default ORDER BY 1
----
parts
tickets

query
SELECT conname, contypid::regtype, lower(pg_get_constraintdef(oid)) FROM pg_constraint WHERE contypid = 'positive'::regtype
----
is_positive|positive|check ((value > 0))

query
SELECT r.ev_class::regclass::text, r.rulename, d.refobjid::regclass::text FROM pg_depend d JOIN pg_rewrite r ON r.oid = d.objid AND d.classid = 'pg_rewrite'::regclass WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid <> r.ev_class AND r.ev_class::regclass::text LIKE '%parts' GROUP BY 1, 2, 3 ORDER BY 1, 3
----
a_parts|_RETURN|orders
a_parts|_RETURN|z_parts
z_parts|_RETURN|parts

query
SELECT d.refobjid::regclass FROM pg_depend d JOIN pg_attrdef a ON a.oid = d.objid WHERE d.classid = 'pg_attrdef'::regclass AND d.deptype = 'n' AND a.adrelid = 'parts'::regclass
----
shop.tickets

statement ok
SELECT set_config('search_path', '', false)

query
SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'public.parts'::regclass
----
nextval('shop.tickets')

query
SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'public.parts'::regclass AND attname = 'feeling'
----
public.mood

query
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'public.orders'::regclass AND contype = 'f'
----
FOREIGN KEY (part) REFERENCES public.parts(id)

query
SELECT pg_get_viewdef('public.a_parts'::regclass)
----
SELECT z.id, o.part FROM public.z_parts z, public.orders o WHERE o.part = z.id;

statement ok
SET check_function_bodies = false

statement ok
CREATE PROCEDURE public.later(n integer) LANGUAGE sql AS 'DELETE FROM public.not_yet WHERE id = n'

query
SELECT prokind, pg_get_function_arguments(oid), pg_get_function_identity_arguments(oid), pg_get_function_result(oid), pg_get_function_sqlbody(oid), prosupport FROM pg_proc WHERE proname = 'later'
----
p|IN n integer|IN n integer|NULL|NULL|-

statement ok
ALTER PROCEDURE public.later(IN n integer) OWNER TO CURRENT_USER

query
SELECT set_config('search_path', 'public', false)
----
public

statement error 42883
ALTER FUNCTION public.nothing(integer) OWNER TO CURRENT_USER
