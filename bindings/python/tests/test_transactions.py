"""Transactions of one thread and of several threads on arrays that outlive them."""

import asyncio
import gc
import threading

import numpy as np
import pytest

import sardonyx


def test_what_is_committed_stays_and_what_raises_is_undone(segment):
    prices = segment.array("prices", shape=1000)
    with segment.transaction():
        prices[3:7] += 1
    assert prices[2:8].tolist() == [0, 1, 1, 1, 1, 0]
    with pytest.raises(KeyError):
        with segment.transaction():
            prices[3:7] += 1
            prices[999] = 5
            assert prices[3] == 2 and prices[999] == 5
            raise KeyError("no")
    with segment.snapshot() as snapshot:
        assert snapshot["prices"].sum() == 4
    assert prices.sum() == 4
    with segment.transaction():
        prices[3:7] += 1
    assert prices.sum() == 8


def test_arrays_are_read_only_outside_of_transactions(segment):
    prices = segment.array("prices", shape=10)
    for _ in range(3):
        with pytest.raises(ValueError, match="read-only"):
            prices[0] = 1
        with pytest.raises(ValueError, match="read-only"):
            prices += 1
        with pytest.raises(ValueError, match="cannot set WRITEABLE"):
            prices.flags.writeable = True
        with pytest.raises(ValueError, match="cannot set WRITEABLE"):
            prices[2:].flags.writeable = True
        with segment.transaction():
            prices[0] += 1
    assert prices[0] == 3


def test_a_write_through_a_kept_slice_is_reported_and_undone(segment):
    prices = segment.array("prices", shape=2000)
    other = segment.array("other", shape=2000)
    with segment.transaction():
        kept, untouched = prices[1990:], other[5:]
        kept[:] = 7
    for victim, message in [(kept, "page"), (untouched, "inside of `with segment.transaction")]:
        victim[0] = 99
        with pytest.raises(sardonyx.WrittenOutside, match=message):
            with segment.transaction():
                pytest.fail("it must not begin")
        assert kept[0] == 7 and untouched[0] == 0
        with segment.transaction():
            prices[0] += 1
    with segment.snapshot() as snapshot:
        assert snapshot["prices"][1990] == 7 and snapshot["other"].sum() == 0
        assert snapshot["prices"][0] == 2


def test_a_write_outside_never_leaks_into_an_array_that_is_made_or_asked_for(segment):
    prices = segment.array("prices", shape=10)
    with segment.transaction():
        kept = prices[:]
    kept[1] = 99
    with pytest.raises(sardonyx.WrittenOutside):
        segment.array("other", shape=10)
    with segment.snapshot() as snapshot:
        assert snapshot.names() == ["prices"] and snapshot["prices"].sum() == 0


def test_a_part_can_fail_alone(segment):
    prices = segment.array("prices", shape=2000)
    with segment.transaction():
        prices[0] = 1
        with segment.nested():
            prices[1] = 2
        with pytest.raises(KeyError):
            with segment.nested():
                prices[0] = prices[1] = prices[1500] = 9
                inner = segment.array("inner", shape=3)
                inner[:] = 4
                with segment.nested():
                    prices[2] = 9
                raise KeyError("no")
        assert prices[:3].tolist() == [1, 2, 0] and prices[1500] == 0
        assert not inner.flags.writeable and "inner" not in segment
        prices[2] = 3
    with segment.snapshot() as snapshot:
        assert snapshot["prices"].sum() == 6 and snapshot.names() == ["prices"]


def test_one_transaction_at_a_time_in_a_thread(segment):
    prices = segment.array("prices", shape=10)
    with segment.transaction():
        prices[0] = 1
        with pytest.raises(sardonyx.InsideTransaction, match="nested"):
            with segment.transaction():
                pytest.fail("it must not begin")
        with pytest.raises(sardonyx.InsideTransaction):
            segment.run(lambda: None)
        prices[1] = 1
    assert prices.sum() == 2
    with pytest.raises(sardonyx.NoTransaction):
        with segment.nested():
            pass
    transaction = segment.transaction()
    with pytest.raises(sardonyx.NoTransaction):
        transaction.__exit__(None, None, None)


def test_a_transaction_that_nobody_can_end_is_undone(segment):
    prices = segment.array("prices", shape=10)
    transaction = segment.transaction()
    transaction.__enter__()
    prices[0] = 1
    del transaction
    gc.collect()
    with segment.transaction():
        assert prices[0] == 0


def test_a_transaction_is_ended_by_its_own_thread(segment):
    prices = segment.array("prices", shape=10)
    transaction = segment.transaction()
    refused = []

    def end():
        try:
            transaction.__exit__(None, None, None)
        except sardonyx.Error as error:
            refused.append(str(error))

    with transaction:
        prices[0] = 1
        thread = threading.Thread(target=end)
        thread.start()
        thread.join()
        prices[1] = 1
    assert "another thread" in refused[0] and prices.sum() == 2


def in_thread(function):
    """The result or exception of a function in another thread."""
    outcome = []

    def call():
        try:
            outcome.append((function(), None))
        except BaseException as error:
            outcome.append((None, error))

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    result, error = outcome[0]
    if error is not None:
        raise error
    return result


def test_a_conflict_is_raised_and_the_loser_has_no_effect(segment):
    prices = segment.array("prices", shape=10)

    def other():
        mine = segment.array("prices")
        with segment.transaction():
            mine[0] += 10

    with pytest.raises(sardonyx.Conflict, match="run it again"):
        with segment.transaction():
            seen = prices[0]
            in_thread(other)
            assert prices[0] == seen
            prices[1] = 1
    with segment.transaction():
        assert prices[:2].tolist() == [10, 0]


def test_a_function_is_run_again_after_a_conflict(segment):
    prices = segment.array("prices", shape=10)
    attempts = []

    def other():
        mine = segment.array("prices")
        with segment.transaction():
            mine[0] += 10

    def add(amount, *, to):
        prices[to] += amount
        attempts.append(prices[to])
        if len(attempts) <= 3:
            in_thread(other)
        return prices[to]

    assert segment.run(add, 5, to=0) == 35
    assert attempts == [5, 15, 25, 35]
    with pytest.raises(ZeroDivisionError):
        segment.run(lambda: (prices.__setitem__(0, 1), 1 / 0))
    assert prices[0] == 35

    async def asynchronous():
        prices[0] = 1


    with pytest.raises(TypeError, match="asynchronous"):
        segment.run(asynchronous)


def test_an_exclusive_transaction_does_not_conflict(segment):
    prices = segment.array("prices", shape=10)
    began, outcome = threading.Event(), []

    def other():
        mine = segment.array("prices")
        try:
            with segment.transaction():
                mine[0] += 10
                began.set()
        except sardonyx.Conflict as error:
            outcome.append(error)

    thread = threading.Thread(target=other)
    with segment.transaction(exclusive=True):
        thread.start()
        began.wait()
        # The other thread's commit has to wait until this one is over, and then conflicts.
        prices[0] += 1
    thread.join()
    assert outcome
    with segment.transaction():
        assert prices[0] == 1


def test_increments_of_threads_are_all_there(segment):
    segment.array("counters", shape=(4, 512), dtype="i8")

    def count():
        mine = segment.array("counters")

        def increment(n):
            mine[n % 4, 0] += 1

        for n in range(200):
            segment.run(increment, n)

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with segment.snapshot() as snapshot:
        assert snapshot["counters"][:, 0].tolist() == [200] * 4


def test_a_snapshot_does_not_change(segment):
    prices = segment.array("prices", shape=(3, 1024))
    with segment.transaction():
        prices[:] = 1
    with segment.snapshot() as snapshot:
        before = snapshot.array("prices")
        for n in range(2, 20):
            with segment.transaction():
                prices[n % 3] = n
            assert before.sum() == 3 * 1024
            assert in_thread(lambda: before.sum()) == 3 * 1024
        assert not before.flags.writeable
        with pytest.raises(ValueError):
            before.flags.writeable = True
        with segment.snapshot() as now:
            assert now["prices"][:, 5].tolist() == [18, 19, 17]
        with pytest.raises(sardonyx.NotFound):
            snapshot["none"]
    with pytest.raises(sardonyx.NoTransaction, match="over"):
        snapshot.names()
    # Its arrays can still be read.
    assert before.shape == (3, 1024) and before.sum() > 0


def test_an_array_keeps_its_memory_when_all_else_is_gone(mechanism):
    segment = sardonyx.private(mechanism=mechanism, address_space_bytes=1 << 30)
    prices = segment.array("prices", shape=10)
    with segment.transaction():
        prices[:] = np.arange(10)
    part = prices[5:]
    segment.close()
    del segment, prices
    gc.collect()
    assert part.tolist() == [5, 6, 7, 8, 9]


def test_what_is_closed_says_so(segment):
    segment.close()
    for use in [segment.snapshot, segment.names, lambda: segment.array("a", 3)]:
        with pytest.raises(sardonyx.Error, match="closed"):
            use()
    assert "closed" in repr(segment)


def test_tickets_without_a_log_are_ready(segment):
    prices = segment.array("prices", shape=10)
    with segment.transaction(wait=False) as transaction:
        assert transaction.ticket is None
        prices[0] = 1
    transaction.ticket.wait()
    result, ticket = segment.run_later(lambda: prices[0] + 1)
    assert result == 2

    async def wait():
        await ticket
        return "ready"

    assert asyncio.run(wait()) == "ready"
    with pytest.raises(KeyError):
        with transaction:
            raise KeyError
    assert transaction.ticket is None


def test_a_thread_s_session_ends_with_it(segment):
    segment.array("prices", shape=10)
    # More threads, one after another, than there are places for sessions.
    for n in range(1100):

        def add():
            mine = segment.array("prices")
            with segment.transaction():
                mine[0] += 1

        in_thread(add)
    assert segment["prices"][0] == 1100


def test_a_thread_goes_on_seeing_what_it_committed(segment):
    prices = segment.array("prices", shape=10)
    with segment.snapshot():
        for n in range(1, 4):
            with segment.transaction():
                prices[3] = n
            assert prices[3] == n


def test_conflicts_are_told_by_array(segment):
    """A conflict names the array, and the segment counts the conflicts."""
    quiet = segment.array("quiet", shape=(600,))
    busy = segment.array("busy", shape=(600,))
    assert segment.conflicts() == {}

    def change(array, index):
        with segment.transaction():
            segment[array][index] += 1

    # (A transaction that changes nothing does not conflict.)
    for number in range(1, 4):
        with pytest.raises(sardonyx.Conflict, match="busy") as raised:
            with segment.transaction():
                quiet[0] = busy[1] + number
                in_thread(lambda: change("busy", 2))
        assert raised.value.array == "busy"
        assert raised.value.page > 0
    with pytest.raises(sardonyx.Conflict) as raised:
        with segment.transaction():
            busy[599] = quiet[0] + 1
            in_thread(lambda: change("quiet", 5))
    assert raised.value.array == "quiet"
    assert list(segment.conflicts().items()) == [("busy", 3), ("quiet", 1)]
    segment.remove("busy")
    assert segment.conflicts() == {"quiet": 1, None: 3}


def test_spread_rows_do_not_conflict(segment):
    """With one row on a page, transactions that use different rows do not conflict."""
    row = np.dtype([("owner", "S32"), ("balance", "i8")])
    rows = segment.array("rows", 10, sardonyx.spread(row))
    assert rows.strides == (4096,) and rows.dtype.itemsize == 4096
    numbers = segment.array("numbers", 10, sardonyx.spread("f8", per_page=3))
    assert numbers.strides == (2048,)

    def change():
        with segment.transaction():
            segment["rows"][3] = (b"other", 7)
            segment["numbers"]["value"][9] = 2.5

    with segment.transaction():
        rows["balance"][2] = 5
        rows["owner"][2] = b"this"
        in_thread(change)
    assert segment.conflicts() == {}
    with segment.snapshot() as now:
        assert now["rows"]["balance"].tolist() == [0, 0, 5, 7] + [0] * 6
        assert now["rows"]["owner"][2:4].tolist() == [b"this", b"other"]
        assert now["numbers"]["value"][9] == 2.5
    for wrong in (0, 103):
        with pytest.raises(ValueError, match="1 to 102"):
            sardonyx.spread(row, per_page=wrong)
