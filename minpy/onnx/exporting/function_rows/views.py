"""Functions of NumPy's that give views: other shapes, other orders of axes and elements, diagonals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from minpy.frameworks.dialects import Operand
from minpy.frameworks.row_parts import axes_of, axis_of, only
from minpy.onnx.exporting.array_parts import (
    at_least,
    chosen,
    counted,
    difference_of,
    empty,
    expanded,
    gathered,
    is_open,
    length_of,
    nothing,
    operand_of,
    product_of,
    reshaped,
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


def _backwards(ndim: int) -> list[int]:
    return list(range(ndim))[::-1]


@_row("reshape")
def _reshape(
    call: NodeCall, a: Any, shape: Any = None, newshape: Any = None, order: str = "C", copy: Any = None
) -> str:
    only(call, "order", order, ("C", "F"))
    given = newshape if shape is None else shape
    lengths = [int(length) for length in (given if isinstance(given, (tuple, list)) else (given,))]
    if empty(call):
        return nothing(call)
    if order == "C":
        return reshaped(call, a, lengths)
    ndim = call.spec(a).shape.__len__()
    turned = reshaped(call, call.transpose(a, _backwards(ndim)), lengths[::-1])
    return call.transpose(turned, _backwards(len(lengths)))


@_row("ravel flatten")
def _ravel(call: NodeCall, a: Any, order: str = "C") -> str:
    only(call, "order", order, ("C", "F"))
    if order == "F":
        a = call.transpose(a, _backwards(len(call.spec(a).shape)))
    return call.reshape(a, [-1])


@_row("expand_dims")
def _expand_dims(call: NodeCall, a: Any, axis: Any) -> str:
    return call.unsqueeze(a, axes_of(axis, len(call.shape)))


@_row("squeeze")
def _squeeze(call: NodeCall, a: Any, axis: Any = None) -> str:
    shape = call.spec(a).shape
    if axis is None and is_open(call):  # an axis that is 1 long now, and was not when the graph was written, would stay
        raise call.refuse("numpy.squeeze without axis=, where lengths are open")
    axes = axes_of(axis, len(shape)) if axis is not None else [at for at, length in enumerate(shape) if length == 1]
    return call.squeeze(a, axes) if axes else call.array(a)


@_row("atleast_1d atleast_2d atleast_3d")
def _atleast(call: NodeCall, arys: Any) -> str:
    (array,) = arys if isinstance(arys, (tuple, list)) and not isinstance(arys, Operand) else (arys,)
    ndim, least = len(call.spec(array).shape), len(call.shape)
    if ndim == least:
        return call.array(array)
    # Three axes: a vector becomes the middle one, a matrix the first two.
    added = list(range(least - ndim)) if least < 3 or ndim == 0 else [0, 2] if ndim == 1 else [2]
    return call.unsqueeze(array, added)


@_row("transpose permute_dims")
def _transpose(call: NodeCall, a: Any, axes: Any = None) -> str:
    ndim = len(call.shape)
    return call.transpose(a, _backwards(ndim) if axes is None else axes_of(tuple(axes), ndim))


@_row("matrix_transpose linalg.matrix_transpose")
def _matrix_transpose(call: NodeCall, x: Any) -> str:
    return _exchanged(call, x, -2, -1)


@_row("swapaxes")
def _swapaxes(call: NodeCall, a: Any, axis1: int, axis2: int) -> str:
    return _exchanged(call, a, axis1, axis2)


def _exchanged(call: NodeCall, array: Any, first: int, second: int) -> str:
    order = list(range(len(call.spec(array).shape)))
    order[first], order[second] = order[second], order[first]
    return call.transpose(array, order)


@_row("moveaxis")
def _moveaxis(call: NodeCall, a: Any, source: Any, destination: Any) -> str:
    return _ordered_as(call, a, numpy.moveaxis, source, destination)


@_row("rollaxis")
def _rollaxis(call: NodeCall, a: Any, axis: int, start: int = 0) -> str:
    return _ordered_as(call, a, numpy.rollaxis, axis, start)


def _ordered_as(call: NodeCall, array: Any, function: Any, *arguments: Any) -> str:
    """Return an array with its axes in the order that a function gives them."""
    lengths = range(1, len(call.shape) + 1)
    return call.transpose(array, [n - 1 for n in function(numpy.broadcast_to(0, lengths), *arguments).shape])


@_row("broadcast_to")
def _broadcast_to(call: NodeCall, array: Any, shape: Any, subok: bool = False) -> str:
    return expanded(call, array, call.shape)


@_row("flip")
def _flip(call: NodeCall, m: Any, axis: Any = None) -> str:
    return reversed_along(call, m, axes_of(axis, len(call.shape)))


@_row("fliplr flipud")
def _flip_one(call: NodeCall, m: Any) -> str:
    return reversed_along(call, m, [1 if call.key == "fliplr" else 0])


@_row("rot90")
def _rot90(call: NodeCall, m: Any, k: int = 1, axes: Any = (0, 1)) -> str:
    first, second = axes_of(tuple(axes), len(call.shape))
    turns = k % 4
    if turns in (0, 2):
        return reversed_along(call, m, [first, second] if turns else [])
    if turns == 1:
        return _exchanged(call, _as_operand(call, reversed_along(call, m, [second]), m), first, second)
    return reversed_along(call, _exchanged(call, m, first, second), [second])


def _as_operand(call: NodeCall, name: str, like: Any) -> Operand:
    return Operand(name, *call.spec(like))


# -- diagonals ---------------------------------------------------------------------------------------------------------


@_row("diagonal")
def _diagonal(call: NodeCall, a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> str:
    if empty(call):
        return nothing(call)
    return diagonal_of(call, a, offset, axis1, axis2)


@_row("linalg.diagonal")
def _linalg_diagonal(call: NodeCall, x: Any, offset: int = 0) -> str:
    if empty(call):
        return nothing(call)
    return diagonal_of(call, x, offset, -2, -1)


def diagonal_of(call: NodeCall, array: Any, offset: int, axis1: int, axis2: int) -> str:
    """Return diagonals, along a new last axis: each is a slice with a step of the elements in a row."""
    shape = call.spec(array).shape
    ndim = len(shape)
    first, second = axes_of((axis1, axis2), ndim)
    order = [*(axis for axis in range(ndim) if axis not in (first, second)), first, second]
    columns = length_of(call, array, second)
    value = array if order == list(range(ndim)) else call.transpose(array, order)
    rows = call.reshape(value, [*[0] * (ndim - 2), -1])
    start = offset if offset >= 0 else product_of(call, columns, -offset)
    stop = product_of(call, at_least(call, difference_of(call, columns, offset), 0), columns)
    step = columns + 1 if isinstance(columns, int) else call.node("Add", columns, call.ints(1))
    return sliced(call, rows, [start], [stop], [ndim - 2], [step])


@_row("trace")
def _trace(call: NodeCall, a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> str:
    return _summed_diagonal(call, a, offset, axis1, axis2)


@_row("linalg.trace")
def _linalg_trace(call: NodeCall, x: Any, offset: int = 0, dtype: Any = None) -> str:
    return _summed_diagonal(call, x, offset, -2, -1)


def _summed_diagonal(call: NodeCall, array: Any, offset: int, axis1: int, axis2: int) -> str:
    dtype = call.result_dtype
    computed = numpy.dtype(numpy.int64) if dtype.kind in "iu" else dtype
    diagonal = diagonal_of(call, array, offset, axis1, axis2)
    if call.spec(array).dtype != computed:
        diagonal = call.cast(diagonal, computed)
    total = call.reduce("ReduceSum", diagonal, [-1], False)
    return total if computed == dtype else call.cast(total, dtype)


@_row("diag")
def _diag(call: NodeCall, v: Any, k: int = 0) -> str:
    if empty(call):
        return nothing(call)
    array = operand_of(call, v)
    return diagonal_of(call, array, int(k), 0, 1) if array.ndim == 2 else _on_diagonal(call, array, int(k))


@_row("diagflat")
def _diagflat(call: NodeCall, v: Any, k: int = 0) -> str:
    if empty(call):
        return nothing(call)
    array = operand_of(call, v)
    return _on_diagonal(call, Operand(call.reshape(array, [-1]), (array.size,), array.dtype), int(k))


def _on_diagonal(call: NodeCall, row: Operand, offset: int) -> str:
    """Return a matrix with the elements of a row on one of its diagonals, and zeros."""
    count = length_of(call, row, 0)
    size = sum_of(call, count, abs(offset))
    numbers = counted(call, 0, size)
    places = numbers if not offset else call.node("Sub", numbers, call.ints(max(offset, 0)))
    if offset:
        # Each column has one element of the row, that at the column's number less the offset.
        places = call.node("Max", places, call.ints(0))
        places = call.node("Min", places, scalar(call, sum_of(call, count, -1)))
    columns = numbers if offset <= 0 else call.node("Sub", numbers, call.ints(offset))
    rows = numbers if offset >= 0 else call.node("Sub", numbers, call.ints(-offset))
    is_there = call.node("Equal", call.unsqueeze(rows, [1]), columns)
    return chosen(
        call, is_there, gathered(call, row, places, 0) if offset else row, numpy.zeros((), row.dtype), row.dtype
    )


# -- triangles ---------------------------------------------------------------------------------------------------------


@_row("tril triu")
def _triangle(call: NodeCall, m: Any, k: int = 0) -> str:
    array = m if isinstance(m, Operand) else call.emitter.constant(m)
    if array.ndim == 1:
        length = length_of(call, array, 0)
        square = expanded(call, array, vector(call, [length, length]) if is_open(call) else call.shape)
        array = Operand(square, call.shape, array.dtype)
    dtype = array.dtype
    if call.opset >= 14:
        moved_as = dtype if dtype.name in ("float16", "float32", "float64", "int64", "int32", "bool") else numpy.int64
        name = call.array(array, moved_as)
        name = call.node("Trilu", name, call.ints(int(k)), upper=int(call.key == "triu"))
        return name if moved_as == dtype else call.cast(name, dtype)
    rows, columns = (counted(call, 0, length_of(call, array, axis)) for axis in (-2, -1))
    distance = call.node("Sub", columns, call.unsqueeze(rows, [1]))
    kept = call.node("GreaterOrEqual" if call.key == "triu" else "LessOrEqual", distance, call.ints(int(k)))
    return chosen(call, kept, array, numpy.zeros((), dtype), dtype)


# -- positions in a row, and in an array -------------------------------------------------------------------------------


@_row("unravel_index")
def _unravel_index(call: NodeCall, indices: Any, shape: Any, order: str = "C") -> tuple[str, ...]:
    only(call, "order", order, ("C", "F"))
    lengths = [int(length) for length in (shape if isinstance(shape, (tuple, list)) else (shape,))]
    name = call.array(indices, numpy.int64)
    return tuple(
        call.node("Mod", call.node("Div", name, call.ints(step)), call.ints(length))
        for step, length in zip(_steps(lengths, order), lengths, strict=True)
    )


@_row("ravel_multi_index")
def _ravel_multi_index(call: NodeCall, multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> str:
    only(call, "order", order, ("C", "F"))
    lengths = [int(length) for length in (dims if isinstance(dims, (tuple, list)) else (dims,))]
    modes = list(mode) if isinstance(mode, (tuple, list)) else [mode] * len(lengths)
    if isinstance(multi_index, Operand):
        parts = [call.node("Gather", multi_index, call.ints(axis), axis=0) for axis in range(len(lengths))]
        parts = [call.cast(part, numpy.int64) for part in parts]
    else:
        parts = [call.array(part, numpy.int64) for part in multi_index]
    total = None
    for part, length, step, kind in zip(parts, lengths, _steps(lengths, order), modes, strict=True):
        only(call, "mode", kind, ("raise", "wrap", "clip"))
        if kind == "wrap":
            part = call.node("Mod", part, call.ints(length))
        elif kind == "clip":
            part = call.node("Min", call.node("Max", part, call.ints(0)), call.ints(length - 1))
        term = call.node("Mul", part, call.ints(step))
        total = term if total is None else call.node("Add", total, term)
    return str(total)


def _steps(lengths: Sequence[int], order: str) -> list[int]:
    """Return how far apart neighbours along each axis are in a row."""
    if order == "F":
        return _steps(lengths[::-1], "C")[::-1]
    return [int(numpy.prod(lengths[axis + 1 :], dtype=numpy.int64)) for axis in range(len(lengths))]


# -- several arrays ----------------------------------------------------------------------------------------------------


@_row("meshgrid")
def _meshgrid(
    call: NodeCall, xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> tuple[str, ...]:
    count = len(xi)
    places = list(range(count))
    if indexing == "xy" and count > 1:
        places[:2] = [1, 0]
    grids = []
    for place, value, spec in zip(places, xi, call.results, strict=True):
        row = call.reshape(value, [1 if axis != place else -1 for axis in range(count)])
        grids.append(row if sparse else expanded(call, row, spec.shape))
    return tuple(grids)


@_row("broadcast_arrays")
def _broadcast_arrays(call: NodeCall, args: Any, subok: bool = False) -> tuple[str, ...]:
    return tuple(expanded(call, value, spec.shape) for value, spec in zip(args, call.results, strict=True))


@_row("unstack")
def _unstack(call: NodeCall, x: Any, axis: int = 0) -> tuple[str, ...]:
    at = axis_of(axis, len(call.spec(x).shape))
    return tuple(call.node("Gather", x, call.ints(index), axis=at) for index in range(len(call.results)))
