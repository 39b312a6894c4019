"""Indexing, and stores: a storage has another value after each, made from the one before.

A store into a view makes a new value of the storage, by the inverse of the chain of views, from the last step to the
first; another view, read again, replays its own chain.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy

from minpy.capture.noting import as_array, call_function, constant, known_of, operand, steps_of
from minpy.capture.recorder import Recorder
from minpy.capture.steps import fill, frozen
from minpy.capture.values import ARGUMENT, OUTSIDE, BaseArrayProxy, ViewStep
from minpy.capture.view_or_copy import called_on
from minpy.core.operator import Operator
from minpy.differentiation.trees import leaves_of
from minpy.graph.ir import Value

__all__ = [
    "as_dtype",
    "getitem",
    "item_of",
    "plain_index",
    "replayed",
    "require_apart",
    "require_writable",
    "setitem",
    "store",
    "store_all",
    "with_component",
    "with_item",
]

# So many elements an array may have of which a part is stored by positions.
_MOST_POSITIONS = 1 << 22


def require_writable(target: BaseArrayProxy) -> None:
    """Refuse a store into anything but an array that the function made itself, or may change."""
    recorder, storage = target.recorder, target.storage
    if storage.origin == OUTSIDE or (storage.origin == ARGUMENT and not recorder.writes):
        raise recorder.refuse("it stores into an array that it was given")
    if target.chain and not recorder.shadowed:  # what is built in and works piece by piece is better called
        raise recorder.refuse("it stores through a view")
    if target.scalar:
        raise TypeError("'numpy.generic' object does not support item assignment")
    _require_known_strides(target)


def _require_known_strides(target: BaseArrayProxy) -> None:
    is_known = target.storage.contiguous is not None
    if not all(step.is_certain or (is_known and step.is_certain is False) for step in target.chain):
        raise target.recorder.refuse(
            "it changes what may be a view of an array or a copy of it, as its strides are (reshape, ravel)"
        )


def require_apart(target: BaseArrayProxy, values: Any) -> None:
    """Refuse to store by an index what may lie in the same memory: not every NumPy copies it first."""
    if any(isinstance(value, BaseArrayProxy) and value.storage is target.storage for value in leaves_of(values)):
        raise target.recorder.refuse("it stores parts of an array into the same array, by an index")


def store(target: BaseArrayProxy, result: Any) -> BaseArrayProxy:
    """Let an array have other values from now on, and the storage that it is a view of."""
    require_writable(target)
    recorder, storage = target.recorder, target.storage
    if (result.shape, result.dtype) != (target.shape, target.dtype):
        kinds = [f"{array.dtype.name} {array.shape}" for array in (result, target)]
        raise recorder.refuse(f"it stores {kinds[0]} into {kinds[1]}")
    result = as_array(recorder, result) if result.scalar else result
    value, elements = result.value, result.known
    whole: Any = result
    bases = [_whole(target)]
    for step in target.chain[:-1]:
        bases.append(_replayed(step, bases[-1]))
    for base, step in zip(reversed(bases), reversed(target.chain), strict=False):
        whole = _put_back(base, step, whole)
    storage.value, storage.known = whole.value, whole.known
    storage.version += 1
    if storage not in recorder.written:
        recorder.written.append(storage)
    target.hold(value, elements)
    return target


def _whole(target: BaseArrayProxy) -> Any:
    """Return the whole storage of a view, for a while, as an array of its own."""
    storage = target.storage
    return target.recorder.proxy_class(target.recorder, storage.value, storage.fact, None, storage.known)


def replayed(target: BaseArrayProxy) -> tuple[Value, Any]:
    """Return (the value, the elements if known) of a view after a change of its storage; refuse what may be a copy."""
    _require_known_strides(target)
    array = _whole(target)
    for step in target.chain:
        array = _replayed(step, array)
    return array.value, array.known


def _replayed(step: ViewStep, base: Any) -> Any:
    """Return what a step gives for another array."""
    recorder, function = base.recorder, step.function
    arguments, keywords = fill((step.arguments, step.keywords), [base])
    if isinstance(function, Operator):
        result = function(*arguments, **keywords)
    elif function is item_of:
        result = steps_of(recorder, item_of, arguments, {}, "view")
    else:
        result = call_function(recorder, function, arguments, keywords)
    return result[step.index] if isinstance(result, (list, tuple)) else result


def _put_back(base: Any, step: ViewStep, part: Any) -> Any:
    """Return an array after what a step gives for it has become another."""
    recorder = base.recorder
    fact = base.fact._replace(scalar=False)
    if step.function is item_of:
        index = fill(step.arguments, [base])[1]
        return steps_of(recorder, with_item, (base, index, part), {}, "call", fact=fact)
    if step.function in (numpy.real, numpy.imag):
        if base.dtype.kind != "c":
            if step.function is numpy.imag:
                raise recorder.refuse("it stores into the imaginary part of real numbers, which is read-only")
            return part
        return steps_of(recorder, with_component, (base, part, step.function is numpy.real), {}, "call", fact=fact)
    sample = numpy.empty(base.shape, numpy.int8)
    shown = called_on(step, sample)
    if not shown.flags.writeable:
        raise recorder.refuse("it stores into a view that NumPy makes read-only")
    order = _turned_back(shown, sample)
    if order is not None:
        flipped, axes = order
        if any(flipped):
            turned = tuple(slice(None, None, -1 if backwards else None) for backwards in flipped)
            part = steps_of(recorder, item_of, (part, turned), {}, "view")
        if axes != tuple(range(part.ndim)):
            part = call_function(recorder, numpy.transpose, (part, axes), {})
        return part if part.shape == base.shape else call_function(recorder, numpy.reshape, (part, base.shape), {})
    if base.size > _MOST_POSITIONS:
        raise recorder.refuse(f"it stores into a part of an array by numpy.{getattr(step.function, '__name__', '')}")
    positions = called_on(step, numpy.arange(base.size).reshape(base.shape))
    flat = call_function(recorder, numpy.reshape, (base, (base.size,)), {})
    arguments = flat, operand(recorder, positions), part
    flat = steps_of(recorder, with_item, arguments, {}, "call", fact=fact._replace(shape=(base.size,)))
    return call_function(recorder, numpy.reshape, (flat, base.shape), {})


def _turned_back(shown: numpy.ndarray, sample: numpy.ndarray) -> tuple[list[bool], tuple[int, ...]] | None:
    """Return (the axes to flip, the order to put them in) which make of a view the array again, but for its shape.

    None if it does not show all of the array, or not in such a way.
    """
    if shown.size != sample.size or not shown.size or not numpy.may_share_memory(shown, sample):
        return None
    flipped = [stride < 0 for stride in shown.strides]
    again = shown[tuple(slice(None, None, -1 if backwards else None) for backwards in flipped)]
    axes = tuple(sorted(range(again.ndim), key=lambda axis: -again.strides[axis]))
    again = again.transpose(axes)
    starts = [array.__array_interface__["data"][0] for array in (again, sample)]
    return (flipped, axes) if again.flags.c_contiguous and starts[0] == starts[1] else None


def store_all(recorder: Recorder, outs: Any, result: Any) -> Any:
    """Store what a call computed into the array(s) given as `out`, if there are any."""
    if outs is None:
        return result
    results = result if isinstance(result, tuple) else (result,)
    outs = outs if isinstance(outs, tuple) else (outs,)
    stored = []
    for target, value in zip(outs, results, strict=True):
        if target is not None and not isinstance(target, BaseArrayProxy):
            raise recorder.refuse("it computes into an array that is not captured")
        if target is None or target.scalar:  # `s += 1` of a scalar makes a new one
            stored.append(value)
            continue
        require_writable(target)
        if value.shape != target.shape:
            raise ValueError("non-broadcastable output operand")
        if value.dtype != target.dtype:
            if not numpy.can_cast(value.dtype, target.dtype, "same_kind"):
                raise TypeError("Cannot cast ufunc output with casting rule 'same_kind'")
            value = value.astype(target.dtype)
        stored.append(store(target, value))
    return tuple(stored) if len(stored) > 1 else stored[0]


def _chosen(target: BaseArrayProxy, mask: BaseArrayProxy, value: Any) -> Any:
    """Return what `target` is after `target[mask] = value`."""
    recorder = target.recorder
    if mask.shape != target.shape[: mask.ndim] or not mask.ndim:
        raise IndexError("boolean index did not match indexed array")
    mask = mask.reshape(mask.shape + (1,) * (target.ndim - mask.ndim))
    if isinstance(value, BaseArrayProxy) and value.known is None:
        value = value.astype(target.dtype)
    else:
        converted = numpy.empty((), target.dtype)
        converted[()] = known_of(value)
        value = constant(recorder, converted)
    return steps_of(recorder, numpy.where, (mask, value, target), {}, "elementwise", fact=target.fact)


def getitem(array: BaseArrayProxy, index: Any) -> Any:
    """Return `array[index]`."""
    recorder = array.recorder
    index, is_basic = plain_index(recorder, array, index)
    if array.known is None and _has_unknown_mask(index):
        raise recorder.refuse("the shape of x[mask] depends on values: numpy.where keeps it")
    return steps_of(recorder, item_of, (array, index), {}, "view" if is_basic else "call")


def setitem(array: BaseArrayProxy, index: Any, value: Any) -> None:
    """Handle `array[index] = value`."""
    recorder = array.recorder
    require_writable(array)
    value = operand(recorder, value)
    if isinstance(index, BaseArrayProxy) and index.dtype.kind == "b" and numpy.ndim(value) == 0:
        store(array, _chosen(array, index, value))
        return
    index, is_basic = plain_index(recorder, array, index)
    if not is_basic:
        require_apart(array, value)
    if _has_unknown_mask(index):
        raise recorder.refuse("it stores as many elements as a mask has: numpy.where chooses")
    if isinstance(value, BaseArrayProxy) and _is_that_part(array, index, value):  # `x[1:] += 1` stores twice
        return
    if (
        _is_all(index)
        and isinstance(value, BaseArrayProxy)
        and (value.shape, value.dtype) == (array.shape, array.dtype)
    ):
        store(array, value)
        return
    store(array, steps_of(recorder, with_item, (array, index, value), {}, "call", fact=array.fact))


def plain_index(recorder: Recorder, array: BaseArrayProxy, index: Any) -> tuple[Any, bool]:
    """Return (an index as a step holds it, whether it is basic, so that the result is a view)."""
    parts = index if isinstance(index, tuple) else (index,)
    index_parts: list[Any] = []
    basic = True
    for part in parts:
        if isinstance(part, slice):
            part = slice(*(_length(bound) for bound in (part.start, part.stop, part.step)))
        elif isinstance(part, (list, numpy.ndarray)):
            part = operand(recorder, part if len(part) else numpy.array(part, int))
        if isinstance(part, BaseArrayProxy):
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
        index_parts.append(int(part) if isinstance(part, numpy.integer) else part)
    return (tuple(index_parts) if isinstance(index, tuple) else index_parts[0]), basic


def _length(value: Any) -> Any:
    return value.__index__() if isinstance(value, BaseArrayProxy) else value


def _has_unknown_mask(index: Any) -> bool:
    return any(
        isinstance(part, BaseArrayProxy) and part.dtype.kind == "b" and part.known is None for part in leaves_of(index)
    )


def _is_all(index: Any) -> bool:
    return index is Ellipsis or (type(index) is slice and index == slice(None))


def _is_that_part(array: BaseArrayProxy, index: Any, value: BaseArrayProxy) -> bool:
    """Tell whether a value is the very view by that index, as it is now."""
    if value.storage is not array.storage or len(value.chain) != len(array.chain) + 1:
        return False
    last = value.chain[-1]
    if last.function is not item_of or any(map(operator.is_not, value.chain, array.chain)):
        return False
    try:
        return bool(frozen(last.arguments[1]) == frozen(index))
    except TypeError:
        return False


def item_of(array: Any, index: Any) -> Any:
    """Return `array[index]`."""
    return array[index]


item_of.is_view_of_any = True  # type: ignore[attr-defined]


def with_item(array: Any, index: Any, value: Any) -> Any:
    """Return a copy of an array after `array[index] = value`."""
    array = numpy.array(array)
    array[index] = value
    return array


def with_component(array: Any, part: Any, is_real: bool) -> Any:
    """Return a copy of an array of complex numbers with another real part, or imaginary one."""
    array = numpy.array(array)
    if is_real:
        array.real = part
    else:
        array.imag = part
    return array


def as_dtype(array: Any, dtype: Any) -> Any:
    """Return an array with its elements in another dtype."""
    return array.astype(dtype)
