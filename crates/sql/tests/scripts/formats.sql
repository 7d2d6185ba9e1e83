# format, literals of SQL, regular expressions by their matches, and those of the SQL standard; the answers are PostgreSQL 15's.

query
select format('Hello %s %1$s %s', 'World', 'Hello again'), format('%s%s', 'x', null), format('INSERT INTO %I VALUES(%L,%L)', 'my tab', 10, 'it''s'), format('100%%')
----
Hello World World Hello again|x|INSERT INTO "my tab" VALUES('10','it''s')|100%

query
select format('>>%10s<<', 'Hello'), format('>>%-10s<<', 'Hello'), format('>>%*s<<', 10, 'Hello'), format('>>%*1$L<<', -10, null), format('>>%2$*1$L<<', 10, 'Hello'), format('>>%1$-10s<<', 'x')
----
>>     Hello<<|>>Hello     <<|>>     Hello<<|>>NULL      <<|>>   'Hello'<<|>>x         <<

query
select format(null), format('%L', E'a\\b'), format('%s', true), format('%s', array[1, 2]), format('%s', timestamptz '2024-01-01 00:00:00+00')
----
NULL|E'a\\b'|t|{1,2}|2024-01-01 00:00:00+00

statement error 22023
select format('Hello %s')
----
too few arguments for format()

statement error 22023
select format('Hello %x', 20)
----
unrecognized format() type specifier "x"
HINT: For a single "%" use "%%".

statement error 22023
select format('%0$s', 'x')
----
format specifies argument 0, but arguments are numbered from 1

statement error 22023
select format('%1$', 'x')
----
unterminated format() type specifier
HINT: For a single "%" use "%%".

statement error 22023
select format('%*0$s', 'x')
----
format specifies argument 0, but arguments are numbered from 1

statement error 22023
select format('%*1s', 'x')
----
width argument position must be ended by "$"

statement error 22004
select format('%I', null)
----
null values cannot be formatted as an SQL identifier

statement error 22003
select format('%2147483648s', 'x')
----
number is out of range

query
select quote_literal('it''s'), quote_literal(E'a\\b'), quote_literal(42), quote_nullable(null), quote_nullable('x')
----
'it''s'|E'a\\b'|'42'|NULL|'x'

query
select regexp_count('ABCABCAXYaxy', 'A.', 1, 'i'), regexp_count('123123', '\d{3}', 4), regexp_count('x', 'y'), regexp_count('abc', '', 5)
----
4|1|0|0

query
select regexp_instr('ABCABCAXYaxy', 'A', 1, 3), regexp_instr('ABCABCAXYaxy', 'A.', 1, 2, 1), regexp_instr('abc', 'd'), regexp_instr('1234567890', '(123)(4(56)(78))', 1, 1, 0, 'i', 4), regexp_instr('äbc', 'b')
----
7|6|0|7|2

query
select regexp_substr('ABCABCAXYaxy', 'a.+', 2, 1, 'i'), regexp_substr('1234567890', '(123)(4(56)(78))', 1, 1, 'i', 3), regexp_substr('abc', 'd'), regexp_substr('abcabc', 'a', 2)
----
ABCAXYaxy|56|NULL|a

query
select regexp_replace('AbcAbc', 'b', 'x', 3), regexp_replace('A PostgreSQL function', 'a|e|i|o|u', 'X', 1, 0, 'i'), regexp_replace('A PostgreSQL function', 'a|e|i|o|u', 'X', 1, 3), regexp_replace('abc', 'b', 'x', 9)
----
AbcAxc|X PXstgrXSQL fXnctXXn|A PostgreSQL fXnction|abc

query
select regexp_matches('foobarbequebaz', '(bar)(beque)')
----
{bar,beque}

query
select regexp_matches('foobarbequebazilbarfbonk', '(b[^b]+)(b[^b]+)', 'g')
----
{bar,beque}
{bazil,barf}

query
select regexp_matches('foo', 'x')
----

statement error 22023
select regexp_count('abc', 'a', 0)
----
invalid value for parameter "start": 0

statement error 22023
select regexp_instr('abc', 'a', 1, 0)
----
invalid value for parameter "n": 0

statement error 22023
select regexp_instr('abc', 'a', 1, 1, 2)
----
invalid value for parameter "endoption": 2

statement error 22023
select regexp_instr('abc', 'a', 1, 1, 0, 'g')
----
regexp_instr() does not support the "global" option

statement error 22023
select regexp_substr('abc', 'a', 1, 1, '', -1)
----
invalid value for parameter "subexpr": -1

statement error 22023
select regexp_replace('abc', 'b', 'x', 1, -1)
----
invalid value for parameter "n": -1

query
select substring('foobar' from 'o.b'), substring('foobar' from 'o(.)b'), substring('foobar' from 'x'), substring('abcdefg' from 'a#"(b_d)#"%' for '#'), substring('abcdefg' from 'a#"%#"g' for '#'), substring('abcdefg' from 'x#"%#"g' for '#'), substring('abcdefg' from '#"%#"(c)%' for '#')
----
oob|o|NULL|bcd|bcdef|NULL|ab

query
select 'abcdefg' similar to '_bcd%', 'abcdefg' not similar to '_bcd%', 'abcd%' similar to '_bcd#%' escape '#', 'abc' similar to '(a|b)bc', 'abc' similar to 'a[b-c]+', 'a.c' similar to 'abc', 'abc' similar to 'ab'
----
t|f|t|t|t|f|f

statement error 22025
select 'abc' similar to 'a' escape 'xx'
----
invalid escape string
HINT: Escape string must be empty or one character.

query
select scale(12.30), min_scale(12.300), trim_scale(12.300), factorial(5), gcd(12.5, 2.5), lcm(1.5, 2), width_bucket(5.35, 0.024, 10.06, 5), width_bucket(5.35::float8, 0, 10, 5)
----
2|1|12.3|120|2.5|6.0|3|3

query
select width_bucket(11, 0, 10, 5), width_bucket(-1, 0, 10, 5), width_bucket(3, 10, 0, 5), array_positions(array[1, 2, 1, null], 1), array_positions(array[1, null], null)
----
6|0|4|{1,3}|{2}

statement error 2201G
select width_bucket(1, 0, 10, 0)
----
count must be greater than zero

statement error 2201G
select width_bucket(1.0, 3, 3, 5)
----
lower bound cannot equal upper bound

statement error 22003
select factorial(-1)
----
factorial of a negative number is undefined
