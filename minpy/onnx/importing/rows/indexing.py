"""Operators that choose elements by indices."""

from __future__ import annotations

from typing import Any

import numpy

from minpy import symbol
from minpy.onnx.importing.calls import Call, row
from minpy.onnx.importing.refusals import Refusal

# The operators take lists of inputs before their keywords, which types cannot tell apart.
sym: Any = symbol
np = symbol.np


@row("Gather")
def gather(call: Call) -> Any:
    """Negative indices count from the end."""
    return np.take(call.symbol(0), call.symbol(1), axis=call.axis(0), mode="wrap")


@row("GatherElements")
def gather_elements(call: Call) -> Any:
    """An index per element, along one axis; the other axes may be shorter than the data's."""
    axis, rank = call.axis(0), call.rank()
    data, indices = call.shape(0), call.shape(1)
    cut = tuple(slice(None) if other == axis else slice(0, indices[other]) for other in range(rank))
    x = call.symbol(0)
    return np.take_along_axis(x if data == indices else x[cut], call.symbol(1), axis=axis)


@row("GatherND")
def _gather_nd(call: Call) -> Any:
    if call.get("batch_dims", 0):
        raise Refusal("batch_dims are not computed. Express it by Gather, or GatherElements")
    depth, shape = call.shape(1)[-1], call.shape(0)
    flat = _flat(call.symbol(1), shape[:depth], call.parameter)
    rows = np.reshape(call.symbol(0), (int(numpy.prod(shape[:depth], dtype=int)), *shape[depth:]))
    return np.take(rows, flat, axis=0, mode="wrap")


def _flat(indices: Any, lengths: tuple[int, ...], parameter: Any) -> Any:
    """Return the places of rows in an array whose first axes are one."""
    sizes = numpy.asarray(lengths, numpy.int64)
    strides = numpy.asarray([int(numpy.prod(lengths[place + 1 :], dtype=int)) for place in range(len(lengths))])
    wrapped = np.mod(indices, parameter(sizes, "lengths"))
    return np.sum(np.multiply(wrapped, parameter(strides.astype(numpy.int64), "strides")), axis=-1)


@row("OneHot")
def one_hot(call: Call) -> Any:
    """Indices that are out of range have no place that is on."""
    depth = int(call.value(1, "depth").ravel()[0])
    rank = call.rank() + 1
    axis = call.get("axis", -1) % rank
    indices = np.expand_dims(call.symbol(0), axis)
    column = numpy.arange(depth, dtype=call.dtype(0)).reshape([depth if other == axis else 1 for other in range(rank)])
    indices = np.where(np.less(indices, 0), np.add(indices, depth), indices)
    values = call.symbol(2)
    return np.where(np.equal(indices, call.parameter(column, "places")), values[1], values[0])


@row("Compress")
def compress(call: Call) -> Any:
    """What is chosen has to be known, as its length hangs on it."""
    chosen = numpy.flatnonzero(call.value(1, "conditions"))
    indices = call.parameter(chosen, "chosen")
    if "axis" in call.attributes:
        return np.take(call.symbol(0), indices, axis=call.axis(0))
    return np.take(np.reshape(call.symbol(0), (-1,)), indices, axis=0)


@row("ReverseSequence")
def _reverse_sequence(call: Call) -> Any:
    batch, time = call.get("batch_axis", 1), call.get("time_axis", 0)
    lengths = np.expand_dims(call.symbol(1), 1 if batch == 0 else 0)
    steps = numpy.arange(call.shape(0, [time])[0])
    steps = call.parameter(steps[None] if batch == 0 else steps[:, None], "steps")
    places = np.where(np.less(steps, lengths), np.subtract(np.subtract(lengths, 1), steps), steps)
    shape = [1] * (call.rank() - 2)
    first, second = call.shape(0, [0, 1])
    return np.take_along_axis(call.symbol(0), np.reshape(places, (first, second, *shape)), axis=time)


@row("ScatterND")
def _scatter_nd(call: Call) -> Any:
    indices = call.symbol(1)
    depth, shape = call.shape(1)[-1], call.shape(0)
    wrapped = np.mod(indices, call.parameter(numpy.asarray(shape[:depth], numpy.int64), "lengths"))
    return _scattered(call, np.moveaxis(wrapped, -1, 0), shape)


@row("ScatterElements", "Scatter")
def _scatter_elements(call: Call) -> Any:
    axis, shape, chosen = call.axis(0), call.shape(0), call.shape(1)
    wrapped = np.mod(call.symbol(1), numpy.int64(shape[axis]).item())
    grid = numpy.indices(chosen)
    parts = [
        np.astype(wrapped, "int64") if other == axis else call.parameter(grid[other], f"places{other}")
        for other in range(len(shape))
    ]
    return _scattered(call, np.stack(parts), shape)


def _scattered(call: Call, places: Any, shape: tuple[int, ...]) -> Any:
    """Return the data with updates written at places."""
    reduction = call.get("reduction", "none")
    if reduction == "none":
        return sym._internal._scatter_set_nd(call.symbol(0), call.symbol(2), places, shape=shape)
    raise Refusal(f"its reduction is {reduction!r}; only writing (none) is computed")
