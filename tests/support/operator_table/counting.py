"""Rows of `minpy.ops.tensor.counting`: histograms, and classes as rows."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from operator_table.row import Row, integers, real

__all__ = ["KINDS_OF_STEPS", "ROWS"]

KINDS_OF_STEPS = {"elementwise call": "_histogram", "elementwise view": "_onehot_encode"}


def _histogram(x: np.ndarray, bins: Any = None, bin_cnt: Any = None, range: Any = None) -> Any:
    edges = np.linspace(*range, bin_cnt + 1) if bins is None else bins
    last = len(edges) - 2
    counts = [
        sum(bool(low <= value < high or (index == last and value == high)) for value in x.ravel())
        for index, (low, high) in enumerate(itertools.pairwise(edges))
    ]
    return np.array(counts), edges


_NONE = {"order": 0, "reason": "counts are piecewise constant", "dtypes": ()}

ROWS = (
    Row("_histogram", real(3, 4), {"bin_cnt": 4, "range": (-1.0, 1.0)}, _histogram, **_NONE),
    Row("_histogram", (real(3, 4), real(4, values=[-1.5, -0.5, 0.25, 2])), {}, _histogram, label="edges", **_NONE),
    Row(
        "_onehot_encode",
        (integers(5, high=4), real(5, 4)),
        {},
        lambda x, y: np.eye(4)[x.astype(int)],
        order=0,
        reason="rows have ones, whatever the values",
        dtypes=(),
    ),
)
