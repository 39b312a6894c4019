"""Region proposals: anchors moved, cut at the image's border, and suppressed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from minpy.frameworks.dialects import Operand
from minpy.onnx.exporting.calls import NodeCall, Rows
from minpy.onnx.exporting.expressions import Expression, numbers_up_to, stack, where
from minpy.onnx.exporting.suppression import compacted, kept_boxes
from minpy.ops.contrib.proposal import base_anchors

__all__ = ["ROWS"]

ROWS = Rows()


@ROWS.enter("_contrib_Proposal _contrib_MultiProposal")
def _proposals(
    call: NodeCall,
    cls_prob: Operand,
    bbox_pred: Operand,
    im_info: Operand,
    rpn_pre_nms_top_n: int = 6000,
    rpn_post_nms_top_n: int = 300,
    threshold: float = 0.7,
    rpn_min_size: int = 16,
    scales: Sequence[float] = (4.0, 8.0, 16.0, 32.0),
    ratios: Sequence[float] = (0.5, 1.0, 2.0),
    feature_stride: int = 16,
    output_score: bool = False,
    iou_loss: bool = False,
) -> Any:
    batch, _, height, width = cls_prob.shape
    dtype = cls_prob.dtype if cls_prob.dtype.itemsize > 2 else numpy.dtype("float32")
    anchors = base_anchors(feature_stride, scales, ratios).astype(dtype)
    per_place = len(anchors)
    count = per_place * height * width

    def wide(operand: Operand) -> Expression:
        return Expression(call, call.array(operand, dtype), dtype)

    info = wide(im_info)
    image_height, image_width, scale = (info.part(at, at + 1, 1).unsqueeze(2, 3) for at in range(3))
    score = wide(cls_prob).part(per_place, 2 * per_place, 1).transpose(0, 2, 3, 1)
    moves = wide(bbox_pred).reshape(-1, per_place, 4, height, width).transpose(2, 0, 3, 4, 1)
    right = numbers_up_to(call, width, dtype).unsqueeze(1)
    down = numbers_up_to(call, height, dtype).unsqueeze(1, 2)
    corners = _moved(call, anchors, [moves.at(at, 0) for at in range(4)], right, down, feature_stride, iou_loss)
    limits = (image_width - 1, image_height - 1)
    corners = [corner.maximum(0).minimum(limits[at % 2]) for at, corner in enumerate(corners)]
    outside = (down >= (image_height / feature_stride).node("Floor")) | (
        right >= (image_width / feature_stride).node("Floor")
    )
    score = where(outside, -1, score)
    min_side = scale * rpn_min_size
    small = (corners[2] - corners[0] + 1 < min_side) | (corners[3] - corners[1] + 1 < min_side)
    half = min_side / 2
    corners = [where(small, corner + half if at > 1 else corner - half, corner) for at, corner in enumerate(corners)]
    score = where(small, -1, score).reshape(-1, count)

    candidates = call.ints([count])
    if rpn_pre_nms_top_n > 0:
        candidates = call.node("Min", candidates, call.ints([rpn_pre_nms_top_n]))
    best, order = score.top(candidates)
    boxes = [corner.reshape(-1, count).along(order, 1) for corner in corners]
    everyone = best.equal(best) | ~best.equal(best)
    keep = kept_boxes(call, boxes, everyone, threshold, margin=1)
    num_kept = keep.cast(numpy.int64).sum(1, keepdims=True)
    # Where fewer boxes stay than are to be returned, they are repeated in turn.
    most = call.node("Min", candidates, call.ints([rpn_post_nms_top_n]))
    num_distinct = num_kept.node("Min", most)
    ranks = Expression(call, call.ints(list(range(rpn_post_nms_top_n))), numpy.int64).unsqueeze(0) % num_distinct
    chosen = compacted(keep, candidates)[0].along(ranks, 1)
    images = numbers_up_to(call, batch, dtype).unsqueeze(1).node("Expand", call.node("Shape", chosen.name))
    result = stack([images, *(box.along(chosen, 1) for box in boxes)], 2).reshape(-1, 5)
    result = result.cast(call.result_dtype)
    if len(call.results) == 1:
        return result.name
    return result.name, best.along(chosen, 1).reshape(-1, 1).cast(call.result_dtype).name


def _moved(
    call: NodeCall,
    anchors: numpy.ndarray,
    moves: Sequence[Expression],
    right: Expression,
    down: Expression,
    stride: int,
    iou_loss: bool,
) -> list[Expression]:
    """Return the corners, of shape (batch, height, width, anchors), of anchors moved and scaled as predicted."""
    columns = [Expression(call, call.array(anchors[:, at].copy()), anchors.dtype) for at in range(4)]
    steps = (right * stride, down * stride)
    corners = [column + steps[at % 2] for at, column in enumerate(columns)]
    if iou_loss:
        return [corner + move for corner, move in zip(corners, moves, strict=True)]
    sides = corners[2] - corners[0] + 1, corners[3] - corners[1] + 1
    centers = corners[0] + (sides[0] - 1) * 0.5, corners[1] + (sides[1] - 1) * 0.5
    x, y = (move * side + center for move, side, center in zip(moves[:2], sides, centers, strict=True))
    half = [(move.node("Exp") * side - 1) * 0.5 for move, side in zip(moves[2:], sides, strict=True)]
    return [x - half[0], y - half[1], x + half[0], y + half[1]]
