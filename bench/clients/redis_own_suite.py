#!/usr/bin/env python3
"""Redis' own test suite on Sardonyx and on a Redis: by unit, the share of Redis' passing tests that pass here.

    bench/clients/redis_own_suite.py SOURCE [--only UNIT,UNIT] [--alone CONTROL.json] [--seconds N] [--json FILE]

SOURCE is the unpacked source of a Redis (Debian's: `apt-get source redis`), of the version of the `redis-server` that is
installed. All units run one after the other, each on a new server that the suite did not start (`--host`, `--port`). So tests
of replicas, of DEBUG, of configuration at the start, and slow ones are left out. The suite is copied and
two places of its harness are changed: a setting or `FUNCTION FLUSH` that is refused before a unit ends no unit. A unit that takes
longer than --seconds is ended; its tests that did not run count as failures. --alone takes the control from the file that an
earlier run wrote. Needed: `redis-server`, `tclsh`. SARDONYX is the command, as in run.py, with the feature `lua`. Ends with 0 if
the share is at least 90 %.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from redis_suites import Redis
from run import Server, program

SHARE = 90
TAGS = "-needs:repl -needs:debug -slow"
# A line of the suite's report: its colour, and what became of a test.
LINE = re.compile(r"^\[(?:\x1b\[[0-9;]*m)?(ok|err|exception|ignore|skip|TIMEOUT)(?:\x1b\[0m)?\]: (.*)$")
# Places of the harness that end a unit at a command that is refused.
PATCHES = {
    "tests/support/server.tcl": [
        ("    r function flush\n", "    catch {r function flush}\n"),
        ("        r config set $param $val\n\n        # If we", "        catch {r config set $param $val}\n\n        # If we"),
        ("        r config set $param $val\n    }\n\n    set srv", "        catch {r config set $param $val}\n    }\n\n    set srv"),
    ],
}


def patched(source, directory):
    """A copy of the suite whose harness goes on."""
    copy = directory / "suite"
    shutil.copytree(source / "tests", copy / "tests")
    # The harness looks for programs that it does not start here.
    (copy / "src").mkdir()
    for name, changes in PATCHES.items():
        text = (copy / name).read_text()
        for before, after in changes:
            if before not in text:
                sys.exit(f"{name} of this Redis is another one: {before.strip()!r} is not in it")
            text = text.replace(before, after)
        (copy / name).write_text(text)
    return copy


def units(suite):
    text = (suite / "tests/test_helper.tcl").read_text()
    return re.search(r"set ::all_tests \{(.*?)\}", text, re.S)[1].split()


def results(suite, unit, server, seconds):
    """By name how often a test of a unit passed and failed, and why."""
    host, port = server.address("redis")
    command = ["tclsh", "tests/test_helper.tcl", "--single", unit, "--host", host, "--port", port, "--durable"]
    command += ["--ignore-encoding", "--tags", TAGS, "--timeout", str(seconds)]
    try:
        ran = subprocess.run(command, cwd=suite, capture_output=True, timeout=seconds + 30)
        output = ran.stdout
    except subprocess.TimeoutExpired as error:
        output = error.stdout or b""
    passed, failed, errors, current = collections.Counter(), collections.Counter(), {}, None
    for line in output.decode(errors="replace").splitlines():
        if found := LINE.match(line):
            kind, text = found[1], found[2]
            current = None
            if kind == "ok":
                passed[re.sub(r" \(\d+ ms\)$", "", text)] += 1
            elif kind in ("err", "exception", "TIMEOUT"):
                name = re.sub(r" in tests/\S+\.tcl$", "", text)
                failed[name] += 1
                current = errors.setdefault(name, [])
        elif line.startswith("===== End of") or "The End" in line:
            current = None
        elif current is not None and len(current) < 12:
            current.append(line)
    return passed, failed, {name: "\n".join(lines) for name, lines in errors.items()}


def row(unit, here, there):
    passed, failed, errors = here
    wanted = collections.Counter(there)
    of_these = wanted & passed
    missing = wanted - passed
    return {
        "unit": unit,
        "on Redis": sum(wanted.values()),
        "of these": sum(of_these.values()),
        "failures": {name: errors.get(name, "did not run") for name in sorted(missing)},
        "ended": [f"{name}: {text}" for name, text in errors.items() if name not in wanted],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--alone", type=pathlib.Path)
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--control", type=pathlib.Path, help="only run Redis, and write what passes")
    arguments = parser.parse_args()
    for name, package in (("tclsh", "tcl"), ("redis-server", "redis-server")):
        if missing := program(name, package):
            sys.exit(missing)
    control = json.loads(arguments.alone.read_text()) if arguments.alone else {}
    rows = []
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        suite = patched(arguments.source, directory)
        wanted = arguments.only.split(",") if arguments.only else units(suite)
        for unit in wanted:
            if unit not in control:
                server = Redis(directory)
                try:
                    control[unit] = results(suite, unit, server, arguments.seconds)[0]
                finally:
                    server.end()
                print(f"{unit}: {sum(control[unit].values())} on Redis", file=sys.stderr, flush=True)
            if arguments.control or not control[unit]:
                continue
            server = Server(directory / "keys.sdx")
            try:
                here = results(suite, unit, server, arguments.seconds)
            finally:
                server.kill()
                shutil.rmtree(directory / "keys.sdx", ignore_errors=True)
            rows.append(row(unit, here, control[unit]))
            print(f"{unit}: {rows[-1]['of these']} of {rows[-1]['on Redis']}", file=sys.stderr, flush=True)
            if arguments.json:
                arguments.json.write_text(json.dumps(rows, indent=1))
    if arguments.control:
        arguments.control.write_text(json.dumps(control, indent=1))
        return
    for line in rows:
        for name, text in line["failures"].items():
            print(f"failed: {line['unit']}: {name}\n    " + text.replace("\n", "\n    "))
        for text in line["ended"]:
            print(f"ended: {line['unit']}: {text}")
    for line in rows:
        print(f"{line['unit']:28} {line['on Redis']:5} {line['of these']:5}")
    there, here = (sum(line[name] for line in rows) for name in ("on Redis", "of these"))
    share = 100 * here / max(there, 1)
    print(f"{'all':28} {there:5} {here:5}   {share:.1f} %")
    sys.exit(share < SHARE)


if __name__ == "__main__":
    main()
