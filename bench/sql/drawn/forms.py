"""Random statements of single forms, with more of one family than expressions and queries have: types that meet in one
place, patterns, templates, spellings of intervals, paths of JSON, arrays of arrays, frames, sets of groups.

Each is small, so that a difference is a difference of that form.
"""

from . import arguments, spelled
from .kinds import ARRAYS, COLUMNS, DRAWN, NUMBERS, ORDERED, TABLES, UNORDERED, VALUES, quoted
from .queries import Queries

SUBJECTS = ["foobar", "abcabc", "aaa", "ab", "", "xay", "foo bar\nbaz", "äöü", "a.b.c", "2024-02-29", "AbAb", "aabbcc", "x1y22z333", "_a-b", "ab\nab"]
ATOMS = ["a", "b", "ab", "o", "x", ".", "[ab]", "[^a]", "\\d", "\\w", "\\s", "(a)", "(ab)", "(a|ab)", "(?:a|b)", "[a-c]", "foo", "bar", "(o+)", "(.)", "ü", "c", "1", "2", "\\.", "-", "(ab|a)(c|bcd)?"]
QUANTIFIERS = ["", "", "", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0,1}?", "{2,}", "{1}"]
FIELDS = ["year", "month", "day", "hour", "minute", "second", "dow", "doy", "week", "isoyear", "isodow", "quarter", "decade", "century", "millennium", "epoch", "julian", "milliseconds", "microseconds", "timezone"]
MOMENTS_OF_TEMPLATE = [
    "YYYY", "YY", "Y", "MM", "DD", "HH24", "HH12", "HH", "MI", "SS", "MS", "US", "AM", "pm", "a.m.", "Month", "MON", "month", "Day", "DY", "day", "D", "ID", "DDD", "IDDD", "WW", "IW", "W", "Q", "CC", "J", "RM", "rm", "BC", "ad",
    "IYYY", "IYY", "Y,YYY", "FF1", "FF3", "FF6", "SSSS", "TZ", "TZH", "TZM", "OF", "FMMM", "FMDay", "DDth", "FMDDTH", "TMMonth", "FX",
]
BETWEEN = ["", "-", " ", "/", ":", ".", ",", '"x"', "T", "  "]
NUMBERS_OF_TEMPLATE = ["9", "99", "999", "0", "00", "9,999", "D9", ".9", ".99", "G", "S", "MI", "PL", "SG", "PR", "L", "FM", "V9", "th", "TH", "B", "$", " ", "E", "x", "EEEE"]
UNITS_OF_INTERVAL = [
    "day", "days", "d", "hour", "hours", "h", "min", "m", "minutes", "sec", "s", "seconds", "mon", "months", "year", "y", "yrs", "week", "w", "decade", "century", "c", "millennium", "mil", "ms", "msec", "us", "usec", "microseconds", "quarter", "ago", "x", "@",
    "DAY", "Mons", "timezone", "t", "julian",
]
PATHS_OF_JSON = [
    "$", "$.a", "$.b", "$.b[0]", "$.b[*]", "$[*]", "$[0]", "$[last]", "$.*", "$.**", "$.a.b.c", "strict $.a", "lax $.x", "strict $.x", "$.b[1 to 2]", "$ ? (@ > 1)", "$[*] ? (@ != null)", "$.b[*] ? (@ == 1)", "$.a > 0", "$.a == 1", "exists($.a)",
    "$.a.type()", "$.b.size()", "$.a.double()", "-$.a", "$.a + 1", "$.a * 2.5", "$[*].abs()", "$.keyvalue()", '$.b[*] ? (@ like_regex "^x")', '$.b[*] ? (@ starts with "x")', "$.a ? (@ > 0 && @ < 3)", "$.b[*] ? (@.type() == \"string\")", "$.a / 0", "$.a.floor()",
    "($.a > 0) is unknown", "$ ? (exists(@.a))", "$.b[last - 1]", "$[-1]", "$.", "$.a[", "$.**{1}", "$.**{1 to 2}", '"x"', "1", "null", "$.\"a\"", "$.b[$.a]", "$.a % 2", "!($.a > 0)", "$.a.ceiling()", "$v", "$.b[*] ? (@ > $v)",
]
FUNCTIONS_OF_PATH = ["jsonb_path_exists", "jsonb_path_match", "jsonb_path_query_array", "jsonb_path_query_first"]


class Forms(Queries):
    def form(self):
        """A statement, and whether its rows are in one order."""
        return self.pick([
            self.meeting, self.meeting, self.regular, self.regular, self.template, self.number_template, self.interval, self.interval, self.path, self.nested_array, self.windowed, self.grouping, self.field, self.at_ends, self.literal_forms,
            self.pattern, self.named, self.texts_of_moments, self.set_returning, self.unknowns, self.unknowns, self.rows_compared, self.casts, self.casts, self.formats, self.ordered_sets, self.ranges, self.zoned,
        ])()

    def shape(self):
        """A value, perhaps without a type, of any kind."""
        kind = self.pick(NUMBERS + NUMBERS + DRAWN)
        return self.literal(kind, is_typed=self.chance(75))

    def meeting(self):
        """Values of several types in one place."""
        some = [self.shape() for _ in range(self.number(2, 3))]
        if self.chance(60):
            kinds = self.pick([NUMBERS, ["text", "varchar", "bpchar", "name"], ["date", "timestamp", "timestamptz"], ["int4[]", "int8[]", "numeric[]"], ["json", "jsonb"], ["inet", "cidr"], ["time", "interval"]])
            some = [self.literal(self.pick(kinds), is_typed=self.chance(85)) for _ in some]
        first, second = some[0], some[1]
        text = self.pick([
            f"coalesce({', '.join(some)})", f"greatest({', '.join(some)})", f"least({', '.join(some)})", f"nullif({first}, {second})", f"array[{', '.join(some)}]", f"case when random() < 2 then {first} else {second} end",
            f"{first} in ({', '.join(some[1:])})", f"{first} between {second} and {some[-1]}", f"{first} is distinct from {second}", f"({first} = {second})", f"({first} < {second})", f"({first} || {second})", f"({first} + {second})", f"({first} - {second})",
            f"({first} * {second})", f"({first} / {second})", f"concat({', '.join(some)})", f"{first} = any (array[{', '.join(some[1:])}])",
        ])
        if self.chance(25):
            rows = self.pick([f"(values ({'), ('.join(some)})) q(x)", f"(select {first} union all select {second}) q(x)", f"(select {first} union select {second}) q(x)", f"(select {first} intersect select {second}) q(x)", f"(select {first} except all select {second}) q(x)"])
            return f"select x, pg_typeof(x) from {rows}", False
        return f"select x, pg_typeof(x) from (select {text}) q(x)", True

    def expression_of_pattern(self):
        def branch():
            text = "".join(self.pick(ATOMS) + self.pick(QUANTIFIERS) for _ in range(self.number(1, 3)))
            return self.pick(["", "", "", "^"]) + text + self.pick(["", "", "", "$"])

        text = "|".join(branch() for _ in range(self.pick([1, 1, 1, 2, 3])))
        return self.pick(["", "", "", "", "(?i)", "(?n)", "\\m", "\\y"]) + text

    def regular(self):
        subject, pattern = quoted(self.pick(SUBJECTS)), quoted(self.expression_of_pattern())
        flags = quoted(self.pick(["g", "gi", "", "i", "n", "gn"]))
        return "select " + self.pick([
            f"regexp_match({subject}, {pattern})", f"regexp_replace({subject}, {pattern}, '[\\&|\\1]', {flags})", f"array(select regexp_matches({subject}, {pattern}, 'g')::text)", f"regexp_split_to_array({subject}, {pattern})",
            f"substring({subject} from {pattern})", f"{subject} ~ {pattern}", f"{subject} !~* {pattern}", f"regexp_count({subject}, {pattern})", f"regexp_instr({subject}, {pattern}, 1, {self.number(1, 2)}, {self.number(0, 1)}, 'i', {self.number(0, 1)})",
            f"regexp_substr({subject}, {pattern}, {self.number(1, 3)}, {self.number(1, 2)})", f"regexp_like({subject}, {pattern}, 'i')", f"regexp_replace({subject}, {pattern}, 'X', {self.number(1, 3)}, {self.number(0, 2)})",
        ]), True

    def template_of(self, parts, most):
        return "".join(self.pick(parts) + (self.pick(BETWEEN) if parts is MOMENTS_OF_TEMPLATE else "") for _ in range(self.number(1, most)))

    def template(self):
        template = quoted(self.template_of(MOMENTS_OF_TEMPLATE, 5))
        kind = self.pick(["timestamp", "timestamptz", "date", "interval", "time"])
        value = self.literal(kind)
        return "select " + self.pick([
            f"to_char({value}, {template})", f"to_timestamp(to_char({self.literal('timestamp')}, {template}), {template})", f"to_date(to_char({self.literal('date')}, {template}), {template})",
            f"to_timestamp({quoted(spelled.moment(self, 'timestamp'))}, {template})", f"to_date({quoted(self.pick(arguments.TEXTS_OF['to_date', 0]))}, {template})", f"to_char({value}, {template})",
        ]), True

    def number_template(self):
        template = quoted(self.template_of(NUMBERS_OF_TEMPLATE, 5))
        value = self.literal(self.pick(NUMBERS))
        text = quoted(self.pick(["", " ", "-"]) + self.pick(arguments.TEXTS_OF["to_number", 0] + ["1.5", "-12.34", " 7 ", "1 234", "+3", "12-", ".5", "007"]))
        return "select " + self.pick([f"to_char({value}, {template})", f"to_char({value}, {template})", f"to_number({text}, {template})", f"to_number(to_char({value}, {template}), {template})"]), True

    def interval_text(self):
        def piece():
            number = self.pick(["", "", "+", "-", "- "]) + self.pick(["1", "2", "12", "0", "1.5", ".5", "99", "1.", "2147483648", "178956970", "0.0000005", "9223372036854"])
            return self.pick([
                number + self.pick(["", " "]) + self.pick(UNITS_OF_INTERVAL), number + self.pick(["", " "]) + self.pick(UNITS_OF_INTERVAL), number, f"{self.number(0, 30)}:{self.number(0, 61):02}", f"-{self.number(0, 30)}:{self.number(0, 61):02}:{self.number(0, 61):02}{self.pick(['', '.5', '.1234567'])}",
                f"{self.number(0, 99)}-{self.number(0, 13)}", f"-{self.number(0, 99)}-{self.number(0, 13)}", self.pick(["%", "}}", "(", ",", ";", "_", "#", "@ ", "\\"]) + number, f"P{self.number(0, 9)}{self.pick(['Y', 'M', 'D', 'W', 'H', '', 'T'])}{self.pick(['', 'T1H', 'T2M3S', '-1-1', 'T01:02'])}", self.pick(UNITS_OF_INTERVAL), f"PT{self.pick(['1.5H', '36H', '-5M', '010203', '01:02:03', '1e2S'])}",
            ])

        return self.pick(["", "", "", "@ ", " "]) + self.pick([" ", " ", "", ", "]).join(piece() for _ in range(self.pick([1, 1, 2, 2, 3]))) + self.pick(["", "", "", "", " ago", " "])

    def interval(self):
        text = quoted(self.interval_text())
        fields = self.pick([""] * 6 + ["year", "month", "day", "hour", "minute", "second", "year to month", "day to hour", "day to minute", "day to second", "hour to minute", "hour to second", "minute to second", "second(2)", "day to second(0)"])
        return "select " + self.pick([f"interval {text} {fields}", f"({text})::interval {fields}", f"cast({text} as interval(3))", f"interval '1 day' + {text}", f"extract(epoch from interval {text})", f"justify_interval({text})", f"interval {text} * 1.5", f"'2024-01-31'::timestamp + interval {text}"]), True

    def path(self):
        document, path = self.literal("jsonb"), quoted(self.pick(PATHS_OF_JSON))
        rest = self.pick(["", "", ", '{\"v\": 1}'", ", '{}', true", ", '{\"v\": 0}', false"])
        return "select " + self.pick([
            f"{self.pick(FUNCTIONS_OF_PATH)}({document}, {path}{rest})", f"array(select jsonb_path_query({document}, {path}{rest}))", f"({document} @? {path})", f"({document} @@ {path})", f"{path}::jsonpath", f"({document})[{self.pick(['0', chr(39) + 'a' + chr(39), '-1', '1'])}]",
            f"({document} #> {quoted(self.pick(arguments.PATHS))})", f"jsonb_set({document}, {quoted(self.pick(arguments.PATHS))}, {self.literal('jsonb')}, {self.pick(['true', 'false'])})", f"jsonb_insert({document}, {quoted(self.pick(arguments.PATHS))}, {self.literal('jsonb')}, {self.pick(['true', 'false'])})",
            f"jsonb_set_lax({document}, {quoted(self.pick(arguments.PATHS))}, null, true, {quoted(self.pick(['delete_key', 'return_target', 'use_json_null', 'raise_exception', 'x']))})", f"jsonb_strip_nulls({document})", f"jsonb_pretty({document})",
        ]), True

    def nested_array(self):
        kind = self.pick(["int4", "text", "numeric", "date"])
        row = lambda: f"array[{self.literal(kind)}, {self.literal(kind)}]"  # noqa: E731
        two = self.pick([f"array[{row()}, {row()}]", "'{{1,2},{3,4},{5,6}}'::int[]", "'{{a,b},{c,d}}'::text[]", "'[0:1][2:3]={{1,2},{3,4}}'::int[]", f"array[{row()}]", "'{{{1},{2}},{{3},{4}}}'::int[]"])
        at = lambda: self.pick(["1", "2", "0", "-1", "1:2", "2:", ":1", ":", "null"])  # noqa: E731
        return "select " + self.pick([
            f"({two})[{at()}][{at()}]", f"({two})[{at()}]", f"array_dims({two})", f"array_ndims({two})", f"array_length({two}, {self.number(0, 3)})", f"array_lower({two}, 2)", f"{two} || {two}", f"{row()} || {two}", f"cardinality({two})", f"array_to_string({two}, ',', '*')", f"array(select unnest({two}))",
            f"{two} @> {two}", f"array_append({row()}, {self.literal(kind)})", f"array_cat({two}, {row()})", f"array_fill({self.literal(kind)}, array[{self.number(0, 3)}, {self.number(1, 2)}])", f"to_jsonb({two})", f"array_to_json({two})", f"trim_array({two}, {self.number(-1, 3)})", f"array_positions({row()}, {self.literal(kind)})",
            f"array_remove({two}, {self.literal(kind)})", f"array_replace({two}, {self.literal(kind)}, {self.literal(kind)})", f"{self.literal(kind)} = any ({two})", f"{self.literal(kind)} < all ({two})", f"array[{row()}, {self.literal(kind)}]", f"array_agg(x) from (values ({row()}), ({row()})) q(x)", f"array[[{self.shape()}, {self.shape()}], [{self.shape()}, {self.shape()}]]",
            f"({two})::text", f"({two})::text[]", f"({two})::varchar(2)[]", f"array_position({row()}, {self.literal(kind)}, {self.number(0, 3)})", f"generate_subscripts({two}, {self.number(0, 3)})",
        ]), True

    def windowed(self):
        """Frames of all kinds over few rows, in one order."""
        key = self.pick(["i", "n", "ts", "dt", "t", "v", "d", "b", "w"])
        distance = {"i": ["1", "2", "0", "10"], "b": ["1", "3000000000"], "w": ["1", "2::int2"], "n": ["0.5", "1", "2.25"], "d": ["0.5", "1e3", "'Infinity'::float8"], "ts": ["'1 day'", "'1 year'", "interval '1 mon'"], "dt": ["'1 day'", "'1 year'", "'0'"], "t": ["'1 hour'", "'06:00'"], "v": ["'1 day'", "'1 year'"]}[key]
        unit = self.pick(["rows", "range", "groups", "range"])
        far = lambda: self.pick(distance if unit == "range" else ["1", "2", "0", "3"])  # noqa: E731
        bounds = self.pick([
            "unbounded preceding", "current row", "between unbounded preceding and unbounded following", "between current row and unbounded following", f"between {far()} preceding and {far()} following", f"between {far()} preceding and current row", f"between {far()} following and {far()} following", f"{far()} preceding",
            f"between {far()} preceding and {far()} preceding", f"between current row and {far()} following", f"between unbounded preceding and {far()} following",
        ])
        excluded = self.pick(["", "", "", " exclude current row", " exclude group", " exclude ties", " exclude no others"])
        function = self.pick([
            "count(*)", "sum(i)", "min(s)", "max(n)", "array_agg(id order by id)" if False else "count(s)", "first_value(id)", "last_value(id)", "nth_value(id, 2)", "sum(n)", "avg(i)", "bool_or(f)", "min(dt)", "count(*) filter (where f)", "sum(i) filter (where i > 1)", "string_agg(s, ',')", "lag(s, 2, 'x')", "lead(i, 1)", "rank()", "dense_rank()", "percent_rank()", "cume_dist()", "ntile(3)", "row_number()",
        ])
        # Of rows that are equal in the key, sums and counts do not depend on the order; other functions get a total order.
        is_total = function.split("(")[0] in ("first_value", "last_value", "nth_value", "string_agg", "lag", "lead", "ntile", "row_number") or unit == "rows"
        order = f"{key}{self.pick(['', ' desc', ' nulls first'])}"
        if is_total and not (unit == "range" and any(word in bounds for word in distance)):
            order += ", id"
        elif is_total:
            function = "count(*)"
        part = self.pick(["", "", "partition by f ", "partition by i > 2 "])
        frame = f"{part}order by {order} {unit} {bounds}{excluded}"
        over = self.pick([f"over ({frame})", "over w", f"over ({frame})"])
        named = f" window w as ({frame})" if over == "over w" else ""
        return f"select id, {function} {over} from {self.pick(TABLES)}{named} order by id", True

    def grouping(self):
        keys = [self.pick(["i", "f", "m", "w", "dt", "i % 2", "s", "n > 1"]) for _ in range(3)]
        a, b, c = keys
        by = self.pick([
            f"rollup({a}, {b})", f"cube({a}, {b}, {c})", f"grouping sets (({a}), ({b}, {c}), ())", f"{a}, cube({b}, {c})", f"grouping sets (rollup({a}, {b}), cube({c}))", f"rollup(({a}, {b}), {c})", f"grouping sets ({a}, {a})", f"{a}, {b}", "()", f"cube({a}), rollup({b})", f"1, rollup({b})",
        ])
        items = self.pick([f"{a}", "count(*)"]) if by != "()" else "count(*)"
        having = self.pick(["", "", " having count(*) > 1", f" having grouping({a}) = 0", " having max(i) > 2"])
        more = self.pick(["count(*), sum(i)", f"grouping({a})", f"grouping({a}, {b})", "sum(count(*)) over ()", "max(s), count(distinct i)", "rank() over (order by count(*), max(id))", "array_agg(id order by id)", "count(*) filter (where f)"])
        return f"select {items}, {more} from {self.pick(TABLES)} group by {by}{having}", False

    def field(self):
        kind = self.pick(["timestamp", "timestamptz", "date", "time", "interval"])
        value, field = self.literal(kind), self.pick(FIELDS)
        unit = quoted(self.pick(FIELDS))
        return "select " + self.pick([f"extract({field} from {value})", f"date_part({unit}, {value})", f"date_trunc({unit}, {value})", f"date_trunc({unit}, {self.literal('timestamptz')}, {quoted(self.pick(arguments.ZONES))})", f"date_bin({self.literal('interval')}, {self.literal('timestamp')}, {self.literal('timestamp')})", f"age({self.literal('timestamp')}, {self.literal('timestamp')})"]), True

    def at_ends(self):
        """Counts and places at the ends of their types."""
        end = lambda: self.pick(["2147483647", "(-2147483648)", "0", "-1", "1", "2", "(-2147483647)", "5"])  # noqa: E731
        text = quoted(self.pick(["éa", "", "abc", "日本語", "a,b,,c"]))
        number = lambda: self.pick(["9223372036854775807", "(-9223372036854775808)", "2147483647", "(-2147483648)", "32767::int2", "(-32768)::int2", "0", "1", "(-1)", "1e308::float8", "'-1e308'::float8", "'NaN'::float8", "'Infinity'::numeric", "'NaN'::numeric", "3.4e38::float4", "1e-300::float8", "0.5", "1e37"])  # noqa: E731
        return "select " + self.pick([
            f"left({text}, {end()})", f"right({text}, {end()})", f"substr({text}, {end()}, {end()})", f"substring({text} from {end()} for {end()})", f"split_part({text}, ',', {end()})", f"lpad({text}, {self.pick(['-1', '0', '2', '7', '(-2147483648)'])}, {quoted(self.pick(['', 'x', 'äb']))})", f"repeat({text}, {self.pick(['-1', '0', '3', '(-2147483648)'])})",
            f"overlay({text} placing 'X' from {end()} for {end()})", f"get_byte('\\x0102', {end()})", f"set_bit('\\x0102'::bytea, {end()}, 1)", f"substr('\\x010203'::bytea, {end()}, {end()})", f"({number()} + {number()})", f"({number()} - {number()})", f"({number()} * {number()})", f"({number()} / {number()})", f"({number()} % {number()})", f"(- {number()})",
            f"abs({number()})", f"({number()})::int2", f"({number()})::int4", f"({number()})::int8", f"({number()})::float4", f"({number()})::numeric(10,2)", f"round({number()})", f"sqrt({number()})", f"exp({number()})", f"ln({number()})", f"power({number()}, {number()})", f"mod({number()}, {number()})", f"div({number()}, {number()})", f"gcd({number()}, {number()})",
            f"({end()} << {end()})", f"({end()} >> {end()})", f"width_bucket({number()}, {number()}, {number()}, 5)", f"make_date({end()}, {self.number(0, 13)}, {self.number(0, 32)})", f"date '2024-01-31' + {end()}", f"timestamp 'infinity' + {self.literal('interval')}", f"(date '5874897-12-31' + {self.number(0, 1)})", f"timestamp '4713-11-24 BC' - {self.literal('interval')}",
            f"to_hex({end()})", f"chr({end()})", f"generate_series({self.pick(['9223372036854775806', '1'])}, 9223372036854775807, {self.pick(['1', '9223372036854775807', '5000000000000000000'])})", f"factorial({self.pick(['-1', '0', '20', '30'])})", f"scale({number()})", f"trim_scale({number()})", f"sign({number()})", f"trunc({number()})", f"ceil({number()})",
            f"sum(x) from (values ({number()}), ({number()})) q(x)", f"avg(x) from (values ({number()}), ({number()})) q(x)", f"max(x) from (values ({number()}), ({number()})) q(x)", f"stddev(x) from (values ({number()}), ({number()})) q(x)",
        ]), True

    def literal_forms(self):
        return "select " + self.pick([
            "E'a\\tb\\x41\\u00e9\\101'", "U&'d\\0061t\\+000061'", "$$it's$$", "$q$a$b$q$", "date '2024-02-29'", "time '04:05:06.789'", "timestamp '2024-01-01'", "1e5", ".5", "5.", "1e-3", "1.5e+2", "0x1F", "1_000", "'a' 'b'", "'a'\n'b'", "bool 't'", "int4 '7'", "float8 '1e3'", "numeric(5,2) '1.236'", "interval '1' day", "interval '1-2' year to month",
            "interval(2) '1.239 s'", "E'\\\\'", "''", "null", "-5 ^ 2", "2 ^ 3 ^ 2", "- - 5", "+ + 5", "5 !~ 'a'", "not true = false", "1 < 2 = true", "'a' || 1 + 2", "2 + 3 * 4 % 5", "1 = 1 is true", "'x' like 'x' = true", "- 2 || 'a'", "@ -5", "|/ 16", "~ 5 & 3", "5 # 3 | 8", "1 << 2 + 3", "not 1 > 2 and true or false", "3 between 1 and 5 and true", "'a' collate \"C\" < 'b'",
            "case 1 when 1.0 then 'x' else 'y' end", "1::text || 2", "cast('12' as int) + 1", "'1'::int::text::numeric", "array[1,2,3][2]", "(array[1,2,3])[2:3]", "row(1,2) = row(1,2)", "(1,2) < (1,3)", "row(1,null) is null", "row(null,null) is null", "null is not distinct from null", "'5' + 3", "'5' + '3'", "true and null", "true or null", "null::bool is not true", "'{1,2}'::int[] = array[1,2]",
        ]) + self.pick(["", "", " as x", " x"]), True

    def pattern(self):
        text = self.pick(["'abc'", "'a%c'::varchar", "'ab '::char(4)", "'a_b'::name", "'\\x6162'::bytea", "''", "'a\\b'", "'ABC'", "null::text", "12"])
        pattern = self.pick([quoted(one) for one in arguments.LIKE + ["a\\", "%\\", "a%\\", "\\a", "ab\\\\", "%_\\", "__\\"]] + ["'\\x6162'::bytea", "'%b%'::varchar", "'ab'::char(4)"])
        escape = self.pick(["", "", "", " escape '#'", " escape ''", " escape 'ab'", " escape null", " escape 'b'", " escape '\\'"])
        return "select " + self.pick([
            f"{text} {self.pick(['', 'not '])}{self.pick(['like', 'ilike'])} {pattern}{escape}", f"{text} {self.pick(['~~', '!~~', '~~*', '!~~*'])} {pattern}", f"{text} {self.pick(['like', 'ilike', 'not like'])} {self.pick(['any', 'all'])} (array['a%', '%b', null])", f"{text} {self.pick(['', 'not '])}similar to {quoted(self.pick(arguments.SIMILAR))}{escape}",
            f"{text} ^@ 'a'", f"starts_with({text}, 'a')", f"substring({text} from {quoted(self.pick(arguments.SIMILAR))} for '#')", f"substring('foobar' similar {quoted(self.pick(arguments.SIMILAR))} escape '#')", f"position({self.pick(['', ''])}'b' in {text})", f"like_escape({pattern}, '#')",
        ]), True

    def named(self):
        return "select " + self.pick([
            f"make_interval({self.pick(['days', 'years', 'months', 'weeks', 'hours', 'mins', 'secs', 'nothing'])} => {self.pick(['1', '-2', '1.5', 'null', '2147483647'])})", f"make_interval({self.number(-2, 2)}, {self.number(-20, 20)}, mins => {self.number(-90, 90)})", f"make_date({self.pick(['2024', '-44', '0'])}, {self.number(1, 12)}, {self.number(28, 31)})",
            f"make_time({self.number(0, 24)}, {self.number(0, 60)}, {self.pick(['0', '59.999999', '60', '1.5', '-1'])})", f"make_timestamp({self.pick(['2024', '-1', '0'])}, 2, {self.number(28, 30)}, {self.number(0, 24)}, 0, {self.pick(['0', '59.5', '60'])})", f"concat_ws(',', variadic array['a', null, 'b'])", f"format('%s %s', variadic array[{self.literal('int4')}, {self.literal('int4')}])",
            f"num_nulls(variadic array[1, null, {self.literal('int4')}])", f"jsonb_build_object(variadic array['a', {quoted(self.pick(['1', 'x']))}])", f"make_timestamptz(2024, 7, 1, 12, 30, 15.5, {quoted(self.pick(arguments.ZONES))})",
        ]), True

    def texts_of_moments(self):
        kind = self.pick(["date", "time", "timestamp", "timestamptz", "timetz"])
        text = quoted(self.pick(["", "", " ", "%", "(", ",", "-", "+"]) + spelled.moment(self, kind) + self.pick(["", "", "", ";", "%", ")", "-", " BC", "."]))
        return f"select {text}::{kind}", True

    def set_returning(self):
        series = self.pick([
            f"generate_series({self.number(-3, 3)}, {self.number(-3, 5)}, {self.pick(['1', '2', '-1', '0', '-2'])})", f"generate_series({self.literal('numeric')}, {self.literal('numeric')}, {self.pick(['0.5', '1', '-1', '0', '100', '1e9'])}) limit 20", f"generate_series(timestamp '2024-01-31', '2024-0{self.number(1, 4)}-15', {quoted(self.pick(['1 mon', '10 days', '-1 day', '12 hours', '0']))})",
            f"generate_series(date '2024-01-31', date '2024-02-03', '1 day')", f"unnest({self.literal('text[]')}), unnest({self.literal('int4[]')})", f"unnest({self.literal(self.pick(list(ARRAYS)))})", f"jsonb_array_elements({self.literal('jsonb')})", f"jsonb_object_keys({self.literal('jsonb')})", f"json_array_elements_text({self.literal('json')})", f"string_to_table({self.literal('text')}, {self.pick([quoted(','), quoted(''), 'null'])})",
            f"regexp_split_to_table({self.literal('text')}, {quoted(self.expression_of_pattern())})", f"generate_subscripts({self.literal('int4[]')}, {self.pick(['1', '2', '0', 'null'])}{self.pick(['', ', true', ', null', ', false'])})", f"generate_series(1, {self.number(0, 3)}) + generate_series(1, {self.number(0, 2)})", f"upper(string_to_table('a,b', ','))", f"case when true then 1 end, generate_series(1, 2)", f"skeys({self.literal('hstore')})",
        ])
        return f"select {series}", True

    def unknowns(self):
        """Calls and operators with texts without a type, and with values of other types than they take."""
        if self.chance(50):
            of = self.pick(self.pick(list(self.catalogue.functions_of.values())))
            call = self.pick(of)
            given = [self.literal(kind if kind in VALUES else "text", is_typed=False) if self.chance(45) else self.literal(self.pick([kind if kind in VALUES else "int4"] * 3 + [self.kind()])) for kind in call.takes]
            return f"select {call.name}({', '.join(given)})", True
        call = self.pick(self.pick(self.pick(list(self.catalogue.operators_of.values()))))
        given = [self.literal(kind, is_typed=False) if self.chance(35) else self.literal(self.pick([kind] * 2 + [self.kind()])) for kind in call.takes]
        return "select " + (f"({call.name} {given[0]})" if len(given) == 1 else f"({given[0]} {call.name} {given[1]})"), True

    def rows_compared(self):
        kinds = [self.pick(ORDERED) for _ in range(self.number(1, 3))]
        row = lambda is_typed=False: f"{self.pick(['row', ''])}({', '.join(self.literal(kind, is_typed=is_typed or self.chance(90)) for kind in kinds)}{', 1' if len(kinds) == 1 else ''})"  # noqa: E731
        return "select " + self.pick([
            f"{row()} {self.pick(['=', '<>', '<', '<=', '>', '>='])} {row()}", f"{row()} is {self.pick(['', 'not '])}distinct from {row()}", f"{row()} in ({row()}, {row()})", f"{row()} is {self.pick(['', 'not '])}null", f"row_to_json(row({self.literal(kinds[0])}, {self.literal(self.kind())}))", f"({row()})::text", f"to_jsonb(row({self.literal(self.kind())}))", f"json_build_array({self.shape()}, {self.shape()})",
            f"json_build_object({self.shape()}, {self.shape()})", f"to_json({self.literal(self.kind())})", f"json_agg(q) from (values ({self.literal(kinds[0])}, {self.literal(self.kind())})) q(a, b)", f"{row(True)} = any (array[{row(True)}])",
        ]), True

    def casts(self):
        one, other = self.pick(list(VALUES)), self.pick(list(VALUES) + ["numeric(6,2)", "varchar(2)", "char(3)", "timestamp(0)", "time(2)", "interval day", "timetz", "jsonpath", "name", "interval(1)"])
        value = self.literal(one)
        if one == "text" or self.chance(25):
            value = self.pick([quoted(self.pick(VALUES[self.pick(list(VALUES))])), quoted(spelled.number(self)), quoted(spelled.text(self))]) + self.pick(["", "::text"])
        other = spelled.type_name(other) if other.startswith("char") and "(" not in other else other
        return f"select ({value})::{other}", True

    def formats(self):
        format = quoted("".join(self.pick(["%s", "%I", "%L", "%%", "x", " ", "%1$s", "%2$L", "%-5s", "%5s", "%*s", "%3$I", "%-*s", "%s%s", "%d", "%"]) for _ in range(self.number(1, 3))))
        some = ", ".join(self.shape() for _ in range(self.number(0, 3)))
        return "select " + self.pick([f"format({format}{', ' + some if some else ''})", f"quote_literal({self.shape()})", f"quote_nullable({self.shape()})", f"quote_ident({self.literal('text')})", f"concat({some or 1})", f"encode({self.literal('bytea')}, {quoted(self.pick(['hex', 'base64', 'escape']))})", f"translate({self.literal('text')}, {self.literal('text')}, {self.literal('text')})", f"initcap({self.literal('text')})", f"md5({self.literal('text')})", f"reverse({self.literal('text')})", f"parse_ident({self.literal('text')})", f"string_to_array({self.literal('text')}, {self.literal('text')}, {self.literal('text')})"]), True

    def ordered_sets(self):
        kind = self.pick(["int4", "numeric", "float8", "interval", "text", "date", "timestamp"])
        rows = ", ".join(f"({self.literal(kind)})" for _ in range(self.number(1, 5)))
        fraction = self.pick(["0", "0.5", "1", "0.25", "0.9", "array[0.1, 0.5]", "1.5", "null", "-0.1", "0.333"])
        return "select " + self.pick([f"percentile_cont({fraction})", f"percentile_disc({fraction})", "mode()", f"rank({self.literal(kind)})", f"dense_rank({self.literal(kind)})", f"percent_rank({self.literal(kind)})", f"cume_dist({self.literal(kind)})"]) + f" within group (order by x{self.pick(['', ' desc', ' nulls first'])}){self.pick(['', '', ' filter (where x is not null)'])} from (values {rows}) q(x)", True

    def ranges(self):
        kind, bound = self.pick([("int4range", "int4"), ("int8range", "int8"), ("numrange", "numeric"), ("daterange", "date"), ("tsrange", "timestamp"), ("tstzrange", "timestamptz")])
        one = lambda: self.pick([self.literal(kind), f"{kind}({self.literal(bound)}, {self.literal(bound)}{self.pick(['', ', ' + quoted(self.pick(['[]', '()', '(]', '[)', '[', '']))])})", quoted(self.pick(VALUES[kind])), quoted(self.pick(["[", "("]) + self.pick(VALUES[bound] + [""]) + self.pick([",", ", ", " ,"]) + self.pick(VALUES[bound] + [""]) + self.pick(["]", ")", "", "] "])) + f"::{kind}"])  # noqa: E731
        return "select " + self.pick([
            f"{one()} {self.pick(['@>', '<@', '&&', '<<', '>>', '&<', '&>', '-|-', '+', '*', '-', '=', '<', '>'])} {one()}", f"{one()} @> {self.literal(bound, is_typed=self.chance(70))}", f"{self.literal(bound)} <@ {one()}", f"lower({one()})", f"upper({one()})", f"isempty({one()})", f"lower_inc({one()})", f"upper_inf({one()})", f"range_merge({one()}, {one()})", f"({one()})::text", f"{kind}({self.literal(bound)}, null)",
        ]), True

    def zoned(self):
        zone = quoted(self.pick(arguments.ZONES + ["America/Sao_Paulo", "Australia/Lord_Howe", "Asia/Kathmandu", "UTC+3", "<+05>-5", "GMT", "PST8PDT", "Europe/Dublin", "MSK"]))
        return "select " + self.pick([
            f"{self.literal('timestamp')} at time zone {zone}", f"{self.literal('timestamptz')} at time zone {zone}", f"timezone({zone}, {self.literal('timestamptz')})", f"timezone({self.pick(['interval ' + quoted('02:00'), 'interval ' + quoted('-03:30'), 'interval ' + quoted('1 day')])}, {self.literal('timestamp')})", f"{quoted('2024-07-01 12:00 ' + zone.strip(chr(39)))}::timestamptz", f"time '12:00' at time zone {zone}",
            f"{self.literal('timestamptz')}::date", f"{self.literal('date')}::timestamptz", f"{self.literal('timestamptz')} + {self.literal('interval')}", f"{self.literal('timestamp')} - {self.literal('timestamp')}", f"{self.literal('date')} - {self.literal('date')}", f"{self.literal('time')} - {self.literal('time')}", f"{self.literal('time')} + {self.literal('interval')}", f"({self.literal('timestamp')}, {self.literal('interval')}) overlaps ({self.literal('timestamp')}, {self.literal('timestamp')})",
            f"to_timestamp({self.pick(['0', '1.5', '-1e10', '1e20', chr(39) + 'NaN' + chr(39), '253402300799.999999'])})", f"justify_hours({self.literal('interval')})", f"justify_days({self.literal('interval')})", f"{self.literal('interval')} {self.pick(['*', '/'])} {self.pick(['1.5', '0', '-3', '0.1', '1e10', '7'])}", f"isfinite({self.literal(self.pick(['date', 'timestamp', 'interval']))})", f"{self.literal('timetz' if 'timetz' in VALUES else 'time')}::time",
        ]), True
