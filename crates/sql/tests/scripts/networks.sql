# Addresses of hosts and networks: read, written, computed with, compared, and stored. The answers are those of PostgreSQL 15.

query
SELECT inet '192.168.1.5', inet '192.168.1.5/24', inet '10.1.2.3/32', inet '10/8', inet '::1', inet '2001:DB8::/32', inet '::ffff:1.2.3.4', cidr '10.0.0.0/8', cidr '10', cidr '192.168.1', cidr '2001:db8::', '1.2.3.4'::cidr
----
192.168.1.5|192.168.1.5/24|10.1.2.3|10.0.0.0/8|::1|2001:db8::/32|::ffff:1.2.3.4|10.0.0.0/8|10.0.0.0/8|192.168.1.0/24|2001:db8::/128|1.2.3.4/32

statement error 22P02
SELECT inet 'x'
----
invalid input syntax for type inet: "x"

statement error 22P02
SELECT inet '1.2.3'
----
invalid input syntax for type inet: "1.2.3"

statement error 22P02
SELECT inet '1.2.3.4/33'
----
invalid input syntax for type inet: "1.2.3.4/33"

statement error 22P02
SELECT cidr '10.1.2.3/24'
----
invalid cidr value: "10.1.2.3/24"
DETAIL: Value has bits set to right of mask.

statement error 22P02
SELECT cidr '256.0.0.0'
----
invalid input syntax for type cidr: "256.0.0.0"

query
SELECT '10.0.0.1'::inet::text, '10.0.0.1/24'::inet::text, '10.0.0.0/8'::cidr::text, '10.0.0.1/24'::inet::cidr, '10.0.0.0/8'::cidr::inet, '10.0.0.1'::text::inet, 'host ' || inet '10.0.0.1', concat('host ', inet '10.0.0.1'), inet '10.0.0.1'::varchar
----
10.0.0.1/32|10.0.0.1/24|10.0.0.0/8|10.0.0.0/24|10.0.0.0/8|10.0.0.1|host 10.0.0.1/32|host 10.0.0.1|10.0.0.1/32

query
SELECT pg_typeof(inet '1.1.1.1'), pg_typeof(cidr '1.1.1.1'), pg_typeof(network(inet '1.1.1.1')), pg_typeof(ARRAY[inet '1.1.1.1']), pg_typeof(coalesce(cidr '1.1.1.1', inet '1.1.1.1')), pg_typeof(min(cidr '1.1.1.1'))
----
inet|cidr|cidr|inet[]|inet|inet

query
SELECT host(inet '10.0.0.1/24'), text(inet '10.0.0.1'), family(inet '::1'), family(inet '1.1.1.1'), masklen(inet '10.0.0.1/24'), network(inet '10.0.0.1/24'), netmask(inet '10.0.0.1/24'), hostmask(inet '10.0.0.1/24'), broadcast(inet '10.0.0.1/24'), abbrev(inet '10.1.0.0/16'), abbrev(cidr '10.1.0.0/16'), abbrev(cidr '0.0.0.0/0')
----
10.0.0.1|10.0.0.1/32|6|4|24|10.0.0.0/24|255.255.255.0|0.0.0.255|10.0.0.255/24|10.1.0.0/16|10.1/16|0/0

query
SELECT netmask(inet '2001:db8::1/48'), hostmask(inet '2001:db8::1/120'), broadcast(inet '2001:db8::1/120'), network(inet '2001:db8::1/48'), abbrev(cidr '2001:db8::/32'), abbrev(cidr '::/0'), abbrev(cidr '::1/128'), host(inet '2001:db8::1/48'), set_masklen(inet '2001:db8::1', 64), netmask(inet '10.0.0.1/0'), hostmask(inet '10.0.0.1/0')
----
ffff:ffff:ffff::|::ff|2001:db8::ff/120|2001:db8::/48|2001:db8/32|::/0|::1/128|2001:db8::1|2001:db8::1/64|0.0.0.0|255.255.255.255

query
SELECT set_masklen(inet '10.0.0.1/24', 16), set_masklen(cidr '10.1.1.0/24', 16), set_masklen(inet '10.0.0.1/24', -1), inet_same_family(inet '1.1.1.1', inet '::1'), inet_same_family(inet '1.1.1.1', cidr '2.0.0.0/8'), inet_merge(inet '10.0.1.1/24', inet '10.0.2.5'), inet_merge(inet '::1', inet '::2')
----
10.0.0.1/16|10.1.0.0/16|10.0.0.1|f|t|10.0.0.0/22|::/126

statement error 22023
SELECT set_masklen(inet '10.0.0.1', 33)
----
invalid mask length: 33

statement error 22023
SELECT set_masklen(cidr '10.0.0.0/8', -2)
----
invalid mask length: -2

statement error 22023
SELECT inet_merge(inet '10.0.0.1', inet '::1')
----
cannot merge addresses from different families

query
SELECT inet '10.0.0.1' << inet '10.0.0.0/8', inet '10.0.0.0/8' << inet '10.0.0.0/8', inet '10.0.0.0/8' <<= inet '10.0.0.0/8', inet '10.0.0.0/8' >> inet '10.0.0.1', cidr '10.0.0.0/8' >>= cidr '10.0.0.0/8', inet '10.0.0.0/8' && inet '10.1.0.0/16', inet '10.0.0.0/8' && inet '11.0.0.0/8', inet '::1' << inet '10.0.0.0/8', inet '10.0.0.1' << '10.0.0.0/24', '10.0.0.1' <<= cidr '10.0.0.0/24'
----
t|f|t|t|t|t|f|f|t|t

query
SELECT ~ inet '10.0.0.1', inet '10.1.2.3/24' & inet '255.255.0.0', inet '10.1.2.3' | inet '0.0.255.255/8', inet '10.0.0.1' + 300, 300 + inet '10.0.0.1', inet '10.0.1.45' - 300, inet '10.0.1.45' - inet '10.0.0.1', inet '10.0.0.1' - '10.0.1.45', ~ inet '::1', inet '2001:db8::ffff' + 1, inet '2001:db8::1' - inet '2001:db8::2'
----
245.255.255.254|10.1.0.0|10.1.255.255|10.0.1.45|10.0.1.45|10.0.0.1|300|-300|ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe|2001:db8::1:0|-1

statement error 22003
SELECT inet '255.255.255.255' + 1
----
result is out of range

statement error 22003
SELECT inet '0.0.0.0' - 1
----
result is out of range

statement error 22023
SELECT inet '10.0.0.1' & inet '::1'
----
cannot AND inet values of different sizes

statement error 22023
SELECT inet '10.0.0.1' - inet '::1'
----
cannot subtract inet values of different sizes

statement error 22003
SELECT inet '8000::' - inet '::'
----
result is out of range

statement error 42883
SELECT inet '10.0.0.1' + 1.5
----
operator does not exist: inet + numeric
HINT: No operator matches the given name and argument types. You might need to add explicit type casts.

statement error 42883
SELECT inet '10.0.0.1' * 2
----
operator does not exist: inet * integer
HINT: No operator matches the given name and argument types. You might need to add explicit type casts.

statement error 42883
SELECT inet '10.0.0.1' = 5
----
operator does not exist: inet = integer
HINT: No operator matches the given name and argument types. You might need to add explicit type casts.

statement error 42883
SELECT host(1)
----
function host(integer) does not exist
HINT: No function matches the given name and argument types. You might need to add explicit type casts.

query
SELECT inet '10.0.0.1' = '10.0.0.1/32', inet '10.0.0.1' = cidr '10.0.0.1', inet '10.0.0.1/24' = inet '10.0.0.1', inet '10.0.0.0/8' < inet '10.0.0.0/9', inet '10.255.0.0/8' < inet '10.0.0.0/16', inet '255.255.255.255' < inet '::', inet '10.0.0.2' > '10.0.0.1', inet '10.0.0.1' BETWEEN '10.0.0.0' AND '10.0.0.255', inet '10.0.0.1' IN ('10.0.0.1', '10.0.0.2'), inet '1.1.1.1' = ANY ('{1.1.1.1,2.2.2.2/8}'::inet[])
----
t|t|f|t|t|t|t|t|t|t

query
SELECT ARRAY[inet '10.0.0.1', '10.0.0.0/8'], '{10.0.0.0/8,NULL,::1}'::inet[], '{10.0.0.0/8,10}'::cidr[], ('{10.0.0.0/8,::1}'::inet[])[2], array_agg(x), ARRAY['10.0.0.1'::inet]::text[], '{10.0.0.1/24}'::inet[]::cidr[] FROM (VALUES (inet '1.1.1.1'), ('2.2.2.2')) v (x)
----
{10.0.0.1,10.0.0.0/8}|{10.0.0.0/8,NULL,::1}|{10.0.0.0/8,10.0.0.0/8}|::1|{1.1.1.1,2.2.2.2}|{10.0.0.1/32}|{10.0.0.0/24}

query
SELECT to_json(inet '10.0.0.1'), json_build_object('a', inet '10.0.0.1/8'), jsonb_agg(cidr '10.0.0.0/8')
----
"10.0.0.1"|{"a" : "10.0.0.1/8"}|["10.0.0.0/8"]

query
SELECT greatest(inet '1.1.1.1', '2.2.2.2'), least(inet '1.1.1.1', '2.2.2.2'), nullif(inet '1.1.1.1', '1.1.1.1'), coalesce(NULL, inet '1.1.1.1'), count(DISTINCT x), max(x), min(x) FROM (VALUES (inet '1.1.1.1'), ('1.1.1.1/32'), ('::1'), ('1.1.1.1/24')) v (x)
----
2.2.2.2|1.1.1.1|NULL|1.1.1.1|3|::1|1.1.1.1/24

statement ok
CREATE TABLE hosts (id int PRIMARY KEY, address inet UNIQUE, net cidr NOT NULL DEFAULT '10.0.0.0/8', others inet[])

statement ok
INSERT INTO hosts VALUES (1, '10.0.0.1'), (2, '10.0.0.2/24'), (4, '10.0.0.2'), (5, NULL)

statement ok
INSERT INTO hosts VALUES (3, '::1', '2001:db8::/32', '{1.1.1.1,::2/64}')

query
SELECT * FROM hosts ORDER BY address
----
2|10.0.0.2/24|10.0.0.0/8|NULL
1|10.0.0.1|10.0.0.0/8|NULL
4|10.0.0.2|10.0.0.0/8|NULL
3|::1|2001:db8::/32|{1.1.1.1,::2/64}
5|NULL|10.0.0.0/8|NULL

query
SELECT * FROM hosts ORDER BY net DESC, id LIMIT 2
----
3|::1|2001:db8::/32|{1.1.1.1,::2/64}
1|10.0.0.1|10.0.0.0/8|NULL

statement error 23505
INSERT INTO hosts VALUES (6, '10.0.0.1/32')
----
duplicate key value violates unique constraint "hosts_address_key"
DETAIL: Key (address)=(10.0.0.1) already exists.
SCHEMA: public
TABLE: hosts
CONSTRAINT: hosts_address_key

statement error 22P02
INSERT INTO hosts VALUES (6, '10.0.0.9', '10.1.1.1/8')
----
invalid cidr value: "10.1.1.1/8"
DETAIL: Value has bits set to right of mask.

statement error 22P02
INSERT INTO hosts VALUES (6, 'nonsense')
----
invalid input syntax for type inet: "nonsense"

statement error 42804
INSERT INTO hosts VALUES (6, 5)
----
column "address" is of type inet but expression is of type integer
HINT: You will need to rewrite or cast the expression.

query
SELECT id FROM hosts WHERE address = '10.0.0.2'
----
4

query
SELECT id FROM hosts WHERE address > '10.0.0.1' AND address < '11.0.0.0' ORDER BY address
----
4

query
SELECT id FROM hosts WHERE address <<= net ORDER BY id
----
1
2
4

query
SELECT id FROM hosts WHERE host(address) LIKE '10.%' ORDER BY id
----
1
2
4

query
SELECT id, address FROM hosts WHERE net = inet '10.0.0.0/8' AND address IS NOT NULL ORDER BY address DESC
----
4|10.0.0.2
1|10.0.0.1
2|10.0.0.2/24

statement ok
UPDATE hosts SET net = address WHERE id = 2

query
SELECT net FROM hosts WHERE id = 2
----
10.0.0.0/24

query
UPDATE hosts SET address = set_masklen(address, 16) WHERE id = 1 RETURNING address
----
10.0.0.1/16

query
DELETE FROM hosts WHERE address IN ('::1', '9.9.9.9') RETURNING id
----
3

statement ok
CREATE TABLE leases (host inet PRIMARY KEY, CHECK (host << '10.0.0.0/8'), whole text GENERATED ALWAYS AS (host(host)) STORED)

statement ok
CREATE INDEX leases_network ON leases (network(host))

statement ok
CREATE INDEX leases_some ON leases (host inet_ops) WHERE host > '10.0.0.5'

statement ok
INSERT INTO leases VALUES ('10.0.0.1'), ('10.1.0.1/16')

statement error 23514
INSERT INTO leases VALUES ('11.0.0.1')
----
new row for relation "leases" violates check constraint "leases_host_check"
DETAIL: Failing row contains (11.0.0.1, 11.0.0.1).
SCHEMA: public
TABLE: leases
CONSTRAINT: leases_host_check

query
SELECT * FROM leases WHERE network(host) = '10.1.0.0/16'
----
10.1.0.1/16|10.1.0.1

statement ok
CREATE TABLE uses (of inet REFERENCES leases)

statement ok
INSERT INTO uses VALUES ('10.0.0.1'), ('10.1.0.1/16')

statement error 23503
INSERT INTO uses VALUES ('10.0.0.7')
----
insert or update on table "uses" violates foreign key constraint "uses_of_fkey"
DETAIL: Key (of)=(10.0.0.7) is not present in table "leases".
SCHEMA: public
TABLE: uses
CONSTRAINT: uses_of_fkey

statement error 23503
DELETE FROM leases WHERE host = '10.0.0.1'
----
update or delete on table "leases" violates foreign key constraint "uses_of_fkey" on table "uses"
DETAIL: Key (host)=(10.0.0.1) is still referenced from table "uses".
SCHEMA: public
TABLE: uses
CONSTRAINT: uses_of_fkey

statement error 42804
CREATE TABLE wrong (of bytea REFERENCES leases)
----
foreign key constraint "wrong_of_fkey" cannot be implemented
DETAIL: Key columns "of" and "host" are of incompatible types: bytea and inet.

query
SELECT host, count(*) FROM leases JOIN uses ON host = of GROUP BY host ORDER BY 1
----
10.0.0.1|1
10.1.0.1/16|1

query
SELECT address FROM hosts WHERE address IS NOT NULL UNION SELECT host FROM leases ORDER BY 1
----
10.0.0.1/16
10.0.0.2/24
10.0.0.1
10.0.0.2
10.1.0.1/16

statement error 23505
ALTER TABLE hosts ALTER COLUMN address TYPE text USING host(address)
----
could not create unique index "hosts_address_key"
DETAIL: Key (address)=(10.0.0.2) is duplicated.
SCHEMA: public
TABLE: hosts
CONSTRAINT: hosts_address_key

statement ok
ALTER TABLE hosts ALTER COLUMN net TYPE inet

statement error 22P02
INSERT INTO hosts VALUES (9, 'any text', '10.1.2.3/8')
----
invalid input syntax for type inet: "any text"

query
SELECT id, address, net FROM hosts ORDER BY id
----
1|10.0.0.1/16|10.0.0.0/8
2|10.0.0.2/24|10.0.0.0/24
4|10.0.0.2|10.0.0.0/8
5|NULL|10.0.0.0/8

statement ok
ALTER TABLE hosts ALTER COLUMN net TYPE cidr

query
SELECT id, net FROM hosts ORDER BY id
----
1|10.0.0.0/8
2|10.0.0.0/24
4|10.0.0.0/8
5|10.0.0.0/8

query
SELECT oid, typname, typlen, typcategory, typispreferred, typarray, typalign, typstorage FROM pg_type WHERE typname IN ('inet', 'cidr', '_inet', '_cidr') ORDER BY oid
----
650|cidr|-1|I|f|651|i|m
651|_cidr|-1|A|f|0|i|x
869|inet|-1|I|t|1041|i|m
1041|_inet|-1|A|f|0|i|x

query
SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'leases' ORDER BY ordinal_position
----
host|inet
whole|text

query
SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'leases'::regclass AND attnum > 0 ORDER BY attnum
----
inet
text

reopen

query
SELECT * FROM leases ORDER BY host
----
10.0.0.1|10.0.0.1
10.1.0.1/16|10.1.0.1

statement error 23505
INSERT INTO leases VALUES ('10.0.0.1/32')
----
duplicate key value violates unique constraint "leases_pkey"
DETAIL: Key (host)=(10.0.0.1) already exists.
SCHEMA: public
TABLE: leases
CONSTRAINT: leases_pkey

statement error 23514
INSERT INTO leases VALUES ('12.0.0.1')
----
new row for relation "leases" violates check constraint "leases_host_check"
DETAIL: Failing row contains (12.0.0.1, 12.0.0.1).
SCHEMA: public
TABLE: leases
CONSTRAINT: leases_host_check

statement ok
CREATE INDEX again ON leases (whole)

statement ok
ALTER INDEX again RENAME TO leases_again

statement error 42P01
ALTER INDEX again RENAME TO other
----
relation "again" does not exist

statement error 42P07
ALTER INDEX leases_again RENAME TO leases_network
----
relation "leases_network" already exists

statement ok
ALTER TABLE hosts RENAME CONSTRAINT hosts_address_key TO addresses

statement error 42704
ALTER TABLE hosts RENAME CONSTRAINT nothing TO addresses
----
constraint "nothing" for table "hosts" does not exist

statement ok
ALTER TABLE uses RENAME CONSTRAINT uses_of_fkey TO uses_lease

statement ok
ALTER TABLE leases RENAME CONSTRAINT leases_host_check TO leases_inside

statement ok
ALTER TABLE hosts RENAME CONSTRAINT hosts_pkey TO hosts_key

query
SELECT conrelid::regclass::text, conname, contype FROM pg_constraint WHERE conrelid IN ('hosts'::regclass, 'uses'::regclass, 'leases'::regclass) ORDER BY 1, 2
----
hosts|addresses|u
hosts|hosts_key|p
leases|leases_inside|c
leases|leases_pkey|p
uses|uses_lease|f

query
SELECT indexname FROM pg_indexes WHERE tablename IN ('hosts', 'leases') ORDER BY 1
----
addresses
hosts_key
leases_again
leases_network
leases_pkey
leases_some

statement error 22P02
INSERT INTO hosts (id, address) VALUES (9, 'x')
----
invalid input syntax for type inet: "x"

statement error 23503
INSERT INTO uses VALUES ('10.0.0.7')
----
insert or update on table "uses" violates foreign key constraint "uses_lease"
DETAIL: Key (of)=(10.0.0.7) is not present in table "leases".
SCHEMA: public
TABLE: uses
CONSTRAINT: uses_lease

statement error 23514
INSERT INTO leases VALUES ('12.0.0.1')
----
new row for relation "leases" violates check constraint "leases_inside"
DETAIL: Failing row contains (12.0.0.1, 12.0.0.1).
SCHEMA: public
TABLE: leases
CONSTRAINT: leases_inside
