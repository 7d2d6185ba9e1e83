#!/usr/bin/env python3
"""pgbench against Sardonyx and PostgreSQL, in turn, in one run: the same work, each with durable replies.

    bench/clients/compare.py [--scale N] [--seconds N] [--rounds N] [--only NAME,NAME] [--awake idle|nice|none]
                             [--floor PROGRAM] [--json]

PostgreSQL runs with synchronous_commit on and its data beside Sardonyx's, with shared_buffers of a gigabyte. Runs alternate
between the engines, --rounds times, and so does the engine that begins a round. The medians are shown, with the least and the
most, and the median of the rounds' ratios. The four sums are compared after all runs of an engine. Processes of the scheduler's
idle class keep the processors from sleeping, so that both engines find the disk in the same state. `--awake nice`: one spinning
process at nice 19, which competes for processor time. `--awake none`: no such process.

Beside each rate is the processor time of the engine's processes for a transaction (`/proc/PID/stat`), and the bytes that the
disk wrote (`/proc/diskstats`). These include the writes of other programs, also a checkpoint of the other engine.

`--floor` runs pgbench also against a server that does nothing (`cargo build --release -p sardonyx-server --example
answers_at_once`): the most that any database can reach here.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

from pgbench_sums import sums
from run import Server
from written import Counter

HERE = pathlib.Path(__file__).resolve().parent
WORK = [
    # name, clients, the project's goal as a multiple of PostgreSQL's rate, pgbench's arguments
    ("simple by 1 client", 1, 1.2, ["-M", "simple"]),
    ("simple", 32, 5, ["-M", "simple"]),
    ("extended", 32, 5, ["-M", "extended"]),
    ("prepared by 1 client", 1, 1.2, ["-M", "prepared"]),
    ("prepared", 32, 5, ["-M", "prepared"]),
    ("pipelined", 32, 20, ["-M", "prepared", "-f", str(HERE / "tpcb_pipelined.sql")]),
    ("call", 32, 20, ["-M", "prepared", "-f", str(HERE / "tpcb_call.sql")]),
    ("select", 32, 2, ["-M", "prepared", "-S"]),
]


# Of each process that keeps the processors awake, how it is started.
AWAKE = {"idle": [["chrt", "-i", "0"]] * (os.cpu_count() or 1), "nice": [["nice", "-n", "19"]], "none": []}

# From this scale on Sardonyx is loaded in pieces, of so many rows.
PIECES_FROM, PIECE = 50, 250_000


def unused_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class PostgreSQL:
    """A server of PostgreSQL 15 in a directory of its own."""

    BIN = pathlib.Path("/usr/lib/postgresql/15/bin")

    def __init__(self, directory):
        self.directory = directory
        directory.mkdir()
        if os.getuid() == 0:
            shutil.chown(directory, "postgres", "postgres")
        self.run("initdb", "-D", str(directory / "data"), "-A", "trust", "-U", "tester", "--no-sync", "-E", "UTF8", "--locale=C.UTF-8")
        settings = "synchronous_commit=on shared_buffers=1GB max_wal_size=8GB fsync=on max_connections=200"
        options = " ".join(f"-c {one}" for one in settings.split())
        port = str(unused_port())
        options += f" -c listen_addresses=127.0.0.1 -c unix_socket_directories={directory} -p {port}"
        self.run("pg_ctl", "-D", str(directory / "data"), "-w", "-o", options, "-l", str(directory / "log"), "start")
        self.environment = dict(
            os.environ, PGHOST="127.0.0.1", PGPORT=port, PGUSER="tester", PGDATABASE="postgres"
        )

    def run(self, program, *arguments):
        command = [str(self.BIN / program), *arguments]
        if os.getuid() == 0:
            command = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", *command]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=self.directory)

    def processes(self):
        first = int((self.directory / "data" / "postmaster.pid").read_text().split()[0])
        living = subprocess.run(["pgrep", "-P", str(first)], capture_output=True, text=True).stdout.split()
        return [first, *living]

    def ticks(self):
        first, *living = self.processes()
        # A backend that ended has left its time to the process that began it.
        return ticks(first, with_ended=True) + sum(ticks(one) for one in living)

    def end(self):
        self.run("pg_ctl", "-D", str(self.directory / "data"), "-w", "-m", "fast", "stop")


def ticks(process, with_ended=False):
    """The processor time of a process in the kernel's ticks, if asked with that of its children that have ended."""
    try:
        stat = pathlib.Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:
        return 0
    # Behind the name in parentheses the third field comes first.
    fields = stat.rpartition(")")[2].split()
    return sum(map(int, fields[11 : 15 if with_ended else 13]))


class Nothing:
    """A server that answers at once, whatever it is asked."""

    def __init__(self, program):
        self.process = subprocess.Popen([program, "127.0.0.1:0"], stdout=subprocess.PIPE, text=True)
        host, _, port = self.process.stdout.readline().strip().rpartition(":")
        self.environment = dict(os.environ, PGHOST=host, PGPORT=port, PGUSER="tester", PGDATABASE="none", PGSSLMODE="disable")

    def processes(self):
        return [self.process.pid]

    def ticks(self):
        return ticks(self.process.pid)

    def end(self):
        self.process.kill()
        self.process.wait()


class Sardonyx:
    """Sardonyx' server."""

    def __init__(self, directory, *arguments):
        self.server = Server(directory, *arguments)
        host, port = self.server.address("postgres")
        self.environment = dict(os.environ, PGHOST=host, PGPORT=port, PGUSER="tester", PGDATABASE="bank")

    def processes(self):
        return [self.server.process.pid]

    def ticks(self):
        return ticks(self.server.process.pid)

    def end(self):
        self.server.end()


def dsn(engine):
    of = engine.environment
    return f"host={of['PGHOST']} port={of['PGPORT']} user={of['PGUSER']} dbname={of['PGDATABASE']}"


class Measured(NamedTuple):
    """A run of pgbench: its rate, and of each transaction the engine's processor time and the bytes written."""

    rate: float
    processor_microseconds: float
    written_bytes: float


def pgbench(engine, arguments, counter):
    command = ["pgbench", "-n", "--max-tries=1000", *map(str, arguments)]
    before, begun = engine.ticks(), counter.read(engine.processes())
    ran = subprocess.run(command, env=engine.environment, capture_output=True, text=True)
    spent = (engine.ticks() - before) / os.sysconf("SC_CLK_TCK")
    written = counter.read(engine.processes()) - begun
    rate = re.search(r"tps = ([0-9.]+)", ran.stdout)
    done = re.search(r"number of transactions actually processed: (\d+)", ran.stdout)
    failed = re.search(r"number of failed transactions: (\d+)", ran.stdout)
    if ran.returncode or not rate or not done or (failed and failed[1] != "0"):
        sys.exit(f"{' '.join(command)}\n{ran.stdout}{ran.stderr}")
    transactions = max(int(done[1]), 1)
    return Measured(float(rate[1]), spent * 1e6 / transactions, written / transactions)


def load(name, engine, scale):
    """Loads pgbench's tables. Much is loaded into Sardonyx in pieces: a transaction is at most as large as its log."""
    if name == "PostgreSQL" or scale < PIECES_FROM:
        command = ["pgbench", "-i", "-q", "-s", str(scale)]
        subprocess.run(command, env=engine.environment, check=True, capture_output=True)
        return
    texts = [
        "CREATE TABLE pgbench_branches (bid int PRIMARY KEY, bbalance int, filler char(88))",
        "CREATE TABLE pgbench_tellers (tid int PRIMARY KEY, bid int, tbalance int, filler char(84))",
        "CREATE TABLE pgbench_accounts (aid int PRIMARY KEY, bid int, abalance int, filler char(84))",
        "CREATE TABLE pgbench_history (tid int, bid int, aid int, delta int, mtime timestamp, filler char(22))",
        f"INSERT INTO pgbench_branches SELECT g, 0, '' FROM generate_series(1, {scale}) AS t(g)",
        f"INSERT INTO pgbench_tellers SELECT g, (g - 1) / 10 + 1, 0, '' FROM generate_series(1, {10 * scale}) AS t(g)",
    ]
    for first in range(1, 100_000 * scale, PIECE):
        last = min(first + PIECE - 1, 100_000 * scale)
        texts.append(
            "INSERT INTO pgbench_accounts SELECT g, (g - 1) / 100000 + 1, 0, ''"
            f" FROM generate_series({first}, {last}) AS t(g)"
        )
    for text in texts:
        subprocess.run(["psql", "-Xq", "-v", "ON_ERROR_STOP=1", "-c", text], env=engine.environment, check=True)


def medians(of):
    """The median of each list, under its name: what the tables of the documents show."""
    return {name: statistics.median(values) for name, values in of.items()}


def goal_of(ratio, goal):
    """The goal, and if the ratio reaches it."""
    return f"{goal:g}, {'reached' if ratio >= goal else 'missed'}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--scale", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument("--directory", default=None, help="on the disk that is to be measured")
    parser.add_argument("--awake", choices=AWAKE, default="idle", help="what keeps the processors from sleeping")
    parser.add_argument("--floor", metavar="PROGRAM", help="a server that does nothing, to run beside")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    only = [name.strip() for name in arguments.only.split(",") if name.strip()]
    spinners = [subprocess.Popen([*before, sys.executable, "-c", "while True: pass"]) for before in AWAKE[arguments.awake]]
    results, good = [], True
    with tempfile.TemporaryDirectory(dir=arguments.directory) as place:
        os.chmod(place, 0o755)
        place = pathlib.Path(place)
        counter = Counter(place)
        engines = {}
        try:
            engines["Sardonyx"] = Sardonyx(place / "bank.sdx")
            engines["PostgreSQL"] = PostgreSQL(place / "postgresql")
            for name, engine in engines.items():
                started = time.monotonic()
                load(name, engine, arguments.scale)
                print(f"{name}: loading scale {arguments.scale} took {time.monotonic() - started:.1f} s", file=sys.stderr)
                with open(HERE / "tpcb_procedure.sql") as procedure:
                    subprocess.run(["psql", "-Xq", "-v", "ON_ERROR_STOP=1"], env=engine.environment, stdin=procedure, check=True)
            loaded = list(engines)
            if arguments.floor:
                engines["nothing"] = Nothing(arguments.floor)
            for name, clients, goal, options in WORK:
                if only and name not in only:
                    continue
                rates = {engine: [] for engine in engines}
                processor = {engine: [] for engine in engines}
                device = {engine: [] for engine in engines}
                for number in range(arguments.rounds):
                    for engine in engines if number % 2 == 0 else reversed(engines):
                        threads = min(clients, 2)
                        told = ["-c", clients, "-j", threads, "-T", arguments.seconds, "-D", f"scale={arguments.scale}", *options]
                        measured = pgbench(engines[engine], told, counter)
                        rates[engine].append(measured.rate)
                        processor[engine].append(measured.processor_microseconds)
                        device[engine].append(measured.written_bytes)
                ratios = [ours / theirs for ours, theirs in zip(rates["Sardonyx"], rates["PostgreSQL"])]
                ratio = statistics.median(ratios)
                results.append(
                    {
                        "work": name,
                        "clients": clients,
                        "goal": goal_of(ratio, goal),
                        "rates": rates,
                        "processor_microseconds": processor,
                        "written_bytes": device,
                        "ratio": ratio,
                        "median_rates": medians(rates),
                        "least_rates": {engine: min(values) for engine, values in rates.items()},
                        "most_rates": {engine: max(values) for engine, values in rates.items()},
                        "median_microseconds": medians(processor),
                        "median_bytes": medians(device),
                    }
                )
                print(f"{name}: {ratio:.2f} x, goal {goal_of(ratio, goal)}", file=sys.stderr)
            for name in loaded:
                told = sums(engines[name].environment)
                if len(set(told)) != 1:
                    good = False
                    print(f"{name}: the four sums differ: {told}", file=sys.stderr)
        finally:
            for spinner in spinners:
                spinner.kill()
            for engine in engines.values():
                engine.end()
    if arguments.json:
        print(json.dumps({"scale": arguments.scale, "seconds": arguments.seconds, "results": results, "sums": good}))
    else:
        names = "".join(f"{name:>30}" for name in engines)
        times = "".join(f"{name + ', us':>16}" for name in engines)
        bytes_written = "".join(f"{name + ', B':>16}" for name in engines)
        print(f"{'pgbench, transactions/s':<24}{names}{'ratio':>8}{'goal':>13}{times}{bytes_written}")
        for result in results:
            shown = []
            for rates in result["rates"].values():
                shown.append(f"{statistics.median(rates):,.0f} ({min(rates):,.0f} to {max(rates):,.0f})")
            columns = "".join(f"{one:>30}" for one in shown)
            times = "".join(f"{statistics.median(one):>16,.1f}" for one in result["processor_microseconds"].values())
            device = "".join(f"{statistics.median(one):>16,.0f}" for one in result["written_bytes"].values())
            print(f"{result['work']:<24}{columns}{result['ratio']:>8.2f}{result['goal']:>13}{times}{device}")
        counted = "by everybody, to the device" if counter.by_device else "by the engine's processes"
        print(f"us: processor time, B: bytes written {counted}, for a transaction, medians")
        print(f"the four sums of each engine are {'equal' if good else 'NOT EQUAL'}")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
