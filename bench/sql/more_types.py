"""The rest of the types of bench/sql/generated.py: literals, expressions and aggregates of each, as texts of SQL.

`real`, `timestamptz`, `time`, `interval`, `uuid`, `bytea`, `json`, `jsonb`, `int[]` and `text[]`. A function of this file takes
the generator, which draws, and `of`, which makes an expression of another type.
"""

LITERALS = {
    "real": ["1.5::real", "'-2.25e3'::real", "0::real", "'NaN'::real", "0.1::real", "3::real"],
    "timestamptz": ["timestamptz '2024-02-29 12:34:56.789+02'", "timestamptz '2023-12-31 23:59:59+00'", "timestamptz '1970-01-01 00:00+00'", "timestamptz '2024-07-01 06:00-07'"],
    "time": ["time '12:34:56.789'", "time '00:00'", "time '23:59:59'", "time '06:00'"],
    "interval": ["interval '1 day'", "interval '-3 mons 2 days 04:05:06.5'", "interval '1 year 2 mons'", "interval '0'", "interval '25 hours'", "interval '-00:00:01'"],
    "uuid": ["uuid '00000000-0000-0000-0000-000000000000'", "uuid 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "uuid 'ffffffff-ffff-ffff-ffff-ffffffffffff'"],
    "bytea": ["'\\x'::bytea", "'\\x00ff61'::bytea", "'abc'::bytea", "'\\xff'::bytea"],
    "json": ["json '{\"a\": 1, \"b\": [1, null, \"x\"]}'", "json '[1, 2.50, \"a\"]'", "json 'null'", "json '\"t\"'", "json '{}'"],
    "jsonb": ["jsonb '{\"a\": 1, \"b\": [1, null, \"x\"]}'", "jsonb '[1, 2.50, \"a\"]'", "jsonb 'null'", "jsonb '\"t\"'", "jsonb '{\"b\": {\"a\": true}}'", "jsonb '12'"],
    "int[]": ["'{}'::int[]", "array[1, 2, 3]", "'{1,null,-3}'::int[]", "'{{1,2},{3,4}}'::int[]", "array[5]"],
    "text[]": ["array['a', 'b']", "'{}'::text[]", "'{a,null,\"x y\"}'::text[]", "array['Zürich', '', 'a']"],
}
TYPES = list(LITERALS)
COLUMNS = {
    "r": "real", "tz": "timestamptz", "t": "time", "v": "interval", "u": "uuid", "y": "bytea", "k": "json", "j": "jsonb", "ai": "int[]", "st": "text[]",
}
UNITS = ["year", "quarter", "month", "week", "day", "hour", "minute", "second", "decade", "century", "milliseconds"]
FIELDS = ["year", "month", "day", "hour", "minute", "second", "epoch"]
ZONES = ["'Europe/Berlin'", "'America/New_York'", "'UTC'", "'EST'", "interval '02:00'"]
PATHS = ["'{a}'", "'{b,0}'", "'{b,-1}'", "'{0}'", "'{}'"]


def expressions(kind, generator, of):
    """What makes a value of one of these types; of another type, what takes these to it."""
    pick, number = generator.pick, generator.random.randint
    step = lambda: pick(["'a'", "'b'", "0", "1", "-1"])  # noqa: E731
    return {
        "real": [
            lambda: f"({of('real')} {pick('+-*/')} {of('real')})",
            lambda: f"({of(pick(['int', 'numeric', 'double precision']))})::real",
            lambda: f"(- {of('real')})",
            lambda: f"abs({of('real')})",
        ],
        "timestamptz": [
            lambda: f"({of(pick(['timestamp', 'date']))})::timestamptz",
            lambda: f"({of('timestamptz')} {pick('+-')} {of('interval')})",
            lambda: f"date_trunc('{pick(UNITS)}', {of('timestamptz')})",
            lambda: f"({of('timestamp')} at time zone {pick(ZONES)})",
        ],
        "time": [
            lambda: f"({of(pick(['timestamp', 'timestamptz', 'interval']))})::time",
            lambda: f"({of('time')} {pick('+-')} {of('interval')})",
        ],
        "interval": [
            lambda: f"({of('interval')} {pick('+-')} {of('interval')})",
            lambda: f"({of('timestamp')} - {of('timestamp')})",
            lambda: f"({of('timestamptz')} - {of('timestamptz')})",
            lambda: f"({of('time')} - {of('time')})",
            lambda: f"({of('interval')} {pick('*/')} {pick(['2', '-3', '1.5', '7', '0.1'])})",
            lambda: f"(- {of('interval')})",
            lambda: f"age({of('timestamp')}, {of('timestamp')})",
            lambda: f"{pick(['justify_days', 'justify_hours', 'justify_interval'])}({of('interval')})",
            lambda: f"date_trunc('{pick(UNITS[:-1])}', {of('interval')})",
            lambda: f"({of('time')})::interval",
        ],
        "uuid": [lambda: f"md5({of('text')})::uuid", lambda: f"({of('uuid')})::text::uuid"],
        "bytea": [
            lambda: f"({of('bytea')} || {of('bytea')})",
            lambda: f"convert_to({of('text')}, 'UTF8')",
            lambda: f"substring({of('bytea')} from {number(-1, 3)} for {number(0, 3)})",
            lambda: f"decode(md5({of('text')}), 'hex')",
        ],
        "json": [
            lambda: f"to_json({of(pick(generator.types))})",
            lambda: f"json_build_array({of(pick(generator.types))}, {of('int')})",
            lambda: f"json_build_object('x', {of(pick(generator.types))})",
            lambda: f"({of('json')} {pick(['->', '->'])} {step()})",
            lambda: f"({of('json')} #> {pick(PATHS)})",
            lambda: f"({of('jsonb')})::json",
        ],
        "jsonb": [
            lambda: f"to_jsonb({of(pick(generator.types))})",
            lambda: f"jsonb_build_object('a', {of(pick(generator.types))}, 'b', {of('int')})",
            lambda: f"jsonb_build_array({of(pick(generator.types))})",
            lambda: f"({of('jsonb')} -> {step()})",
            lambda: f"({of('jsonb')} #> {pick(PATHS)})",
            lambda: f"({of('jsonb')} || {of('jsonb')})",
            lambda: f"({of('json')})::jsonb",
            lambda: f"jsonb_strip_nulls({of('jsonb')})",
        ],
        "int[]": [
            lambda: f"array[{of('int')}, {of('int')}]",
            lambda: f"({of('int[]')} || {of('int')})",
            lambda: f"({of('int')} || {of('int[]')})",
            lambda: f"array_append({of('int[]')}, {of('int')})",
            lambda: f"array_remove({of('int[]')}, {of('int')})",
        ],
        "text[]": [
            lambda: f"array[{of('text')}, {of('text')}]",
            lambda: f"({of('text[]')} || {of('text')})",
            lambda: f"string_to_array({of('text')}, {of('text')})",
            lambda: f"array_append({of('text[]')}, {of('text')})",
            lambda: f"({of('int[]')})::text[]",
        ],
        "int": [
            lambda: f"array_length({of(pick(['int[]', 'text[]']))}, 1)",
            lambda: f"cardinality({of('text[]')})",
            lambda: f"({of('int[]')})[{number(-1, 3)}]",
            lambda: f"array_position({of('int[]')}, {of('int')})",
            lambda: f"octet_length({of('bytea')})",
        ],
        "numeric": [
            lambda: f"extract({pick(FIELDS)} from {of(pick(['interval', 'timestamptz']))})",
            lambda: f"extract({pick(FIELDS[3:])} from {of('time')})",
            lambda: f"({of('real')})::numeric",
        ],
        "double precision": [lambda: f"({of('real')} {pick('+-*')} {of('double precision')})", lambda: f"({of('real')})::float8"],
        "text": [
            lambda: f"({of(pick(TYPES))})::text",
            lambda: f"encode({of('bytea')}, '{pick(['hex', 'base64', 'escape'])}')",
            lambda: f"array_to_string({of(pick(['int[]', 'text[]']))}, ',', {pick(['null', of('text')])})",
            lambda: f"({of(pick(['json', 'jsonb']))} {pick(['->>'])} {step()})",
            lambda: f"({of(pick(['json', 'jsonb']))} #>> {pick(PATHS)})",
            lambda: f"jsonb_typeof({of('jsonb')})",
            lambda: f"({of('text[]')})[{number(0, 2)}]",
            lambda: f"md5({of('text')})",
        ],
        "boolean": [
            lambda: f"({of('jsonb')} @> {of('jsonb')})",
            lambda: f"({of('jsonb')} ? 'a')",
            lambda: f"({of('int')} {pick(['=', '<', '<>'])} {pick(['any', 'all'])} ({of('int[]')}))",
            lambda: f"({of('real')} {pick(['=', '<', '>='])} {of(pick(['real', 'double precision', 'int', 'numeric']))})",
            lambda: f"({of('timestamptz')} {pick(['=', '<', '>='])} {of(pick(['timestamptz', 'timestamp', 'date']))})",
            lambda: f"({of('bytea')} like 'a%')",
        ],
        "date": [lambda: f"({of('timestamptz')})::date"],
        "timestamp": [
            lambda: f"({of('timestamptz')} at time zone {pick(ZONES)})",
            lambda: f"({of('date')} + {of('time')})",
            lambda: f"({of('timestamp')} {pick('+-')} {of('interval')})",
            lambda: f"({of('timestamptz')})::timestamp",
        ],
    }.get(kind, [])


def least(kind, name):
    """One value of many in a column: the same one on every server."""
    if kind in ("uuid", "bytea", "json", "jsonb"):
        return f"(array_agg({name} order by ({name})::text, ({name})::text desc))[1]"
    return f"sum({name})" if kind == "interval" else f"min({name})"


def aggregate(kind, generator, of):
    pick = generator.pick
    if kind in ("real", "timestamptz", "time", "int[]", "text[]"):
        return f"{pick(['max', 'min'])}({of(kind)})"
    if kind == "interval":
        return f"{pick(['sum', 'avg'])}({of(kind)})"
    one = of(kind)
    if kind == "bytea":
        return f"string_agg({one}, '\\x2c'::bytea order by {one})"
    if kind in ("json", "jsonb"):
        return f"{kind}_agg({one} order by ({one})::text)"
    return least(kind, one)
