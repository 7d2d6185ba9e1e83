#!/usr/bin/env python3
"""pgbench against a server that is killed: no acknowledged transaction is missing, and none has half of its effect.

    bench/clients/kill.py [--kills N] [--seconds N]

Each time the server is killed at a random moment of a run (interactive, pipelined, or by a procedure) and started again. Then
the four sums must be equal. The history must have every transaction that pgbench counted, and at most one more for each
client, whose answer was on its way.
"""

import argparse
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

from pgbench_sums import ask, sums
from run import HERE, Server, environment

CLIENTS = 8
WORK = [["-M", "simple"], ["-M", "prepared"], ["-M", "prepared", "-f", HERE / "tpcb_pipelined.sql"], ["-M", "prepared", "-f", HERE / "tpcb_call.sql"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=2, help="the longest run before a kill")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as place:
        directory = pathlib.Path(place) / "bank.sdx"
        server = Server(directory)
        subprocess.run(["pgbench", "-i", "-q", "-s", "1"], env=environment(server), check=True, capture_output=True)
        with open(HERE / "tpcb_procedure.sql") as procedure:
            subprocess.run(["psql", "-Xq", "-v", "ON_ERROR_STOP=1"], env=environment(server), stdin=procedure, check=True)
        told = 0
        for kill in range(arguments.kills):
            before = int(ask(environment(server), "SELECT count(*) FROM pgbench_history"))
            work = chance.choice(WORK)
            command = ["pgbench", "-n", "--max-tries=1000", "-c", CLIENTS, "-j", 2, "-T", 60, "-D", "scale=1", *work]
            bench = subprocess.Popen(list(map(str, command)), env=environment(server), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            time.sleep(chance.uniform(0.2, arguments.seconds))
            server.kill()
            said = bench.communicate()[0]
            acknowledged = int(re.search(r"actually processed: (\d+)", said)[1])
            server = Server(directory)
            four = sums(environment(server))
            there = int(ask(environment(server), "SELECT count(*) FROM pgbench_history")) - before
            if len(set(four)) != 1 or not acknowledged <= there <= acknowledged + CLIENTS:
                print(f"kill {kill}: {work}: acknowledged {acknowledged}, there {there}, sums {four}")
                sys.exit(1)
            told += acknowledged
        server.end()
    if told == 0:
        sys.exit("no transaction was acknowledged before a kill: this has shown nothing")
    print(f"{arguments.kills} kills, {told} transactions acknowledged: each is there, and the four sums are equal after each kill")


if __name__ == "__main__":
    main()
