# Which operators bind tighter: the answers are those of PostgreSQL 15.

query
select ~5 + 1
----
-7

query
select ~5 * 2
----
-11

query
select ~ 5 & 3
----
2

query
select 4 | 1 & 2
----
0

query
select 4 | 1 # 5
----
0

query
select 1 << 2 + 1
----
8

query
select 1 | 2 || 'x'
----
3x

query
select 'a' || 1 + 2
----
a3

query
select 'a' || 1 || 2 + 3
----
a15

query
select 1 + 2 || 'a'
----
3a

query
select 2 ^ 3 ^ 2
----
64

query
select -2 ^ 2
----
4

query
select 2 * 3 ^ 2
----
18

query
select 10 - 3 - 2
----
5

query
select 100 / 10 / 5
----
2

query
select 7 % 4 * 2
----
6

query
select not true and false
----
f

query
select not false or true
----
t

query
select 1 < 2 and 3 > 2
----
t

query
select 1 + 1 = 2
----
t

query
select 1 = 1 is true
----
t

query
select 1 is null is false
----
t

query
select 1 between 0 and 2 and true
----
t

query
select 5 in (1, 5) = true
----
t

query
select 'abc' like 'a%' = true
----
t

query
select 1 + 1 in (2)
----
t

query
select 'a' || 'b' like 'ab'
----
t

query
select 'a' like 'a' || '%'
----
t

query
select 2 between 1 and 1 + 1
----
t

query
select not 1 = 2
----
t

query
select not 1 in (2)
----
t

query
select -1 is null
----
f

query
select - 2 * 3
----
-6

query
select 3 - -2
----
5

query
select 1 - - 1
----
2

query
select 2::text || 3
----
23

query
select -2::int2
----
-2

query
select -(2)::int
----
-2

query
select 1 + 2::text::int
----
3

query
select 5 & 3 = 1
----
t

query
select 5 & 3 > 0 and true
----
t

query
select 1 | 2 = 3
----
t

query
select 8 >> 1 + 1
----
2

query
select 8 >> 1 = 4
----
t

query
select 'a' || 'b' = 'ab'
----
t

query
select array[1,2] || 3 = array[1,2,3]
----
t

query
select 1 = any(array[1]) and true
----
t

query
select 1 <> 2 is true
----
t

statement error 22P02
select 'x' is distinct from 'y' = true

query
select null is not distinct from null
----
t

query
select 1 + case when true then 1 end * 2
----
3

query
select 5 # 3 & 1
----
0

query
select 6 # 3 | 4 << 1
----
10

query
select '1' < '2' || '3'
----
t

statement error 42883
select 3 % 2 ^ 2

query
select 'a' ~ 'a' || 'b'
----
trueb

statement error 42804
select 'ab' ~ 'a' || 'b' and true

statement error 42601
select 1 < 2 = (3 < 4)

statement error 42601
select true = 1 < 2

query
select 1 + 2 * 3 - 4 / 2
----
5

query
select 2 - 1 || 'a'
----
1a

query
select -5 % 3
----
-2

query
select - 5 / 2
----
-2

query
select +5 - +3
----
2

query
select - - 5
----
5

query
select date '2020-01-01' + 1 - 1
----
2020-01-01

query
select date '2020-01-01' - 1 || 'x'
----
2019-12-31x

query
select at.x from (select 1 as x) at
----
1

query
select ~5 - 1 - 1
----
-4

query
select (~5) + 1
----
-5

query
select ~(5) + 1 * 2
----
-8

query
select 'ab' ~ 'a' || 'b' || 'c'
----
truebc

query
select ('a' ~ 'a') || 'b'
----
trueb

query
select @ 3 - 5
----
2

query
select 'x' !~ 'y' || 'z'
----
truez

statement error 42601
select 1 < 2 < 3

query
select (1 < 2) = true
----
t

query
select 1 + ~1 + 1
----
-2

query
select 'a' ~* 'A' || 'b' || 'c'
----
truebc


query
select 2 * ~1 + 1
----
-6

query
select - ~1 + 1
----
3

query
select ~ ~1 + 1 - 2
----
0

query
select ~1 + 1 + 1
----
-4

query
select 1 - ~1 - ~2 - 3
----
3

query
select 2 * ~1 * 3 + 1
----
-10

query
select 1 = ~1 + 1
----
f

query
select |/ 9 + 16, |/ 9 * 4
----
5|6

query
select ~1 + 2 & 3
----
0
