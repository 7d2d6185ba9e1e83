"""Random expressions of every type: functions, operators, casts, choices, conditions, subqueries.

An expression of a type is drawn with the columns that are in scope. `is_plain` leaves out the calls that are refused for most
arguments, and takes plain values: so queries of many rows are computed. Without it, errors are as frequent as answers.
"""

import random

from . import arguments, spelled
from .kinds import ARRAYS, DRAWN, NUMBERS, ORDERED, PLAIN, UNORDERED, VALUES, WITH_LEAST, quoted

# Functions and operators that fail for common arguments, or whose result is not the same for equal arguments.
FAILING = {
    "/", "%", "^", "<<", ">>", "|/", "||/", "@", "ln", "log", "log10", "sqrt", "power", "pow", "exp", "div", "mod", "gcd", "lcm", "factorial", "chr", "get_byte", "set_byte", "get_bit", "set_bit", "decode",
    "convert_from", "unistr", "make_date", "make_time", "make_timestamp", "make_timestamptz", "to_date", "to_timestamp", "to_number", "acos", "asin", "acosh", "atanh", "width_bucket", "timezone", "encode", "format",
    "set_masklen", "jsonb_set", "jsonb_delete", "jsonb_delete_path", "#-", "json_array_length", "jsonb_array_length", "digest", "hstore", "substring", "similar_to_escape", "regexp_match", "regexp_matches", "regexp_replace",
    "regexp_split_to_array", "regexp_count", "regexp_instr", "regexp_like", "regexp_substr", "~", "!~", "~*", "!~*", "range_union", "range_minus", "json_object", "jsonb_object", "int4range", "int8range", "numrange",
    "daterange", "tsrange", "tstzrange", "date_trunc", "date_part", "extract", "date_bin", "inetpl", "inetmi", "inetmi_int8", "inetand", "inetor", "interval_div", "json_build_object", "jsonb_build_object", "array_position", "array_positions", "array_cat",
    "array_append", "array_prepend", "array_remove", "array_replace", "string_to_array", "setweight", "ts_filter", "to_char", "sinh", "cosh", "cot", "tan", "cotd", "split_part", "ts_delete", "array_to_tsvector", "overlay", "cast", "inetor", "-",
    "array_larger", "array_smaller", "trim_array", "-|-", "+", "*", "make_interval", "repeat",
}
FIELDS = ["year", "month", "day", "hour", "minute", "second", "epoch", "quarter", "week", "dow", "doy", "century", "isoyear", "milliseconds"]


class Expressions:
    """Expressions from one seed."""

    def __init__(self, seed, catalogue, is_plain):
        self.random = random.Random(seed)
        self.pick, self.number = self.random.choice, self.random.randint
        self.catalogue, self.is_plain = catalogue, is_plain
        self.names, self.has_subqueries = 0, is_plain

    def chance(self, percent):
        return self.random.random() * 100 < percent

    def new_name(self):
        self.names += 1
        return f"q{self.names}"

    def kind(self):
        return self.pick(DRAWN)

    def raw(self, kind):
        """A text of a value."""
        if not self.is_plain:
            if kind in ("date", "time", "timestamp", "timestamptz") and self.chance(12):
                return spelled.moment(self, kind)
            if kind in ("numeric", "float8", "float4") and self.chance(20):
                return spelled.number(self)
            if kind in ARRAYS and self.chance(12):
                return spelled.array(self, kind)
            if kind == "text" and self.chance(15):
                return spelled.text(self)
        values = VALUES[kind]
        return self.pick(values[: PLAIN.get(kind, len(values))] if self.is_plain else values)

    def literal(self, kind, is_typed=True):
        if self.chance(6):
            return f"null::{spelled.type_name(kind)}" if is_typed else "null"
        raw = self.raw(kind)
        if kind == "int4" and is_typed and raw.lstrip("-").isdigit() and self.chance(80):
            return raw if raw[0] != "-" else f"({raw})"
        if kind == "numeric" and is_typed and "." in raw and raw.replace(".", "", 1).isdigit() and self.chance(60):
            return raw
        if kind == "bool" and is_typed and self.chance(50):
            return {"t": "true", "f": "false"}.get(raw, "true")
        if kind == "bpchar" and is_typed:
            return f"{quoted(raw)}::{self.pick(['char(4)', 'char(4)', 'char(2)', 'bpchar'])}"
        if kind == "varchar" and is_typed and self.chance(30):
            return f"{quoted(raw)}::varchar({self.number(1, 5)})"
        if kind.startswith("char"):
            return f"{quoted(raw)}::{spelled.type_name(kind)}"
        if kind.startswith("time") and is_typed and "[" not in kind and self.chance(6):
            return f"{quoted(raw)}::{kind}({self.number(0, 6)})"
        if kind == "numeric" and is_typed and self.chance(10):
            return f"{quoted(raw)}::numeric({self.number(3, 20)},{self.number(0, 6)})"
        return f"{quoted(raw)}::{kind}" if is_typed else quoted(raw)

    def value(self, kind, scope=(), depth=2):
        columns = [name for name, of in scope if of == kind]
        if depth <= 0 or self.chance(22):
            return self.pick(columns) if columns and self.chance(75) else self.literal(kind)
        draws = self.random.random() * 100
        of = lambda other: self.value(other, scope, depth - 1)  # noqa: E731
        if draws < 6:
            return self.case(kind, scope, depth)
        if draws < 10:
            return f"{self.pick(['coalesce', 'coalesce'] + ([] if kind in UNORDERED else ['nullif', 'greatest', 'least']))}({of(kind)}, {of(kind)})"
        if draws < 18:
            return self.cast(kind, scope, depth)
        if draws < 22 and self.has_subqueries:
            return self.scalar_subquery(kind, scope, depth)
        if kind == "bool" and draws < 48:
            return self.truth(scope, depth)
        if kind in ARRAYS and draws < 35:
            element = kind[:-2]
            return f"array[{', '.join(of(element) for _ in range(self.number(1, 3)))}]" if self.chance(70) else f"({of(kind)})[{self.pick(['1:2', '2:', ':1', '0:5'])}]"
        if draws < 30 and kind + "[]" in ARRAYS and self.chance(50):
            return f"({of(kind + '[]')})[{self.pick(['1', '2', '0', of('int4') if not self.is_plain else '3'])}]"
        calls = self.catalogue.operators_of.get(kind) if draws < (72 if kind == "bool" else 58) else self.catalogue.functions_of.get(kind)
        calls = calls or self.catalogue.functions_of.get(kind)
        if self.is_plain and calls:
            calls = [one for one in calls if one[0].name not in FAILING]
        if not calls:
            return self.pick(columns) if columns else self.literal(kind)
        call = self.pick(self.pick(calls))
        return self.called(call, scope, depth) if call.name[0].isalpha() else self.operated(call, scope, depth)

    def case(self, kind, scope, depth):
        of = lambda other: self.value(other, scope, depth - 1)  # noqa: E731
        tail = f" else {of(kind)}" if self.chance(70) else ""
        if self.chance(30):
            subject = self.pick(ORDERED)
            return f"(case {of(subject)} when {of(subject)} then {of(kind)}{tail} end)"
        arms = " ".join(f"when {of('bool')} then {of(kind)}" for _ in range(self.number(1, 2)))
        return f"(case {arms}{tail} end)"

    def cast(self, kind, scope, depth):
        """Of any type, to the type, with a length or a precision now and then."""
        if self.is_plain:
            known = {"text": DRAWN, "varchar": ["text", "int4", "bpchar"], "int4": ["int2", "bool"], "int8": ["int4", "int2"], "numeric": ["int4", "int8", "int2"], "float8": ["int4", "float4"], "timestamp": ["date"], "jsonb": ["json"],
                     "json": ["jsonb"], "interval": ["time"], "time": ["timestamp", "interval"], "date": ["timestamp"], "inet": ["cidr"], "bpchar": ["text"], "timestamptz": ["date", "timestamp"]}
            source = self.pick(known.get(kind, [kind]))
        else:
            source = self.pick([kind, "text", "text", *(NUMBERS if kind in NUMBERS else []), *(["date", "timestamp", "timestamptz", "time", "interval"] if kind in ("date", "timestamp", "timestamptz", "time", "interval") else []), self.kind()])
        target = kind
        if kind == "numeric" and self.chance(40):
            target = f"numeric({self.number(2, 18)},{self.number(0, 4)})"
            target = "numeric(18,4)" if self.is_plain else target
        elif kind in ("varchar", "bpchar") and self.chance(60):
            target = f"{'varchar' if kind == 'varchar' else 'char'}({self.number(1, 6)})"
        elif kind in ("time", "timestamp", "timestamptz", "interval") and self.chance(15):
            target = f"{kind}({self.number(0, 6)})"
        elif kind == "interval" and self.chance(10):
            target = self.pick(["interval day to second", "interval year to month", "interval hour", "interval day", "interval minute to second(2)"])
        elif kind == "int4" and self.chance(6) and not self.is_plain:
            target = "positive"
        inner = self.value(source, scope, depth - 1)
        if target.startswith("char("):
            return f"({inner})::{target}"
        return f"cast({inner} as {target})" if self.chance(20) else f"({inner})::{target}"

    def argument(self, name, at, kind, count, scope, depth):
        if kind == "any":
            kind = self.kind()
        shown, raws = arguments.of_argument(name, at, kind, count)
        if name == "to_char" and at == 1:
            raws = arguments.MOMENTS if self.to_char_of.startswith(("time", "interval")) else arguments.NUMBERS
        if kind == "char":
            return self.literal(kind)
        if shown and self.chance(90):
            return self.pick(shown) if kind == "int4" else f"({self.pick(shown)})::{kind}"
        if raws and self.chance(90):
            return quoted(self.pick(raws)) + (f"::{kind}" if self.chance(30) or kind != "text" else "")
        if self.chance(5) and not self.is_plain:
            return self.literal(kind, is_typed=False)
        return self.value(kind, scope, depth - 1)

    def called(self, call, scope, depth):
        takes = list(call.takes)
        if call.is_variadic:
            takes = takes[:-1] + [takes[-1]] * self.number(1, 3)
        self.to_char_of = takes[0] if takes else ""
        given = [self.argument(call.name, at, kind, len(takes), scope, depth) for at, kind in enumerate(takes)]
        name = call.name
        if name == "extract":
            return f"extract({self.pick([one for one in arguments.UNITS if one != 'nothing'] if not self.is_plain else FIELDS)} from {given[1]})"
        if name == "position":
            return f"position({given[1]} in {given[0]})"
        if name == "overlaps":
            return f"(({given[0]}, {given[1]}) overlaps ({given[2]}, {given[3]}))"
        if name == "substring" and takes[1:2] == ["int4"] and self.chance(50):
            return f"substring({given[0]} from {given[1]}{' for ' + given[2] if len(given) > 2 else ''})"
        if name == "overlay" and self.chance(50):
            return f"overlay({given[0]} placing {given[1]} from {given[2]}{' for ' + given[3] if len(given) > 3 else ''})"
        if name in ("btrim", "ltrim", "rtrim") and self.chance(40):
            side = {"btrim": "both", "ltrim": "leading", "rtrim": "trailing"}[name]
            return f"trim({side} {given[1] if len(given) > 1 else ''} from {given[0]})"
        if name == "timezone" and self.chance(60):
            return f"({given[1]} at time zone {given[0]})"
        return f"{name}({', '.join(given)})"

    def operated(self, call, scope, depth):
        def operand(at, kind):
            raws = arguments.OPERATORS.get(call.name) if at == 1 and kind in ("text", "text[]") else None
            if raws and self.chance(90):
                return quoted(self.pick(raws)) + (f"::{kind}" if self.chance(50) or kind != "text" else "")
            if call.name in ("<<", ">>") and at == 1 and kind == "int4":
                return self.pick(arguments.SMALL)
            if call.name == "^" and at == 1:
                return self.pick(["2", "0.5", "-1", "3", "0"]) + f"::{kind}"
            if self.chance(6) and not self.is_plain:
                return self.literal(kind, is_typed=False)
            return self.value(kind, scope, depth - 1)

        given = [operand(at, kind) for at, kind in enumerate(call.takes)]
        return f"({call.name} {given[0]})" if len(given) == 1 else f"({given[0]} {call.name} {given[1]})"

    def truth(self, scope, depth):
        of = lambda kind: self.value(kind, scope, depth - 1)  # noqa: E731
        kind = self.pick(ORDERED)
        alike = lambda: of(self.pick(NUMBERS)) if kind in NUMBERS else of(kind)  # noqa: E731
        pick = self.pick
        compare = lambda: pick(["=", "<>", "<", "<=", ">", ">="])  # noqa: E731
        array = pick(["int4[]", "text[]", "numeric[]", "date[]"])
        queries = [
            lambda: f"({pick(['', 'not '])}exists ({self.select(scope, depth - 1, [self.kind()])}))",
            lambda: f"({of(kind)} {pick(['', 'not '])}in ({self.select(scope, depth - 1, [kind])}))",
            lambda: f"({of(kind)} {compare()} {pick(['any', 'all', 'some'])} ({self.select(scope, depth - 1, [kind])}))",
            lambda: f"(({of('int4')}, {of('text')}) {pick(['', 'not '])}in ({self.select(scope, depth - 1, ['int4', 'text'])}))",
        ]
        return pick([
            *(queries if self.has_subqueries else []),
            lambda: f"({of(kind)} {compare()} {alike()})",
            lambda: f"({of(kind)} {compare()} {alike()})",
            lambda: f"({of('bool')} {pick(['and', 'or'])} {of('bool')})",
            lambda: f"(not {of('bool')})",
            lambda: f"({of(self.kind())} is {pick(['', 'not '])}null)",
            lambda: f"({of(kind)} is {pick(['', 'not '])}distinct from {of(kind)})",
            lambda: f"({of('bool')} is {pick(['', 'not '])}{pick(['true', 'false', 'unknown'])})",
            lambda: f"({of(kind)} {pick(['', 'not '])}in ({of(kind)}, {of(kind)}, {alike()}))",
            lambda: f"({of(kind)} {pick(['', 'not '])}between {pick(['', 'symmetric '])}{alike()} and {of(kind)})",
            lambda: f"({of(pick(['text', 'varchar', 'bpchar']))} {pick(['', 'not '])}{pick(['like', 'ilike'])} {quoted(pick(arguments.LIKE))}{pick(['', '', '', chr(32) + 'escape ' + quoted('#')]) if not self.is_plain else ''})",
            lambda: f"({of('text')} {pick(['', 'not '])}similar to {quoted(pick(arguments.SIMILAR[:6]))})",
            lambda: f"({of('text')} {pick(['~', '~*', '!~'])} {quoted(pick(arguments.PATTERNS[:20]))})",
            lambda: f"(({of('int4')}, {of('text')}) {compare()} ({of('int4')}, {of('text')}))",
            lambda: f"(row({of(kind)}, {of('bool')}) is {pick(['', 'not '])}distinct from row({of(kind)}, {of('bool')}))",
            lambda: f"(({of('int4')}, {of(kind)}) {pick(['', 'not '])}in (({of('int4')}, {of(kind)}), ({of('int4')}, {of(kind)})))",
            lambda: f"({of(array[:-2])} {compare()} {pick(['any', 'all'])} ({of(array)}))",
            lambda: f"(row({of('int4')}, {of(kind)}) is {pick(['', 'not '])}null)",
            lambda: f"({of('text')} {compare()} {of('text')} collate \"C\")",
        ])()

    def scalar_subquery(self, kind, scope, depth):
        text, inner = self.select(scope, depth - 1, [kind]), self.new_name()
        if self.chance(20):
            return f"(array({text} order by 1))[1]" if kind in ("int4", "text", "date") and "union" not in text and " limit " not in text and not text.startswith("select * from") else self.literal(kind)
        return f"(select {self.least(kind, inner + '.x')} from ({text}) {inner}(x))"

    def least(self, kind, one):
        """One value of many, the same on every server."""
        if kind == "bool":
            return f"bool_or({one})"
        if kind == "interval":
            return f"sum({one})"
        if kind in WITH_LEAST:
            return f"{self.pick(['min', 'max'])}({one})"
        return f"(array_agg({one} order by ({one})::text, ({one})::text desc))[1]"
