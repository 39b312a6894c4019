"""Operators that count: how many elements lie in bins, and classes as rows with a 1 each."""

from __future__ import annotations

from typing import Any

import numpy as np

from minpy.core.errors import ArgumentError
from minpy.ops.inference.partial_shapes import UNKNOWN, merge_shapes
from minpy.ops.registry import operator

__all__ = ["histogram", "onehot_encode"]


@operator(
    name="_histogram",
    outputs=("output0", "output1"),
    optional_inputs={"bins": lambda attributes: attributes.get("bin_cnt") is None},
    zero="all",
    may_alias=False,
)
def histogram(
    data: np.ndarray,
    bins: np.ndarray | None = None,
    *,
    bin_cnt: int | None = None,
    range: tuple[float, ...] | None = None,
) -> Any:
    """Return how many elements lie in each bin, and the bins' edges.

    A bin has its lower edge, and not its upper one; the last has both. What lies outside all bins is not counted. The
    gradient is zero.

    {data_parameter}
        Of any shape.
    bins : NDArray
        The edges, in ascending order, of shape (number of bins + 1,); left out with `bin_cnt`.
    bin_cnt : int
        How many bins of equal width there are.
    range : tuple of float
        The lower and upper end of all bins, with `bin_cnt`.

    Returns
    -------
    list of NDArray
        The numbers, of shape (number of bins,) and dtype int64, and the edges, in the dtype of the data.

    {raises_argument_error}
        Unless there are either edges, which ascend, or a number of bins and their range.

    {examples}
    >>> counts, edges = nd._internal._histogram(nd.array([0, 1, 1, 4, 7]), bin_cnt=2, range=(0, 4))
    >>> counts.asnumpy(), edges.asnumpy()
    (array([3, 1]), array([0., 2., 4.], dtype=float32))
    """
    if (bins is None) == (bin_cnt is None) or (bin_cnt is not None and range is None):
        passed = [name for name, value in (("bins", bins), ("bin_cnt", bin_cnt), ("range", range)) if value is not None]
        raise ArgumentError(
            f"_histogram: {', '.join(passed) or 'nothing'} is given beside the data; give either the edges, bins=, or "
            "their number and ends, bin_cnt= and range=."
        )
    given_bins: Any = bin_cnt if bins is None else bins
    ends: Any = range if bins is None else None
    numbers = data.astype(np.uint8) if data.dtype.kind == "b" else data
    if isinstance(given_bins, np.ndarray) and given_bins.dtype.kind == "b":
        given_bins = given_bins.astype(np.uint8)
    if isinstance(given_bins, np.ndarray) and (given_bins[1:] < given_bins[:-1]).any():
        raise ArgumentError("_histogram: the edges in bins do not ascend; sort them first, as with nd.sort(bins).")
    counts, edges = np.histogram(numbers, given_bins, ends)
    return counts.astype(np.int64), edges.astype(data.dtype)


@histogram.def_infer_shape
def _histogram_shapes(inputs: Any, outputs: Any, *, bin_cnt: int | None) -> Any:
    if bin_cnt is not None:
        return inputs, [(bin_cnt,), (bin_cnt + 1,)]
    edges = merge_shapes(inputs[1], outputs[1])
    if edges is None:
        return inputs, outputs
    count = edges[0] if edges[0] == UNKNOWN else max(edges[0] - 1, 0)
    return [inputs[0], edges], [(count,), edges]


@histogram.def_infer_type
def _histogram_dtypes(inputs: Any, outputs: Any, *, bin_cnt: int | None) -> Any:
    common = next((dtype for dtype in (*inputs, outputs[1]) if dtype is not None), None)
    return [common] * len(inputs), [np.dtype(np.int64), common]


@operator(name="_onehot_encode", zero="all")
def onehot_encode(lhs: np.ndarray, rhs: np.ndarray) -> np.ndarray:
    """Return rows of the shape and dtype of `rhs` that have a 1 in the columns that `lhs` names; the gradient is zero.

    Parameters
    ----------
    lhs : NDArray
        Columns, of shape (N,). One that is not there makes a row of zeros.
    rhs : NDArray
        Of shape (N, number of columns); its values are not used.

    {returns_array}
        Of the shape and dtype of `rhs`.

    {examples}
    >>> nd._internal._onehot_encode(nd.array([2, 0]), nd.zeros((2, 3))).asnumpy()
    array([[0., 0., 1.],
           [1., 0., 0.]], dtype=float32)
    """
    return (np.reshape(lhs, (-1, 1)) == np.arange(rhs.shape[1])).astype(rhs.dtype)


@onehot_encode.def_infer_shape
def _onehot_shapes(inputs: Any, outputs: Any) -> Any:
    rows = merge_shapes(inputs[1], outputs[0])
    columns = inputs[0] if rows is None else merge_shapes(inputs[0], rows[:1])
    return [columns, rows], [rows]


@onehot_encode.def_infer_type
def _onehot_dtypes(inputs: Any, outputs: Any) -> Any:
    dtype = inputs[1] if inputs[1] is not None else outputs[0]
    return [inputs[0], dtype], [dtype]
