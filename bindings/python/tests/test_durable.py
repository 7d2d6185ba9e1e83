"""The arrays after a restart."""

import asyncio
import signal
import subprocess
import sys

import pytest
import workers

import sardonyx
from sardonyx import _types

WRITE = """
import os, signal, sys
import sardonyx
segment = sardonyx.segment(sys.argv[1], mechanism=sys.argv[2], address_space_bytes=1 << 30)
prices = segment.array("prices", shape=(3, 2000), dtype="i8")
with segment.transaction():
    prices[1] += 1
    segment.array("made", shape=(), dtype="f8")[...] = 2.5
with segment.transaction(wait=False) as later:
    prices[2] += 1
later.ticket.wait()
if sys.argv[3] == "kill":
    with segment.transaction():
        prices[0] = 99
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("end", ["close", "kill"])
def test_what_was_acknowledged_is_there_after_a_restart(tmp_path, mechanism, end):
    directory = str(tmp_path / "bank.sdx")
    for times in range(1, 4):
        ended = subprocess.run([sys.executable, "-c", WRITE, directory, mechanism, end])
        assert ended.returncode == (-signal.SIGKILL if end == "kill" else 0)
        with sardonyx.segment(directory, mechanism=mechanism, **workers.SMALL) as segment:
            assert segment.durable and segment.names() == ["made", "prices"]
            with segment.snapshot() as snapshot:
                rows = [set(row.tolist()) for row in snapshot["prices"]]
                assert rows == [{0}, {times}, {times}]
                assert snapshot["made"][()] == 2.5
        del segment, snapshot


def test_the_log_and_the_backup_can_be_on_disks_of_their_own(tmp_path):
    home, fast, slow = (tmp_path / name for name in ["bank.sdx", "fast", "slow"])
    with sardonyx.segment(home, log_directory=fast, backup_directory=slow, **workers.SMALL) as segment:
        with segment.transaction():
            segment.array("prices", shape=10)[:] = 7
        # The first checkpoint makes the backup.
        segment.checkpoint()
    del segment
    assert (fast / "log").is_dir() and (slow / "backup").is_dir()
    assert not (home / "log").exists() and not (home / "backup").exists()
    with sardonyx.segment(home, **workers.SMALL) as segment, segment.snapshot() as snapshot:
        assert snapshot["prices"].sum() == 70
    del segment, snapshot
    fast.rename(tmp_path / "faster")
    with pytest.raises(sardonyx.Error, match="log_directory"):
        sardonyx.segment(home, **workers.SMALL)
    sardonyx.segment(home, log_directory=tmp_path / "faster", **workers.SMALL).close()


def test_a_ticket_can_be_awaited(tmp_path):
    with sardonyx.segment(tmp_path / "bank.sdx", **workers.SMALL) as segment:
        prices = segment.array("prices", shape=10)

        def add():
            prices[0] += 1

        async def work():
            tickets = [segment.run_later(add)[1] for _ in range(10)]
            await asyncio.gather(*tickets)

        asyncio.run(work())
        assert prices[0] == 10
        segment.checkpoint()


def test_a_directory_that_cannot_be_opened_is_an_error(tmp_path):
    (tmp_path / "file").write_text("no directory")
    with pytest.raises(sardonyx.Error) as refused:
        sardonyx.segment(tmp_path / "file", **workers.SMALL)
    assert "file" in str(refused.value)


def test_a_damaged_type_is_an_error():
    for description in ["'f8", "__import__('os')", "[('a', 'f8'", "'f16x'", "(" * 200]:
        with pytest.raises(sardonyx.Damaged, match="damaged"):
            _types.restore(description)


def test_two_handles_of_one_process_are_one_segment(tmp_path):
    with sardonyx.segment(tmp_path / "b.sdx", **workers.SMALL) as one:
        with sardonyx.segment(tmp_path / "b.sdx", **workers.SMALL) as two:
            a = one.array("a", shape=3)
            b = two["a"]
            with one.transaction():
                a[0] = 1
            with two.transaction():
                assert b[0] == 1
                b[0] = 2
            with one.transaction():
                assert a[0] == 2


@pytest.mark.parametrize("checkpoint", [False, True])
def test_arrays_that_were_never_written_are_there_after_a_restart(tmp_path, mechanism, checkpoint):
    directory = tmp_path / "bank.sdx"
    shapes = {"old": 10, "large": 5 << 20, "second": 6 << 20, "third": 1 << 20}
    for n, (name, shape) in enumerate(shapes.items()):
        with sardonyx.segment(directory, mechanism=mechanism, **workers.SMALL) as segment:
            for known in list(shapes)[:n]:
                assert segment[known].shape == (shapes[known],)
                assert segment[known][-1] == 0
            segment.array(name, shape=shape, dtype="u1")
            # The second without a restart between, and larger than what is rounded up to.
            segment.array(f"{name} too", shape=3 * shape, dtype="u1")
            if checkpoint:
                segment.checkpoint()
    with sardonyx.segment(directory, mechanism=mechanism, **workers.SMALL) as segment:
        assert len(segment.names()) == 2 * len(shapes)
        third = segment["third too"]
        with segment.transaction():
            third[-1] = 7
