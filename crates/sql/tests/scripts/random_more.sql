# Differences that random statements found (bench/sql/generated.py).
# Words that are no labels without AS, and words that are.
statement error 42601
select 1 filter
----
syntax error at or near "filter"

statement error 42601
select true over, 2

statement error 42601
select 1 year from generate_series(1, 1)

statement error 42601
select 1 precision

query
select 1 view, 2 top, 3 sort, 4 values, 5 end, case when true then 6 end exclude
----
1|2|3|4|5|6

query
select interval '1' day, 1::double precision, 'a'::character varying
----
1 day|1|a

query
select 1 for update
----
1

statement error 42P01
select 1 for share of nothing

statement error 0A000
select 1 union select 2 for update
----
FOR UPDATE is not allowed with UNION/INTERSECT/EXCEPT

# Names and numbers that the grammar does not take.
statement error 42601
select 1 as ""
----
zero-length delimited identifier at or near """"

statement error 42601
select "" from generate_series(1, 1)

statement error 42601
select count(distinct *) from generate_series(1, 2)

statement error 42601
select count(all *) from generate_series(1, 2)

statement error 42601
select x from (select 1)
----
subquery in FROM must have an alias
HINT: For example, FROM (SELECT ...) [AS] foo.

statement error 42601
select 1 from (values (1))
----
VALUES in FROM must have an alias
HINT: For example, FROM (VALUES ...) [AS] foo.

statement error 42601
select 1 from generate_series(1, 1), lateral (select 1)

statement error 42601
select * from unnest(array[1]) as q(x int)
----
a column definition list is only allowed for functions returning "record"

statement error 42601
select * from generate_series(1, 2) as q(x int)

# Escapes.
statement error 22025
select E'\u12'
----
invalid Unicode escape
HINT: Unicode escapes must be \uXXXX or \UXXXXXXXX.

statement error 22025
select E'\U0000'

statement error 42601
select E'\ud800'

query
select E'it''s \u00e9 \x41 \101'
----
it's é A A

# A number of rows with a sign.
statement error 2201W
select 1 fetch first -1 rows only
----
LIMIT must not be negative

query
select x from generate_series(1, 3) q(x) order by x fetch first +2 rows only
----
1
2

query
select x from (values (1), (1), (2)) q(x) order by x fetch next +1 rows with ties
----
1
1

# Columns of USING, once.
statement error 42701
select 1 from (values (1)) a(i) join (values (1)) b(i) using (i, i)
----
column name "i" appears more than once in USING clause

# Values of a list have one type before they are compared.
statement error 22007
select null in ('-00:00:01'::interval, 'b=>2')
----
invalid input syntax for type interval: "b=>2"

statement error 22P02
select null in ('-infinity', 65536)

query
select 1 in (2, 1.0), 1.5 in (1, 1.5::float8), 'a' in ('b', 'a'::varchar), '2024-01-01' in (date '2024-01-01', '2024-01-02')
----
t|t|t|t

query
select x in (1, 2.5), x not in (7, null) from (values (1), (2)) q(x) order by x
----
t|NULL
f|NULL

query
select x in ('1', y) from (values (1, 2)) q(x, y)
----
t

# No array has arrays as its elements.
statement error 42704
select '{1}'::int[] = any ('{}')
----
could not find array type for data type integer[]

statement error 42704
select null::text[] <> all ('x')

statement error 42883
select array[1] = any (array[[1], [2]])

# Two queries agree on their types before the next one is read.
statement error 22P02
select '1', 2 union select 3, 'x' union select 'y', true
----
invalid input syntax for type integer: "x"

statement error 22P02
select 'x' union select 1 union select true

statement error 22P02
select 'x' union select 1::int8 union all select '{}'::int4[]

statement error 42804
select 1 union select true union select nothing

query
select '5' union select 1 union select 2.5 order by 1
----
1
2.5
5

statement error 42804
select '1' union select '2' union select 3

statement error 22P02
select 'a'::json except select 'b' except select 1

statement error 42601
select 1 union select 2, 3 union select nothing

# What is read first is refused first.
statement error 42703
select nothing from (values (1, 'a')) q(x, y) group by x + y

statement error 42703
select x from (values (1, 'a')) q(x, y) group by x + y order by nothing

statement error 42883
select x + y from (values (1, 'a')) q(x, y) where nothing > 1

# Orders of rows by their columns.
query
values (1), (3), (2) order by -column1
----
3
2
1

query
values (1, 'b'), (2, 'a') order by column2 || 'x'
----
2|a
1|b

statement error 0A000
select 1 union select 2 order by 1 + 1
----
invalid UNION/INTERSECT/EXCEPT ORDER BY clause
DETAIL: Only result column names can be used, not expressions or functions.
HINT: Add the expression/function to every SELECT, or move the UNION into a FROM clause.

statement error 42703
select 1 as x union select 2 order by y

# A comparison with null has no operand that is computed.
query
select null::date = (select x from (values (date '2024-01-01'), (date '2024-01-02')) q(x))
----
NULL

statement error 21000
select 1 = (select x from (values (1), (2)) q(x))

# The order of hstore has operators of its own.
statement ok
create extension if not exists hstore

query
select 'a=>1'::hstore #<# 'b=>1', 'a=>1'::hstore #>=# 'a=>1'::hstore, 'a=>1' #<=# 'a=>2'::hstore, 'a=>1'::hstore #># null
----
t|t|t|NULL

statement error 42883
select 'a=>1'::hstore < 'b=>1'
----
operator does not exist: hstore < unknown
HINT: No operator matches the given name and argument types. You might need to add explicit type casts.

statement error 42883
select 'a=>1'::hstore between 'a=>1' and 'b=>1'

query
select x from (values ('b=>1'::hstore), ('a=>1')) q(x) order by x
----
"a"=>"1"
"b"=>"1"

# A row is a value of groups by the primary key alone.
statement error 42803
select q from (values (1, 2)) q(x, y) group by x, y
----
column "q.*" must appear in the GROUP BY clause or be used in an aggregate function

statement error 42803
select x from (values (1, 2)) q(x, y) group by x, y order by q

statement ok
create table keyed (id int primary key, n int)

statement INSERT 0 2
insert into keyed values (1, 2), (2, 3)

query
select keyed from keyed group by id order by keyed
----
(1,2)
(2,3)

query
select keyed, count(*) from keyed group by id, n order by keyed
----
(1,2)|1
(2,3)|1

statement ok
drop table keyed

# Numbers are added in the order of the aggregate.
query
select regr_avgx(distinct x, y), regr_count(distinct x, y) from (values (1.0::float8, 2.0::float8), (3, 4), (1, 2)) q(x, y)
----
3|2

statement error 22003
select regr_avgx(distinct x, y) from (values ('Infinity'::float8, 0.3::float8), (1e300, 1), (-2, 0)) q(x, y)

query
select sum(x order by n), sum(x order by n desc) from (values (1, 1e16::float8), (2, 1), (3, -1e16), (4, 1)) q(n, x)
----
1|0

query
select max(x order by n), max(x order by n desc), min(x order by n) from (values (1, 1.0), (2, 1.00)) q(n, x)
----
1.00|1.0|1.00

statement error 2202E
select array_agg(x order by n) from (values (1, array[1]), (2, array[1, 2]), (3, null)) q(n, x)

statement error 2202E
select array(select x from (values (1, array[1]), (2, '[2:2]={1}'::int[]), (3, null)) q(n, x) order by n)

# Types with other names.
query
select pg_typeof('a'::nchar(3)), pg_typeof(cast('ab' as nchar varying(2))), 'national character varying'::regtype, pg_typeof('a'::national char)
----
character|character varying|character varying|character

statement ok
create type colour as enum ('red')

query
select '_colour'::regtype, '_colour'::regtype = 'colour[]'::regtype
----
colour[]|t

statement ok
drop type colour

statement error 42725
select 'int4'::regproc

# Collations.
statement error 42704
select 'a' collate nothing
----
collation "nothing" for encoding "UTF8" does not exist

# COPY with all values in quotes.
copy_out
copy (select 1 as a, 'x' as b, null as c) to stdout (format csv, header, force_quote *)
----
a,b,c
"1","x",

copy_out
copy (select 1 as a, 'x' as b, null as c) to stdout (format csv, force_quote (b, c))
----
1,"x",

copy_out
copy (select 1 as a, 'x' as b) to stdout csv force quote *
----
"1","x"

copy_out
copy (select 1 as a, 'x' as b) to stdout csv force quote a
----
"1",x

statement error 42703
copy (select 1 as a) to stdout (format csv, force_quote (nothing))
----
column "nothing" does not exist

statement error 0A000
copy (select 1 as a) to stdout (force_quote *)
----
COPY force quote available only in CSV mode

# Casts to numeric with a scale that is negative, or greater than the precision.
query
select 1234::numeric(2,-2), 1250::numeric(3,-2), -1250::numeric(3,-2), 49::numeric(3,-2), 0.00123::numeric(3,5), 0::numeric(1,3)
----
1200|1300|-1300|0|0.00123|0.000

statement error 22003
select 99999::numeric(2,-2)
----
numeric field overflow
DETAIL: A field with precision 2, scale -2 must round to an absolute value less than 10^4.

statement error 22003
select 1::numeric(3,5)

query
select 'NaN'::numeric(3,-2), pg_typeof(1::numeric(3,-2)), '12345.6'::numeric(4,-1)::text
----
NaN|numeric|12350

statement error 22023
select 1::numeric(3,1001)

# A row is compared with the only row of a query by its order.
query
select (1, 'b') < (select 1, 'c'), (2, 'a') <= (select 1, 'z'), (1, 2) >= (values (1, 2)), (1, 2) > (select 1, 2 where false), (1, null) < (select 1, 2)
----
t|f|t|NULL|NULL

statement error 42601
select (1, 2) < (select 1)

statement error 42601
select (1, 2) < (select 1, 2, 3)

statement error 21000
select (1, 2) < (select x, x from (values (1), (2)) q(x))

query
select x from (values (1, 2), (3, 4)) q(x, y) where (x, y) > (select 1, 2 + y) order by x
----
3

# Parts of substring in any order, words of the grammar as fields, and operators that one type has.
query
select substring('abcdef' for 3 from 2), substring(substring('abcdef' for 5 from 1) for 2 from 3), substring('abc' for 2)
----
bcd|cd|ab

statement error 42601
select extract(nothing from now())
----
syntax error at or near "nothing"

statement error 22023
select extract(nothing2 from now())

query
select extract('day' from date '2024-01-05'), extract(DOW from date '2024-01-05'), extract(year from date '2024-01-05')
----
5|5|2024

query
select '10.0.0.1' <<= '10.0.0.0/8', '10.0.0.0/8' >>= '10.0.0.1'
----
t|t

query
select word, catcode, barelabel, catdesc, baredesc from pg_get_keywords() where word in ('abort', 'array', 'between', 'left', 'year', 'pivot') order by word
----
abort|U|t|unreserved|can be bare label
array|R|f|reserved|requires AS
between|C|t|unreserved (cannot be function or type name)|can be bare label
left|T|t|reserved (can be function or type name)|can be bare label
year|U|f|unreserved|requires AS

query
select 'now'::regproc::oid, 'abs(int4)'::regprocedure::oid, max('now'::regproc)
----
1299|1397|1299

statement error 42809
select (array[1]).x

statement error 42809
select ('a').x

# PostgreSQL: '10.0.0.1/32' of an inet. Indexes may have stored this form.
query
select quote_literal('10.0.0.1'::inet), quote_nullable('10.0.0.0/8'::inet), quote_literal('10.0.0.1'::cidr)
----
'10.0.0.1'|'10.0.0.0/8'|'10.0.0.1/32'

query
select substr('abc', '2'), substr('1e5'::text, '-2147483648'), substring('abc', '2')
----
bc|1e5|NULL

statement error 42725
select '{}' || null::"char"

statement error 42725
select 'a'::"char" || 'x'::text

query
select 'a'::"char" || 1, 1 || 'a'::"char"
----
a1|1a

# Blanks of elements.
# PostgreSQL: ' x  ' of y, and 'a  ' below. Elements of arrays have no blanks at their ends here.
query
select x, y from (values (' x'::char(4)), ('é'::bpchar)) q(x), unnest(array[q.x, null]) r(y)
----
 x  | x
 x  |NULL
é|é
é|NULL

query
select (array['a'::char(3)])[1] || '|', unnest(array['a'::char(3)]), 'a' = any (array['a'::char(3)]), 'a'::char(5) = any (array['a'::char(3)])
----
a||a|t|t

# Rows of VALUES as operands.
query
select 1 = (values (1)), (1, 2) = (values (1, 2)), 2 + (values (1)), (values (3)), case when true then (values (4)) end
----
t|t|3|3|4

query
select x from (values (1), (2)) q(x) where x > (values (1))
----
2

# A text is the name of a table, and a literal may be its number.
query
select '0'::regclass, '-'::regclass, '1259'::regclass
----
-|-|pg_class

statement error 42P01
select '0'::text::regclass

statement error 42P01
select '-'::text::regclass

statement error 42601
select 'a'.x

statement error 42804
select 1 collate nothing

# PostgreSQL: 00:00:00 of the text.
query
select to_number('007', 'D9'), ('-622.2436'::text)::interval day, '1 day'::interval second
----
0|-622 days|1 day

statement error 22003
select to_number('7', 'D9')

query
select 1, (values (3))
----
1|3

statement error 42704
select array_prepend('{1,1,2}'::int4[], '{}')

statement error 42704
select array_append('{}', '{1,2}'::int4[])

statement error 42703
select x from (values (1, 'a')) q(x, y) group by x + y having z > 0

query
select pg_catalog.extract(null::text, date '2024-01-05'), pg_catalog.extract('year', date '2024-01-05')
----
NULL|2024

statement ok
create type level as enum ('low', 'high', 'a')

query
select greatest(array['high', 'high']::level[], '{a,low}'), least(array['high']::level[], '{a}')
----
{a,low}|{high}

statement ok
drop type level

# Words that are names of columns, and others that are labels elsewhere.
statement ok
create table lb (id int, day int, year int, month int, total int, x text, a int, b int, ts timestamp)

statement ok
insert into lb values (1, 2, 2024, 3, 10, 'abcdef', 1, 2, '2024-01-01 10:00')

query
SELECT DISTINCT ON (id) year, total FROM lb
----
2024|10

query
SELECT DISTINCT ON (id) month, (SELECT DISTINCT ON (id) day FROM lb ORDER BY id) FROM lb
----
3|2

query
SELECT sum(total) OVER month FROM lb WINDOW month AS (ORDER BY x)
----
10

query
SELECT a OPERATOR(pg_catalog.+) day FROM lb
----
3

statement error 42601
SELECT (id) day FROM lb

query
SELECT substring(x FROM 2 FOR CASE WHEN a IS DISTINCT FROM b THEN 1 ELSE 2 END), substring(x FOR CASE WHEN a IS DISTINCT FROM b THEN 1 ELSE 2 END), substring(x FOR CASE WHEN a IS NOT DISTINCT FROM b THEN 1 ELSE 2 END FROM 3), substring(x FOR 2 FROM CASE WHEN a IS DISTINCT FROM b THEN 3 ELSE 2 END) FROM lb
----
b|a|cd|cd

statement ok
CREATE TABLE nchar (a int, c nchar, d nchar(3), e nchar varying(2), f nchar varying)

statement ok
INSERT INTO nchar (a, c) VALUES (1, 'x')

query
SELECT *, octet_length(cast('x' as nchar)), nchar.a FROM nchar
----
1|x|NULL|NULL|NULL|1|1

query
SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'nchar'::regclass AND attnum > 0 ORDER BY attnum
----
integer
character(1)
character(3)
character varying(2)
character varying

query
SELECT n.nchar, cast('abc' as nchar), 'abc'::nchar(2), 'abc'::nchar varying(2) FROM (SELECT 5 AS nchar) n
----
5|a|ab|ab

query
SELECT numeric(3,-1) '12', numeric(3,4) '0.01234'
----
10|0.0123

statement ok
create table cq (force_quote int, header int)

statement ok
insert into cq values (3, 4)

copy_out
COPY (SELECT force_quote * 2 FROM cq) TO STDOUT (FORMAT csv, FORCE_QUOTE *)
----
"6"

copy_out
COPY cq TO STDOUT (FORMAT csv, HEADER on, FORCE_QUOTE *)
----
force_quote,header
"3","4"

# Views and conditions compare as queries do.
statement ok
create view vin as select f from (values (0.1::real), (0.3)) t(f) where f in (0.1, 0.2)

query
select * from vin
----
0.1

statement ok
create table u (f real check (f in (0.1, 0.2)))

statement ok
insert into u values (0.1)

statement ok
create view vun as select pg_typeof(x) from (select 'a' x union select 'b' union select 'c'::char(3)) q

query
select distinct * from vun
----
text

# A record without columns is named only where the text reads it.
statement ok
create table customer (id int)

statement ok
create function looped() returns int language plpgsql as $$ DECLARE r record; BEGIN FOR r IN SELECT customer.nope FROM customer LOOP null; END LOOP; return 1; END $$

statement error 42703
select looped()

statement ok
create function unread() returns int language plpgsql as $$ DECLARE r record; BEGIN return (select r.nope from customer); END $$

statement error 55000
select unread()

statement ok
drop function looped(); drop function unread()

statement ok
drop view vin; drop view vun; drop table u; drop table lb; drop table nchar; drop table cq; drop table customer
