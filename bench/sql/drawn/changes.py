"""Random INSERT, UPDATE and DELETE, with RETURNING and ON CONFLICT, on the tables of kinds.py."""

from .kinds import COLUMNS, TABLES
from .queries import Queries


class Changes(Queries):
    def other(self, table, scope):
        """What a change joins to its table: at most one row for each. With what is to hold."""
        if not self.chance(30):
            return "", "", scope
        name = self.new_name()
        of = self.pick(["i", "s"])
        query = f"(select id as k, max({of}) as v from {self.pick(TABLES)} group by id) {name}"
        return query, f"{table}.id {self.pick(['=', '= 1 +'])} {name}.k", scope + [(f"{name}.v", COLUMNS[of])]

    def change(self):
        table = self.pick(TABLES)
        scope = [(f"{table}.{column}", kind) for column, kind in COLUMNS.items()]
        is_insert = self.chance(25)
        other, equal, scope = ("", "", scope) if is_insert else self.other(table, scope)
        self.has_subqueries = False
        returning = f" returning {self.value(self.kind(), scope, 2)}, {table}.id" if self.chance(60) else ""
        self.has_subqueries = True
        conditions = [equal] if equal else []
        if self.chance(90):
            conditions.append(self.value("bool", scope, 3))
        where = f" where {' and '.join(conditions)}" if conditions else ""
        if not is_insert and self.chance(33):
            return f"delete from {table}{' using ' + other if other else ''}{where}{returning}"
        if is_insert:
            rows = ", ".join(f"({self.number(0, 60)}, {', '.join(self.value(kind, [], 2) for kind in list(COLUMNS.values())[1:])})" for _ in range(self.number(1, 3)))
            keys = "(i, id)" if table == "c" else "(id)"
            what = self.pick(["", " on conflict do nothing", f" on conflict {keys} do update set s = excluded.s || '+', n = {table}.n + excluded.n"])
            return f"insert into {table} values {rows}{what}{returning}"
        columns = self.random.sample([name for name in COLUMNS if name != "id"], self.number(1, 3))
        changes = ", ".join(f"{column} = {self.value(COLUMNS[column], scope, 3)}" for column in columns)
        return f"update {table} set {changes}{' from ' + other if other else ''}{where}{returning}"
