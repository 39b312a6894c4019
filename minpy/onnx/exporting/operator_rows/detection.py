"""Operators of detectors: boxes that overlap, suppressed, encoded and decoded; detections and proposals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from minpy.frameworks.dialects import Operand
from minpy.onnx.exporting.calls import NodeCall, Rows
from minpy.onnx.exporting.expressions import Expression, concatenate, numbers_up_to, stack, where
from minpy.onnx.exporting.suppression import areas, as_corners, compacted, kept_boxes

__all__ = ["ROWS"]

ROWS = Rows()


def _wide(call: NodeCall, operand: Operand) -> Expression:
    """Return an array in the dtype to compute in: float16 in float32."""
    return _widened(Expression(call, operand))


def _widened(value: Expression) -> Expression:
    return value.cast(numpy.float32) if value.dtype == numpy.float16 else value


# -- overlaps ----------------------------------------------------------------------------------------------------------


@ROWS.enter("_contrib_box_iou")
def _box_iou(call: NodeCall, lhs: Operand, rhs: Operand, format: str = "corner") -> Any:
    dtype = call.result_dtype
    left, right = (Expression(call, call.array(each, dtype), dtype) for each in (lhs, rhs))
    if rhs.ndim > 1:
        left = left.unsqueeze(*range(lhs.ndim - 1, lhs.ndim + rhs.ndim - 2))
    first, second = as_corners(left, format == "center"), as_corners(right, format == "center")
    width = (first[2].minimum(second[2]) - first[0].maximum(second[0])).maximum(0)
    height = (first[3].minimum(second[3]) - first[1].maximum(second[1])).maximum(0)
    common = width * height
    union = areas(first) + areas(second) - common
    nonempty = union > 0
    return where(nonempty, common / where(nonempty, union, 1), 0).name


# -- suppression -------------------------------------------------------------------------------------------------------


@ROWS.enter("_contrib_box_nms")
def _box_nms(
    call: NodeCall,
    data: Operand,
    overlap_thresh: float = 0.5,
    valid_thresh: float = 0.0,
    topk: int = -1,
    coord_start: int = 2,
    score_index: int = 1,
    id_index: int = -1,
    background_id: int = -1,
    force_suppress: bool = False,
    in_format: str = "corner",
    out_format: str = "corner",
) -> Any:
    """NonMaxSuppression has no classes that are data, and another order: this is a loop over the boxes that stay."""
    count, width = data.shape[-2:]
    if topk == 0:
        positions = call.node("Expand", numbers_up_to(call, count).name, call.ints(list(data.shape[:-1])))
        return (call.node("Identity", data), positions)[: len(call.results)]
    rows = Expression(call, call.reshape(data, [-1, count, width]), data.dtype)
    score = rows.at(score_index, 2)
    valid = score > valid_thresh
    if id_index >= 0:
        valid = valid & ~rows.at(id_index, 2).equal(background_id)
    limit = call.ints([count])
    if topk > 0:
        limit = call.node("Min", limit, call.ints([topk]))
    best, order = where(valid, _widened(score), -numpy.inf).top(limit)
    alive = best > -numpy.inf
    chosen = rows.rows(order)
    boxes = chosen.part(coord_start, coord_start + 4, 2)
    groups = None if force_suppress or id_index < 0 else chosen.at(id_index, 2)
    keep = kept_boxes(call, as_corners(_widened(boxes), in_format == "center"), alive, overlap_thresh, groups)
    first, is_kept = compacted(keep, limit)
    result = chosen.rows(first)
    if in_format != out_format:
        result = _converted(result, coord_start, width, out_format == "center")
    result = where(is_kept.unsqueeze(2), result, -1)
    sources = where(is_kept, order.along(first, 1), -1)
    if topk > 0:
        result, sources = _padded(result, 3, limit, count), _padded(sources, 2, limit, count)
    shaped = result.reshape(*data.shape), sources.reshape(*data.shape[:-1])
    return tuple(each.name for each in shaped)[: len(call.results)]


def _converted(rows: Expression, start: int, width: int, to_center: bool) -> Expression:
    """Return rows with their coordinates in the other format."""
    boxes = rows.part(start, start + 4, 2)
    if to_center:
        low, high = boxes.part(0, 2, 2), boxes.part(2, 4, 2)
        converted = concatenate([(low + high) * 0.5, high - low], 2)
    else:
        converted = stack(as_corners(boxes, True), 2)
    parts = [converted]
    if start:
        parts.insert(0, rows.part(0, start, 2))
    if start + 4 < width:
        parts.append(rows.part(start + 4, width, 2))
    return concatenate(parts, 2)


def _padded(value: Expression, ndim: int, length: str, count: int) -> Expression:
    """Return a value with -1 behind its second axis, of a length, so that it has `count`."""
    call = value.call
    missing = call.node("Sub", call.ints([count]), length)
    before, behind = [0] * (ndim + 1), [0] * (ndim - 2)
    pads = call.node("Concat", call.ints(before), missing, *([call.ints(behind)] if behind else []), axis=0)
    return value.node("Pad", pads, numpy.asarray(-1, value.dtype))


# -- regression targets ------------------------------------------------------------------------------------------------


def _centers(corners: Sequence[Expression]) -> list[Expression]:
    left, top, right, bottom = corners
    return [(left + right) * 0.5, (top + bottom) * 0.5, right - left, bottom - top]


def _moved_corners(anchors: Sequence[Expression], moves: Sequence[Expression]) -> list[Expression]:
    """Return the corners of anchors, given by their centers, that were moved and scaled."""
    x, y = (moves[axis] * anchors[2 + axis] + anchors[axis] for axis in range(2))
    half_width, half_height = (moves[2 + axis].node("Exp") * anchors[2 + axis] * 0.5 for axis in range(2))
    return [x - half_width, y - half_height, x + half_width, y + half_height]


@ROWS.enter("_contrib_box_encode")
def _box_encode(
    call: NodeCall,
    samples: Operand,
    matches: Operand,
    anchors: Operand,
    refs: Operand,
    means: Operand,
    stds: Operand,
) -> Any:
    dtype = call.result_dtype
    positive = Expression(call, samples) > 0.5
    rows = where(positive, Expression(call, call.array(matches, numpy.int64), numpy.int64), 0)
    unit_box = Expression(call, call.array(numpy.array([0, 0, 1, 1], dtype)), dtype)
    mask = positive.unsqueeze(2)
    boxes = (
        Expression(call, call.array(anchors, dtype), dtype),
        Expression(call, call.array(refs, dtype), dtype).rows(rows),
    )
    own, target = (_centers([where(mask, each, unit_box).at(at, 2) for at in range(4)]) for each in boxes)
    x, y, width, height = own
    moves = [
        (target[0] - x) / width,
        (target[1] - y) / height,
        (target[2] / width).node("Log"),
        (target[3] / height).node("Log"),
    ]
    mean, std = (Expression(call, call.array(each, dtype), dtype) for each in (means, stds))
    targets = (stack(moves, 2) - mean) / std
    ones = where(mask, numpy.ones(4), Expression(call, call.array(numpy.zeros(4, dtype)), dtype))
    return where(mask, targets, 0).name, ones.name


@ROWS.enter("_contrib_box_decode")
def _box_decode(
    call: NodeCall,
    data: Operand,
    anchors: Operand,
    std0: float = 1.0,
    std1: float = 1.0,
    std2: float = 1.0,
    std3: float = 1.0,
    clip: float = -1.0,
    format: str = "center",
) -> Any:
    dtype = call.result_dtype
    own = Expression(call, call.array(anchors, dtype), dtype)
    parts = [own.at(at, 2) for at in range(4)]
    moves = [Expression(call, data).at(at, 2) * std for at, std in enumerate((std0, std1, std2, std3))]
    if clip > 0:
        moves[2:] = [logarithm.minimum(clip) for logarithm in moves[2:]]
    return stack(_moved_corners(parts if format == "center" else _centers(parts), moves), 2).name


# -- detections --------------------------------------------------------------------------------------------------------


@ROWS.enter("_contrib_MultiBoxDetection")
def _multibox_detection(
    call: NodeCall,
    cls_prob: Operand,
    loc_pred: Operand,
    anchor: Operand,
    clip: bool = True,
    threshold: float = 0.01,
    background_id: int = 0,
    nms_threshold: float = 0.5,
    force_suppress: bool = False,
    variances: Sequence[float] = (0.1, 0.1, 0.2, 0.2),
    nms_topk: int = -1,
) -> Any:
    batch, classes, count = cls_prob.shape
    if classes < 2:
        return call.node("Expand", numpy.full(1, -1, call.result_dtype), call.ints([batch, count, 6]))
    probabilities = _wide(call, cls_prob).part(1, classes, 1)
    score = probabilities.largest(1)
    dtype = score.dtype
    kind = probabilities.node("ArgMax", axis=1, keepdims=0, dtype=numpy.int64).cast(dtype)
    valid = ~(score < threshold)
    moves = _wide(call, loc_pred).cast(dtype).reshape(-1, count, 4)
    own = _wide(call, anchor).cast(dtype)
    corners = _moved_corners(
        _centers([own.at(at, 2) for at in range(4)]), [moves.at(at, 2) * variances[at] for at in range(4)]
    )
    if clip:
        corners = [corner.clip(0, 1) for corner in corners]
    rows = stack([kind, score, *corners], 2)
    everything = call.ints([count])
    first, is_filled = compacted(valid, everything)
    listed = where(is_filled.unsqueeze(2), rows.rows(first), -1)
    if not 0 < nms_threshold <= 1:
        return listed.cast(call.result_dtype).name
    limit = call.node("Min", everything, call.ints([nms_topk])) if nms_topk > 0 else everything
    ranked, order = where(valid, score, -numpy.inf).top(limit)
    best = rows.rows(order)
    alive = ranked > -numpy.inf
    own_class = best.at(0, 2)
    keep = kept_boxes(
        call,
        [best.at(at, 2) for at in range(2, 6)],
        alive,
        nms_threshold,
        None if force_suppress else own_class,
        inclusive=True,
    )
    shown = concatenate([where(keep, own_class, -1).unsqueeze(2), best.part(1, 6, 2)], 2)
    result = where(alive.unsqueeze(2), shown, -1)
    if nms_topk > 0:  # those that take no part are listed as they come, without a class
        others = listed.part(limit, numpy.iinfo(numpy.int64).max, 1)
        no_class = others.part(0, 1, 2) * 0 - 1
        result = concatenate([result, concatenate([no_class, others.part(1, 6, 2)], 2)], 1)
    return result.cast(call.result_dtype).name


# -- training ----------------------------------------------------------------------------------------------------------


@ROWS.enter("_contrib_MultiBoxTarget _contrib_bipartite_matching")
def _matching(call: NodeCall, *inputs: Any, **attributes: Any) -> Any:
    raise call.refuse("greedy matching of boxes is for training; export the network up to its predictions")
