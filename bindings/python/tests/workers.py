"""The other processes of the tests. They are spawned, so this must be importable."""

import random

import sardonyx

SMALL = {"address_space_bytes": 1 << 30}


def attach(where, mechanism="best"):
    """The segment that a test names: a directory, or the name of a volatile one."""
    kind, place = where
    return {"directory": sardonyx.segment, "name": sardonyx.volatile}[kind](
        place, mechanism=mechanism, **SMALL
    )


def count(where, mechanism, times, each):
    """Increments one counter and one element of a row of its own."""
    segment = attach(where, mechanism)
    counters = segment.array("counters", shape=(4, 1024), dtype="i8")

    def increment():
        counters[0, 0] += 1
        counters[each, 1] += 1

    for _ in range(times):
        segment.run(increment)


def transfer(where, mechanism, seed, pipe):
    """Moves money between accounts for ever; reports the number of acknowledged moves."""
    segment = attach(where, mechanism)
    accounts, moves = segment["accounts"], segment["moves"]
    dice = random.Random(seed)
    done = 0

    def move(source, target, amount):
        accounts[source] -= amount
        accounts[target] += amount
        moves[seed] += 1

    while True:
        source, target = dice.sample(range(len(accounts)), 2)
        segment.run(move, source, target, dice.randrange(100))
        done += 1
        pipe.send(done)


def observe(where, mechanism, pipe):
    """Reads the sum of all accounts, by transactions and by snapshots, until it must end."""
    segment = attach(where, mechanism)
    accounts = segment["accounts"]
    sums = set()
    looks = 0
    while not pipe.poll():
        with segment.snapshot() as snapshot:
            sums.add(int(snapshot["accounts"].sum()))
        sums.add(segment.run(lambda: int(accounts.sum())))
        looks += 1
        if looks == 1:
            pipe.send("looking")
    pipe.send((sums, looks))


def hold(where, mechanism, exclusive, pipe):
    """Changes everything, and neither commits nor undoes it."""
    segment = attach(where, mechanism)
    accounts = segment["accounts"]
    with segment.transaction(exclusive=exclusive):
        accounts[:] = -1
        pipe.send("held")
        pipe.recv()


def fill(where, mechanism, pipe):
    """Sets all elements to each received value, and confirms it; ends at None."""
    segment = attach(where, mechanism)
    prices = segment["prices"]
    while (value := pipe.recv()) is not None:
        with segment.transaction():
            prices[:] = value
        pipe.send(value)
