"""What `predict` is given, and its outputs put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from minpy import ndarray as nd
from minpy.core.errors import ArgumentError, ArgumentValueError, describe
from minpy.io import DataIter

__all__ = ["as_iterator", "joined", "without_padding"]


def as_iterator(data: Any) -> Any:
    """Return an iterator over batches; None for an array, which is one batch."""
    if isinstance(data, (nd.NDArray, numpy.ndarray)):
        return None
    if isinstance(data, DataIter) or (hasattr(data, "reset") and hasattr(data, "__iter__")):
        return data
    raise ArgumentValueError(
        f"predict: eval_data is {describe(data)}; expected a DataIter, an NDArray or a NumPy array."
    )


def without_padding(output: Any, pad: int | None) -> Any:
    """Return an output without the rows that stand for no instances."""
    return output[0 : output.shape[0] - pad] if pad else output[0 : output.shape[0]]


def joined(rows: Sequence[Sequence[Any]]) -> list[Any]:
    """Return each output of all batches as one array."""
    counts = sorted({len(row) for row in rows})
    if len(counts) > 1:
        raise ArgumentError(
            f"predict: batches have {' and '.join(map(str, counts))} outputs, which cannot be put together. Pass "
            "merge_batches=False for a list of each batch's."
        )
    return [nd.concatenate(list(column)) if len(column) > 1 else column[0] for column in zip(*rows, strict=True)]
