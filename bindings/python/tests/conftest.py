"""Segments for the tests: by each mechanism that the kernel offers."""

import itertools
import os

import pytest

import sardonyx

NUMBERS = itertools.count()
SMALL = {"address_space_bytes": 1 << 30}


def offered(mechanism):
    try:
        sardonyx.private(mechanism=mechanism, **SMALL).close()
    except sardonyx.Error as error:
        assert "not available" in str(error)
        return False
    return True


@pytest.fixture(params=["asynchronous", "signal"])
def mechanism(request):
    if not offered(request.param):
        pytest.skip(f"this kernel does not offer the {request.param} mechanism")
    return request.param


@pytest.fixture
def segment(mechanism):
    with sardonyx.private(mechanism=mechanism, **SMALL) as segment:
        yield segment


@pytest.fixture
def name():
    """A name for a volatile segment that no other test run has."""
    name = f"sardonyx-test-{os.getpid()}-{next(NUMBERS)}"
    yield name
    if os.path.exists(f"/dev/shm/{name}"):
        os.unlink(f"/dev/shm/{name}")
