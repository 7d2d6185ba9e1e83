#!/usr/bin/env python3
"""Django's own test modules here and on PostgreSQL 15, and the tests that pass on both.

    bench/clients/django_suite.py --source DIR [--only NAME,NAME] [--alone] [--reasons N] [--json]

DIR is Django's unpacked source distribution (`pip download --no-binary :all: --no-deps Django==5.2.8`), with Django of that
release, psycopg and sqlparse installed. The tests run unpatched, each module by a process. A server of Sardonyx has one
database, so Django's two are two servers, and `--keepdb` takes them as they are; each module gets new ones. A test counts if
PostgreSQL passes it. So it is an error if a module's tests do not run to their end on PostgreSQL. The list of modules must
not shrink. Ends with 0 if no module fails to make its tables, with 2 if PostgreSQL did not run one.
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

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from compare import PostgreSQL, Sardonyx  # noqa: E402

MODULES = """
basic queries aggregation aggregation_regress annotations expressions expressions_case expressions_window lookup ordering
many_to_one many_to_many one_to_one model_fields constraints indexes schema migrations transactions select_for_update
bulk_create update delete db_functions datetimes postgres_tests get_or_create introspection
""".split()

SETTINGS = """
DATABASES = {databases}
SECRET_KEY = "tests"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
USE_TZ = False
TIME_ZONE = {zone!r}
"""
LINE = re.compile(r"^(\w+ \([\w.]+\)).*?\.\.\. ?(.*)$")
ENDED = re.compile(r"(ok|FAIL|ERROR|skipped.*|expected failure|unexpected success)$")
SUBJECT = re.compile(r"^(?:ERROR|FAIL): (\w+ \([\w.]+\))", re.MULTILINE)


def database(engine, name):
    of = engine.environment
    # A name that is there is taken with --keepdb.
    return {
        "ENGINE": "django.db.backends.postgresql", "NAME": of["PGDATABASE"], "USER": of["PGUSER"], "HOST": of["PGHOST"],
        "PORT": of["PGPORT"], "TEST": {"NAME": name},
    }


def run(module, source, databases, seconds, zone, options):
    """The tests that passed, those that were skipped, and the text that the run gave."""
    with tempfile.TemporaryDirectory() as place:
        settings = pathlib.Path(place) / "engine_settings.py"
        settings.write_text(SETTINGS.format(databases=repr(databases), zone=zone))
        command = [sys.executable, "runtests.py", "--settings=engine_settings", "--parallel=1", "--noinput", "-v", "2", *options, module]
        environment = dict(os.environ, PYTHONPATH=f"{place}{os.pathsep}{source}", PYTHONWARNINGS="ignore")
        try:
            ran = subprocess.run(command, cwd=source / "tests", env=environment, capture_output=True, text=True, timeout=seconds)
            said = ran.stderr + ran.stdout
        except subprocess.TimeoutExpired as error:
            said = (error.stderr or b"").decode() + f"\nIt did not end within {seconds} s.\n"
    passed, skipped, name = set(), set(), None
    for line in said.splitlines():
        if found := LINE.match(line):
            name = found[1]
        elif re.match(r"^\w+ \([\w.]+\)$", line):
            # The next line names the test's subject.
            name = line
        if name and (ended := ENDED.search(line)):
            if ended[1] == "ok":
                passed.add(name)
            elif ended[1].startswith("skipped"):
                skipped.add(name)
            name = None
    return passed, skipped, said


def ended(said):
    """True if the tests of a module ran to their end."""
    return re.search(r"^Ran \d+ tests? in ", said, re.MULTILINE) is not None


def reasons(said):
    """The last sentence of each failure's traceback."""
    found = []
    for block in re.split(r"={60,}\n", said)[1:]:
        lines = [line for line in block.split("-" * 70)[1].splitlines() if re.match(r"^[\w.]+(Error|Exception|NotFound|Feature\w+|Exists)\b", line)] if "-" * 70 in block else []
        if lines:
            found.append(lines[-1][:160])
    return found


def measured(module, arguments):
    source = arguments.source.resolve()
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        place.chmod(0o755)
        control = None
        if not arguments.alone:
            engine = PostgreSQL(place / "postgresql")
            try:
                control = run(module, source, {"default": database(engine, "test_one"), "other": database(engine, "test_other")}, arguments.seconds, arguments.zone, [])
            finally:
                engine.end()
        engines = [Sardonyx(place / "one"), Sardonyx(place / "other")]
        try:
            named = dict(zip(("default", "other"), (database(engine, "sardonyx") for engine in engines)))
            ours = run(module, source, named, arguments.seconds, arguments.zone, ["--keepdb"])
        finally:
            for engine in engines:
                engine.end()
    if arguments.logs:
        arguments.logs.mkdir(parents=True, exist_ok=True)
        (arguments.logs / f"{module}.here").write_text(ours[2])
        if control:
            (arguments.logs / f"{module}.there").write_text(control[2])
    expected = control[0] if control else set(SUBJECT.findall(ours[2])) | ours[0]
    # Without tests of PostgreSQL's there is nothing to compare with.
    has_control = control is None or ended(control[2]) and len(control[0]) > 0
    return {
        "module": module, "passed": len(ours[0] & expected), "of": len(expected), "has_tables": ended(ours[2]), "has_control": has_control,
        "reasons": collections.Counter(reasons(ours[2])), "failed": sorted(expected - ours[0]),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="", metavar="NAMES")
    parser.add_argument("--alone", action="store_true", help="without PostgreSQL")
    parser.add_argument("--seconds", type=int, default=900, help="after which a module is given up")
    parser.add_argument("--zone", default="UTC", help="TIME_ZONE of the settings, for both")
    parser.add_argument("--reasons", type=int, default=30)
    parser.add_argument("--logs", type=pathlib.Path, help="a directory for what the modules said")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    modules = [name for name in arguments.only.split(",") if name] or MODULES
    every, total = [], collections.Counter()
    for module in modules:
        one = measured(module, arguments)
        every.append(one)
        total.update(one["reasons"])
        if not arguments.json:
            share = 100 * one["passed"] / max(one["of"], 1)
            lacks = [what for what, key in (("no tables", "has_tables"), ("PostgreSQL did not run it", "has_control")) if not one[key]]
            print(f"{one['module']:<24}{one['passed']:>5} of {one['of']:>5} {share:6.1f} %  {', '.join(lacks)}".rstrip(), flush=True)
            for reason, times in one["reasons"].most_common(5):
                print(f"      {times:>4} {reason}", flush=True)
    passed, count = (sum(one[key] for one in every) for key in ("passed", "of"))
    if arguments.json:
        print(json.dumps({"modules": every, "passed": passed, "of": count, "reasons": total.most_common(arguments.reasons)}))
    else:
        print(f"{passed} of {count} tests that PostgreSQL passes ({100 * passed / max(count, 1):.1f} %)")
        for reason, times in total.most_common(arguments.reasons):
            print(f"{times:>6} {reason}")
    if not all(one["has_control"] for one in every):
        sys.exit(2)
    sys.exit(0 if all(one["has_tables"] for one in every) else 1)


if __name__ == "__main__":
    main()
