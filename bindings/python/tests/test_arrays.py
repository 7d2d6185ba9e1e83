"""The possible arrays: creating, finding and removing them."""

import gc
import threading

import numpy as np
import pytest

import sardonyx

DTYPES = [
    "f8",
    "<i2",
    ">u4",
    "?",
    "c16",
    "S7",
    "U5",
    "M8[ns]",
    "V3",
    np.dtype([("id", "i8"), ("price", "f4"), ("name", "S10")]),
    np.dtype([("a", "u1"), ("b", "f8")], align=True),
    np.dtype([("point", "f4", (3,)), ("nested", [("x", "i2"), ("größe", "i2")])]),
]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_element_types_come_back(segment, dtype):
    dtype = np.dtype(dtype)
    made = segment.array("a", shape=(3, 5), dtype=dtype)
    values = np.zeros(15, dtype)
    if dtype.names is None:
        values[:] = np.arange(15).astype("u1").astype("V3" if dtype.kind == "V" else dtype)
    for n, field in enumerate(dtype.names or ()):
        values[field][n:] = 1
    with segment.transaction():
        made[:] = values.reshape(3, 5)
    with segment.snapshot() as snapshot:
        seen = snapshot["a"]
        assert seen.dtype == dtype and seen.shape == (3, 5) and seen.flags.c_contiguous
        assert (seen == values.reshape(3, 5)).all() and values[1:].tobytes().strip(b"\0")
    assert segment.array("a", (3, 5), dtype) is made


def test_fields_of_structures_are_written_in_place(segment):
    rows = segment.array("rows", 100, [("id", "i8"), ("price", "f8")])
    with segment.transaction():
        rows["id"] = np.arange(100)
        rows["price"][10:20] *= 2
        rows[50] = (7, 1.5)
    with segment.snapshot() as snapshot:
        assert snapshot["rows"]["id"].sum() == 4950 - 50 + 7
        assert snapshot["rows"][50].tolist() == (7, 1.5)


@pytest.mark.parametrize("shape", [(), 0, (0,), (3, 0, 2), 1, (2, 3, 4), (1,) * 64])
def test_shapes_come_back(segment, shape):
    made = segment.array("a", shape=shape, dtype="i4")
    with segment.transaction():
        made[...] = 7
    with segment.snapshot() as snapshot:
        seen = snapshot["a"]
        assert seen.shape == made.shape == np.zeros(shape).shape
        assert (seen == 7).all()


@pytest.mark.parametrize(
    "dtype", ["O", [("a", "i4"), ("b", "O")], "S", "V0", np.dtypes.StringDType()], ids=str
)
def test_types_with_references_or_without_bytes_are_refused(segment, dtype):
    with pytest.raises(TypeError, match="cannot live in a segment"):
        segment.array("a", shape=3, dtype=dtype)
    assert segment.names() == []


def test_shapes_that_cannot_be_are_refused(segment):
    for shape in [(1 << 62, 8), (1 << 40, 1 << 40, 0), (1,) * 65]:
        with pytest.raises(ValueError, match="cannot be made"):
            segment.array("a", shape=shape)
    with pytest.raises((ValueError, TypeError, OverflowError)):
        segment.array("a", shape=-1)
    with pytest.raises(sardonyx.Full, match="address_space_bytes|raise the limit"):
        segment.array("a", shape=1 << 30)
    for name in ["", "x" * 256]:
        with pytest.raises(ValueError, match="1 to 255 bytes"):
            segment.array(name, shape=3)
    with pytest.raises(ValueError, match="are reserved"):
        segment.array("sardonyx.x", shape=3)
    assert segment.names() == []


def test_an_array_of_another_shape_or_type_is_a_mismatch(segment):
    segment.array("a", shape=(2, 3), dtype="f4")
    with pytest.raises(sardonyx.Mismatch, match=r"shape \[2, 3\], not \[6\]"):
        segment.array("a", shape=6)
    with pytest.raises(sardonyx.Mismatch, match="type float32, not float64"):
        segment.array("a", dtype="f8")
    assert isinstance(sardonyx.Mismatch("x"), ValueError)
    with pytest.raises(sardonyx.NotFound, match="there is no array 'b'|no array \"b\""):
        segment["b"]


def test_names_and_removal(segment):
    assert segment.names() == [] and "a" not in segment
    for name in ["b", "ä", "a"]:
        segment.array(name, shape=3)
    assert segment.names() == ["a", "b", "ä"] and "ä" in segment
    assert segment.remove("b") and not segment.remove("b")
    del segment["a"]
    with pytest.raises(sardonyx.NotFound):
        del segment["a"]
    with pytest.raises(LookupError):
        segment["a"]
    assert segment.names() == ["ä"]


def test_memory_of_removed_arrays_is_used_again_and_is_zero(segment):
    size = segment.nbytes
    for n in range(1, 50):
        array = segment.array("a", shape=20_000, dtype="i8")
        assert not array.any()
        with segment.transaction():
            array[:] = n
        assert segment.remove("a")
        size = size if n > 1 else segment.nbytes
    assert segment.nbytes == size
    dirty = segment.array("a", shape=20_000, dtype="i8", zeroed=False)
    assert dirty.any()


def test_an_array_that_was_removed_is_never_written_again(segment):
    old = segment.array("a", shape=1000)
    with segment.transaction():
        kept = old[5:]
        segment.remove("a")
        assert not old.flags.writeable
    other = segment.array("b", shape=1000)
    with segment.transaction():
        with pytest.raises(ValueError):
            old[0] = 1
        other[0] = 2
    # Of the same name, shape and place: the same array.
    assert kept is not None and segment["b"] is other


def test_a_removal_that_is_undone_is_undone(segment):
    array = segment.array("a", shape=1000)
    with pytest.raises(KeyError):
        with segment.transaction():
            array[0] = 1
            segment.remove("a")
            segment.array("a", shape=5)
            raise KeyError
    with segment.transaction():
        array[1] = 2
    assert segment["a"] is array and array[:2].tolist() == [0, 2]


def test_a_removal_by_another_thread_makes_arrays_read_only(segment):
    a = segment.array("a", shape=1000)
    b = segment.array("b", shape=1000)

    def remove():
        segment.remove("a")
        segment.array("c", shape=1000)

    thread = threading.Thread(target=remove)
    thread.start()
    thread.join()
    with segment.transaction():
        assert not a.flags.writeable and b.flags.writeable
        with pytest.raises(ValueError):
            a[:] = 9
    assert not segment["c"].any()


def test_a_removal_conflicts_with_whoever_writes_meanwhile(segment):
    a = segment.array("a", shape=1000)

    def remove():
        segment.remove("a")
        segment.array("c", shape=1000)

    with pytest.raises(sardonyx.Conflict):
        with segment.transaction():
            thread = threading.Thread(target=remove)
            thread.start()
            thread.join()
            a[:] = 9
    assert not segment["c"].any()


def test_an_array_made_by_a_transaction_that_is_undone_was_never_made(segment):
    with pytest.raises(KeyError):
        with segment.transaction():
            made = segment.array("a", shape=10)
            made[:] = 5
            assert segment["a"] is made
            raise KeyError
    assert "a" not in segment
    other = segment.array("b", shape=10)
    with segment.transaction():
        assert not made.flags.writeable and other.flags.writeable
    assert not other.any()


def test_an_array_is_made_and_filled_in_one_transaction(segment):
    with segment.transaction():
        segment.array("a", shape=10)[:] = 5
    with segment.snapshot() as snapshot:
        assert snapshot["a"].sum() == 50


def test_the_segment_grows_under_arrays(segment):
    first = segment.array("first", shape=10)
    with segment.transaction():
        first[:] = 1
    grown = [segment.array(f"{n}", shape=(1 << 20,), dtype="u1") for n in range(20)]
    for n, array in enumerate(grown):
        with segment.transaction():
            array[:: 4096 * 3] = n
            first[0] += 1
    assert segment.nbytes > 20 << 20
    for n, array in enumerate(grown):
        assert array.max() == n
    assert first[0] == 21


def test_a_large_array_is_made_without_touching_it(segment):
    large = segment.array("large", shape=(1 << 29,), dtype="u1")
    with segment.transaction():
        large[::1 << 20] = 1
    with segment.snapshot() as snapshot:
        assert snapshot["large"][:: 1 << 20].sum() == 512
        assert snapshot["large"][1 :: 1 << 20].sum() == 0


def test_a_transaction_that_is_too_large_is_refused_and_undone(mechanism):
    options = {"transaction_bytes": 512 << 10, "address_space_bytes": 1 << 30}
    with sardonyx.private(mechanism=mechanism, **options) as segment:
        large = segment.array("large", shape=(1 << 20,))
        with pytest.raises(sardonyx.TransactionTooLarge, match="split it"):
            with segment.transaction():
                large[:] = 1
        assert not large.any()
        with segment.transaction():
            large[:1000] = 1
        assert large.sum() == 1000


def test_arrays_without_owners_are_forgotten(segment):
    for _ in range(100):
        segment.array("a", shape=10)
        gc.collect()
    array = segment["a"]
    with segment.transaction():
        array[0] += 1
    assert segment["a"] is array


def test_a_system_call_can_write_into_a_touched_array(segment, tmp_path):
    (tmp_path / "bytes").write_bytes(bytes(range(256)) * 64)
    array = segment.array("a", shape=256 * 64, dtype="u1")
    with segment.transaction():
        segment.touch(array[100:-100], write=True)
        segment.touch(array, write=True)
        with open(tmp_path / "bytes", "rb", buffering=0) as file:
            assert file.readinto(array) == 256 * 64
    with segment.snapshot() as snapshot:
        assert snapshot["a"].sum() == sum(range(256)) * 64
    with segment.transaction():
        with pytest.raises(sardonyx.Error, match="not inside"):
            segment.touch(np.zeros(3))
    with pytest.raises(sardonyx.NoTransaction):
        segment.touch(array)


def test_names_of_mechanisms_and_segments():
    with pytest.raises(ValueError, match="no mechanism"):
        sardonyx.private(mechanism="explicit")
    with pytest.raises(ValueError, match="file name"):
        sardonyx.volatile("a/b")
    with pytest.raises(ValueError):
        sardonyx.private(slow_reader_wait=-1)


def test_data_is_not_taken_for_a_shape(segment):
    data = np.arange(3)
    with pytest.raises(TypeError, match="data.shape"):
        segment.array("y", data)
    with pytest.raises(TypeError, match="data.shape"):
        segment["y"] = data
    assert segment.names() == []
    assert segment.array("n", np.int64(3)).shape == (3,)
    with segment.transaction():
        segment.array("y", data.shape, data.dtype)[...] = data
    assert segment["y"].tolist() == [0, 1, 2]


def test_the_bound_on_a_transaction_can_be_chosen(mechanism):
    options = {"mechanism": mechanism, "address_space_bytes": 1 << 30}
    for bound, is_large in [(None, True), (19 << 20, False)]:
        with sardonyx.private(transaction_bytes=bound, **options) as segment:
            values = segment.array("values", shape=20 << 17)
            if is_large:
                with segment.transaction():
                    values[:] = 1
            else:
                with pytest.raises(sardonyx.TransactionTooLarge):
                    with segment.transaction():
                        values[:] = 1
