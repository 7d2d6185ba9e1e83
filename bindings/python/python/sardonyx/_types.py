"""How an element type is written down in the segment: as in NumPy's own file format."""

import ast

import numpy
from numpy.lib.format import descr_to_dtype, dtype_to_descr

from ._exceptions import Damaged


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
