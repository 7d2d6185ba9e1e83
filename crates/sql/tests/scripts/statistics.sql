# Variances, deviations, bits of groups, hashes and roots: the answers are those of PostgreSQL 15.

statement ok
drop table if exists st

statement ok
create table st (id int primary key, g int, s smallint, b bigint, n numeric(12,3), f float8, r real)

statement ok
insert into st values (1,1,3,30000000000,1.5,0.1,0.25),(2,1,4,-5,2.25,1e10,1.5),(3,1,5,77,-3.125,-3.3,2),(4,2,7,1,99999999.999,2.5,3.5),(5,2,null,null,null,null,null),(6,3,9,9,9,9,9),(7,3,9,9,9,9,9)

query
select stddev(s), variance(s), stddev_pop(s), var_pop(s), stddev_samp(b), var_samp(b) from st
----
2.5625508125043427|6.5666666666666667|2.3392781412696999|5.4722222222222222|12247448706|149999999818000000947

query
select g, stddev(n), variance(n), stddev_pop(n), var_pop(n) from st group by g order by g
----
1|2.9110064124514280|8.4739583333333333|2.3768267828252768|5.6493055555555556
2|NULL|NULL|0|0
3|0|0|0|0

query
select g, stddev(f), variance(f), stddev_pop(f), var_pop(f), stddev(r), var_pop(r) from st group by g order by g
----
1|5773502692.820018|3.3333333344e+19|4714045208.664564|2.222222222933333e+19|0.9013878188659973|0.5416666666666666
2|NULL|NULL|0|0|NULL|0
3|0|0|0|0|0|0

query
select stddev(n) from st where id = 1
----
NULL

query
select var_pop(n), var_pop(f), stddev(f) from st where id = 1
----
0|0|NULL

query
select stddev(n) from st where false
----
NULL

query
select var_samp(f) from (values (1::float8), ('infinity')) v(f)
----
NaN

query
select bit_and(s), bit_or(s), bit_xor(s), bit_and(id), bit_or(b), bit_xor(b) from st
----
0|15|5|0|-1|-30000000073

query
select g, bit_and(s), bit_or(s), bit_xor(s) from st group by g order by g
----
1|0|7|2
2|7|7|7
3|9|9|0

query
select stddev(distinct s), variance(s) filter (where id < 4) from st
----
2.4083189157584591|1.00000000000000000000

query
select id, stddev(n) over (partition by g order by id), var_pop(f) over (order by id rows between 1 preceding and current row) from st order by id
----
1|NULL|0
2|0.53033008588991064330|2.4999999999499997e+19
3|2.9110064124514280|2.5000000016500007e+19
4|NULL|8.41
5|NULL|0
6|NULL|0
7|0|0

query
select pg_typeof(stddev(s)), pg_typeof(var_pop(f)), pg_typeof(bit_or(s)) from st
----
numeric|double precision|smallint

query
select stddev(x), variance(x) from (values (0.0001), (0.0002), (0.00035)) v(x)
----
0.000125830573921179160296|0.000000015833333333333333

query
select stddev(x), variance(x) from (values (123456789012345.678), (223456789012345.678)) v(x)
----
70710678118654.752440|5000000000000000000000000000.000000

query
select var_samp(x) from generate_series(1, 1000) as g(x)
----
83416.666666666667

query
select md5('a'), md5(''), md5('\x00ff'::bytea), md5('äöü')
----
0cc175b9c0f1b6a831c399e269772661|d41d8cd98f00b204e9800998ecf8427e|d07d34efac6328007ad67c7e0a985e00|0a09d7ee1e23c509e5e6846c86823081

query
select sha224('a'), sha256('\x61'), sha384(''), sha512('abc')
----
\xabd37534c7d9a2efb9465de931cd7055ffdb8879563ae98078d6d6d5|\xca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb|\x38b060a751ac96384cd9327eb1b1e36a21fdb71114be07434c0cc7bf63f6e1da274edebfe76f65fbd51ad2f14898b95b|\xddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f

query
select encode(sha256('a'), 'hex')
----
ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb

query
select @ -5, @ -5.5, @ (-2.5)::float8, |/ 16, ||/ 8, |/ 2.25, ||/ -8
----
5|5.5|2.5|4|2|1.5|-2

query
select |/ 25.0 + 1, @ -3 * 2
----
5.0990195135927845|6

statement error 42883
select stddev('x'::text)

statement error 42883
select bit_and(1.5)

statement error 42883
select stddev(true)

statement error 42883
select @ 'x'::text

statement error 42883
select |/ true

statement error 2201F
select |/ -4


# A function that is none goes before a column that is not grouped; one of an ordered set is refused by its name.
statement error 42883
select count(*), nosuch(n) from st

statement error 42803
select count(*), abs(n) from st

statement error 42883
select count(*), nosuch(n, 'x') + 1 from st

statement error 42803
select count(*), abs(g + n) from st group by g

statement error 42883
select stddev_samp('a'::text)

# With at most 38 digits behind the point.
query
select stddev_pop(x) from (values (0.00000000000000000001), (0.00000000000000000003)) v(x)
----
0.00000000000000000001000000000000000000

query
select stddev_samp(x) from (values (0.0000000000000001), (0.0000000000000002), (0.0000000000000004)) v(x)
----
0.00000000000000015275252316519466579518

query
select stddev_pop(x), stddev_samp(x) from (values (10000000000000000000), (37000000000000000000)) v(x)
----
13500000000000000000|19091883092036783159

query
select stddev(x), variance(x) from (values (0.1), (0.15), (0.17), (12.5)) v(x)
----
6.1800701182645708|38.1932666666666667
