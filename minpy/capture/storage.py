"""Indexing, and stores: an array has another value after each, made from the one before."""

from __future__ import annotations

from typing import Any

import numpy

from minpy.capture.noting import as_array, constant, known_of, operand, steps_of
from minpy.capture.recorder import Recorder
from minpy.capture.values import Traced
from minpy.differentiation.trees import leaves_of

__all__ = [
    "as_dtype",
    "getitem",
    "item_of",
    "plain_index",
    "require_apart",
    "require_own",
    "setitem",
    "store",
    "store_all",
    "with_item",
]


def require_own(target: Traced) -> None:
    """Refuse a store into anything but an array that the traced function made itself, and that is no view.

    Raises
    ------
    CaptureRefused
    """
    if not target.memory.own:
        raise target.recorder.refuse("it stores into an array that it was given")
    if target.is_view:
        raise target.recorder.refuse("it stores through a view")
    if target.scalar:
        raise TypeError("'numpy.generic' object does not support item assignment")


def require_apart(target: Traced, values: Any) -> None:
    """Refuse to store by an index what may lie in the same memory: not every NumPy copies it first."""
    if any(isinstance(value, Traced) and value.memory is target.memory for value in leaves_of(values)):
        raise target.recorder.refuse("it stores parts of an array into the same array, by an index")


def store(target: Traced, result: Any) -> Traced:
    """Let an array have other values from now on."""
    require_own(target)
    if (result.shape, result.dtype) != (target.shape, target.dtype):
        raise target.recorder.refuse(f"it stores {result!r} into {target!r}")
    result = as_array(target.recorder, result) if result.scalar else result
    target.change(result.value, result.known)
    return target


def store_all(recorder: Recorder, outs: Any, result: Any) -> Any:
    """Store what a call computed into the array(s) given as `out`."""
    results = result if isinstance(result, tuple) else (result,)
    outs = outs if isinstance(outs, tuple) else (outs,)
    stored = []
    for target, value in zip(outs, results, strict=True):
        if target is None:
            stored.append(value)
            continue
        if not isinstance(target, Traced):
            raise recorder.refuse("it computes into an array that is not traced")
        if target.scalar:  # `s += 1` of a scalar makes a new one
            stored.append(value)
            continue
        require_own(target)
        if value.shape != target.shape:
            raise ValueError("non-broadcastable output operand")
        if value.dtype != target.dtype:
            if not numpy.can_cast(value.dtype, target.dtype, "same_kind"):
                raise TypeError("Cannot cast ufunc output with casting rule 'same_kind'")
            value = value.astype(target.dtype)
        stored.append(store(target, value))
    return tuple(stored) if len(stored) > 1 else stored[0]


def _chosen(target: Traced, mask: Traced, value: Any) -> Any:
    """Return what `target` is after `target[mask] = value`."""
    recorder = target.recorder
    if mask.shape != target.shape[: mask.ndim] or not mask.ndim:
        raise IndexError("boolean index did not match indexed array")
    mask = mask.reshape(mask.shape + (1,) * (target.ndim - mask.ndim))
    if isinstance(value, Traced) and value.known is None:
        value = value.astype(target.dtype)
    else:
        converted = numpy.empty((), target.dtype)
        converted[()] = known_of(value)
        value = constant(recorder, converted)
    return steps_of(recorder, numpy.where, (mask, value, target), {}, "elementwise", fact=target.fact)


def getitem(array: Traced, index: Any) -> Any:
    """Return `array[index]`."""
    recorder = array.recorder
    index, is_basic = plain_index(recorder, array, index)
    if array.known is None and _has_unknown_mask(index):
        raise recorder.refuse("the shape of x[mask] depends on values: numpy.where keeps it")
    return steps_of(recorder, item_of, (array, index), {}, "view" if is_basic else "call")


def setitem(array: Traced, index: Any, value: Any) -> None:
    """Answer `array[index] = value`."""
    recorder = array.recorder
    require_own(array)
    value = operand(recorder, value)
    if isinstance(index, Traced) and index.dtype.kind == "b" and numpy.ndim(value) == 0:
        store(array, _chosen(array, index, value))
        return
    index, is_basic = plain_index(recorder, array, index)
    if not is_basic:
        require_apart(array, value)
    if _has_unknown_mask(index):
        raise recorder.refuse("it stores as many elements as a mask has: numpy.where chooses")
    if _is_all(index) and isinstance(value, Traced) and (value.shape, value.dtype) == (array.shape, array.dtype):
        store(array, value)
        return
    store(array, steps_of(recorder, with_item, (array, index, value), {}, "call", fact=array.fact))


def plain_index(recorder: Recorder, array: Traced, index: Any) -> tuple[Any, bool]:
    """Return (an index as a step holds it, whether it is basic, so that the answer is a view)."""
    parts = index if isinstance(index, tuple) else (index,)
    found: list[Any] = []
    basic = True
    for part in parts:
        if isinstance(part, slice):
            part = slice(*(_length(one) for one in (part.start, part.stop, part.step)))
        elif isinstance(part, (list, numpy.ndarray)):
            part = operand(recorder, part if len(part) else numpy.array(part, int))
        if isinstance(part, Traced):
            if part.known is not None and part.known.ndim == 0 and part.dtype.kind in "iu":
                part = int(part.known)
            elif part.dtype.kind not in "biu" or (part.dtype.kind == "b" and not part.ndim):
                raise recorder.refuse("an index is no array of whole numbers")
            else:
                basic = basic and part.ndim == 0
        elif isinstance(part, (bool, numpy.bool_)) or not (
            part is None or part is Ellipsis or isinstance(part, (int, numpy.integer, slice))
        ):
            raise recorder.refuse(f"an index is a {type(part).__name__}")
        found.append(int(part) if isinstance(part, numpy.integer) else part)
    return (tuple(found) if isinstance(index, tuple) else found[0]), basic


def _length(value: Any) -> Any:
    return value.__index__() if isinstance(value, Traced) else value


def _has_unknown_mask(index: Any) -> bool:
    return any(isinstance(part, Traced) and part.dtype.kind == "b" and part.known is None for part in leaves_of(index))


def _is_all(index: Any) -> bool:
    return index is Ellipsis or (type(index) is slice and index == slice(None))


def item_of(array: Any, index: Any) -> Any:
    """Return `array[index]`."""
    return array[index]


def with_item(array: Any, index: Any, value: Any) -> Any:
    """Return a copy of an array after `array[index] = value`."""
    array = numpy.array(array)
    array[index] = value
    return array


def as_dtype(array: Any, dtype: Any) -> Any:
    """Return an array with its elements in another dtype."""
    return array.astype(dtype)
