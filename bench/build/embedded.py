#!/usr/bin/env python3
"""The build time of a small embedded program: README's first program, and the same on redb.

Makes two projects in a temporary directory, each with a lock file of its own and cargo's default release profile, and
builds both cold, alternating. Crates are downloaded before the first build. Processor time is that of cargo and its
children, so that other work on the machine disturbs the ratio little. Needs cargo, and the network the first time.

With --try it measures nothing. It builds the program unoptimised, with README's dependencies and the repository's lock file.
So the crate has its default features only, as in no package of the workspace. It runs the program twice on one database. The
given command then verifies the database's files and exports the accounts.

    bench/build/embedded.py --runs 3
    bench/build/embedded.py --runs 1 --features tracing --json
    bench/build/embedded.py --try target/debug/sardonyx
"""

import argparse
import json
import os
import pathlib
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

# Pinned: another version is another measurement.
REDB = "=4.4.0"

REDB_PROGRAM = """\
use redb::{Database, Error, TableDefinition};

const ACCOUNTS: TableDefinition<u64, i64> = TableDefinition::new("accounts");

fn main() -> Result<(), Error> {
    let bank = Database::create("bank.redb")?;
    let transaction = bank.begin_write()?;
    {
        let mut accounts = transaction.open_table(ACCOUNTS)?;
        accounts.insert(1, -30)?;
    }
    transaction.commit()?;
    Ok(())
}
"""


def block(repository, head):
    """README's first block of code whose fence and lines begin so."""
    readme = (repository / "README.md").read_text()
    found = re.search(rf"```{head}(.*?)```", readme, re.DOTALL)
    if not found:
        sys.exit(f"README.md has no block that begins with {head}")
    return found.group(1)


def first_program(repository):
    """README's first Rust program."""
    return block(repository, r"rust[^\n]*\n")


def dependencies(repository):
    """README's lines for `pay/Cargo.toml`, with the clone at this place."""
    text, place = block(repository, r"toml\n\[dependencies\]\n"), '"../sardonyx/'
    if place not in text:
        sys.exit(f"README's dependencies name no clone at {place}")
    return text.replace(place, f'"{repository}/')


def project(directory, name, dependency, program, lock=None):
    """A project of its own: no workspace, no profile; with a lock file, if one is given."""
    (directory / "src").mkdir(parents=True)
    (directory / "Cargo.toml").write_text(
        f'[package]\nname = "embedded-{name}"\nversion = "0.1.0"\nedition = "2024"\n\n'
        f"[workspace]\n\n[dependencies]\n{dependency}\n"
    )
    (directory / "src/main.rs").write_text(program)
    if lock:
        shutil.copy(lock, directory / "Cargo.lock")
    subprocess.run(["cargo", "fetch", "--quiet"], cwd=directory, check=True)


def attempt(directory, options):
    """Builds README's program as its readers do, runs it, and has the command read the database."""
    program = directory / "sardonyx"
    project(program, "sardonyx", dependencies(options.repository), first_program(options.repository),
            options.repository / "Cargo.lock")
    target = options.repository / "target" / "embedded"
    # Every crate is built in a fresh clone; --locked would refuse the lock file, of which cargo leaves out what is unused.
    subprocess.run(["cargo", "build", "--quiet", "--target-dir", str(target)], cwd=program, check=True)
    locked, own = (set(re.findall(r'name = "(\S+)"\nversion = "(\S+)"\nsource', (at / "Cargo.lock").read_text()))
                   for at in (options.repository, program))
    if own - locked:
        sys.exit(f"built with other versions than the repository's: {sorted(own - locked)}")
    tree = ["cargo", "tree", "--edges", "features", "--invert", "sardonyx-storage"]
    features = subprocess.run(tree, cwd=program, check=True, stdout=subprocess.PIPE, text=True).stdout
    # The paths of packages are printed, too.
    if 'feature "hosts"' in features:
        sys.exit(f"built with the feature hosts:\n{features}")
    for _ in range(2):
        subprocess.run([target / "debug/embedded-sardonyx"], cwd=program, check=True)
    subprocess.run([options.attempt.resolve(), "verify", "bank.sdx"], cwd=program, check=True, stdout=subprocess.DEVNULL)
    export = [options.attempt.resolve(), "export", "bank.sdx", "accounts", "-", "--format", "csv"]
    rows = subprocess.run(export, cwd=program, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    if sorted(rows[1:]) != ["1,70", "2,30"]:
        sys.exit(f"the program's accounts are {rows}")
    print("README's program ran twice without hosts; its database is sound and has its rows")


def build(directory):
    """Builds with an empty target directory: processor seconds, wall seconds, names of the compiled crates."""
    target = directory / "target"
    shutil.rmtree(target, ignore_errors=True)
    # The caller's settings for cargo and rustc would change the figures.
    kept = {name: value for name, value in os.environ.items() if not re.match(r"CARGO_(PROFILE|BUILD|TARGET|INC)|RUSTC?FLAGS|RUSTC_", name)}
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    run = subprocess.run(
        ["cargo", "build", "--release", "--locked", "--target-dir", str(target)],
        cwd=directory, env=kept, stderr=subprocess.PIPE, text=True,
    )
    wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if run.returncode:
        sys.exit(run.stderr)
    crates = re.findall(r"^ *Compiling (\S+ v\S+)", run.stderr, re.MULTILINE)
    # The program itself is not among its dependencies' crates.
    crates = [crate for crate in crates if not crate.startswith("embedded-")]
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"processor_seconds": round(processor, 2), "wall_seconds": round(wall, 2), "crates": sorted(crates)}


def measure(directory, options):
    """Both projects, built alternately: the runs of each."""
    features = ", ".join(f'"{feature}"' for feature in options.features)
    own = f'sardonyx = {{ path = "{options.repository / "crates/sardonyx"}", features = [{features}] }}'
    project(directory / "sardonyx", "sardonyx", own, first_program(options.repository))
    if not options.alone:
        project(directory / "redb", "redb", f'redb = "{REDB}"', REDB_PROGRAM)
    names = ["sardonyx"] if options.alone else ["sardonyx", "redb"]
    runs = {name: [] for name in names}
    for round_number in range(options.runs):
        # The order alternates, so that a machine that warms up favours neither.
        for name in names if round_number % 2 == 0 else reversed(names):
            runs[name].append(build(directory / name))
    return runs


def summary(runs):
    """Medians by name, and the median of the pairs' ratios."""
    result = {
        name: {
            "processor_seconds": statistics.median(run["processor_seconds"] for run in of),
            "wall_seconds": statistics.median(run["wall_seconds"] for run in of),
            "crates": len(of[0]["crates"]),
            "compiled": of[0]["crates"],
            "runs": [{key: run[key] for key in ("processor_seconds", "wall_seconds")} for run in of],
        }
        for name, of in runs.items()
    }
    if len(runs) == 2:
        pairs = zip(runs["sardonyx"], runs["redb"])
        ratio = statistics.median(own["processor_seconds"] / other["processor_seconds"] for own, other in pairs)
        result["ratio"] = round(ratio, 2)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3, help="cold builds of each (default: 3)")
    parser.add_argument("--features", nargs="*", default=[], help="features of sardonyx (default: none)")
    parser.add_argument("--alone", action="store_true", help="leave redb out")
    parser.add_argument(
        "--try", type=pathlib.Path, dest="attempt", metavar="SARDONYX",
        help="measure nothing: run the program, and read its database by this command",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, with the crates and each run")
    parser.add_argument(
        "--repository", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2],
        help="the checkout to build (default: this script's)",
    )
    options = parser.parse_args()
    options.repository = options.repository.resolve()
    with tempfile.TemporaryDirectory(prefix="embedded-") as directory:
        if options.attempt:
            attempt(pathlib.Path(directory), options)
            return
        result = summary(measure(pathlib.Path(directory), options))
    if options.json:
        print(json.dumps(result, indent=2))
        return
    print(f"{'':10} {'processor s':>12} {'wall s':>8} {'crates':>7}   processor s of each run")
    for name in ("sardonyx", "redb"):
        if name in result:
            of = result[name]
            each = " ".join(f"{run['processor_seconds']:.1f}" for run in of["runs"])
            print(f"{name:10} {of['processor_seconds']:>12.1f} {of['wall_seconds']:>8.1f} {of['crates']:>7}   {each}")
    if "ratio" in result:
        print(f"{'ratio':10} {result['ratio']:>12.2f}   median of the pairs")


if __name__ == "__main__":
    main()
