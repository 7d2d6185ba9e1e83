#!/usr/bin/env python3
"""Durable writes beside a file that is filled with zeroes, as groups of the log are written beside its next segment.

    bench/clients/filling.py [--pieces KIB,KIB] [--rounds N] [--directory DIR]

One thread writes 64 MiB of zeroes with direct access, a piece at a time. Meanwhile another one writes 24 KiB durably, again and
again. Each line is one filling: its time, the number of durable writes, their median and their 95th percentile. A disk that
answers a sync only when all earlier writes are stable makes a durable write wait for a piece.
"""

import argparse
import mmap
import os
import pathlib
import statistics
import tempfile
import threading
import time

FILLED = 64 << 20
WRITTEN = 24 << 10
LOG = 8 << 20


def fill(path, piece, ended, took):
    """Fills a new file, and notes the time."""
    zeroes = mmap.mmap(-1, piece)
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_DIRECT)
    began = time.monotonic()
    for at in range(0, FILLED, piece):
        os.pwrite(file, zeroes, at)
    os.fdatasync(file)
    took.append(time.monotonic() - began)
    os.close(file)
    ended.set()


def run(directory, piece):
    """One filling."""
    log, segment = directory / "log", directory / "segment"
    file = os.open(log, os.O_RDWR | os.O_CREAT | os.O_DIRECT)
    zeroes = mmap.mmap(-1, 1 << 20)
    for at in range(0, LOG, 1 << 20):
        os.pwrite(file, zeroes, at)
    os.fsync(file)
    ended, took, times = threading.Event(), [], []
    filling = threading.Thread(target=fill, args=(segment, piece, ended, took))
    group, at = mmap.mmap(-1, WRITTEN), 0
    filling.start()
    while not ended.is_set():
        began = time.monotonic()
        os.pwritev(file, [group], at, os.RWF_DSYNC)
        times.append((time.monotonic() - began) * 1000)
        at = (at + WRITTEN) % (LOG - WRITTEN) // 4096 * 4096
    filling.join()
    os.close(file)
    segment.unlink()
    percentile = sorted(times)[len(times) * 95 // 100]
    print(
        f"pieces of {piece >> 10:>5} KiB: filled in {took[0]:.2f} s; {len(times)} durable writes, median"
        f" {statistics.median(times):.2f} ms, 95% within {percentile:.2f} ms",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pieces", default="1024,128", help="KiB")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--directory", default=None, help="on the disk that is to be measured")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.directory) as directory:
        for _ in range(arguments.rounds):
            for piece in arguments.pieces.split(","):
                run(pathlib.Path(directory), int(piece) << 10)


if __name__ == "__main__":
    main()
