# Hashes, as PostgreSQL 15 computes them.

query
SELECT hashtext('abc'), hashtext('hello world, this is long'), hashtext(''), hashtext('twelve bytes'), hashtext('ünïcödé'), hashtext(NULL)
----
-785388649|-1137652777|-1477818771|652846557|-1331701621|NULL

query
SELECT hashtext(repeat('x', g)) FROM generate_series(1, 26) g
----
1074944137
-1086392228
-1992236649
-1379736791
-370454118
1489915569
-66683019
-2126973000
1651296771
755764456
-1494243903
631527812
28686851
-9498641
-831469806
466095594
-779018188
-573456876
1241834263
-1398284920
-630423905
2058998053
597544042
1380215333
733930510
-1144469394

query
SELECT hashtextextended('abc', 0), hashtextextended('abc', 77), hashtextextended('abc', -1), hashtextextended('', 5), hashtextextended(repeat('long', 20), 9000000000)
----
-6747756470228489321|7593781444504972566|1911237551546830967|-8122693617258832648|-5134882833684778726

query
SELECT hashint4(42), hashint4(-1), hashint4(0), hashint2(-3::int2), hashint8(42), hashint8(-1), hashint8(-42), hashint8(9000000000), hashint8(-9000000000), hashoid(7::oid)
----
1509752520|385747274|-272711505|-1044245375|1509752520|385747274|-487492805|1698354545|-2086669853|-978793473

query
SELECT hashint4extended(42, 5), hashint4extended(42, 0), hashint2extended(1::int2, 3), hashint8extended(9000000000, 1), hashint8extended(-1, 1), hashoidextended(7::oid, 2)
----
9184512350119137053|8010225493015854792|8154189042689340213|-8710052698719312742|3987656643895367148|-9183140840125845154

query
SELECT hashfloat8(1.5), hashfloat8(0), hashfloat8(-0.0::float8), hashfloat8('nan'), hashfloat8('infinity'), hashfloat4(1.5::real), hashfloat8extended(0, 9), hashfloat8extended(2.5, 9), hashfloat4extended(2.5::real, 9)
----
630860146|0|0|-1275764840|-2133226302|630860146|9|-8381240346154012268|-8381240346154012268

query
SELECT uuid_hash('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'), uuid_hash_extended('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 4), hashbpchar('ab  '), hashbpchar('ab'), hashbpcharextended('ab '::char(5), 3)
----
1154666245|-6149203922166663227|1718550461|1718550461|3720279804167291300

query
SELECT hashtext(t) % 8 FROM (VALUES ('a'), ('b'), ('c')) v (t)
----
1
0
2
