# Strings of bits: read, written, computed with, compared, and stored. The answers are those of PostgreSQL 15.

query
SELECT B'101', X'1F', b'', x'aB', B'101'::bit(5), B'10101'::bit(3), B'101'::bit, B'10101'::varbit(3), '101'::varbit, 'x1f'::bit(8), 'b10'::bit(2), bit '1', bit varying '10', bit(3) '101'
----
101|00011111||10101011|10100|101|1|101|101|00011111|10|1|10|101

statement error 22P02
SELECT B'102'
----
"2" is not a valid binary digit

statement error 22P02
SELECT X'1G'
----
"G" is not a valid hexadecimal digit

statement error 22P02
SELECT '12'::varbit
----
"2" is not a valid binary digit

statement error 22023
SELECT '101'::bit(0)
----
length for type bit must be at least 1

statement error 22023
SELECT '101'::varbit(0)
----
length for type varbit must be at least 1

query
SELECT 44::bit(10), 44::bit(3), (-44)::bit(12), (-2)::bit(70), 5::bigint::bit(64), cast(-44 AS bit(12)), 44::bit
----
0000101100|100|111111010100|1111111111111111111111111111111111111111111111111111111111111111111110|0000000000000000000000000000000000000000000000000000000000000101|111111010100|0

query
SELECT B'101100'::int, B'1'::bigint, B'11111111111111111111111111111111'::int, X'FFFFFFFFFFFFFFFF'::bigint, B''::int
----
44|1|-1|-1|0

statement error 22003
SELECT (B'1' || B'11111111111111111111111111111111')::bit(33)::int
----
integer out of range

statement error 42846
SELECT 1::smallint::bit(3)

statement error 42846
SELECT B'101'::smallint

query
SELECT ('x' || substr(md5('a'), 1, 16))::bit(64)::bigint
----
919145239626757800

query
SELECT B'1100' & B'1010', B'1100' | B'1010', B'1100' # B'1010', ~ B'1100', B'1100' << 1, B'1100' >> 2, B'1100' << -1, B'1100' << 9, B'11' || B'00', B'1' || '0', '0' || B'1'
----
1000|1110|0110|0011|1000|0011|0110|0000|1100|10|01

statement error 22026
SELECT B'11' & B'1'
----
cannot AND bit strings of different sizes

statement error 22026
SELECT B'11' | B'1'
----
cannot OR bit strings of different sizes

statement error 22026
SELECT B'11' # B'1'
----
cannot XOR bit strings of different sizes

statement error 42883
SELECT B'11' + B'1'
----
operator does not exist: bit + bit
HINT: No operator matches the given name and argument types. You might need to add explicit type casts.

statement error 42883
SELECT B'11' || 1
----
operator does not exist: bit || integer
HINT: No operator matches the given name and argument types. You might need to add explicit type casts.

query
SELECT pg_typeof(B'1'), pg_typeof(B'1' || B'1'), pg_typeof(B'1' & B'1'), pg_typeof(B'1'::varbit), pg_typeof(ARRAY[B'1']), pg_typeof(substring(B'101' from 2))
----
bit|bit varying|bit|bit varying|bit[]|bit

query
SELECT length(B'10101'), bit_length(B'10101'), octet_length(B'101010101'), octet_length(B''), bit_count(B'10111'), length(B'101'::varbit)
----
5|5|2|0|4|3

query
SELECT get_bit(B'1010', 0), get_bit(B'1010', 3), set_bit(B'1010', 1, 1), set_bit(B'1010', 0, 0)
----
1|0|1110|0010

statement error 2202E
SELECT get_bit(B'1010', 4)
----
bit index 4 out of valid range (0..3)

statement error 2202E
SELECT get_bit(B'', 0)
----
bit index 0 out of valid range (0..-1)

statement error 2202E
SELECT set_bit(B'1010', -1, 1)
----
bit index -1 out of valid range (0..3)

statement error 22023
SELECT set_bit(B'1010', 1, 2)
----
new bit must be 0 or 1

query
SELECT substring(B'110010' from 2 for 3), substring(B'110010' from 3), substring(B'110010' from -1 for 4), substring(B'110010' from 9), substring(B'110010', 2, 0)
----
100|0010|11||

statement error 22011
SELECT substring(B'110010' from 2 for -1)
----
negative substring length not allowed

query
SELECT overlay(B'01010101' placing B'11111' from 2 for 3), overlay(B'01010101' placing B'11' from 4), overlay(B'0101' placing B'11' from 9), overlay(B'0101' placing B'1' from 2 for 0)
----
0111110101|01011101|010111|01101

statement error 22011
SELECT overlay(B'0101' placing B'11' from 0)
----
negative substring length not allowed

query
SELECT position(B'010' in B'000001100010'), position(B'1' in B'000'), position(B'' in B'10'), position(B'1' in B''), position(B'' in B'')
----
10|0|1|0|0

query
SELECT B'101' = B'101', B'101' < B'11', B'01' < B'010', B'1' > B'0111', B'101' = B'101'::varbit, B'10' <> '10', B'101' = '101', B'1' IN ('1', '0'), B'01' BETWEEN B'00' AND B'1'
----
t|t|t|t|t|f|t|t|t

statement error 22P02
SELECT B'1' = '2'
----
"2" is not a valid binary digit

statement error 42883
SELECT B'1' = 1
----
operator does not exist: bit = integer
HINT: No operator matches the given name and argument types. You might need to add explicit type casts.

query
SELECT B'10'::text || 'x', B'10'::varchar, concat(B'10', 1), '10'::text::bit(3), '10'::text::varbit, format('%s', B'10'), to_json(B'10'), quote_literal(B'10')
----
10x|10|101|100|10|10|"10"|'10'

query
SELECT '1'::text::bit(2) & B'10', ARRAY[B'101', B'0'], '{101,NULL}'::varbit[], ARRAY['1', '10']::bit(3)[], (ARRAY[B'1', B'0'])[2]
----
10|{101,0}|{101,NULL}|{100,100}|0

statement ok
CREATE TABLE b (id int PRIMARY KEY, f bit(4) NOT NULL DEFAULT B'0001', v bit varying(6), u bit varying, one bit, many bit(3)[])

statement INSERT 0 2
INSERT INTO b VALUES (1, B'1010', B'101', B'1', B'1', '{101,110}'), (2, '0110', '', NULL, '0', NULL)

statement INSERT 0 1
INSERT INTO b (id) VALUES (3)

statement error 22026
INSERT INTO b (id, f) VALUES (4, B'101')
----
bit string length 3 does not match type bit(4)

statement error 22026
INSERT INTO b (id, f) VALUES (4, '10101')
----
bit string length 5 does not match type bit(4)

statement error 22001
INSERT INTO b (id, v) VALUES (4, B'1010101')
----
bit string too long for type bit varying(6)

statement error 42804
INSERT INTO b (id, f) VALUES (4, 5)
----
column "f" is of type bit but expression is of type integer
HINT: You will need to rewrite or cast the expression.

statement INSERT 0 1
INSERT INTO b (id, f, v) VALUES (4, 5::bit(4), B'0000000'::bit(6))

query
SELECT * FROM b ORDER BY id
----
1|1010|101|1|1|{101,110}
2|0110||NULL|0|NULL
3|0001|NULL|NULL|NULL|NULL
4|0101|000000|NULL|NULL|NULL

query
SELECT id FROM b WHERE f = '1010' OR v > B'0' ORDER BY id
----
1
4

query
SELECT id, f FROM b ORDER BY f DESC, id
----
1|1010
2|0110
4|0101
3|0001

query
SELECT bit_and(f), bit_or(f), bit_xor(f), count(DISTINCT f) FROM b
----
0000|1111|1000|4

statement error 22026
SELECT bit_or(v) FROM b
----
cannot OR bit strings of different sizes

statement error 42883
SELECT min(f) FROM b

query
SELECT f, count(*) FROM b GROUP BY f ORDER BY f
----
0001|1
0101|1
0110|1
1010|1

statement ok
CREATE UNIQUE INDEX ON b (f)

statement error 23505
INSERT INTO b (id, f) VALUES (5, '1010')
----
duplicate key value violates unique constraint "b_f_idx"
DETAIL: Key (f)=(1010) already exists.
SCHEMA: public
TABLE: b
CONSTRAINT: b_f_idx

query
SELECT id FROM b WHERE f >= B'0101' AND f < B'1' ORDER BY f
----
4
2

statement UPDATE 1
UPDATE b SET f = f | B'0001', v = v || B'1' WHERE id = 1

statement error 22001
UPDATE b SET v = v || B'111' WHERE id = 1
----
bit string too long for type bit varying(6)

query
SELECT id, f, v FROM b ORDER BY id
----
1|1011|1011
2|0110|
3|0001|NULL
4|0101|000000

statement error 22026
ALTER TABLE b ALTER f TYPE bit(6)
----
bit string length 4 does not match type bit(6)

statement ok
ALTER TABLE b ALTER f TYPE bit(6) USING f::bit(6)

statement ok
ALTER TABLE b ALTER v TYPE bit varying(9)

query
SELECT id, f, v FROM b ORDER BY id
----
1|101100|1011
2|011000|
3|000100|NULL
4|010100|000000

query
SELECT column_name, data_type, character_maximum_length, udt_name FROM information_schema.columns WHERE table_name = 'b' ORDER BY ordinal_position
----
id|integer|NULL|int4
f|bit|6|bit
v|bit varying|9|varbit
u|bit varying|NULL|varbit
one|bit|1|bit
many|ARRAY|NULL|_bit

query
SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'b'::regclass AND attnum > 0 ORDER BY attnum
----
integer
bit(6)
bit varying(9)
bit varying
bit(1)
bit(3)[]

query
SELECT typname, typlen, typcategory, typispreferred, typarray, typstorage, typalign FROM pg_type WHERE oid IN (1560, 1561, 1562, 1563) ORDER BY oid
----
bit|-1|V|f|1561|x|i
_bit|-1|A|f|0|x|i
varbit|-1|V|t|1563|x|i
_varbit|-1|A|f|0|x|i

query
SELECT oid, typinput, typoutput, typreceive, typsend, typmodin, typmodout FROM pg_type WHERE oid IN (1560, 1562) ORDER BY oid
----
1560|bit_in|bit_out|bit_recv|bit_send|bittypmodin|bittypmodout
1562|varbit_in|varbit_out|varbit_recv|varbit_send|varbittypmodin|varbittypmodout

query
SELECT opcname, opcfamily, opcintype FROM pg_opclass WHERE opcintype IN (1560, 1562) AND opcmethod = 403 ORDER BY 1
----
bit_ops|423|1560
varbit_ops|2002|1562

query
SELECT castsource::regtype, casttarget::regtype, castcontext FROM pg_cast WHERE castsource IN (1560, 1562) OR casttarget IN (1560, 1562) ORDER BY 1, 2
----
bigint|bit|e
integer|bit|e
bit|bigint|e
bit|integer|e
bit|bit|i
bit|bit varying|i
bit varying|bit|i
bit varying|bit varying|i

statement ok
DROP TABLE b

query
SELECT length(B'1'::bit(70000)), bit_count(B'1'::bit(70000))
----
70000|1

statement ok
CREATE VIEW of_bits AS SELECT X'1F' AS b, pg_typeof(X'1F') AS t

query
SELECT * FROM of_bits
----
00011111|bit

statement ok
DROP VIEW of_bits
