#!/usr/bin/env python3
"""One interactive transaction of many statements, each in a flight of its own, on Sardonyx and PostgreSQL in one run.

    bench/clients/long_transaction.py [--statements N,N] [--rounds N] [--instructions] [--engines NAME,NAME] [--json]

A client (psycopg) begins a transaction, sends so many INSERT, UPDATE or SELECT statements of one row each, one after the
other, and commits. Shown are the seconds of each, the median of the rounds. Linear cost is the same time per statement
for each number of statements. With --instructions, `perf stat` also counts the instructions of Sardonyx' server in user mode for
a statement: other programs and the caches of the machine do not change them.
"""

import argparse
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import psycopg

from compare import PostgreSQL, Sardonyx, dsn

WORK = {
    "insert": lambda number: (b"INSERT INTO rows VALUES (%s, %s, 'text')", (number, number)),
    "update": lambda number: (b"UPDATE rows SET n = n + 1 WHERE id = %s", (number,)),
    "select": lambda number: (b"SELECT n FROM rows WHERE id = %s", (number,)),
}


def run(at, name, statements):
    """Seconds of one transaction; the rows that its statements told of are counted."""
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


def counted(engine, act):
    """The result of `act`, and the instructions of an engine's processes meanwhile."""
    processes = ",".join(map(str, engine.processes()))
    with tempfile.NamedTemporaryFile("r") as output:
        command = ["perf", "stat", "-x,", "-e", "instructions:u", "-p", processes, "-o", output.name]
        perf = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        # It has attached once it sleeps; a transaction of thousands of statements is not changed by its first ones.
        time.sleep(0.3)
        result = act()
        perf.send_signal(signal.SIGINT)
        perf.wait()
        counts = [line.split(",")[0] for line in output.read().splitlines() if "instructions" in line]
    if not counts or not counts[0].isdigit():
        sys.exit("perf counted no instructions")
    return result, int(counts[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--statements", default="10000", help="how many, separated by commas")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--instructions", action="store_true", help="of Sardonyx' server for a statement, by perf")
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
                instructions = {name: [] for name in WORK}
                for _ in range(arguments.rounds):
                    for engine in engines:
                        for name in WORK:
                            act = lambda: run(dsn(engines[engine]), name, statements)
                            if arguments.instructions and engine == "Sardonyx":
                                seconds, count = counted(engines[engine], act)
                                instructions[name].append(count // statements)
                            else:
                                seconds = act()
                            times[name][engine].append(seconds)
                for name, seconds in times.items():
                    result = {"work": name, "statements": statements, "seconds": seconds}
                    if arguments.instructions:
                        result["instructions"] = instructions[name]
                    results.append(result)
        finally:
            for engine in engines.values():
                engine.end()
    if arguments.json:
        print(json.dumps(results))
        return
    print(f"{'seconds':<10}{'statements':>12}" + "".join(f"{engine:>14}" for engine in arguments.engines.split(",")))
    for one in results:
        shown = "".join(f"{statistics.median(seconds):>14.2f}" for seconds in one["seconds"].values())
        counts = one.get("instructions")
        more = f"  {statistics.median(counts):,.0f} instructions a statement" if counts else ""
        print(f"{one['work']:<10}{one['statements']:>12,}{shown}{more}")


if __name__ == "__main__":
    main()
