"""Which elements of arrays are numbers: `nd.contrib.isnan`, `isinf` and `isfinite`.

What is larger than the largest finite number of its dtype is infinite; of integers, none is.
"""

from __future__ import annotations

import numpy

from minpy.ndarray.ndarray import NDArray

__all__ = ["isfinite", "isinf", "isnan"]


def isnan(data: NDArray) -> NDArray:
    """Return 1 where an element is NaN, 0 elsewhere.

    Parameters
    ----------
    data : NDArray

    Returns
    -------
    NDArray
        Of the shape and dtype of `data`. Its gradient is zero.

    Examples
    --------
    >>> from minpy import nd
    >>> nd.contrib.isnan(nd.array([float('nan'), -1])).asnumpy()
    array([1., 0.], dtype=float32)
    """
    return data != data


def isinf(data: NDArray) -> NDArray:
    """Return 1 where an element is infinite, of either sign, 0 elsewhere.

    Parameters
    ----------
    data : NDArray

    Returns
    -------
    NDArray
        Of the shape and dtype of `data`. Its gradient is zero.

    Examples
    --------
    >>> from minpy import nd
    >>> nd.contrib.isinf(nd.array([float('-inf'), float('nan'), -1])).asnumpy()
    array([1., 0., 0.], dtype=float32)
    """
    return data != data if numpy.dtype(data.dtype).kind != "f" else abs(data) > float(numpy.finfo(data.dtype).max)


def isfinite(data: NDArray) -> NDArray:
    """Return 1 where an element is a finite number, 0 where it is infinite or NaN.

    Parameters
    ----------
    data : NDArray

    Returns
    -------
    NDArray
        Of the shape and dtype of `data`. Its gradient is zero.

    Examples
    --------
    >>> from minpy import nd
    >>> nd.contrib.isfinite(nd.array([float('-inf'), float('nan'), -1])).asnumpy()
    array([0., 0., 1.], dtype=float32)
    """
    return data == data if numpy.dtype(data.dtype).kind != "f" else abs(data) <= float(numpy.finfo(data.dtype).max)
