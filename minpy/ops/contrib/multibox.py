"""The single shot detector's boxes: anchors, training targets, and detections."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from minpy.core.errors import ArgumentError, ShapeError
from minpy.ops.contrib.box_encoding import centers, moved_corners, moves_between
from minpy.ops.dtype_attributes import require_floats
from minpy.ops.inference.partial_shapes import UNKNOWN, merge_shapes
from minpy.ops.inference.rule_parts import derived, forwards, with_axes, with_followers
from minpy.ops.kernels.box_suppression import box_areas, greedy_pairs, kept_boxes, pair_overlaps
from minpy.ops.registry import operator

__all__ = ["multibox_detection", "multibox_prior", "multibox_target"]

# Overlaps that are no larger match nothing.
_MIN_OVERLAP = 1e-6


def _require(name: str, argument: str, values: Sequence[float], count: int) -> None:
    if len(values) != count:
        raise ArgumentError(f"{name}: {argument} is {tuple(values)}; expected {count} numbers.")


# -- anchors -----------------------------------------------------------------------------------------------------------


@operator(name="_contrib_MultiBoxPrior", zero="all", dtypes=with_followers)
def multibox_prior(
    data: np.ndarray,
    *,
    sizes: tuple[float, ...] = (1.0,),
    ratios: tuple[float, ...] = (1.0,),
    clip: bool = False,
    steps: tuple[float, ...] = (-1.0, -1.0),
    offsets: tuple[float, ...] = (0.5, 0.5),
) -> np.ndarray:
    """Return anchors of several sizes and shapes around the center of every pixel.

    {data_parameter}
        Of shape (batch, channels, height, width, ...), floating point: a feature map. Its values are not looked at, and
        its gradient is zero.
    sizes : tuple of float
        Heights of square anchors, as shares of the image's.
    ratios : tuple of float
        Widths by heights. Every size comes with the first ratio, every further ratio with the first size.
    clip : bool
        Whether anchors are cut at the image's border.
    steps : tuple of two floats
        From one center to the next, vertically and horizontally; negative for those of the pixels.
    offsets : tuple of two floats
        Where in its pixel a center lies, vertically and horizontally.

    {returns_array}
        Of shape (1, height * width * (len(sizes) + len(ratios) - 1), 4): x1, y1, x2, y2 as shares of the image's
        width and height.

    {raises_shape_error}
        If the data have less than four axes.
    ArgumentError
        If there are no sizes or no ratios, or only one step is negative.
    DTypeError
        If the data hold integers.

    {examples}
    >>> nd.contrib.MultiBoxPrior(nd.zeros((1, 3, 1, 2)), sizes=(0.5,)).asnumpy()
    array([[[0.125, 0.25 , 0.375, 0.75 ],
            [0.625, 0.25 , 0.875, 0.75 ]]], dtype=float32)
    """
    require_floats("MultiBoxPrior", data)
    _check_priors(data.shape, sizes, ratios, steps, offsets)
    height, width = data.shape[2:4]
    dtype = data.dtype if data.dtype.itemsize > 2 else np.dtype(np.float32)
    step = [dtype.type(size if size > 0 else 1 / length) for size, length in zip(steps, (height, width), strict=True)]
    y = (np.arange(height, dtype=dtype) + dtype.type(offsets[0])) * step[0]
    x = (np.arange(width, dtype=dtype) + dtype.type(offsets[1])) * step[1]
    half_width, half_height = _half_sides(sizes, ratios, height / width, dtype)
    shape = (height, width, len(half_width))
    x, y = np.reshape(x, (1, width, 1)), np.reshape(y, (height, 1, 1))
    corners = [x - half_width, y - half_height, x + half_width, y + half_height]
    anchors = np.stack([np.broadcast_to(corner, shape) for corner in corners], -1)
    return np.reshape(np.clip(anchors, 0, 1) if clip else anchors, (1, math.prod(shape), 4)).astype(
        data.dtype, copy=False
    )


def _half_sides(
    sizes: Sequence[float], ratios: Sequence[float], aspect: float, dtype: np.dtype
) -> tuple[np.ndarray, np.ndarray]:
    """Return half the widths and heights of the anchors of one pixel."""
    pairs = [*((size, ratios[0]) for size in sizes), *((sizes[0], ratio) for ratio in ratios[1:])]
    size, root = np.array([size for size, _ in pairs], dtype), np.sqrt(np.array([ratio for _, ratio in pairs], dtype))
    return size * dtype.type(aspect) * root / 2, size / root / 2


def _check_priors(shape: Any, sizes: Any, ratios: Any, steps: Any, offsets: Any) -> None:
    if len(shape) < 4:
        raise ShapeError(f"MultiBoxPrior: data has shape {shape}; expected (batch, channels, height, width).")
    for argument, values in (("sizes", sizes), ("ratios", ratios)):
        if not len(values):
            raise ArgumentError(f"MultiBoxPrior: {argument} is empty; expected one number at least.")
    _require("MultiBoxPrior", "steps", steps, 2)
    _require("MultiBoxPrior", "offsets", offsets, 2)
    if steps[0] * steps[1] < 0:
        raise ArgumentError(f"MultiBoxPrior: steps is {tuple(steps)}; expected two lengths, or two negative numbers.")


@multibox_prior.def_infer_shape
@forwards
def _multibox_prior_shape(
    data: Any,
    *,
    sizes: Any = (1.0,),
    ratios: Any = (1.0,),
    steps: Any = (-1.0, -1.0),
    offsets: Any = (0.5, 0.5),
    **_: Any,
) -> Any:
    _check_priors(data, sizes, ratios, steps, offsets)
    anchors = derived(lambda height, width: height * width * (len(sizes) + len(ratios) - 1), *data[2:4])
    return (1, anchors, 4)


# -- targets -----------------------------------------------------------------------------------------------------------


@operator(
    name="_contrib_MultiBoxTarget", outputs=("loc_target", "loc_mask", "cls_target"), zero="all", dtypes=with_followers
)
def multibox_target(
    anchor: np.ndarray,
    label: np.ndarray,
    cls_pred: np.ndarray,
    *,
    overlap_threshold: float = 0.5,
    ignore_label: float = -1.0,
    negative_mining_ratio: float = -1.0,
    negative_mining_thresh: float = 0.5,
    minimum_negative_samples: int = 0,
    variances: tuple[float, ...] = (0.1, 0.1, 0.2, 0.2),
) -> Any:
    """Return what a detector is to predict for each anchor: class and place of the object that it is matched with.

    Every object is matched with the anchor that overlaps it most, the largest overlap first, each with another anchor.
    Then each anchor that is left is matched with the object that it overlaps most, if it does so by more than a
    threshold. The others are background; with negative mining, only the hardest of them, and the rest are ignored.

    Parameters
    ----------
    anchor : NDArray
        Of shape (1, n, 4): x1, y1, x2, y2. Floating point; the gradients of all inputs are zero.
    label : NDArray
        Of shape (batch, m, 5 or more): class, x1, y1, x2, y2 of each object; behind the last one, rows of -1.
    cls_pred : NDArray
        Of shape (batch, classes + 1, n): scores before the softmax, background first. Negative mining looks at them.
    overlap_threshold : float
        If it is not positive, objects are matched with one anchor each.
    ignore_label : float
        The class of anchors that do not count. In images without objects, all are.
    negative_mining_ratio : float
        How many anchors are background at most, for each that is matched; all that can be if it is not positive.
    negative_mining_thresh : float
        Anchors that overlap an object by as much are never background in negative mining.
    minimum_negative_samples : int
        Accepted and not used, as in MXNet.
    variances : tuple of four floats
        By which the targets are divided.

    Returns
    -------
    loc_target : NDArray
        Of shape (batch, 4 * n): as of `box_encode`; zero for anchors without a match.
    loc_mask : NDArray
        Of that shape: 1 for anchors with a match, else 0.
    cls_target : NDArray
        Of shape (batch, n): the class + 1, 0 for background, or `ignore_label`.

    {raises_unless_shapes_fit}
    ArgumentError
        If a row of labels with class -1 has other numbers in it, or there are not four variances.
    DTypeError
        If the anchors are integers.

    Notes
    -----
    Liu et al., "SSD: Single shot multibox detector", 2016, section 2.2.

    {examples}
    >>> anchors = nd.array([[[0, 0, 0.5, 0.5], [0.5, 0.5, 1, 1]]])
    >>> labels = nd.array([[[2, 0.1, 0.1, 0.6, 0.6]]])
    >>> places, masks, classes = nd.contrib.MultiBoxTarget(anchors, labels, nd.zeros((1, 4, 2)))
    >>> classes.asnumpy(), places.asnumpy().round(3)
    (array([[3., 0.]], dtype=float32), array([[2., 2., 0., 0., 0., 0., 0., 0.]], dtype=float32))
    """
    require_floats("MultiBoxTarget", anchor, argument="anchor")
    _check_targets(anchor.shape, label.shape, cls_pred.shape)
    _require("MultiBoxTarget", "variances", variances, 4)
    dtype = anchor.dtype
    corners = [np.ascontiguousarray(_wide(anchor[0, :, column])) for column in range(4)]
    objects = _wide(label[..., :5]).astype(corners[0].dtype, copy=False)
    counts = _count_objects(objects)
    best, match, peaks = _best_overlaps(corners, objects, counts)
    _match_objects(corners, objects, counts, match, best, peaks, overlap_threshold)

    batch, position = np.nonzero(match >= 0)
    matched = objects[batch, match[batch, position]]
    classes = np.where((counts > 0)[:, None], 0, ignore_label).astype(dtype) + np.zeros(match.shape, dtype)
    if negative_mining_ratio > 0:
        negative = _hardest(_wide(cls_pred), match, best, counts, negative_mining_ratio, negative_mining_thresh)
        classes = np.where(negative, 0, ignore_label).astype(dtype)
    classes[batch, position] = matched[:, 0] + 1
    places, mask = np.zeros((*match.shape, 4), dtype), np.zeros((*match.shape, 4), dtype)
    moves = moves_between(centers([corner[position] for corner in corners]), centers(matched[:, 1:].T))
    places[batch, position] = np.stack([move / variance for move, variance in zip(moves, variances, strict=True)], -1)
    mask[batch, position] = 1
    return places.reshape(len(match), 4 * match.shape[1]), mask.reshape(len(match), 4 * match.shape[1]), classes


def _wide(array: np.ndarray) -> np.ndarray:
    """Return float16 as float32."""
    return array.astype(np.float32) if array.dtype.itemsize < 4 else array


def _count_objects(objects: np.ndarray) -> np.ndarray:
    """Return how many rows come before the first of class -1, which must be -1 throughout."""
    is_end = objects[..., 0] == -1
    counts: np.ndarray = (
        np.where(is_end.any(1), is_end.argmax(1), is_end.shape[1]) if is_end.size else np.zeros(len(is_end), int)
    )
    batch = np.flatnonzero(counts < is_end.shape[1])
    last = objects[batch, counts[batch]]
    wrong = np.flatnonzero((np.abs(last + 1) > 0.5).any(1))
    if len(wrong):
        item = batch[wrong[0]]
        raise ArgumentError(
            f"MultiBoxTarget: label[{item}, {counts[item]}] is {last[wrong[0]].tolist()}: class -1 ends the objects, "
            "and its row must be -1 throughout."
        )
    return counts


def _object_overlaps(corners: Any, areas: Any, objects: np.ndarray) -> np.ndarray:
    """Return, of shape (objects, anchors), overlaps with objects of shape (objects, 5)."""
    sides = [objects[:, column, None] for column in range(1, 5)]
    return pair_overlaps(sides, corners, box_areas(sides), areas)


def _best_overlaps(
    corners: Any, objects: np.ndarray, counts: np.ndarray
) -> tuple[np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """Return each anchor's largest overlap and its object, and each object's largest overlap and its first anchor."""
    batch, most = objects.shape[:2]
    anchors, dtype = len(corners[0]), objects.dtype
    areas = box_areas(corners)
    best, match = np.full((batch, anchors), -1, dtype), np.full((batch, anchors), -1)
    largest, first_anchor = np.full((batch, most), -np.inf, dtype), np.zeros((batch, most), np.intp)
    if not anchors:
        return best, match, (largest, first_anchor)
    for row in range(counts.max(initial=0)):
        items = np.flatnonzero(counts > row)
        overlaps = _object_overlaps(corners, areas, objects[items, row])
        first = overlaps.argmax(1)
        first_anchor[items, row] = first
        largest[items, row] = overlaps[np.arange(len(items)), first]
        if len(items) == batch:
            better = overlaps > best
            np.copyto(match, row, where=better)
            np.maximum(best, overlaps, out=best)
        else:
            better = overlaps > best[items]
            match[items] = np.where(better, row, match[items])
            best[items] = np.maximum(best[items], overlaps)
    return best, match, (largest, first_anchor)


def _match_objects(
    corners: Any,
    objects: np.ndarray,
    counts: np.ndarray,
    match: np.ndarray,
    best: np.ndarray,
    peaks: tuple[np.ndarray, np.ndarray],
    threshold: float,
) -> None:
    """Leave in `match` the objects that anchors are matched with: the best ones, then those above the threshold."""
    areas = box_areas(corners)
    own = greedy_pairs(
        lambda batch, rows: _object_overlaps(corners, areas, objects[batch, rows]),
        peaks,
        match.shape[1],
        _MIN_OVERLAP,
        rows_first=False,
    )
    match[best <= threshold if threshold > 0 else ...] = -1
    batch, row = np.nonzero(own >= 0)
    match[batch, own[batch, row]] = row


def _hardest(
    scores: np.ndarray, match: np.ndarray, best: np.ndarray, counts: np.ndarray, ratio: float, threshold: float
) -> np.ndarray:
    """Return which anchors without a match are background: those whose probability of background is least."""
    is_unmatched = match < 0
    candidates = is_unmatched & (best < threshold) & (counts > 0)[:, None]
    num_negatives = np.minimum(((~is_unmatched).sum(1) * np.float32(ratio)).astype(np.intp), candidates.sum(1))
    negative = np.zeros(match.shape, bool)
    if not num_negatives.any():
        return negative
    shifted = scores - scores.max(1, keepdims=True)
    background = shifted[:, 0].copy()
    total = np.exp(shifted, out=shifted).sum(1)
    probability = np.where(candidates, np.exp(background) / total, np.inf)
    order = np.argsort(probability, axis=1, kind="stable")
    np.put_along_axis(negative, order, np.arange(match.shape[1]) < num_negatives[:, None], 1)
    return negative


def _check_targets(anchor: Any, label: Any, cls_pred: Any) -> None:
    fits = len(anchor) == 3 and anchor[0] == 1 and anchor[2] == 4 and len(label) == 3 and label[2] >= 5
    if not (fits and len(cls_pred) == 3 and cls_pred[0] == label[0] and cls_pred[2] == anchor[1]):
        raise ShapeError(
            f"MultiBoxTarget: anchor {anchor}, label {label} and cls_pred {cls_pred}; expected (1, n, 4), "
            "(batch, m, 5 or more) and (batch, classes + 1, n)."
        )


@multibox_target.def_infer_shape
def _multibox_target_shapes(inputs: Any, outputs: Any) -> Any:
    anchor, label, scores = (with_axes(shape, 3) for shape in inputs)
    if label[2] != UNKNOWN and label[2] < 5:
        raise ShapeError(f"MultiBoxTarget: label has shape {label}; expected (batch, m, 5 or more).")
    classes = with_axes(outputs[2], 2)
    batch, count = merge_shapes((label[0], anchor[1]), merge_shapes((scores[0], scores[2]), classes)) or ()
    places = (batch, derived(lambda anchors: 4 * anchors, count))
    return (
        [merge_shapes(anchor, (1, count, 4)), (batch, *label[1:]), (batch, scores[1], count)],
        [places, places, (batch, count)],
    )


# -- detections --------------------------------------------------------------------------------------------------------


@operator(name="_contrib_MultiBoxDetection", zero="all", dtypes=with_followers)
def multibox_detection(
    cls_prob: np.ndarray,
    loc_pred: np.ndarray,
    anchor: np.ndarray,
    *,
    clip: bool = True,
    threshold: float = 0.01,
    background_id: int = 0,
    nms_threshold: float = 0.5,
    force_suppress: bool = False,
    variances: tuple[float, ...] = (0.1, 0.1, 0.2, 0.2),
    nms_topk: int = -1,
) -> np.ndarray:
    """Return the objects that a detector's predictions stand for, after non-maximum suppression.

    Parameters
    ----------
    cls_prob : NDArray
        Of shape (batch, classes + 1, n), floating point: the probabilities of each anchor's classes, background first.
        The gradients of all inputs are zero.
    loc_pred : NDArray
        Of shape (batch, 4 * n): how anchors are to be moved and scaled, as of `MultiBoxTarget`.
    anchor : NDArray
        Of shape (1, n, 4): x1, y1, x2, y2.
    clip : bool
        Whether boxes are cut at the image's border.
    threshold : float
        Anchors of which no class is as probable are no objects.
    background_id : int
        Accepted and not used: background is the first class, as in MXNet.
    nms_threshold : float
        An object goes that overlaps a more probable one as much. Outside of (0, 1] nothing goes, and nothing is sorted.
    force_suppress : bool
        Whether objects of different classes suppress each other, too.
    variances : tuple of four floats
        By which predictions are multiplied.
    nms_topk : int
        How many objects, the most probable ones, are kept for suppression; all if it is not positive.

    {returns_array}
        Of shape (batch, n, 6): class (-1 for what was suppressed), probability, x1, y1, x2, y2, the most probable
        first; behind the last one, rows of -1.

    {raises_unless_shapes_fit}
    ArgumentError
        If there are not four variances.
    DTypeError
        If the probabilities are integers.

    {examples}
    >>> anchors = nd.array([[[0, 0, 0.5, 0.5], [0, 0, 0.5, 0.4]]])
    >>> probabilities = nd.array([[[0.2, 0.4], [0.8, 0.6]]])
    >>> nd.contrib.MultiBoxDetection(probabilities, nd.zeros((1, 8)), anchors).asnumpy()
    array([[[ 0. ,  0.8,  0. ,  0. ,  0.5,  0.5],
            [-1. ,  0.6,  0. ,  0. ,  0.5,  0.4]]], dtype=float32)
    """
    require_floats("MultiBoxDetection", cls_prob, argument="cls_prob")
    count = cls_prob.shape[-1]
    if cls_prob.ndim != 3 or loc_pred.shape != (len(cls_prob), 4 * count) or anchor.shape != (1, count, 4):
        raise ShapeError(
            f"MultiBoxDetection: cls_prob {cls_prob.shape}, loc_pred {loc_pred.shape} and anchor {anchor.shape}; "
            "expected (batch, classes + 1, n), (batch, 4 * n) and (1, n, 4)."
        )
    _require("MultiBoxDetection", "variances", variances, 4)
    batch, classes, count = cls_prob.shape
    result = np.full((batch, count, 6), -1, cls_prob.dtype)
    if not result.size or classes < 2:
        return result
    kind, score = _most_probable(_wide(cls_prob[:, 1:]))
    valid = ~(score < threshold)
    moves = _wide(loc_pred).reshape(batch, count, 4)
    anchors = centers([_wide(anchor)[..., column] for column in range(4)])
    corners = moved_corners(anchors, [moves[..., column] * variances[column] for column in range(4)])
    if clip:
        corners = [np.clip(corner, 0, 1) for corner in corners]
    rows = np.stack([kind.astype(score.dtype), score, *corners], -1)
    counts = valid.sum(1, keepdims=True)
    is_filled = np.arange(count) < counts
    if is_filled.all():
        result[...] = rows
    else:
        first = np.argsort(~valid, axis=1, kind="stable")
        result[...] = np.where(is_filled[..., None], np.take_along_axis(rows, first[..., None], 1), -1)
    if not 0 < nms_threshold <= 1:
        return result
    max_candidates = int(counts.max()) if nms_topk <= 0 else min(nms_topk, int(counts.max()))
    order = np.argsort(np.where(valid, -score, np.inf), axis=1, kind="stable")[:, :max_candidates]
    alive = is_filled[:, :max_candidates]
    best = np.take_along_axis(rows, order[..., None], 1)
    keep = kept_boxes(
        [np.ascontiguousarray(best[..., column]) for column in range(2, 6)],
        alive,
        nms_threshold,
        groups=None if force_suppress else best[..., 0],
        inclusive=True,
    )
    best[..., 0] = np.where(keep, best[..., 0], -1)
    result[:, :max_candidates] = np.where(alive[..., None], best, -1)
    result[:, max_candidates:, 0] = -1
    return result


def _most_probable(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the class with the largest score, and the score; `argmax` of an inner axis takes thrice as long."""
    best = scores[:, 0].copy()
    kind = np.zeros(best.shape, np.intp)
    for number in range(1, scores.shape[1]):
        score = scores[:, number]
        np.copyto(kind, number, where=score > best)
        np.maximum(best, score, out=best)
    return kind, best


@multibox_detection.def_infer_shape
def _multibox_detection_shapes(inputs: Any, outputs: Any) -> Any:
    scores, moves, anchor = with_axes(inputs[0], 3), with_axes(inputs[1], 2), with_axes(inputs[2], 3)
    result = with_axes(merge_shapes(outputs[0], (UNKNOWN, UNKNOWN, 6)), 3)
    fourth = UNKNOWN if moves[1] == UNKNOWN else moves[1] // 4
    batch, count = merge_shapes((scores[0], scores[2]), merge_shapes((moves[0], fourth), result[:2])) or ()
    anchor = merge_shapes(anchor, (1, count, 4)) or ()
    places = merge_shapes(moves, (batch, derived(lambda anchors: 4 * anchors, anchor[1])))
    return [(batch, scores[1], anchor[1]), places, anchor], [(batch, anchor[1], 6)]
