"""Arrays made of values that are recorded or traced: of nested lists of them, and of one that fills an array.

Functions that make arrays of values (`array`, `full`, and those that take a list in an array's place) come here if one
of the values is recorded or traced, so that the array is, too.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from minpy.core import dispatch
from minpy.core.array import Array, raw_of
from minpy.core.errors import ArgumentError, DTypeError, describe
from minpy.core.followed import is_followed
from minpy.ops.registry import OPERATORS, operator

__all__ = ["array_of", "as_scalar", "assembled", "between", "filled_with", "full_of", "spaced_by"]


@operator(name="_array_of", public=False, may_alias=False)
def array_of(*leaves: Any, shape: Any, dtype: Any) -> Any:
    """Return an array of a shape and dtype with the elements of the leaves, those of one after those of another."""
    return np.reshape(np.concatenate([np.reshape(leaf, -1).astype(dtype) for leaf in leaves]), shape)


@array_of.def_multiple_grad()
def _array_of_gradient(ans: Any, *leaves: Any) -> Callable[[Any], Any]:
    shapes = [np.shape(leaf) for leaf in leaves]
    ends = list(itertools.accumulate(map(math.prod, shapes)))

    def gradient(g: Any) -> tuple[Any, ...]:
        flat = np.reshape(g, -1)
        starts = [0, *ends[:-1]]
        return tuple(np.reshape(flat[a:b], shape) for a, b, shape in zip(starts, ends, shapes, strict=True))

    return gradient


@operator(name="_full_of", public=False, may_alias=False)
def full_of(value: Any, *, shape: Any, dtype: Any) -> Any:
    """Return an array of a shape and dtype that is filled with a value, which is broadcast."""
    return np.array(np.broadcast_to(value, shape), dtype)


full_of.def_grad(lambda ans, value: lambda g: g)  # broadcasting is undone for all rules


def assembled(caller: str, nested: Any, dtype: Any) -> Any:
    """Return an array of a dtype with the values of a nest of lists and tuples, some of which are recorded or traced.

    Parameters
    ----------
    caller : str
        The function that was called, for messages.
    nested : nested lists and tuples of arrays and numbers, or an array
    dtype : dtype

    Returns
    -------
    array
        Of the kind of the arrays in it.

    Raises
    ------
    ArgumentError
        If the nesting is ragged.
    DTypeError
        If a value is no number.
    """
    leaves = [*_leaves(nested)]
    if any(map(_is_symbol, leaves)):
        return OPERATORS["cast"](_stacked(nested), dtype=np.dtype(dtype).name)
    shape = _shape(caller, nested, "")
    if not any(map(_is_array_proxy, leaves)):
        return array_of(*leaves, shape=shape, dtype=np.dtype(dtype))
    flat = [np.ravel(leaf) if hasattr(leaf, "shape") else np.full(1, leaf, dtype) for leaf in leaves]
    joined: Any = np.concatenate(flat) if len(flat) > 1 else flat[0]
    return joined.reshape(shape).astype(np.dtype(dtype))


def _stacked(nested: Any) -> Any:
    """Return a nest of symbols as one, whose shapes are not known."""
    return OPERATORS["stack"](*map(_stacked, nested), axis=0) if isinstance(nested, (list, tuple)) else nested


def filled_with(caller: str, value: Any, shape: Any, dtype: Any) -> Any:
    """Return an array of a shape and dtype that is filled with a value which is recorded or traced; see `assembled`."""
    if isinstance(value, (list, tuple)):
        value = assembled(caller, value, dtype)
    if _is_symbol(value):
        return OPERATORS["cast"](OPERATORS["broadcast_to"](value, shape=shape), dtype=np.dtype(dtype).name)
    if not _is_array_proxy(value):
        return full_of(value, shape=shape, dtype=np.dtype(dtype))
    filled: Any = np.broadcast_to(value, shape)
    return filled.astype(np.dtype(dtype))


def spaced_by(start: Any, stop: Any, step: Any, dtype: Any) -> Any:
    """Return `numpy.arange` of numbers some of which are recorded: their count has no gradient.

    Raises
    ------
    ArgumentError
        If a number is traced, so that nobody knows how many values there are.
    """
    if not all(isinstance(value, (Array, int, float, np.generic, np.ndarray)) for value in (start, stop, step)):
        raise ArgumentError("arange: the number of values depends on one that is traced, and not known. Use linspace.")
    first, last, distance = (raw_of(as_scalar(value)) for value in (start, stop, step))
    count = len(np.arange(first, last, distance))
    values: Any = as_scalar(start) + as_scalar(step) * np.arange(count)
    return (values + 0 * as_scalar(stop) if not is_followed((start, step)) else values).astype(np.dtype(dtype))


def between(start: Any, stop: Any, num: int, endpoint: bool, axis: int) -> tuple[Any, Any]:
    """Return (`numpy.linspace` of ends that are recorded or traced, the distance of its values)."""
    start, stop = as_scalar(start), as_scalar(stop)
    count = num - 1 if endpoint else num
    ndim = max(np.ndim(raw_of(start)), np.ndim(raw_of(stop)))
    shares = np.reshape(np.arange(num) / max(count, 1), (num, *(1,) * ndim))
    values: Any = start * (1.0 - shares) + stop * shares
    distance = (stop - start) / count if count > 0 else float("nan")
    return np.moveaxis(values, 0, axis) if axis else values, distance


def as_scalar(value: Any) -> Any:
    """Return an array of one element as one without axes, and any array with NumPy's semantics."""
    if isinstance(value, (list, tuple)):
        return assembled("linspace", value, "float32") if is_followed(value) else np.asarray(value)
    if isinstance(value, Array):
        value = value.as_np_ndarray()
        return value.reshape(()) if value.size == 1 else value
    return value


def _is_array_proxy(value: Any) -> bool:
    """Tell whether a value is an array proxy: NumPy's functions of it are captured in a graph."""
    return hasattr(value, "__array_function__") and not isinstance(value, (np.ndarray, np.generic, Array))


def _is_symbol(value: Any) -> bool:
    """Tell whether a value is a symbol, of which only operators are captured."""
    if isinstance(value, Array) or hasattr(value, "__array_function__"):
        return False
    return dispatch.kind_of(type(value)) == dispatch.TRACER and not hasattr(value, "_value")


def _leaves(nested: Any) -> Iterator[Any]:
    if isinstance(nested, (list, tuple)):
        for item in nested:
            yield from _leaves(item)
    else:
        yield nested


def _shape(caller: str, nested: Any, where: str) -> tuple[int, ...]:
    if isinstance(nested, (list, tuple)):
        shapes = [_shape(caller, item, f"{where}[{position}]") for position, item in enumerate(nested)]
        for position, shape in enumerate(shapes):
            if shape != shapes[0]:
                raise ArgumentError(
                    f"{caller}: the nested lists are ragged: source{where}[0] has shape {shapes[0]}, "
                    f"source{where}[{position}] has {shape}. Make them equal (pad them), or keep a list of arrays."
                )
        return (len(nested), *(shapes[0] if shapes else ()))
    shape_of_leaf: Any = getattr(nested, "shape", None)
    if shape_of_leaf is None:
        if not isinstance(nested, (int, float, complex)):
            raise DTypeError(f"{caller}: source{where} is {describe(nested)}, which is no number. Convert it first.")
        return ()
    return tuple(shape_of_leaf)
