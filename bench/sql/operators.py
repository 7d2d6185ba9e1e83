#!/usr/bin/env python3
"""Runs of operators' characters here and on PostgreSQL 15: where an operator ends, before signs and comments.

    bench/sql/operators.py [--length N] [--show N] [--ours DSN --theirs DSN] [--json]

Each run of up to N of the characters of operators is written between two operands, and before one: without a blank before a
number, a sign, and either kind of comment. Compared are the value, the type, and the SQLSTATE. Needed: what compare.py
needs, and psycopg. Ends with 0 if nothing is different.
"""

import argparse
import collections
import itertools
import json
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "clients")]

from compare import PostgreSQL, Sardonyx, dsn  # noqa: E402

CHARACTERS = "+-*/<>=~!@#%^&|`?"
BEHIND = ["1", "-1", "+1", "/*c*/1", "--c\n1", "/*it's*/-1"]
# A null has no type of its own, so that errors of values do not hide those of operators.
BEFORE = ["3", "null::jsonb", ""]


def outcome(connection, text):
    result = connection.pgconn.exec_(text.encode())
    code = (result.error_field(67) or b"").decode()
    if code:
        return code, (result.error_field(77) or b"").decode()
    return "", [result.get_value(row, 0) for row in range(result.ntuples)], result.ftype(0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--length", type=int, default=3)
    parser.add_argument("--show", type=int, default=20)
    parser.add_argument("--ours", help="the address of a server of Sardonyx that runs")
    parser.add_argument("--theirs", help="of PostgreSQL")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    import psycopg

    count, different, causes = 0, 0, collections.Counter()
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        place.chmod(0o755)
        engines, addresses = [], [arguments.ours, arguments.theirs]
        try:
            for at, engine in enumerate((Sardonyx, PostgreSQL)):
                if not addresses[at]:
                    engines.append(engine(place / engine.__name__.lower()))
                    addresses[at] = dsn(engines[-1])
            ours, theirs = (psycopg.connect(address, autocommit=True) for address in addresses)
            runs = itertools.chain.from_iterable(itertools.product(CHARACTERS, repeat=length) for length in range(1, arguments.length + 1))
            for run, before, behind in itertools.product(runs, BEFORE, BEHIND):
                text = f"select {before}{''.join(run)}{behind}"
                one, other = outcome(ours, text), outcome(theirs, text)
                count += 1
                if one[0] == other[0] and (one[0] or one == other):
                    continue
                different += 1
                causes[f"{one[0] or 'no error'} / {other[0] or 'no error'}"] += 1
                if different <= arguments.show:
                    print(f"-- {one} / {other}\n{text}", file=sys.stderr, flush=True)
        finally:
            for engine in engines:
                engine.end()
    if arguments.json:
        print(json.dumps({"compared": count, "different": different, "causes": causes}))
    else:
        for cause, times in causes.most_common():
            print(f"{times:>8}  {cause}")
        print(f"{different:>8}  different, of {count}")
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
