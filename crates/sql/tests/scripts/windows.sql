# Window functions. What they give is PostgreSQL's.

statement ok
create table staff (id int primary key, name text, team text, pay numeric(8,2), age int, since date, rating float8)

statement ok
insert into staff values (1, 'ada', 'red', 100.50, 30, '2020-01-01', 0.1), (2, 'bob', 'red', 200.00, 41, '2020-05-01', 0.2), (3, 'cyd', 'red', 200.00, 25, '2021-01-01', 0.3), (4, 'dan', 'blue', 50.25, 41, '2019-01-01', 1e20), (5, 'eve', 'blue', null, 33, '2022-02-02', -1e20), (6, 'fay', 'blue', 75.00, null, null, 3.5), (7, 'gus', null, 10.00, 60, '2018-08-08', null), (8, 'hal', null, 20.00, 61, '2017-07-07', 2.5)

statement ok
create table nobody (id int primary key, a int)

# Numbers of rows, ranks.

query
select id, row_number() over (order by id desc) from staff order by id
----
1|8
2|7
3|6
4|5
5|4
6|3
7|2
8|1

query
select id, row_number() over (partition by team order by pay desc, id) from staff order by id
----
1|3
2|1
3|2
4|3
5|1
6|2
7|2
8|1

query
select id, rank() over (order by pay), dense_rank() over (order by pay), percent_rank() over (order by pay), cume_dist() over (order by pay) from staff order by id
----
1|5|5|0.5714285714285714|0.625
2|6|6|0.7142857142857143|0.875
3|6|6|0.7142857142857143|0.875
4|3|3|0.2857142857142857|0.375
5|8|7|1|1
6|4|4|0.42857142857142855|0.5
7|1|1|0|0.125
8|2|2|0.14285714285714285|0.25

query
select id, rank() over (partition by team order by pay), dense_rank() over (partition by team order by pay nulls first) from staff order by id
----
1|1|1
2|2|2
3|2|2
4|1|2
5|3|1
6|2|3
7|1|1
8|2|2

query
select id, row_number() over (order by age nulls first, id), row_number() over (order by age desc nulls last, id) from staff order by id
----
1|3|6
2|5|3
3|2|7
4|6|4
5|4|5
6|1|8
7|7|2
8|8|1

query
select id, rank() over () from staff order by id
----
1|1
2|1
3|1
4|1
5|1
6|1
7|1
8|1

query
select id, percent_rank() over (partition by id order by age), cume_dist() over (partition by id) from staff where id < 3 order by id
----
1|0|1
2|0|1

query
select id, ntile(3) over (order by id), ntile(20) over (order by id), ntile(1) over (order by id), ntile(null) over (order by id) from staff order by id
----
1|1|1|1|NULL
2|1|2|1|NULL
3|1|3|1|NULL
4|2|4|1|NULL
5|2|5|1|NULL
6|2|6|1|NULL
7|3|7|1|NULL
8|3|8|1|NULL

query
select row_number() over ()
----
1

query
select row_number() over (), count(*) over (), sum(a) over (order by id) from nobody
----

# Rows that nobody orders come in the window's order.

query
select id, row_number() over (partition by team order by id desc) from staff
----
6|1
5|2
4|3
3|1
2|2
1|3
8|1
7|2

# Of other rows.

query
select id, lag(name) over (order by id), lead(name) over (order by id), lag(name, 2) over (order by id), lead(name, 2, 'none') over (order by id) from staff order by id
----
1|NULL|bob|NULL|cyd
2|ada|cyd|NULL|dan
3|bob|dan|ada|eve
4|cyd|eve|bob|fay
5|dan|fay|cyd|gus
6|eve|gus|dan|hal
7|fay|hal|eve|none
8|gus|NULL|fay|none

query
select id, lag(pay, 1, 0) over (partition by team order by id), lead(age, 0) over (order by id), lag(age, -1) over (order by id), lag(id, null) over (order by id) from staff order by id
----
1|0|30|41|NULL
2|100.50|41|25|NULL
3|200.00|25|41|NULL
4|0|41|33|NULL
5|50.25|33|NULL|NULL
6|NULL|NULL|60|NULL
7|0|60|61|NULL
8|10.00|61|NULL|NULL

query
select id, lag(id, age - 29, -1) over (order by id) from staff where team = 'red' order by id
----
1|-1
2|-1
3|-1

query
select id, lead(id, id, 0.5) over (order by id) from staff order by id
----
1|2
2|4
3|6
4|8
5|0.5
6|0.5
7|0.5
8|0.5

query
select id, first_value(name) over (partition by team order by age), last_value(name) over (partition by team order by age), nth_value(name, 2) over (partition by team order by age) from staff order by id
----
1|cyd|ada|ada
2|cyd|bob|ada
3|cyd|cyd|NULL
4|eve|dan|dan
5|eve|eve|NULL
6|eve|fay|dan
7|gus|gus|NULL
8|gus|hal|hal

query
select id, last_value(id) over (order by id rows between unbounded preceding and unbounded following), nth_value(id, 3) over (order by id rows between 1 preceding and 1 following), nth_value(id, null) over (order by id) from staff order by id
----
1|8|NULL|NULL
2|8|3|NULL
3|8|4|NULL
4|8|5|NULL
5|8|6|NULL
6|8|7|NULL
7|8|8|NULL
8|8|NULL|NULL

query
select id, first_value(id) over (order by id rows between 2 following and 3 following), last_value(id) over (order by id rows between 3 preceding and 2 preceding) from staff order by id
----
1|3|NULL
2|4|NULL
3|5|1
4|6|2
5|7|3
6|8|4
7|NULL|5
8|NULL|6

# Aggregates: the whole partition, or up to the row and those that are equal.

query
select id, count(*) over (), sum(pay) over (partition by team), avg(age) over (partition by team), min(name) over (partition by team), max(since) over (partition by team) from staff order by id
----
1|8|500.50|32.0000000000000000|ada|2021-01-01
2|8|500.50|32.0000000000000000|ada|2021-01-01
3|8|500.50|32.0000000000000000|ada|2021-01-01
4|8|125.25|37.0000000000000000|dan|2022-02-02
5|8|125.25|37.0000000000000000|dan|2022-02-02
6|8|125.25|37.0000000000000000|dan|2022-02-02
7|8|30.00|60.5000000000000000|gus|2018-08-08
8|8|30.00|60.5000000000000000|gus|2018-08-08

query
select id, sum(pay) over (order by pay), count(*) over (order by pay), count(pay) over (order by pay desc nulls last) from staff order by id
----
1|255.75|5|3
2|655.75|7|2
3|655.75|7|2
4|80.25|3|5
5|655.75|8|7
6|155.25|4|4
7|10.00|1|7
8|30.00|2|6

query
select id, sum(id) over (partition by team order by id), sum(id::bigint) over (partition by team order by id), avg(id) over (order by id) from staff order by id
----
1|1|1|1.00000000000000000000
2|3|3|1.5000000000000000
3|6|6|2.0000000000000000
4|4|4|2.5000000000000000
5|9|9|3.0000000000000000
6|15|15|3.5000000000000000
7|7|7|4.0000000000000000
8|15|15|4.5000000000000000

query
select id, bool_and(age > 30) over (order by id), bool_or(age > 60) over (order by id), string_agg(name, ',') over (partition by team order by id), array_agg(id) over (partition by team order by id desc) from staff order by id
----
1|f|f|ada|{3,2,1}
2|f|f|ada,bob|{3,2}
3|f|f|ada,bob,cyd|{3}
4|f|f|dan|{6,5,4}
5|f|f|dan,eve|{6,5}
6|f|f|dan,eve,fay|{6}
7|f|f|gus|{8,7}
8|f|t|gus,hal|{8}

query
select id, count(*) filter (where age > 30) over (order by id), sum(pay) filter (where team = 'red') over (order by id) from staff order by id
----
1|0|100.50
2|1|300.50
3|1|500.50
4|2|500.50
5|3|500.50
6|3|500.50
7|4|500.50
8|5|500.50

query
select id, sum(pay) over (order by team nulls first, id) - pay from staff order by id
----
1|155.25
2|255.75
3|455.75
4|30.00
5|NULL
6|80.25
7|0.00
8|10.00

# Frames.

query
select id, sum(id) over (order by id rows between 1 preceding and 1 following), sum(id) over (order by id rows 2 preceding), sum(id) over (order by id rows between 1 following and 2 following), sum(id) over (order by id rows between 2 preceding and 1 preceding) from staff order by id
----
1|3|1|5|NULL
2|6|3|7|1
3|9|6|9|3
4|12|9|11|5
5|15|12|13|7
6|18|15|15|9
7|21|18|8|11
8|15|21|NULL|13

query
select id, sum(id) over (order by id rows between current row and unbounded following), sum(id) over (order by id rows unbounded preceding), count(*) over (order by id rows between current row and current row), sum(id) over (rows between unbounded preceding and unbounded following) from staff order by id
----
1|36|1|1|36
2|35|3|1|36
3|33|6|1|36
4|30|10|1|36
5|26|15|1|36
6|21|21|1|36
7|15|28|1|36
8|8|36|1|36

query
select id, min(age) over (order by id rows between 2 preceding and current row), max(age) over (order by id rows between current row and 2 following), avg(pay) over (order by id rows between 1 preceding and 1 following), bool_and(age < 50) over (order by id rows between 1 preceding and current row) from staff order by id
----
1|30|41|150.2500000000000000|t
2|30|41|166.8333333333333333|t
3|25|41|150.0833333333333333|t
4|25|41|125.1250000000000000|t
5|25|60|62.6250000000000000|t
6|33|61|42.5000000000000000|t
7|33|61|35.0000000000000000|f
8|60|61|15.0000000000000000|f

query
select id, sum(rating) over (order by id rows between 1 preceding and current row), sum(rating) over (order by id rows between current row and unbounded following), string_agg(name, '') over (order by id rows between 1 preceding and 1 following) from staff order by id
----
1|0.1|6|adabob
2|0.30000000000000004|6|adabobcyd
3|0.5|6|bobcyddan
4|1e+20|6|cyddaneve
5|0|-1e+20|danevefay
6|-1e+20|6|evefaygus
7|3.5|2.5|faygushal
8|2.5|2.5|gushal

query
select id, sum(id) over (order by pay range between current row and unbounded following), sum(id) over (order by pay range between unbounded preceding and unbounded following), count(*) over (order by pay range current row), sum(id) over (order by pay rows current row) from staff order by id
----
1|11|36|1|1
2|10|36|2|2
3|10|36|2|3
4|21|36|1|4
5|5|36|1|5
6|17|36|1|6
7|36|36|1|7
8|29|36|1|8

query
select id, sum(id) over (partition by team order by id rows between 2 preceding and 3 preceding), count(*) over (order by id rows between 3 following and 1 following), sum(id) over (order by id rows between 5000000000 preceding and 5000000000 following) from staff order by id
----
1|NULL|0|36
2|NULL|0|36
3|NULL|0|36
4|NULL|0|36
5|NULL|0|36
6|NULL|0|36
7|NULL|0|36
8|NULL|0|36

query
select id, count(*) over (order by id rows between 1 + 1 preceding and (select 1) following) from staff order by id
----
1|2
2|3
3|4
4|4
5|4
6|4
7|4
8|3

# Windows with names.

query
select id, sum(id) over w, count(*) over w, rank() over (w order by age), sum(id) over (w rows between unbounded preceding and unbounded following) from staff window w as (partition by team) order by id
----
1|6|3|2|6
2|6|3|3|6
3|6|3|1|6
4|15|3|2|15
5|15|3|1|15
6|15|3|3|15
7|15|2|1|15
8|15|2|2|15

query
select id, sum(id) over v, sum(id) over (w order by id) from staff window w as (partition by team), v as (w order by id desc rows 1 preceding) order by id
----
1|3|1
2|5|3
3|3|6
4|9|4
5|11|9
6|6|15
7|15|7
8|8|15

# Several, in expressions, with DISTINCT, LIMIT, conditions.

query
select id, row_number() over (order by id) + row_number() over (order by id desc), case when rank() over (order by pay) = 1 then 'least' else 'more' end, coalesce(lag(name) over (order by id), 'first') || '!' from staff order by id
----
1|9|more|first!
2|9|more|ada!
3|9|more|bob!
4|9|more|cyd!
5|9|more|dan!
6|9|more|eve!
7|9|least|fay!
8|9|more|gus!

query
select distinct team, count(*) over (partition by team) from staff order by team
----
blue|3
red|3
NULL|2

query
select distinct rank() over (order by team) r from staff order by r desc
----
7
4
1

query
select distinct on (team) team, id, row_number() over (order by id) from staff order by team, row_number() over (order by id desc)
----
blue|6|6
red|3|3
NULL|8|8

query
select id, row_number() over (order by pay desc nulls last, id) as place from staff where age > 30 order by place limit 2 offset 1
----
4|2
8|3

query
select id from staff order by row_number() over (order by name desc) limit 3
----
8
7
6

query
select id from staff order by rank() over (order by team), id desc
----
6
5
4
3
2
1
8
7

query
select * from (select id, team, row_number() over (partition by team order by pay desc, id) as place from staff) x where place = 1 order by id
----
2|red|1
5|blue|1
8|NULL|1

query
select place, count(*) from (select dense_rank() over (partition by team order by pay) as place from staff) x group by place order by place
----
1|3
2|4
3|1

query
with ranked as (select id, rank() over (order by pay) as place from staff) select a.id, b.id from ranked a join ranked b on a.place = b.place and a.id < b.id
----
2|3

query
select s.id, x.place from staff s, lateral (select row_number() over (order by t.id) as place, t.id from staff t where t.team = s.team) x where x.id = s.id order by s.id
----
1|1
2|2
3|3
4|1
5|2
6|3

query
select id, (select max(place) from (select row_number() over (order by t.id) + s.id as place from staff t where t.team = s.team) x) from staff s order by id
----
1|4
2|5
3|6
4|7
5|8
6|9
7|NULL
8|NULL

query
select id, sum((select count(*) from staff t where t.age < s.age)) over (order by id) from staff s order by id
----
1|1
2|4
3|4
4|7
5|9
6|9
7|14
8|20

query
select id from staff s where exists (select rank() over (order by id) from staff t where t.team = s.team and t.id > s.id) order by id
----
1
2
4
5

query
select a.id, b.id, row_number() over (partition by a.team order by b.id desc, a.id) from staff a join staff b on a.team = b.team and a.id < b.id order by 3, 1, 2
----
1|3|1
4|6|1
2|3|2
5|6|2
1|2|3
4|5|3

query
select id, row_number() over (order by id) from staff where team = 'red' union all select id, row_number() over (order by id) from staff where team = 'blue' order by 1
----
1|1
2|2
3|3
4|1
5|2
6|3

query
select unnest(array[1, 2]), row_number() over (order by id) from staff where id < 3 order by 2, 1
----
1|1
2|1
1|2
2|2

query
select *, row_number() over (order by id) from nobody
----

query
select s.*, count(*) over () from (values (1), (2)) s(a) order by a
----
1|2
2|2

query
select 'a', sum(1) over (), null, row_number() over (order by 'x')
----
a|1|NULL|1

# Of groups.

query
select team, count(*), sum(count(*)) over (), rank() over (order by count(*) desc, team), sum(sum(pay)) over (order by team) from staff group by team order by team
----
blue|3|8|1|125.25
red|3|8|2|625.75
NULL|2|8|3|655.75

query
select team, sum(pay), sum(pay) / sum(sum(pay)) over () > 0.5 from staff group by team having count(*) > 2 order by team
----
blue|125.25|f
red|500.50|t

query
select rank() over (order by sum(age)), age % 2 from staff group by age % 2 order by 1
----
1|0
2|1
3|NULL

query
select count(*) over (), sum(sum(age)) over (partition by count(*)) from staff
----
1|291

query
select id, name, row_number() over (order by max(age), id), lag(name) over (order by id) from staff group by id order by id
----
1|ada|2|NULL
2|bob|4|ada
3|cyd|1|bob
4|dan|5|cyd
5|eve|3|dan
6|fay|8|eve
7|gus|6|fay
8|hal|7|gus

query
select team, row_number() over w from staff group by team window w as (order by min(id) desc) order by 1
----
blue|2
red|3
NULL|1

statement ok
insert into nobody select id, row_number() over (order by id desc) from staff

query
select id, a from nobody order by id
----
1|8
2|7
3|6
4|5
5|4
6|3
7|2
8|1

# Where they may not stand, and what is wrong with them.

statement error 42P20
select id from staff where row_number() over () = 1

statement error 42P20
select team from staff group by team having rank() over () = 1

statement error 42P20
select 1 from staff group by row_number() over ()

statement error 42P20
select 1 from staff a join staff b on rank() over () = 1

statement error 42P20
select id from staff limit row_number() over ()

statement error 42P20
update staff set age = row_number() over ()

statement error 42P20
values (row_number() over ())

statement error 42P20
insert into nobody values (9, 1) returning rank() over ()

statement error 42P20
select sum(rank() over ()) over () from staff

statement error 42P20
select rank() over (order by rank() over ()) from staff

statement error 42P20
select 1 from staff window w as (order by rank() over ())

statement error 42803
select sum(rank() over ()) from staff

statement error 42803
select team, rank() over (order by id) from staff group by team

statement error 42803
select team, sum(pay) over () from staff group by team

statement error 42809
select row_number() from staff

statement error 42704
select rank() over w from staff

statement error 42704
select rank() over (w) from staff

statement error 42P20
select rank() over w from staff window w as (order by id), w as (order by id)

statement error 42P20
select rank() over (w partition by id) from staff window w as (partition by team)

statement error 42P20
select rank() over (w order by id) from staff window w as (order by name)

statement error 42P20
select count(*) over (w) from staff window w as (order by name rows 1 preceding)

statement error 42703
select 1 from staff window w as (order by nothing)

statement error 42P20
select count(*) over (rows between unbounded following and current row) from staff

statement error 42P20
select count(*) over (rows between current row and 1 preceding) from staff

statement error 42P20
select count(*) over (rows between 1 following and current row) from staff

statement error 42P20
select count(*) over (rows between unbounded preceding and unbounded preceding) from staff

statement error 42P10
select count(*) over (order by id rows id preceding) from staff

statement error 22013
select count(*) over (order by id rows -1 preceding) from staff

statement error 22004
select count(*) over (order by id rows between current row and null following) from staff

statement error 22014
select ntile(0) over () from staff

statement error 22016
select nth_value(id, 0) over () from staff

statement error 42883
select row_number(1) over () from staff

statement error 42883
select lag(id, 'a'::text) over () from staff

statement error 42883
select lag() over () from staff

statement error 42883
select lag(name, 1, 2) over () from staff

statement error 42883
select nothing(id) over () from staff

statement error 22003
select sum(n) over (order by n rows between 1 preceding and current row) from (values (9e37::numeric), (9e37::numeric)) x(n)

# What is not there says so.

statement error 0A000
select rank() filter (where id > 1) over () from staff

statement error 0A000
select count(distinct team) over () from staff

statement error 0A000
select array_agg(id order by name) over () from staff

# The way to the rows.

query
explain select id, rank() over (order by age) from staff where id > 3 order by 2 limit 1
----
Limit
  ->  Sort
        Sort Key: window1
        Sort Method: top-N heapsort
        ->  WindowAgg
              ->  Index Scan using staff_pkey on staff
                    Index Cond: (id > 3)

# What they keep is counted.

statement error 53200
select row_number() over () from generate_series(1, 10000000)

statement error 53200
select rank() over (order by repeat('x', 10000) || n) from generate_series(1, 40000) n

statement error 53200
select count(s) from (select lag(repeat('x', 10000)) over (order by n) as s from generate_series(1, 40000) n) x

# With parameters.

query
prepare shifted as select id, lag(id, $1, $2) over (order by id), count(*) over (order by id rows $3 preceding), ntile($4) over (order by id) from staff order by id; execute shifted(2, 0, 1, 3)
----
1|0|1|1
2|0|2|1
3|1|2|1
4|2|2|2
5|3|2|2
6|4|2|2
7|5|2|3
8|6|2|3

statement error 22013
prepare counted as select count(*) over (rows $1 preceding) from staff; execute counted(-1)
