"""Several processes on one segment; some of them are killed."""

import multiprocessing
import os
import signal
import subprocess
import sys
import traceback

import numpy as np
import pytest
import workers

import sardonyx

SPAWN = multiprocessing.get_context("spawn")


@pytest.fixture(params=["volatile", "durable"])
def where(request, name, tmp_path):
    if request.param == "volatile":
        return ("name", name)
    return ("directory", str(tmp_path / "bank.sdx"))


def start(function, *arguments):
    """Another process, and this one's end of the pipe to it."""
    here, there = SPAWN.Pipe()
    process = SPAWN.Process(target=function, args=(*arguments, there), daemon=True)
    process.start()
    there.close()
    return process, here


def kill(process):
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    assert process.exitcode == -signal.SIGKILL


def test_increments_of_processes_are_all_there(where, mechanism):
    segment = workers.attach(where, mechanism)
    processes = [
        SPAWN.Process(target=workers.count, args=(where, mechanism, 100, each))
        for each in range(1, 4)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    with segment.snapshot() as snapshot:
        counters = snapshot["counters"]
        assert counters[0, 0] == 300 and counters[:, 1].tolist() == [0, 100, 100, 100]


def test_whoever_is_killed_leaves_the_invariant_to_the_others(where, mechanism):
    segment = workers.attach(where, mechanism)
    # The accounts of neighbours are on different pages.
    accounts = segment.array("accounts", shape=(64, 512), dtype="i8")
    with segment.transaction():
        accounts[:, 0] = 1000
    moves = segment.array("moves", shape=8, dtype="i8")
    watcher, watched = start(workers.observe, where, mechanism)
    assert watched.recv() == "looking"
    acknowledged = [0] * 8
    for seed in range(8):
        process, pipe = start(workers.transfer, where, mechanism, seed)
        # It is killed wherever it is by then.
        while acknowledged[seed] < 5 + seed * 7:
            acknowledged[seed] = pipe.recv()
        kill(process)
        try:
            while True:
                acknowledged[seed] = pipe.recv()
        except EOFError:
            pass
        with segment.transaction():
            assert accounts.sum() == 64_000
            accounts[seed, 0] += 1
            accounts[seed + 1, 0] -= 1
            # At most the one that was being acknowledged.
            assert moves[seed] - acknowledged[seed] in (0, 1)
    watched.send("end")
    sums, looks = watched.recv()
    watcher.join()
    assert watcher.exitcode == 0 and sums == {64_000} and looks > 0


@pytest.mark.parametrize("exclusive", [False, True])
def test_what_a_killed_process_had_not_committed_was_never_done(where, mechanism, exclusive):
    segment = workers.attach(where, mechanism)
    accounts = segment.array("accounts", shape=5000, dtype="i8")
    process, pipe = start(workers.hold, where, mechanism, exclusive)
    assert pipe.recv() == "held"
    assert not accounts.any()
    kill(process)
    with segment.transaction():
        assert not accounts.any()
        accounts[1] = 1
    assert accounts.sum() == 1


def in_child(function):
    """The exit code of a forked child that runs a function, and its output."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, str(function()).encode())
            code = 0
        except BaseException:
            os.write(writing, traceback.format_exc().encode())
            code = 1
        os._exit(code)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), said


def test_a_forked_child_is_told_so_and_can_open_again(where, mechanism):
    segment = workers.attach(where, mechanism)
    prices = segment.array("prices", shape=10)

    def child():
        for use in [segment.transaction().__enter__, segment.snapshot, segment.names]:
            with pytest.raises(sardonyx.Forked, match="open the segment again"):
                use()
        again = workers.attach(where, mechanism)
        mine = again["prices"]
        with again.transaction():
            mine[0] += 1
        return mine[0]

    assert in_child(child) == (0, "1.0")
    with segment.transaction():
        assert prices[0] == 1
        prices[0] += 1
        assert in_child(child)[0] == 1, "the transaction of the parent conflicts with no other"
    with segment.snapshot() as snapshot:
        assert snapshot["prices"][0] == 2


def test_arrays_are_plain_memory_in_a_child(segment):
    prices = segment.array("prices", shape=(20, 512))
    with segment.transaction():
        prices[:10] = 1

    def child():
        before = prices.sum()
        with open("/dev/null", "wb", buffering=0) as null:
            assert null.write(prices) == prices.nbytes
        with pytest.raises(sardonyx.Forked):
            segment.names()
        return before

    assert in_child(child) == (0, "5120.0")

    def changes():
        prices[0] += 100
        prices[19] += 100
        return prices[0, 0] + prices[1, 0] + prices[19, 511]

    with segment.transaction():
        prices[0] = 3
        prices[19] = 4
        assert in_child(changes) == (0, "208.0")
        assert prices[0, 0] == 3
    with segment.snapshot() as snapshot:
        assert snapshot["prices"][19, 0] == 4
        assert in_child(lambda: snapshot["prices"][0])[0] == 1
        frozen = snapshot["prices"]
        assert in_child(lambda: frozen[0, 0] + frozen[19, 0]) == (0, "7.0")
    assert prices[0, 0] == 3


INHERITED = """
import multiprocessing, os, sys
import numpy as np
import sardonyx
segment = sardonyx.private(mechanism=sys.argv[1], address_space_bytes=1 << 30)
prices = segment.array("prices", shape=100_000)
with segment.transaction():
    prices[:] = np.arange(100_000)

def work(part):
    try:
        segment.names()
    except sardonyx.Forked:
        return float(prices[part::4].sum())

if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(4) as pool:
        print(sum(pool.map(work, range(4))))
"""


def test_a_forked_pool_works_on_what_it_inherits(mechanism):
    command = [sys.executable, "-c", INHERITED, mechanism]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "4999950000.0\n", "")


SURVIVES = """
import faulthandler, sys
faulthandler.enable()
import sardonyx
segment = sardonyx.private(mechanism=sys.argv[1], address_space_bytes=1 << 30)
prices = segment.array("prices", shape=100_000)
with segment.transaction():
    prices[::512] = 1
print(prices.sum())
sys.stdout.flush()
if sys.argv[2] == "crash":
    faulthandler._sigsegv()
"""


def test_other_faults_go_to_the_handler_of_the_host(mechanism):
    def run(end):
        command = [sys.executable, "-c", SURVIVES, mechanism, end]
        return subprocess.run(command, capture_output=True, text=True)

    well, crashed = run("well"), run("crash")
    assert (well.returncode, well.stdout, well.stderr) == (0, "196.0\n", "")
    assert crashed.returncode == -signal.SIGSEGV and crashed.stdout == "196.0\n"
    assert "Fatal Python error: Segmentation fault" in crashed.stderr


def test_a_process_that_ends_leaves_nothing_behind(name):
    code = "import sardonyx, sys; s = sardonyx.volatile(sys.argv[1]); a = s.array('a', 3)"
    subprocess.run([sys.executable, "-c", code, name], check=True)
    with sardonyx.volatile(name, **workers.SMALL) as segment:
        assert segment.names() == []


def test_arrays_are_copied_when_they_are_sent(where):
    segment = workers.attach(where)
    prices = segment.array("prices", shape=10)
    with segment.transaction():
        prices[:] = 3
    with SPAWN.Pool(1) as pool:
        assert pool.apply(np.sum, (prices,)) == 30


def test_what_a_forked_child_raises_in_a_with_block_is_its_own(segment):
    prices = segment.array("prices", shape=10)
    transaction = segment.transaction()
    with transaction:
        prices[0] = 1
        nested = segment.nested()
        with nested:
            prices[1] = 1

            def child():
                # As if the exception left both blocks there.
                error = ZeroDivisionError()
                return [block.__exit__(type(error), error, None) for block in (nested, transaction)]

            assert in_child(child) == (0, "[False, False]")
    assert prices[:2].tolist() == [1, 1]
