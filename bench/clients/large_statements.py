#!/usr/bin/env python3
"""The waits of writers of one row while a statement changes many rows, beside PostgreSQL.

    bench/clients/large_statements.py [--rows N] [--only NAME,NAME] [--writer other,same] [--engines sardonyx,postgresql]
                                      [--every MILLISECONDS] [--postgresql DSN] [--json]

A writer changes one row in a transaction of its own, due every millisecond (open loop). Its wait is counted from the moment
when it was due to its durable reply, also if another write waited then. It writes to another table than the large statement,
or to a row of the same table that the statement does not change. While the statement runs, the longest wait, the 99.9th
percentile and the median are shown; then the time of the statement, and the number of its retries (40001). `served` is the
time from when a write was sent: on a machine that is busy with something else the writer may be late.

PostgreSQL runs as in compare.py, or is a server that runs already. SARDONYX is the command. Everything is in a temporary directory.
"""

import argparse
import json
import multiprocessing
import pathlib
import queue
import shutil
import sys
import tempfile
import time

import psycopg
from psycopg import errors

from compare import PostgreSQL, Sardonyx, dsn

ENGINES = {"sardonyx": Sardonyx, "postgresql": PostgreSQL}
# The rows of each statement are those from 1 on; the writer's have other keys.
WORK = {
    "update": "UPDATE large SET amount = amount + 1 WHERE id > 0",
    "delete": "DELETE FROM large WHERE id > 0",
    # A tenth of the rows, all over the table.
    "tenth": "DELETE FROM large WHERE id > 0 AND id % 10 = 0",
    "insert": "INSERT INTO empty SELECT id, amount, filler FROM large WHERE id > 0",
    "index": "CREATE INDEX large_amount ON large (amount)",
    "copy": "COPY empty FROM STDIN",
    # As many new rows as the table has.
    "load": "COPY large FROM STDIN",
    "join": "UPDATE large SET amount = large.amount + other.amount FROM large AS other WHERE other.id = large.id AND large.id > 0",
    "returning": "DELETE FROM large WHERE id IN (SELECT id FROM large WHERE id > 0) RETURNING id",
    "upsert": "INSERT INTO large SELECT id + 1, amount, filler FROM large WHERE id > 0 ON CONFLICT (id) DO UPDATE SET amount = 0",
    # More rows than one call changes, and few of the table's.
    "few": "UPDATE large SET amount = amount + 1 WHERE id BETWEEN 1 AND 5000",
    # Definitions. Each row gets a value of its own, another type, or a place in an index that transactions check at their end.
    "column": "ALTER TABLE large ADD COLUMN twice int GENERATED ALWAYS AS (amount * 2) STORED",
    "type": "ALTER TABLE large ALTER COLUMN amount TYPE bigint",
    "rename": "ALTER INDEX large_pkey RENAME TO large_key",
    "deferrable": "ALTER TABLE large ADD CONSTRAINT large_once UNIQUE (id, amount) DEFERRABLE",
    "reference": "ALTER TABLE empty ADD CONSTRAINT empty_large FOREIGN KEY (id) REFERENCES large (id)",
    "check": "ALTER TABLE large ADD CONSTRAINT large_amounts CHECK (amount >= 0)",
    "not null": "ALTER TABLE large ALTER COLUMN amount SET NOT NULL",
    "validate": "ALTER TABLE large VALIDATE CONSTRAINT large_later",
    "generated not null": "ALTER TABLE large ADD COLUMN twice int GENERATED ALWAYS AS (amount * 2) STORED NOT NULL",
    "volatile": "ALTER TABLE large ADD COLUMN chance float8 DEFAULT random()",
    "serial": "ALTER TABLE large ADD COLUMN number serial",
    # A row of another table goes with each.
    "cascade": "DELETE FROM large WHERE id > 0",
    "as": "CREATE TABLE made AS SELECT id, amount, filler FROM large",
    "into": "SELECT id, amount, filler INTO made FROM large",
    "view": "CREATE MATERIALIZED VIEW seen AS SELECT id, amount, filler FROM large",
    "refresh": "REFRESH MATERIALIZED VIEW seen",
    "truncate": "TRUNCATE large",
    "drop": "DROP TABLE large",
}
# The definitions before a statement that needs some.
BEFORE = {
    "validate": "ALTER TABLE large ADD CONSTRAINT large_later CHECK (amount >= 0) NOT VALID",
    "cascade": "CREATE TABLE part (id int PRIMARY KEY REFERENCES large ON DELETE CASCADE);"
    " INSERT INTO part SELECT id FROM large WHERE id > 0",
    "refresh": "CREATE MATERIALIZED VIEW seen AS SELECT id, amount, filler FROM large",
}
# Its table is dropped, so a writer to it would fail.
OTHER_ONLY = {"drop"}
WRITERS = 16
# The writer is at its pace before the statement begins.
SECONDS_BEFORE = 0.5


def make(at, name, rows):
    with psycopg.connect(at, autocommit=True) as client:
        client.execute("DROP MATERIALIZED VIEW IF EXISTS seen")
        for table in ("made", "part", "empty", "large", "small"):
            client.execute(f"DROP TABLE IF EXISTS {table}")
        for table in ("large", "empty", "small"):
            client.execute(f"CREATE TABLE {table} (id int PRIMARY KEY, amount int, filler varchar(40))")
        for first in range(1, rows + 1, 100_000):
            last = min(first + 99_999, rows)
            client.execute(
                f"INSERT INTO large SELECT n, n % 1000, 'filler of a row' FROM generate_series({first}, {last}) AS n"
            )
        for table in ("large", "empty", "small"):
            with client.cursor() as cursor:
                rows_of_writers = [(-1 - n, 0, "a writer's") for n in range(WRITERS)]
                cursor.executemany(f"INSERT INTO {table} VALUES (%s, %s, %s)", rows_of_writers)
        for statement in filter(None, BEFORE.get(name, "").split(";")):
            client.execute(statement)


def write(at, table, every, begins, ends, waits):
    """Sends one write per interval until `ends`. Delayed writes are sent as soon as possible. Puts when each was due, and the seconds from then and from its sending to its reply."""
    found, again = [], 0
    with psycopg.connect(at, autocommit=True) as client:
        text = f"UPDATE {table} SET amount = amount + 1 WHERE id = %s"
        for n in range(20):
            client.execute(text, (-1 - n % WRITERS,), prepare=True)
        first, number = time.monotonic(), 0
        while (due := first + number * every) <= ends.value:
            if number * every >= SECONDS_BEFORE:
                begins.set()
            pause = due - time.monotonic()
            if pause > 0:
                time.sleep(pause)
            sent = time.monotonic()
            while True:
                try:
                    client.execute(text, (-1 - number % WRITERS,), prepare=True)
                    break
                except errors.SerializationFailure:
                    again += 1
            now = time.monotonic()
            found.append((due, now - due, now - sent))
            number += 1
    waits.put((found, again))


def large(at, name, rows):
    """Runs the statement. Returns its beginning, its end, and how often it was sent again."""
    again = 0
    with psycopg.connect(at, autocommit=True) as client:
        first = {"copy": 1, "load": rows + 1}.get(name)
        numbers = range(first, first + rows) if first else ()
        data = "".join(f"{n}\t{n % 1000}\tfiller of a row\n" for n in numbers)
        begin = time.monotonic()
        while True:
            try:
                if data:
                    with client.cursor().copy(WORK[name]) as copy:
                        copy.write(data)
                else:
                    client.execute(WORK[name])
                return begin, time.monotonic(), again
            except errors.SerializationFailure:
                again += 1


def percentile(sorted_values, share):
    return sorted_values[min(len(sorted_values) - 1, int(share * len(sorted_values)))]


def measure(at, name, writer, rows, every):
    make(at, name, rows)
    target = "empty" if name in ("insert", "copy") else "large"
    table = {"other": "small", "same": target}[writer]
    begins, waits = multiprocessing.Event(), multiprocessing.Queue()
    ends = multiprocessing.Value("d", float("inf"))
    process = multiprocessing.Process(target=write, args=(at, table, every, begins, ends, waits))
    process.start()
    begins.wait()
    try:
        begin, end, again = large(at, name, rows)
    except psycopg.Error:
        process.kill()
        raise
    # Writes due before the end are sent, however late: a wait at the end counts, too.
    ends.value = end
    while True:
        try:
            found, again_of_writer = waits.get(timeout=1)
            break
        except queue.Empty:
            if not process.is_alive():
                raise SystemExit(f"{name}: the writer to {table} failed") from None
    process.join()
    found = [(wait, served) for due, wait, served in found if begin <= due + wait and due <= end]
    during, served = sorted(wait for wait, _ in found), sorted(served for _, served in found)
    return {
        "statement": name,
        "writer": writer,
        "rows": rows,
        "statement_seconds": round(end - begin, 3),
        "statement_sent_again": again,
        "writes": len(during),
        "writer_sent_again": again_of_writer,
        "median_ms": round(1000 * percentile(during, 0.5), 3),
        "p99_ms": round(1000 * percentile(during, 0.99), 3),
        "p999_ms": round(1000 * percentile(during, 0.999), 3),
        "longest_ms": round(1000 * during[-1], 3),
        "served_p999_ms": round(1000 * percentile(served, 0.999), 3),
        "served_longest_ms": round(1000 * served[-1], 3),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--only", default=",".join(WORK))
    parser.add_argument("--writer", default="other,same")
    parser.add_argument("--engines", default="sardonyx,postgresql")
    parser.add_argument("--every", type=float, default=1.0)
    parser.add_argument("--postgresql", help="where a server runs already, with a database of this tool's own")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    directory = pathlib.Path(tempfile.mkdtemp(prefix="large_statements"))
    directory.chmod(0o755)
    results = []
    try:
        for engine in arguments.engines.split(","):
            is_there = engine == "postgresql" and arguments.postgresql
            running = None if is_there else ENGINES[engine](directory / engine)
            at = arguments.postgresql if is_there else dsn(running)
            try:
                for name in arguments.only.split(","):
                    for writer in arguments.writer.split(","):
                        if writer == "same" and name in OTHER_ONLY:
                            print(f"{name}: no writer to the same table, which is dropped", file=sys.stderr)
                            continue
                        result = measure(at, name, writer, arguments.rows, arguments.every / 1000)
                        result = {"engine": engine, **result}
                        results.append(result)
                        if not arguments.json:
                            print(" ".join(f"{key}={value}" for key, value in result.items()), flush=True)
            finally:
                if running:
                    running.end()
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    if arguments.json:
        json.dump(results, sys.stdout, indent=1)
        print()


if __name__ == "__main__":
    main()
