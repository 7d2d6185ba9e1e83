# Partial indexes, indexes on expressions, INCLUDE: unique ones, ON CONFLICT, their rows in the catalogue.

statement ok
CREATE TABLE users (id int PRIMARY KEY, email text, age int, deleted timestamp, note text)

statement ok
CREATE UNIQUE INDEX ON users (lower(email)) WHERE deleted IS NULL

statement ok
CREATE INDEX users_sum ON users ((age + id) DESC, email)

statement ok
CREATE INDEX ON users ((age * 2), upper(note))

statement ok
CREATE INDEX users_wide ON users (age) INCLUDE (email, note) WHERE age > 18 AND note IS NOT NULL

statement ok
CREATE UNIQUE INDEX users_note ON users (note) WHERE age > 50

query
SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'users' ORDER BY indexname
----
users_expr_upper_idx|CREATE INDEX users_expr_upper_idx ON public.users USING btree (((age * 2)), upper(note))
users_lower_idx|CREATE UNIQUE INDEX users_lower_idx ON public.users USING btree (lower(email)) WHERE (deleted IS NULL)
users_note|CREATE UNIQUE INDEX users_note ON public.users USING btree (note) WHERE (age > 50)
users_pkey|CREATE UNIQUE INDEX users_pkey ON public.users USING btree (id)
users_sum|CREATE INDEX users_sum ON public.users USING btree (((age + id)) DESC, email)
users_wide|CREATE INDEX users_wide ON public.users USING btree (age) INCLUDE (email, note) WHERE (age > 18 AND note IS NOT NULL)

query
SELECT c.relname, i.indnatts, i.indnkeyatts, i.indisunique, i.indkey::text, i.indexprs IS NOT NULL, pg_get_expr(i.indpred, i.indrelid) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = 'users'::regclass ORDER BY c.relname
----
users_expr_upper_idx|2|2|f|0 0|t|NULL
users_lower_idx|1|1|t|0|t|(deleted IS NULL)
users_note|1|1|t|5|f|(age > 50)
users_pkey|1|1|t|1|f|NULL
users_sum|2|2|f|0 2|t|NULL
users_wide|3|1|f|3 2 5|f|(age > 18 AND note IS NOT NULL)

query
SELECT c.relname, a.attnum, a.attname, format_type(a.atttypid, -1) FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid WHERE c.relkind = 'i' AND c.relname LIKE 'users%' ORDER BY 1, 2
----
users_expr_upper_idx|1|expr|integer
users_expr_upper_idx|2|upper|text
users_lower_idx|1|lower|text
users_note|1|note|text
users_pkey|1|id|integer
users_sum|1|expr|integer
users_sum|2|email|text
users_wide|1|age|integer
users_wide|2|email|text
users_wide|3|note|text

query
SELECT pg_get_indexdef('users_sum'::regclass, 1, true), pg_get_indexdef('users_sum'::regclass, 2, true)
----
(age + id)|email

query
SELECT column_name FROM information_schema.columns WHERE table_name = 'users' ORDER BY ordinal_position
----
id
email
age
deleted
note

statement ok
INSERT INTO users VALUES (1, 'A@x.org', 20, null, 'n'), (2, 'b@x.org', 30, null, 'm'), (3, 'a@X.org', 40, '2026-01-01', null)

statement error 23505
INSERT INTO users VALUES (4, 'a@x.ORG', 1, null, null)
----
duplicate key value violates unique constraint "users_lower_idx"
DETAIL: Key (lower(email))=(a@x.org) already exists.
SCHEMA: public
TABLE: users
CONSTRAINT: users_lower_idx

statement ok
INSERT INTO users VALUES (5, 'B@x.org', 1, '2026-01-02', null), (6, 'b@X.org', 1, '2026-01-02', null)

# Only where the condition is true: a null is not.

statement error 23505
UPDATE users SET deleted = null WHERE id = 5
----
duplicate key value violates unique constraint "users_lower_idx"
DETAIL: Key (lower(email))=(b@x.org) already exists.
SCHEMA: public
TABLE: users
CONSTRAINT: users_lower_idx

statement ok
UPDATE users SET email = 'C@x.org', deleted = null WHERE id = 5

query
SELECT id FROM users WHERE lower(email) = 'a@x.org' AND deleted IS NULL
----
1

query
SELECT id FROM users WHERE lower(email) = 'a@x.org' ORDER BY id
----
1
3

query
SELECT id, age + id AS s FROM users ORDER BY age + id DESC, email
----
3|43
2|32
1|21
6|7
5|6

query
SELECT id FROM users WHERE age + id > 21 ORDER BY id
----
2
3

query
SELECT id FROM users WHERE age + id IN (5, 21, 32) ORDER BY id
----
1
2

query
SELECT id FROM users WHERE age > 18 AND note IS NOT NULL ORDER BY age
----
1
2

query
SELECT count(*) FROM users WHERE lower(email) = 'b@x.org' AND deleted IS NULL
----
1

# Another row may have the key once the first one left the condition.

statement ok
UPDATE users SET deleted = '2026-03-03' WHERE id = 1

statement ok
INSERT INTO users VALUES (4, 'a@x.ORG', 1, null, null)

statement error 23505
UPDATE users SET deleted = null WHERE id = 1
----
duplicate key value violates unique constraint "users_lower_idx"
DETAIL: Key (lower(email))=(a@x.org) already exists.
SCHEMA: public
TABLE: users
CONSTRAINT: users_lower_idx

# ON CONFLICT finds the index by its expressions and its condition.

statement ok
INSERT INTO users VALUES (7, 'A@X.ORG', 99, null, null) ON CONFLICT (lower(email)) WHERE deleted IS NULL DO NOTHING

query
INSERT INTO users VALUES (7, 'A@X.ORG', 99, null, null) ON CONFLICT (lower(email)) WHERE deleted IS NULL DO UPDATE SET age = excluded.age, note = users.email RETURNING id, age, note
----
4|99|a@x.ORG

query
INSERT INTO users VALUES (7, 'A@X.ORG', 99, '2026-01-01', null) ON CONFLICT (lower(email)) WHERE deleted IS NULL DO UPDATE SET age = 0 RETURNING id, email
----
7|A@X.ORG

statement error 42P10
INSERT INTO users VALUES (8, 'A@X.ORG', 99, null, null) ON CONFLICT (lower(email)) DO NOTHING
----
there is no unique or exclusion constraint matching the ON CONFLICT specification

statement error 42P10
INSERT INTO users VALUES (8, 'A@X.ORG', 99, null, null) ON CONFLICT (upper(email)) WHERE deleted IS NULL DO NOTHING
----
there is no unique or exclusion constraint matching the ON CONFLICT specification

statement ok
INSERT INTO users VALUES (8, 'A@X.ORG', 99, null, null) ON CONFLICT (lower(email)) WHERE deleted IS NULL AND age > 0 DO NOTHING

statement ok
INSERT INTO users VALUES (8, 'A@X.ORG', 99, null, null) ON CONFLICT DO NOTHING

statement ok
INSERT INTO users VALUES (7, 'zz', 1, null, null) ON CONFLICT (id) WHERE age > 3 DO UPDATE SET note = 'seven'

query
SELECT id, email, age, note FROM users WHERE id >= 7
----
7|A@X.ORG|99|seven

# The expression is kept as it is written, quotes and all.

statement ok
CREATE TABLE quoted (id int PRIMARY KEY, "a""b" text)

statement ok
CREATE UNIQUE INDEX quoted_plain ON quoted (replace("a""b", '''', ''))

statement ok
INSERT INTO quoted VALUES (1, 'it''s')

query
INSERT INTO quoted VALUES (2, 'its') ON CONFLICT ( /* one's */ replace("a""b", '''', '') ) DO UPDATE SET "a""b" = 'is' RETURNING id, "a""b"
----
1|is

query
INSERT INTO quoted VALUES (3, E'is''') ON CONFLICT (replace("a""b",
  E'\'', '')) DO UPDATE SET "a""b" = 'é' RETURNING id
----
1

query
INSERT INTO quoted VALUES (5, 'ö'); INSERT INTO quoted VALUES (4, 'é') ON CONFLICT (replace("a""b", '''', '')) DO UPDATE SET "a""b" = 'e' RETURNING id
----
1

statement error 42P10
INSERT INTO quoted VALUES (4, 'x') ON CONFLICT (replace("a""b", '''''', '')) DO NOTHING
----
there is no unique or exclusion constraint matching the ON CONFLICT specification

# An expression that depends on the session's time zone is not immutable.

statement ok
CREATE TABLE moments (at timestamptz, plain timestamp)

statement error 42P17
CREATE INDEX ON moments ((at::date))
----
functions in index expression must be marked IMMUTABLE

statement error 42P17
CREATE INDEX ON moments ((at::timestamp))
----
functions in index expression must be marked IMMUTABLE

statement error 42P17
CREATE INDEX ON moments (plain) WHERE at > plain
----
functions in index predicate must be marked IMMUTABLE

statement ok
CREATE INDEX ON moments (((at AT TIME ZONE 'UTC')::date)) WHERE at > '2026-01-01'

# Rows exchange values of a unique expression in one statement, which PostgreSQL refuses.

statement ok
CREATE TABLE pairs (a int, b int)

statement ok
CREATE UNIQUE INDEX pairs_sum ON pairs ((a + b)) WHERE b > 0

statement ok
INSERT INTO pairs VALUES (1, 1), (2, 1), (3, 1), (2, 0), (2, 0)

statement UPDATE 3
UPDATE pairs SET a = 4 - a WHERE b = 1

statement error 23505
UPDATE pairs SET a = 1 WHERE b = 1
----
duplicate key value violates unique constraint "pairs_sum"
DETAIL: Key ((a + b))=(2) already exists.
SCHEMA: public
TABLE: pairs
CONSTRAINT: pairs_sum

statement error 23505
UPDATE pairs SET b = 1
----
duplicate key value violates unique constraint "pairs_sum"
DETAIL: Key ((a + b))=(3) already exists.
SCHEMA: public
TABLE: pairs
CONSTRAINT: pairs_sum

query
SELECT * FROM pairs ORDER BY 1, 2
----
1|1
2|0
2|0
2|1
3|1

# Rows that are there.

statement error 23505
CREATE UNIQUE INDEX pairs_b ON pairs ((b * 10)) WHERE b > 0
----
could not create unique index "pairs_b"
DETAIL: Key ((b * 10))=(10) is duplicated.
SCHEMA: public
TABLE: pairs
CONSTRAINT: pairs_b

statement ok
CREATE UNIQUE INDEX pairs_c ON pairs ((b * 10)) WHERE a > 2

statement error 23505
CREATE UNIQUE INDEX pairs_d ON pairs (abs(a - 2), b) WHERE b > 0
----
could not create unique index "pairs_d"
DETAIL: Key (abs(a - 2), b)=(1, 1) is duplicated.
SCHEMA: public
TABLE: pairs
CONSTRAINT: pairs_d

statement error 42704
DROP INDEX pairs_d
----
index "pairs_d" does not exist

statement ok
INSERT INTO pairs VALUES (null, null), (null, 5), (null, 5)

# Parts that are not allowed in an index.

statement error 42P17
CREATE INDEX ON users ((random() + id))
----
functions in index expression must be marked IMMUTABLE

statement error 42P17
CREATE INDEX ON users (id) WHERE now() > deleted
----
functions in index predicate must be marked IMMUTABLE

statement error 0A000
CREATE INDEX ON users (((SELECT 1)))
----
cannot use subquery in index expression

statement error 0A000
CREATE INDEX ON users (id) WHERE id IN (SELECT 1)
----
cannot use subquery in index predicate

statement error 42803
CREATE INDEX ON users (count(id))
----
aggregate functions are not allowed in index expressions

statement error 42803
CREATE INDEX ON users (id) WHERE sum(id) > 0
----
aggregate functions are not allowed in index predicates

statement error 42804
CREATE INDEX ON users (id) WHERE email
----
argument of WHERE must be type boolean, not type text

statement error 42703
CREATE INDEX ON users (lower(nothing))
----
column "nothing" does not exist

statement error 42703
CREATE INDEX ON users (id) INCLUDE (nothing)

statement ok
CREATE INDEX ON users ((1 / age))

query
SELECT count(*) FROM users
----
7

statement error 22012
INSERT INTO users VALUES (20, 'q', 0, null, null)
----
division by zero

statement error 22012
UPDATE users SET age = 0 WHERE id = 1
----
division by zero

# Columns get other names; one that is dropped takes the indexes with it that read it.

statement ok
ALTER TABLE users RENAME COLUMN email TO "E mail"

statement ok
ALTER TABLE users RENAME COLUMN deleted TO gone

query
SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'users' AND indexname LIKE 'users_lower%'
----
users_lower_idx|CREATE UNIQUE INDEX users_lower_idx ON public.users USING btree (lower("E mail")) WHERE (gone IS NULL)

query
SELECT id FROM users WHERE lower("E mail") = 'b@x.org' AND gone IS NULL
----
2

statement error 23505
INSERT INTO users VALUES (21, 'B@X.org', 4, null, null)
----
duplicate key value violates unique constraint "users_lower_idx"
DETAIL: Key (lower("E mail"))=(b@x.org) already exists.
SCHEMA: public
TABLE: users
CONSTRAINT: users_lower_idx

statement ok
ALTER TABLE users DROP COLUMN note

query
SELECT indexname FROM pg_indexes WHERE tablename = 'users' ORDER BY 1
----
users_expr_idx
users_lower_idx
users_pkey
users_sum

statement ok
ALTER TABLE users DROP COLUMN gone

query
SELECT indexname FROM pg_indexes WHERE tablename = 'users' ORDER BY 1
----
users_expr_idx
users_pkey
users_sum

statement ok
INSERT INTO users VALUES (21, 'B@X.org', 4)

query
SELECT * FROM users ORDER BY id
----
1|A@x.org|20
2|b@x.org|30
3|a@X.org|40
4|a@x.ORG|99
5|C@x.org|1
6|b@X.org|1
7|A@X.ORG|99
21|B@X.org|4

# A reference needs an index of all rows.

statement ok
CREATE TABLE codes (code text, live bool)

statement ok
CREATE UNIQUE INDEX ON codes (code) WHERE live

statement error 42830
CREATE TABLE uses (code text REFERENCES codes (code))
----
there is no unique constraint matching given keys for referenced table "codes"

statement ok
INSERT INTO codes VALUES ('a', true), ('a', false), ('a', null), ('b', true)

statement error 23505
INSERT INTO codes VALUES ('a', true)
----
duplicate key value violates unique constraint "codes_code_idx"
DETAIL: Key (code)=(a) already exists.
SCHEMA: public
TABLE: codes
CONSTRAINT: codes_code_idx

query
SELECT * FROM codes WHERE live AND code = 'a'
----
a|t

query
SELECT code, live FROM codes WHERE code = 'a' ORDER BY live
----
a|f
a|t
a|NULL

# In a transaction that is given up, nothing stays.

statement ok
BEGIN

statement ok
CREATE UNIQUE INDEX codes_upper ON codes (upper(code)) WHERE live

statement error 23505
INSERT INTO codes VALUES ('A', true)
----
duplicate key value violates unique constraint "codes_upper"
DETAIL: Key (upper(code))=(A) already exists.
SCHEMA: public
TABLE: codes
CONSTRAINT: codes_upper

statement ok
ROLLBACK

statement ok
INSERT INTO codes VALUES ('A', true)

query
SELECT indexname FROM pg_indexes WHERE tablename = 'codes' ORDER BY 1
----
codes_code_idx

reopen

query
SELECT * FROM codes WHERE live AND code = 'a'
----
a|t

statement error 23505
INSERT INTO codes VALUES ('b', true)

# Queries that use an index: written as in the index, with its condition in the query, and others.

query
EXPLAIN SELECT * FROM codes WHERE code = 'a' AND live
----
Index Scan using codes_code_idx on codes
  Index Cond: ((code = 'a'::text) AND live)

query
EXPLAIN SELECT * FROM codes WHERE code = 'a'
----
Seq Scan on codes
  Filter: (code = 'a'::text)

query
EXPLAIN SELECT * FROM codes WHERE live
----
Seq Scan on codes
  Filter: live

query
EXPLAIN SELECT * FROM users WHERE age + id = 5
----
Index Scan using users_sum on users
  Index Cond: ((age + id) = 5)

query
EXPLAIN SELECT * FROM users WHERE 5 < age + id ORDER BY age + id DESC, "E mail" LIMIT 3
----
Limit
  ->  Index Scan using users_sum on users
        Index Cond: (5 < (age + id))

query
EXPLAIN SELECT * FROM users WHERE id + age = 5
----
Seq Scan on users
  Filter: ((id + age) = 5)

query
EXPLAIN SELECT count(*) FROM users WHERE age + id IN (1, 2)
----
Aggregate
  ->  Index Scan using users_sum on users
        Index Cond: ((age + id) = ANY ('{1,2}'::integer[]))

statement ok
CREATE INDEX users_full ON users ("E mail") WHERE age IS NOT NULL AND id > 0

query
EXPLAIN SELECT * FROM users WHERE age = 5 AND id > 0 AND "E mail" = 'x'
----
Index Scan using users_full on users
  Index Cond: ("E mail" = 'x'::text)
  Filter: ((id > 0) AND (age = 5))

query
EXPLAIN SELECT * FROM users WHERE age IS NOT NULL AND id > 0 ORDER BY "E mail" LIMIT 1
----
Limit
  ->  Index Scan using users_full on users
        Filter: ((age IS NOT NULL) AND (id > 0))

query
EXPLAIN UPDATE users SET age = 1 WHERE id > 0 AND age > 3 AND "E mail" = 'x'
----
Update on users
  ->  Index Scan using users_full on users
        Index Cond: ("E mail" = 'x'::text)
        Filter: ((id > 0) AND (age > 3))

# An index finds numbers by all of their digits.

statement ok
CREATE TABLE thirds (n numeric)

statement ok
CREATE INDEX ON thirds ((n / 3))

statement ok
INSERT INTO thirds VALUES (3), (6)

statement error 22003
INSERT INTO thirds VALUES (1)

query
SELECT n FROM thirds WHERE n / 3 = 2
----
6

# Casts that a call makes by itself are shown as in PostgreSQL: with parentheses, and without them in messages.
statement ok
CREATE TABLE shown_casts (id int PRIMARY KEY, name varchar(20), c char(3), t text, "Big" varchar)

statement ok
CREATE UNIQUE INDEX shown_casts_1 ON shown_casts (lower(name), upper(c), md5(t)); CREATE INDEX shown_casts_2 ON shown_casts (lower((name)::text), left(name, 2), lower(upper("Big"))) WHERE length(name) > 1

query
SELECT indexdef FROM pg_indexes WHERE tablename = 'shown_casts' AND indexname LIKE 'shown_casts__' ORDER BY indexname
----
CREATE UNIQUE INDEX shown_casts_1 ON public.shown_casts USING btree (lower((name)::text), upper((c)::text), md5(t))
CREATE INDEX shown_casts_2 ON public.shown_casts USING btree (lower((name)::text), left((name)::text, 2), lower(upper(("Big")::text))) WHERE (length((name)::text) > 1)

statement INSERT 0 1
INSERT INTO shown_casts VALUES (1, 'A', 'c', 't')

statement error 23505
INSERT INTO shown_casts VALUES (2, 'a', 'C', 't')
----
duplicate key value violates unique constraint "shown_casts_1"
DETAIL: Key (lower(name::text), upper(c::text), md5(t))=(a, C, e358efa489f58062f10dd7316b65649e) already exists.
SCHEMA: public
TABLE: shown_casts
CONSTRAINT: shown_casts_1

statement ok
CREATE TABLE shown_copies (LIKE shown_casts INCLUDING INDEXES)

query
INSERT INTO shown_copies VALUES (1, 'A', 'c', 't'), (2, 'a', 'C', 't') ON CONFLICT (lower(name), upper(c), md5(t)) DO NOTHING RETURNING id
----
1
