#!/usr/bin/env python3
"""redis-benchmark against Sardonyx and Redis, in turn, in one run: the same commands, each with durable replies.

    bench/clients/compare_redis.py [--keys N] [--requests N] [--rounds N] [--pipeline N] [--clients N] [--commands NAME,NAME]
                                   [--beside COMMAND] [--directory DIR] [--json]

Redis runs with `appendfsync always` and its data beside Sardonyx's. Keys, fields and members are random, and so are the values:
redis-benchmark's own SET, HSET and MSET write one constant value, which changes nothing where it is there already. A command is
measured in two states:

- `new`: the server is emptied; then commands for `--keys` names run, which hardly ever repeat. A round does so until
  `--requests` commands were sent, and measures these alone: one run alone takes a tenth of a second;
- `there`: five commands for each name run first; then each round runs `--requests` commands on these names.

The medians of the rounds are shown, with the least and the most, and the median of the ratios. The engine that begins a round
alternates. PING, which stores nothing, shows what redis-benchmark itself can send. Behind them are the microseconds of
processor time that the server took for a command, all its threads and the system calls included: these depend little on other
programs. The table ends with the bytes that the disk had to write for a command (`/proc/diskstats`): those of all programs
meanwhile, including background writes of the other engine.

With `--beside`, another build of the command is measured in the same rounds.
"""

import argparse
import csv
import io
import json
import pathlib
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

from compare import medians
from run import Server
from written import Counter

RANDOM = "__rand_int__"
KEY, ELEMENT, VALUE = f"key:{RANDOM}", f"element:{RANDOM}", f"value:{RANDOM}"
COMMANDS = {
    "ping": ["PING"],
    "set": ["SET", KEY, VALUE],
    "get": ["GET", KEY],
    "incr": ["INCR", f"counter:{RANDOM}"],
    "zadd": ["ZADD", "myzset", RANDOM, ELEMENT],
    "hset": ["HSET", "myhash", ELEMENT, VALUE],
    "lpush": ["LPUSH", "mylist", VALUE],
    "sadd": ["SADD", "myset", ELEMENT],
    "mset": ["MSET", *[KEY, VALUE] * 10],
}
# Of commands that find what others have stored.
FILLED_BY = {"get": "set", "mset": "set"}
STATES = ["new", "there"]
# Large enough that random names rarely repeat.
MANY_NAMES = 2_000_000_000
# Names in a command, if it has several.
NAMES = {"mset": 10}
# Commands for each name before the rounds that find the names there.
FILLING = 5


class Redis:
    """A server of Redis in a directory of its own."""

    def __init__(self, directory):
        directory.mkdir()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        options = ["--appendonly", "yes", "--appendfsync", "always", "--save", "", "--dir", str(directory)]
        self.process = subprocess.Popen(
            ["redis-server", "--bind", "127.0.0.1", "--port", str(self.port), *options], stdout=subprocess.DEVNULL
        )
        while subprocess.run(["redis-cli", "-p", str(self.port), "ping"], capture_output=True).stdout.strip() != b"PONG":
            if self.process.poll() is not None:
                sys.exit("redis-server did not start")
            time.sleep(0.05)

    def end(self):
        self.process.terminate()
        self.process.wait()


def rate(port, command, requests, names, arguments):
    """Commands a second."""
    options = ["-p", port, "-c", arguments.clients, "-P", arguments.pipeline, "-n", requests, "-r", names]
    benchmark = ["redis-benchmark", *map(str, options), "--csv", *COMMANDS[command]]
    ran = subprocess.run(benchmark, capture_output=True, text=True, check=True)
    return float(list(csv.DictReader(io.StringIO(ran.stdout)))[0]["rps"])


def processor_seconds(process):
    """Processor time of a process so far, of threads that have ended, too: by its clock (man 3 clock_getcpuclockid)."""
    return time.clock_gettime((~process << 3) | 2)


def empty(port):
    answer = subprocess.run(["redis-cli", "-p", str(port), "FLUSHALL"], capture_output=True, text=True, check=True)
    if answer.stdout.strip() != "OK":
        sys.exit(f"FLUSHALL: {answer.stdout}{answer.stderr}")


def measured(command):
    """The states in which a command is measured."""
    return ["there"] if command in ("ping", "get") else STATES


def measure(command, state, ports, processes, arguments, count):
    """Commands a second of each round, processor microseconds and bytes written for a command, by engine."""
    rates, processor, written = ({engine: [] for engine in ports} for _ in range(3))
    if state == "there":
        for port in ports.values():
            empty(port)
            if command != "ping":
                filling = FILLED_BY.get(command, command)
                rate(port, filling, FILLING * arguments.keys, arguments.keys, arguments)
    requests, names, runs = arguments.requests, arguments.keys, 1
    if state == "new":
        requests, names = arguments.keys // NAMES.get(command, 1), MANY_NAMES
        runs = max(1, arguments.requests // requests)
    for number in range(arguments.rounds):
        engines = list(ports.items())
        for engine, port in engines if number % 2 == 0 else reversed(engines):
            taken = spent = on_disk = 0
            for _ in range(runs):
                if state == "new":
                    empty(port)
                begun, began = count(engine), processor_seconds(processes[engine])
                taken += requests / rate(port, command, requests, names, arguments)
                spent += processor_seconds(processes[engine]) - began
                on_disk += count(engine) - begun
            rates[engine].append(requests * runs / taken)
            processor[engine].append(spent * 1e6 / (requests * runs))
            written[engine].append(on_disk / (requests * runs))
    print(f"{command}, {state}: measured", file=sys.stderr)
    to_redis = {engine: [one / other for one, other in zip(rates[engine], rates["Redis"])] for engine in rates}
    found = {"rates": rates, "processor_us": processor, "written_bytes": written}
    return {**found, "ratios": medians(to_redis), "medians": {name: medians(of) for name, of in found.items()}}


def shown(found):
    return f"{statistics.median(found):,.0f} ({min(found):,.0f} to {max(found):,.0f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--keys", type=int, default=100_000, help="so many keys, fields or members, by chance")
    parser.add_argument("--requests", type=int, default=400_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pipeline", type=int, default=16)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--beside", default=None, help="another build of the command, to be measured in the same rounds")
    parser.add_argument("--directory", default=None, help="on the disk that is to be measured")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--commands", default=",".join(COMMANDS), help="some of: " + ", ".join(COMMANDS))
    arguments = parser.parse_args()
    commands = arguments.commands.split(",")
    if unknown := [command for command in commands if command not in COMMANDS]:
        parser.error(f"--commands: unknown: {', '.join(unknown)}")
    missing = [program for program in ("redis-server", "redis-cli", "redis-benchmark") if not shutil.which(program)]
    if missing:
        sys.exit(f"{', '.join(missing)} cannot be found: install Redis")
    results = {}
    with tempfile.TemporaryDirectory(dir=arguments.directory) as place:
        place = pathlib.Path(place)
        ours = {"Sardonyx": Server(place / "keys.sdx")}
        if arguments.beside:
            ours = {"Beside": Server(place / "beside.sdx", program=arguments.beside), **ours}
        redis = Redis(place / "redis")
        try:
            ports = {engine: server.address("redis")[1] for engine, server in ours.items()} | {"Redis": redis.port}
            processes = {engine: server.process.pid for engine, server in ours.items()} | {"Redis": redis.process.pid}
            counter = Counter(place)
            for command in commands:
                for state in measured(command):
                    count = lambda engine: counter.read([processes[engine]])
                    results[command, state] = measure(command, state, ports, processes, arguments, count)
        finally:
            redis.end()
            for server in ours.values():
                server.end()
    if arguments.json:
        sizes = {"keys": arguments.keys, "requests": arguments.requests, "pipeline": arguments.pipeline}
        rows = [{"command": command, "state": state, **found} for (command, state), found in results.items()]
        print(json.dumps({**sizes, "rows": rows}))
        return
    engines = list(ports)
    heads = "".join(f"{engine:>32}" for engine in engines)
    ratios = "".join(f"{engine + ' to Redis':>20}" for engine in engines[:-1])
    print(f"{'commands/s':<14}{heads}{ratios}{'processor µs':>22}{'bytes written':>24}")
    for (command, state), found in results.items():
        rates = found["rates"]
        columns = "".join(f"{shown(rates[engine]):>32}" for engine in engines)
        columns += "".join(f"{found['ratios'][engine]:>20.2f}" for engine in engines[:-1])
        processor = " / ".join(f"{one:.2f}" for one in found["medians"]["processor_us"].values())
        device = " / ".join(f"{one:,.0f}" for one in found["medians"]["written_bytes"].values())
        print(f"{command + ', ' + state:<14}{columns}{processor:>22}{device:>24}")


if __name__ == "__main__":
    main()
