"""System calls that read from arrays: files, pipes and sockets, while another process changes them."""

import os
import socket

import numpy as np
import pytest
import workers
from test_processes import start

import sardonyx

SHAPE = (16, 512)


def written_by(write, nbytes):
    """The bytes that a function writes to a descriptor."""
    reading, writing = os.pipe()
    try:
        assert write(writing) == nbytes
        return os.read(reading, nbytes + 1)
    finally:
        os.close(reading)
        os.close(writing)


def check_everywhere(array, value, directory):
    """The array's bytes are the value's, with every call that writes them."""
    expected = np.full(SHAPE, float(value)).tobytes()
    path = directory / "array"
    array.tofile(path)
    assert path.read_bytes() == expected
    with open(path, "wb", buffering=0) as file:
        assert file.write(array) == array.nbytes
    assert path.read_bytes() == expected
    part = array[:8]
    assert written_by(lambda pipe: os.write(pipe, part), part.nbytes) == expected[: part.nbytes]
    here, there = socket.socketpair()
    with here, there:
        assert here.send(part) == part.nbytes
        assert there.recv(part.nbytes, socket.MSG_WAITALL) == expected[: part.nbytes]


def test_what_is_written_is_the_snapshot(name, mechanism, tmp_path):
    where = ("name", name)
    segment = workers.attach(where, mechanism)
    prices = segment.array("prices", shape=SHAPE)
    process, pipe = start(workers.fill, where, mechanism)

    def fill(value):
        pipe.send(value)
        assert pipe.recv() == value

    for value in range(1, 8):
        # Every other time an old snapshot keeps later changes from being folded.
        old = segment.snapshot() if value % 2 else None
        fill(value)
        with segment.snapshot() as snapshot:
            with pytest.raises(sardonyx.Conflict), segment.transaction():
                fill(-value)
                check_everywhere(snapshot["prices"], value, tmp_path)
                array = segment.touch(prices) if mechanism == "signal" else prices
                check_everywhere(array, value, tmp_path)
                prices[0, 0] = 99
            check_everywhere(snapshot["prices"], value, tmp_path)
        # Outside of a transaction it works, too, and shows some committed state of each page.
        prices.tofile(tmp_path / "array")
        found = np.fromfile(tmp_path / "array").reshape(SHAPE)
        assert set(np.unique(found)) <= {value, -value, 1 - value, value - 1}
        if old:
            old.close()
    pipe.send(None)
    process.join()
    assert process.exitcode == 0


def test_a_transaction_writes_what_it_has_changed(segment, tmp_path):
    prices = segment.array("prices", shape=SHAPE)
    with segment.transaction():
        segment.touch(prices, write=True)[:] = 3
        check_everywhere(prices, 3, tmp_path)
    check_everywhere(prices, 3, tmp_path)
