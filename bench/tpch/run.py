#!/usr/bin/env python3
"""The 22 queries of TPC-H against a server of Sardonyx, each answer compared row by row.

    bench/tpch/run.py [--scale 0.1] [--rounds 3] [--data DIRECTORY] [--payments SECONDS] [--json]

SARDONYX is the command. The peer is PostgreSQL 15 (its `initdb` beside `bench/clients/compare.py`'s), which says what is
right; DuckDB, in the process, is measured, too, where it is installed. The same rows are loaded into each: made by
`tpchgen-cli` (`pip install tpchgen-cli`) unless --data says where `*.tbl` are. Sardonyx and PostgreSQL have the same two
indexes besides the primary keys. Needed: `pip install psycopg[binary]`.

With --payments, pgbench's debit-credit procedure runs (32 clients): in turn alone, and while the 22 queries run in a loop at
another connection. Three pairs of --payments seconds each; the loss is the median of the pairs.

Ends with 0 if all answers are the same.
"""

import argparse
import datetime
import decimal
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "clients"))

from compare import PostgreSQL, Sardonyx, dsn, pgbench  # noqa: E402
from written import Counter  # noqa: E402

TABLES = ["region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem"]
CLIENTS = HERE.parent / "clients"
# Without them some queries take minutes in PostgreSQL.
INDEXES = ["create index on lineitem (l_partkey, l_suppkey)", "create index on orders (o_custkey)"]


def queries(scale):
    texts = re.split(r"^-- (\d+)\n", (HERE / "queries.sql").read_text(), flags=re.M)[1:]
    # The specification: 0.0001 divided by the scale.
    fraction = format(decimal.Decimal("0.0001") / decimal.Decimal(str(scale)), "f")
    return {
        int(number): text.strip().rstrip(";").replace(":fraction", fraction)
        for number, text in zip(texts[::2], texts[1::2])
    }


def made(scale, place):
    directory = place / "data"
    subprocess.run(["tpchgen-cli", "-s", str(scale), "-o", str(directory)], check=True, stdout=subprocess.DEVNULL)
    return directory


def load(engine, data):
    import psycopg

    with psycopg.connect(dsn(engine), autocommit=True) as connection:
        for statement in (HERE / "schema.sql").read_text().split(";\n"):
            if statement.strip():
                connection.execute(statement)
        for table in TABLES:
            with connection.cursor() as cursor, open(data / f"{table}.tbl", "rb") as rows:
                with cursor.copy(f"copy {table} from stdin with (delimiter '|')") as copy:
                    for row in rows:
                        # Without the separator behind the last column.
                        copy.write(row[:-2] + b"\n")
        for statement in INDEXES:
            connection.execute(statement)
        connection.execute("analyze")


def load_duckdb(data):
    import duckdb

    connection = duckdb.connect()
    connection.execute((HERE / "schema.sql").read_text())
    for table in TABLES:
        # No column follows the last separator.
        columns = [row[0] for row in connection.execute(f"select column_name from information_schema.columns where table_name = '{table}' order by ordinal_position").fetchall()]
        names = [f"column{place:02}" if len(columns) >= 10 else f"column{place}" for place in range(len(columns))]
        connection.execute(
            f"insert into {table} select {', '.join(names)} from read_csv('{data}/{table}.tbl', delim='|', header=false, all_varchar=true, quote='')"
        )
    return connection


def same(ours, theirs):
    if isinstance(ours, (int, float, decimal.Decimal)) and not isinstance(ours, bool):
        if theirs is None:
            return False
        difference = abs(decimal.Decimal(ours) - decimal.Decimal(theirs))
        # A quotient has 16 digits behind the point here, 16 significant ones there.
        return difference <= decimal.Decimal("1e-9") * max(1, abs(decimal.Decimal(ours)))
    if isinstance(ours, str):
        return isinstance(theirs, str) and ours.rstrip() == theirs.rstrip()
    if isinstance(ours, datetime.datetime) != isinstance(theirs, datetime.datetime):
        return str(ours)[:10] == str(theirs)[:10]
    return ours == theirs


def difference(ours, theirs):
    """The first difference; None if there is none."""
    if len(ours) != len(theirs):
        return f"{len(ours)} rows, not {len(theirs)}"
    for number, (one, other) in enumerate(zip(ours, theirs), 1):
        if len(one) != len(other) or not all(map(same, one, other)):
            return f"row {number}: {one}, not {other}"
    return None


def timed(ask, text, rounds):
    taken = []
    for _ in range(rounds):
        started = time.monotonic()
        rows = ask(text)
        taken.append(time.monotonic() - started)
    return rows, statistics.median(taken)


def lost(engine, texts, seconds, counter):
    """The rates of payments alone and beside the queries, in turn, and how often these ran."""
    import psycopg

    subprocess.run(["pgbench", "-i", "-q", "-s", "1"], env=engine.environment, check=True, capture_output=True)
    with open(CLIENTS / "tpcb_procedure.sql") as procedure:
        subprocess.run(["psql", "-Xq", "-v", "ON_ERROR_STOP=1"], env=engine.environment, stdin=procedure, check=True)
    options = ["-c", 32, "-j", 2, "-T", seconds, "-D", "scale=1", "-M", "prepared", "-f", CLIENTS / "tpcb_call.sql"]
    pairs, runs = [], 0
    for _ in range(3):
        alone = pgbench(engine, options, counter).rate
        ends = threading.Event()
        count, failed = [0], []

        def loop():
            try:
                ask_all()
            except Exception as error:
                failed.append(error)

        def ask_all():
            with psycopg.connect(dsn(engine), autocommit=True) as connection:
                while not ends.is_set():
                    for text in texts.values():
                        connection.execute(text).fetchall()
                        count[0] += 1
                        if ends.is_set():
                            break

        reader = threading.Thread(target=loop)
        reader.start()
        beside = pgbench(engine, options, counter).rate
        ends.set()
        reader.join()
        if failed:
            raise failed[0]
        if count[0] == 0:
            sys.exit(f"no query ended within {seconds} s: the payments ran alone")
        pairs.append((alone, beside))
        runs += count[0]
    return pairs, runs


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--scale", default="0.1")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--data", type=pathlib.Path, default=None)
    parser.add_argument("--payments", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    import psycopg

    texts, good, results, payments = queries(arguments.scale), True, [], None
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o755)
        place = pathlib.Path(place)
        data = arguments.data or made(arguments.scale, place)
        engines = {}
        try:
            engines["Sardonyx"] = Sardonyx(place / "tpch.sdx")
            engines["PostgreSQL"] = PostgreSQL(place / "postgresql")
            for name, engine in engines.items():
                started = time.monotonic()
                load(engine, data)
                print(f"{name}: loaded in {time.monotonic() - started:.1f} s", file=sys.stderr)
            ours, theirs = (psycopg.connect(dsn(engine), autocommit=True) for engine in engines.values())
            try:
                duckdb = load_duckdb(data)
            except ImportError:
                duckdb = None
            for number, text in texts.items():
                answer, taken = timed(lambda text: ours.execute(text).fetchall(), text, arguments.rounds)
                right, took = timed(lambda text: theirs.execute(text).fetchall(), text, arguments.rounds)
                wrong = difference(answer, right)
                row = {"query": number, "rows": len(right), "sardonyx_ms": taken * 1e3, "postgresql_ms": took * 1e3}
                if duckdb:
                    other, took = timed(lambda text: duckdb.execute(text).fetchall(), text, arguments.rounds)
                    row |= {"duckdb_ms": took * 1e3, "duckdb": difference(other, right) or "same"}
                row["answer"] = wrong or "right"
                good &= wrong is None
                results.append(row)
                print(row, file=sys.stderr)
            theirs.close()
            engines.pop("PostgreSQL").end()
            if arguments.payments:
                pairs, runs = lost(engines["Sardonyx"], texts, arguments.payments, Counter(place))
                payments = {
                    "pairs": pairs,
                    "queries": runs,
                    "lost_percent": statistics.median((1 - beside / alone) * 100 for alone, beside in pairs),
                }
            ours.close()
        finally:
            for engine in engines.values():
                engine.end()
    total = {key: sum(row.get(key, 0) for row in results) for key in ("sardonyx_ms", "postgresql_ms", "duckdb_ms")}
    if arguments.json:
        print(json.dumps({"scale": arguments.scale, "queries": results, "total": total, "payments": payments}, indent=1))
    else:
        print(f"{'query':>5} {'rows':>5} {'Sardonyx ms':>12} {'PostgreSQL ms':>14} {'DuckDB ms':>10}  answer")
        for row in results:
            print(
                f"{row['query']:>5} {row['rows']:>5} {row['sardonyx_ms']:>12.1f} {row['postgresql_ms']:>14.1f} "
                f"{row.get('duckdb_ms', 0):>10.1f}  {row['answer']}"
            )
        print(f"{'all':>5} {'':>5} {total['sardonyx_ms']:>12.1f} {total['postgresql_ms']:>14.1f} {total['duckdb_ms']:>10.1f}")
        if payments:
            print("payments a second, alone and beside:", ", ".join(f"{a:.0f} and {b:.0f}" for a, b in payments["pairs"]))
            print(f"lost: {payments['lost_percent']:.1f} % (median), while {payments['queries']} queries ran")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
