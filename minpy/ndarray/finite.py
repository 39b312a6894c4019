"""Which elements of arrays are numbers: `nd.contrib.isnan`, `isinf` and `isfinite`.

What is larger than the largest finite number of its dtype is infinite; of integers, none is.
"""

from __future__ import annotations

import numpy

from minpy.ndarray.ndarray import NDArray
from minpy.ops.shared_docstrings import with_shared_texts

__all__ = ["isfinite", "isinf", "isnan"]


@with_shared_texts
def isnan(data: NDArray) -> NDArray:
    """Return 1 where an element is NaN, 0 elsewhere.

    {data_parameter}

    {returns_array}
        Of the shape and dtype of `data`. Its gradient is zero.

    {examples}
    >>> nd.contrib.isnan(nd.array([float('nan'), -1])).asnumpy()
    array([1., 0.], dtype=float32)
    """
    return data != data


@with_shared_texts
def isinf(data: NDArray) -> NDArray:
    """Return 1 where an element is infinite, of either sign, 0 elsewhere.

    {data_parameter}

    {returns_array}
        Of the shape and dtype of `data`. Its gradient is zero.

    {examples}
    >>> nd.contrib.isinf(nd.array([float('-inf'), float('nan'), -1])).asnumpy()
    array([1., 0., 0.], dtype=float32)
    """
    return data != data if numpy.dtype(data.dtype).kind != "f" else abs(data) > float(numpy.finfo(data.dtype).max)


@with_shared_texts
def isfinite(data: NDArray) -> NDArray:
    """Return 1 where an element is a finite number, 0 where it is infinite or NaN.

    {data_parameter}

    {returns_array}
        Of the shape and dtype of `data`. Its gradient is zero.

    {examples}
    >>> nd.contrib.isfinite(nd.array([float('-inf'), float('nan'), -1])).asnumpy()
    array([0., 0., 1.], dtype=float32)
    """
    return data == data if numpy.dtype(data.dtype).kind != "f" else abs(data) <= float(numpy.finfo(data.dtype).max)
