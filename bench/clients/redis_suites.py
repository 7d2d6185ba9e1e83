#!/usr/bin/env python3
"""The tests of redis-py, a Python client, on Sardonyx and on a Redis: by file, the share of Redis' passing tests that pass here.

    bench/clients/redis_suites.py SUITE [--alone] [--only FILE,FILE] [--protocol 2|3] [--json]

SUITE is a checkout of redis-py (https://github.com/redis/redis-py), whose tests are run as they are, file by file: those of
commands, pipelines, transactions, locks, connections, encodings, each synchronous and asynchronous. Not run are clusters,
sentinels, modules, TLS, publishing, streams' consumers and what needs several servers. A test that fails because it asks for
something unsupported (see ABSENT; docs/redis.md lists them) counts as that, not as a failure. A test that is skipped here, since
the server reports another version, counts as neither. With --alone there is no Redis. Needed: `redis-server`, and for this
Python `pip install SUITE pytest pytest-asyncio pytest-timeout`, with what the suite's dev_requirements.txt names besides.
SARDONYX is the command, as in run.py. Ends with 0 if nothing fails that passes on Redis.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

from run import Server, program

TEST_SECONDS = 20
FILES = [
    "test_commands.py",
    "test_pipeline.py",
    "test_lock.py",
    "test_encoding.py",
    "test_connection.py",
    "test_connection_pool.py",
    "test_command_parser.py",
    "test_multiprocessing.py",
    "test_retry.py",
    "test_client.py",
    "test_function.py",
    "test_asyncio/test_commands.py",
    "test_asyncio/test_pipeline.py",
    "test_asyncio/test_lock.py",
    "test_asyncio/test_encoding.py",
    "test_asyncio/test_connection.py",
    "test_asyncio/test_connection_pool.py",
    "test_asyncio/test_command_parser.py",
    "test_asyncio/test_retry.py",
    "test_asyncio/test_cwe_404.py",
]
MARKS = "not onlycluster and not redismod and not ssl and not replica and not cp_integration"
# Answers to commands and options that are not supported.
ABSENT = re.compile(
    r"unknown command|unknown subcommand|DB index is out of range|can't set immutable config|DEBUG command not allowed"
    r"|functions are registered by the program|Invalid command specified|command doesn't exist in Redis commands|KeyError: 'slowlog-"
)
OUTCOMES = ("passed", "failed", "not there", "skipped")


class Redis:
    """A Redis of its own, with nothing in it and nothing kept."""

    def __init__(self, directory):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        command = ["redis-server", "--port", str(self.port), "--save", "", "--dir", str(directory), "--enable-debug-command", "yes"]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except ConnectionRefusedError:
                if self.process.poll() is not None:
                    sys.exit("the Redis did not start")
                time.sleep(0.05)

    def address(self, _):
        return "127.0.0.1", str(self.port)

    def end(self):
        self.process.terminate()
        self.process.wait(timeout=60)


def outcome(case):
    """The outcome of a test: one of OUTCOMES."""
    wrong = [part for part in case if part.tag in ("failure", "error")]
    if wrong:
        text = "".join((part.get("message") or "") + (part.text or "") for part in wrong)
        return "not there" if ABSENT.search(text) else "failed"
    return "skipped" if case.find("skipped") is not None else "passed"


def results(suite, file, server, protocol, directory):
    """The outcomes of a file's tests, by name."""
    host, port = server.address("redis")
    report = directory / "report.xml"
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", f"tests/{file}", "-q", "-p", "no:cacheprovider", "--tb=native", "-m", MARKS]
    command += [f"--redis-url=redis://{host}:{port}/0", f"--junitxml={report}", f"--timeout={TEST_SECONDS}"]
    command += [f"--protocol={protocol}"] if protocol else []
    ran = subprocess.run(command, cwd=suite, capture_output=True, text=True, env=dict(os.environ, PYTHONDONTWRITEBYTECODE="1"))
    if not report.exists():
        sys.exit(f"{file}: the tests did not run\n{ran.stdout}{ran.stderr}")
    found = {}
    for case in xml.etree.ElementTree.parse(report).iter("testcase"):
        # A test whose end fails is there twice.
        name = f"{(case.get('classname') or '').rpartition('.')[2]}::{case.get('name')}"
        found[name] = min(outcome(case), found.get(name, "skipped"), key=("failed", "not there", "passed", "skipped").index)
    return found


def share(passed, failed):
    """In percent, of the tests that were run and asked for nothing that is not there."""
    return round(100 * passed / (passed + failed), 1) if passed + failed else None


def row(file, here, there):
    counts = collections.Counter(here.values())
    line = {"file": file} | {name: counts[name] for name in OUTCOMES}
    if there is not None:
        passing = [name for name, became in there.items() if became == "passed"]
        by_outcome = collections.Counter(here.get(name, "skipped") for name in passing)
        line |= {"on Redis": len(passing), "of these": by_outcome["passed"], "not there of these": by_outcome["not there"]}
        line["failures"] = sorted(name for name in passing if here.get(name) == "failed")
        line["share"] = share(by_outcome["passed"], by_outcome["failed"])
    else:
        line["failures"] = sorted(name for name, became in here.items() if became == "failed")
    return line


def shown(rows):
    columns = [name for name in rows[0] if name != "failures"]
    cells = [columns] + [["-" if line[name] is None else str(line[name]) for name in columns] for line in rows]
    widths = [max(len(line[at]) for line in cells) for at in range(len(columns))]
    for line in cells:
        print("  ".join([line[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(line[1:], widths[1:])]))
    for line in rows:
        for name in line["failures"]:
            print(f"failed: {line['file']} {name}")


def total(rows):
    line = {name: sum(one[name] or 0 for one in rows) for name in rows[0] if name not in ("file", "share", "failures")}
    if "on Redis" in line:
        line["share"] = share(line["of these"], sum(len(one["failures"]) for one in rows))
    return {"file": "all"} | line | {"failures": []}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("suite", type=pathlib.Path)
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--protocol", choices=["2", "3"])
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    missing = None if arguments.alone else program("redis-server", "redis-server")
    if missing:
        sys.exit(missing)
    files = arguments.only.split(",") if arguments.only else FILES
    rows = []
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        for file in [file for file in files if (arguments.suite / "tests" / file).exists()]:
            both = []
            for make in [lambda: Server(directory / "keys.sdx")] + ([] if arguments.alone else [lambda: Redis(directory)]):
                server = make()
                try:
                    both.append(results(arguments.suite, file, server, arguments.protocol, directory))
                finally:
                    server.end()
                    shutil.rmtree(directory / "keys.sdx", ignore_errors=True)
            here, there = both + [None] * (2 - len(both))
            rows.append(row(file, here, there))
            if not arguments.json:
                print(f"{file}: {len(here)} tests", file=sys.stderr)
    rows.append(total(rows))
    print(json.dumps(rows, indent=1)) if arguments.json else shown(rows)
    sys.exit(any(line["failures"] for line in rows))


if __name__ == "__main__":
    main()
