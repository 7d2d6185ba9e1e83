# Arguments by name. Results and errors are PostgreSQL 15's.

query
select make_interval(days => 3), make_interval(1, months => 2), make_interval(secs := 1.5)
----
3 days|1 year 2 mons|00:00:01.5

query
select make_date(2020, day => 5, month => 3), make_time(sec => 1.5, "hour" => 2, MIN => 3)
----
2020-03-05|02:03:01.5

query
select make_timestamp(year => 2020, month => 1, mday => 2, hour => 3, min => 4, sec => 5)
----
2020-01-02 03:04:05

query
select jsonb_set(path => '{b}', jsonb_in => '{"a": 1}', replacement => '2'), jsonb_set('{"a": 1}', '{b}', '2', create_if_missing => false)
----
{"a": 1, "b": 2}|{"a": 1}

query
select jsonb_object_field(from_json => '{"a": 1}', field_name => 'a'), json_array_element('[1, 2]', element_index => 1)
----
1|2

query
select jsonb_insert(path => '{a,0}', jsonb_in => '{"a": [1, 2]}', replacement => '3'), jsonb_insert('[1, 2]', '{0}', '3', insert_after => true)
----
{"a": [3, 1, 2]}|[1, 3, 2]

query
select jsonb_array_elements(from_json => '[1, "a"]'), json_array_elements_text(from_json => '["b", 2]')
----
1|b
"a"|2

statement error 42601
select make_interval(days => 3, 4)
----
positional argument cannot follow named argument

statement error 42601
select make_interval(days => 3, days => 4)
----
argument name "days" used more than once

statement error 42883
select make_interval(foo => 3)
----
function make_interval(foo => integer) does not exist
HINT: No function matches the given name and argument types. You might need to add explicit type casts.

statement error 42883
select make_interval(1, years => 3)

statement error 42883
select make_date(year => 2020, month => 1)

statement error 42883
select lower(a => 'x')
----
function lower(a => unknown) does not exist
HINT: No function matches the given name and argument types. You might need to add explicit type casts.

statement error 42883
select jsonb_set(target => '{}', path => '{a}', new_value => '1')
