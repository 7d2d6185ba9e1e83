"""Bytes that the disk had to write, as the system counts them.

They are those of a directory's device (`/proc/diskstats`), with those of other programs and of the file system's journal. If
the system does not count the device, they are those of some processes (`/proc/PID/io`).
"""

import os
import pathlib

SECTOR_BYTES = 512


class Counter:
    """A counter of the writes to a directory's device."""

    def __init__(self, directory):
        device = os.stat(directory).st_dev
        self.device = [str(os.major(device)), str(os.minor(device))]
        self.by_device = self.of_device() is not None

    def of_device(self):
        for line in pathlib.Path("/proc/diskstats").read_text().splitlines():
            words = line.split()
            if words[:2] == self.device:
                # The name; reads, merged, sectors, time; writes, merged, sectors.
                return int(words[9]) * SECTOR_BYTES
        return None

    def read(self, processes):
        """The bytes so far: those of the device, or else those of these processes."""
        return self.of_device() if self.by_device else sum(map(of_process, processes))


def of_process(process):
    """The bytes that a process had written; of one that has ended none are known."""
    try:
        told = pathlib.Path(f"/proc/{process}/io").read_text()
    except (FileNotFoundError, PermissionError, ProcessLookupError):
        return 0
    return next(int(line.split()[1]) for line in told.splitlines() if line.startswith("write_bytes:"))
