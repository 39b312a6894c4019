"""Operators without inputs, which make arrays: `_zeros`, `_arange` and their kind, as symbol files hold them.

Without inputs there is no array whose class the result could have: called by themselves they return NumPy arrays.
`minpy.nd.zeros` and its kind are the functions for programs.

In a symbol's `shape`, a length of 0 is one that is not known: inference finds it, and `fill_in` puts it there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from minpy.core.base_operator import Shapes
from minpy.core.docstrings import documented
from minpy.core.dtypes import DTYPES
from minpy.core.errors import ArgumentError, DTypeError
from minpy.core.operator import Operator
from minpy.ops.inference.partial_shapes import UNKNOWN, PartialShape
from minpy.ops.inference.rule_parts import dtype_attribute
from minpy.ops.kernels.selecting import LARGE
from minpy.ops.registry import operator

__all__ = [
    "arange",
    "evenly_spaced",
    "eye",
    "fill_in",
    "full",
    "linspace",
    "ones",
    "shape_given",
    "shape_of_attribute",
    "zeros",
    "zeros_without_dtype",
]
_CTX_DTYPE = """
    ctx : str
        Accepted and not used.
    dtype : str
    """
_RESULT = """
    Returns
    -------
    numpy.ndarray

    Raises
    ------
    DTypeError
        If there is no such dtype.

    {examples}
    """

# How many numbers of `arange` are written at once, if there are many.
_ROW_LENGTH = 1024


def _dtype(name: str, dtype: Any) -> np.dtype:
    try:
        return np.dtype(dtype)
    except TypeError:
        raise DTypeError(f"{name}: unknown dtype {dtype!r}; give a numeric dtype such as 'float32'.") from None


def shape_given(shape: Any) -> PartialShape:
    """Return the shape that an attribute `shape` states: 0 is an unknown length, and () states nothing.

    Examples
    --------
    >>> shape_given((0, 3)), shape_given(3), shape_given(())
    ((-1, 3), (3,), None)
    """
    lengths = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape or ())
    return tuple(int(length) if length > 0 else UNKNOWN for length in lengths) or None


def fill_in(op: Operator, attributes: Mapping[str, Any], shape: tuple[int, ...]) -> dict[str, Any]:
    """Return the attributes with which an operator without inputs makes an array of the shape that was inferred.

    Parameters
    ----------
    op : Operator
    attributes : mapping
        As in the graph: `shape` may have zeros, and `_arange` may leave its end to `infer_range`.
    shape : tuple of int

    Examples
    --------
    >>> fill_in(zeros, {'shape': (0, 3)}, (2, 3))
    {'shape': (2, 3)}
    >>> arange(**fill_in(arange, {'start': 1, 'infer_range': True}, (3,)))
    array([1., 2., 3.], dtype=float32)
    """
    if "shape" in op.signature.attributes:
        return {**attributes, "shape": shape}
    if attributes.get("infer_range") and attributes.get("stop") is None:
        count = -(-shape[0] // attributes.get("repeat", 1))
        # Half a step before the next number: a whole one may be reached by rounding.
        stop = attributes["start"] + attributes.get("step", 1.0) * (count - 0.5)
        return {**attributes, "stop": stop, "infer_range": False}
    return dict(attributes)


def shape_of_attribute(inputs: Shapes, outputs: Shapes, *, shape: Any, **_: Any) -> tuple[Shapes, Shapes]:
    """Infer what the attribute `shape` says of the output."""
    return inputs, [shape_given(shape)]


@operator(name="_zeros")
@documented(ctx_dtype=_CTX_DTYPE, result=_RESULT)
def zeros(*, shape: tuple[int, ...] = (), ctx: str = "", dtype: str = "float32") -> np.ndarray:
    """Return zeros.

    Parameters
    ----------
    shape : tuple of int
    {ctx_dtype}

    {result}
    >>> nd._zeros(shape=(2,), dtype='int32')
    array([0, 0], dtype=int32)
    """
    return np.zeros(shape, _dtype("_zeros", dtype))


@operator(name="_ones")
@documented(ctx_dtype=_CTX_DTYPE, result=_RESULT)
def ones(*, shape: tuple[int, ...] = (), ctx: str = "", dtype: str = "float32") -> np.ndarray:
    """Return ones.

    Parameters
    ----------
    shape : tuple of int
    {ctx_dtype}

    {result}
    >>> nd._ones(shape=(2,))
    array([1., 1.], dtype=float32)
    """
    return np.ones(shape, _dtype("_ones", dtype))


@operator(name="_full")
@documented(ctx_dtype=_CTX_DTYPE, result=_RESULT)
def full(*, shape: tuple[int, ...] = (), ctx: str = "", dtype: str = "float32", value: float) -> np.ndarray:
    """Return an array filled with a number.

    Parameters
    ----------
    shape : tuple of int
    value : float
    {ctx_dtype}
        Integers take the integer part of the number.

    {result}
    >>> nd._full(shape=(2,), value=2.5)
    array([2.5, 2.5], dtype=float32)
    """
    return np.full(shape, np.asarray(value).astype(_dtype("_full", dtype)))


@operator(name="_zeros_without_dtype", dtypes=lambda inputs, outputs, *, dtype: (inputs, [_dtype_of_number(dtype)]))
@documented(result=_RESULT)
def zeros_without_dtype(*, shape: tuple[int, ...] | None = None, ctx: str = "", dtype: Any = -1) -> np.ndarray:
    """Return zeros whose dtype inference may find.

    Parameters
    ----------
    shape : tuple of int
    ctx : str
        Accepted and not used.
    dtype : int or str
        A name, or MXNet's number: 0 is float32, 1 float64, 2 float16, 3 uint8, 4 int32, 5 int8, 6 int64, 7 bool; with
        -1 it is what inference finds, and float32 in a call.

    {result}
    >>> nd._zeros_without_dtype(shape=(2,), dtype=4)
    array([0, 0], dtype=int32)
    """
    return np.zeros(shape or (), _dtype_of_number(dtype) or np.float32)


def _dtype_of_number(dtype: Any) -> np.dtype | None:
    """Return the dtype of MXNet's number or a name; None for -1."""
    if not isinstance(dtype, int):
        return _dtype("_zeros_without_dtype", dtype)
    if not -1 <= dtype < len(DTYPES):
        raise DTypeError(f"_zeros_without_dtype: unknown dtype {dtype}; MXNet's numbers are 0 to {len(DTYPES) - 1}.")
    return DTYPES[dtype] if dtype >= 0 else None


def evenly_spaced(start: float, stop: float, step: float, repeat: int, dtype: np.dtype) -> np.ndarray:
    """Return the numbers of `arange`. For a dtype of integers, their first and their distance are truncated, not each.

    Examples
    --------
    >>> evenly_spaced(1.3, 10, 1.3, 1, np.dtype('int32'))
    array([1, 2, 3, 4, 5, 6, 7], dtype=int32)
    """
    count = math.ceil((stop - start) / step) if step else 0
    if dtype.char == "f" and count >= LARGE and _is_exact(start, step, count):
        # NumPy writes one number after the other; sums of a column and a row are written many at once.
        row = np.arange(_ROW_LENGTH, dtype=dtype) * dtype.type(step)
        column = np.arange(start, start + count * step, _ROW_LENGTH * step).astype(dtype)
        numbers = np.add.outer(column, row).reshape(-1)[:count]
        return np.repeat(numbers, repeat) if repeat != 1 else numbers
    numbers = np.arange(start, stop, step)
    if dtype.kind in "iu":
        numbers = np.arange(len(numbers)) * int(step) + int(start)
    numbers = numbers.astype(dtype)
    return np.repeat(numbers, repeat) if repeat != 1 else numbers


def _is_exact(start: float, step: float, count: int) -> bool:
    """Tell whether all numbers are whole ones that float32 holds exactly."""
    return (
        start == int(start) and step == int(step) and max(abs(start), abs(start + step * (count + _ROW_LENGTH))) < 2**24
    )


@operator(name="_arange")
@documented(ctx_dtype=_CTX_DTYPE)
def arange(
    *,
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: int = 1,
    infer_range: bool = False,
    ctx: str = "",
    dtype: str = "float32",
) -> np.ndarray:
    """Return evenly spaced numbers from `start` on, before `stop`.

    Parameters
    ----------
    start : float
        The first number; without `stop` the end, and the first is 0.
    stop : float, optional
    step : float
    repeat : int
        How often each number stands there.
    infer_range : bool
        Whether the end is left to inference, with `start` the first number.
    {ctx_dtype}
        For integers, `start` and `step` are truncated; there are as many numbers as without.

    Returns
    -------
    numpy.ndarray

    {raises_argument_error}
        If the step is 0, or the end is left to inference and there is none.
    DTypeError
        If there is no such dtype.

    {examples}
    >>> nd._arange(start=1, stop=6, step=2, repeat=2)
    array([1., 1., 3., 3., 5., 5.], dtype=float32)
    """
    if not step:
        raise ArgumentError("_arange: step is 0; give another number.")
    if stop is None:
        if infer_range:
            raise ArgumentError("_arange: infer_range=True leaves the end to a graph's inference; give stop.")
        start, stop = 0.0, start
    return evenly_spaced(start, stop, step, repeat, _dtype("_arange", dtype))


@operator(name="_linspace", shapes=lambda inputs, outputs, *, num: (inputs, [(num,)]))
@documented(ctx_dtype=_CTX_DTYPE, result=_RESULT)
def linspace(
    *, start: float, stop: float, num: int, endpoint: bool = True, ctx: str = "", dtype: str = "float32"
) -> np.ndarray:
    """Return `num` evenly spaced numbers from `start` to `stop`.

    Parameters
    ----------
    start, stop : float
    num : int
    endpoint : bool
        Whether `stop` is the last of them.
    {ctx_dtype}

    {result}
    >>> nd._linspace(start=0, stop=1, num=3)
    array([0. , 0.5, 1. ], dtype=float32)
    """
    return np.linspace(start, stop, num, endpoint=endpoint).astype(_dtype("_linspace", dtype))


@operator(name="_eye", shapes=lambda inputs, outputs, *, N, M: (inputs, [(N, M or N)]))
@documented(ctx_dtype=_CTX_DTYPE, result=_RESULT)
def eye(*, N: int, M: int = 0, k: int = 0, ctx: str = "", dtype: str = "float32") -> np.ndarray:
    """Return ones on the k-th diagonal of an N x M matrix, zeros elsewhere.

    Parameters
    ----------
    N, M : int
        Number of rows and of columns; M = 0 for as many columns as rows.
    k : int
        Which diagonal: 0 is the main one, positive ones lie above it.
    {ctx_dtype}

    {result}
    >>> nd._eye(N=2, M=3, k=1)
    array([[0., 1., 0.],
           [0., 0., 1.]], dtype=float32)
    """
    return np.eye(N, M or None, k, _dtype("_eye", dtype))


@arange.def_infer_shape
def _arange_shapes(
    inputs: Shapes, outputs: Shapes, *, start: float, stop: float | None, step: float, repeat: int, infer_range: bool
) -> tuple[Shapes, Shapes]:
    if stop is None:
        if infer_range:
            return inputs, [(UNKNOWN,)]
        start, stop = 0.0, start
    return inputs, [(max(math.ceil((stop - start) / step), 0) * repeat,)]


for _operator in (zeros, ones, full, zeros_without_dtype):
    _operator.def_infer_shape(shape_of_attribute)
for _operator in (zeros, ones, full, arange, linspace, eye):
    _operator.def_infer_type(dtype_attribute("float32"))

for _operator in (zeros, ones, full, zeros_without_dtype, arange, linspace, eye):
    _operator.completed = partial(fill_in, _operator)
