#!/usr/bin/env python3
"""pg_dump of a schema and its data, loaded again by psql into a fresh server, which has the same dump.

    bench/clients/pg_dump.py [--postgres DSN]

SARDONYX is the command. With --postgres, the text is loaded into that empty database of PostgreSQL, too. Rows are
compared in any order: a table has none.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import run  # noqa: E402

SCHEMA = HERE / "pg_dump.sql"
OPTIONS = [
    "-Fc", "-Ft", "--schema-only", "--data-only", "--inserts", "--column-inserts", "--clean --if-exists", "-C", "-t shop.orders",
    "-n shop", "--no-owner --no-privileges", "--section=data", "--serializable-deferrable",
]


def called(server, *command, **options):
    environment = dict(run.environment(server), PGUSER="postgres", PGDATABASE="postgres")
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, **options)


def checked(done):
    if done.returncode:
        sys.exit(f"{' '.join(map(str, done.args))}: {done.stderr.strip()}")
    return done.stdout


def lines_of(text):
    """The lines of a dump, with the rows of each COPY sorted, and without what differs at each call."""
    found, rows = [], None
    for line in text.splitlines():
        if rows is not None:
            if line != "\\.":
                rows.append(line)
                continue
            found, rows = found + sorted(rows), None
        if line.startswith(("\\restrict", "\\unrestrict")):
            continue
        found.append(line)
        if line.startswith("COPY "):
            rows = []
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--postgres", default="", metavar="DSN")
    arguments = parser.parse_args()
    load = ("psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-f")
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory)
        first, second = (run.Server(directory / name) for name in ("first.sdx", "second.sdx"))
        checked(called(first, *load, SCHEMA))
        dump = directory / "dump.sql"
        dump.write_text(checked(called(first, "pg_dump")))
        for options in OPTIONS:
            checked(called(first, "pg_dump", "-f", os.devnull, *options.split()))
        checked(called(second, *load, dump))
        again = checked(called(second, "pg_dump"))
        if lines_of(again) != lines_of(dump.read_text()):
            (directory / "again.sql").write_text(again)
            sys.exit(subprocess.run(["diff", dump, directory / "again.sql"], capture_output=True, text=True).stdout)
        if arguments.postgres:
            checked(subprocess.run([*load, dump, arguments.postgres], capture_output=True, text=True))
        for server in (first, second):
            server.end()
    print(f"the dump has {len(lines_of(again))} lines, and {len(OPTIONS)} options end with 0")


if __name__ == "__main__":
    main()
