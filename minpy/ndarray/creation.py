"""Making NDArrays: `array`, `zeros`, `ones`, `full`, `arange`, ... float32 unless a dtype is given."""

from __future__ import annotations

import sys
from typing import Any

import numpy

from minpy.context import CPU, Context, current_context, resolve_context
from minpy.core import aligned
from minpy.core.array import Array, create, new_array, raw_of
from minpy.core.buffers import loans, note_external
from minpy.core.docstrings import documented
from minpy.core.errors import ArgumentError, ArgumentValueError, ShapeError, describe
from minpy.core.followed import holds_followed, is_followed
from minpy.ndarray.array_functions import (  # noqa: F401  # where pickles of earlier versions look for them
    concatenate,
    histogram,
    moveaxis,
    onehot_encode,
    reset_arrays,
    split_v2,
    waitall,
)
from minpy.ndarray.conversion import filled, numeric_array
from minpy.ndarray.ndarray import NDArray
from minpy.ndarray.placement import place, require_dense
from minpy.ops.numpy.nested_lists import as_scalar, assembled, between, filled_with, spaced_by
from minpy.ops.shared_docstrings import with_shared_texts
from minpy.ops.tensor.creation import evenly_spaced

__all__ = [
    "arange",
    "array",
    "empty",
    "eye",
    "from_numpy",
    "full",
    "full_like",
    "linspace",
    "ones",
    "zeros",
]

_FLOAT32 = numpy.dtype("float32")
_OPTIONS = """
    ctx : Context, optional
        The device; this thread's default if left out.
    dtype : dtype, optional
        float32 if left out.
"""
_OUT = """
    out : NDArray, optional
        Where to write: an array of that shape, which is returned. Its device and dtype stay.
    name : str, optional
        Accepted and not used.

    Returns
    -------
    NDArray

    Raises
    ------
    ShapeError
        If `out` has another shape.
"""
_REFUSED = """
    ContextError
        For a device that cannot be allocated on.

    Examples
    --------
    >>> from minpy import nd
"""
_MADE = f"""
    Returns
    -------
    NDArray

    Raises
    ------{_REFUSED}"""


@with_shared_texts
def array(source_array: Any, ctx: Context | None = None, dtype: Any = None) -> NDArray:
    """Return an NDArray with the values of a list, number, NumPy array or NDArray.

    Parameters
    ----------
    source_array : array_like
    ctx : Context, optional
        The device; this thread's default if left out.
    dtype : dtype, optional
        By default the source's if it is an NDArray, else float32.

    {raises_argument_error}
        If the nesting is ragged.
    DTypeError
        If an element is not a number.

    {examples}
    >>> nd.array([1, 2, 3]).dtype
    <class 'numpy.float32'>
    """
    is_plain = ctx is None and type(source_array) is numpy.ndarray
    if dtype is None:
        dtype = _FLOAT32 if is_plain or not isinstance(source_array, Array) else source_array._data.dtype
    if is_plain and source_array.dtype == dtype:
        loan = loans.current
        if loan is not None:
            caller: Any = sys._getframe(1)
            is_lent = caller.f_code is loan[0] and caller.f_back is loan[1]
            if is_lent and source_array.base is None and source_array.flags.c_contiguous:
                return new_array(NDArray, source_array)
        if dtype is _FLOAT32 and source_array.nbytes < aligned.LARGE and current_context() is CPU:
            copied = create(NDArray)
            copied._data = source_array.copy()
            copied._node = None
            return copied
    if is_followed(source_array):
        return _followed(assembled("nd.array", source_array, dtype), ctx)
    data = numeric_array(source_array, dtype)
    if ctx is None and current_context() is CPU:
        return new_array(NDArray, data)
    return place(NDArray, data, resolve_context(ctx))


def _followed(result: Any, context: Context | None) -> Any:
    """Return what was made of recorded or traced values as an array of MXNet's semantics, on a device."""
    if not isinstance(result, Array):
        return result.as_nd_ndarray() if hasattr(result, "as_nd_ndarray") else result
    array: Any = result
    return array.as_nd_ndarray().as_in_context(resolve_context(context))


def _shape(shape: Any) -> Any:
    if isinstance(shape, str):
        raise ArgumentError(f"a shape is {shape!r}; expected a whole number, or a tuple of them: (2, 3).")
    return shape.shape if isinstance(shape, Array) else shape


def _filled(name: str, out: NDArray, shape: Any, value: Any) -> NDArray:
    """Write a number, or an array of the shape, into all of `out`, which must have a shape."""
    shape = _shape(shape)
    shape = (shape,) if isinstance(shape, (int, numpy.integer)) else tuple(shape)
    if out.shape != shape:
        raise ShapeError(f"{name}: out has shape {out.shape}, the result has {shape}; they must be equal.")
    out[:] = value
    return out


@with_shared_texts
@documented(options=_OPTIONS)
def empty(
    shape: int | tuple[int, ...], ctx: Context | None = None, dtype: Any = None, stype: str | None = None
) -> NDArray:
    """Return an array whose elements are not set.

    Parameters
    ----------
    shape : int or tuple of int
    {options}
    stype : str, optional
        Storage type; only 'default', a dense array.

    {returns_array}

    {raises_argument_error}
        For another storage than a dense one.
    ContextError
        For a device that cannot be allocated on.

    {examples}
    >>> nd.empty((2, 3)).shape
    (2, 3)
    """
    require_dense("nd.empty", stype)
    return place(NDArray, aligned.empty(_shape(shape), numpy.float32 if dtype is None else dtype), resolve_context(ctx))


@with_shared_texts
@documented(options=_OPTIONS)
def zeros(
    shape: int | tuple[int, ...],
    ctx: Context | None = None,
    dtype: Any = None,
    stype: str | None = None,
    *,
    out: NDArray | None = None,
    name: str | None = None,
) -> NDArray:
    """Return an array of zeros.

    Parameters
    ----------
    shape : int or tuple of int
    {options}
    stype : str, optional
        Storage type; only 'default', a dense array.
    out : NDArray, optional
        Where to write: an array of that shape, which is returned. Its device and dtype stay.
    name : str, optional
        Accepted and not used.

    {returns_array}

    {raises_argument_error}
        For another storage than a dense one.
    ShapeError
        If `out` has another shape.
    ContextError
        For a device that cannot be allocated on.

    {examples}
    >>> nd.zeros(2).asnumpy()
    array([0., 0.], dtype=float32)
    """
    require_dense("nd.zeros", stype)
    if out is not None:
        return _filled("nd.zeros", out, shape, 0)
    return place(NDArray, numpy.zeros(_shape(shape), numpy.float32 if dtype is None else dtype), resolve_context(ctx))


@documented(options=_OPTIONS, out=_OUT, refused=_REFUSED)
def ones(
    shape: int | tuple[int, ...],
    ctx: Context | None = None,
    dtype: Any = None,
    *,
    out: NDArray | None = None,
    name: str | None = None,
) -> NDArray:
    """Return an array of ones.

    Parameters
    ----------
    shape : int or tuple of int
    {options}
    {out}
    {refused}
    >>> nd.ones(2, dtype='int32').asnumpy()
    array([1, 1], dtype=int32)
    """
    if out is not None:
        return _filled("nd.ones", out, shape, 1)
    return place(NDArray, numpy.ones(_shape(shape), numpy.float32 if dtype is None else dtype), resolve_context(ctx))


@documented(options=_OPTIONS, made=_MADE)
def full(
    shape: int | tuple[int, ...], val: float, ctx: Context | None = None, dtype: Any = None, out: NDArray | None = None
) -> NDArray:
    """Return an array filled with a value; `out` itself, if it is given.

    Parameters
    ----------
    shape : int or tuple of int
    val : float
    {options}
    out : NDArray, optional
        Where to write; the other arguments are then not looked at.

    {made}
    >>> nd.full((1, 2), 7).asnumpy()
    array([[7., 7.]], dtype=float32)
    """
    if out is not None:
        out[:] = val
        return out
    if is_followed(val):
        return _followed(filled_with("nd.full", val, _shape(shape), numpy.float32 if dtype is None else dtype), ctx)
    return place(NDArray, filled(_shape(shape), val, numpy.float32 if dtype is None else dtype), resolve_context(ctx))


@documented(made=_MADE)
def arange(
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: int = 1,
    infer_range: bool | None = None,
    ctx: Context | None = None,
    dtype: Any = None,
) -> NDArray:
    """Return evenly spaced values in [start, stop), each `repeat` times; one argument is `stop`.

    Parameters
    ----------
    start : float
        The first value; the end if `stop` is left out, and the first is then 0.
    stop : float, optional
        The end, which is not included.
    step : float
    repeat : int
        How many times each value is given.
    infer_range : bool, optional
        Accepted as MXNet does; the range follows from `start` and `stop`.
    ctx : Context, optional
        The device; this thread's default if left out.
    dtype : dtype, optional
        float32 if left out. For integers, `start` and `step` are truncated; there are as many values as without.

    {made}
    >>> nd.arange(1, 4).asnumpy()
    array([1., 2., 3.], dtype=float32)
    >>> nd.arange(2, repeat=2).asnumpy()
    array([0., 0., 1., 1.], dtype=float32)
    """
    if stop is None:
        start, stop = 0, start
    if holds_followed((start, stop, step)):
        values = spaced_by(start, stop, step, numpy.float32 if dtype is None else dtype)
        return _followed(values if repeat == 1 else numpy.repeat(values, repeat), ctx)
    start, stop, step = (raw_of(as_scalar(value)) for value in (start, stop, step))
    if not step:
        raise ArgumentValueError(f"arange: step is {step!r}; expected the distance of values, which is not 0.")
    data = evenly_spaced(start, stop, step, repeat, numpy.dtype(numpy.float32 if dtype is None else dtype))
    return place(NDArray, data, resolve_context(ctx))


@documented(options=_OPTIONS, made=_MADE)
def linspace(
    start: float, stop: float, num: int, endpoint: bool = True, ctx: Context | None = None, dtype: Any = None
) -> NDArray:
    """Return `num` evenly spaced values from start to stop.

    Parameters
    ----------
    start, stop : float
    num : int
        How many values.
    endpoint : bool
        Whether `stop` is the last of them.
    {options}

    {made}
    >>> nd.linspace(0, 1, 3).asnumpy()
    array([0. , 0.5, 1. ], dtype=float32)
    """
    if holds_followed((start, stop)):
        return _followed(
            between(start, stop, num, endpoint, 0)[0].astype(numpy.float32 if dtype is None else dtype), ctx
        )
    return place(
        NDArray,
        numpy.linspace(raw_of(as_scalar(start)), raw_of(as_scalar(stop)), num, endpoint=endpoint).astype(
            numpy.float32 if dtype is None else dtype
        ),
        resolve_context(ctx),
    )


@documented(options=_OPTIONS, out=_OUT, refused=_REFUSED)
def eye(
    N: int,
    M: int = 0,
    k: int = 0,
    ctx: Context | None = None,
    dtype: Any = None,
    *,
    out: NDArray | None = None,
    name: str | None = None,
) -> NDArray:
    """Return ones on the k-th diagonal of an N x M matrix (M = 0: square), zeros elsewhere.

    Parameters
    ----------
    N : int
        Number of rows.
    M : int
        Number of columns; 0 for as many as rows.
    k : int
        Which diagonal: 0 is the main one, positive ones lie above it.
    {options}
    {out}
    {refused}
    >>> nd.eye(2, 3, 1).asnumpy()
    array([[0., 1., 0.],
           [0., 0., 1.]], dtype=float32)
    """
    data = numpy.eye(N, M or None, k, numpy.float32 if dtype is None else dtype)
    if out is not None:
        return _filled("nd.eye", out, data.shape, place(NDArray, data, out.context))
    return place(NDArray, data, resolve_context(ctx))


@documented(made=_MADE)
def full_like(data: NDArray, fill_value: float, ctx: Context | None = None, dtype: Any = None) -> NDArray:
    """Return an array of the shape, context and dtype of another (unless given), filled with a value.

    Parameters
    ----------
    data : NDArray
    fill_value : float
    ctx : Context, optional
    dtype : dtype, optional

    {made}
    >>> nd.full_like(nd.array([1, 2]), 7).asnumpy()
    array([7., 7.], dtype=float32)
    """
    if is_followed(fill_value):
        values = filled_with("nd.full_like", fill_value, data.shape, dtype or data.dtype)
        return _followed(values, data.context if ctx is None else ctx)
    values = filled(data.shape, fill_value, dtype or data.dtype)
    return place(NDArray, values, data.context if ctx is None else resolve_context(ctx))


@with_shared_texts
def from_numpy(ndarray: numpy.ndarray, zero_copy: bool = True, array_cls: Any = NDArray) -> NDArray:
    """Return an NDArray on a NumPy array's own memory; with `zero_copy=False` on a copy.

    Sharing makes the NumPy array read-only: it is changed through the NDArray from then on.

    Parameters
    ----------
    ndarray : numpy.ndarray
        In C order, if its memory is to be shared.
    zero_copy : bool
        Whether to share the memory.
    array_cls : type
        The class of the result: `NDArray` or `minpy.numpy.ndarray`.

    {returns_array}
        Of the array's shape and dtype.

    {raises_argument_error}
        If it is no NumPy array.
    ArgumentValueError
        If memory is to be shared, and the array is not in C order.

    Examples
    --------
    >>> import numpy
    >>> from minpy import nd
    >>> a = numpy.zeros(2, 'float32')
    >>> x = nd.from_numpy(a)
    >>> x[0] = 5
    >>> a
    array([5., 0.], dtype=float32)
    """
    if not isinstance(ndarray, numpy.ndarray):
        raise ArgumentError(f"from_numpy: got {describe(ndarray)}; expected a numpy.ndarray. Use nd.array() instead.")
    if not zero_copy:
        return place(array_cls, numeric_array(ndarray, ndarray.dtype), resolve_context(None))
    if not ndarray.flags.c_contiguous:
        raise ArgumentValueError(
            "from_numpy: the array is not contiguous; pass zero_copy=False, or numpy.ascontiguousarray(a)."
        )
    shared = _writable_view(ndarray)
    ndarray.flags.writeable = False
    array: NDArray = place(array_cls, shared, resolve_context(None))
    note_external(shared).add(array)
    return array


def _writable_view(array: numpy.ndarray) -> numpy.ndarray:
    """Return a view of all of an array that can be written to, though the array itself be read-only.

    What NumPy does not allow, because the memory is somebody else's (that of a `bytes`, say), stays read-only.
    """
    shared = array.view(numpy.ndarray)
    owner = array
    while isinstance(owner.base, numpy.ndarray):
        owner = owner.base
    if shared.flags.writeable or not owner.flags.owndata:
        return shared
    locked = not owner.flags.writeable
    owner.flags.writeable = True
    shared.flags.writeable = True
    owner.flags.writeable = not locked
    return shared
