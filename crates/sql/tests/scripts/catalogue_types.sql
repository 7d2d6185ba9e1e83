# Types that have no values: pseudo-types, and arrays of objects' numbers.

query
SELECT 'trigger'::regtype, 'event_trigger'::regtype, 'pg_catalog.internal'::regtype, '"any"'::regtype, 'cstring'::regtype::oid, to_regtype('anyelement')
----
trigger|event_trigger|internal|"any"|2275|anyelement

query
SELECT 2276::regtype, 2210::regtype, format_type(2281, NULL), to_regtype('_regclass'), to_regtype('no_such_type')
----
"any"|regclass[]|internal|regclass[]|NULL

query
SELECT oid, typname, typlen, typbyval, typtype, typcategory, typalign, typstorage, typelem, typarray, typinput::regproc, typoutput::regproc, typreceive::oid FROM pg_type WHERE typname IN ('trigger', 'cstring', 'internal', 'anyarray', 'record', 'unknown', 'void', '_regclass', 'regclass') ORDER BY oid
----
705|unknown|-2|f|p|X|c|p|0|0|unknownin|unknownout|2416
2205|regclass|4|t|b|N|i|p|0|2210|regclassin|regclassout|2452
2210|_regclass|-1|f|b|A|i|x|2205|0|array_in|array_out|2400
2249|record|-1|f|p|P|d|x|0|2287|record_in|record_out|2402
2275|cstring|-2|f|p|P|c|p|0|1263|cstring_in|cstring_out|2500
2277|anyarray|-1|f|p|P|d|x|0|0|anyarray_in|anyarray_out|2502
2278|void|4|t|p|P|i|p|0|0|void_in|void_out|3120
2279|trigger|4|t|p|P|i|p|0|0|trigger_in|trigger_out|0
2281|internal|8|t|p|P|d|p|0|0|internal_in|internal_out|0

query
SELECT p.oid, proname, oidvectortypes(proargtypes), prorettype::regtype, provolatile FROM pg_proc p WHERE p.oid IN (2300, 2301, 2501, 3505, 5095, 2294) ORDER BY 1
----
2294|any_in|cstring|"any"|i
2300|trigger_in|cstring|trigger|i
2301|trigger_out|trigger|cstring|i
2501|cstring_send|cstring|bytea|s
3505|anyenum_out|anyenum|cstring|s
5095|anycompatiblerange_out|anycompatiblerange|cstring|s

# Each type's array and element are types.

query
SELECT count(*) FROM pg_type t LEFT JOIN pg_type a ON a.oid = t.typarray LEFT JOIN pg_type e ON e.oid = t.typelem WHERE t.typarray <> 0 AND a.typelem IS DISTINCT FROM t.oid OR t.typelem <> 0 AND e.oid IS NULL
----
0
