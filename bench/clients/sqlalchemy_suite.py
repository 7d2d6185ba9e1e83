#!/usr/bin/env python3
"""SQLAlchemy's dialect suite here and on PostgreSQL 15: which tests that pass there pass here, too.

    bench/clients/sqlalchemy_suite.py --source DIR [--drivers psycopg,asyncpg] [--select EXPRESSION] [--alone] [--reasons N] [--json]

DIR is SQLAlchemy's unpacked source distribution (`pip download --no-binary :all: --no-deps SQLAlchemy==2.0.58`), with pytest,
greenlet and the drivers installed. The suite runs unpatched (`test/dialect/test_suite.py`, with the requirements that SQLAlchemy
states of PostgreSQL), for each driver by a process and on new servers. As SQLAlchemy asks, a database has the schemas
`test_schema` and `test_schema_2`. A test counts if PostgreSQL passes it. Ends with 0 if each of those passes here, with 1 if one
does not, with 2 if PostgreSQL did not run the suite.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from compare import PostgreSQL, Sardonyx  # noqa: E402

DRIVERS = ("psycopg", "asyncpg")
SCHEMAS = ("test_schema", "test_schema_2")
REASON = re.compile(r"^E +((?:[\w.]+\.)?\w*(?:Error|Exception|NotSupported\w*|Undefined\w*|Violation)\b.*)$", re.MULTILINE)


def run(engine, driver, arguments, place):
    """The outcome of each test, the sentence of each failure, and the text that the run gave."""
    of = engine.environment
    for name in SCHEMAS:
        subprocess.run(["psql", "-qc", f"create schema {name}"], env=of, check=True)
    results = place / "results.xml"
    results.unlink(missing_ok=True)
    address = f"postgresql+{driver}://{of['PGUSER']}@{of['PGHOST']}:{of['PGPORT']}/{of['PGDATABASE']}"
    command = [sys.executable, "-m", "pytest", "test/dialect/test_suite.py", "--dburi", address, "-q", "-p", "no:cacheprovider", "-p", "no:randomly",
               "--maxfail", "1000000", f"--junitxml={results}", "--tb=short"]  # fmt: skip
    if arguments.select:
        command += ["-k", arguments.select]
    try:
        ran = subprocess.run(command, cwd=arguments.source.resolve(), capture_output=True, text=True, timeout=arguments.seconds)
        said = ran.stdout + ran.stderr
    except subprocess.TimeoutExpired as error:
        said = (error.stdout or b"").decode() + f"\nIt did not end within {arguments.seconds} s.\n"
    outcomes, reasons = {}, {}
    if results.exists():
        for case in xml.etree.ElementTree.parse(results).iter("testcase"):
            # The class's name ends with the driver's and the version of the server.
            name = f"{case.get('classname')}.{case.get('name')}"
            name = re.sub(r"_postgresql\+\w+_[\d_]+", "", name)
            bad = [part for part in case if part.tag in ("failure", "error")]
            outcomes[name] = "failed" if bad else "skipped" if case.find("skipped") is not None else "passed"
            if bad:
                text = bad[0].text or ""
                found = REASON.findall(text) or (bad[0].get("message") or "").splitlines()[:1]
                reasons[name] = found[-1][:200] if found else ""
    return outcomes, reasons, said


def kind(reason):
    """A reason without the names in it."""
    reason = re.sub(r"\(Background on this error.*", "", reason)
    return re.sub(r'"[^"]*"|\'[^\']*\'|\d{3,}', "…", reason)[:140]


def measured(driver, arguments):
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        place.chmod(0o755)
        ran = {}
        # The tables of Redis' keys would be among those that reflection finds.
        for name, engine, given in (("there", None if arguments.alone else PostgreSQL, []), ("here", Sardonyx, ["--redis", "off"])):
            if engine is None:
                continue
            server = engine(place / name, *given)
            try:
                ran[name] = run(server, driver, arguments, place)
            finally:
                server.end()
            if arguments.logs:
                arguments.logs.mkdir(parents=True, exist_ok=True)
                (arguments.logs / f"{driver}.{name}").write_text(ran[name][2])
    outcomes, reasons, _ = ran["here"]
    control = ran.get("there", ran["here"])[0]
    expected = {name for name, outcome in control.items() if outcome == "passed" or arguments.alone and outcome == "failed"}
    passed = {name for name, outcome in outcomes.items() if outcome == "passed"} & expected
    failed = {name: reasons.get(name, outcomes.get(name, "did not run")) for name in sorted(expected - passed)}
    return {
        "driver": driver, "passed": len(passed), "of": len(expected), "failed": failed,
        "reasons": collections.Counter(map(kind, failed.values())).most_common(arguments.reasons),
    }  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--drivers", default=",".join(DRIVERS), metavar="NAMES")
    parser.add_argument("--select", default="", help="pytest's -k")
    parser.add_argument("--alone", action="store_true", help="without PostgreSQL")
    parser.add_argument("--seconds", type=int, default=1800, help="after which a run is given up")
    parser.add_argument("--reasons", type=int, default=30)
    parser.add_argument("--logs", type=pathlib.Path, help="a directory for what the runs said")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    drivers = [name for name in arguments.drivers.split(",") if name]
    if unknown := set(drivers) - set(DRIVERS):
        parser.error(f"no such drivers: {', '.join(sorted(unknown))}")
    every = []
    for driver in drivers:
        one = measured(driver, arguments)
        every.append(one)
        if not arguments.json:
            print(f"{driver:<10}{one['passed']:>5} of {one['of']:>5} tests that PostgreSQL passes ({100 * one['passed'] / max(one['of'], 1):.1f} %)", flush=True)
            for name, reason in one["failed"].items():
                print(f"      {name}: {reason}")
            for reason, times in one["reasons"]:
                print(f"{times:>6} {reason}")
    if arguments.json:
        print(json.dumps({"drivers": every}))
    if not all(one["of"] for one in every):
        sys.exit(2)
    sys.exit(1 if any(one["failed"] for one in every) else 0)


if __name__ == "__main__":
    main()
