#!/usr/bin/env python3
"""Runs the programs of docs/quickstart.md, as they stand there, against a server.

    bench/clients/quickstart.py HOST PORT [--redis HOST:PORT] [--only LANGUAGE,LANGUAGE]

QUICKSTART names languages, too. A program whose language or client library cannot be had is left out, with a sentence.
Go's and Rust's libraries are fetched; JDBC_JAR names Java's driver; NODE_PATH finds Node's. Ends with 0 if every program
that ran printed the balances of the page.
"""

import argparse
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parent.parent / "docs" / "quickstart.md"
ADDRESS = "127.0.0.1:5433"
REDIS_ADDRESS = "127.0.0.1:6380"
REDIS = {"redis": "redis", "rq": "rq", "celery": "celery"}
INSTALLED = {"redis": "redis", "rq": "rq", "celery": "'celery[redis]'"}
EXPECTED = "ada has 90, bob has 60"
SECONDS = 600


def programs():
    """The programs of the page by language. A language has one program."""
    found = re.findall(r"<!-- run: (\w+) -->\n```\w+\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(found) == len(dict(found)), "a language has two programs"
    return dict(found)


def left_out(language, redis_address):
    """The reason to leave a language out; None if it can run."""
    if language in REDIS:
        if not redis_address:
            return "the server's address for Redis is not given: --redis HOST:PORT"
        if not all(map(importlib.util.find_spec, ["redis", REDIS[language]])):
            return f"it is not installed: pip install {INSTALLED[language]}"
        if language != "redis" and not runs_scripts(redis_address):
            return "the server has no scripts: cargo build --features lua"
        return None
    if language == "django" and not all(map(importlib.util.find_spec, ["django", "psycopg"])):
        return "it is not installed: pip install 'django==5.2.*' 'psycopg[binary]'"
    needed = {"node": "node", "java": "java", "go": "go", "rust": "cargo"}.get(language)
    if needed and not shutil.which(needed):
        return f"{needed} is not installed"
    if language == "python" and not importlib.util.find_spec("psycopg"):
        return "psycopg is not installed: pip install 'psycopg[binary]'"
    if language == "sqlalchemy" and not all(map(importlib.util.find_spec, ["sqlalchemy", "psycopg"])):
        return "it is not installed: pip install sqlalchemy 'psycopg[binary]'"
    if language == "java" and not os.path.exists(os.environ.get("JDBC_JAR", "")):
        return "JDBC_JAR names no driver: org.postgresql:postgresql of Maven Central"
    if language == "node" and subprocess.run(["node", "-e", "require('pg')"], capture_output=True, cwd=HERE).returncode:
        return "the package pg is not installed: npm install pg (NODE_PATH names where)"
    return None


def runs_scripts(address):
    """True if the server was built with the feature `lua`, which queues need."""
    import redis

    try:
        return redis.Redis.from_url(f"redis://{address}/0").eval("return 1", 0) == 1
    except redis.ResponseError as error:
        if "need the feature" in str(error):
            return False
        raise


def addresses(language, arguments):
    """The addresses in a language's program, each with the one of this server."""
    if language in REDIS:
        return [(REDIS_ADDRESS, arguments.redis)]
    if language == "django":
        host, port = ADDRESS.split(":")
        return [(f'"HOST": "{host}"', f'"HOST": "{arguments.host}"'), (f'"PORT": "{port}"', f'"PORT": "{arguments.port}"')]
    return [(ADDRESS, f"{arguments.host}:{arguments.port}")]


def run(command, directory):
    return subprocess.run(
        list(map(str, command)), cwd=directory, capture_output=True, text=True, timeout=SECONDS
    )


def started(language, text, directory):
    """Runs a program. Returns the ended process with its output."""
    if language == "shell":
        named = os.environ.get("SARDONYX")
        if named:
            text = f'sardonyx() {{ "{pathlib.Path(named).resolve()}" "$@"; }}\n{text}'
        return run(["bash", "-euo", "pipefail", "-c", text], directory)
    if language in ("rq", "celery", "django"):
        # The interpreter's own directory has the commands `rq`, `celery`, `django-admin` and `python3` of the environment.
        path = f'export PATH="{pathlib.Path(sys.executable).parent}:$PATH"\n'
        return run(["bash", "-euo", "pipefail", "-c", path + text], directory)
    if language in ("python", "sqlalchemy", "redis"):
        return run([sys.executable, "-c", text], directory)
    if language == "node":
        return run(["node", "-e", text], HERE)
    if language == "java":
        (directory / "Transfer.java").write_text(text)
        return run(["java", "-cp", os.environ["JDBC_JAR"], "Transfer.java"], directory)
    if language == "go":
        (directory / "main.go").write_text(text)
        for step in (["go", "mod", "init", "transfer"], ["go", "mod", "tidy"]):
            done = run(step, directory)
            if done.returncode:
                return done
        return run(["go", "run", "."], directory)
    assert language == "rust", language
    (directory / "src").mkdir()
    (directory / "src" / "main.rs").write_text(text)
    (directory / "Cargo.toml").write_text(
        '[package]\nname = "transfer"\nversion = "0.1.0"\nedition = "2024"\n[dependencies]\npostgres = "0.19"\n'
    )
    return run(["cargo", "run", "--quiet"], directory)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("host")
    parser.add_argument("port")
    parser.add_argument("--redis", default="", metavar="HOST:PORT")
    parser.add_argument("--only", default="", metavar="LANGUAGES")
    arguments = parser.parse_args()
    all_programs = programs()
    wanted = arguments.only or os.environ.get("QUICKSTART", "")
    only = [name for name in wanted.split(",") if name] or list(all_programs)
    failed, ran = [], []
    for language in only:
        absent = left_out(language, arguments.redis)
        if absent:
            print(f"{language:<11}left out  {absent}", flush=True)
            continue
        text = all_programs[language]
        for page, here in addresses(language, arguments):
            assert page in text, f"{language}: the page's address {page}"
            text = text.replace(page, here)
        with tempfile.TemporaryDirectory() as directory:
            done = started(language, text, pathlib.Path(directory))
        lines = done.stdout.strip().splitlines()
        if done.returncode == 0 and lines and lines[-1].strip('"') == EXPECTED:
            ran.append(language)
            print(f"{language:<11}ok        {lines[-1]}", flush=True)
        else:
            failed.append(language)
            print(f"{language:<11}FAILED    exit {done.returncode}\n{done.stdout}{done.stderr}", flush=True)
    print(f"{len(ran)} programs of the quick start ran: {', '.join(ran)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
