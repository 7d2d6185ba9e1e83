"""The text of an element type in the segment: as in NumPy's own file format."""

import ast

import numpy
from numpy.lib.format import descr_to_dtype, dtype_to_descr

from ._exceptions import Damaged


PAGE_BYTES = 4096


def spread(dtype, per_page=1):
    """The element type with so much room behind each element that at most ``per_page`` stand on a page.

    Transactions conflict by page of 4096 bytes: with one row on a page, only those that use the same
    row do. A structured type keeps its fields; any other becomes the field ``"value"``.

    >>> import numpy, sardonyx
    >>> row = numpy.dtype([("owner", "S32"), ("balance", "i8")])
    >>> segment = sardonyx.private()
    >>> accounts = segment.array("accounts", 1000, sardonyx.spread(row))
    >>> accounts.strides
    (4096,)
    >>> accounts["balance"].sum()
    0
    >>> sardonyx.spread("f8", per_page=8).itemsize
    512
    """
    dtype = numpy.dtype(dtype)
    fitting = PAGE_BYTES // max(dtype.itemsize, 1)
    if not 1 <= per_page <= fitting:
        raise ValueError(
            f"{per_page} elements of {dtype.itemsize} bytes cannot be spread over a page of "
            f"{PAGE_BYTES} bytes each: choose 1 to {fitting}"
        )
    if dtype.names is None:
        dtype = numpy.dtype([("value", dtype)])
    # A part of a page; otherwise an element would be on two.
    room = PAGE_BYTES
    while room // 2 >= dtype.itemsize and PAGE_BYTES // (room // 2) <= per_page:
        room //= 2
    fields = [dtype.fields[name] for name in dtype.names]
    return numpy.dtype(
        {
            "names": list(dtype.names),
            "formats": [field[0] for field in fields],
            "offsets": [field[1] for field in fields],
            "itemsize": room,
        }
    )


def describe(dtype):
    """The element type and its description.

    Refuses what is not plain bytes: a pointer means nothing in another process.
    """
    dtype = numpy.dtype(dtype)
    if dtype.hasobject or dtype.itemsize == 0:
        raise TypeError(
            f"elements of type {dtype!r} cannot live in a segment: only types of a fixed number "
            "of bytes without references can, such as 'f8', 'i4', 'S16' or a structured type"
        )
    if type(dtype).__module__ not in ("numpy", "numpy.dtypes"):
        raise TypeError(f"elements of the extension type {dtype!r} cannot live in a segment")
    description = repr(dtype_to_descr(dtype))
    if restore(description) != dtype:
        raise TypeError(f"the element type {dtype!r} cannot be written down")
    return dtype, description


def restore(description):
    """The element type of a description."""
    try:
        return descr_to_dtype(ast.literal_eval(description))
    except (ValueError, SyntaxError, TypeError, IndexError, MemoryError, RecursionError) as error:
        raise Damaged(f"an array's element type is damaged: {description!r}") from error
