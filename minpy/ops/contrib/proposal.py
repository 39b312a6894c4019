"""Region proposals: the boxes in which a detector of two stages looks for objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minpy.core.errors import ArgumentError, ShapeError
from minpy.ops.dtype_attributes import require_floats
from minpy.ops.inference.partial_shapes import UNKNOWN, merge_shapes
from minpy.ops.inference.rule_parts import derived, with_axes, with_followers
from minpy.ops.kernels.box_suppression import kept_boxes
from minpy.ops.registry import operator

__all__ = ["base_anchors", "multi_proposal", "proposal"]

_OPTIONS: Any = {
    "outputs": lambda attributes: ("output", "score") if attributes.get("output_score") else ("output",),
    "zero": "all",
    "dtypes": with_followers,
    "saved_outputs": lambda attributes: 2,
}


@operator(name="_contrib_MultiProposal", **_OPTIONS)
def multi_proposal(
    cls_prob: np.ndarray,
    bbox_pred: np.ndarray,
    im_info: np.ndarray,
    *,
    rpn_pre_nms_top_n: int = 6000,
    rpn_post_nms_top_n: int = 300,
    threshold: float = 0.7,
    rpn_min_size: int = 16,
    scales: tuple[float, ...] = (4.0, 8.0, 16.0, 32.0),
    ratios: tuple[float, ...] = (0.5, 1.0, 2.0),
    feature_stride: int = 16,
    output_score: bool = False,
    iou_loss: bool = False,
) -> Any:
    """Return the boxes of each image that are most probably objects, after non-maximum suppression.

    Anchors of all ratios and scales stand at every position of a feature map; they are moved and scaled as predicted,
    and cut at the image's border. Those with the highest scores go through suppression.

    Parameters
    ----------
    cls_prob : NDArray
        Of shape (batch, 2 * anchors, height, width), floating point: for each anchor of a position, the probability of
        background, then those of objects. The gradients of all inputs are zero.
    bbox_pred : NDArray
        Of shape (batch, 4 * anchors, height, width): how anchors are to be moved and scaled.
    im_info : NDArray
        Of shape (batch, 3): each image's height, width and scale, in pixels of the image that the network saw.
    rpn_pre_nms_top_n, rpn_post_nms_top_n : int
        How many boxes go into suppression, all if it is not positive; and how many come out. If fewer stay, they are
        repeated.
    threshold : float
        A box goes if its intersection with a better one, over their union, is larger.
    rpn_min_size : int
        Boxes that are narrower or lower, in pixels of the image before it was scaled, come last, with score -1.
    scales, ratios : tuple of float
        Of anchors: sides by `feature_stride`, and heights by widths.
    feature_stride : int
        How many pixels of the image a step on the feature map is.
    output_score : bool
        Whether to return the scores, too.
    iou_loss : bool
        Whether predictions are what is added to the corners, instead of moves and scales.

    Returns
    -------
    NDArray, or two of them
        Of shape (batch * rpn_post_nms_top_n, 5): the image's number, x1, y1, x2, y2 in pixels; and the scores, of shape
        (batch * rpn_post_nms_top_n, 1).

    {raises_shape_error}
        If the shapes do not fit, or there are other than scales times ratios anchors.
    DTypeError
        If the probabilities are integers.

    Notes
    -----
    Ren, He, Girshick and Sun, "Faster R-CNN: Towards real-time object detection with region proposal networks", 2015,
    section 3.

    {examples}
    >>> scores, moves = nd.array([[[[0.1]], [[0.9]]]]), nd.zeros((1, 4, 1, 1))
    >>> nd.contrib.MultiProposal(scores, moves, nd.array([[32, 32, 1]]), scales=(1,), ratios=(1,),
    ...                          rpn_post_nms_top_n=1).asnumpy()
    array([[ 0.,  0.,  0., 15., 15.]], dtype=float32)
    """
    anchors = base_anchors(feature_stride, scales, ratios)
    _check("MultiProposal", cls_prob, bbox_pred.shape, im_info.shape, len(anchors))
    limits = rpn_pre_nms_top_n, rpn_post_nms_top_n, threshold, rpn_min_size
    return _proposals(cls_prob, bbox_pred, im_info, anchors, feature_stride, *limits, output_score, iou_loss)


@operator(name="_contrib_Proposal", **_OPTIONS)
def proposal(
    cls_prob: np.ndarray,
    bbox_pred: np.ndarray,
    im_info: np.ndarray,
    *,
    rpn_pre_nms_top_n: int = 6000,
    rpn_post_nms_top_n: int = 300,
    threshold: float = 0.7,
    rpn_min_size: int = 16,
    scales: tuple[float, ...] = (4.0, 8.0, 16.0, 32.0),
    ratios: tuple[float, ...] = (0.5, 1.0, 2.0),
    feature_stride: int = 16,
    output_score: bool = False,
    iou_loss: bool = False,
) -> Any:
    """Return what `MultiProposal` does, of one image.

    Parameters
    ----------
    cls_prob : NDArray
        Of shape (1, 2 * anchors, height, width), floating point. The gradients of all inputs are zero.
    bbox_pred : NDArray
        Of shape (1, 4 * anchors, height, width).
    im_info : NDArray
        Of shape (1, 3).
    rpn_pre_nms_top_n, rpn_post_nms_top_n : int
    threshold : float
    rpn_min_size : int
    scales, ratios : tuple of float
    feature_stride : int
    output_score, iou_loss : bool
        As of `MultiProposal`.

    Returns
    -------
    NDArray, or two of them
        Of shape (rpn_post_nms_top_n, 5): 0, x1, y1, x2, y2; and (rpn_post_nms_top_n, 1).

    {raises_shape_error}
        If the shapes do not fit, or there are several images.
    DTypeError
        If the probabilities are integers.

    {examples}
    >>> scores, moves = nd.array([[[[0.1]], [[0.9]]]]), nd.zeros((1, 4, 1, 1))
    >>> boxes, probabilities = nd.contrib.Proposal(
    ...     scores, moves, nd.array([[32, 32, 1]]), scales=(1,), ratios=(1,), rpn_post_nms_top_n=1, output_score=True)
    >>> probabilities.asnumpy()
    array([[0.9]], dtype=float32)
    """
    anchors = base_anchors(feature_stride, scales, ratios)
    _check("Proposal", cls_prob, bbox_pred.shape, im_info.shape, len(anchors))
    if len(cls_prob) != 1:
        raise ShapeError(f"Proposal: cls_prob has shape {cls_prob.shape}; expected one image. Use MultiProposal.")
    limits = rpn_pre_nms_top_n, rpn_post_nms_top_n, threshold, rpn_min_size
    return _proposals(cls_prob, bbox_pred, im_info, anchors, feature_stride, *limits, output_score, iou_loss)


def _check(name: str, cls_prob: np.ndarray, moves: Any, info: Any, anchors: int) -> None:
    require_floats(name, cls_prob, argument="cls_prob")
    scores = cls_prob.shape
    fits = len(scores) == 4 and moves == (scores[0], 4 * anchors, *scores[2:]) and info == (scores[0], 3)
    if not fits or scores[1] != 2 * anchors:
        raise ShapeError(
            f"{name}: cls_prob {scores}, bbox_pred {moves} and im_info {info}; expected (batch, {2 * anchors}, height, "
            f"width), (batch, {4 * anchors}, height, width) and (batch, 3): scales times ratios are {anchors} anchors."
        )


def base_anchors(stride: int, scales: Sequence[float], ratios: Sequence[float]) -> np.ndarray:
    """Return the anchors of the first position, of shape (anchors, 4); sides are rounded before they are scaled."""
    ratio, scale = (part.ravel() for part in np.meshgrid(ratios, scales, indexing="ij"))
    base_width = np.floor(np.sqrt(np.floor(stride * stride / ratio)) + 0.5)
    width, height = base_width * scale, np.floor(base_width * ratio + 0.5) * scale
    center = 0.5 * (stride - 1)
    half = np.stack([0.5 * (width - 1), 0.5 * (height - 1)], -1)
    return np.concatenate([center - half, center + half], 1)


def _proposals(
    cls_prob: np.ndarray,
    bbox_pred: np.ndarray,
    im_info: np.ndarray,
    anchors: np.ndarray,
    stride: int,
    pre_nms_count: int,
    post_nms_count: int,
    threshold: float,
    min_size: int,
    output_score: bool,
    iou_loss: bool,
) -> Any:
    batch, _, height, width = cls_prob.shape
    count = len(anchors) * height * width
    if not count and batch * post_nms_count:
        raise ArgumentError(f"proposals: cls_prob has shape {cls_prob.shape}; expected positions to choose from.")
    dtype = cls_prob.dtype if cls_prob.dtype.itemsize > 2 else np.dtype(np.float32)
    info = im_info.astype(dtype)[:, :, None, None, None]
    score = cls_prob[:, len(anchors) :].transpose(0, 2, 3, 1).astype(dtype)
    moves = bbox_pred.reshape(batch, len(anchors), 4, height, width).transpose(2, 0, 3, 4, 1).astype(dtype)
    corners = _moved_anchors(anchors.astype(dtype), moves, stride, iou_loss)
    limits = (info[:, 1] - 1, info[:, 0] - 1)
    corners = [np.clip(corner, 0, limits[position % 2]) for position, corner in enumerate(corners)]
    outside = np.arange(height)[:, None, None] >= np.floor(info[:, 0] / stride)
    outside = outside | (np.arange(width)[:, None] >= np.floor(info[:, 1] / stride))
    score = np.where(outside, -1, score)
    min_side = min_size * info[:, 2]
    small = (corners[2] - corners[0] + 1 < min_side) | (corners[3] - corners[1] + 1 < min_side)
    corners = [
        np.where(small, corner + (min_side / 2 if position > 1 else -min_side / 2), corner)
        for position, corner in enumerate(corners)
    ]
    score = np.where(small, -1, score).reshape(batch, count).astype(dtype, copy=False)
    pre_nms_count = min(pre_nms_count, count) if pre_nms_count > 0 else count
    order = np.argsort(-score, axis=1, kind="stable")[:, :pre_nms_count]
    boxes = [np.take_along_axis(corner.reshape(batch, count), order, 1).astype(dtype, copy=False) for corner in corners]
    keep = kept_boxes(boxes, np.ones(order.shape, bool), threshold, margin=1)
    num_kept = np.cumsum(keep, axis=1)
    # Where fewer boxes stay than are to be returned, they are repeated in turn.
    num_distinct = np.minimum(num_kept[:, -1:], min(post_nms_count, pre_nms_count))
    ranks = np.arange(post_nms_count) % num_distinct
    chosen = np.take_along_axis(np.argsort(~keep, axis=1, kind="stable"), ranks, 1)
    images = np.broadcast_to(np.arange(batch, dtype=dtype)[:, None], chosen.shape)
    result = np.stack([images, *(np.take_along_axis(box, chosen, 1) for box in boxes)], -1)
    result = result.reshape(batch * post_nms_count, 5).astype(cls_prob.dtype, copy=False)
    if not output_score:
        return result
    scores = np.take_along_axis(np.take_along_axis(score, order, 1), chosen, 1)
    return result, scores.reshape(batch * post_nms_count, 1).astype(cls_prob.dtype, copy=False)


def _moved_anchors(anchors: np.ndarray, moves: np.ndarray, stride: int, iou_loss: bool) -> list[np.ndarray]:
    """Return the corners, of shape (batch, height, width, anchors), of anchors moved and scaled as predicted."""
    height, width = moves.shape[2:4]
    right = np.arange(width, dtype=anchors.dtype)[:, None] * stride
    down = np.arange(height, dtype=anchors.dtype)[:, None, None] * stride
    corners = [anchors[:, 0] + right, anchors[:, 1] + down, anchors[:, 2] + right, anchors[:, 3] + down]
    if iou_loss:
        return [corner + move for corner, move in zip(corners, moves, strict=True)]
    sides = corners[2] - corners[0] + 1, corners[3] - corners[1] + 1
    centers = corners[0] + 0.5 * (sides[0] - 1), corners[1] + 0.5 * (sides[1] - 1)
    x, y = (move * side + center for move, side, center in zip(moves[:2], sides, centers, strict=True))
    half = [0.5 * (np.exp(move) * side - 1) for move, side in zip(moves[2:], sides, strict=True)]
    return [x - half[0], y - half[1], x + half[0], y + half[1]]


def _shapes(inputs: Any, outputs: Any, *, rpn_post_nms_top_n: int) -> Any:
    scores, moves, info = with_axes(inputs[0], 4), with_axes(inputs[1], 4), with_axes(inputs[2], 2)
    batch = (merge_shapes(merge_shapes(scores[:1], moves[:1]), info[:1]) or ())[0]
    size = merge_shapes(scores[2:], moves[2:]) or ()
    anchors = derived(lambda channels: channels // 2, scores[1])
    moves = merge_shapes(moves, (batch, derived(lambda count: 4 * count, anchors), *size)) or ()
    boxes = derived(lambda images: images * rpn_post_nms_top_n, batch)
    return (
        [(batch, scores[1], *size), moves, merge_shapes(info, (batch, 3))],
        [(boxes, 5), (boxes, 1)][: len(outputs)],
    )


def _one_image(inputs: Any, outputs: Any, *, rpn_post_nms_top_n: int) -> Any:
    scores = with_axes(inputs[0], 4)
    if scores[0] not in (1, UNKNOWN):
        raise ShapeError(f"Proposal: cls_prob has shape {scores}; expected one image. Use MultiProposal.")
    return _shapes([(1, *scores[1:]), *inputs[1:]], outputs, rpn_post_nms_top_n=rpn_post_nms_top_n)


multi_proposal.def_infer_shape(_shapes)
proposal.def_infer_shape(_one_image)
