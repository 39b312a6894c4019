"""Matching rows with columns by their scores."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minpy.core.errors import ShapeError
from minpy.ops.dtype_attributes import require_floats
from minpy.ops.inference.partial_shapes import merge_shapes
from minpy.ops.inference.rule_parts import numbered, with_followers
from minpy.ops.kernels.box_suppression import greedy_pairs
from minpy.ops.registry import operator

__all__ = ["bipartite_matching"]


@operator(name="_contrib_bipartite_matching", outputs=numbered(2), zero="all", dtypes=with_followers)
def bipartite_matching(data: np.ndarray, *, is_ascend: bool = False, threshold: float, topk: int = -1) -> Any:
    """Return rows and columns matched greedily: the pair with the best score first, then the best of the others.

    {data_parameter}
        Of shape (..., n, m), floating point: the scores. Axes in front are a batch.
    is_ascend : bool
        Whether small scores are the good ones.
    threshold : float
        Pairs are matched if their score is larger; with `is_ascend`, if it is smaller.
    topk : int
        How many pairs are matched at most; all that can be if it is not positive.

    Returns
    -------
    two NDArrays
        Of shape (..., n) and (..., m): the column of each row, and the row of each column; -1 for none. Gradients are
        zero.

    {raises_shape_error}
        If the data have one axis only.
    DTypeError
        If the scores are integers.

    {examples}
    >>> rows, columns = nd.contrib.bipartite_matching(nd.array([[0.5, 0.6], [0.1, 0.2], [0.3, 0.4]]), threshold=0.01)
    >>> rows.asnumpy(), columns.asnumpy()
    (array([ 1., -1.,  0.], dtype=float32), array([2., 0.], dtype=float32))
    """
    require_floats("bipartite_matching", data)
    _check_scores(data.shape)
    rows, columns = data.shape[-2:]
    scores = data.reshape(math.prod(data.shape[:-2]), rows, columns)
    scores = -scores if is_ascend else scores
    min_score = -threshold if is_ascend else threshold
    is_swapped = rows > columns
    if is_swapped:  # the shorter side looks for its best, one after the other
        scores = scores.swapaxes(1, 2)
    num_candidates = scores.shape[2]
    matched = np.full(scores.shape[:2], -1)
    if scores.size:
        best = scores.max(2), scores.argmax(2)
        matched = greedy_pairs(
            lambda batch, places: scores[batch, places],
            best,
            num_candidates,
            min_score,
            most=topk,
            rows_first=not is_swapped,
        )
    matches = np.full((len(scores), num_candidates), -1)
    batch, row = np.nonzero(matched >= 0)
    matches[batch, matched[batch, row]] = row
    both = (matches, matched) if is_swapped else (matched, matches)
    return tuple(positions.reshape(*data.shape[:-2], positions.shape[1]).astype(data.dtype) for positions in both)


def _check_scores(shape: tuple[int, ...]) -> None:
    if len(shape) < 2:
        raise ShapeError(f"bipartite_matching: data has shape {shape}; expected (..., n, m), a score for each pair.")


@bipartite_matching.def_infer_shape
def _bipartite_matching_shapes(inputs: Any, outputs: Any) -> Any:
    data = inputs[0]
    if data is None and None not in outputs:
        data = (*outputs[0], *outputs[1][-1:])
    if data is None:
        return inputs, outputs
    _check_scores(data)
    rows, columns = merge_shapes(data[:-1], outputs[0]), merge_shapes((*data[:-2], data[-1]), outputs[1])
    return [(*(rows or ()), data[-1])], [rows, columns]
