"""Functions of NumPy's that sort, search, interpolate, and slide one row of numbers along another.

`TopK` keeps the order of equal elements, and knows no order of NaN: these are sorted apart, behind all others.
"""

from __future__ import annotations

from typing import Any

import numpy

from minpy.frameworks.dialects import Operand
from minpy.frameworks.row_parts import axis_of, only
from minpy.onnx.exporting.array_parts import (
    Length,
    counted,
    difference_of,
    flattened,
    gathered,
    is_open,
    length_of,
    operand_of,
    reversed_along,
    scalar,
    sliced,
    sum_of,
    vector,
)
from minpy.onnx.exporting.calls import NodeCall, Rows

__all__ = ["ROWS"]

ROWS = Rows()
_row = ROWS.enter

_SORTED_AS = {
    "bool": "int32",
    "int8": "int32",
    "int16": "int32",
    "uint8": "int32",
    "uint16": "int32",
    "uint32": "int64",
}


def _sortable(call: NodeCall, array: Operand) -> tuple[str, numpy.dtype]:
    """Return (the name of an array in a dtype that runtimes sort, that dtype)."""
    dtype = numpy.dtype(_SORTED_AS.get(array.dtype.name, array.dtype))
    if dtype.kind == "c":
        raise call.refuse("complex numbers")
    return call.array(array, dtype), dtype


def _sorted(call: NodeCall, name: str, axis: int, length: Any) -> tuple[str, str]:
    """Return (elements in their order, where these were)."""
    values, positions = call.node("TopK", name, vector(call, [length]), outputs=2, axis=axis, largest=0, sorted=1)
    return values, positions


def _without_nan(call: NodeCall, name: str, dtype: numpy.dtype) -> tuple[str, str]:
    """Return (an array with infinity in the place of NaN, where there was NaN)."""
    is_nan = call.node("IsNaN", name)
    return call.node("Where", is_nan, numpy.asarray(numpy.inf, dtype), name), is_nan


def _row_or_array(call: NodeCall, a: Any, axis: Any) -> tuple[Operand, int]:
    array = operand_of(call, a)
    if axis is None:
        return Operand(flattened(call, array), (array.size,), array.dtype), 0
    return array, axis_of(axis, array.ndim)


@_row("sort msort")
def _sort(call: NodeCall, a: Any, axis: Any = -1, kind: Any = None, order: Any = None, stable: Any = None) -> str:
    only(call, "order", order, (None,))
    array, at = _row_or_array(call, a, 0 if call.key == "msort" else axis)
    if not array.size and not is_open(call):
        return call.array(array)
    name, dtype = _sortable(call, array)
    length = length_of(call, array, at)
    if dtype.kind != "f":
        values, _ = _sorted(call, name, at, length)
        return values if dtype == array.dtype else call.cast(values, array.dtype)
    finite, is_nan = _without_nan(call, name, dtype)
    values, _ = _sorted(call, finite, at, length)
    count = call.reduce("ReduceSum", call.cast(is_nan, numpy.int64), [at], True)
    numbers = counted(call, 0, length)
    behind = array.ndim - 1 - at
    if behind:
        numbers = call.unsqueeze(numbers, list(range(1, behind + 1)))
    is_behind = call.node("GreaterOrEqual", numbers, call.node("Sub", scalar(call, length), count))
    return str(call.node("Where", is_behind, numpy.asarray(numpy.nan, dtype), values))


@_row("argsort")
def _argsort(call: NodeCall, a: Any, axis: Any = -1, kind: Any = None, order: Any = None, stable: Any = None) -> str:
    only(call, "order", order, (None,))
    array, at = _row_or_array(call, a, axis)
    return _order(call, array, at)


def _order(call: NodeCall, array: Operand, axis: int) -> str:
    """Return where the elements are, in their order; that of equal ones stays."""
    if not array.size and not is_open(call):
        return call.array(numpy.zeros(array.shape, numpy.int64))
    name, dtype = _sortable(call, array)
    length = length_of(call, array, axis)
    if dtype.kind != "f":
        return _sorted(call, name, axis, length)[1]
    finite, is_nan = _without_nan(call, name, dtype)
    positions = _sorted(call, finite, axis, length)[1]
    # Infinities stand among what was NaN: that goes behind these, in the order in which it is.
    flags = call.node("GatherElements", call.cast(is_nan, numpy.int32), positions, axis=axis)
    behind = _sorted(call, flags, axis, length)[1]
    return str(call.node("GatherElements", positions, behind, axis=axis))


@_row("lexsort")
def _lexsort(call: NodeCall, keys: Any, axis: int = -1) -> str:
    if isinstance(keys, Operand):
        parts = [
            Operand(call.node("Gather", keys, call.ints(at), axis=0), keys.shape[1:], keys.dtype)
            for at in range(keys.shape[0])
        ]
    else:
        parts = [operand_of(call, each) for each in keys]
    at = axis_of(axis, parts[0].ndim)
    order = _order(call, parts[0], at)
    for part in parts[1:]:
        so_far = part._replace(text=call.node("GatherElements", part, order, axis=at), value=None)
        order = call.node("GatherElements", order, _order(call, so_far, at), axis=at)
    return order


# -- searched ----------------------------------------------------------------------------------------------------------

_COMPARED_AS = {"bool": "int32", "int8": "int32", "int16": "int32", "uint8": "int32", "uint16": "int32"}


def _before(call: NodeCall, row: Operand, values: Operand, side: str) -> str:
    """Return how many elements of a sorted row are before each value; with `side='right'` its equals, too."""
    dtype = numpy.result_type(row.dtype, values.dtype)
    if dtype.kind == "c":
        raise call.refuse("complex numbers")
    dtype = numpy.dtype(_COMPARED_AS.get(dtype.name, dtype))
    edges = call.array(row, dtype)
    each = call.unsqueeze(call.array(values, dtype), [values.ndim])
    is_before = call.node("Less" if side == "left" else "LessOrEqual", edges, each)
    if dtype.kind == "f":  # NaN is behind all others
        each_nan = call.node("IsNaN", each)
        if row.value is not None and not numpy.isnan(row.value).any():
            is_before = call.node("Or", is_before, each_nan)
        elif side == "left":
            is_number = call.node("Not", call.node("IsNaN", edges))
            is_before = call.node("Or", is_before, call.node("And", is_number, each_nan))
        else:
            is_before = call.node("Or", is_before, each_nan)
    return call.reduce("ReduceSum", call.cast(is_before, numpy.int64), [-1], False)


@_row("searchsorted")
def _searchsorted(call: NodeCall, a: Any, v: Any, side: str = "left", sorter: Any = None) -> str:
    only(call, "side", side, ("left", "right"))
    row = operand_of(call, a)
    if sorter is not None:
        row = Operand(gathered(call, row, sorter, 0), row.shape, row.dtype)
    return _before(call, row, operand_of(call, v), side)


@_row("digitize")
def _digitize(call: NodeCall, x: Any, bins: Any, right: bool = False) -> str:
    edges = operand_of(call, bins)
    if edges.value is None:
        raise call.refuse("bins= that are not constant")
    steps = numpy.diff(edges.value)
    side = "left" if right else "right"
    if (steps >= 0).all():
        return _before(call, edges, operand_of(call, x), side)
    rising = call.emitter.constant(edges.value[::-1].copy())
    count = _before(call, rising, operand_of(call, x), "right" if right else "left")
    return str(call.node("Sub", call.ints(edges.size), count))


@_row("isin in1d")
def _isin(
    call: NodeCall,
    element: Any = None,
    test_elements: Any = None,
    assume_unique: bool = False,
    invert: bool = False,
    ar1: Any = None,
    ar2: Any = None,
    kind: Any = None,
) -> str:
    first, second = (operand_of(call, value) for value in ((element, test_elements) if ar1 is None else (ar1, ar2)))
    dtype = numpy.result_type(first.dtype, second.dtype)
    dtype = numpy.dtype(_COMPARED_AS.get(dtype.name, dtype))
    if call.key == "in1d":
        first = Operand(flattened(call, first), (first.size,), first.dtype)
    values = call.unsqueeze(call.array(first, dtype), [first.ndim])
    is_equal = call.node("Equal", values, call.reshape(call.array(second, dtype), [-1]))
    count = call.reduce("ReduceSum", call.cast(is_equal, numpy.int32), [-1], False)
    return str(call.node("Equal" if invert else "Greater", count, numpy.asarray(0, numpy.int32)))


@_row("interp")
def _interp(call: NodeCall, x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> str:
    only(call, "period", period, (None,))
    if call.result_dtype.kind == "c":
        raise call.refuse("complex numbers")
    dtype = call.result_dtype
    points, places, values = (operand_of(call, each) for each in (x, xp, fp))
    places = Operand(call.array(places, dtype), places.shape, dtype, places.value)
    points = Operand(call.array(points, dtype), points.shape, dtype)
    levels = call.array(values, dtype)
    length = length_of(call, places, 0)
    last = scalar(call, difference_of(call, length, 1))
    behind = _before(call, places, points, "right")
    start = call.node("Max", call.node("Sub", behind, call.ints(1)), call.ints(0))
    start = call.node("Min", start, scalar(call, difference_of(call, length, 2)))
    start = call.node("Max", start, call.ints(0))
    stop = call.node("Min", call.node("Add", start, call.ints(1)), last)
    x0, x1 = gathered(call, places, start, 0), gathered(call, places, stop, 0)
    y0, y1 = gathered(call, levels, start, 0), gathered(call, levels, stop, 0)
    slope = call.node("Div", call.node("Sub", y1, y0), call.node("Sub", x1, x0))
    line = call.node("Add", call.node("Mul", slope, call.node("Sub", points, x0)), y0)
    line = call.node("Where", call.node("Equal", points, x1), y1, line)
    line = call.node("Where", call.node("Equal", points, x0), y0, line)
    first_place, last_place = gathered(call, places, numpy.asarray(0), 0), call.node("Gather", places, last, axis=0)
    first_level, last_level = gathered(call, levels, numpy.asarray(0), 0), call.node("Gather", levels, last, axis=0)
    low = first_level if left is None else call.array(left, dtype)
    high = last_level if right is None else call.array(right, dtype)
    line = call.node("Where", call.node("Less", points, first_place), low, line)
    return str(call.node("Where", call.node("Greater", points, last_place), high, line))


# -- slid along --------------------------------------------------------------------------------------------------------


@_row("convolve correlate")
def _convolve(call: NodeCall, a: Any, v: Any, mode: Any = None) -> str:
    dtype = call.result_dtype
    if dtype.kind == "c":
        raise call.refuse("complex numbers")
    named = mode or ("full" if call.key == "convolve" else "valid")
    only(call, "mode", named, ("full", "same", "valid"))
    first, second = (_as_row(call, operand_of(call, each)) for each in (a, v))
    if is_open(call):
        return _convolved(call, first, second, named)
    is_swapped = second.shape[0] > first.shape[0]
    if is_swapped:
        first, second = second, first
    computed = dtype if dtype.kind == "f" else numpy.dtype(numpy.int64)
    longer, shorter = (
        Operand(call.array(each, dtype) if dtype == computed else call.array(each, computed), each.shape, computed)
        for each in (first, second)
    )
    count = shorter.shape[0]
    before, behind = {"full": (count - 1, count - 1), "same": (count // 2, count - count // 2 - 1), "valid": (0, 0)}[
        named
    ]
    window = call.array(shorter)
    if call.key == "convolve":
        window = reversed_along(call, shorter, [0])
    length = longer.shape[0] + before + behind
    row = call.array(longer)
    if named != "valid":
        row = call.node("Pad", row, call.ints([before, behind]), numpy.zeros((), computed))
    if named == "valid" or computed.kind != "f":
        result = _slid(call, row, window, length, count, computed)
    else:
        own = before, before + longer.shape[0]
        result = _own_products(call, row, window, _parts_of_row(call, length, count), own, computed)
    if is_swapped and call.key == "correlate":
        result = reversed_along(call, Operand(result, call.shape, computed), [0])
    return result if dtype == computed else call.cast(result, dtype)


def _as_row(call: NodeCall, array: Operand) -> Operand:
    """Return an array with one axis: a number is a row of one."""
    return array if array.ndim else Operand(call.reshape(array, [1]), (1,), array.dtype)


def _convolved(call: NodeCall, first: Operand, second: Operand, mode: str) -> str:
    """Return sums of products for rows of any length: all of them, and of these those of a mode."""
    dtype = call.result_dtype
    computed = dtype if dtype.kind == "f" else numpy.dtype(numpy.int64)
    row, window = (
        Operand(call.cast(call.array(each, dtype), computed), each.shape, computed) for each in (first, second)
    )
    length, count = length_of(call, row, 0), length_of(call, window, 0)
    if call.key == "convolve":
        window = window._replace(text=reversed_along(call, window, [0]))
    beyond = difference_of(call, count, 1)
    total = sum_of(call, length, beyond)
    padded = call.node("Pad", row, vector(call, [beyond, beyond]), numpy.zeros((), computed))
    positions = call.node("Add", call.unsqueeze(counted(call, 0, total), [1]), counted(call, 0, count))
    result = _own_products(call, padded, window.text, positions, (beyond, total), computed)
    if mode != "full":
        less, more = (call.node(each, scalar(call, length), scalar(call, count)) for each in ("Min", "Max"))
        start, stop = call.node("Sub", less, call.ints(1)), more
        if mode == "same":
            start = call.node("Div", start, call.ints(2))
            if call.key == "correlate":  # NumPy exchanges the two and turns the result around
                is_exchanged = call.node("Less", scalar(call, length), scalar(call, count))
                start = call.node("Where", is_exchanged, call.node("Div", less, call.ints(2)), start)
            stop = call.node("Add", start, more)
        result = sliced(call, result, [start], [stop], [0])
    return result if dtype == computed else call.cast(result, dtype)


def _parts_of_row(call: NodeCall, length: int, count: int) -> str:
    """Return the positions in a row that a window covers, for each place where it stands."""
    starts = call.unsqueeze(counted(call, 0, length - count + 1), [1])
    positions: str = call.node("Add", starts, counted(call, 0, count))
    return positions


def _slid(call: NodeCall, row: str, window: str, length: int, count: int, dtype: numpy.dtype) -> str:
    """Return the sums of products of a window with each part of a row."""
    if dtype.name in ("float16", "float32"):
        product = call.node("Conv", call.unsqueeze(row, [0, 1]), call.unsqueeze(window, [0, 1]))
        return call.squeeze(product, [0, 1])
    name: str = call.node("MatMul", call.node("Gather", row, _parts_of_row(call, length, count), axis=0), window)
    return name


def _own_products(
    call: NodeCall, row: str, window: str, positions: str, own: tuple[Length, Length], dtype: numpy.dtype
) -> str:
    """Return these sums for a row that is padded, of its own elements alone: zeros times infinity are none of them."""
    products = call.node("Mul", call.node("Gather", row, positions, axis=0), window)
    is_own = call.node(
        "And",
        call.node("GreaterOrEqual", positions, scalar(call, own[0])),
        call.node("Less", positions, scalar(call, own[1])),
    )
    products = call.node("Where", is_own, products, numpy.zeros((), dtype))
    return call.reduce("ReduceSum", products, [1], False)
