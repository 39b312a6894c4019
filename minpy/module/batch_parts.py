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
    what: str, batch: Any, targets: Sequence[Sequence[tuple[slice, Any]]], axes: Sequence[int], names: Sequence[str]
) -> bool:
    """Copy the arrays of a batch into those of executors; tell whether there are any.

    Parameters
    ----------
    what : str
        'data' or 'label'.
    batch : DataBatch, or a list of one for each context
    targets : list of list of (slice, NDArray)
        Of each input, where its parts go.
    axes : list of int
        Along which inputs are cut.
    names : list of str
    """
    if isinstance(batch, list):
        sources: Any = [list(row) for row in zip(*(getattr(part, what) or () for part in batch), strict=True)]
    else:
        sources = getattr(batch, what)
    if not sources:
        if what == "label":
            return False
        sources = ()
    elif not isinstance(sources, (list, tuple)):
        sources = [sources]
    if len(sources) < len(targets):
        raise ArgumentError(
            f"forward: the batch has {len(sources)} array(s) of {what}; expected {len(targets)}: {', '.join(names)}."
        )
    for source, rows, axis, name in zip(sources, targets, axes, names, strict=False):
        apart = isinstance(source, (list, tuple))
        whole = None if apart else as_raw(source)
        for place, (part, target) in enumerate(rows):
            if apart:
                raw = as_raw(source[place])
            else:
                raw = whole if len(rows) == 1 else part_of(whole, part, axis)  # type: ignore[assignment]
            data = target._data
            if raw.shape != data.shape:
                raise ShapeError(
                    f"forward: {what} {name!r} of the batch is {describe(source)}; expected {data.shape}, with which "
                    "the module is bound."
                )
            numpy.copyto(data, raw, casting="unsafe")
            note_write(data)
    return True


def merged(rows: Sequence[Sequence[Any]], axes: Sequence[int]) -> list[Any]:
    """Return results of several contexts put together along the axis of the batch; the first where there is none."""
    results = []
    for arrays, axis in zip(rows, axes, strict=True):
        if len(arrays) == 1 or axis < 0:
            results.append(arrays[0])
        else:
            first = arrays[0]
            results.append(first._like(numpy.concatenate([array._data for array in arrays], axis)))
    return results
