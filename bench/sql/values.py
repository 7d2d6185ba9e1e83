#!/usr/bin/env python3
"""Random values of few types on Sardonyx and on PostgreSQL 15: each must be the same to its last character.

    bench/sql/values.py [--seed N] [--queries N] [--show N] [--kinds numbers,texts,arrays,dates]

Numbers: exact arithmetic, rounding, roots, powers, exponentials and logarithms, casts, aggregates. Texts: `text`, `varchar(n)`
and `character(n)` compared, cut, padded, searched, grouped. Arrays: literals, also wrong ones, of several dimensions, with
their functions and order. Dates: texts of dates, times and timestamps, right and wrong. Compared are values and the codes of errors. Not compared is what is not supported (`0A000`),
which is counted. Needed: what generated.py needs. Ends with 0 if nothing is different.
"""

import argparse
import collections
import pathlib
import random
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent / "clients"))

from compare import PostgreSQL, Sardonyx, dsn  # noqa: E402
from generated import Answer  # noqa: E402

PIECES = ["a", "b", "ab", "A", " ", "", "é", "%", "_", "\\", "x,y", ",", "{", "}", '"', "null", "1", "-1"]


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


class Values:
    """One expression from one seed."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.pick = self.random.choice
        self.whole = self.random.randint

    def number(self):
        if self.random.random() < 0.25:
            return self.pick([f"({self.whole(-20, 20)})", f"({self.whole(-10**9, 10**9)})"])
        digits, size = self.whole(0, 6), 10 ** self.whole(1, 9)
        return f"({self.whole(-size, size) / 10**digits:.{digits}f}::numeric)"

    def positive(self):
        digits, size = self.whole(1, 8), 10 ** self.whole(1, 12)
        return f"({max(1, self.whole(1, size)) / 10**digits:.{digits}f}::numeric + 0.00000001)"

    def numbers(self):
        a, b, c, p, q = self.number(), self.number(), self.number(), self.positive(), self.positive()
        digits, whole, part = self.whole(-4, 10), self.whole(-5, 3), self.whole(-300, 300) / 100
        kind = self.pick(["int", "bigint", "smallint", "numeric(8,3)", "numeric(5,0)", "float8", "text", "real"])
        return self.pick([
            f"{a} {self.pick('+-*/%')} {b}", f"{a} {self.pick(['=', '<', '>=', '<>'])} {b}", f"({a})::{kind}",
            f"round({a}, {digits})", f"trunc({a}, {digits})", f"{self.pick(['ceil', 'floor', 'sign', 'abs', 'round', 'trunc'])}({a})",
            f"div({a}, {b})", f"mod({a}, {b})", f"greatest({a}, {b}, {c})", f"sqrt({p})", f"ln({p})", f"log({p})", f"log({p}, {q})",
            f"exp({self.whole(-3000, 3500) / 100:.2f})", f"power({self.whole(1, 99999) / 1000}::numeric, {whole})", f"power({p}, {part:.2f})",
            f"(select {self.pick(['avg', 'sum', 'min', 'max'])}(x) from (values ({a}), ({b}), ({c})) v(x))",
        ])

    def text(self):
        text = quoted("".join(self.pick(PIECES) for _ in range(self.whole(0, 4))))
        return text + self.pick(["", "", "::text", "::varchar", "::varchar(3)", f"::char({self.whole(1, 6)})"])

    def texts(self):
        a, b, c = self.text(), self.text(), self.text()
        i, j = self.whole(-4, 5), self.whole(-2, 5)
        rows = f"from (values ({a}), ({b})) v(x)"
        return self.pick([
            f"substring({a}, {i}, {abs(j)})", f"left({a}, {i})", f"right({a}, {i})", f"lpad({a}, {j}, {b})", f"rpad({a}, {j}, {b})",
            f"split_part({a}, {b}, {i or 1})", f"strpos({a}, {b})", f"position({b} in {a})", f"replace({a}, {b}, {c})", f"{a} || {b}",
            f"length({a})", f"octet_length({a})", f"btrim({a}, {b})", f"concat({a}, {b})", f"concat_ws({c}, {a}, {b})", f"upper({a})",
            f"reverse({a})", f"initcap({a})", f"{a} like {b}", f"{a} = {b}", f"{a} < {b}", f"{a} is distinct from {b}", f"{a} in ({b}, {c})",
            f"coalesce({a}, {b})", f"nullif({a}, {b})", f"case when true then {a} else {b} end", f"max(x) {rows}", f"string_agg(x, '-') {rows}",
            f"x, count(*) {rows} group by x order by 1", f"{a}::char(3)", f"{a}::varchar(2)", f"json_build_object('k', {a})", f"array[{a}, {b}]",
        ])

    def dates(self):
        """A date, a time and a zone in some order and spelling, now and then with something wrong."""
        year, month, day = self.whole(1, 2100), self.whole(0, 13), self.whole(0, 32)
        name = self.pick(["jan", "Feb", "MARCH", "sept", "Dec.", "Smarch"])
        short = f"{year % 100:02}"
        date = self.pick([
            f"{year:04}-{month:02}-{day:02}", f"{year:04}-{month}-{day}", f"{year:04}{month:02}{day:02}", f"{month}/{day}/{year:04}",
            f"{month}.{day}.{short}", f"{name} {day} {year:04}", f"{day}-{name}-{year:04}", f"{day} {name} {short}", f"{year:04}.{self.whole(0, 400):03}",
            f"{year:04}-{name}-{day}", f"J{self.whole(0, 3000000)}", f"y{year:04}m{month}d{day}", f"{name} {day}", "epoch", "",
        ])
        hour, minute, second = self.whole(0, 25), self.whole(0, 61), self.whole(0, 61)
        fraction = self.pick(["", "", ".", ".5", ".1234567", ".9999999"])
        time = self.pick([
            f"{hour:02}:{minute:02}:{second:02}{fraction}", f"{hour}:{minute}", f"{hour:02}{minute:02}{second:02}{fraction}", f"T{hour:02}:{minute:02}",
            f"{hour:02}{minute:02}", f"h{hour}mm{minute}", "allballs", "", "",
        ])
        zone = self.pick(["", "", "", "Z", "UTC", "EST", "pdt", "cest", "+02", "-0330", "+02:30:15", "+16", "x"])
        noon = self.pick(["", "", "", "am", "PM"])
        era = self.pick(["", "", "", "BC", "ad"])
        parts = [date, time + self.pick(["", " "]) + zone, noon, era]
        if self.random.random() < 0.15:
            self.random.shuffle(parts)
        text = self.pick([" ", " ", "T", ", "]).join(part for part in parts[:2] if part) + " " + " ".join(part for part in parts[2:] if part)
        kind = self.pick(["date", "time", "timestamp", "timestamptz", "timestamp(0)", "timestamptz(3)", "time(1)"])
        return f"{quoted(text)}::{kind}"

    def elements(self, depth):
        if depth:
            return "{" + ",".join(self.elements(depth - 1) for _ in range(self.whole(1, 2))) + "}"
        odd = ["null", "NULL", " 4 ", '"5"', "x", "", "07"]
        return self.pick(odd) if self.random.random() < 0.25 else str(self.whole(-9, 9))

    def array(self):
        text = self.elements(self.pick([1, 1, 1, 2, 3]))
        chance = self.random.random()
        if chance < 0.08:
            text = text[:-1]
        elif chance < 0.16:
            text = f"[{self.whole(-1, 2)}:{self.whole(0, 3)}]={text}"
        elif chance < 0.24:
            text = "{}"
        return quoted(text) + "::" + self.pick(["int[]", "int[]", "int[]", "text[]", "bigint[]"])

    def arrays(self):
        a, b = self.array(), self.array()
        rows = f"from (values ({a}), ({b})) v(x)"
        return self.pick([
            a, f"{a} = {b}", f"{a} < {b}", f"{a} || {b}", f"{a} || 5", f"array[{a}, {b}]", f"({a})[{self.whole(-1, 3)}]", f"{a}::text",
            f"{a}::bigint[]", f"array_length({a}, {self.whole(0, 2)})", f"array_upper({a}, 1)", f"array_dims({a})", f"cardinality({a})",
            f"array_to_string({a}, ',', '*')", f"to_json({a})", f"2 = any({a})", f"2 > all({a})", f"array_append({a}, 3)", f"array_remove({a}, 2)",
            f"array_position({a}, 2)", f"x {rows} order by 1", f"distinct x {rows} order by x", f"max(x) {rows}", f"array_agg(x) {rows}",
        ])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--queries", type=int, default=3000)
    parser.add_argument("--show", type=int, default=20)
    parser.add_argument("--kinds", default="numbers,texts,arrays,dates")
    arguments = parser.parse_args()
    import psycopg

    counts, kinds = collections.Counter(), arguments.kinds.split(",")
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        place.chmod(0o755)
        engines = [Sardonyx(place / "sardonyx"), PostgreSQL(place / "postgresql")]
        try:
            ours, theirs = (psycopg.connect(dsn(engine), autocommit=True) for engine in engines)
            for seed in range(arguments.seed, arguments.seed + arguments.queries):
                text = "select " + getattr(Values(seed), kinds[seed % len(kinds)])()
                one, other = Answer(ours, text), Answer(theirs, text)
                same = (one.code, one.rows) == (other.code, other.rows)
                kind = "not supported" if one.code == "0A000" and not same else "the same" if same else "different"
                counts[kind] += 1
                if kind == "different" and counts[kind] <= arguments.show:
                    print(f"-- seed {seed}\n{text}\n   {one.code} {one.message} {one.rows}\n   {other.code} {other.message} {other.rows}", file=sys.stderr)
        finally:
            for engine in engines:
                engine.end()
    for kind, count in counts.most_common():
        print(f"{count:>8}  {kind}")
    sys.exit(1 if counts["different"] else 0)


if __name__ == "__main__":
    main()
