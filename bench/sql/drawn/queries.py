"""Random queries: joins, subqueries, groups, set operations, windows, recursion; and INSERT, UPDATE and DELETE.

A query's rows are the same on every server, for every plan. An aggregate that depends on the order of its rows has an ORDER
BY that leaves only equal values open. A LIMIT follows an order by all columns, and a window's order ends with keys. Floats are
added up only if each is a multiple of a quarter, so that sums are exact.
"""

from .expressions import Expressions
from .kinds import COLUMNS, DRAWN, ORDERED, TABLES, UNORDERED, WITH_LEAST

UNITS_OF_FRAMES = ["1 preceding", "2 preceding", "current row", "1 following", "unbounded preceding"]


def columns_of(table):
    """The columns of a table. One of a domain is taken as its base type: an expression of a domain has that here."""
    return [(f"({table}.p)::int4" if column == "p" else f"{table}.{column}", kind) for column, kind in COLUMNS.items()]


class Queries(Expressions):
    def source(self, depth):
        """An element of FROM, and its columns."""
        name = self.new_name()
        if depth > 1 and self.chance(20):
            kinds = [self.kind() for _ in range(self.number(1, 3))]
            names = [f"x{at}" for at in range(len(kinds))]
            return f"({self.select([], depth - 1, kinds)}) {name}({', '.join(names)})", [(f"{name}.{one}", kind) for one, kind in zip(names, kinds)]
        table = self.pick(TABLES)
        return f"{table} {name}", columns_of(name)

    def small_source(self, scope, depth):
        """A list of values, rows of a function, or a query for each row before it; with its columns and what is to follow."""
        name, pick = self.new_name(), self.pick
        kind = self.kind()
        draws = self.number(0, 8)
        if draws == 0:
            rows = ", ".join(f"({self.literal('int4')}, {self.literal(kind)})" for _ in range(3))
            return f"(values {rows}) {name}(i, x)", [(f"{name}.i", "int4"), (f"{name}.x", kind)], ""
        if draws == 1:
            return f"generate_series({self.number(-1, 2)}, {self.number(0, 4)}{pick(['', ', 2', ', -1'])}) {name}(i)", [(f"{name}.i", "int4")], ""
        if draws == 2:
            element = pick(["int4", "text"])
            return f"unnest({self.value(element + '[]', [], 1)}) with ordinality {name}(x, o)", [(f"{name}.x", element), (f"{name}.o", "int8")], ""
        if draws == 3:
            arrays = [one for one, of in scope if of == "int4[]"]
            return f"{'lateral ' if self.chance(30) else ''}unnest({pick(arrays) if arrays else 'array[1,2]'}) {name}(x)", [(f"{name}.x", "int4")], ""
        if draws == 4:
            return f"unnest({self.value('int4[]', [], 1)}, {self.value('text[]', [], 1)}) {name}(x, z)", [(f"{name}.x", "int4"), (f"{name}.z", "text")], ""
        if draws == 5:
            return f"jsonb_array_elements_text('[1, \"a\", null, [2]]') {name}(x)", [(f"{name}.x", "text")], ""
        if draws == 6:
            return f"generate_series(timestamp '2024-01-30', '2024-03-01', '{pick(['1 month', '10 days', '36 hours'])}') {name}(x)", [(f"{name}.x", "timestamp")], ""
        if draws == 7:
            return f"regexp_split_to_table({self.value('text', [], 1)}, '[ab,]') with ordinality {name}(x, o)", [(f"{name}.x", "text"), (f"{name}.o", "int8")], ""
        return f"lateral ({self.select(scope, depth - 1, [kind])}) {name}(x)", [(f"{name}.x", kind)], "lateral"

    def joined(self, text, scope, depth):
        more, columns = self.source(depth - 1)
        kind = self.pick(["join", "join", "left join", "right join", "full join", "cross join"])
        text += f" {kind} {more}"
        if kind == "full join":
            left, right = self.pick([("i", "i"), ("id", "i"), ("s", "s"), ("dt", "dt"), ("v", "v")])
            lefts, rights = [one for one, _ in scope if one.endswith("." + left)], [one for one, _ in columns if one.endswith("." + right)]
            text += f" on {self.pick(lefts)} = {self.pick(rights)}" if lefts and rights else " on true"
        elif kind != "cross join":
            of = self.pick(ORDERED)
            lefts, rights = [one for one, kind in scope if kind == of], [one for one, kind in columns if kind == of]
            equal = f"{self.pick(lefts)} = {self.pick(rights)}" if lefts and rights and self.chance(75) else ""
            other = self.value("bool", scope + columns, 1) if not equal or self.chance(25) else ""
            text += " on " + " and ".join(one for one in (equal, other) if one)
        return text, scope + columns

    def using(self, depth):
        """Two tables joined by columns of one name, which then have no table."""
        one, other = self.new_name(), self.new_name()
        names = self.pick([["id"], ["i"], ["id", "i"], ["s"], ["dt", "f"], ["ip"]])
        kind = self.pick(["join", "left join", "right join", "full join"])
        text = f"{self.pick(TABLES)} {one} {kind} {self.pick(TABLES)} {other} using ({', '.join(names)})"
        if self.chance(25):
            columns = ", ".join(names + ["w"])
            text = f"(select {columns} from {self.pick(TABLES)}) {one} natural {kind} (select {columns}, b from {self.pick(TABLES)}) {other}"
            return text, [(name, COLUMNS[name]) for name in [*names, "w"]] + [(f"{other}.b", "int8")]
        scope = [(name, COLUMNS[name]) for name in names]
        return text, scope + columns_of(one) + columns_of(other)

    def from_clause(self, outer, depth):
        if depth > 0 and not outer and self.chance(8):
            text, scope = self.using(depth)
        else:
            text, scope = self.source(depth)
        if self.chance(12) and depth > 0:
            small, columns, word = self.small_source(scope, depth)
            is_left = self.chance(40)
            text += f" {'left join' if is_left else 'cross join'} {small}{' on true' if is_left else ''}"
            scope = scope + columns
        for _ in range(self.pick([0, 0, 1, 1, 2]) if depth > 0 else 0):
            text, scope = self.joined(text, scope, depth)
        return text, scope

    def select(self, outer, depth, kinds):
        """A query with columns of these types."""
        depth = max(depth, 0)
        if depth > 1 and self.chance(14) and not any(kind in UNORDERED for kind in kinds):
            left, right = self.select(outer, depth - 1, kinds), self.select(outer, depth - 1, kinds)
            word = self.pick(["union", "union all", "intersect", "except", "except all", "intersect all"])
            return f"select * from (({left}) {word} ({right})) {self.new_name()}"
        if self.chance(4):
            rows = ", ".join("(" + ", ".join(self.value(kind, outer, 1) for kind in kinds) + ")" for _ in range(self.number(1, 3)))
            return f"select * from (values {rows}) {self.new_name()}"
        text, scope = self.from_clause(outer, depth)
        seen = scope + list(outer)
        where = f" where {self.value('bool', seen, depth)}" if self.chance(65) else ""
        if self.chance(28):
            return self.grouped(text, where, scope, depth, kinds)
        items = [self.value(kind, seen, depth) for kind in kinds]
        if self.chance(14) and depth > 1:
            at = self.random.randrange(len(kinds))
            items[at] = self.window(kinds[at], scope) or items[at]
        elif self.chance(4) and not outer:
            at = self.random.randrange(len(kinds))
            items[at] = self.rows_in_list(kinds[at]) or items[at]
        if self.chance(5) and depth > 0 and not any(kind in UNORDERED for kind in kinds):
            order = [str(at + 1) for at in range(len(kinds))]
            return f"select distinct on ({', '.join(order[: self.number(1, len(order))])}) {', '.join(items)} from {text}{where} order by {', '.join(order)}"
        distinct = "distinct " if self.chance(12) and not any(kind in UNORDERED for kind in kinds) else ""
        return f"select {distinct}{', '.join(items)} from {text}{where}"

    def rows_in_list(self, kind):
        return {
            "int4": self.pick(["generate_series(1, 2)", "unnest('{3,null,1}'::int[])", "generate_subscripts('{a,b}'::text[], 1)"]),
            "text": self.pick(["unnest('{a,b}'::text[])", "regexp_split_to_table('a,b', ',')", "jsonb_object_keys('{\"a\": 1}')", "skeys('a=>1,b=>2')", "string_to_table('x y', ' ')"]),
            "jsonb": "jsonb_array_elements('[1, {}]')", "timestamp": "generate_series(timestamp '2024-01-01', '2024-01-02', '12 hours')", "text[]": "regexp_matches('abab', '(a)(b)', 'g')",
        }.get(kind)

    def exact(self, scope):
        """A float that is a multiple of a quarter."""
        names = [one for one, _ in scope if one.endswith(".d")]
        return self.pick(names) if names and self.chance(60) else f"({self.value('int2', scope, 0)})::float8"

    def aggregate(self, kind, scope, depth):
        of = lambda one: self.value(one, scope, max(depth - 1, 0))  # noqa: E731
        pick = self.pick
        distinct = pick(["", "", "", "distinct "])
        many = {
            "int8": [f"count({distinct}{of(pick(ORDERED))})", "count(*)", f"sum({distinct}{of(pick(['int4', 'int2']))})", f"bit_xor({of('int8')})", f"regr_count({self.exact(scope)}, {self.exact(scope)})"],
            "int4": [f"{pick(['bit_and', 'bit_or', 'bit_xor'])}({of('int4')})", self.ordered_set("int4", of), self.ordered_set("int4", of)],
            "numeric": [f"sum({distinct}{of('numeric')})", f"avg({distinct}{of(pick(['int4', 'numeric', 'int8', 'int2']))})", f"sum({of('int8')})", f"{pick(['stddev', 'stddev_pop', 'variance', 'var_pop', 'var_samp'])}({of(pick(['int4', 'numeric', 'int2']))})"],
            "float8": [
                f"{pick(['sum', 'avg'])}({self.exact(scope)})", f"percentile_cont({pick(['0', '0.5', '0.25', '1'])}) within group (order by {of(pick(['float8', 'int4']))})",
                f"{pick(['percent_rank', 'cume_dist'])}({self.literal('int4')}) within group (order by {of('int4')})",
            ],
            "text": [self.put_together(scope), self.put_together(scope), self.ordered_set("text", of)],
            "bool": [f"{pick(['bool_and', 'bool_or', 'every'])}({of('bool')})"] * 2,
            "interval": [f"{pick(['sum', 'avg'])}({of('interval')})"] * 2,
            "date": [self.ordered_set("date", of)],
            "bytea": [self.in_order("string_agg({0}, '\\x2c'::bytea {1})", of("bytea"))],
            "json": [self.in_order("json_agg({0} {1})", of(self.kind())), self.in_order("json_agg({0} {1})", of("text"))],
            "jsonb": [self.in_order("jsonb_agg({0} {1})", of(self.kind())), f"jsonb_object_agg({of('uuid')}, true)"],
            "int4[]": [self.in_order("array_agg({0} {1})", of("int4")), f"percentile_disc(array[0, 0.5, 1]) within group (order by {of('int4')})"],
            "text[]": [self.in_order("array_agg({0} {1})", of("text"))],
        }.get(kind, [])
        text = pick(many) if many and (kind not in WITH_LEAST or self.chance(60)) else self.least(kind, of(kind))
        is_plain_call = text.endswith(")") and not text.startswith("(") and " within " not in text
        return text + (f" filter (where {of('bool')})" if self.chance(10) and is_plain_call else "")

    def in_order(self, form, one):
        return form.format(one, f"order by ({one})::text")

    def ordered_set(self, kind, of):
        word = self.pick(["percentile_disc(0.5)", "percentile_disc(0.9)", "mode()"])
        return f"{word} within group (order by {of(kind)}{self.pick(['', ' desc'])})"

    def put_together(self, scope):
        one = self.pick([name for name, kind in scope if kind == "text"] or ["'a' || 'b'"])
        order = f"{one}{self.pick([' desc', '', ' nulls first'])}"
        if self.chance(30):
            return f"string_agg(distinct {one}, ',' order by {order})"
        return f"array_to_string(array_agg({one} order by {order}), ',', '-')" if self.chance(30) else f"string_agg({one}, ',' order by {order})"

    def grouped(self, text, where, scope, depth, kinds):
        keys = [self.value(self.pick(ORDERED), scope, min(depth, 1)) for _ in range(self.number(0, 2))]
        keys = [key for key in keys if any(name in key for name, _ in scope) and "select" not in key]
        sets = len(keys) == 2 and keys[0] != keys[1] and self.chance(25)
        items = []
        for kind in kinds:
            known = [key for key, of in scope if key in keys and of == kind]
            if sets and kind == "int4" and self.chance(40):
                items.append(f"grouping({', '.join(keys)})")
            elif sets:
                items.append(self.aggregate(kind, scope, depth))
            else:
                items.append(self.pick(known) if known and self.chance(60) else self.aggregate(kind, scope, depth))
        having = f" having {self.aggregate('int8', scope, 1)} > {self.number(0, 3)}" if self.chance(25) else ""
        by = ""
        if sets:
            a, b = keys
            by = " group by " + self.pick([f"rollup({a}, {b})", f"cube({a}, {b})", f"grouping sets (({a}), ({b}), ())", f"{a}, rollup({b})", f"grouping sets (({a}, {b}), ({a}))"])
        elif keys:
            by = f" group by {', '.join(keys)}"
        return f"select {', '.join(items)} from {text}{where}{by}{having}"

    def window(self, kind, scope):
        tables = sorted({name.split(".")[0] for name, _ in scope if name.endswith(".id")})
        if not tables:
            return None
        order = ", ".join(f"{table}.id{self.pick(['', ' desc'])}, {table}.i, {table}.ts" for table in tables)
        part = f"partition by {self.value(self.pick(ORDERED), scope, 1)} " if self.chance(60) else ""
        of, pick = lambda one: self.value(one, scope, 1), self.pick  # noqa: E731
        # Rows that are equal in all keys are only copies that a join made.
        peers = pick(["", "", f" range between unbounded preceding and {pick(['current row', 'unbounded following'])}", f" groups between {pick(UNITS_OF_FRAMES)} and {pick(['unbounded following', 'current row', '3 following'])}",
                      f" groups between 1 preceding and 1 following exclude {pick(['group', 'no others'])}"])
        # No two rows are equal in the keys, so that each has one place.
        is_total = all(name.strip("(").split(".")[0] in tables for name, _ in scope)
        if self.chance(15):
            is_total = False
            one = pick([name for name, of in scope if of in ("int4", "numeric") and name.split(".")[0] in tables and "(" not in name])
            order, peers = one, f" range between {pick(['1', '2'])} preceding and {pick(['1', '0'])} following"
        texts = {
            "int8": ["rank()", "dense_rank()", f"count({of('int4')})", f"sum({of('int4')})", "count(*)"], "numeric": [f"sum({of('numeric')})", f"avg({of('int4')})"], "float8": ["percent_rank()", "cume_dist()", f"sum({self.exact(scope)})"],
            "bool": [f"bool_and({of('bool')})"], "interval": [f"sum({of('interval')})"],
        }.get(kind, [])
        if kind in WITH_LEAST and not (kind == "interval"):
            texts = [*texts, f"{pick(['max', 'min'])}({of(kind)})"]
        if is_total and (not texts or self.chance(50)):
            places = [f"{pick(['lag', 'lead'])}({of(kind)}{pick(['', ', 2', ', 0', f', 1, {of(kind)}'])})", f"{pick(['first_value', 'last_value'])}({of(kind)})", f"nth_value({of(kind)}, {self.number(1, 3)})"]
            texts = places + {"int8": ["row_number()"], "int4": [f"ntile({self.number(1, 4)})"]}.get(kind, [])
        if not texts:
            return None
        text = pick(texts)
        if text.startswith(("lag", "lead", "ntile")):
            peers = ""
        return f"{text} over ({part}order by {order}{'' if text.endswith('()') else peers})"

    def query(self):
        """A statement, and whether its rows are in one order."""
        kinds = [self.kind() for _ in range(self.number(1, 4))]
        draws = self.number(0, 99)
        if draws < 10:
            name, columns = self.new_name(), ", ".join(f"x{at}" for at in range(len(kinds)))
            text = f"with {name}({columns}) as {self.pick(['', '', 'materialized ', 'not materialized '])}({self.select([], 2, kinds)}) select * from {name}"
        elif draws < 17:
            text = self.recursive(kinds)
        elif draws < 27 and not any(kind in UNORDERED for kind in kinds):
            word = self.pick(["union", "union all", "intersect", "except", "except all", "intersect all"])
            text = f"({self.select([], 2, kinds)}) {word} ({self.select([], 2, kinds)})"
        else:
            text = self.select([], self.number(1, 3), kinds)
        if self.chance(50) and not any(kind in UNORDERED for kind in kinds) and not text.startswith("select distinct on"):
            order = [f"{at + 1}{self.pick(['', '', ' desc', ' nulls first', ' desc nulls last'])}" for at in range(len(kinds))]
            limit, offset = f" limit {self.number(0, 6)}" if self.chance(40) else "", f" offset {self.number(0, 3)}" if self.chance(20) else ""
            if self.chance(8):
                limit = f" fetch first {self.number(1, 3)} rows with ties"
            return f"{text} order by {', '.join(order)}{offset}{limit}", True
        return text, False

    def recursive(self, kinds):
        """A query of some rounds, each over the rows of the one before."""
        name = self.new_name()
        kinds = [kind if kind not in UNORDERED else "int4" for kind in kinds]
        scope = [(f"{name}.x{at}", kind) for at, kind in enumerate(kinds)]
        columns = ", ".join(f"x{at}" for at in range(len(kinds)))
        first = ", ".join(f"cast({self.value(kind, [], 1)} as {kind})" for kind in kinds)
        source, joined = "", []
        if self.chance(50):
            source, joined = self.source(0)
            source = f" join {source} on {name}.round <= {self.pick([one for one, kind in joined if kind == 'int4'])}"
        items = ", ".join(f"cast({self.value(kind, scope + joined, 1)} as {kind})" for kind in kinds)
        step = f"select {name}.round + 1, {items} from {name}{source} where {name}.round < {self.number(1, 3)}"
        return f"with recursive {name}(round, {columns}) as (select 1, {first} {self.pick(['union', 'union all'])} {step}) select {columns} from {name}"

    def expression(self):
        """One value, of constants, of a row of a table, or of some rows."""
        kind = self.pick(DRAWN + ["int2[]", "bool[]", "timestamptz[]", "interval[]", "jsonb[]"])
        draws = self.number(0, 99)
        if draws < 62:
            return f"select {self.value(kind, [], self.number(1, 3))}", False
        if draws < 72:
            table = self.pick(TABLES)
            scope = [(column, of) for column, of in COLUMNS.items() if column not in ("id", "p")]
            return f"select {self.value(kind, scope, self.number(1, 3))} from {table} where id = {self.number(0, 19)}", False
        if draws < 80:
            call = self.pick(self.catalogue.sets)
            shown = self.called(call, [], 2) if call.name != "generate_series" else "generate_series(" + ", ".join(f"({self.pick(['0', '1', '3', '-2', '5'])})::{one}" if one in ("int4", "int8", "numeric") else self.value(one, [], 0) if one != "interval" else "interval '100 years'" for one in call.takes) + ")"
            shown = shown if "infinity" not in shown and "9999" not in shown else "unnest('{1,2}'::int[])"
            return self.pick([f"select {shown}", f"select * from {shown} q(x)", f"select * from {shown} with ordinality q(x, n)"]), True
        if draws < 90:
            # The rows come in one order, so that every aggregate has one answer.
            call = self.pick(self.catalogue.aggregates)
            takes = [self.kind() if one == "any" else one for one in call.takes]
            rows = ", ".join("(" + ", ".join(self.literal(one) for one in takes) + ")" for _ in range(self.number(1, 4)))
            columns = [f"x{at}" for at in range(len(takes))] or ["x0"]
            rows = rows if takes else "(1), (2)"
            inside = ", ".join(columns) if takes else "*"
            over = self.pick(["", "", "", " over ()", " over (rows 1 preceding)"])
            return f"select {call.name}({inside}){over} from (values {rows}) q({', '.join(columns)})", True
        if draws < 96:
            one = self.pick(ORDERED)
            rows = ", ".join(f"({self.literal(one)})" for _ in range(self.number(2, 4)))
            return self.pick([f"select x from (values {rows}) q(x) order by x", f"select distinct x from (values {rows}) q(x) order by x", f"select x, count(*) from (values {rows}) q(x) group by x order by x"]), True
        one, other, third = self.kind(), self.kind(), self.kind()
        return f"select row({self.value(one, [], 1)}, {self.value(other, [], 1)}) is null, ({self.value(third, [], 1)})::text, pg_typeof({self.value(kind, [], 1)})", False
