"""Run one simulation of Sardonyx on many machines.

`sardonyx-lab simulate` knows which replications of which points its result needs, runs any of them on
demand, and puts them together; this script hands them to the workers of a Dask cluster. Without
`--scheduler` the workers are processes of this machine. A replication's seed comes from its point's
parameters and its number, and how many count is decided in order of their numbers: the result is,
byte for byte, what `sardonyx-lab simulate` prints on one machine.

Every worker must find the same version of the `sardonyx-lab` program, and files that the options name
(parameters, traces), at the same path.
"""

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator

from distributed import Client, LocalCluster, as_completed


class RunError(Exception):
    """A command did not succeed."""


# Options with which commands run, here and on workers. Workers receive a function of the standard library, so that they
# need no copy of this file.
CAPTURED = {"capture_output": True, "text": True, "check": False}


def printed(done: subprocess.CompletedProcess) -> str:
    """The output of a command.

    Raises RunError with what it said if it did not succeed.
    """
    if done.returncode != 0:
        said = done.stderr.strip() or f"exit code {done.returncode}"
        raise RunError(f"{' '.join(done.args)}: {said}")
    return done.stdout


def run(command: list[str]) -> str:
    """Runs a command on this machine and returns its output.

    Raises RunError if it could not be started or did not succeed.
    """
    try:
        return printed(subprocess.run(command, **CAPTURED))
    except OSError as error:
        raise RunError(f"{command[0]} cannot be run: {error}") from error


def split(missing: dict, batch: int) -> Iterator[list[str]]:
    """The options of the tasks that run the missing replications of a point, `batch` each."""
    for first in range(missing["first"], missing["last"] + 1, batch):
        last = min(first + batch - 1, missing["last"])
        yield [
            "--only-point",
            str(missing["point"]),
            "--only-replications",
            f"{first}..{last}",
            "--threads",
            "1",
        ]


def check_versions(client: Client, binary: str) -> None:
    """Raises RunError unless all workers have the program in the same version as this machine."""
    command = [binary, "--version"]
    here = run(command)
    try:
        answers = client.run(subprocess.run, command, **CAPTURED)
    except OSError as error:
        raise RunError(f"a worker cannot run {binary}: {error}") from error
    for worker, done in answers.items():
        there = printed(done)
        if there != here:
            raise RunError(f"{worker} has {there.strip()}, here is {here.strip()}")


def gather(client: Client, binary: str, options: list[str], batch: int, parts) -> None:
    """Runs all parts that the result needs; they are in the file `parts` afterwards."""
    simulate = [binary, "simulate", *options]
    asked = finished = 0
    while True:
        lines = run([*simulate, "--gather", parts.name, "--missing"]).splitlines()
        if not lines:
            if sys.stderr.isatty():
                print(file=sys.stderr)
            return
        tasks = [task for line in lines for task in split(json.loads(line), batch)]
        # Pure functions of the same arguments are run once by Dask: a second round never asks for
        # a part of the first.
        commands = [[*simulate, *task] for task in tasks]
        futures = client.map(subprocess.run, commands, **CAPTURED)
        asked += len(tasks)
        for future in as_completed(futures):
            parts.write(printed(future.result()))
            finished += 1
            if sys.stderr.isatty():
                print(f"\r{finished} of {asked} tasks ", end="", file=sys.stderr)
        parts.flush()


@contextlib.contextmanager
def connect(scheduler: str | None, workers: int | None) -> Iterator[Client]:
    """A client of the cluster at `scheduler`, or of `workers` processes on this machine."""
    if scheduler is not None:
        with Client(scheduler) as client:
            yield client
        return
    # The work is done by the program, so that a worker needs one thread.
    local = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None)
    with local as cluster, Client(cluster) as client:
        yield client


def arguments() -> argparse.ArgumentParser:
    """The script's arguments."""
    parser = argparse.ArgumentParser(
        prog="sardonyx-cluster",
        description="Run one `sardonyx-lab simulate` on the workers of a Dask cluster.",
        epilog="Example: sardonyx-cluster --csv sweep.csv -- --sweep nodes=1..10 --routing random",
    )
    parser.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="the cluster's scheduler, such as tcp://head:8786 (default: processes of this machine)",
    )
    parser.add_argument(
        "--workers", type=int, metavar="N", help="processes of this machine (default: its cores)"
    )
    parser.add_argument(
        "--binary", default="sardonyx-lab", metavar="PATH", help="the program (default: %(default)s)"
    )
    parser.add_argument(
        "--batch", type=int, default=1, metavar="N", help="replications of a task (default: 1)"
    )
    parser.add_argument("--csv", metavar="FILE", help="write every figure to this file")
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    parser.add_argument(
        "options", nargs="*", metavar="-- OPTIONS", help="options of `sardonyx-lab simulate`"
    )
    return parser


def main(argv: list[str] | None = None) -> int:
    """The command; returns its exit code."""
    parser = arguments()
    given = parser.parse_args(argv)
    if given.batch < 1 or (given.workers is not None and given.workers < 1):
        parser.error("--batch and --workers must be at least 1")
    output = [*(["--csv", given.csv] if given.csv else []), *(["--json"] if given.json else [])]
    try:
        # Wrong options are reported before any worker is started.
        run([given.binary, "simulate", *given.options, "--print-parameters"])
        with (
            tempfile.NamedTemporaryFile("w", suffix=".jsonl") as parts,
            connect(given.scheduler, given.workers) as client,
        ):
            check_versions(client, given.binary)
            gather(client, given.binary, given.options, given.batch, parts)
            simulate = [given.binary, "simulate", *given.options]
            print(run([*simulate, "--gather", parts.name, *output]), end="")
    except RunError as error:
        print(f"sardonyx-cluster: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
