#!/usr/bin/env python3
"""Ten thousand idle connections, a thousand busy ones, and some that never read, against one server.

    bench/clients/connections.py [--idle N] [--busy N] [--seconds N] [--json]

Each busy connection adds one to a counter and waits for the answer, again and again; at the end the counter must be what
was acknowledged. Those that never read ask for many rows and take none. Beside them a connection that is opened anew has to be
answered all the time. Shown are the rate, the response times and the server's memory.
"""

import argparse
import asyncio
import json
import pathlib
import resource
import struct
import sys
import tempfile
import time

from run import Server


def packet(kind, body):
    return kind + struct.pack(">I", len(body) + 4) + body


def query(text):
    return packet(b"Q", text.encode() + b"\0")


STARTUP = b"user\0tester\0database\0bank\0\0"


class Client:
    async def begin(self, host, port, limit=2**16):
        self.reader, self.writer = await asyncio.open_connection(host, port, limit=limit)
        self.writer.write(struct.pack(">II", len(STARTUP) + 8, 0x30000) + STARTUP)
        await self.ready()
        return self

    async def ready(self):
        """Messages up to the next time that the server is ready."""
        told = []
        while True:
            head = await self.reader.readexactly(5)
            body = await self.reader.readexactly(struct.unpack(">I", head[1:])[0] - 4)
            told.append((head[:1], body))
            if head[:1] == b"Z":
                return told
            if head[:1] == b"E":
                raise RuntimeError(body)

    async def ask(self, text):
        self.writer.write(query(text))
        return await self.ready()


def memory_bytes(process):
    with open(f"/proc/{process}/status") as status:
        for line in status:
            if line.startswith("VmRSS"):
                return int(line.split()[1]) * 1024
    return 0


async def run(server, arguments):
    host, port = server.address("postgres")
    first = await Client().begin(host, port)
    await first.ask("CREATE TABLE counters (id int PRIMARY KEY, n bigint)")
    await first.ask("INSERT INTO counters VALUES " + ", ".join(f"({n}, 0)" for n in range(64)))
    await first.ask("CREATE TABLE wide (id int PRIMARY KEY, t text)")
    for start in range(0, 20000, 1000):
        rows = ", ".join(f"({n}, '{'x' * 1000}')" for n in range(start, start + 1000))
        await first.ask(f"INSERT INTO wide VALUES {rows}")
    before = memory_bytes(server.process.pid)
    idle = []
    for start in range(0, arguments.idle, 500):
        count = min(500, arguments.idle - start)
        idle += await asyncio.gather(*(Client().begin(host, port) for _ in range(count)))
    with_idle = memory_bytes(server.process.pid)
    deaf = [await Client().begin(host, port) for _ in range(10)]
    for client in deaf:
        client.writer.transport.pause_reading()
        client.writer.write(query("SELECT * FROM wide") * 4)
    busy = []
    for start in range(0, arguments.busy, 500):
        count = min(500, arguments.busy - start)
        busy += await asyncio.gather(*(Client().begin(host, port) for _ in range(count)))
    ends = time.monotonic() + arguments.seconds
    acknowledged, times = 0, []

    async def work(number, client):
        nonlocal acknowledged
        while time.monotonic() < ends:
            started = time.monotonic()
            await client.ask(f"UPDATE counters SET n = n + 1 WHERE id = {number % 64}")
            times.append(time.monotonic() - started)
            acknowledged += 1

    async def newcomers():
        longest = 0
        while time.monotonic() < ends:
            started = time.monotonic()
            client = await Client().begin(host, port)
            await client.ask("SELECT 1")
            client.writer.close()
            longest = max(longest, time.monotonic() - started)
            await asyncio.sleep(0.1)
        return longest

    *_, longest = await asyncio.gather(*(work(*one) for one in enumerate(busy)), newcomers())
    while_busy = memory_bytes(server.process.pid)
    told = await first.ask("SELECT sum(n) FROM counters")
    total = int(next(body[6:] for kind, body in told if kind == b"D"))
    await asyncio.gather(*(client.ask("SELECT 1") for client in idle))
    times.sort()
    return {
        "idle": len(idle),
        "busy": len(busy),
        "never_reading": len(deaf),
        "acknowledged": acknowledged,
        "counted": total,
        "per_second": acknowledged / arguments.seconds,
        "p50_ms": times[len(times) // 2] * 1000,
        "p99_ms": times[len(times) * 99 // 100] * 1000,
        "longest_new_connection_ms": longest * 1000,
        "bytes_an_idle_connection": (with_idle - before) / max(1, len(idle)),
        "memory_mib": while_busy / 2**20,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--idle", type=int, default=10000)
    parser.add_argument("--busy", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    wanted = arguments.idle + arguments.busy + 200
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < wanted:
        sys.exit(f"{wanted} open files are needed, and {hard} are allowed (ulimit -n)")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    with tempfile.TemporaryDirectory() as directory:
        server = Server(pathlib.Path(directory) / "bank.sdx")
        try:
            result = asyncio.run(run(server, arguments))
        finally:
            code = server.end()
    result["exit_code"] = code
    good = result["acknowledged"] == result["counted"] and code == 0
    if arguments.json:
        print(json.dumps(result))
    else:
        for name, value in result.items():
            print(f"{name.replace('_', ' '):<28}{value:>16,.2f}" if isinstance(value, float) else f"{name.replace('_', ' '):<28}{value:>16,}")
        print("each acknowledged addition was counted once" if good else "NOT what was acknowledged")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
