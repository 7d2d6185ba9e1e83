# Numbers and moments are written and read by templates as PostgreSQL 15 does it; its answers.

query
select to_char(485, '999'), to_char(-485, '999'), to_char(485, 'FM999'), to_char(1234567, '9,999,999'), to_char(0, '999')
----
 485|-485|485| 1,234,567|   0

query
select to_char(12.345, '99.9'), to_char(12.345, '990.9999'), to_char(0.1, '9.9'), to_char(0.1, '0.9'), to_char(-0.1, 'FM9.99')
----
 12.3|  12.3450|  .1| 0.1|-.1

query
select to_char(485, '9 9 9'), to_char(1485, '9,999'), to_char(1485, '9G999'), to_char(148.5, '999.999'), to_char(148.5, 'FM999.990')
----
 4 8 5| 1,485| 1,485| 148.500|148.500

query
select to_char(148.5, '999D999'), to_char(3148.5, '9G999D999'), to_char(-485, '999S'), to_char(-485, '999MI'), to_char(485, '999MI')
----
 148.500| 3,148.500|485-|485-|485 

query
select to_char(485, 'FM999MI'), to_char(485, 'PL999'), to_char(485, 'SG999'), to_char(-485, 'SG999'), to_char(-485, '9SG99')
----
485|+ 485|+485|-485|4-85

query
select to_char(-485, '999PR'), to_char(485, '999PR'), to_char(485, 'L999'), to_char(485, 'RN'), to_char(5.2, 'FMRN')
----
<485>| 485 |  485|        CDLXXXV|V

query
select to_char(482, '999th'), to_char(485, '"Good number:"999'), to_char(485.8, '"Pre:"999" Post:" .999'), to_char(12, '99V999'), to_char(12.4, '99V999')
----
 482nd|Good number: 485|Pre: 485 Post: .800| 12000| 12400

query
select to_char(12.45, '99V9'), to_char(0.0004859, '9.99EEEE'), to_char(-12345678::bigint, '9.9EEEE'), to_char(1e200, '9.99EEEE'), to_char(12, '9')
----
 125| 4.86e-04|-1.2e+07| 1.00e+200| #

query
select to_char(1.5::real, '999.99999999'), to_char(1234567.891::real, '9999999.99'), to_char(123456789.123456789::float8, '999999999.9999999999'), to_char('nan'::float8, '999.9'), to_char('infinity'::float8, '9.9EEEE')
----
   1.50000| 1234568| 123456789.123457| NaN| #.#####

query
select to_char(3999, 'rn'), to_char(4000, 'RN'), to_char(0, 'RN'), to_char(1, 'S999'), to_char(-1, 'S0999'), to_char(12345678901::bigint, 'S9G999G999G999G999')
----
      mmmcmxcix|###############|###############|  +1|-0001|   +12,345,678,901

query
select to_char(100, 'FM999.9'), to_char(100, 'foo999'), to_char(100, 'f"ool"999'), to_char(100, 'f\"oo999'), to_char(100, '')
----
100.|foo 100|fool 100|f"oo 100|

statement error 42601
select to_char(1, '9EEEE9')
----
"EEEE" must be the last pattern used

statement error 42601
select to_char(1, '9.9.9')
----
multiple decimal points

statement error 42601
select to_char(1, 'S9S')
----
cannot use "S" twice

query
select to_char(1, 'SPR9')
----
R 1

statement error 42601
select to_char(1, '9PR9')
----
"9" must be ahead of "PR"

statement error 42601
select to_char(1, 'FMEEEE')
----
"EEEE" is incompatible with other formats
DETAIL: "EEEE" may only be used together with digit and decimal point patterns.

statement error 22003
select to_char(3000000000::bigint, 'RN')
----
integer out of range

query
select to_number('-34,338,492', '99G999G999'), to_number('-34,338,492.654,878', '99G999G999D999G999'), to_number('<564646.654564>', '999999.999999PR'), to_number('0.00001-', '9.999999S')
----
-34338492|-34338492.654878|-564646.654564|-0.00001

query
select to_number('5.01-', 'FM9.999999MI'), to_number('5 4 4 4 4 8 . 7 8', '9 9 9 9 9 9 . 9 9'), to_number('.01', 'FM9.99'), to_number('$1,234.56', 'L99,999.99'), to_number('42nd', '99th'), to_number('12', '99V9')
----
-5.01|544448.78|0.01|1234.56|42|1.2000000000000000

statement error 22P02
select to_number('', '999')
----
invalid input syntax for type numeric: " "

statement error 22P02
select to_number('abc', '999')
----
invalid input syntax for type numeric: " "

statement error 0A000
select to_number('1', 'RN')
----
"RN" not supported for input

query
select to_number('12345', '999'), to_number('1', '')
----
123|NULL

query
select to_char(timestamp '2024-02-29 17:08:09.012345', 'YYYY-MM-DD HH24:MI:SS.US MS FF1 FF3 HH12 HH AM p.m. SSSS')
----
2024-02-29 17:08:09.012345 012 0 012 05 05 PM p.m. 61689

query
select to_char(timestamp '2024-02-29 17:08:09.012345', 'DAY Day day DY Dy dy MONTH Month month MON Mon mon|FMDay, FMMonth DDth|')
----
THURSDAY  Thursday  thursday  THU Thu thu FEBRUARY  February  february  FEB Feb feb|Thursday, February 29th|

query
select to_char(timestamp '2024-02-29 17:08:09', 'Y,YYY YYY YY Y IYYY IYY IY I CC Q WW IW W D ID DD DDD IDDD J RM rm BC a.d.')
----
2,024 024 24 4 2024 024 24 4 21 1 09 09 5 5 4 29 060 060 2460370 II   ii   AD a.d.

query
select to_char(timestamp '0044-03-15 BC', 'YYYY BC YY CC Y,YYY IYYY'), to_char(timestamp '2024-01-01', '"quoted YYYY" \"YYYY FMMM/FMDD TMMonth'), to_char(timestamp '2024-01-01', '')
----
0044 BC 44 -01 0,044 0044|quoted YYYY "2024 1/1 January|NULL

query
select to_char(timestamptz '2024-07-01 12:00:00+00', 'TZ tz OF TZH:TZM'), to_char(date '2024-12-30', 'IYYY-IW-ID'), to_char(time '10:11:12', 'HH12:MI:SS PM')
----
UTC utc +00 +00:00|2025-01-1|10:11:12 AM

query
select to_char(interval '15h 2m 12s', 'HH24:MI:SS HH12 SSSS'), to_char(interval '-1 year -2 months -3 days -4 hours', 'YYYY MM DD HH24 HH12 DDD RM CC J'), to_char(interval '13 months', 'YYYY MM Q WW')
----
15:02:12 03 54132|-0001 -02 -3 -04 -04 -423 XI   00 1720599|0001 01 1 56

statement error 22007
select to_char(interval '1 day', 'Month')
----
invalid format specification for an interval value
HINT: Intervals are not tied to specific calendar dates.

query
select to_timestamp('05 Dec 2000', 'DD Mon YYYY'), to_timestamp('2011-12-18 11:38 PM', 'YYYY-MM-DD HH12:MI PM'), to_timestamp('0097/Feb/16 --> 08:14:30', 'YYYY/Mon/DD --> HH:MI:SS')
----
2000-12-05 00:00:00+00|2011-12-18 23:38:00+00|0097-02-16 08:14:30+00

query
select to_timestamp('1985 January 12', 'YYYY FMMonth DD'), to_timestamp('My birthday-> Year: 1976, Month: May, Day: 16', '"My birthday-> Year:" YYYY, "Month:" FMMonth, "Day:" DD'), to_timestamp('1,582nd VIII 21', 'Y,YYYth FMRM DD')
----
1985-01-12 00:00:00+00|1976-05-16 00:00:00+00|1582-08-21 00:00:00+00

query
select to_timestamp('15 "text between quote marks" 98 54 45', E'HH24 "\\"text between quote marks\\"" YY MI SS'), to_timestamp('05121445482000', 'MMDDHH24MISSYYYY'), to_timestamp('2000January09Sunday', 'YYYYFMMonthDDFMDay')
----
1998-01-01 15:54:45+00|2000-05-12 14:45:48+00|2000-01-09 00:00:00+00

query
select to_timestamp('97/2/16 8:14:30', 'FMYYYY/FMMM/FMDD FMHH:FMMI:FMSS'), to_timestamp('19971116', 'YYYYMMDD'), to_timestamp('20000-1116', 'YYYY-MMDD'), to_timestamp('1997 AD 11 16', 'YYYY BC MM DD'), to_timestamp('9-1116', 'Y-MMDD')
----
0097-02-16 08:14:30+00|1997-11-16 00:00:00+00|20000-11-16 00:00:00+00|1997-11-16 00:00:00+00|2009-11-16 00:00:00+00

query
select to_timestamp('2005527', 'IYYYIWID'), to_timestamp('005527', 'IYYIWID'), to_timestamp('2005300', 'YYYYDDD'), to_timestamp('2005300', 'IYYYIDDD'), to_timestamp('2454000', 'J')
----
2006-01-01 00:00:00+00|2006-01-01 00:00:00+00|2005-10-27 00:00:00+00|2005-10-29 00:00:00+00|2006-09-21 00:00:00+00

query
select to_timestamp('2011-12-18 11:38 +05:20', 'YYYY-MM-DD HH12:MI TZH:TZM'), to_timestamp('2011-12-18 11:38 -05', 'YYYY-MM-DD HH12:MI TZH'), to_timestamp('2018-11-02 12:34:56.1234', 'YYYY-MM-DD HH24:MI:SS.FF2')
----
2011-12-18 06:18:00+00|2011-12-18 16:38:00+00|2018-11-02 12:34:56.12+00

statement error 22007
select to_timestamp('2011$03!18 23_38_15', 'YYYY-MM-DD HH24:MI:SS'), to_timestamp('2000 + + JUN', 'YYYY  MON'), to_timestamp('  2000JUN  ', 'YYYYMON'), to_timestamp('2000+JUN', 'YYYY/MON')
----
invalid value "+" for "MON"
DETAIL: The given value did not match any of the allowed values for this field.

query
select to_date('2011 12  18', 'YYYY MM DD'), to_date('2011-12-18', 'YYYY MM DD'), to_date('1 4 1902', 'Q MM YYYY'), to_date('3 4 21 01', 'W MM CC YY'), to_date('44-02-01 BC', 'YYYY-MM-DD BC'), to_date('2458872', 'J')
----
2011-12-18|2011-12-18|1902-04-01|2001-04-15|0044-02-01 BC|2020-01-23

statement error 22007
select to_timestamp('2005527', 'YYYYIWID')
----
invalid combination of date conventions
HINT: Do not mix Gregorian and ISO week date conventions in a formatting template.

statement error 22007
select to_timestamp('19971', 'YYYYMMDD')
----
source string too short for "MM" formatting field
DETAIL: Field requires 2 characters, but only 1 remain.
HINT: If your source string is not fixed-width, try using the "FM" modifier.

statement error 22007
select to_timestamp('19971)24', 'YYYYMMDD')
----
invalid value "1)" for "MM"
DETAIL: Field requires 2 characters, but only 1 could be parsed.
HINT: If your source string is not fixed-width, try using the "FM" modifier.

statement error 22007
select to_timestamp('Friday 1-January-1999', 'DY DD MON YYYY')
----
invalid value "da" for "DD"
DETAIL: Value must be an integer.

statement error 22007
select to_timestamp('1997-11-Jan-16', 'YYYY-MM-Mon-DD')
----
conflicting values for "Mon" field in formatting string
DETAIL: This value contradicts a previous setting for the same field type.

statement error 22007
select to_timestamp('199711xy', 'YYYYMMDD')
----
invalid value "xy" for "DD"
DETAIL: Value must be an integer.

statement error 22008
select to_timestamp('10000000000', 'FMYYYY')
----
value for "YYYY" in source string is out of range
DETAIL: Value must be in the range -2147483648 to 2147483647.

statement error 22008
select to_timestamp('2016-06-13 25:00:00', 'YYYY-MM-DD HH24:MI:SS')
----
date/time field value out of range: "2016-06-13 25:00:00"

statement error 22007
select to_timestamp('2016-06-13 15:50:55', 'YYYY-MM-DD HH:MI:SS')
----
hour "15" is invalid for the 12-hour clock
HINT: Use the 24-hour clock, or give an hour between 1 and 12.

statement error 22008
select to_date('2016-02-30', 'YYYY-MM-DD')
----
date/time field value out of range: "2016-02-30"

statement error 22008
select to_date('2016 367', 'YYYY DDD')
----
date/time field value out of range: "2016 367"

statement error 22007
select to_date('365', 'DDD')
----
cannot calculate day of year without year information

statement error 0A000
select to_timestamp('2016', 'OF')
----
formatting field "OF" is only supported in to_char

statement ok
set time zone 'America/New_York'

query
select to_char(timestamptz '2024-07-01 12:00:00+00', 'YYYY-MM-DD HH24 TZ OF TZH'), to_timestamp('2024-07-01 12:00', 'YYYY-MM-DD HH24:MI'), to_char(date '2024-01-01', 'TZ')
----
2024-07-01 08 EDT -04 -04|2024-07-01 12:00:00-04|EST

query
select length(to_char(1.5::float8, '9.' || repeat('9', 70000) || 'EEEE'))
----
70007
