#!/usr/bin/env python3
"""redis-benchmark against Sardonyx and Redis, in turn, in one run: the same commands, each with durable replies.

    bench/clients/compare_redis.py [--keys N] [--requests N] [--rounds N] [--pipeline N] [--clients N] [--directory DIR] [--json]

Redis runs with `appendfsync always` and its data beside Sardonyx's. In round 0 both are new, and there are at least five commands
for each key or member, so that the other rounds find nearly all of them there. Of those the medians are shown, with the least and the most, and the median of the
ratios. PING, which stores nothing, shows what redis-benchmark itself can send. Beside them stand the bytes that the disk had
to write for a command (`/proc/diskstats`): those of everybody meanwhile, what the other engine writes behind its replies, too.
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

from run import Server
from written import Counter

COMMANDS = ["ping_mbulk", "set", "incr", "zadd"]


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


def rate(port, command, requests, arguments):
    """Commands a second."""
    told = ["-p", port, "-c", arguments.clients, "-P", arguments.pipeline, "-n", requests, "-r", arguments.keys]
    benchmark = ["redis-benchmark", *map(str, told), "-t", command, "--csv"]
    ran = subprocess.run(benchmark, capture_output=True, text=True, check=True)
    return float(list(csv.DictReader(io.StringIO(ran.stdout)))[0]["rps"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--keys", type=int, default=100_000, help="so many keys, or members of one sorted set, by chance")
    parser.add_argument("--requests", type=int, default=400_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pipeline", type=int, default=16)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--directory", default=None, help="on the disk that is to be measured")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    missing = [program for program in ("redis-server", "redis-cli", "redis-benchmark") if not shutil.which(program)]
    if missing:
        sys.exit(f"{', '.join(missing)} cannot be found: install Redis")
    rates = {command: {"Sardonyx": [], "Redis": []} for command in COMMANDS}
    written = {command: {"Sardonyx": [], "Redis": []} for command in COMMANDS}
    with tempfile.TemporaryDirectory(dir=arguments.directory) as place:
        place = pathlib.Path(place)
        ours = Server(place / "keys.sdx")
        redis = Redis(place / "redis")
        try:
            ports = {"Sardonyx": ours.address("redis")[1], "Redis": redis.port}
            processes = {"Sardonyx": [ours.process.pid], "Redis": [redis.process.pid]}
            counter = Counter(place)
            for number in range(arguments.rounds + 1):
                requests = arguments.requests if number else max(arguments.requests, 5 * arguments.keys)
                for command in COMMANDS:
                    for engine, port in ports.items():
                        begun = counter.read(processes[engine])
                        rates[command][engine].append(rate(port, command, requests, arguments))
                        bytes_written = counter.read(processes[engine]) - begun
                        written[command][engine].append(bytes_written / requests)
                print(f"round {number} of {arguments.rounds}", file=sys.stderr)
        finally:
            redis.end()
            ours.end()
    if arguments.json:
        sizes = {"keys": arguments.keys, "requests": arguments.requests}
        print(json.dumps({**sizes, "rates": rates, "written_bytes": written}))
        return
    print(f"{'commands/s':<12}{'Sardonyx':>38}{'Redis':>38}{'ratio':>8}{'new':>24}{'bytes written':>24}")
    for command, of in rates.items():
        shown = []
        for found in of.values():
            later = found[1:] or found
            shown.append(f"{statistics.median(later):,.0f} ({min(later):,.0f} to {max(later):,.0f})")
        pairs = [ours / theirs for ours, theirs in zip(*of.values())]
        ratio = statistics.median(pairs[1:] or pairs)
        new = " / ".join(f"{found[0]:,.0f}" for found in of.values())
        device = " / ".join(f"{statistics.median(one[1:] or one):,.0f}" for one in written[command].values())
        print(f"{command:<12}{shown[0]:>38}{shown[1]:>38}{ratio:>8.2f}{new:>24}{device:>24}")


if __name__ == "__main__":
    main()
