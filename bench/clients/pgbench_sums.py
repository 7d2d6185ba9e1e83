"""The four sums of pgbench's tables, which are equal after any number of whole transactions."""

import subprocess

COLUMNS = {"abalance": "accounts", "tbalance": "tellers", "bbalance": "branches", "delta": "history"}


def ask(environment, query):
    """A query's answer as text, by psql; an error ends the program."""
    ran = subprocess.run(["psql", "-XAt", "-c", query], env=environment, capture_output=True, text=True, check=True)
    return ran.stdout.strip()


def sums(environment):
    """The sums; 0 of a table without rows, as the history is before the first transaction."""
    texts = [f"SELECT coalesce(sum({column}), 0) FROM pgbench_{table}" for column, table in COLUMNS.items()]
    return [int(ask(environment, text)) for text in texts]
