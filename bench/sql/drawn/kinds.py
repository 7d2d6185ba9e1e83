"""The types that docs/sql.md names: texts of values of each, at and near their bounds, and the columns of the tables.

A value is a text that both servers read as one of the type. The first few of a list are *plain*: no arithmetic of few of them
overflows. Tables have plain values, so that most queries are computed and not refused.
"""

TEXTS = [
    "a", "ab", "abc", "b", "B", "bb", "", "12", "-7", "Zürich", "naïve", "3.5", "true", "2024-02-29", " x ", "a%b", "a_b", "x\\y", "a,b,,c", "ß", "éa", "null", "{1,2}", "1 day",
    "12:30", "ABC abc", "10.0.0.1", "a.b-c", "日本", "0x1F", "\t", "'q'", '"d"', "foo bar foo", "aaa", "1e5", "infinity", "   ", "-",
]
VALUES = {
    "int2": ["0", "1", "-1", "2", "7", "-7", "100", "32767", "-32768"],
    "int4": ["0", "1", "-1", "2", "3", "5", "10", "-5", "42", "1000", "2147483647", "-2147483648", "65536", "-2"],
    "int8": ["0", "1", "-1", "2", "12", "-20", "3000000000", "9223372036854775807", "-9223372036854775808", "4294967296", "99"],
    "numeric": ["0", "1", "1.50", "-1.5", "0.5", "2.5", "10.0", "-2.5", "3.14159", "0.00", "99999.99", "0.001", "-0.000000001", "12345678901234567890.12", "100", "1e10", "7", "33.333"],
    "float4": ["0", "1", "1.5", "-2.25", "3", "0.1", "NaN", "Infinity", "1e10", "-0", "1e-10", "3.4e38", "123456.79"],
    "float8": ["0", "1", "0.5", "-2.25", "1500", "2", "0.1", "-0", "NaN", "Infinity", "-Infinity", "1e-7", "1e300", "123456789.125", "0.30000000000000004", "1e16"],
    "text": TEXTS,
    "varchar": TEXTS,
    "bpchar": ["a", "ab ", "b", "B", "", "abcd", "é", "12", " x", "a  b"],
    "name": ["a", "ab", "Zürich", "select", ""],
    "bool": ["t", "f"],
    "date": ["2024-02-29", "2023-12-31", "1999-01-01", "2024-06-15", "0044-03-15", "1970-01-01", "2000-01-01", "infinity", "-infinity", "0044-03-15 BC", "9999-12-31", "2021-01-03", "2020-12-31"],
    "time": ["12:34:56.789", "00:00", "23:59:59", "06:00", "24:00:00", "23:59:59.999999", "00:00:00.000001"],
    "timestamp": [
        "2024-02-29 12:34:56.789", "2023-12-31 23:59:59", "1970-01-01", "2024-06-15 06:00", "2000-01-01", "infinity", "-infinity", "0044-03-15 10:00 BC", "9999-12-31 23:59:59.999999",
        "1999-12-31 23:59:59.999999", "2024-03-10 02:30", "2021-01-01 00:00:00.5",
    ],
    "timestamptz": [
        "2024-02-29 12:34:56.789+02", "2023-12-31 23:59:59+00", "1970-01-01 00:00+00", "2024-07-01 06:00-07", "2000-01-01 00:00+00", "infinity", "-infinity", "0044-03-15 10:00+00 BC",
        "2024-10-27 00:30:00+00", "2024-03-31 01:00:00+00", "9999-12-31 23:59:59.999999+00",
    ],
    "timetz": ["12:34:56.789+02", "00:00+00", "23:59:59-07", "06:00+05:30", "24:00:00+00", "12:34:56.789+00", "10:34:56.789+00", "00:00:00.000001-15:59", "13:00:00+02:30:15"],
    "interval": [
        "1 day", "-3 mons 2 days 04:05:06.5", "1 year 2 mons", "0", "25 hours", "-00:00:01", "30 days", "1 mon -1 day", "100 years", "00:00:00.000001", "1.5 days", "-1 year", "P1Y2M3DT4H5M6S",
        "10 years -11 mons 40 days -30:00:00", "720:00:00",
    ],
    "uuid": ["00000000-0000-0000-0000-000000000000", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "ffffffff-ffff-ffff-ffff-ffffffffffff", "{A0EEBC99-9C0B4EF8-BB6D6BB9-BD380A12}"],
    "bytea": ["\\x", "\\x00ff61", "abc", "\\xff", "a\\\\b", "\\x616263", "\\x0001020304"],
    "json": ['{"a": 1, "b": [1, null, "x"]}', '[1, 2.50, "a"]', "null", '"t"', "{}", "[]", '{"a": {"b": {"c": "d"}}, "a": 2}', "-0.0", '"\\u00e9\\n"', "true", '[[1,2],[3]]', '{"": 0, "1": [{}]}'],
    "jsonb": ['{"a": 1, "b": [1, null, "x"]}', '[1, 2.50, "a"]', "null", '"t"', '{"b": {"a": true}}', "12", "{}", "[]", '{"a": {"b": {"c": "d"}}, "a": 2}', '"\\u00e9\\n"', "[[1,2],[3]]", "1e5", "false"],
    "inet": ["192.168.1.5/24", "10.0.0.1", "::1", "10.0.0.0/8", "2001:db8::8a2e/32", "255.255.255.255", "0.0.0.0/0", "::ffff:1.2.3.4/96", "192.168.1.5/25", "::/0"],
    "cidr": ["192.168.1.0/24", "10.0.0.0/8", "::1/128", "2001:db8::/32", "10.1.2.3/32", "0.0.0.0/0", "192.168", "::ffff:1.2.3.0/120"],
    "int4range": ["[1,5)", "empty", "(,)", "[3,9]", "(1,3]", "[,5]", "[10,20)", "(2,3)", "[2147483640,2147483647)", "[-5,1)", "(5,)"],
    "int8range": ["[1,5)", "empty", "(,)", "[3,9]", "(1,3]", "[5,)", "[10,3000000000)", "(,0]"],
    "numrange": ["[1.5,5)", "empty", "(,)", "[3,9]", "(1,3.25]", "[,5]", "[5,5]", "(2,3)", "(0.1,1.1]"],
    "daterange": ["[2024-01-01,2024-02-01)", "empty", "(,)", "[2023-12-31,2024-01-15]", "(2024-01-10,)", "(,2020-01-01]", "[infinity,)", "[2024-02-01,2024-03-01)"],
    "tsrange": ["[2024-01-01,2024-02-01)", "empty", "(,)", "[2023-12-31 10:00,2024-01-15]", "(2024-01-10,)", "(2024-02-01,2024-03-01)"],
    "tstzrange": ["[2024-01-01 00:00+00,2024-02-01 00:00+00)", "empty", "(,)", "[2023-12-31 10:00+00,2024-01-15 00:00+00]", "(,2024-01-01 00:00+00)"],
    "hstore": ["a=>1", "a=>1, b=>NULL", "", '"x y"=>"z\\"q"', "b=>2,c=>3", "A=>t, a=>f", "1=>12, aa=>x", 'a=>"", bb=>3.50'],
    "tsvector": ["a b c", "a:1 b:2A c:3B,5", "", "fat:2,4 cat:3 rat:5A", "'x y':1 z", "a:1A,2B,3C,4D", "Cat cat:16383"],
    "tsquery": ["a", "a & b", "a | !b", "fat <-> cat", "fat <2> rat", "a:AB & c:*", "!(a | b)", "'x y'", "a & b | c", "!!a", "(a <-> b) <-> c", "a <0> b"],
    "mood": ["ok", "sad", "happy"],
    "jsonpath": ["$", "$.a", "$.b[*]", "strict $.a.b", "$[*] ? (@ > 1)", "$.a == 1", "$.**", "exists($.b)", "$[last]", "-$.a", "$.a + 1", '$.b[*] ? (@ like_regex "^x" flag "i")', "$.keyvalue()", "lax $[0 to 1]"],
    "char": ["A", "b", "D", "x"],
    "oid": ["0", "1", "23", "16384", "4294967295"],
}
ARRAYS = {
    "int4[]": ["{1,2,3}", "{}", "{1,NULL,-3}", "{{1,2},{3,4}}", "{5}", "[0:1]={7,8}", "{2,1}", "{NULL}", "{1,1,2}"],
    "text[]": ["{a,b}", "{}", '{a,NULL,"x y"}', '{Zürich,"",a}', '{{a,b},{c,d}}', '{"null","\\"q\\"","a,b"}', "[2:3]={a,b}", "{b,0}", "{a}", "{-1}"],
    "numeric[]": ["{1.5,2}", "{}", "{1.0,1.00,NULL}", "{-0.5}"],
    "float8[]": ["{1.5,2}", "{}", "{0.1,NaN,NULL}", "{Infinity,-0}"],
    "int8[]": ["{1,2}", "{}", "{3000000000,NULL}"],
    "int2[]": ["{1,2}", "{}", "{-1,NULL}"],
    "bool[]": ["{t,f}", "{}", "{NULL,t}"],
    "date[]": ["{2024-02-29,1999-01-01}", "{}", "{infinity,NULL}"],
    "timestamp[]": ['{"2024-02-29 12:34:56.789",1970-01-01}', "{}"],
    "timestamptz[]": ['{"2024-02-29 12:34:56.789+00"}', "{NULL}"],
    "interval[]": ['{"1 day","30:00"}', "{NULL}"],
    "jsonb[]": ['{"{\\"a\\": 1}",null,2}', "{}"],
    "uuid[]": ["{00000000-0000-0000-0000-000000000000}", "{}"],
    "inet[]": ["{10.0.0.1,::1}", "{}"],
    "bytea[]": ['{"\\\\x61","\\\\x"}', "{}"],
    "varchar[]": ["{a,b}", "{NULL,B}"],
    "mood[]": ["{ok,sad}", "{}"],
    "char[]": ["{A,b}", "{}"],
    "int4range[]": ['{"[1,5)",empty}', "{}"],
    "hstore[]": ['{a=>1}', "{}"],
}
VALUES |= ARRAYS
PLAIN = {
    "int2": 6, "int4": 10, "int8": 6, "numeric": 11, "float4": 5, "float8": 6, "date": 7, "time": 4, "timestamp": 5, "timestamptz": 5, "interval": 8, "text": 20, "varchar": 20, "int4[]": 5,
    "text[]": 4, "int4range": 8, "daterange": 6, "json": 6, "jsonb": 8,
}
# The weights by which types are drawn.
WEIGHTS = {
    "int4": 12, "text": 12, "numeric": 9, "int8": 5, "float8": 5, "int2": 3, "float4": 3, "bool": 6, "date": 5, "timestamp": 5, "timestamptz": 5, "interval": 6, "time": 3, "timetz": 2, "varchar": 3, "bpchar": 3,
    "int4[]": 4, "text[]": 4, "jsonb": 5, "json": 3, "bytea": 3, "uuid": 2, "inet": 3, "cidr": 2, "int4range": 3, "numrange": 2, "daterange": 2, "tsrange": 1, "tstzrange": 1, "int8range": 1, "hstore": 3,
    "tsvector": 3, "tsquery": 2, "mood": 2, "numeric[]": 1, "float8[]": 1, "date[]": 1,
}
DRAWN = [kind for kind, weight in WEIGHTS.items() for _ in range(weight)]
NUMBERS = ["int2", "int4", "int8", "numeric", "float4", "float8"]
# Types without an order: json, jsonpath; and questions, whose order here is that of their texts (docs/sql.md, Text search).
UNORDERED = ("json", "tsquery", "jsonpath")
ORDERED = [kind for kind in DRAWN if kind not in UNORDERED]
# Types of which min and max are.
WITH_LEAST = ["int2", "int4", "int8", "numeric", "float4", "float8", "text", "bpchar", "date", "time", "timetz", "timestamp", "timestamptz", "interval", "inet", "int4[]", "text[]", "mood"]

COLUMNS = {
    "id": "int4", "i": "int4", "w": "int2", "b": "int8", "n": "numeric", "d": "float8", "s": "text", "f": "bool", "dt": "date", "ts": "timestamp", "r": "float4", "vc": "varchar", "ch": "bpchar",
    "tz": "timestamptz", "t": "time", "v": "interval", "u": "uuid", "y": "bytea", "k": "json", "j": "jsonb", "ai": "int4[]", "st": "text[]", "ip": "inet", "nt": "cidr", "ir": "int4range", "nr": "numrange",
    "dr": "daterange", "h": "hstore", "tv": "tsvector", "tq": "tsquery", "m": "mood", "p": "int4",
}
# Columns whose declared type is another than the type of what they give.
DECLARED = {"n": {"a": "numeric(10,2)", "c": "numeric(12,4)", "e": "numeric(8,0)"}, "vc": {"c": "varchar(12)", "a": "varchar", "e": "varchar(30)"}, "ch": {"": "char(4)"}, "p": {"": "positive"}}
TABLES = ["a", "c", "e"]
KEYS = {"a": "primary key (id)", "c": "primary key (i, id)", "e": "unique (id)"}
TYPES = [
    "create type mood as enum ('sad', 'ok', 'happy')", "create domain positive as int check (value > 0)", "create domain short as varchar(3)", "create domain price as numeric(6,2) check (value >= 0)", "create domain known as text not null",
    "create domain early as date check (value < date '2024-01-01') check (extract(dow from value) <> 0)",
]
# Of each domain the base type, which an expression of it has here (docs/sql.md).
DOMAINS = {"positive": "int4", "short": "varchar", "price": "numeric", "known": "text", "early": "date"}
INDEXES = [
    "create index on a(i)", "create index on a(s, n)", "create index on c(dt)", "create index on c(s, d, f)", "create index on e(ts, i)", "create index on e(lower(s))",
    "create index on a(b) where i > 0", "create index on c(m)", "create index on e(ip)", "create index on a(ir)", "create index on c(t)", "create index on e(u)",
]


def definition(table):
    def of(column, kind):
        declared = DECLARED.get(column, {})
        return declared.get(table) or declared.get("") or kind

    columns = [f"{column} {of(column, kind)}{' not null' if (table, column) == ('e', 'i') else ''}" for column, kind in COLUMNS.items()]
    return f"create table {table}({', '.join(columns)}, {KEYS[table]})"


def quoted(text):
    return "'" + text.replace("'", "''") + "'"
