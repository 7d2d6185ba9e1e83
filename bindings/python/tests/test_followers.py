"""Tables that another process has open, read meanwhile."""

import multiprocessing

import pytest

import sardonyx

SPAWN = multiprocessing.get_context("spawn")


def write(path, pipe):
    """Another program: it writes on request, and reports its progress."""
    with sardonyx.open(path) as bank:
        bank.create_table("accounts", {"id": "u64", "balance": "i64"}, key="id")
        while (balance := pipe.recv()) is not None:
            with bank.transaction() as tx:
                tx["accounts"].put(id=1, balance=balance)
            pipe.send(bank.position())


def test_another_process_is_read_while_it_writes(tmp_path):
    path = tmp_path / "bank.sdx"
    here, there = SPAWN.Pipe()
    process = SPAWN.Process(target=write, args=(path, there), daemon=True)
    process.start()
    # Otherwise the end of the process would not end a wait for its answer.
    there.close()
    here.send(100)
    position = here.recv()
    with pytest.raises(sardonyx.Locked):
        sardonyx.open(path)
    with sardonyx.follow(path) as reader:
        reader.wait_for(position, timeout=60)
        assert reader.lag() is not None
        with reader.snapshot() as then:
            assert then.get("accounts", 1) == {"id": 1, "balance": 100}
            here.send(70)
            reader.wait_for(here.recv(), timeout=60)
            with reader.snapshot(within=60) as now:
                assert now["accounts"][1]["balance"] == 70
            assert then["accounts"][1]["balance"] == 100
        # It is killed, and its acknowledged rows are found.
        process.kill()
        process.join()
        assert reader.snapshot().get("accounts", 1) == {"id": 1, "balance": 70}
        with sardonyx.open(path) as bank:
            with bank.transaction() as tx:
                tx["accounts"].update(1, balance=1)
            reader.wait_for(bank.position(), timeout=60)
            assert reader.snapshot().get("accounts", 1) == {"id": 1, "balance": 1}


def test_what_cannot_be_followed_says_why(tmp_path):
    with pytest.raises(sardonyx.NotFound):
        sardonyx.follow(tmp_path / "none.sdx")
    assert not (tmp_path / "none.sdx").exists()
    path = tmp_path / "bank.sdx"
    with sardonyx.open(path) as bank:
        reader = sardonyx.follow(path)
        with pytest.raises(ValueError, match="position"):
            reader.wait_for("nowhere")
        with pytest.raises(ValueError, match="timeout"):
            reader.wait_for(bank.position(), timeout=-1)
        far = f"{int(bank.position().split(':')[0]) + 1000}:0"
        with pytest.raises(sardonyx.Error, match="not reached in time"):
            reader.wait_for(far, timeout=0)
        snapshot = reader.snapshot()
        reader.close()
        assert "closed" in repr(reader)
        with pytest.raises(sardonyx.Error, match="closed"):
            reader.snapshot()
        snapshot.close()
