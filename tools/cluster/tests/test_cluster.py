"""The cluster's result is that of one machine, byte for byte.

Needs the program: SARDONYX names it, else it is looked for among the builds of this repository.
"""

import contextlib
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import sardonyx_cluster  # noqa: E402  (the path must be there first)


def program() -> str:
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent.parent / "target"))
    built = [target / profile / "sardonyx-lab" for profile in ("release", "debug")]
    found = [str(path) for path in built if path.exists()]
    if named := os.environ.get("SARDONYX"):
        found.insert(0, named)
    if not found:
        raise unittest.SkipTest("no sardonyx-lab program: cargo build -p sardonyx-lab, or set SARDONYX")
    return found[0]


# Short runs whose points need different numbers of replications.
OPTIONS = [
    "--sweep=nodes=1,2",
    "--precision=0.02",
    "--set=run.warm_up_seconds=0.5",
    "--set=run.measured_seconds=2",
    "--set=run.least_replications=3",
    "--set=run.most_replications=12",
]


def cluster(*argv: str) -> tuple[int, str, str]:
    printed, said = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(said):
        code = sardonyx_cluster.main(["--binary", program(), *argv])
    return code, printed.getvalue(), said.getvalue()


class Cluster(unittest.TestCase):
    def test_the_same_bytes_as_one_machine(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            here, there = pathlib.Path(directory, "here.csv"), pathlib.Path(directory, "there.csv")
            command = [program(), "simulate", "--csv", str(here), *OPTIONS]
            alone = subprocess.run(command, capture_output=True, text=True, check=True)
            code, printed, said = cluster(
                "--workers=2", "--batch=2", "--csv", str(there), "--", *OPTIONS
            )
            self.assertEqual(code, 0, said)
            self.assertEqual(printed, alone.stdout)
            self.assertEqual(there.read_bytes(), here.read_bytes())
            self.assertGreater(len(here.read_bytes().splitlines()), 100)

    def test_wrong_options_are_told_before_workers_are_started(self) -> None:
        code, printed, said = cluster("--", "--nodes=0")
        self.assertEqual((code, printed), (1, ""))
        self.assertIn("nodes = 0 is out of range", said)

    def test_a_missing_program_is_named(self) -> None:
        code, _, said = cluster("--binary", "/nonexistent/sardonyx")
        self.assertEqual(code, 1)
        self.assertIn("/nonexistent/sardonyx cannot be run", said)

    def test_what_is_missing_is_split_into_tasks(self) -> None:
        tasks = sardonyx_cluster.split({"point": 3, "first": 4, "last": 8}, 2)
        ranges = [(task[1], task[3]) for task in tasks]
        self.assertEqual(ranges, [("3", "4..5"), ("3", "6..7"), ("3", "8..8")])


if __name__ == "__main__":
    unittest.main()
