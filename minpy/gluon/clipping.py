"""Gradients clipped by the norm of all of them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy

from minpy import ndarray as nd
from minpy.core.errors import ArgumentError, DTypeError, describe

__all__ = ["clip_global_norm"]


def clip_global_norm(arrays: Sequence[Any], max_norm: float, check_isfinite: bool = True) -> Any:
    """Scale arrays in place so that the norm of all their elements together is at most `max_norm`.

    The arrays are multiplied by min(1, max_norm / (norm + 1e-8)), where norm² is the sum of the squares of all elements
    of all arrays.

    Parameters
    ----------
    arrays : list of NDArray
        Usually gradients, of any shapes and floating dtypes, on any contexts.
    max_norm : float
    check_isfinite : bool
        Whether to warn of a norm that is not finite, and to return a number.

    Returns
    -------
    float or NDArray
        The norm before: a number of the arrays' dtype; if `check_isfinite` is False, an array of shape (1,).

    Raises
    ------
    ArgumentError
        If there are no arrays, or others than arrays among them.
    DTypeError
        If arrays are not of floating point.

    References
    ----------
    Pascanu, Mikolov and Bengio, On the difficulty of training recurrent neural networks, ICML 2013, algorithm 1.

    Examples
    --------
    >>> from minpy import gluon, nd
    >>> gradients = [nd.array([3, 4]), nd.array([12])]
    >>> print(gluon.utils.clip_global_norm(gradients, 1.3))
    13.0
    >>> print(gradients[0].asnumpy().round(4))
    [0.3 0.4]
    """
    if isinstance(arrays, nd.NDArray) or not len(arrays):
        raise ArgumentError(f"clip_global_norm: expected a list of one array or more, got {describe(arrays)}.")
    raws = [_buffer(position, array) for position, array in enumerate(arrays)]
    dtype = numpy.result_type(*raws, numpy.float32)
    with numpy.errstate(all="ignore"):
        squares = dtype.type(0)
        for raw in raws:
            flat = raw.ravel() if raw.dtype.itemsize > 2 else raw.ravel().astype(dtype)
            squares += numpy.dot(flat, flat)
        norm = numpy.sqrt(squares)
        scale = dtype.type(max_norm) / (norm + dtype.type(1e-8))
    if check_isfinite and not numpy.isfinite(norm):
        warnings.warn(
            f"clip_global_norm: the norm is {norm}: a gradient has values that are not finite, and clipping makes no "
            "sense of them.",
            UserWarning,
            stacklevel=2,
        )
    if not scale >= 1:
        factor = scale.item()
        for array in arrays:
            array *= factor
    return norm if check_isfinite else nd.array([norm], ctx=arrays[0].context, dtype=dtype)


def _buffer(position: int, array: Any) -> numpy.ndarray:
    if not isinstance(array, nd.NDArray):
        raise ArgumentError(f"clip_global_norm: arrays[{position}] must be an array, got {describe(array)}.")
    raw: numpy.ndarray = array._data
    if raw.dtype.kind != "f" and raw.dtype.name != "bfloat16":
        raise DTypeError(
            f"clip_global_norm: arrays[{position}] is {describe(raw)}: only arrays of floating point can be scaled in "
            "place. Leave it out, or cast it with astype('float32')."
        )
    return raw
