#!/usr/bin/env python3
"""A server on a file system that becomes full: it says so, loses nothing, and goes on when there is room again.

    bench/clients/full_disk.py [--megabytes 96]

Needs root, to mount a small tmpfs, and psycopg. A client inserts rows, each in a transaction of its own, until one is
refused; then the database is read; then the file system is made larger, and rows are inserted again: by the same server, or,
if that says that its log is closed, by one that is started anew. In the end every row that was acknowledged is there once.
Ends with 0 if all that holds.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile
import time

import psycopg

from run import Server

ROW_BYTES = 4000


def insert(connection, number):
    connection.execute("INSERT INTO filled VALUES (%s, %s)", (number, "x" * ROW_BYTES))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--megabytes", type=int, default=96)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        size = f"size={arguments.megabytes}m"
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", directory], capture_output=True, text=True)
        if mounted.returncode:
            print(f"left out: {mounted.stderr.strip()}")
            return 0
        try:
            return fill(pathlib.Path(directory), arguments.megabytes)
        finally:
            subprocess.run(["umount", "-l", directory], check=True)


def fill(directory, megabytes):
    server = Server(directory / "bank.sdx")
    connection = psycopg.connect(server.dsn, autocommit=True)
    connection.execute("CREATE TABLE filled (id bigint PRIMARY KEY, v text)")
    acknowledged, refused = 0, None
    started = time.monotonic()
    while refused is None and time.monotonic() - started < 120:
        try:
            insert(connection, acknowledged)
            acknowledged += 1
        except psycopg.Error as error:
            refused = error
    if refused is None:
        print(f"FAILED: {acknowledged} rows of {ROW_BYTES} bytes fit into {megabytes} MB")
        return 1
    if refused.sqlstate != "53100":
        print(f"FAILED: {refused.sqlstate} {refused}")
        return 1
    print(f"after {acknowledged} rows: {refused.sqlstate} {str(refused).splitlines()[0]}")
    if server.process.poll() is not None:
        print("FAILED: the server ended")
        return 1
    with psycopg.connect(server.dsn, autocommit=True) as reader:
        (count,) = reader.execute("SELECT count(*) FROM filled").fetchone()
    # The one that was refused may be there, if it was refused after it had been done.
    if not acknowledged <= count <= acknowledged + 1:
        print(f"FAILED: {count} rows are read")
        return 1
    subprocess.run(["mount", "-o", f"remount,size={2 * megabytes}m", str(directory)], check=True)
    again = "the same server"
    try:
        with psycopg.connect(server.dsn, autocommit=True) as writer:
            insert(writer, acknowledged + 1_000_000)
        code = server.end()
    except psycopg.Error as error:
        again = f"a new server ({error.sqlstate} {str(error).splitlines()[0]})"
        server.end()
        server = Server(directory / "bank.sdx")
        with psycopg.connect(server.dsn, autocommit=True) as writer:
            insert(writer, acknowledged + 1_000_000)
        code = server.end()
    server = Server(directory / "bank.sdx")
    with psycopg.connect(server.dsn, autocommit=True) as reader:
        rows = reader.execute("SELECT id FROM filled WHERE id < 1000000 ORDER BY id").fetchall()
    there = [number for (number,) in rows]
    if there[:acknowledged] != list(range(acknowledged)) or len(there) > acknowledged + 1:
        print(f"FAILED: {len(there)} rows are there, and {acknowledged} were acknowledged")
        return 1
    if code or server.end():
        print("FAILED: a server did not end in order")
        return 1
    print(f"ok: {acknowledged} acknowledged rows are there; with more room, {again} took the next one")
    return 0


if __name__ == "__main__":
    sys.exit(main())
