# Functions of arrays, texts, sizes and the session, with PostgreSQL's answers.

# Arrays: other elements in the place of some, and arrays of one value.

query
select array_replace(array[1, 2, 2, 3], 2, 9), array_replace(array[1, null, 3], null, 0), array_replace(array[[1, 2], [2, 1]], 2, null), array_replace(null::int[], 1, 2), array_replace('{}'::int[], 1, 2)
----
{1,9,9,3}|{1,0,3}|{{1,NULL},{NULL,1}}|NULL|{}

query
select array_replace(array['a', 'b'], 'b', 'c'), array_replace(array[1, 2], 2, 2.5), array_replace('[2:3]={1,2}'::int[], 1, 5), array_replace(array[1.0, 2.00], 2, 3)
----
{a,c}|{1,2.5}|[2:3]={5,2}|{1.0,3}

query
select array_replace(array[interval '24 hours'], interval '1 day', interval '0'), array_replace(array['{"a":1}'::jsonb], '{"a": 1.0}', '2')
----
{00:00:00}|{2}

statement error 42883
select array_replace(array[1], 'a'::text, 'b'::text)

statement error 42883
select array_replace(array['1'::json], '1'::json, '2'::json)

query
select array_fill(7, array[3]), array_fill(0, array[2, 2], array[2, 3]), array_fill(null::text, array[2]), array_fill('x y'::text, array[1, 2]), array_fill(1, '{}'), array_fill(1, array[0]), array_fill(1, array[2, 0])
----
{7,7,7}|[2:3][3:4]={{0,0},{0,0}}|{NULL,NULL}|{{"x y","x y"}}|{}|{}|{}

query
select array_fill(true, array[2]), pg_typeof(array_fill(1.5, array[1])), array_fill(date '2024-02-29', array[2])
----
{t,t}|numeric[]|{2024-02-29,2024-02-29}

statement error 22004
select array_fill(1, null), 1

statement error 22004
select array_fill(1, array[1], null)

statement error 22004
select array_fill(1, array[null::int])

statement error 54000
select array_fill(1, array[-1])

statement error 2202E
select array_fill(1, array[[1, 2]])

statement error 2202E
select array_fill(1, array[1, 2], array[1])

statement error 54000
select array_fill(1, array[1, 1, 1, 1, 1, 1, 1])

statement error 54000
select array_fill(1, array[100000, 100000])

statement error 54000
select array_fill(1, array[3], array[2147483646])

statement error 42704
select array_fill(array[1], array[2])

statement error 42804
select array_fill('x', array[2])

# Texts.

query
select textcat('a', 'b'), textcat('a', null), textcat('', '')
----
ab|NULL|

query
select parse_ident('Schema."Table"'), parse_ident('  a . B$1 '), parse_ident('"a""b".c'), parse_ident('a b', false), parse_ident('é.x'), parse_ident('_x')
----
{schema,Table}|{a,b$1}|{"a\"b",c}|{a}|{é,x}|{_x}

statement error 22023
select parse_ident('a b')

statement error 22023
select parse_ident('a.')

statement error 22023
select parse_ident('.a')

statement error 22023
select parse_ident('""')

statement error 22023
select parse_ident('"a')

statement error 22023
select parse_ident('1a')

statement error 22023
select parse_ident('')

query
select parse_ident(str => 'a.b', strict => true)
----
{a,b}

query
select normalize(U&'\0061\0308', nfc) = U&'\00E4', normalize(U&'\00E4', NFD) = U&'\0061\0308', length(normalize(U&'\FB01', NFKC)), normalize('abc'), length(normalize(U&'\FB01', nfkd)), normalize(null)
----
t|t|2|abc|2|NULL

query
select U&'\00E4' is normalized, U&'\0061\0308' is normalized, U&'\0061\0308' is nfd normalized, U&'\00E4' is not nfd normalized, 'abc' is nfkc normalized, U&'\FB01' is not nfkc normalized, null is normalized
----
t|f|t|t|t|t|NULL

statement error 22023
select "normalize"('abc', 'def')

# The form is a word.

statement error 42601
select normalize('abc', 'NFC')

statement error 42601
select no_such_column, normalize(('a,b'), nfc || 'x')

statement error 42601
select normalize((array['a', 'b'])[1], null::text)

query
select pg_catalog.normalize('abc', 'NFC'), "normalize"('abc', 'nfc'::text), normalize(normalize((array['a', 'b'])[1], nfd), nfc)
----
abc|abc|a

query
select collation for ('a'::text), collation for ('a' collate "C"), pg_collation_for('a'::text), collation for ('x'), collation for ('a'::varchar collate "POSIX")
----
"default"|"C"|"default"|NULL|"POSIX"

statement error 42804
select collation for (1)

# Sizes.

query
select pg_size_bytes('1'), pg_size_bytes(' 1.5 kB '), pg_size_bytes('2GB'), pg_size_bytes('-1 MB'), pg_size_bytes('1e3'), pg_size_bytes('.5 kb'), pg_size_bytes('3 bytes'), pg_size_bytes('1 PB'), pg_size_bytes('1.'), pg_size_bytes('+2 Tb')
----
1|1536|2147483648|-1048576|1000|512|3|1125899906842624|1|2199023255552

statement error 22023
select pg_size_bytes('1 AB')

statement error 22023
select pg_size_bytes('x')

statement error 22023
select pg_size_bytes('')

statement error 22023
select pg_size_bytes('1 kB x')

statement error 22003
select pg_size_bytes('1e100 kB')

statement error 22023
select pg_size_bytes('.')

statement error 22023
select pg_size_bytes('1 e2')

query
select pg_column_size(1), pg_column_size(1::bigint), pg_column_size(true), pg_column_size('abc'::text), pg_column_size(1.5), pg_column_size(null::int), pg_column_size('\x0102'::bytea), pg_column_size(now()), pg_column_size(0::numeric), pg_column_size(123456.789)
----
4|8|1|7|10|NULL|6|8|6|12

# Numbers.

statement error 22003
select gcd(-2147483648, 0)

statement error 22003
select gcd(-2147483648, -2147483648)

statement error 22003
select lcm(2147483647, 2)

statement error 22003
select gcd(-9223372036854775808, 0)

statement error 22003
select lcm(9223372036854775807, 2)

query
select gcd(0, 0), lcm(0, 0), gcd(-12, 18), lcm(-4, 6), lcm(0, 5), gcd(12.5, 2.5), lcm(1.5, 0.25), gcd(-2147483648, 1), gcd(-2147483648, 6), gcd(3::smallint, 6), gcd(1.20, 0.3), lcm(-2147483648, 1::bigint)
----
0|0|6|12|0|2.5|1.50|1|2|3|0.30|2147483648

# Random numbers of a seed.

statement ok
select setseed(0.5)

query
select random(), random()
----
0.9851677175347999|0.825301858027981

query
select random() from generate_series(1, 3)
----
0.12974610012450416
0.16356291958601088
0.6476186144084

statement ok
select setseed(-1), setseed(1)

query
select random()
----
0.3978842227698167

statement error 22023
select setseed(1.5)

statement error 22023
select setseed('NaN')

query
select setseed(null)
----
NULL

# The connection.

query
select pg_typeof(inet_server_port()), pg_typeof(inet_client_addr())
----
integer|inet

