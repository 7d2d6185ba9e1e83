#!/usr/bin/env python3
"""Files of SQLite's sqllogictest (public domain) on Sardonyx and on PostgreSQL 15: by file, the share of expected results.

    bench/sql/logictest.py [--alone] [--show N] [--json] [FILE…]

Without files: select1 to select5, which are fetched into target/sqllogictest (SQLLOGICTEST names another source of them).
Statements that PostgreSQL skips, as the file says, are skipped on both. With --alone there is no PostgreSQL. Needed: the
programs of bench/clients/compare.py, and `pip install psycopg[binary]`. Ends with 0 if everything that PostgreSQL passes
passes here.

Source: https://www.sqlite.org/sqllogictest/doc/trunk/about.wiki
"""

import argparse
import collections
import hashlib
import json
import os
import pathlib
import sys
import tempfile
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "clients"))

from compare import PostgreSQL, Sardonyx, dsn  # noqa: E402

ROOT = HERE.parent.parent
SOURCE = "https://raw.githubusercontent.com/gregrahn/sqllogictest/master/test"
# Of clients' libraries: whole numbers.
WHOLE = (20, 21, 23)


def fetched():
    source = os.environ.get("SQLLOGICTEST", SOURCE)
    place = ROOT / "target" / "sqllogictest"
    place.mkdir(parents=True, exist_ok=True)
    for number in range(1, 6):
        file = place / f"select{number}.test"
        if not file.exists() or file.stat().st_size == 0:
            urllib.request.urlretrieve(f"{source}/{file.name}", file)
        yield file


def records(file):
    """The records of a file: the words of the first line, the statement, and the expected lines (None: none)."""
    lines = [line for line in file.read_text().split("\n") if not line.startswith("#")]
    for block in "\n".join(lines).split("\n\n"):
        block = [line for line in block.split("\n") if line.strip()]
        is_skipped = False
        while block and block[0].split()[0] in ("onlyif", "skipif", "hash-threshold"):
            words = block.pop(0).split()
            is_skipped |= words[0] == "onlyif" and words[1] != "postgresql"
            is_skipped |= words[0] == "skipif" and words[1] == "postgresql"
        if not block:
            continue
        head = block[0].split()
        if head[0] == "halt":
            if is_skipped:
                continue
            return
        at = block.index("----") if "----" in block else None
        expected = None if at is None else block[at + 1 :]
        yield head, "\n".join(block[1:at]), expected, is_skipped


def shown(text, letter, is_whole):
    if text is None:
        return "NULL"
    text = text.decode()
    try:
        if letter == "R":
            return f"{float(text):.3f}"
        if letter == "I" and not is_whole:
            return str(int(float(text)))
    except ValueError:
        return text
    return text or "(empty)"


def answer(connection, text, letters, sorting):
    """The values that a query gives, in the order of the file, and the error that it gives."""
    result = connection.pgconn.exec_(text.encode())
    code = result.error_field(67)
    if code:
        return [], f"{code.decode()} {result.error_field(77).decode()[:90]}"
    whole = [result.ftype(at) in WHOLE for at in range(result.nfields)]
    letters = letters.ljust(result.nfields)
    rows = [
        [shown(result.get_value(row, at), letters[at], whole[at]) for at in range(result.nfields)]
        for row in range(result.ntuples)
    ]
    if sorting == "rowsort":
        rows.sort()
    values = [value for row in rows for value in row]
    return sorted(values) if sorting == "valuesort" else values, None


def is_expected(values, expected):
    if len(expected) == 1 and " values hashing to " in expected[0]:
        count, digest = expected[0].split(" values hashing to ")
        text = "".join(f"{value}\n" for value in values)
        return int(count) == len(values) and hashlib.md5(text.encode()).hexdigest() == digest.strip()
    return values == expected


def outcome(connection, head, text, expected):
    """`passed`, or what is wrong."""
    if head[0] == "statement":
        _, error = answer(connection, text, "", "")
        if (error is None) == (head[1] == "ok"):
            return "passed"
        return error or "an error is expected"
    values, error = answer(connection, text, head[1] if len(head) > 1 else "", head[2] if len(head) > 2 else "nosort")
    if error:
        return error
    return "passed" if is_expected(values, expected or []) else "another result"


def run(file, engines, show):
    import psycopg

    counts = {name: collections.Counter() for name in engines}
    connections = {name: psycopg.connect(dsn(engine), autocommit=True) for name, engine in engines.items()}
    skipped = behind = 0
    for head, text, expected, is_skipped in records(file):
        if is_skipped:
            skipped += 1
            continue
        given = {name: outcome(connection, head, text, expected) for name, connection in connections.items()}
        behind += given["Sardonyx"] != "passed" and given.get("PostgreSQL") == "passed"
        for name, said in given.items():
            counts[name][said] += 1
            if said != "passed" and show > 0:
                show -= 1
                print(f"-- {name}: {said}\n{text}", file=sys.stderr)
    for connection in connections.values():
        connection.close()
    return counts, skipped, behind


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("files", nargs="*", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--alone", action="store_true", help="without PostgreSQL")
    parser.add_argument("--show", type=int, default=0, help="how many failures of each file are shown")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    totals, errors, every = collections.defaultdict(collections.Counter), collections.defaultdict(collections.Counter), []
    for file in arguments.files or fetched():
        with tempfile.TemporaryDirectory() as place:
            place = pathlib.Path(place)
            place.chmod(0o755)
            engines = {"Sardonyx": Sardonyx(place / "sardonyx")}
            if not arguments.alone:
                engines["PostgreSQL"] = PostgreSQL(place / "postgresql")
            started = time.monotonic()
            try:
                counts, skipped, behind = run(file, engines, arguments.show)
            finally:
                for engine in engines.values():
                    engine.end()
        took = time.monotonic() - started
        line = {"file": file.name, "skipped": skipped, "passed there alone": behind, "seconds": round(took, 1)}
        for name, count in counts.items():
            line[name] = {"passed": count["passed"], "of": sum(count.values())}
            totals[name].update(line[name])
            errors[name].update({error: times for error, times in count.items() if error != "passed"})
        every.append(line)
        if not arguments.json:
            said = ", ".join(f"{name} {line[name]['passed']} of {line[name]['of']}" for name in counts)
            alone = "" if arguments.alone else f", {behind} passed there alone"
            print(f"{file.name:<24} {said}{alone}, {skipped} skipped, {took:.1f} s", flush=True)
    if arguments.json:
        print(json.dumps({"files": every, "totals": totals, "errors": errors}))
    else:
        for name, total in totals.items():
            print(f"{name}: {total['passed']} of {total['of']} passed ({100 * total['passed'] / max(total['of'], 1):.3f} %)")
            for error, times in errors[name].most_common(8):
                print(f"{times:>9} {error}")
    sys.exit(1 if any(line["passed there alone"] for line in every) else 0)


if __name__ == "__main__":
    main()
