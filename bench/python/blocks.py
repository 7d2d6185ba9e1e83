#!/usr/bin/env python3
"""The processor time of a block of `db.transaction()` in Python.

    bench/python/blocks.py [--blocks N] [--accounts N] [--text]

Each block reads ten accounts by their keys, changes five of them, and commits. It is measured with its parts. The database
is on a memory file system, so a commit does not wait for a disk. Times are those of the thread that runs the blocks, in
microseconds for each: the least and the median of ten parts. `--text` adds a column of 84 characters.
"""

import argparse
import tempfile
import time

import sardonyx

READS, CHANGES, PARTS = 10, 5, 10


def empty(db, _):
    with db.transaction():
        pass


def reads(db, ids):
    with db.transaction() as tx:
        accounts = tx["accounts"]
        for one in ids:
            accounts.get(one)


def reads_and_changes(db, ids):
    with db.transaction() as tx:
        accounts = tx["accounts"]
        for one in ids:
            accounts.get(one)
        for one in ids[:CHANGES]:
            accounts.update(one, balance=1 + ids[-1])


def table_by_name(db, ids):
    with db.transaction() as tx:
        for one in ids:
            tx["accounts"].get(one)
        for one in ids[:CHANGES]:
            tx["accounts"].update(one, balance=2 + ids[-1])


WORK = {
    "an empty block": empty,
    "ten reads": reads,
    "ten reads, five changes": reads_and_changes,
    "the same, tx[\"accounts\"] each time": table_by_name,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blocks", type=int, default=3000)
    parser.add_argument("--accounts", type=int, default=100_000)
    parser.add_argument("--text", action="store_true")
    arguments = parser.parse_args()
    text = {"filler": "text"} if arguments.text else {}
    row = {"balance": 0, "branch": 1} | ({"filler": "x" * 84} if arguments.text else {})
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        with sardonyx.open(directory + "/bank.sdx") as db:
            db.create_table("accounts", {"id": "u64", "balance": "i64", "branch": "u32"} | text, key="id")
            for first in range(0, arguments.accounts, 10_000):
                ids = range(first, min(first + 10_000, arguments.accounts))
                with db.transaction() as tx:
                    tx["accounts"].insert_many([{"id": one, **row} for one in ids])
            # Spread over the table, and different ones each time.
            spread = [
                [(number * READS + nth) * 0x9E3779B97F4A7C15 % 2**64 % arguments.accounts for nth in range(READS)]
                for number in range(arguments.blocks)
            ]
            part = max(arguments.blocks // PARTS, 1)
            for name, block in WORK.items():
                times = []
                for first in range(0, arguments.blocks, part):
                    before = time.thread_time()
                    for ids in spread[first : first + part]:
                        block(db, ids)
                    times.append((time.thread_time() - before) / len(spread[first : first + part]) * 1e6)
                times.sort()
                print(f"{name:<40} {times[0]:8.1f} us {times[len(times) // 2]:8.1f} us")


if __name__ == "__main__":
    main()
