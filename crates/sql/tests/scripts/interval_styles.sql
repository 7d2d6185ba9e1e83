# The parameter IntervalStyle. The answers are those of PostgreSQL 15.

statement ok
CREATE TABLE spans (id int PRIMARY KEY, span interval, list interval[])

statement ok
INSERT INTO spans VALUES
  (1, '1 year 2 mons -3 days 04:05:06.789', ARRAY[interval '1 day', null, interval '-2 hours']),
  (2, '0', '{}'), (3, '-1 year -2 mons 3 days -04:05:06', null), (4, '-00:00:00.5', null), (5, '1 day 1 second', null),
  (6, '1 mon 1 hour 1 minute', null), (7, '-1 day 2 seconds', null), (8, 'P1Y2M3DT4H5M6S', null)

statement ok
SET IntervalStyle = 'iso_8601'

query
SHOW intervalstyle
----
iso_8601

query
SELECT id, span, list, span::text || '!' FROM spans ORDER BY id
----
1|P1Y2M-3DT4H5M6.789S|{P1D,NULL,PT-2H}|P1Y2M-3DT4H5M6.789S!
2|PT0S|{}|PT0S!
3|P-1Y-2M3DT-4H-5M-6S|NULL|P-1Y-2M3DT-4H-5M-6S!
4|PT-0.5S|NULL|PT-0.5S!
5|P1DT1S|NULL|P1DT1S!
6|P1MT1H1M|NULL|P1MT1H1M!
7|P-1DT2S|NULL|P-1DT2S!
8|P1Y2M3DT4H5M6S|NULL|P1Y2M3DT4H5M6S!

query
SELECT to_json(span), row(1, span), array_agg(span) OVER (ORDER BY id) FROM spans WHERE id IN (5, 6) ORDER BY id
----
"P1DT1S"|(1,P1DT1S)|{P1DT1S}
"P1MT1H1M"|(1,P1MT1H1M)|{P1DT1S,P1MT1H1M}

query
SELECT id FROM spans WHERE span = 'P1MT1H1M' OR span::text = 'P1DT1S' ORDER BY id
----
5
6

statement ok
SET IntervalStyle = postgres_verbose

query
SELECT id, span, list FROM spans ORDER BY id
----
1|@ 1 year 2 mons -3 days 4 hours 5 mins 6.789 secs|{"@ 1 day",NULL,"@ 2 hours ago"}
2|@ 0|{}
3|@ 1 year 2 mons -3 days 4 hours 5 mins 6 secs ago|NULL
4|@ 0.5 secs ago|NULL
5|@ 1 day 1 sec|NULL
6|@ 1 mon 1 hour 1 min|NULL
7|@ 1 day -2 secs ago|NULL
8|@ 1 year 2 mons 3 days 4 hours 5 mins 6 secs|NULL

statement ok
SET TIME ZONE 'Europe/Berlin'

query
SELECT interval '1 day', timestamptz '2026-07-01 12:00Z'
----
@ 1 day|2026-07-01 14:00:00+02

statement ok
RESET IntervalStyle

query
SELECT interval 'P1DT2H', timestamptz '2026-07-01 12:00Z', interval '1 day'::text
----
1 day 02:00:00|2026-07-01 14:00:00+02|1 day

statement error 22023
SET IntervalStyle = 'other'

# Refused by name: it reads intervals otherwise, too.
statement error 22023
SET IntervalStyle = 'sql_standard'

# Texts of functions are in the session's style, and its time zone.
statement ok
CREATE TABLE styled (id int PRIMARY KEY, span interval)

statement INSERT 0 1
INSERT INTO styled VALUES (1, '1 day 2 hours')

# Kept values do not depend on a session.
statement error 42P17
CREATE TABLE styled_texts (span interval, g text GENERATED ALWAYS AS (span::text) STORED)

statement error 42P17
CREATE INDEX ON styled ((span::text))

statement error 42P17
CREATE INDEX ON styled (span) WHERE span::text = 'x'

statement ok
SET IntervalStyle = 'iso_8601'

query
SELECT concat(span, array[span]), concat_ws('-', span, 1), format('%s %L', span, span), quote_literal(span), quote_nullable(span), 'a' || span, to_json(span), json_build_object(span, 1) FROM styled
----
P1DT2H{P1DT2H}|P1DT2H-1|P1DT2H 'P1DT2H'|'P1DT2H'|'P1DT2H'|aP1DT2H|"P1DT2H"|{"P1DT2H" : 1}

query
SELECT quote_literal(timestamptz '2020-01-01 00:00+00'), concat(timestamptz '2020-01-01 00:00+00')
----
'2020-01-01 01:00:00+01'|2020-01-01 01:00:00+01

# Refused by name: rows are rewritten without a session.
statement error 0A000
ALTER TABLE styled ALTER span TYPE text
----
a cast from interval to text is supported with IntervalStyle postgres only

statement ok
RESET IntervalStyle

statement ok
ALTER TABLE styled ALTER span TYPE text

query
SELECT span FROM styled
----
1 day 02:00:00
