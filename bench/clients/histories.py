#!/usr/bin/env python3
"""Interactive transactions of many clients, judged from outside by the history of what they were told.

    bench/clients/histories.py [--clients 8] [--seconds 10] [--keys 6] [--seed 1] [--kills 0]

Lists are read and appended to, as Elle does it (Kingsbury and Alvaro, "Elle: Inferring Isolation Anomalies from
Experimental Observations", VLDB 2020): a list shows in which order it was written, so from what was read follow the
dependencies of transactions: who wrote what another one wrote behind, read, or overwrote after it had read. These, with the
order in which transactions ended and began, must have no cycle: strict serializability. An element that was appended by a
transaction that was refused must be nowhere; one of a transaction whose fate nobody was told may be there.

With --kills the server is killed so often meanwhile, and started anew. The judge is shown histories with known faults first,
and must find each. Needs psycopg. Ends with 0 if the history is sound.
"""

import argparse
import bisect
import collections
import dataclasses
import itertools
import math
import pathlib
import random
import sys
import tempfile
import threading
import time

OK, REFUSED, UNKNOWN = "ok", "refused", "unknown"


@dataclasses.dataclass
class Transaction:
    """What a client did: ("append", key, element) or ("read", key, list), in order, when, and how it ended."""

    operations: list
    outcome: str
    began: float = 0.0
    ended: float = math.inf


def judge(transactions, final):
    """What is wrong with a history; None if nothing is. `final` has the lists as they are in the end."""
    writers = {}
    for at, transaction in enumerate(transactions):
        for kind, key, value in transaction.operations:
            if kind == "append":
                writers[key, value] = at
    for key, elements in final.items():
        if len(set(elements)) != len(elements):
            return f"list {key} has an element twice: {elements}"
        for element in elements:
            if (key, element) not in writers:
                return f"list {key} has {element}, which nobody appended"
            if transactions[writers[key, element]].outcome == REFUSED:
                return f"list {key} has {element}, of a transaction that was refused"
    for (key, element), at in writers.items():
        if transactions[at].outcome == OK and element not in final.get(key, []):
            return f"list {key} lacks {element}, which was acknowledged"
    happened = [
        at
        for at, transaction in enumerate(transactions)
        if transaction.outcome == OK
        or transaction.outcome == UNKNOWN
        and any(kind == "append" and value in final.get(key, []) for kind, key, value in transaction.operations)
    ]
    # One of which nobody knows whether it happened has happened if one of its appends is there: then all of them are.
    for at in happened:
        for kind, key, value in transactions[at].operations:
            if kind == "append" and value not in final.get(key, []):
                return f"list {key} lacks {value}, of a transaction of which a half is there: {transactions[at]}"
    edges = collections.defaultdict(set)
    for key, elements in final.items():
        for before, after in itertools.pairwise(elements):
            edges[writers[key, before]].add((writers[key, after], f"wrote list {key} before"))
    for at in happened:
        wrong = read_edges(transactions, at, final, writers, edges)
        if wrong:
            return wrong
    # Who had ended before another one began: by way of the ends, so that there are few edges.
    ends = sorted((transactions[at].ended, at) for at in happened if transactions[at].ended < math.inf)
    for number, (_, at) in enumerate(ends):
        edges[at].add((("end", number), "ended"))
        if number:
            edges["end", number - 1].add((("end", number), "ended"))
    moments = [moment for moment, _ in ends]
    for at in happened:
        number = bisect.bisect_left(moments, transactions[at].began) - 1
        if number >= 0:
            edges["end", number].add((at, "before it began"))
    for at in list(edges):
        edges[at] = {(to, why) for to, why in edges[at] if to != at}
    found = cycle(edges)
    if found:
        told = [f"{transactions[at]}\n    {why}" if isinstance(at, int) else f"    {why}" for at, why in found]
        return "a cycle:\n  " + "\n  ".join(told)
    return None


def read_edges(transactions, at, final, writers, edges):
    """The dependencies of what a transaction read. Returns what is wrong with it."""
    own = collections.defaultdict(list)
    for kind, key, value in transactions[at].operations:
        if kind == "append":
            own[key].append(value)
            continue
        mine = own[key]
        if value[len(value) - len(mine) :] != mine:
            return f"a transaction does not read its own appends to list {key}: {transactions[at]}"
        seen = value[: len(value) - len(mine)]
        elements = final.get(key, [])
        if elements[: len(seen)] != seen:
            return f"list {key} was read as {seen}, which is no beginning of {elements}"
        if seen:
            edges[writers[key, seen[-1]]].add((at, f"wrote what was read of list {key} by"))
        if len(seen) < len(elements):
            edges[at].add((writers[key, elements[len(seen)]], f"read list {key} before it was written by"))
    return None


def cycle(edges):
    """A cycle of a graph, as nodes with the reasons of the edges that leave them; None if there is none."""
    state, path = {}, []
    for root in list(edges):
        if root in state:
            continue
        stack = [(root, iter(edges[root]))]
        state[root], path = 1, [[root, ""]]
        while stack:
            at, rest = stack[-1]
            step = next(rest, None)
            if step is None:
                state[at] = 2
                stack.pop()
                path.pop()
                continue
            to, why = step
            path[-1][1] = why
            if state.get(to) == 1:
                start = next(number for number, (node, _) in enumerate(path) if node == to)
                return path[start:]
            if to not in state:
                state[to] = 1
                stack.append((to, iter(edges.get(to, ()))))
                path.append([to, ""])
    return None


def known_faults():
    """Histories that must be found wrong, and some that are right."""
    ok = lambda *operations, began=0.0, ended=math.inf: Transaction(list(operations), OK, began, ended)
    read, append = (lambda key, *elements: ("read", key, list(elements))), (lambda key, element: ("append", key, element))
    return [
        ("right", True, [ok(append(0, 1)), ok(read(0, 1), append(0, 2))], {0: [1, 2]}),
        ("right, and nobody knows of one", True, [Transaction([append(0, 1)], UNKNOWN), ok(read(0, 1))], {0: [1]}),
        ("a lost update", False, [ok(read(0), append(0, 1)), ok(read(0), append(0, 2))], {0: [1, 2]}),
        ("a write skew", False, [ok(read(0), append(1, 1)), ok(read(1), append(0, 2))], {0: [2], 1: [1]}),
        ("a read of half", False, [ok(append(0, 1), append(1, 1)), ok(read(0, 1), read(1))], {0: [1], 1: [1]}),
        ("a read of what was refused", False, [Transaction([append(0, 1)], REFUSED), ok(read(0, 1))], {0: []}),
        ("a refused one that is there", False, [Transaction([append(0, 1)], REFUSED)], {0: [1]}),
        ("an acknowledged one that is lost", False, [ok(append(0, 1))], {0: []}),
        ("an old read", False, [ok(append(0, 1), began=0, ended=1), ok(read(0), began=2, ended=3)], {0: [1]}),
        ("own appends unseen", False, [ok(append(0, 1), read(0))], {0: [1]}),
        ("twice", False, [ok(append(0, 1))], {0: [1, 1]}),
        ("half of one that nobody knows of", False, [Transaction([append(0, 1), append(1, 2)], UNKNOWN)], {0: [1], 1: []}),
        ("all of one that nobody knows of", True, [Transaction([append(0, 1), append(1, 2)], UNKNOWN)], {0: [1], 1: [2]}),
        ("nothing of one that nobody knows of", True, [Transaction([append(0, 1), append(1, 2)], UNKNOWN)], {0: [], 1: []}),
    ]


def parsed(text):
    return [int(element) for element in text.split(",") if element]


class Client(threading.Thread):
    """Runs transactions until it is to stop, and keeps what it was told."""

    def __init__(self, number, arguments, dsn, elements, stop):
        super().__init__(daemon=True)
        self.random = random.Random(arguments.seed * 1000 + number)
        self.keys, self.dsn, self.elements, self.stop = arguments.keys, dsn, elements, stop
        self.transactions, self.failure = [], None

    def run(self):
        try:
            self.work()
        except Exception as error:  # Told by the main thread, which ends with it.
            self.failure = error

    def work(self):
        import psycopg

        connection = None
        while not self.stop.is_set():
            if connection is None or connection.closed:
                try:
                    connection = psycopg.connect(self.dsn(), autocommit=True)
                except psycopg.OperationalError:
                    time.sleep(0.05)
                    continue
            self.transact(connection, psycopg)

    def transact(self, connection, psycopg):
        transaction = Transaction([], UNKNOWN, began=time.monotonic())
        self.transactions.append(transaction)
        try:
            connection.execute("BEGIN")
            for _ in range(self.random.randint(1, 4)):
                key = self.random.randrange(self.keys)
                if self.random.random() < 0.5:
                    (text,) = connection.execute("SELECT v FROM lists WHERE k = %s", (key,)).fetchone()
                    transaction.operations.append(("read", key, parsed(text)))
                else:
                    element = next(self.elements)
                    transaction.operations.append(("append", key, element))
                    connection.execute("UPDATE lists SET v = v || ',' || %s::text WHERE k = %s", (element, key))
            if self.random.random() < 0.1:
                connection.execute("ROLLBACK")
                transaction.outcome = REFUSED
                return
            connection.execute("COMMIT")
            transaction.outcome, transaction.ended = OK, time.monotonic()
        except psycopg.errors.SerializationFailure:
            transaction.outcome = REFUSED
            try:
                connection.execute("ROLLBACK")
            except psycopg.OperationalError:
                # The server was killed meanwhile: what was refused stays so.
                connection.close()
        except psycopg.OperationalError:
            # The server was killed, or is: whether it had committed nobody knows.
            connection.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--keys", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kills", type=int, default=0)
    arguments = parser.parse_args()
    for what, is_right, transactions, final in known_faults():
        wrong = judge(transactions, final)
        if (wrong is None) != is_right:
            print(f"FAILED: the judge says of {what}: {wrong}")
            return 1
    import psycopg

    from run import Server

    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory) / "bank.sdx"
        server = Server(path)
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            connection.execute("CREATE TABLE lists (k int PRIMARY KEY, v text NOT NULL)")
            for key in range(arguments.keys):
                connection.execute("INSERT INTO lists VALUES (%s, '')", (key,))
        now = [server]
        stop, elements = threading.Event(), itertools.count(1)
        dsn = lambda: now[0].dsn
        clients = [Client(number, arguments, dsn, elements, stop) for number in range(arguments.clients)]
        for client in clients:
            client.start()
        for _ in range(arguments.kills):
            time.sleep(arguments.seconds / (arguments.kills + 1))
            now[0].kill()
            now[0] = Server(path)
        time.sleep(arguments.seconds / (arguments.kills + 1))
        stop.set()
        for client in clients:
            client.join(60)
            if client.failure or client.is_alive():
                print(f"FAILED: a client: {client.failure or 'hangs'}")
                return 1
        with psycopg.connect(now[0].dsn, autocommit=True) as connection:
            final = {key: parsed(text) for key, text in connection.execute("SELECT k, v FROM lists")}
        now[0].end()
    transactions = [transaction for client in clients for transaction in client.transactions]
    counts = collections.Counter(transaction.outcome for transaction in transactions)
    wrong = judge(transactions, final)
    told = f"{counts[OK]} committed, {counts[REFUSED]} refused, {counts[UNKNOWN]} unknown, {arguments.kills} kills"
    if wrong:
        print(f"FAILED: {told}: {wrong}")
        return 1
    print(f"ok: {told}; strictly serializable")
    return 0


if __name__ == "__main__":
    sys.exit(main())
