"""Arrays that a captured function makes, and `numpy.asarray` of proxies: what NumPy's protocols do not reach."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from minpy.capture.noting import as_array, call_function, constant, is_known, known_of, operand, steps_of
from minpy.capture.numpy_functions import full_like
from minpy.capture.recorder import Recorder
from minpy.capture.values import BaseArrayProxy
from minpy.differentiation.trees import leaves_of
from minpy.numpy_table.table import functions

__all__ = ["CREATION"]

# By function of NumPy: `handler(recorder, function, *arguments, **keywords)`.
CREATION: dict[Any, Callable[..., Any]] = {}


def _plain(recorder: Recorder, value: Any) -> Any:
    if not all(map(is_known, leaves_of(value))):
        raise recorder.refuse("a shape or a range depends on values")
    if isinstance(value, (list, tuple)):
        return tuple(_plain(recorder, part) for part in value)
    value = known_of(value)
    return value.item() if isinstance(value, numpy.ndarray) and not value.ndim else value


def _created(recorder: Recorder, function: Any, *arguments: Any, **keywords: Any) -> Any:
    """Return what does not depend on inputs. `numpy.empty` gives zeros."""
    arguments = tuple(_plain(recorder, value) for value in arguments)
    keywords = {key: _plain(recorder, value) for key, value in keywords.items()}
    result = (numpy.zeros if function is numpy.empty else function)(*arguments, **keywords)
    if isinstance(result, (list, tuple)):
        return type(result)(constant(recorder, each) for each in result)
    return constant(recorder, result)


def _range(recorder: Recorder, function: Any, *arguments: Any, **keywords: Any) -> Any:
    """Return what may be made of arrays that are captured, too."""
    if all(map(is_known, leaves_of((arguments, keywords)))):
        return _created(recorder, function, *arguments, **keywords)
    return call_function(recorder, function, arguments, keywords)


def _query(recorder: Recorder, function: Any, value: Any) -> Any:
    """Handle `isscalar` and `iterable`."""
    if not isinstance(value, BaseArrayProxy):
        return function(value)
    return value.scalar if function is numpy.isscalar else value.ndim > 0


def _full(recorder: Recorder, function: Any, shape: Any, fill_value: Any, dtype: Any = None, **keywords: Any) -> Any:
    if is_known(fill_value):
        return _created(recorder, function, shape, fill_value, dtype, **keywords)
    shape = _plain(recorder, shape)
    lengths = (shape,) if isinstance(shape, (int, numpy.integer)) else tuple(shape)
    return full_like(recorder, fill_value, lengths, numpy.dtype(dtype or fill_value.dtype))


def _array(recorder: Recorder, function: Any, object: Any, dtype: Any = None, **keywords: Any) -> Any:
    """Handle `array`, `asarray` and their kin."""
    copy = keywords.pop("copy", None)
    order = keywords.pop("order", None)
    if keywords.keys() - {"subok"} or order not in (None, "K", "C") or copy is False:
        raise recorder.refuse(
            f"numpy.{function.__name__} with {', '.join(keywords) or 'order or copy'}= cannot be captured"
        )
    if function.__name__ == "asfarray" and (dtype is None or not numpy.issubdtype(dtype, numpy.inexact)):
        dtype = numpy.float64
    if not isinstance(object, BaseArrayProxy):
        if isinstance(object, (bool, int, float, complex, numpy.generic)):
            return constant(recorder, numpy.asarray(object, dtype))
        array = operand(recorder, object)
        return array if dtype is None else array.astype(dtype, copy=False)
    if object.front is not None:  # of an array of ours NumPy makes one of its own, which is a copy
        copied = steps_of(recorder, numpy.array, (object,), {}, "call", object.fact)
        object = recorder.proxy_class(recorder, copied.value, object.fact, None, copied.known)
    array = object if dtype is None else object.astype(dtype, copy=False)
    if array.scalar:
        return as_array(recorder, array)
    if function is numpy.array or copy is True:
        return array.copy() if array is object else array
    if function in _IN_ORDER:
        return steps_of(recorder, function, (array,), {}, "view")
    return array if order != "C" else steps_of(recorder, numpy.asarray, (array,), {"order": order}, "view")


# They give an array in some layout: a view or a copy, as it lies in memory.
_IN_ORDER = (numpy.ascontiguousarray, numpy.asfortranarray)
# By kind of row.
_HANDLERS: dict[str, Callable[..., Any]] = {
    "array": _array,
    "full": _full,
    "made": _created,
    "mesh": _range,
    "range": _range,
    "seen": _query,
}
CREATION.update((function, _HANDLERS[row.kind]) for function, row in functions(*_HANDLERS))
CREATION[numpy.meshgrid] = _range
