# Operators and readings of values for which random SELECTs (bench/sql/generated.py) had another answer: each answer is
# PostgreSQL 15's.

# A text without a type before an operator of JSON is `jsonb` where no other type has the operator.
query
select '[]' #- '{a}'::text[], '[1]' ? 'a'::text, '[1]' ?| '{a}'::text[], '[1]' ?& '{a}', '["a"]' ? 'a'
----
[]|f|f|f|t

query
select '[1]' @? '$.a'::jsonpath, '[1]' @? '$[0]', '[1]' @@ '$[0] == 1'::jsonpath
----
f|t|t

query
select '{"a":1}' - 'a'::text, '{"a":1,"b":2}' - '{a}'::text[]
----
{}|{"b": 2}

# `json` and `jsonb` have these.
statement error 42725
select '{"a": 1}' #> '{a}'::varchar[]

statement error 42725
select '[1]' -> 'a'

statement error 42725
select '[1]' ->> 10

statement error 42725
select '[1]' -> 'a'::text

statement error 42725
select '[1]' -> 1::smallint

statement error 42725
select '[1]' #>> '{a}'

statement error 42725
select '[1]' -> null

statement error 42883
select '[1]' -> 1::bigint

statement error 42883
select '[1]' #> 'a'::text

statement error 42883
select '{"a":1}'::json #> 'a'::text

statement error 42883
select '{"a":1}'::json ? 'a'

statement error 42883
select '{"a":1}'::jsonb - 1::bigint

statement error 42883
select '{"a":1}'::json -> 1::bigint

statement error 42883
select '{"a":1}'::jsonb @> '{}'::json

# `hstore` has some of them, once it is created.
statement ok
create extension hstore

statement error 42725
select '[1]' ? 'a'::text

statement error 42725
select '[1]' ?& '{a}'

statement error 42725
select '{"a":1}' - '{a}'::text[]

statement error 42725
select '{"a":1}' - 'a'::text

query
select 'a=>1' -> '{a}'::text[], '[1]' #- '{0}'
----
{1}|[]

query
select '{-7,ab,c}'::"char"[]
----
{-,a,c}

# Digits out of range are found before the text behind them.
statement error 22003
select '8886140454f1def4'::int4

statement error 22003
select '-99999 f'::int2

statement error 22003
select '99999999999999999999f'::int8

statement error 22003
select '99999999999999999999999999999999999999999999999999'::int8

statement error 22P02
select '214748364x'::int4

statement error 22P02
select '- 5'::int4

statement error 22P02
select '+-5'::int4

query
select ' +5 '::int4, '-0'::int2
----
5|0

# Addresses of 128 bits are subtracted as signed numbers.
query
select inet '255.255.255.255' - inet '0.0.0.0', inet '::' - inet '::1', inet 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff' - inet '::', inet '0.0.0.0' - inet '255.255.255.255', inet '::' - inet 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'
----
4294967295|-1|-1|-4294967295|1

query
select inet 'ffff:ffff:ffff:ffff:8000::' - inet '::'
----
-9223372036854775808

statement error 22003
select inet '::8000:0:0:0' - inet '::'

statement error 22003
select inet 'ffff:ffff:ffff:ffff:7fff::' - inet '::'

# Each sum of `real` is rounded to it.
query
select sum(x), sum(x) filter (where x > 0) from (values ('0'::float4), ('123456.79'), ('61786.7')) q(x)
----
185243.48|185243.48

query
select sum(x) over (rows 1 preceding) from (values ('0'::float4), ('123456.79'), ('61786.7')) q(x)
----
0
123456.79
185243.48

statement error 22003
select sum(x) from (values ('3e38'::float4), ('3e38')) q(x)

# The mantissa of a decimal is rounded to ten, that of a float to one.
query
select to_char(99999.99, '9.99EEEE'), to_char(9.999, '9.99EEEE'), to_char(-9.9999e20, '9.9EEEE'), to_char(9.99e-5, '9EEEE')
----
 10.00e+04| 10.00e+00|-10.0e+20| 10e-05

query
select to_char(99999.99::float8, '9.99EEEE'), to_char(9.999::float4, '9.99EEEE'), to_char(99999, '9.9EEEE'), to_char(99999::int8, '9.9EEEE'), to_char(0::numeric, '9.9EEEE')
----
 1.00e+05| 1.00e+01| 1.0e+05| 10.0e+04| 0.0e+00

query
select to_timestamp(sqrt(1500::float8)) at time zone 'UTC', to_timestamp(0.5) at time zone 'UTC'
----
1970-01-01 00:00:38.729834|1970-01-01 00:00:00.5
