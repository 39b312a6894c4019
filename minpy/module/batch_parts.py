"""Batches and contexts: parts of a batch put into arrays, and results of several contexts put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from minpy.core.array import as_raw
from minpy.core.buffers import note_write
from minpy.core.errors import ArgumentError, ShapeError, describe
from minpy.io import DataDesc

__all__ = ["batch_axis", "load_inputs", "merged", "part_of"]


def batch_axis(layout: Any) -> int:
    """Return the axis of the batch: 0 if nothing is said of it, -1 if there is none."""
    return int(DataDesc.get_batch_axis(layout))


def part_of(array: Any, part: slice, axis: int) -> Any:
    """Return a part along an axis; the whole for axis -1."""
    if axis < 0:
        return array
    return array[(slice(None),) * axis + (part,)]


def load_inputs(
    kind: str, batch: Any, targets: Sequence[Sequence[tuple[slice, Any]]], axes: Sequence[int], names: Sequence[str]
) -> bool:
    """Copy the arrays of a batch, 'data' or 'label', into those of executors; tell whether there are any.

    Of each input `targets` say where its parts along an axis go. The batch may be a list of one for each context.
    """
    if isinstance(batch, list):
        inputs: Any = [list(row) for row in zip(*(getattr(part, kind) or () for part in batch), strict=True)]
    else:
        inputs = getattr(batch, kind)
    if not inputs:
        if kind == "label":
            return False
        inputs = ()
    elif not isinstance(inputs, (list, tuple)):
        inputs = [inputs]
    if len(inputs) < len(targets):
        raise ArgumentError(
            f"forward: the batch has {len(inputs)} array(s) of {kind}; expected {len(targets)}: {', '.join(names)}."
        )
    for array, rows, axis, name in zip(inputs, targets, axes, names, strict=False):
        is_in_parts = isinstance(array, (list, tuple))
        whole: Any = None if is_in_parts else as_raw(array)
        for index, (part, target) in enumerate(rows):
            if is_in_parts:
                raw = as_raw(array[index])
            else:
                raw = whole if len(rows) == 1 else part_of(whole, part, axis)
            data = target._data
            if raw.shape != data.shape:
                raise ShapeError(
                    f"forward: {kind} {name!r} of the batch is {describe(array)}; expected {data.shape}, with which "
                    "the module is bound."
                )
            numpy.copyto(data, raw, casting="unsafe")
            note_write(data)
    return True


def merged(rows: Sequence[Sequence[Any]], axes: Sequence[int]) -> list[Any]:
    """Return results of several contexts put together along the axis of the batch; the first where there is none."""
    return [
        arrays[0]
        if len(arrays) == 1 or axis < 0
        else arrays[0]._like(numpy.concatenate([array._data for array in arrays], axis))
        for arrays, axis in zip(rows, axes, strict=True)
    ]
