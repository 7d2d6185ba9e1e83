# GROUPING SETS, ROLLUP, CUBE and GROUPING: the answers are those of PostgreSQL 15.

statement ok
create table t(g int, k int, v numeric, s text, f float8, d date, ts timestamp, i interval, tz timestamptz)

statement ok
insert into t values (1,1,10,'a',1.5,'2024-01-01','2024-01-01 10:00','1 day','2024-01-01 10:00+00'),(1,2,20,'b',2.5,'2024-01-02','2024-01-01 11:00','2 days','2024-01-03 10:00+00'),(2,1,5,'c',null,'2024-01-05','2024-01-02 10:00','1 mon','2024-01-05 10:00+00'),(2,2,null,'d','NaN',null,null,null,null),(3,null,7,'a','inf','2024-01-05','2024-03-02 10:00','32 days','2024-03-01 10:00+00'),(3,4,7.50,'a','-inf','2024-02-05','2024-03-02 10:00','03:00','2024-03-01 10:00+00')

# Grouping sets.

query
select g,k,grouping(k,g) from t group by cube(g,k) order by 1,2,3
----
1|1|0
1|2|0
1|NULL|2
2|1|0
2|2|0
2|NULL|2
3|4|0
3|NULL|0
3|NULL|2
NULL|1|1
NULL|2|1
NULL|4|1
NULL|NULL|1
NULL|NULL|3

query
select g,k from t group by grouping sets((g,k),(g,k)) order by 1,2
----
1|1
1|1
1|2
1|2
2|1
2|1
2|2
2|2
3|4
3|4
3|NULL
3|NULL

query
select g,k from t group by g, rollup(k) order by 1,2
----
1|1
1|2
1|NULL
2|1
2|2
2|NULL
3|4
3|NULL
3|NULL

query
select g,k,s from t group by rollup((g,k),s) order by 1,2,3
----
1|1|a
1|1|NULL
1|2|b
1|2|NULL
2|1|c
2|1|NULL
2|2|d
2|2|NULL
3|4|a
3|4|NULL
3|NULL|a
3|NULL|NULL
NULL|NULL|NULL

query
select g,k,s,grouping(g,k,s) from t group by grouping sets(rollup(g,k), cube(s), ()) order by 1,2,3,4
----
1|1|NULL|1
1|2|NULL|1
1|NULL|NULL|3
2|1|NULL|1
2|2|NULL|1
2|NULL|NULL|3
3|4|NULL|1
3|NULL|NULL|1
3|NULL|NULL|3
NULL|NULL|a|6
NULL|NULL|b|6
NULL|NULL|c|6
NULL|NULL|d|6
NULL|NULL|NULL|7
NULL|NULL|NULL|7
NULL|NULL|NULL|7

query
select g,k,s,grouping(g,k,s) from t group by grouping sets(grouping sets((g),(k,s)), (s)) order by 1,2,3,4
----
1|NULL|NULL|3
2|NULL|NULL|3
3|NULL|NULL|3
NULL|1|a|4
NULL|1|c|4
NULL|2|b|4
NULL|2|d|4
NULL|4|a|4
NULL|NULL|a|4
NULL|NULL|a|6
NULL|NULL|b|6
NULL|NULL|c|6
NULL|NULL|d|6

query
select count(*) from t group by grouping sets(())
----
6

query
select count(*) from t where false group by grouping sets((),(g))
----
0

query
select count(*), g from t where false group by rollup(g)
----
0|NULL

query
select count(*) from t where false group by ()
----
0

query
select g+1 as x, sum(k) from t group by rollup(x) order by 1
----
2|3
3|3
4|4
NULL|10

query
select g+1 as x, sum(k) from t group by rollup(1) order by 1
----
2|3
3|3
4|4
NULL|10

query
select g, grouping(g) from t group by g order by 1
----
1|0
2|0
3|0

statement error 42803
select grouping(g) from t

statement error 42803
select grouping(k) from t group by g

statement error 42803
select g, k from t group by rollup(g)

query
select g, sum(k), grouping(g) from t group by rollup(g) having grouping(g)=1
----
NULL|10|1

query
select g, sum(k) from t group by rollup(g) having g is null
----
NULL|10

query
select g, sum(sum(k)) over (partition by grouping(g) order by g) from t group by rollup(g) order by g
----
1|3
2|6
3|10
NULL|10

query
select g, rank() over (order by sum(v) nulls first) from t group by cube(g) order by 1
----
1|3
2|1
3|2
NULL|4

query
select distinct k from t group by rollup(g,k) order by 1
----
1
2
4
NULL

query
select g, count(distinct s), string_agg(s,',' order by s) from t group by cube(g) order by g
----
1|2|a,b
2|2|c,d
3|1|a,a
NULL|4|a,a,a,b,c,d

query
select x.* from (select g,k,sum(v) s from t group by rollup(g,k)) x where g=1 order by 1,2
----
1|1|10
1|2|20
1|NULL|30

query
select coalesce(g::text,'all'), sum(k) from t group by rollup(g) order by 1
----
1|3
2|3
3|4
all|10

query
select case when grouping(g)=1 then 'all' else g::text end, sum(k) from t group by rollup(g) order by 1
----
1|3
2|3
3|4
all|10

query
select 1 as one, g from t group by rollup(g) order by g limit 2
----
1|1
1|2

statement error 42601
select g, 'x' from t group by grouping sets(g, 'x')

statement error 54011
select g from t group by cube(g,k,s,v,f,d,ts,i,g,k,s,v,f)

statement ok
create table p(id int primary key, a int, b int)

statement ok
insert into p values(1,2,3),(2,2,4)

query
select id, a, sum(b) from p group by id, rollup(b) order by 1,3
----
1|2|3
1|2|3
2|2|4
2|2|4

statement error 42803
select id, a from p group by rollup(id)

query
select a, b from p group by (a, b) order by 1,2
----
2|3
2|4

query
select a, sum(b) from p group by rollup(a) order by a nulls first fetch first 1 row with ties
----
NULL|7

query
select grouping(g), g from t group by rollup(g) order by grouping(g), g
----
0|1
0|2
0|3
1|NULL

query
select sum(k) from t group by grouping sets ((g), ()) order by 1
----
3
3
4
10

query
select g, (select sum(p.b) from p where p.id = t.g) from t group by rollup(g) order by 1
----
1|3
2|4
3|NULL
NULL|NULL

query
select percentile_cont(0.5) within group (order by v), g from t group by rollup(g) order by 2
----
15|1
5|2
7.25|3
7.5|NULL

# The keys of all groupings are bounded.
statement error 54001
select count(*) from (values (1)) v(x) group by rollup (0+x, 1+x, 2+x, 3+x, 4+x, 5+x, 6+x, 7+x, 8+x, 9+x, 10+x, 11+x, 12+x, 13+x, 14+x, 15+x, 16+x, 17+x, 18+x, 19+x, 20+x, 21+x, 22+x, 23+x, 24+x, 25+x, 26+x, 27+x, 28+x, 29+x, 30+x, 31+x, 32+x, 33+x, 34+x, 35+x, 36+x, 37+x, 38+x, 39+x, 40+x, 41+x, 42+x, 43+x, 44+x, 45+x, 46+x, 47+x, 48+x, 49+x, 50+x, 51+x, 52+x, 53+x, 54+x, 55+x, 56+x, 57+x, 58+x, 59+x, 60+x, 61+x, 62+x, 63+x, 64+x, 65+x, 66+x, 67+x, 68+x, 69+x, 70+x, 71+x, 72+x, 73+x, 74+x, 75+x, 76+x, 77+x, 78+x, 79+x, 80+x, 81+x, 82+x, 83+x, 84+x, 85+x, 86+x, 87+x, 88+x, 89+x, 90+x, 91+x, 92+x, 93+x, 94+x, 95+x, 96+x, 97+x, 98+x, 99+x, 100+x, 101+x, 102+x, 103+x, 104+x, 105+x, 106+x, 107+x, 108+x, 109+x, 110+x, 111+x, 112+x, 113+x, 114+x, 115+x, 116+x, 117+x, 118+x, 119+x, 120+x, 121+x, 122+x, 123+x, 124+x, 125+x, 126+x, 127+x, 128+x, 129+x, 130+x, 131+x, 132+x, 133+x, 134+x, 135+x, 136+x, 137+x, 138+x, 139+x, 140+x, 141+x, 142+x, 143+x, 144+x, 145+x, 146+x, 147+x, 148+x, 149+x, 150+x, 151+x, 152+x, 153+x, 154+x, 155+x, 156+x, 157+x, 158+x, 159+x, 160+x, 161+x, 162+x, 163+x, 164+x, 165+x, 166+x, 167+x, 168+x, 169+x, 170+x, 171+x, 172+x, 173+x, 174+x, 175+x, 176+x, 177+x, 178+x, 179+x, 180+x, 181+x, 182+x, 183+x, 184+x, 185+x, 186+x, 187+x, 188+x, 189+x, 190+x, 191+x, 192+x, 193+x, 194+x, 195+x, 196+x, 197+x, 198+x, 199+x, 200+x, 201+x, 202+x, 203+x, 204+x, 205+x, 206+x, 207+x, 208+x, 209+x, 210+x, 211+x, 212+x, 213+x, 214+x, 215+x, 216+x, 217+x, 218+x, 219+x, 220+x, 221+x, 222+x, 223+x, 224+x, 225+x, 226+x, 227+x, 228+x, 229+x, 230+x, 231+x, 232+x, 233+x, 234+x, 235+x, 236+x, 237+x, 238+x, 239+x, 240+x, 241+x, 242+x, 243+x, 244+x, 245+x, 246+x, 247+x, 248+x, 249+x, 250+x, 251+x, 252+x, 253+x, 254+x, 255+x, 256+x, 257+x, 258+x, 259+x, 260+x, 261+x, 262+x, 263+x, 264+x, 265+x, 266+x, 267+x, 268+x, 269+x, 270+x, 271+x, 272+x, 273+x, 274+x, 275+x, 276+x, 277+x, 278+x, 279+x, 280+x, 281+x, 282+x, 283+x, 284+x, 285+x, 286+x, 287+x, 288+x, 289+x, 290+x, 291+x, 292+x, 293+x, 294+x, 295+x, 296+x, 297+x, 298+x, 299+x)
