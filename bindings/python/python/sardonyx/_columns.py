"""Columns of a table as NumPy arrays and Arrow tables, made of buffers without a copy."""

import decimal
import uuid

import numpy

_TYPES = {
    "bool": "?",
    "i8": "i1",
    "i16": "<i2",
    "i32": "<i4",
    "i64": "<i8",
    "u8": "u1",
    "u16": "<u2",
    "u32": "<u4",
    "u64": "<u8",
    "f32": "<f4",
    "f64": "<f8",
    "date": "<M8[D]",
    "time": "<m8[us]",
    "timestamp": "<M8[us]",
}


def _scale(kind):
    return int(kind[len("decimal(") : -1])


def _integer(piece, kind):
    return int.from_bytes(piece, "little", signed=kind[0] != "u")


# The units that stand for a decimal that is no number.
_NON_FINITE = {2**127 - 1: "NaN", 2**127 - 2: "Infinity", -(2**127): "-Infinity"}


def _decimal(piece, kind):
    units = _integer(piece, kind)
    return decimal.Decimal(_NON_FINITE.get(units) or f"{units}E-{_scale(kind)}")


def _check_finite(name, data):
    """Arrow's decimals are numbers."""
    halves = numpy.frombuffer(data, "<u8").reshape(-1, 2)
    low, high = halves[:, 0], halves[:, 1]
    above = (high == 2**63 - 1) & (low >= 2**64 - 2)
    below = (high == 2**63) & (low == 0)
    if (above | below).any():
        raise ValueError(
            f"column {name!r} has NaN or an infinity, which Arrow's decimals do not have: use to_numpy, or condition it away"
        )


# Types that NumPy does not have: columns of objects.
_OBJECTS = {
    "decimal": _decimal,
    "uuid": lambda piece, _: uuid.UUID(bytes=piece),
    "i128": _integer,
    "u128": _integer,
}


def _objects(of, kind, count, data):
    width = len(data) // count if count else 1
    array = numpy.empty(count, dtype=object)
    array[:] = [of(data[at : at + width], kind) for at in range(0, len(data), width)]
    return array


def _absent(count, validity):
    present = numpy.unpackbits(numpy.frombuffer(validity, "u1"), count=count, bitorder="little")
    return present == 0


def to_numpy(parts):
    """A dictionary of arrays; those of columns that may be ``None`` are masked."""
    return {part[0]: _array(*part[1:]) for part in parts}


def _array(kind, count, data, offsets, validity):
    if offsets is not None:
        ends = numpy.frombuffer(offsets, "<u8")
        pieces = [data[start:end] for start, end in zip(ends[:-1], ends[1:], strict=True)]
        if kind == "text":
            strings = numpy.dtypes.StringDType()
            array = numpy.array([piece.decode() for piece in pieces], dtype=strings)
        else:
            array = numpy.empty(count, dtype=object)
            array[:] = pieces
    elif kind == "date":
        array = numpy.frombuffer(data, "<i4").astype("<i8").view("<M8[D]")
    elif kind in _TYPES:
        array = numpy.frombuffer(data, _TYPES[kind])
    elif of := _OBJECTS.get(kind.partition("(")[0]):
        array = _objects(of, kind, count, data)
    else:
        array = numpy.frombuffer(data, f"V{len(data) // count if count else 1}")
    if validity is None:
        return array
    return numpy.ma.MaskedArray(array, mask=_absent(count, validity))


def to_arrow(parts):
    """A ``pyarrow.Table``; text, bytes and numbers are the buffers themselves."""
    import pyarrow

    types = {
        "bool": pyarrow.bool_(),
        "i8": pyarrow.int8(),
        "i16": pyarrow.int16(),
        "i32": pyarrow.int32(),
        "i64": pyarrow.int64(),
        "u8": pyarrow.uint8(),
        "u16": pyarrow.uint16(),
        "u32": pyarrow.uint32(),
        "u64": pyarrow.uint64(),
        "f32": pyarrow.float32(),
        "f64": pyarrow.float64(),
        "text": pyarrow.large_string(),
        "bytes": pyarrow.large_binary(),
        "date": pyarrow.date32(),
        "time": pyarrow.time64("us"),
        "timestamp": pyarrow.timestamp("us", tz="UTC"),
    }
    names, arrays = [], []
    for name, kind, count, data, offsets, validity in parts:
        if kind.startswith("decimal"):
            of = pyarrow.decimal128(38, _scale(kind))
            _check_finite(name, data)
        else:
            of = types.get(kind) or pyarrow.binary(len(data) // count if count else 16)
        if kind == "bool":
            data = numpy.packbits(numpy.frombuffer(data, "?"), bitorder="little").tobytes()
        buffers = [validity, data] if offsets is None else [validity, offsets, data]
        buffers = [buffer if buffer is None else pyarrow.py_buffer(buffer) for buffer in buffers]
        names.append(name)
        arrays.append(pyarrow.Array.from_buffers(of, count, buffers))
    return pyarrow.table(arrays, names=names)
