#!/usr/bin/env python3
"""A client with two hosts in its connection string, before and after the host that serves is killed.

    bench/clients/hosts_client.py psql|jdbc|pgx

SARDONYX is the command. Two hosts on a store in a temporary directory; the client names the following one first. Each run of the
client is a process that inserts a number and counts them, so each finds the host that serves anew. After the kill it is run
until it succeeds.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from run import HERE, Server  # noqa: E402

SECONDS = 60


def client(kind, hosts):
    """The command of a client of these hosts, without the number."""
    at = [":".join(host.address("postgres")) for host in hosts]
    if kind == "jdbc":
        url = f"jdbc:postgresql://{','.join(at)}/bank?user=tester&targetServerType=primary"
        return lambda number: ["java", "-cp", os.environ["JDBC_JAR"], HERE / "HostsClient.java", url, number]
    if kind == "pgx":
        url = f"postgres://tester@{','.join(at)}/bank?target_session_attrs=read-write&sslmode=disable"
        return lambda number: ["go", "-C", HERE / "pgx", "run", "./hosts", url, number]
    names, ports = (",".join(part) for part in zip(*(host.address("postgres") for host in hosts)))
    url = f"host={names} port={ports} user=tester dbname=bank target_session_attrs=read-write"
    return lambda number: [
        "psql", "-XAtq", "-v", "ON_ERROR_STOP=1", url, "-c", f"INSERT INTO numbers VALUES ({number}) ON CONFLICT DO NOTHING",
        "-c", "SELECT count(*) FROM numbers",
    ]


def run_until_it_succeeds(command):
    until = time.monotonic() + SECONDS
    while True:
        ran = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=SECONDS)
        if ran.returncode == 0:
            return ran.stdout.strip()
        if time.monotonic() > until:
            sys.exit(f"{command[0]} found no host that serves:\n{ran.stderr}")


def main(kind):
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory)

        def start(name):
            place = f"file:{directory / 'store'}"
            return Server(directory / f"{name}.sdx", "--store", place, "--host", name, "--redis", "off", "--http", "off")

        first = start("host-1")
        create = client("psql", [first])(0)[:-4] + ["-c", "CREATE TABLE IF NOT EXISTS numbers (n bigint PRIMARY KEY)"]
        run_until_it_succeeds(create)
        second = start("host-2")
        command = client(kind, [second, first])
        for number in (1, 2):
            found = run_until_it_succeeds(command(number))
            assert found == str(number), found
        first.kill()
        found = run_until_it_succeeds(command(3))
        assert found == "3", found
        first = start("host-1")
        found = run_until_it_succeeds(command(4))
        assert found == "4", found
        first.end()
        second.end()
    print(f"{kind} with two hosts ok")


if __name__ == "__main__":
    main(sys.argv[1])
