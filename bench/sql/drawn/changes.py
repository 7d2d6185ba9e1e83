"""Random INSERT, UPDATE, DELETE and MERGE, with RETURNING and ON CONFLICT, also as parts of WITH, on the tables of kinds.py.

Each row is changed once, by one row. So the answer is the same for every plan.
"""

from .kinds import COLUMNS, ORDERED, TABLES
from .queries import Queries, columns_of

# Columns that a change may give another value: keys may only be changed in an order that the servers choose.
FREE = [name for name in COLUMNS if name not in ("id", "i")]
KEYS = {"a": ["(id)", "on constraint a_pkey"], "c": ["(i, id)", "on constraint c_pkey", "(id, i)"], "e": ["(id)", "on constraint e_id_key"]}


class Changes(Queries):
    def other(self, table, scope):
        """A table that a change joins to its own, with at most one row for each row, and the condition of the join."""
        if not self.chance(30):
            return "", "", scope
        name = self.new_name()
        of = self.pick(["i", "s", "n", "dt"])
        query = f"(select id as k, max({of}) as v from {self.pick(TABLES)} group by id) {name}"
        return query, f"{table}.id {self.pick(['=', '= 1 +'])} {name}.k", scope + [(f"{name}.v", COLUMNS[of])]

    def returning(self, table, scope):
        if not self.chance(60):
            return ""
        # Not here: the state that subqueries of RETURNING read (docs/sql.md).
        self.has_subqueries = False
        text = self.pick([f"{self.value(self.kind(), scope, 2)}, {table}.id", f"{table}.id, {table}.s, {table}.n", f"{table}.*", f"{table}.id as x, {self.value('text', scope, 1)} as y"])
        self.has_subqueries = True
        return f" returning {text}"

    def assignments(self, scope, columns=None):
        columns = columns or self.random.sample(FREE, self.number(1, 3))
        draws = self.number(0, 9)
        values = [self.value(COLUMNS[column], scope, 3) for column in columns]
        names = ", ".join(columns)
        if draws == 0:
            return f"({names}) = row({', '.join(values)})"
        if draws == 1 and len(columns) > 1:
            return f"({names}) = ({', '.join(values)})"
        if draws == 2:
            return f"({names}) = (select {', '.join(values)}{self.pick(['', ' where ' + self.value('bool', scope, 1)])})"
        return ", ".join(f"{column} = {value if not self.chance(5) else 'default'}" for column, value in zip(columns, values))

    def row(self, scope=(), depth=2):
        return ", ".join(self.value(kind, scope, depth) for kind in list(COLUMNS.values())[1:])

    def change(self):
        draws = self.number(0, 99)
        return self.merge() if draws < 18 else self.parts() if draws < 34 else self.plain()

    def plain(self):
        table = self.pick(TABLES)
        draws = self.number(0, 99)
        if draws < 28:
            return self.insert(table)
        alias = self.new_name() if self.chance(20) else table
        named = f"{table} {self.pick(['', 'as '])}{alias}" if alias != table else table
        scope = columns_of(alias)
        other, equal, scope = self.other(alias, scope)
        returning = self.returning(alias, scope)
        conditions = [equal] if equal else []
        if self.chance(90):
            conditions.append(self.value("bool", scope, 3))
        where = f" where {' and '.join(conditions)}" if conditions else ""
        if draws < 55:
            return f"delete from {named}{' using ' + other if other else ''}{where}{returning}"
        return f"update {named} set {self.assignments(scope)}{' from ' + other if other else ''}{where}{returning}"

    def insert(self, table):
        scope = columns_of(table)
        returning = self.returning(table, scope)
        draws = self.number(0, 9)
        names = ""
        if draws < 5:
            rows = "values " + ", ".join(f"({self.number(0, 60)}, {self.row()})" for _ in range(self.number(1, 3)))
        elif draws < 7:
            some = ["id", "i", *self.random.sample([one for one in FREE if one != "p"], 2)]
            names = f" ({', '.join(some)})"
            rows = "values " + ", ".join(f"({self.number(0, 60)}, {', '.join(self.value(COLUMNS[one], [], 2) if not self.chance(8) else 'default' for one in some[1:])})" for _ in range(self.number(1, 3)))
        elif draws < 9:
            source = self.pick(TABLES)
            of = columns_of(source)
            names = " (id, i, s, n)"
            rows = f"select {source}.id + {self.pick(['0', '10', '100'])}, coalesce({self.value('int4', of, 2)}, 0), {self.value('text', of, 2)}, {self.value('numeric', of, 1)} from {source} where {self.value('bool', of, 2)}" + (f" and {source}.i = 1" if source == "c" else "")
        else:
            rows = self.pick(["default values", f"values ({self.number(0, 60)}, default)"])
        # Both rows, the one that is there and the new one.
        both = scope + columns_of("excluded")
        self.has_subqueries = False
        columns = self.random.sample(FREE, self.number(1, 2))
        where = f" where {self.value('bool', both, 2)}" if self.chance(40) else ""
        what = self.pick([
            "", "", " on conflict do nothing", f" on conflict {self.pick(KEYS[table])} do nothing", f" on conflict {self.pick(KEYS[table])} do update set s = excluded.s || '+', n = {table}.n + excluded.n{where}",
            f" on conflict {self.pick(KEYS[table])} do update set {', '.join(f'{column} = {self.value(COLUMNS[column], both, 2)}' for column in columns)}{where}", f" on conflict {self.pick(KEYS[table])} do update set ({', '.join(columns)}) = row({', '.join(f'excluded.{column}' for column in columns)}){where}",
        ])
        self.has_subqueries = True
        return f"insert into {table}{names} {rows}{what}{returning}"

    def merge(self):
        table, name = self.pick(TABLES), self.new_name()
        alias = self.pick([table, self.new_name()])
        of = self.pick(["s", "n", "dt", "v"])
        source = self.pick([f"(select id as k, max({of}) as v from {self.pick(TABLES)} group by id) {name}", f"(select g as k, {self.value(COLUMNS[of], [], 1)} as v from generate_series({self.number(0, 10)}, {self.number(5, 30)}) g) {name}"])
        scope = columns_of(alias)
        right = [(f"{name}.k", "int4"), (f"{name}.v", COLUMNS[of])]
        clauses = []
        for _ in range(self.number(1, 3)):
            matched = self.chance(65)
            condition = f" and {self.value('bool', scope + right if matched else right, 2)}" if self.chance(75) else ""
            if matched:
                action = self.pick([f"update set {self.assignments(scope + right)}", "delete", "do nothing", f"update set {self.assignments(scope + right)}"])
            else:
                action = self.pick([f"insert (id, i, s) values ({name}.k, {self.number(0, 3)}, {self.value('text', right, 2)})", "do nothing", f"insert values ({name}.k + 100, {self.row(right, 1)})", f"insert (i, id, n) values (0, {name}.k, {self.value('numeric', right, 2)})"])
            clauses.append(f"when {'' if matched else 'not '}matched{condition} then {action}")
        more = self.pick(["", "", "", f" and {self.value('bool', scope + right, 1)}"])
        named = f"{table} {self.pick(['', 'as '])}{alias}" if alias != table else table
        return f"merge into {named} using {source} on {alias}.id = {name}.k{more} {' '.join(clauses)}"

    def parts(self):
        """A change of one table whose rows another statement takes, which changes no row of that table."""
        one, other = self.random.sample(TABLES, 2)
        name, scope = self.new_name(), columns_of(one)
        where = f" where {self.value('bool', scope, 2)}"
        first = self.pick([f"delete from {one}{where} returning id as k, {one}.s as v", f"update {one} set {self.assignments(scope)}{where} returning id as k, {one}.s as v", f"insert into {one} (id, i, s) values ({self.number(0, 60)}, 1, {self.value('text', [], 1)}), ({self.number(61, 70)}, 2, null) on conflict do nothing returning id as k, {one}.s as v"])
        names = [(f"{name}.k", "int4"), (f"{name}.v", "text")]
        under = columns_of(other)
        second = self.pick([
            f"select count(*), sum(k), max(v) from {name}", f"select k, {self.value(self.kind(), names, 1)} from {name}", f"select count(*) from {one}, {name} where {one}.id = {name}.k", f"insert into {other} (id, i, s) select k + 100, min(length(v)), max(v) from {name} group by k returning id, s",
            f"update {other} set {self.assignments(under + names)} from (select k, max(v) as v from {name} group by k) {name} where {other}.id = {name}.k returning {other}.id", f"delete from {other} where id in (select k from {name}) and {self.value('bool', under, 1)} returning id, {self.value('text', under, 1)}", f"select (select count(*) from {name}), (select count(*) from {one})",
        ])
        more = f", {self.new_name()} as (select {self.value(self.pick(ORDERED), names, 1)} from {name})" if self.chance(15) else ""
        return f"with {name} as ({first}){more} {second}"
