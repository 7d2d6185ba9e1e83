# Numbers.

query
select 1 + 2, 7 / 2, -7 / 2, 7 % 3, 2.5 * 2, 1.0 / 4, 10 / 4.0
----
3|3|-3|1|5.0|0.25000000000000000000|2.5000000000000000

statement error 22012
select 1 / 0

statement error 22003
select 2147483647 + 1

query
select 2147483648 + 1, 2147483647::bigint + 1, -2147483648
----
2147483649|2147483648|-2147483648

query
select abs(-5), round(2.567, 2), round(2.5), round(-1234.5, -2), floor(-1.5), ceil(1.2), trunc(-1.7), sign(-3.0), mod(7, 4)
----
5|2.57|3|-1200|-2|2|-1|-1|3

query
select 1e3, 0.1::double precision, 1::real / 3, sqrt(16), power(2, 10)
----
1000|0.1|0.3333333333333333|4|1024

query
select 5 & 3, 5 | 3, 1 << 4, 2 ^ 3
----
1|7|16|8

# Texts.

query
select 'a' || 'b', 'n' || 1, length('äö'), upper('aä'), lower('AÄ'), substring('hello' from 2 for 3), substr('hello', 4)
----
ab|n1|2|AÄ|aä|ell|lo

query
select trim('  x '), ltrim('xxa', 'x'), rtrim('a  '), lpad('7', 3, '0'), rpad('a', 3), left('hello', 2), right('hello', 2), reverse('abc'), repeat('ab', 2)
----
x|a|a|007|a  |he|lo|cba|abab

query
select replace('banana', 'an', 'AN'), split_part('a,b,c', ',', 2), strpos('hello', 'l'), position('l' in 'hello'), concat('a', null, 1), concat_ws('-', 'a', null, 'b'), initcap('hello world')
----
bANANa|b|3|3|a1|a-b|Hello World

query
select 'abc' like 'a%', 'abc' like '_b_', 'abc' not like 'b%', 'ABC' ilike 'a%', 'a%c' like 'a\%c'
----
t|t|t|t|t

# Truth and nulls.

query
select null = null, null is null, 1 is distinct from null, not true, true and null, false and null, true or null, null::int + 1
----
NULL|t|t|f|NULL|f|t|NULL

query
select 1 in (1, 2), 3 in (1, 2), 3 in (1, null), 3 not in (1, 2), 2 between 1 and 3, 2 not between 1 and 3
----
t|f|NULL|t|t|f

query
select coalesce(null, 2, 3), nullif(1, 1), nullif(2, 1), greatest(1, 3, null), least(2, 1), case when 1 = 2 then 'a' when 1 = 1 then 'b' else 'c' end, case 3 when 1 then 'x' end
----
2|NULL|2|3|1|b|NULL

# Casts.

query
select '42'::int, 42::text, '1.50'::numeric(5,1), 2.5::int, 3.5::float8::int, true::int, 'yes'::boolean, cast('7' as smallint), 'abc'::varchar(2), '  5 '::int
----
42|42|1.5|3|4|1|t|7|ab|5

statement error 22P02
select 'x'::int

statement error 42846
select true::date

statement error 42883
select 1 = true

statement error 42883
select nothing_of_the_kind(1)

query
select '\x00ff'::bytea, '67e55044-10b1-426f-9247-bb680e5fe0c8'::uuid
----
\x00ff|67e55044-10b1-426f-9247-bb680e5fe0c8

# Days and times.

query
select date '2026-01-31' + 1, date '2026-03-01' - date '2026-02-01', timestamp '2026-01-31 12:00:00' + interval '1 month', timestamptz '2026-01-31 12:00:00+02', time '23:59:59.5'
----
2026-02-01|28|2026-02-28 12:00:00|2026-01-31 10:00:00+00|23:59:59.5

query
select extract(year from date '2026-01-31'), extract(epoch from timestamp '1970-01-02 00:00:00'), extract(dow from date '2026-11-24'), date_part('hour', timestamp '2026-01-31 13:14:15'), date_trunc('month', timestamp '2026-01-31 13:14:15')
----
2026|86400.000000|2|13|2026-01-01 00:00:00

statement error 22008
select date '2026-02-30'

query
select date_trunc('hour', now()) <= now(), current_date = now()::date, current_user, current_schema(), version() like 'PostgreSQL%'
----
t|t|tester|public|t

# Both are of one transaction.

query
begin; select now() = transaction_timestamp(); commit; select 1
----
1

# Errors of unsupported and invalid expressions.

statement error 42601
select from where

# Nothing behind a statement is passed over.

statement error 42601
select 1 end anything

statement error 42601
select 1 select 2

statement error 42P02
select $0

statement error 42703
select nothing

query
select 2 = any (array[1, 2]), 3 = any (array[1, 2]), 3 <> all (array[1, 2]), null = any (array[1])
----
t|f|t|NULL

query
select to_regtype('integer'), to_regtype('int8'), to_regtype('nothing')
----
integer|bigint|NULL

# Rows are compared from the left; a null decides only if all values before it are equal.

query
select (1, 'b') < (1, 'c'), (2, 'a') < (1, 'c'), (1, null) < (2, 'a'), (1, null) < (1, 'a'), (null, 1) >= (1, 1), (1, 2) <> (1, null), (1, 2) <> (2, null), (1, 2, 3) >= (1, 2, 3)
----
t|f|t|NULL|NULL|NULL|t|t

statement error 42601
select (1, 2) < (1, 2, 3)

query
select concat('a', true, false), concat_ws('-', true, 'a', false), 'a' || true
----
atf|t-a-f|atrue

query
select quote_ident('true'), quote_ident('plain'), quote_ident('select'), quote_ident('a b')
----
"true"|plain|"select"|"a b"

query
select ' x'::char(1) || '.', 'x  '::char(2) || '.'
----
.|x.

query
select sign('NaN'::float8), sign(0.0::float8), date_part('month', timestamp '2024-02-29') / 4
----
0|0|0.5

query
select q."case", q.text, q."?column?", q.substr, q.ltrim from (select case when true then date '2024-01-02' else date '2024-01-01' end, ('2024-01-01'::date)::text, true, substr('abc', 2), trim(leading from ' x')) q
----
2024-01-02|2024-01-01|t|bc|x

# A number has at most 38 digits behind its point, however many are written.

statement error 22003
select '0.00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000005'::numeric

statement error 22003
select '-0.000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000'::numeric

statement error 22003
select 0.00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000005

statement error 22P02
select '0.000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000x'::numeric

query
select '0.00000000000000000000000000000000000005'::numeric
----
0.00000000000000000000000000000000000005
