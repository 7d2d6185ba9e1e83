# Aggregates of two numbers; the answers are PostgreSQL 15's.

statement ok
create table points (x float8, y float8, g int)

statement ok
insert into points values (1, 2, 1), (2, 3, 1), (3, 5, 1), (4, 4.5, 2), (null, 1, 2), (7, null, 2), (5.5, 8, 2)

query
select regr_count(y, x), regr_sxx(y, x), regr_syy(y, x), regr_sxy(y, x), regr_avgx(y, x), regr_avgy(y, x) from points
----
5|12.2|21|15.25|3.1|4.5

query
select regr_r2(y, x), regr_slope(y, x), regr_intercept(y, x), covar_pop(y, x), covar_samp(y, x), corr(y, x) from points
----
0.9077380952380952|1.25|0.625|3.05|3.8125|0.9527529035579453

query
select g, regr_count(y, x), corr(y, x), covar_samp(y, x) filter (where x > 1) from points group by g order by g
----
1|3|0.9819805060619659|1
2|2|1|2.625

query
select regr_count(y, x), regr_sxx(y, x), covar_samp(y, x), corr(y, x) from points where false
----
0|NULL|NULL|NULL

query
select covar_samp(1, 2), covar_pop(1::float8, 'nan'::float8), corr(1, 1), regr_r2(v, v) from (values (1), (1)) t(v)
----
0|NaN|NULL|NULL

query
select covar_pop(1::float8, x), regr_r2(1, x), corr(2, x), regr_slope(x, 1) from points
----
0|1|NULL|NULL

query
select covar_pop(v, 1) from (values (1e200::float8), ('infinity')) t(v)
----
NaN

statement error 22003
select regr_sxx(1, v) from (values (1e200::float8), (-1e200)) t(v)
----
value out of range: overflow

statement error 22P02
select covar_pop('x', 1)
----
invalid input syntax for type double precision: "x"

statement error 42883
select covar_pop('x'::text, 1)
----
function covar_pop(text, integer) does not exist
HINT: No function matches the given name and argument types. You might need to add explicit type casts.

query
select covar_pop(y, x) over (order by x) from points where x < 4 order by x
----
0
0.25
1
