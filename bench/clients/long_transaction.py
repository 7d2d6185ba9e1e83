#!/usr/bin/env python3
"""One interactive transaction of many statements, each in a flight of its own, on Sardonyx and PostgreSQL in one run.

    bench/clients/long_transaction.py [--statements N,N] [--rounds N] [--engines NAME,NAME] [--json]

A client (psycopg) begins a transaction, sends so many INSERT, UPDATE or SELECT statements of one row each, one after the
other, and commits. Shown are the seconds of each, the median of the rounds. Linear cost is the same time per statement
for each number of statements. Beside them is the processor time of the engine's processes (`/proc/PID/stat`): the client's own
share is not in it.
"""

import argparse
import json
import os
import pathlib
import sys
import tempfile
import time

import psycopg

from compare import PostgreSQL, Sardonyx, dsn, medians

WORK = {
    "insert": lambda number: (b"INSERT INTO rows VALUES (%s, %s, 'text')", (number, number)),
    "update": lambda number: (b"UPDATE rows SET n = n + 1 WHERE id = %s", (number,)),
    "select": lambda number: (b"SELECT n FROM rows WHERE id = %s", (number,)),
}


def run(at, name, statements):
    """Seconds of one transaction. The rows that its statements report are counted."""
    with psycopg.connect(at, autocommit=True) as connection, connection.cursor() as cursor:
        if name == "insert":
            cursor.execute("DROP TABLE IF EXISTS rows")
            cursor.execute("CREATE TABLE rows (id int PRIMARY KEY, n int, t text)")
        started = time.monotonic()
        cursor.execute("BEGIN")
        told = 0
        for number in range(statements):
            cursor.execute(*WORK[name](number))
            told += cursor.rowcount
        cursor.execute("COMMIT")
        spent = time.monotonic() - started
    if told != statements:
        sys.exit(f"{name}: {statements} statements told of {told} rows")
    return spent


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--statements", default="10000", help="how many, separated by commas")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--engines", default="Sardonyx,PostgreSQL")
    parser.add_argument("--directory", default=None, help="on the disk that is to be measured")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory(dir=arguments.directory) as place:
        os.chmod(place, 0o755)
        place = pathlib.Path(place)
        makers = {"Sardonyx": lambda: Sardonyx(place / "bank.sdx"), "PostgreSQL": lambda: PostgreSQL(place / "postgresql")}
        engines = {name: makers[name]() for name in arguments.engines.split(",")}
        try:
            for statements in map(int, arguments.statements.split(",")):
                times = {name: {engine: [] for engine in engines} for name in WORK}
                processor = {name: {engine: [] for engine in engines} for name in WORK}
                for _ in range(arguments.rounds):
                    for engine in engines:
                        for name in WORK:
                            before = engines[engine].ticks()
                            times[name][engine].append(run(dsn(engines[engine]), name, statements))
                            ticks = engines[engine].ticks() - before
                            processor[name][engine].append(ticks / os.sysconf("SC_CLK_TCK"))
                for name, seconds in times.items():
                    result = {"work": name, "statements": statements, "seconds": seconds, "processor": processor[name]}
                    each = {engine: [1e6 * one / statements for one in of] for engine, of in processor[name].items()}
                    results.append({**result, "median_seconds": medians(seconds), "microseconds_each": medians(each)})
        finally:
            for engine in engines.values():
                engine.end()
    if arguments.json:
        print(json.dumps(results))
        return
    print(f"{'seconds':<10}{'statements':>12}" + "".join(f"{engine:>14}" for engine in arguments.engines.split(",")))
    for one in results:
        shown = "".join(f"{seconds:>14.2f}" for seconds in one["median_seconds"].values())
        print(f"{one['work']:<10}{one['statements']:>12,}{shown}")
        print(f"{'  processor, µs a statement':<22}" + "".join(f"{of:>14.1f}" for of in one["microseconds_each"].values()))


if __name__ == "__main__":
    main()
