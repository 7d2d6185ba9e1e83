#!/usr/bin/env python3
"""Interactive transactions of many clients, judged from outside by the history of their answers.

    bench/clients/histories.py [--clients 8] [--transactions 2000] [--keys 6] [--seed 1] [--kills 0] [--statements 1..4]
                               [--savepoints 0.0] [--holds 0.0] [--committed 0.1] [--patience 600]

Lists are read and appended to, as Elle does it (Kingsbury and Alvaro, "Elle: Inferring Isolation Anomalies from
Experimental Observations", VLDB 2020). A list shows the order in which it was written. So its reads give the dependencies of
transactions: one wrote before another one, read its element, or read before it wrote. These, with the order in which
transactions ended and began, must have no cycle: strict serializability. An element of a refused transaction must not exist;
one of a transaction without an answer may exist.

--transactions is the number of transactions of all clients together. --statements is the number of statements of each: from
the ninth on it runs aside, on a snapshot. Some writes have parameters; some transactions send the last statement together with
the commit. --savepoints: share of statements that set a savepoint or roll back to one. --holds: share of transactions that
pause for 0.1 s before their last statements. --kills: number of times the server is killed and restarted, after counts of
transactions that are drawn. --patience bounds the seconds of all this.

The judge is shown histories with known faults first, and must find each. At least the share of --committed must have committed
of those with an answer: otherwise a server that refuses everything would pass. Needs psycopg. Ends with 0 if the history is
sound.
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
    """A client's operations in order, ("append", key, element) or ("read", key, list), with times and outcome."""

    operations: list
    outcome: str
    began: float = 0.0
    ended: float = math.inf


def judge(transactions, final):
    """The fault of a history; None if it has none. `final` has the lists as they are in the end."""
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
                return f"list {key} has {element}, which no transaction appended"
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
    # A transaction without an answer has committed if one of its appends exists: then all of them must exist.
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
    # A transaction that ended before another one began comes first. The edges lead over the ends, so there are few.
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
        ("right, and one without an answer", True, [Transaction([append(0, 1)], UNKNOWN), ok(read(0, 1))], {0: [1]}),
        ("a lost update", False, [ok(read(0), append(0, 1)), ok(read(0), append(0, 2))], {0: [1, 2]}),
        ("a write skew", False, [ok(read(0), append(1, 1)), ok(read(1), append(0, 2))], {0: [2], 1: [1]}),
        ("a read of half", False, [ok(append(0, 1), append(1, 1)), ok(read(0, 1), read(1))], {0: [1], 1: [1]}),
        ("a read of what was refused", False, [Transaction([append(0, 1)], REFUSED), ok(read(0, 1))], {0: []}),
        ("a refused one that is there", False, [Transaction([append(0, 1)], REFUSED)], {0: [1]}),
        ("an acknowledged one that is lost", False, [ok(append(0, 1))], {0: []}),
        ("an old read", False, [ok(append(0, 1), began=0, ended=1), ok(read(0), began=2, ended=3)], {0: [1]}),
        ("own appends unseen", False, [ok(append(0, 1), read(0))], {0: [1]}),
        ("twice", False, [ok(append(0, 1))], {0: [1, 1]}),
        ("half of one without an answer", False, [Transaction([append(0, 1), append(1, 2)], UNKNOWN)], {0: [1], 1: []}),
        ("all of one without an answer", True, [Transaction([append(0, 1), append(1, 2)], UNKNOWN)], {0: [1], 1: [2]}),
        ("nothing of one without an answer", True, [Transaction([append(0, 1), append(1, 2)], UNKNOWN)], {0: [], 1: []}),
        ("a lost statement behind a snapshot", False, [ok(append(0, 1), append(1, 2))], {0: [1], 1: []}),
        ("an append that was rolled back", False, [ok(append(0, 1))], {0: [1, 2]}),
    ]


def parsed(text):
    return [int(element) for element in text.split(",") if element]


class Progress:
    """The number of transactions that all clients have ended."""

    def __init__(self):
        self.ended, self.changed = 0, threading.Condition()

    def note(self):
        with self.changed:
            self.ended += 1
            self.changed.notify_all()

    def reaches(self, count, until):
        """Waits until so many have ended; false if they do not until then."""
        with self.changed:
            return self.changed.wait_for(lambda: self.ended >= count, until - time.monotonic())


class Client(threading.Thread):
    """Runs transactions until it is to stop, and keeps their answers."""

    def __init__(self, number, arguments, dsn, elements, stop, progress):
        super().__init__(daemon=True)
        self.random = random.Random(arguments.seed * 1000 + number)
        self.keys, self.dsn, self.elements, self.stop = arguments.keys, dsn, elements, stop
        self.statements, self.savepoints, self.holds = arguments.statements, arguments.savepoints, arguments.holds
        self.transactions, self.failure, self.progress = [], None, progress

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
            self.progress.note()

    def transact(self, connection, psycopg):
        transaction = Transaction([], UNKNOWN, began=time.monotonic())
        self.transactions.append(transaction)
        try:
            connection.execute("BEGIN")
            # The number of operations at each savepoint.
            saved = []
            count = self.random.randint(*self.statements)
            held = self.random.randrange(count) if self.random.random() < self.holds else None
            for number in range(count):
                if number == held:
                    self.stop.wait(0.1)
                if self.random.random() < self.savepoints:
                    self.save_or_go_back(connection, transaction, saved)
                    continue
                key = self.random.randrange(self.keys)
                if self.random.random() < 0.5:
                    (text,) = connection.execute("SELECT v FROM lists WHERE k = %s", (key,)).fetchone()
                    transaction.operations.append(("read", key, parsed(text)))
                else:
                    element = next(self.elements)
                    transaction.operations.append(("append", key, element))
                    if number == count - 1 and self.random.random() < 0.5:
                        connection.execute(f"UPDATE lists SET v = v || ',' || '{element}' WHERE k = {key}; COMMIT")
                        transaction.outcome, transaction.ended = OK, time.monotonic()
                        return
                    # Each protocol of PostgreSQL: parameters need the extended one.
                    if self.random.random() < 0.5:
                        connection.execute("UPDATE lists SET v = v || ',' || %s WHERE k = %s", (str(element), key))
                    else:
                        connection.execute(f"UPDATE lists SET v = v || ',' || '{element}' WHERE k = {key}")
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
            # The server was killed: the transaction may have committed.
            connection.close()


    def save_or_go_back(self, connection, transaction, saved):
        """Sets a savepoint, or goes back to one: the operations since are not the transaction's."""
        if not saved or self.random.random() < 0.5:
            connection.execute(f"SAVEPOINT s{len(saved)}")
            saved.append(len(transaction.operations))
            return
        place = self.random.randrange(len(saved))
        connection.execute(f"ROLLBACK TO SAVEPOINT s{place}")
        del saved[place + 1 :]
        del transaction.operations[saved[place] :]


def bounds(text):
    """A range of numbers as `1..30`."""
    first, _, last = text.partition("..")
    return int(first), int(last or first)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--transactions", type=int, default=2000)
    parser.add_argument("--keys", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--statements", type=bounds, default=(1, 4))
    parser.add_argument("--savepoints", type=float, default=0.0)
    parser.add_argument("--holds", type=float, default=0.0)
    parser.add_argument("--committed", type=float, default=0.1)
    parser.add_argument("--patience", type=float, default=600)
    arguments = parser.parse_args()
    if not 0 <= arguments.kills < arguments.transactions:
        parser.error("--kills is less than --transactions")
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
        progress, until = Progress(), time.monotonic() + arguments.patience
        clients = [Client(number, arguments, dsn, elements, stop, progress) for number in range(arguments.clients)]
        for client in clients:
            client.start()
        kills = random.Random(arguments.seed).sample(range(1, arguments.transactions), arguments.kills)
        in_time = True
        for count in sorted(kills):
            in_time = in_time and progress.reaches(count, until)
            now[0].kill()
            now[0] = Server(path)
        in_time = in_time and progress.reaches(arguments.transactions, until)
        stop.set()
        for client in clients:
            client.join(60)
            if client.failure or client.is_alive():
                print(f"FAILED: a client: {client.failure or 'hangs'}")
                return 1
        with psycopg.connect(now[0].dsn, autocommit=True) as connection:
            final = {key: parsed(text) for key, text in connection.execute("SELECT k, v FROM lists")}
        now[0].end()
    if not in_time:
        print(f"FAILED: {progress.ended} of {arguments.transactions} transactions in {arguments.patience} s")
        return 1
    transactions = [transaction for client in clients for transaction in client.transactions]
    counts = collections.Counter(transaction.outcome for transaction in transactions)
    wrong = judge(transactions, final)
    told = f"{counts[OK]} committed, {counts[REFUSED]} refused, {counts[UNKNOWN]} unknown, {arguments.kills} kills"
    if wrong:
        print(f"FAILED: {told}: {wrong}")
        return 1
    if counts[OK] == 0 or counts[OK] < arguments.committed * (counts[OK] + counts[REFUSED]):
        print(f"FAILED: {told}: too few have committed")
        return 1
    print(f"ok: {told}; strictly serializable")
    return 0


if __name__ == "__main__":
    sys.exit(main())
