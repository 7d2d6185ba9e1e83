# Tables of the catalogue have PostgreSQL 15's columns, with its values where they follow from the objects.

query
SELECT typname, oid, typnamespace, typowner, typlen, typbyval, typtype, typcategory, typispreferred, typisdefined, typdelim, typrelid, typsubscript::oid, typelem, typinput::oid, typoutput::oid, typreceive::oid, typsend::oid, typmodin::oid, typmodout::oid, typanalyze::oid, typalign, typstorage, typnotnull, typbasetype, typtypmod, typndims, typcollation, typdefaultbin, typdefault, typacl FROM pg_type WHERE typname IN ('bool','bytea','char','name','int8','int2','int2vector','int4','text','oid','oidvector','float4','float8','unknown','bpchar','varchar','date','time','timestamp','timestamptz','numeric','regclass','void','uuid','_bool','_int4','_text','_varchar','_timestamp','_numeric','_name','_float8') ORDER BY oid
----
bool|16|11|10|1|t|b|B|t|t|,|0|0|0|1242|1243|2436|2437|0|0|0|c|p|f|0|-1|0|0|NULL|NULL|NULL
bytea|17|11|10|-1|f|b|U|f|t|,|0|0|0|1244|31|2412|2413|0|0|0|i|x|f|0|-1|0|0|NULL|NULL|NULL
char|18|11|10|1|t|b|Z|f|t|,|0|0|0|1245|33|2434|2435|0|0|0|c|p|f|0|-1|0|0|NULL|NULL|NULL
name|19|11|10|64|f|b|S|f|t|,|0|6180|18|34|35|2422|2423|0|0|0|c|p|f|0|-1|0|950|NULL|NULL|NULL
int8|20|11|10|8|t|b|N|f|t|,|0|0|0|460|461|2408|2409|0|0|0|d|p|f|0|-1|0|0|NULL|NULL|NULL
int2|21|11|10|2|t|b|N|f|t|,|0|0|0|38|39|2404|2405|0|0|0|s|p|f|0|-1|0|0|NULL|NULL|NULL
int2vector|22|11|10|-1|f|b|A|f|t|,|0|6179|21|40|41|2410|2411|0|0|0|i|p|f|0|-1|0|0|NULL|NULL|NULL
int4|23|11|10|4|t|b|N|f|t|,|0|0|0|42|43|2406|2407|0|0|0|i|p|f|0|-1|0|0|NULL|NULL|NULL
text|25|11|10|-1|f|b|S|t|t|,|0|0|0|46|47|2414|2415|0|0|0|i|x|f|0|-1|0|100|NULL|NULL|NULL
oid|26|11|10|4|t|b|N|t|t|,|0|0|0|1798|1799|2418|2419|0|0|0|i|p|f|0|-1|0|0|NULL|NULL|NULL
oidvector|30|11|10|-1|f|b|A|f|t|,|0|6179|26|54|55|2420|2421|0|0|0|i|p|f|0|-1|0|0|NULL|NULL|NULL
float4|700|11|10|4|t|b|N|f|t|,|0|0|0|200|201|2424|2425|0|0|0|i|p|f|0|-1|0|0|NULL|NULL|NULL
float8|701|11|10|8|t|b|N|t|t|,|0|0|0|214|215|2426|2427|0|0|0|d|p|f|0|-1|0|0|NULL|NULL|NULL
unknown|705|11|10|-2|f|p|X|f|t|,|0|0|0|109|110|2416|2417|0|0|0|c|p|f|0|-1|0|0|NULL|NULL|NULL
_bool|1000|11|10|-1|f|b|A|f|t|,|0|6179|16|750|751|2400|2401|0|0|3816|i|x|f|0|-1|0|0|NULL|NULL|NULL
_name|1003|11|10|-1|f|b|A|f|t|,|0|6179|19|750|751|2400|2401|0|0|3816|i|x|f|0|-1|0|950|NULL|NULL|NULL
_int4|1007|11|10|-1|f|b|A|f|t|,|0|6179|23|750|751|2400|2401|0|0|3816|i|x|f|0|-1|0|0|NULL|NULL|NULL
_text|1009|11|10|-1|f|b|A|f|t|,|0|6179|25|750|751|2400|2401|0|0|3816|i|x|f|0|-1|0|100|NULL|NULL|NULL
_varchar|1015|11|10|-1|f|b|A|f|t|,|0|6179|1043|750|751|2400|2401|2915|2916|3816|i|x|f|0|-1|0|100|NULL|NULL|NULL
_float8|1022|11|10|-1|f|b|A|f|t|,|0|6179|701|750|751|2400|2401|0|0|3816|d|x|f|0|-1|0|0|NULL|NULL|NULL
bpchar|1042|11|10|-1|f|b|S|f|t|,|0|0|0|1044|1045|2430|2431|2913|2914|0|i|x|f|0|-1|0|100|NULL|NULL|NULL
varchar|1043|11|10|-1|f|b|S|f|t|,|0|0|0|1046|1047|2432|2433|2915|2916|0|i|x|f|0|-1|0|100|NULL|NULL|NULL
date|1082|11|10|4|t|b|D|f|t|,|0|0|0|1084|1085|2468|2469|0|0|0|i|p|f|0|-1|0|0|NULL|NULL|NULL
time|1083|11|10|8|t|b|D|f|t|,|0|0|0|1143|1144|2470|2471|2909|2910|0|d|p|f|0|-1|0|0|NULL|NULL|NULL
timestamp|1114|11|10|8|t|b|D|f|t|,|0|0|0|1312|1313|2474|2475|2905|2906|0|d|p|f|0|-1|0|0|NULL|NULL|NULL
_timestamp|1115|11|10|-1|f|b|A|f|t|,|0|6179|1114|750|751|2400|2401|2905|2906|3816|d|x|f|0|-1|0|0|NULL|NULL|NULL
timestamptz|1184|11|10|8|t|b|D|t|t|,|0|0|0|1150|1151|2476|2477|2907|2908|0|d|p|f|0|-1|0|0|NULL|NULL|NULL
_numeric|1231|11|10|-1|f|b|A|f|t|,|0|6179|1700|750|751|2400|2401|2917|2918|3816|i|x|f|0|-1|0|0|NULL|NULL|NULL
numeric|1700|11|10|-1|f|b|N|f|t|,|0|0|0|1701|1702|2460|2461|2917|2918|0|i|m|f|0|-1|0|0|NULL|NULL|NULL
regclass|2205|11|10|4|t|b|N|f|t|,|0|0|0|2218|2219|2452|2453|0|0|0|i|p|f|0|-1|0|0|NULL|NULL|NULL
void|2278|11|10|4|t|p|P|f|t|,|0|0|0|2298|2299|3120|3121|0|0|0|i|p|f|0|-1|0|0|NULL|NULL|NULL
uuid|2950|11|10|16|f|b|U|f|t|,|0|0|0|2952|2953|2961|2962|0|0|0|c|p|f|0|-1|0|0|NULL|NULL|NULL

# The functions that drivers look for by these numbers.

query
SELECT t.typname, p.proname, p.prokind, p.proisstrict, p.proretset, p.provolatile, p.proparallel, p.pronargs, p.pronargdefaults, p.prorettype, p.proargtypes, p.procost, p.prorows, p.provariadic, p.prosecdef, p.proleakproof, p.prosrc, p.proallargtypes, p.proargmodes, p.proargnames, p.protrftypes, p.probin, p.proconfig, p.proacl FROM pg_type t JOIN pg_proc p ON p.oid IN (t.typinput, t.typoutput, t.typreceive, t.typsend, t.typmodin) WHERE t.typname IN ('int4', 'text', 'time', 'timestamptz', 'varchar', '_int4') ORDER BY t.typname, p.oid
----
_int4|array_in|f|t|f|s|s|3|0|2277|2275 26 23|1|0|0|f|f|array_in|NULL|NULL|NULL|NULL|NULL|NULL|NULL
_int4|array_out|f|t|f|s|s|1|0|2275|2277|1|0|0|f|f|array_out|NULL|NULL|NULL|NULL|NULL|NULL|NULL
_int4|array_recv|f|t|f|s|s|3|0|2277|2281 26 23|1|0|0|f|f|array_recv|NULL|NULL|NULL|NULL|NULL|NULL|NULL
_int4|array_send|f|t|f|s|s|1|0|17|2277|1|0|0|f|f|array_send|NULL|NULL|NULL|NULL|NULL|NULL|NULL
int4|int4in|f|t|f|i|s|1|0|23|2275|1|0|0|f|f|int4in|NULL|NULL|NULL|NULL|NULL|NULL|NULL
int4|int4out|f|t|f|i|s|1|0|2275|23|1|0|0|f|f|int4out|NULL|NULL|NULL|NULL|NULL|NULL|NULL
int4|int4recv|f|t|f|i|s|1|0|23|2281|1|0|0|f|f|int4recv|NULL|NULL|NULL|NULL|NULL|NULL|NULL
int4|int4send|f|t|f|i|s|1|0|17|23|1|0|0|f|f|int4send|NULL|NULL|NULL|NULL|NULL|NULL|NULL
text|textin|f|t|f|i|s|1|0|25|2275|1|0|0|f|f|textin|NULL|NULL|NULL|NULL|NULL|NULL|NULL
text|textout|f|t|f|i|s|1|0|2275|25|1|0|0|f|f|textout|NULL|NULL|NULL|NULL|NULL|NULL|NULL
text|textrecv|f|t|f|s|s|1|0|25|2281|1|0|0|f|f|textrecv|NULL|NULL|NULL|NULL|NULL|NULL|NULL
text|textsend|f|t|f|s|s|1|0|17|25|1|0|0|f|f|textsend|NULL|NULL|NULL|NULL|NULL|NULL|NULL
time|time_in|f|t|f|s|s|3|0|1083|2275 26 23|1|0|0|f|f|time_in|NULL|NULL|NULL|NULL|NULL|NULL|NULL
time|time_out|f|t|f|i|s|1|0|2275|1083|1|0|0|f|f|time_out|NULL|NULL|NULL|NULL|NULL|NULL|NULL
time|time_recv|f|t|f|i|s|3|0|1083|2281 26 23|1|0|0|f|f|time_recv|NULL|NULL|NULL|NULL|NULL|NULL|NULL
time|time_send|f|t|f|i|s|1|0|17|1083|1|0|0|f|f|time_send|NULL|NULL|NULL|NULL|NULL|NULL|NULL
time|timetypmodin|f|t|f|i|s|1|0|23|1263|1|0|0|f|f|timetypmodin|NULL|NULL|NULL|NULL|NULL|NULL|NULL
timestamptz|timestamptz_in|f|t|f|s|s|3|0|1184|2275 26 23|1|0|0|f|f|timestamptz_in|NULL|NULL|NULL|NULL|NULL|NULL|NULL
timestamptz|timestamptz_out|f|t|f|s|s|1|0|2275|1184|1|0|0|f|f|timestamptz_out|NULL|NULL|NULL|NULL|NULL|NULL|NULL
timestamptz|timestamptz_recv|f|t|f|i|s|3|0|1184|2281 26 23|1|0|0|f|f|timestamptz_recv|NULL|NULL|NULL|NULL|NULL|NULL|NULL
timestamptz|timestamptz_send|f|t|f|i|s|1|0|17|1184|1|0|0|f|f|timestamptz_send|NULL|NULL|NULL|NULL|NULL|NULL|NULL
timestamptz|timestamptztypmodin|f|t|f|i|s|1|0|23|1263|1|0|0|f|f|timestamptztypmodin|NULL|NULL|NULL|NULL|NULL|NULL|NULL
varchar|varcharin|f|t|f|i|s|3|0|1043|2275 26 23|1|0|0|f|f|varcharin|NULL|NULL|NULL|NULL|NULL|NULL|NULL
varchar|varcharout|f|t|f|i|s|1|0|2275|1043|1|0|0|f|f|varcharout|NULL|NULL|NULL|NULL|NULL|NULL|NULL
varchar|varcharrecv|f|t|f|s|s|3|0|1043|2281 26 23|1|0|0|f|f|varcharrecv|NULL|NULL|NULL|NULL|NULL|NULL|NULL
varchar|varcharsend|f|t|f|s|s|1|0|17|1043|1|0|0|f|f|varcharsend|NULL|NULL|NULL|NULL|NULL|NULL|NULL
varchar|varchartypmodin|f|t|f|i|s|1|0|23|1263|1|0|0|f|f|varchartypmodin|NULL|NULL|NULL|NULL|NULL|NULL|NULL

query
SELECT t.typname FROM pg_type t JOIN pg_proc p ON p.oid = t.typreceive WHERE p.proname = 'array_recv' AND t.typname IN ('int4', '_int4', '_text', 'int2vector') ORDER BY 1
----
_int4
_text

statement ok
CREATE TABLE t (a int PRIMARY KEY, b text NOT NULL DEFAULT 'x', c varchar(5), d numeric(5, 2), e timestamp, f int UNIQUE, CHECK (a > 0), CHECK (d > f))

statement ok
CREATE TABLE t2 (x int REFERENCES t, y smallint, z uuid, n char(3))

statement ok
CREATE INDEX i ON t (b DESC, c)

statement ok
CREATE VIEW v AS SELECT a, b FROM t

query
SELECT relname, reloftype, relowner, reltablespace, relallvisible, relhasindex, relisshared, relpersistence, relkind, relnatts, relchecks, relhasrules, relhassubclass, relrowsecurity, relforcerowsecurity, relispopulated, relreplident, relispartition, relrewrite, relfilenode <> 0, reloptions, relpartbound FROM pg_class WHERE relname IN ('t', 't2', 'i', 't_pkey', 'v') ORDER BY 1
----
i|0|10|0|0|f|f|p|i|2|0|f|f|f|f|t|n|f|0|t|NULL|NULL
t|0|10|0|0|t|f|p|r|6|2|f|f|f|f|t|d|f|0|t|NULL|NULL
t2|0|10|0|0|f|f|p|r|4|0|f|f|f|f|t|d|f|0|t|NULL|NULL
t_pkey|0|10|0|0|f|f|p|i|1|0|f|f|f|f|t|n|f|0|t|NULL|NULL
v|0|10|0|0|f|f|p|v|2|0|t|f|f|f|t|n|f|0|f|NULL|NULL

query
SELECT c.relname, a.attname, a.atttypid, a.attstattarget, a.attlen, a.attnum, a.attndims, a.attcacheoff, a.atttypmod, a.attbyval, a.attalign, a.attstorage, a.attcompression, a.attnotnull, a.atthasdef, a.atthasmissing, a.attidentity, a.attgenerated, a.attisdropped, a.attislocal, a.attinhcount, a.attcollation, a.attacl, a.attoptions, a.attfdwoptions, a.attmissingval FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid WHERE c.relname IN ('t', 't2', 'i', 'v') AND a.attnum > 0 ORDER BY 1, a.attnum
----
i|b|25|-1|-1|1|0|-1|-1|f|i|x||f|f|f|||f|t|0|100|NULL|NULL|NULL|NULL
i|c|1043|-1|-1|2|0|-1|9|f|i|x||f|f|f|||f|t|0|100|NULL|NULL|NULL|NULL
t|a|23|-1|4|1|0|-1|-1|t|i|p||t|f|f|||f|t|0|0|NULL|NULL|NULL|NULL
t|b|25|-1|-1|2|0|-1|-1|f|i|x||t|t|f|||f|t|0|100|NULL|NULL|NULL|NULL
t|c|1043|-1|-1|3|0|-1|9|f|i|x||f|f|f|||f|t|0|100|NULL|NULL|NULL|NULL
t|d|1700|-1|-1|4|0|-1|327686|f|i|m||f|f|f|||f|t|0|0|NULL|NULL|NULL|NULL
t|e|1114|-1|8|5|0|-1|-1|t|d|p||f|f|f|||f|t|0|0|NULL|NULL|NULL|NULL
t|f|23|-1|4|6|0|-1|-1|t|i|p||f|f|f|||f|t|0|0|NULL|NULL|NULL|NULL
t2|x|23|-1|4|1|0|-1|-1|t|i|p||f|f|f|||f|t|0|0|NULL|NULL|NULL|NULL
t2|y|21|-1|2|2|0|-1|-1|t|s|p||f|f|f|||f|t|0|0|NULL|NULL|NULL|NULL
t2|z|2950|-1|16|3|0|-1|-1|f|c|p||f|f|f|||f|t|0|0|NULL|NULL|NULL|NULL
t2|n|1042|-1|-1|4|0|-1|7|f|i|x||f|f|f|||f|t|0|100|NULL|NULL|NULL|NULL
v|a|23|-1|4|1|0|-1|-1|t|i|p||f|f|f|||f|t|0|0|NULL|NULL|NULL|NULL
v|b|25|-1|-1|2|0|-1|-1|f|i|x||f|f|f|||f|t|0|100|NULL|NULL|NULL|NULL

query
SELECT c.relname, i.indnatts, i.indnkeyatts, i.indisunique, i.indnullsnotdistinct, i.indisprimary, i.indisexclusion, i.indimmediate, i.indisclustered, i.indisvalid, i.indcheckxmin, i.indisready, i.indislive, i.indisreplident, i.indkey, i.indcollation, i.indoption, i.indexprs, i.indpred FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = 't'::regclass ORDER BY 1
----
i|2|2|f|f|f|f|t|f|t|f|t|t|f|2 3|100 100|3 0|NULL|NULL
t_f_key|1|1|t|f|f|f|t|f|t|f|t|t|f|6|0|0|NULL|NULL
t_pkey|1|1|t|f|t|f|t|f|t|f|t|t|f|1|0|0|NULL|NULL

query
SELECT conname, contype, condeferrable, condeferred, convalidated, contypid, conparentid, confupdtype, confdeltype, confmatchtype, conislocal, coninhcount, connoinherit, conkey, confkey, confdelsetcols, conexclop FROM pg_constraint WHERE conrelid IN ('t'::regclass, 't2'::regclass) ORDER BY 1
----
t2_x_fkey|f|f|f|t|0|0|a|a|s|t|0|t|{1}|{1}|NULL|NULL
t_a_check|c|f|f|t|0|0| | | |t|0|f|{1}|NULL|NULL|NULL
t_check|c|f|f|t|0|0| | | |t|0|f|{4,6}|NULL|NULL|NULL
t_f_key|u|f|f|t|0|0| | | |t|0|t|{6}|NULL|NULL|NULL
t_pkey|p|f|f|t|0|0| | | |t|0|t|{1}|NULL|NULL|NULL

query
SELECT table_name, column_name, constraint_name FROM information_schema.constraint_column_usage WHERE table_name = 't' ORDER BY 3, 2
----
t|a|t2_x_fkey
t|a|t_a_check
t|d|t_check
t|f|t_check
t|f|t_f_key
t|a|t_pkey

query
SELECT oid, collname, collnamespace, collprovider, collisdeterministic, collencoding, collcollate, collctype, colliculocale, collversion FROM pg_collation WHERE oid IN (100, 950, 951) ORDER BY 1
----
100|default|11|d|t|-1|NULL|NULL|NULL|NULL
950|C|11|c|t|-1|C|C|NULL|NULL
951|POSIX|11|c|t|-1|POSIX|POSIX|NULL|NULL

query
SELECT oid, amname, amhandler::oid, amtype FROM pg_am WHERE oid IN (2, 403) ORDER BY 1
----
2|heap|3|t
403|btree|330|i

query
SELECT tablename, tablespace, hasindexes, hasrules, hastriggers, rowsecurity FROM pg_tables WHERE tablename IN ('t', 't2') ORDER BY 1
----
t|NULL|t|f|t|f
t2|NULL|f|f|t|f

query
SELECT 'i'::regclass, 't_pkey'::regclass::text, to_regclass('t_f_key'), 'v'::regclass
----
i|t_pkey|t_f_key|v
