"""Functions of `minpy.nd` that are no operators: they take lists of arrays, write into arrays, or return several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from minpy.core.array import Array
from minpy.core.errors import ArgumentError, ShapeError
from minpy.core.followed import is_followed
from minpy.ndarray.ndarray import NDArray
from minpy.ops.axes import several_axes
from minpy.ops.shared_docstrings import with_shared_texts
from minpy.ops.tensor import counting, indexing, joining, splitting
from minpy.ops.tensor.transpose import transpose

__all__ = ["concatenate", "histogram", "moveaxis", "onehot_encode", "reset_arrays", "split_v2", "waitall"]


def concatenate(arrays: Sequence[NDArray], axis: int = 0, always_copy: bool = True) -> NDArray:
    """Return arrays joined along an axis; a single array itself, unless `always_copy`.

    Examples
    --------
    >>> from minpy import nd
    >>> nd.concatenate([nd.array([1]), nd.array([2, 3])]).asnumpy()
    array([1., 2., 3.], dtype=float32)
    """
    if len(arrays) == 1 and not always_copy:
        return arrays[0]
    return joining.concat(*arrays, dim=axis)


@with_shared_texts
def moveaxis(tensor: NDArray, source: int | Sequence[int], destination: int | Sequence[int]) -> NDArray:
    """Return an array with axes moved to new positions; the others keep their order.

    {raises_shape_error}
        If an axis does not exist or is given twice, or the numbers of axes differ.

    {examples}
    >>> nd.moveaxis(nd.zeros((2, 3, 4)), 0, 2).shape
    (3, 4, 2)
    """
    start = several_axes("moveaxis", source, tensor.ndim)
    end = several_axes("moveaxis", destination, tensor.ndim)
    if len(start) != len(end):
        raise ShapeError(f"moveaxis: source {source} and destination {destination} must have the same number of axes.")
    order = [axis for axis in range(tensor.ndim) if axis not in start]
    for position, axis in sorted(zip(end, start, strict=True)):
        order.insert(position, axis)
    return transpose(tensor, axes=tuple(order))


def split_v2(ary: NDArray, indices_or_sections: Any, axis: int = 0, squeeze_axis: bool = False) -> Any:
    """Return a list of the parts of an array, cut at given positions or into equally long ones; see `split`.

    Examples
    --------
    >>> from minpy import nd
    >>> [part.asnumpy().tolist() for part in nd.split_v2(nd.array([1, 2, 3, 4]), (1, 2))]
    [[1.0], [2.0], [3.0, 4.0]]
    """
    cuts = indices_or_sections
    cuts = cuts if isinstance(cuts, int) else tuple(cuts)
    parts = splitting.split_v2(ary, indices_or_sections=cuts, axis=axis, squeeze_axis=squeeze_axis)
    return list(parts) if isinstance(parts, tuple) else parts


@with_shared_texts
def reset_arrays(*data: NDArray, num_arrays: int, name: str | None = None, out: Any = None) -> list[NDArray]:
    """Set all elements of several arrays to 0, in place.

    Parameters
    ----------
    *data : NDArray
        Of any shapes and dtypes.
    num_arrays : int
        Their number.
    name, out
        Accepted and not used.

    Returns
    -------
    list
        Empty.

    {raises_argument_error}
        If there are more or fewer arrays.

    {examples}
    >>> x = nd.ones((2,))
    >>> nd.reset_arrays(x, num_arrays=1)
    []
    >>> x.asnumpy()
    array([0., 0.], dtype=float32)
    """
    if len(data) != num_arrays:
        raise ArgumentError(f"reset_arrays: num_arrays is {num_arrays}, but {len(data)} array(s) are given.")
    for array in data:
        array[:] = 0
    return []


@with_shared_texts
def onehot_encode(indices: NDArray, out: NDArray) -> NDArray:
    """Write the one-hot rows of `indices` into `out`, of shape (number of indices, depth), and return it.

    Parameters
    ----------
    indices : NDArray
        Which column of each row is 1.
    out : NDArray
        Where the rows are written.

    {returns_array}

    {examples}
    >>> nd.onehot_encode(nd.array([2, 0]), nd.zeros((2, 3))).asnumpy()
    array([[0., 0., 1.],
           [1., 0., 0.]], dtype=float32)
    """
    return indexing.one_hot(indices, depth=out.shape[1], out=out)


def histogram(
    a: NDArray, bins: Any = 10, range: tuple[float, float] | None = None
) -> tuple[NDArray, NDArray] | list[NDArray]:
    """Return (how many elements lie in each bin, the bins' edges).

    Parameters
    ----------
    a : NDArray
    bins : int or NDArray
        How many there are; or their edges, of the dtype of `a`.
    range : tuple of float, optional
        The lower and upper end of all bins; by default the least and the greatest element.

    Returns
    -------
    tuple or list of NDArray
        As in MXNet: without `range` and edges a tuple of float32; else a list, of counts in int64 and edges in the
        dtype of `a`.

    Examples
    --------
    >>> from minpy import nd
    >>> counts, edges = nd.histogram(nd.array([1, 2, 2, 5]), bins=2)
    >>> counts.asnumpy(), edges.asnumpy()
    (array([3., 1.], dtype=float32), array([1., 3., 5.], dtype=float32))
    >>> nd.histogram(nd.array([1, 2, 2, 5]), bins=2, range=(0, 4))[0].asnumpy()
    array([1, 2])
    """
    if isinstance(bins, Array):
        return list(counting.histogram(a, bins))
    if is_followed(a):  # on the tape, with a gradient of zero
        ends = (float(a._data.min()), float(a._data.max())) if range is None else range
        counts, edges = counting.histogram(a, bin_cnt=bins, range=ends)
        return (counts.astype("float32"), edges.astype("float32")) if range is None else [counts, edges]
    if range is None:
        counts, edges = numpy.histogram(a._data, bins)
        return a._like(counts.astype(numpy.float32)), a._like(edges.astype(numpy.float32))
    return list(counting.histogram(a, bin_cnt=bins, range=range))


def waitall() -> None:
    """Return at once: operations have finished when they return."""
