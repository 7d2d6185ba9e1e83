"""Functions, operators and aggregates with the types of their arguments, of PostgreSQL's own catalogue.

Of functions, those whose names docs/sql.md lists: all that PostgreSQL has by these names, whether docs/sql.md lists each or not.
Operators are all that have arguments of the drawn types. Left out is what depends on the server, the session or the moment.
Each polymorphic one is taken with several types.
"""

import pathlib
import re
from typing import NamedTuple

from . import kinds

DOCUMENT = pathlib.Path(__file__).resolve().parents[3] / "docs" / "sql.md"
OTHERS = re.compile(
    r"^(pg_(?!typeof|size_pretty)|has_|current_|txid|to_reg|obj_|col_|shobj|format_type|inet_client|inet_server|version|set_config|setval|nextval|currval|lastval|session|oidvector|now$|clock|statement_|"
    r"transaction_|timeofday|localt|random|setseed|gen_random|uuid_gen|similar_escape$|query_to|_pg|float[48]send|show_limit|age$)"
)
# Operators whose answer here is another, or none, by docs/sql.md.
LEFT_OUT = {
    **{(name, "tsquery", "tsquery"): "questions are ordered by their texts" for name in ("<", "<=", ">", ">=", "=", "<>", "@>", "<@")},
    **{(name, "hstore", "hstore"): "hstore is ordered by <" for name in ("#<#", "#<=#", "#>#", "#>=#", "#=")},
    ("#=", "anyelement", "hstore"): "records", ("%%", "", "hstore"): "prefix operators", ("%#", "", "hstore"): "prefix operators",
}
# Signatures that docs/sql.md does not list beside others of the name.
FUNCTIONS_LEFT_OUT = {("jsonb_delete", "variadic")}
ELEMENTS = ["int4", "text", "numeric", "float8", "date", "bool", "int8", "jsonb", "timestamptz", "interval"]
RANGES = {"int4range": "int4", "int8range": "int8", "numrange": "numeric", "daterange": "date", "tsrange": "timestamp", "tstzrange": "timestamptz"}


class Call(NamedTuple):
    """A function or an operator: its name, the types of its arguments and its result; of a variadic one the last type repeats."""

    name: str
    takes: tuple
    gives: str
    is_variadic: bool = False


def names_of_document():
    text = DOCUMENT.read_text().split("\n## Functions\n")[1]
    return sorted(set(re.findall(r"`([a-z_][a-z_0-9]*)\(", text)))


def of_polymorphic(types):
    """The types that the polymorphic types of one call become."""
    joined = " ".join(types)
    if "range" in joined and "any" in joined:
        for range_type, bound in RANGES.items():
            yield {"anyrange": range_type, "anyelement": bound, "anycompatiblerange": range_type, "anycompatible": bound}
    elif "anyenum" in joined:
        yield {"anyenum": "mood", "anyarray": "mood[]"}
    elif re.search(r"\bany(element|array|nonarray|compatible)", joined):
        for element in ELEMENTS:
            yield {name: element + ("[]" if "array" in name else "") for name in ("anyelement", "anyarray", "anynonarray", "anycompatible", "anycompatiblearray", "anycompatiblenonarray")} | {
                "anynonarray": element, "anycompatiblenonarray": element
            }
    else:
        yield {}


def expanded(name, takes, gives, is_variadic=False):
    takes = [one[1:] + "[]" if one.startswith("_") else one for one in takes]
    gives = gives[1:] + "[]" if gives.startswith("_") else gives
    for taken in of_polymorphic([*takes, gives]):
        call = Call(name, tuple(taken.get(one, one) for one in takes), taken.get(gives, gives), is_variadic)
        if call.gives in kinds.VALUES and all(one in kinds.VALUES or one == "any" for one in call.takes):
            yield call


class Catalogue:
    def __init__(self, connection):
        self.names = names_of_document()
        rows = lambda text: [tuple(row) for row in connection.execute(text).fetchall()]  # noqa: E731
        types = "array(select typname::text from unnest(proargtypes) with ordinality u(o, n) join pg_type on pg_type.oid = o order by n)"
        functions = rows(
            f"select proname::text, {types}, t.typname::text, provariadic <> 0, proretset, prokind::text from pg_proc join pg_type t on t.oid = prorettype "
            "where provolatile <> 'v' and prokind in ('f', 'a', 'w') order by proname, proargtypes::text"
        )
        self.functions, self.sets, self.aggregates = [], [], []
        for name, takes, gives, is_variadic, gives_rows, kind in functions:
            if name not in self.names or OTHERS.match(name) or (name, "variadic" if is_variadic else len(takes)) in FUNCTIONS_LEFT_OUT:
                continue
            if is_variadic and takes[-1] != "any":
                takes = [*takes[:-1], takes[-1].lstrip("_")]
            for call in expanded(name, takes, gives, is_variadic):
                (self.aggregates if kind == "a" else self.sets if gives_rows else self.functions if kind == "f" else []).append(call)
        self.operators = []
        for name, left, right, gives in rows(
            "select oprname::text, coalesce(l.typname::text, ''), r.typname::text, g.typname::text from pg_operator left join pg_type l on l.oid = oprleft join pg_type r on r.oid = oprright "
            "join pg_type g on g.oid = oprresult order by 1, 2, 3"
        ):
            if (name, left, right) in LEFT_OUT or name in ("<%", "%>", "<<%", "%>>", "~<~", "~<=~", "~>~", "~>=~", "*=", "*<>", "*<", "*>", "*<=", "*>="):
                continue
            self.operators += expanded(name, [left, right] if left else [right], gives)
        self.functions_of, self.operators_of = self.by_type(self.functions), self.by_type(self.operators)

    @staticmethod
    def by_type(calls):
        """By the type of the result the names, and of each its calls, so that names are drawn alike."""
        found = {}
        for call in calls:
            found.setdefault(call.gives, {}).setdefault(call.name, []).append(call)
        return {kind: sorted(names.values(), key=lambda one: one[0].name) for kind, names in found.items()}
