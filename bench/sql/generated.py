#!/usr/bin/env python3
"""Random statements of many types on Sardonyx and on PostgreSQL 15, in turn; each must give the same.

    bench/sql/generated.py [--seed N] [--queries N] [--rows N] [--types all|few] [--only selects|changes] [--show N] [--shrink N] [--json]

The same tables, rows and queries go to both: expressions of all types (`--types few`: of nine) with casts and functions, joins,
subqueries, groups, set operations, window functions, recursive queries, `INSERT`, `UPDATE` and `DELETE` with `RETURNING`. Compared are names and types
of columns, rows (in their order where the query orders them wholly), and the codes of errors. Not compared:

- what is not there (`0A000`, and functions that are not: `42883`), which is counted;
- which of two values that cannot be computed, or stored, is met first, and whether one that nothing needs is computed
  (codes 22… and 23…), which is counted, as is what meets a limit (`53200`, or `--seconds`);
- the digits of `numeric` and float results behind the twelfth significant one, of `real` behind the fifth;
- which of two intervals that are equal is shown (`1 mon`, `30 days`).

`--shrink N` makes the first N statements of each kind of difference as small as they can be (shrinking.py).

Every query follows from its seed: `--seed` of a query that is shown repeats it alone with `--queries 1`. Needed: what
bench/clients/compare.py needs, and `pip install psycopg[binary]`. Ends with 0 if nothing is different.
"""

import argparse
import collections
import decimal
import json
import pathlib
import random
import re
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "clients")]

import more_types  # noqa: E402
import shrinking  # noqa: E402
from compare import PostgreSQL, Sardonyx, dsn  # noqa: E402

COLUMNS = {
    "id": "int", "i": "int", "w": "smallint", "b": "bigint", "n": "numeric", "d": "double precision", "s": "text",
    "f": "boolean", "dt": "date", "ts": "timestamp",
}
NUMBERS = ["int", "bigint", "numeric", "double precision"]
TYPES = NUMBERS + ["text", "boolean", "date", "timestamp"]
MORE = ", r real, tz timestamptz, t time, v interval, u uuid, y bytea, k json, j jsonb, ai int[], st text[]"
TABLES = {
    "a": "create table a(id int primary key, i int, w smallint, b bigint, n numeric(10,2), d double precision, s text, f boolean, dt date, ts timestamp)",
    "c": "create table c(id int, i int, w smallint, b bigint, n numeric(12,4), d double precision, s varchar(12), f boolean, dt date, ts timestamp, primary key (i, id))",
    "e": "create table e(id int, i int not null, w smallint, b bigint, n numeric(8,0), d double precision, s text, f boolean, dt date, ts timestamp)",
}
INDEXES = ["create index on a(i)", "create index on a(s, n)", "create index on c(dt)", "create index on c(s, d, f)", "create index on e(ts, i)", "create unique index on e(id)"]
TEXTS = ["", "a", "ab", "abc", "b", "B", "bb", "Zürich", "naïve", "12", "-7", "3.5", "true", "2024-02-29", " x ", "a%b", "a_b", "x\\y"]
ALIKE = ["%", "a%", "%b", "_", "a_", "%ü%", "a\\%b", "_b%", ""]


def cast(text, kind):
    return f"({text})::{kind}"


class Generator:
    """One statement from one seed."""

    def __init__(self, seed, with_all=False):
        self.random = random.Random(seed)
        self.types = TYPES + ["int", "text", *more_types.TYPES] if with_all else TYPES
        self.columns = {**COLUMNS, **(more_types.COLUMNS if with_all else {})}
        self.pick = self.random.choice
        self.names = 0
        self.has_subqueries = True

    def chance(self, percent):
        return self.random.random() * 100 < percent

    def new_name(self):
        self.names += 1
        return f"q{self.names}"

    def literal(self, kind):
        pick, number = self.pick, self.random
        if self.chance(8):
            return f"null::{kind}"
        if kind in more_types.LITERALS:
            return pick(more_types.LITERALS[kind])
        if kind in ("int", "smallint"):
            return pick([str(number.randint(-3, 12)), str(number.randint(-200, 200)), "0", "1"])
        if kind == "bigint":
            return pick([f"{number.randint(-20, 20)}::bigint", "9223372036854775807", "3000000000"])
        if kind == "numeric":
            return pick(["0.5", "1.25", "-2.50", "10.0", "0.0", "99999.99", f"{number.randint(-999, 999) / 100:.2f}"])
        if kind == "double precision":
            return pick(["0.5::float8", "'-1.5e3'::float8", "2::float8", "'NaN'::float8", "'Infinity'::float8", "1e-7::float8"])
        if kind == "text":
            return "'" + pick(TEXTS) + "'"
        if kind == "boolean":
            return pick(["true", "false"])
        if kind == "date":
            return f"date '{pick(['2024-02-29', '2023-12-31', '1999-01-01', '2024-06-15', '0044-03-15'])}'"
        return f"timestamp '{pick(['2024-02-29 12:34:56.789', '2023-12-31 23:59:59', '1970-01-01', '2024-06-15 06:00'])}'"

    def value(self, kind, scope, depth):
        """An expression of a type; `scope`: pairs of a column's name and its type."""
        kind = "int" if kind == "smallint" else kind
        columns = [name for name, of in scope if of == kind or (of == "smallint" and kind == "int")]
        if depth <= 0 or self.chance(25):
            return self.pick(columns) if columns and self.chance(75) else self.literal(kind)
        of = lambda other: self.value(other, scope, depth - 1)  # noqa: E731
        if self.chance(12):
            arms = " ".join(f"when {of('boolean')} then {of(kind)}" for _ in range(self.random.randint(1, 2)))
            return f"(case {arms}{' else ' + of(kind) if self.chance(70) else ''} end)"
        if self.chance(8):
            function = "coalesce" if kind in ("json", "interval") else self.pick(["coalesce", "coalesce", "nullif", "greatest", "least"])
            return f"{function}({of(kind)}, {of(kind)})"
        if len(self.types) > len(TYPES) and (kind in more_types.LITERALS or self.chance(15)):
            if not (kind in more_types.LITERALS and self.chance(4) and self.has_subqueries):
                return self.pick(more_types.expressions(kind, self, of))() if more_types.expressions(kind, self, of) else self.literal(kind)
            return self.scalar_subquery(kind, scope, depth)
        if self.chance(6) and kind not in ("date", "timestamp"):
            # No smallint is a boolean.
            return cast(cast(of("int"), "int"), kind) if kind == "boolean" else cast(of(self.pick(self.castable(kind))), kind)
        if self.chance(2):
            return cast(self.literal("text"), kind)
        if self.chance(4) and self.has_subqueries:
            return self.scalar_subquery(kind, scope, depth)
        if kind == "int":
            return self.pick([
                lambda: f"({of('int')} {self.pick('+-*/%')} {of('int')})",
                lambda: f"(- {of('int')})",
                lambda: f"{self.pick(['length', 'char_length', 'octet_length', 'ascii'])}({of('text')})",
                lambda: f"abs({of('int')})",
                lambda: f"strpos({of('text')}, {of('text')})",
                lambda: f"position({of('text')} in {of('text')})",
                lambda: f"({of('date')} - {of('date')})",
                lambda: f"mod({of('int')}, {of('int')})",
            ])()
        if kind == "bigint":
            return self.pick([
                lambda: f"({of('bigint')} {self.pick('+-*/%')} {of(self.pick(['bigint', 'int']))})",
                lambda: f"({of('int')} {self.pick('+-*')} {of('bigint')})",
                lambda: f"abs({of('bigint')})",
            ])()
        if kind == "numeric":
            return self.pick([
                lambda: f"({of('numeric')} {self.pick('+-*/%')} {of(self.pick(['numeric', 'int', 'bigint']))})",
                lambda: f"({of('int')} {self.pick('+-*/')} {of('numeric')})",
                lambda: f"{self.pick(['round', 'trunc'])}({of('numeric')}, {self.random.randint(-2, 3)})",
                lambda: f"{self.pick(['round', 'trunc', 'ceil', 'floor', 'abs', 'sign'])}({of('numeric')})",
                lambda: f"extract({self.pick(['year', 'month', 'day', 'hour', 'minute', 'second', 'epoch', 'dow', 'doy', 'week', 'quarter', 'isodow', 'century'])} from {of('timestamp')})",
                lambda: f"extract({self.pick(['year', 'month', 'day', 'dow', 'doy', 'week', 'quarter', 'epoch'])} from {of('date')})",
            ])()
        if kind == "double precision":
            return self.pick([
                lambda: f"({of('double precision')} {self.pick('+-*/')} {of(self.pick(NUMBERS))})",
                lambda: f"{self.pick(['round', 'trunc', 'ceil', 'floor', 'abs', 'sign', 'sqrt', 'ln', 'exp'])}({of('double precision')})",
                lambda: f"date_part('{self.pick(['year', 'month', 'second', 'epoch'])}', {of('timestamp')})",
                lambda: f"power({of('double precision')}, {self.random.randint(-2, 3)})",
            ])()
        if kind == "text":
            return self.pick([
                lambda: f"({of('text')} || {of(self.pick(['text', 'text', 'int', 'numeric', 'boolean', 'date']))})",
                lambda: f"{self.pick(['lower', 'upper', 'initcap', 'reverse', 'trim', 'ltrim', 'rtrim'])}({of('text')})",
                lambda: f"{self.pick(['left', 'right'])}({of('text')}, {self.random.randint(-3, 4)})",
                lambda: f"substring({of('text')} from {self.random.randint(-2, 4)} for {self.random.randint(0, 4)})",
                lambda: f"substr({of('text')}, {self.random.randint(-2, 4)})",
                lambda: f"replace({of('text')}, {of('text')}, {of('text')})",
                lambda: f"{self.pick(['lpad', 'rpad'])}({of('text')}, {self.random.randint(-1, 6)}, {of('text')})",
                lambda: f"split_part({of('text')}, {of('text')}, {self.pick([1, 2, -1])})",
                lambda: f"concat({of('text')}, {of(self.pick(self.types))}, {of('text')})",
                lambda: f"concat_ws({of('text')}, {of('text')}, {of(self.pick(self.types))})",
                lambda: f"repeat({of('text')}, {self.random.randint(-1, 3)})",
                lambda: f"quote_ident({of('text')})",
                lambda: cast(of(self.pick(["date", "timestamp", "numeric", "double precision", "boolean"])), "text"),
                lambda: cast(of("text"), f"varchar({self.random.randint(1, 4)})"),
                lambda: cast(of("text"), f"char({self.random.randint(1, 4)})") + " || '.'",
                lambda: cast(cast(cast(of("text"), "bytea"), "text"), "text"),
            ])()
        if kind == "boolean":
            return self.truth(scope, depth)
        if kind == "date":
            return self.pick([
                lambda: f"({of('date')} {self.pick('+-')} {self.random.randint(-400, 400)})",
                lambda: cast(of("timestamp"), "date"),
                lambda: f"({of('timestamp')} {self.pick('+-')} interval '{self.random.randint(0, 40)} {self.pick(['day', 'hour', 'month', 'year', 'minute'])}')::date",
            ])()
        return self.pick([
            lambda: cast(of("date"), "timestamp"),
            lambda: f"date_trunc('{self.pick(['year', 'quarter', 'month', 'week', 'day', 'hour', 'minute', 'second'])}', {of('timestamp')})",
            lambda: f"({of(self.pick(['timestamp', 'date']))} {self.pick('+-')} interval '{self.random.randint(0, 40)} {self.pick(['day', 'hour', 'month', 'year', 'second'])}')",
        ])()

    def castable(self, kind):
        return {
            "int": ["smallint", "bigint", "numeric", "double precision", "boolean"],
            "bigint": ["int", "numeric", "double precision"],
            "numeric": ["int", "bigint", "double precision"],
            "double precision": ["int", "bigint", "numeric"],
            "text": ["int", "bigint", "numeric", "boolean", "date", "timestamp"],
            "boolean": ["int"],
        }[kind]

    def truth(self, scope, depth):
        of = lambda kind: self.value(kind, scope, depth - 1)  # noqa: E731
        kind = self.pick([one for one in self.types if one != "json"])
        alike = lambda: of(self.pick(NUMBERS)) if kind in NUMBERS else of(kind)  # noqa: E731
        of_queries = [
            lambda: f"({self.pick(['', 'not '])}exists ({self.select(scope, depth - 1, [self.pick(self.types)])[0]}))",
            lambda: f"({of(kind)} {self.pick(['', 'not '])}in ({self.select(scope, depth - 1, [kind])[0]}))",
            lambda: f"({of(kind)} {self.pick(['=', '<', '>=', '<>'])} {self.pick(['any', 'all'])} ({self.select(scope, depth - 1, [kind])[0]}))",
        ]
        return self.pick([
            *(of_queries if self.has_subqueries else []),
            lambda: f"({of(kind)} {self.pick(['=', '<>', '<', '<=', '>', '>='])} {alike()})",
            lambda: f"({of(kind)} {self.pick(['=', '<>', '<', '<=', '>', '>='])} {alike()})",
            lambda: f"({of('boolean')} {self.pick(['and', 'or'])} {of('boolean')})",
            lambda: f"(not {of('boolean')})",
            lambda: f"({of(kind)} is {self.pick(['', 'not '])}null)",
            lambda: f"({of(kind)} is {self.pick(['', 'not '])}distinct from {of(kind)})",
            lambda: f"({of('boolean')} is {self.pick(['', 'not '])}{self.pick(['true', 'false', 'unknown'])})",
            lambda: f"({of(kind)} {self.pick(['', 'not '])}in ({of(kind)}, {of(kind)}, {alike()}))",
            lambda: f"({of(kind)} {self.pick(['', 'not '])}between {alike()} and {of(kind)})",
            lambda: f"({of('text')} {self.pick(['', 'not '])}{self.pick(['like', 'ilike'])} '{self.pick(ALIKE)}')",
            lambda: f"({of('text')} ~ '{self.pick(['^a', 'b$', '[0-9]+', '^.$', 'a|B'])}')",
            lambda: f"(({of('int')}, {of('text')}) {self.pick(['=', '<', '<>', '>='])} ({of('int')}, {of('text')}))",
        ])()

    def scalar_subquery(self, kind, scope, depth):
        text, _ = self.select(scope, depth - 1, [kind])
        inner = self.new_name()
        if kind in more_types.LITERALS:
            return f"(select {more_types.least(kind, inner + '.x')} from ({text}) {inner}(x))"
        function = "bool_or" if kind == "boolean" else self.pick(["max", "min"])
        return f"(select {function}({inner}.x) from ({text}) {inner}(x))"

    def source(self, depth):
        """An element of FROM, and its columns."""
        name = self.new_name()
        if depth > 1 and self.chance(20):
            kinds = [self.pick(self.types) for _ in range(self.random.randint(1, 3))]
            names = [f"x{at}" for at in range(len(kinds))]
            text, _ = self.select([], depth - 1, kinds)
            return f"({text}) {name}({', '.join(names)})", [(f"{name}.{one}", kind) for one, kind in zip(names, kinds)]
        table = self.pick(list(TABLES))
        return f"{table} {name}", [(f"{name}.{column}", kind) for column, kind in self.columns.items()]

    def select(self, outer, depth, kinds, is_inner=True):
        """A query with columns of these types, and whether it is one SELECT."""
        depth = max(depth, 0)
        if depth > 1 and self.chance(15):
            left, right = self.select(outer, depth - 1, kinds)[0], self.select(outer, depth - 1, kinds)[0]
            word = self.pick(["union", "union all", "intersect", "except", "except all", "intersect all"])
            text = f"({left}) {word} ({right})"
            # The parser takes no parenthesis where a query in an expression begins.
            return (f"select * from ({text}) {self.new_name()}", True) if is_inner else (text, False)
        text, scope = self.source(depth)
        if self.chance(4) and depth > 1:
            # A query in FROM for each row before it.
            name = self.new_name()
            of = self.pick(self.types)
            inner = self.select(scope + outer, depth - 1, [of])[0]
            text += f" {self.pick(['cross join', 'left join'])} lateral ({inner}) {name}(x)"
            text += " on true" if "left join lateral" in text else ""
            scope = scope + [(f"{name}.x", of)]
        if self.chance(4):
            name = self.new_name()
            rows = ", ".join(f"({self.literal('int')}, {self.literal('text')})" for _ in range(3))
            text += f" cross join (values {rows}) {name}(i, s)"
            scope = scope + [(f"{name}.i", "int"), (f"{name}.s", "text")]
        if self.chance(4):
            name = self.new_name()
            text += f" cross join generate_series({self.random.randint(-1, 2)}, {self.random.randint(0, 4)}) {name}(i)"
            scope = scope + [(f"{name}.i", "int")]
        for _ in range(self.pick([0, 0, 1, 1, 2]) if depth > 0 else 0):
            more, columns = self.source(depth - 1)
            kind = self.pick(["join", "join", "left join", "right join", "full join", "cross join"])
            text += f" {kind} {more}"
            if kind == "full join":
                left, right = self.pick([("i", "i"), ("id", "i"), ("s", "s")])
                lefts = [name for name, _ in scope if name.endswith("." + left)]
                rights = [name for name, _ in columns if name.endswith("." + right)]
                text += f" on {self.pick(lefts)} = {self.pick(rights)}" if lefts and rights else " on true"
            elif kind != "cross join":
                of = self.pick(self.types)
                lefts = [name for name, one in scope if one == of]
                rights = [name for name, one in columns if one == of]
                if lefts and rights and self.chance(75):
                    text += f" on {self.pick(lefts)} = {self.pick(rights)}"
                    if self.chance(25):
                        text += f" and {self.value('boolean', scope + columns, 1)}"
                else:
                    text += f" on {self.value('boolean', scope + columns, 1)}"
            scope = scope + columns
        seen = scope + outer
        where = f" where {self.value('boolean', seen, depth)}" if self.chance(65) else ""
        if self.chance(25):
            return self.grouped(text, where, scope, outer, depth, kinds), True
        items = [self.value(kind, seen, depth) for kind in kinds]
        if self.chance(12) and depth > 1:
            at = self.random.randrange(len(kinds))
            items[at] = self.window(kinds[at], scope, depth) or items[at]
        distinct = "distinct " if self.chance(12) else ""
        return f"select {distinct}{', '.join(items)} from {text}{where}", True

    def aggregate(self, kind, scope, depth):
        of = lambda one: self.value(one, scope, max(depth - 1, 0))  # noqa: E731
        distinct = self.pick(["", "", "", "distinct "])
        text = more_types.aggregate(kind, self, of) if kind in more_types.LITERALS else {
            "int": lambda: f"{self.pick(['max', 'min'])}({of('int')})",
            "bigint": lambda: self.pick([f"count({distinct}{of(self.pick(self.types))})", "count(*)", f"sum({distinct}{of('int')})"]),
            "numeric": lambda: self.pick([f"sum({distinct}{of('numeric')})", f"avg({of(self.pick(['int', 'numeric']))})", f"sum({of('bigint')})", f"max({of('numeric')})"]),
            "double precision": lambda: f"{self.pick(['max', 'min', 'sum', 'avg'])}({of('double precision')})",
            "text": lambda: self.pick([f"max({of('text')})", f"min({of('text')})", self.put_together(scope)]),
            "boolean": lambda: f"{self.pick(['bool_and', 'bool_or', 'every'])}({of('boolean')})",
            "date": lambda: f"{self.pick(['max', 'min'])}({of('date')})",
            "timestamp": lambda: f"{self.pick(['max', 'min'])}({of('timestamp')})",
        }[kind]()
        # A filter belongs to an aggregate, and a subscript is none.
        if text.endswith("]"):
            return text
        return text + (f" filter (where {of('boolean')})" if self.chance(10) else "")

    def put_together(self, scope):
        one = self.pick([name for name, kind in scope if kind == "text"] or ["'a' || 'b'"])
        order = f"{one}{self.pick([' desc', '', ' nulls first'])}"
        if self.chance(30):
            return f"string_agg(distinct {one}, ',' order by {order})"
        if self.chance(30):
            return f"array_to_string(array_agg({one} order by {order}), ',', '-')"
        return f"string_agg({one}, ',' order by {order})"

    def grouped(self, text, where, scope, outer, depth, kinds):
        keys = [self.value(self.pick(self.types), scope, min(depth, 1)) for _ in range(self.random.randint(0, 2))]
        keys = [key for key in keys if any(name in key for name, _ in scope)]
        items = []
        for kind in kinds:
            known = [key for key, of in scope if key in keys and of == kind]
            items.append(self.pick(known) if known and self.chance(60) else self.aggregate(kind, scope, depth))
        having = f" having {self.aggregate('bigint', scope, 1)} > {self.random.randint(0, 3)}" if self.chance(25) else ""
        by = f" group by {', '.join(keys)}" if keys else ""
        return f"select {', '.join(items)} from {text}{where}{by}{having}"

    def window(self, kind, scope, depth):
        tables = {name.split(".")[0] for name, _ in scope if name.endswith(".id")}
        if not tables:
            return None
        order = ", ".join(f"{table}.id, {table}.i, {table}.ts" for table in sorted(tables))
        part = f"partition by {self.value(self.pick(self.types), scope, 1)} " if self.chance(60) else ""
        of = lambda one: self.value(one, scope, 1)  # noqa: E731
        if kind == "bigint":
            text = self.pick(["row_number()", "rank()", "dense_rank()", f"count({of('int')})", f"sum({of('int')})"])
            if text == "row_number()":
                return None  # peers come in any order
        elif kind in ("int", "date", "timestamp", "text"):
            text = f"{self.pick(['max', 'min'])}({of(kind)})"
        elif kind == "numeric":
            text = self.pick([f"sum({of('numeric')})", f"avg({of('int')})"])
        else:
            return None
        return f"{text} over ({part}order by {order})"

    def query(self):
        kinds = [self.pick(self.types) for _ in range(self.random.randint(1, 4))]
        text, _ = self.select([], self.random.randint(1, 4), kinds, is_inner=self.chance(10))
        if self.chance(10):
            name = self.new_name()
            columns = ", ".join(f"x{at}" for at in range(len(kinds)))
            text = f"with {name}({columns}) as ({text}) select * from {name}"
        elif self.chance(8):
            text = self.recursive(kinds)
        if self.chance(50):
            order = [f"{at + 1}{self.pick(['', '', ' desc', ' nulls first', ' desc nulls last'])}" for at in range(len(kinds))]
            limit = f" limit {self.random.randint(0, 6)}" if self.chance(40) else ""
            offset = f" offset {self.random.randint(0, 3)}" if self.chance(20) else ""
            return f"{text} order by {', '.join(order)}{limit}{offset}", True
        return text, False

    def recursive(self, kinds):
        """A query of some rounds, each over the rows of the one before."""
        name = self.new_name()
        scope = [(f"{name}.x{at}", kind) for at, kind in enumerate(kinds)]
        columns = ", ".join(f"x{at}" for at in range(len(kinds)))
        first = ", ".join(f"cast({self.value(kind, [], 1)} as {kind})" for kind in kinds)
        source, joined = "", []
        if self.chance(50):
            source, joined = self.source(0)
            source = f" join {source} on {name}.round <= {self.pick([one for one, kind in joined if kind == 'int'])}"
        items = ", ".join(f"cast({self.value(kind, scope + joined, 1)} as {kind})" for kind in kinds)
        step = f"select {name}.round + 1, {items} from {name}{source} where {name}.round < {self.random.randint(1, 3)}"
        union = self.pick(["union", "union all"])
        return f"with recursive {name}(round, {columns}) as (select 1, {first} {union} {step}) select {columns} from {name}"

    def joined(self, table, scope):
        """What a change joins to its table: at most one row for each. With what is to hold."""
        if not self.chance(30):
            return "", "", scope
        other, name = self.pick(list(TABLES)), self.new_name()
        of = self.pick([column for column, kind in self.columns.items() if kind in ("int", "text") and column != "id"])
        query = f"(select id as k, max({of}) as v from {other} group by id) {name}"
        word = self.pick(["=", "= 1 +"])
        return query, f"{table}.id {word} {name}.k", scope + [(f"{name}.v", self.columns[of])]

    def change(self):
        table = self.pick(list(TABLES))
        scope = [(f"{table}.{column}", kind) for column, kind in self.columns.items()]
        is_insert = self.chance(25)
        other, equal, scope = ("", "", scope) if is_insert else self.joined(table, scope)
        self.has_subqueries = False
        returning = f" returning {self.value(self.pick(self.types), scope, 2)}, {table}.id" if self.chance(60) else ""
        self.has_subqueries = True
        conditions = [equal] if equal else []
        if self.chance(90):
            conditions.append(self.value("boolean", scope, 3))
        where = f" where {' and '.join(conditions)}" if conditions else ""
        if not is_insert and self.chance(33):
            using = f" using {other}" if other else ""
            return f"delete from {table}{using}{where}{returning}"
        if is_insert:
            rows = ", ".join(f"({self.random.randint(0, 60)}, {', '.join(self.value(kind, [], 2) for kind in list(self.columns.values())[1:])})" for _ in range(self.random.randint(1, 3)))
            keys = "(i, id)" if table == "c" else "(id)"
            what = self.pick(["", " on conflict do nothing", f" on conflict {keys} do update set s = excluded.s || '+', n = {table}.n + excluded.n"])
            return f"insert into {table} values {rows}{what}{returning}"
        columns = self.random.sample([name for name in self.columns if name != "id"], self.random.randint(1, 3))
        changes = ", ".join(f"{column} = {self.value(self.columns[column], scope, 3)}" for column in columns)
        source = f" from {other}" if other else ""
        return f"update {table} set {changes}{source}{where}{returning}"


def definition(table, with_all):
    """The statement that makes a table; with columns of all types behind the others."""
    text = TABLES[table]
    return re.sub(r"(, primary key \(.*\))?\)$", lambda found: f"{MORE}{found[1] or ''})", text) if with_all else text


def rows_of(seed, count, with_all):
    generator = Generator(seed, with_all)
    for table in TABLES:
        for number in range(count):
            values = [str(number)]
            for column, kind in list(generator.columns.items())[1:]:
                value = generator.literal(kind)
                values.append("5" if value.startswith("null") and column == "i" else value)
            yield f"insert into {table} values ({', '.join(values)})"


class Answer:
    def __init__(self, connection, text):
        result = connection.pgconn.exec_(text.encode())
        self.code = (result.error_field(67) or b"").decode()
        self.message = (result.error_field(77) or b"").decode()
        self.columns = [(result.fname(at).decode(), result.ftype(at)) for at in range(result.nfields)]
        self.rows = [
            tuple(None if cell is None else cell.decode() for cell in (result.get_value(row, at) for at in range(result.nfields)))
            for row in range(result.ntuples)
        ]
        self.tag = (result.command_status or b"").decode()


def micros(text):
    """How long an interval is, with months of 30 days."""
    total = 0.0
    for amount, unit in re.findall(r"([-+]?\d+) (year|mon|day)", text):
        total += int(amount) * {"year": 360, "mon": 30, "day": 1}[unit] * 86400e6
    if clock := re.search(r"([-+]?)(\d+):(\d\d):(\d\d(?:\.\d+)?)", text):
        total += (-1 if clock[1] == "-" else 1) * ((int(clock[2]) * 60 + int(clock[3])) * 60 + float(clock[4])) * 1e6
    return round(total)


def normal(cell, kind):
    """A cell for comparing: numbers to twelve significant digits, `real` to five, intervals by their length."""
    if cell is not None and kind == 1186:
        return micros(cell)
    if cell is None or kind not in (700, 701, 1700):
        return cell
    try:
        number = decimal.Decimal(cell)
        return cell if not number.is_finite() else "0" if number == 0 else format(number.normalize(decimal.Context(prec=5 if kind == 700 else 12)), "f")
    except decimal.InvalidOperation:
        return cell


def difference(ours, theirs, is_ordered):
    """What is different, and of what kind; None if nothing is."""
    if ours.code or theirs.code:
        if ours.code == theirs.code:
            return None
        if ours.code in ("0A000", "42883"):
            return "not there", f"{ours.code} {ours.message}"
        if ours.code in ("53200", "57014") or theirs.code in ("57014", "54000"):
            return "a limit", f"{ours.code} {ours.message} / {theirs.code} {theirs.message}"
        if all(code[:2] in ("", "22", "23") or code == "42846" for code in (ours.code, theirs.code)):
            return "not computed", f"{ours.code} {ours.message} / {theirs.code} {theirs.message}"
        return "code", f"{ours.code or 'no error'} / {theirs.code or 'no error'}: {ours.message or theirs.message}"
    if ours.columns != theirs.columns:
        return "columns", f"{ours.columns} / {theirs.columns}"
    if ours.tag != theirs.tag:
        return "tag", f"{ours.tag} / {theirs.tag}"
    kinds = [kind for _, kind in ours.columns]
    one, other = ([tuple(map(normal, row, kinds)) for row in answer.rows] for answer in (ours, theirs))
    if not is_ordered:
        key = lambda row: [(cell is None, str(cell)) for cell in row]  # noqa: E731
        one, other = sorted(one, key=key), sorted(other, key=key)
    if one != other:
        first = next((pair for pair in zip(one, other) if pair[0] != pair[1]), (len(one), len(other)))
        return "rows", f"{first[0]} / {first[1]}"
    return None


# Kinds of differences that are wrong answers.
DIFFERENT = ("rows", "columns", "code", "tag")


class Pair:
    """A connection to each of the two servers, with the same tables."""

    def __init__(self, engines, rows, with_all, seconds):
        import psycopg

        self.ours, self.theirs = (psycopg.connect(dsn(engine), autocommit=True) for engine in engines)
        self.both("set timezone = 'UTC'")
        self.both(f"set statement_timeout = '{seconds}s'")
        for text in [*(definition(table, with_all) for table in TABLES), *INDEXES, *rows_of(0, rows, with_all)]:
            for answer in self.both(text):
                if answer.code not in ("", "23505"):
                    sys.exit(f"{text}: {answer.code} {answer.message}")

    def both(self, text):
        return Answer(self.ours, text), Answer(self.theirs, text)

    def compared(self, text, is_ordered, is_change):
        """The difference, if there is one, and our answer. Changes are looked at and undone, so that each can be repeated alone."""
        if not is_change:
            one, other = self.both(text)
            return difference(one, other, is_ordered), one
        self.both("begin")
        one, other = self.both(text)
        found = difference(one, other, is_ordered)
        if found is None and not one.code:
            for table in TABLES:
                found = found or difference(*self.both(f"table {table}"), False)
        self.both("rollback")
        return found, one

    def smallest(self, text, found, is_ordered, is_change):
        """The statement shrunk: the same kind of difference, and for errors the same sentence."""
        alike = (lambda one: one) if found[0] in ("code", "not there") else (lambda one: one[0])

        def is_like(shorter):
            other, _ = self.compared(shorter, is_ordered, is_change)
            return other is not None and alike(other) == alike(found)

        return shrinking.shrink(text, is_like)


def drawn(seed, only, with_all):
    """A statement, whether its rows are ordered, and whether it changes rows."""
    generator = Generator(seed, with_all)
    is_change = generator.chance(25) if only is None else only == "changes"
    text, is_ordered = (generator.change(), False) if is_change else generator.query()
    return text, is_ordered, is_change


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--queries", type=int, default=2000)
    parser.add_argument("--rows", type=int, default=40, help="of each table")
    parser.add_argument("--types", choices=["all", "few"], default="all")
    parser.add_argument("--only", choices=["selects", "changes"])
    parser.add_argument("--seconds", type=int, default=20, help="after which a statement is given up")
    parser.add_argument("--show", type=int, default=3, help="how many of each kind are shown")
    parser.add_argument("--shrink", type=int, default=0, help="how many of each kind are made smaller")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with_all = arguments.types == "all"
    counts, shown = collections.Counter(), collections.Counter()
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        place.chmod(0o755)
        engines = [Sardonyx(place / "sardonyx"), PostgreSQL(place / "postgresql")]
        try:
            pair = Pair(engines, arguments.rows, with_all, arguments.seconds)
            for seed in range(arguments.seed, arguments.seed + arguments.queries):
                statement = drawn(seed, arguments.only, with_all)
                found, answer = pair.compared(*statement)
                kind, what = found or ("the same, an error" if answer.code else "the same", "")
                counts[kind] += 1
                if found:
                    reason = f"{kind}: {what[:70]}" if kind in ("not there", "code") else kind
                    if reason != kind:
                        counts[reason] += 1
                    if shown[kind] < arguments.show and (reason == kind or not shown[reason]):
                        shown.update({kind, reason})
                        is_smaller = kind in DIFFERENT and shown[kind] <= arguments.shrink
                        text = pair.smallest(statement[0], found, *statement[1:]) if is_smaller else statement[0]
                        print(f"-- seed {seed}, {kind}: {what}\n{text}", file=sys.stderr, flush=True)
                if sys.stderr.isatty() and seed % 50 == 0:
                    print(f"\r{seed - arguments.seed} of {arguments.queries}", end="", file=sys.stderr)
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
        finally:
            for engine in engines:
                engine.end()
    if arguments.json:
        print(json.dumps(counts))
    else:
        for kind, count in counts.most_common():
            print(f"{count:>8}  {kind}")
    sys.exit(1 if any(counts[kind] for kind in DIFFERENT) else 0)


if __name__ == "__main__":
    main()
