"""Boxes: how much they overlap, encoded as regression targets, and decoded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from minpy.core.errors import ArgumentError, OutOfRangeError, ShapeError
from minpy.ops.dtype_attributes import require_floats
from minpy.ops.inference.partial_shapes import UNKNOWN, merge_shapes
from minpy.ops.inference.rule_parts import with_axes, with_followers
from minpy.ops.kernels.box_suppression import as_corners, box_areas, pair_overlaps
from minpy.ops.registry import operator
from minpy.ops.tensor.indexing import truncated

__all__ = ["box_decode", "box_encode", "box_iou", "centers", "is_center", "moved_corners", "moves_between"]


def is_center(name: str, format: str, argument: str = "format") -> bool:
    """Tell whether boxes are given by their centers.

    Raises
    ------
    ArgumentError
        For another format than 'corner' and 'center'.
    """
    if format not in ("corner", "center"):
        raise ArgumentError(f"{name}: {argument} is {format!r}; expected 'corner' or 'center'.")
    return format == "center"


# -- overlaps ----------------------------------------------------------------------------------------------------------


@operator(name="_contrib_box_iou", zero="all", dtypes=with_followers)
def box_iou(lhs: np.ndarray, rhs: np.ndarray, *, format: Literal["corner", "center"] = "corner") -> np.ndarray:
    """Return the overlaps of all pairs of boxes: intersection over union.

    Parameters
    ----------
    lhs, rhs : NDArray
        Of shape (..., 4), floating point, with two axes at least. Their gradients are zero, as in MXNet.
    format : {'corner', 'center'}
        Whether boxes are (x1, y1, x2, y2) or (x, y, width, height).

    {returns_array}
        Of shape lhs.shape[:-1] + rhs.shape[:-1]; 0 for boxes that are empty.

    {raises_shape_error}
        If the last axis has another length than 4.
    ArgumentError
        For another format.
    DTypeError
        If the boxes are integers.

    {examples}
    >>> nd.contrib.box_iou(nd.array([[0, 0, 2, 2], [1, 1, 3, 3]]), nd.array([[0, 0, 2, 1]])).asnumpy()
    array([[0.5],
           [0. ]], dtype=float32)
    """
    left, right = _corners_of_both(lhs, rhs, format)
    width = np.maximum(np.minimum(left[2], right[2]) - np.maximum(left[0], right[0]), 0)
    height = np.maximum(np.minimum(left[3], right[3]) - np.maximum(left[1], right[1]), 0)
    common = width * height
    union = box_areas(left) + box_areas(right) - common
    nonempty = union > 0
    return np.where(nonempty, common / np.where(nonempty, union, 1), 0).astype(common.dtype, copy=False)


@box_iou.def_kernel
def _box_iou_kernel(lhs: Any, rhs: Any, *, format: str) -> Any:
    left, right = _corners_of_both(lhs, rhs, format)
    return pair_overlaps(left, right, box_areas(left), box_areas(right))


def _corners_of_both(lhs: Any, rhs: Any, format: str) -> tuple[list[Any], list[Any]]:
    """Return the corners of both sides, so that one broadcasts against the other."""
    center = is_center("box_iou", format)
    for name, value in (("lhs", lhs), ("rhs", rhs)):
        require_floats("box_iou", value, argument=name)
        _check_boxes(name, value.shape)
    left = lhs.reshape(lhs.shape[:-1] + (1,) * (rhs.ndim - 1) + (4,))
    return as_corners(left, center), as_corners(rhs, center)


def _check_boxes(name: str, shape: tuple[int, ...]) -> None:
    if len(shape) < 2 or shape[-1] not in (4, UNKNOWN):
        raise ShapeError(f"box_iou: {name} has shape {shape}; expected (..., 4), with two axes at least.")


@box_iou.def_infer_shape
def _box_iou_shapes(inputs: Any, outputs: Any) -> Any:
    for name, shape in zip(("lhs", "rhs"), inputs, strict=True):
        if shape is not None:
            _check_boxes(name, shape)
    lhs, rhs = (None if shape is None else (*shape[:-1], 4) for shape in inputs)
    return [lhs, rhs], [None if lhs is None or rhs is None else lhs[:-1] + rhs[:-1]]


# -- regression targets ------------------------------------------------------------------------------------------------


@operator(name="_contrib_box_encode", outputs=("output0", "output1"), zero="all", dtypes=with_followers)
def box_encode(
    samples: np.ndarray,
    matches: np.ndarray,
    anchors: np.ndarray,
    refs: np.ndarray,
    means: np.ndarray,
    stds: np.ndarray,
) -> Any:
    """Return how anchors have to be moved and scaled to become the boxes that they are matched with.

    Parameters
    ----------
    samples : NDArray
        Of shape (batch, n), floating point: more than 0.5 for the anchors that have a match.
    matches : NDArray
        Of shape (batch, n): the positions of the matches; looked at for those anchors only.
    anchors : NDArray
        Of shape (batch, n, 4): x1, y1, x2, y2.
    refs : NDArray
        Of shape (batch, m, 4): the boxes to match, in the same form.
    means, stds : NDArray
        Of shape (4,): what is subtracted from the targets, and what they are divided by then.

    Returns
    -------
    two NDArrays
        Of shape (batch, n, 4): the targets, and 1 where there is one, 0 elsewhere. Gradients are zero, as in MXNet.

    {raises_unless_shapes_fit}
    OutOfRangeError
        If a match is no position.
    DTypeError
        If the samples are integers.

    Notes
    -----
    Of an anchor with center (x, y), width w and height h, and a match with x', y', w', h', the targets are
    (x' - x) / w, (y' - y) / h, log(w' / w) and log(h' / h) (Ren, He, Girshick and Sun, "Faster R-CNN", 2015,
    equation 2).

    {examples}
    >>> targets, masks = nd.contrib.box_encode(
    ...     nd.array([[1]]), nd.array([[0]]), nd.array([[[0, 0, 2, 2]]]), nd.array([[[0, 0, 4, 2]]]),
    ...     nd.zeros((4,)), nd.ones((4,)))
    >>> targets.asnumpy().round(4)
    array([[[0.5   , 0.    , 0.6931, 0.    ]]], dtype=float32)
    """
    require_floats("box_encode", samples, argument="samples")
    _check_encoded(samples.shape, matches.shape, anchors.shape, refs.shape, means.shape, stds.shape)
    positive = samples > 0.5
    rows = np.where(positive, truncated(matches), 0)
    if positive.any() and (rows.min() < 0 or rows.max() >= refs.shape[1]):
        worst = rows.min() if rows.min() < 0 else rows.max()
        raise OutOfRangeError(f"box_encode: match {worst} is out of range for refs {refs.shape}.")
    if not refs.shape[1]:
        refs = np.zeros((len(refs), 1, 4), samples.dtype)
    matched = np.take_along_axis(refs, rows[..., None], 1)
    anchor_centers, target = (
        centers(_coordinates(np.where(positive[..., None], boxes, _UNIT_BOX))) for boxes in (anchors, matched)
    )
    moves = zip(moves_between(anchor_centers, target), means, stds, strict=True)
    targets = np.stack([(move - mean) / std for move, mean, std in moves], -1)
    mask = np.broadcast_to(positive[..., None], targets.shape)
    return np.where(mask, targets, 0).astype(samples.dtype, copy=False), mask.astype(samples.dtype)


_UNIT_BOX = np.array([0, 0, 1, 1], np.float16)


def _coordinates(boxes: np.ndarray) -> list[np.ndarray]:
    return [boxes[..., position] for position in range(4)]


def centers(corners: Sequence[Any]) -> list[Any]:
    """Return x, y, width and height of boxes with the corners x1, y1, x2, y2."""
    left, top, right, bottom = corners
    return [(left + right) * 0.5, (top + bottom) * 0.5, right - left, bottom - top]


def moves_between(anchors: Sequence[Any], boxes: Sequence[Any]) -> list[Any]:
    """Return how anchors, given by their centers, have to be moved and scaled to become boxes."""
    x, y, width, height = anchors
    return [(boxes[0] - x) / width, (boxes[1] - y) / height, np.log(boxes[2] / width), np.log(boxes[3] / height)]


def moved_corners(anchors: Sequence[Any], moves: Sequence[Any]) -> list[Any]:
    """Return the corners of anchors, given by their centers, that were moved and scaled."""
    x, y = (moves[axis] * anchors[2 + axis] + anchors[axis] for axis in range(2))
    half_width, half_height = (np.exp(moves[2 + axis]) * anchors[2 + axis] * 0.5 for axis in range(2))
    return [x - half_width, y - half_height, x + half_width, y + half_height]


def _check_encoded(samples: Any, matches: Any, anchors: Any, refs: Any, means: Any, stds: Any) -> None:
    fits = len(samples) == 2 and matches == samples and anchors == (*samples, 4) and means == stds == (4,)
    if not (fits and len(refs) == 3 and refs[0] == samples[0] and refs[2] == 4):
        raise ShapeError(
            f"box_encode: samples {samples}, matches {matches}, anchors {anchors}, refs {refs}, means {means}, stds "
            f"{stds}; expected (batch, n), (batch, n), (batch, n, 4), (batch, m, 4), (4,) and (4,)."
        )


@box_encode.def_infer_shape
def _box_encode_shapes(inputs: Any, outputs: Any) -> Any:
    samples, matches, anchors, refs, means, stds = inputs
    refs = with_axes(merge_shapes(refs, (UNKNOWN, UNKNOWN, 4)), 3)
    batch = merge_shapes(refs[:1], (UNKNOWN,))
    rows = merge_shapes(samples, (*(batch or ()), UNKNOWN))
    boxes = merge_shapes(anchors, (UNKNOWN, UNKNOWN, 4))
    for shape in outputs:
        boxes = merge_shapes(boxes, shape)
    rows = merge_shapes(merge_shapes(rows, matches), None if boxes is None else boxes[:2]) or ()
    targets = (*rows, 4)
    vectors = [merge_shapes(vector, (4,)) for vector in (means, stds)]
    return [rows, rows, targets, (*rows[:1], *refs[1:]), *vectors], [targets, targets]


@operator(name="_contrib_box_decode", zero="all", dtypes=with_followers)
def box_decode(
    data: np.ndarray,
    anchors: np.ndarray,
    *,
    std0: float = 1.0,
    std1: float = 1.0,
    std2: float = 1.0,
    std3: float = 1.0,
    clip: float = -1.0,
    format: Literal["center", "corner"] = "center",
) -> np.ndarray:
    """Return the boxes that anchors become when they are moved and scaled as was predicted.

    {data_parameter}
        Of shape (batch, n, 4), floating point: the targets of `box_encode`, as predicted.
    anchors : NDArray
        Of shape (1, n, 4).
    std0, std1, std2, std3 : float
        By which the predictions are multiplied.
    clip : float
        The largest logarithm of a scale, if it is positive.
    format : {'center', 'corner'}
        Whether anchors are (x, y, width, height) or (x1, y1, x2, y2).

    {returns_array}
        Of the data's shape: x1, y1, x2, y2. Gradients are zero, as in MXNet.

    {raises_unless_shapes_fit}
    ArgumentError
        For another format.
    DTypeError
        If the data are integers.

    {examples}
    >>> nd.contrib.box_decode(nd.array([[[0.5, 0, 0, 0]]]), nd.array([[[1, 1, 2, 2]]])).asnumpy()
    array([[[1., 0., 3., 2.]]], dtype=float32)
    """
    require_floats("box_decode", data)
    if data.ndim != 3 or data.shape[2] != 4 or anchors.shape != (1, *data.shape[1:]):
        raise ShapeError(
            f"box_decode: data {data.shape} and anchors {anchors.shape}; expected (batch, n, 4) and (1, n, 4)."
        )
    anchor_centers = _coordinates(anchors) if is_center("box_decode", format) else centers(_coordinates(anchors))
    moves = [data[..., position] * std for position, std in enumerate((std0, std1, std2, std3))]
    if clip > 0:
        moves[2:] = [np.minimum(logarithm, clip) for logarithm in moves[2:]]
    return np.stack(moved_corners(anchor_centers, moves), -1).astype(data.dtype, copy=False)


@box_decode.def_infer_shape
def _box_decode_shapes(inputs: Any, outputs: Any) -> Any:
    data = merge_shapes(with_axes(inputs[0], 3), merge_shapes(outputs[0], (UNKNOWN, UNKNOWN, 4))) or ()
    anchors = with_axes(merge_shapes(inputs[1], (1, *data[1:])), 3)
    data = merge_shapes(data, (UNKNOWN, *anchors[1:])) or ()
    return [data, anchors], [data]
