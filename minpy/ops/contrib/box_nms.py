"""Non-maximum suppression of scored boxes."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from minpy.core.array import raw_of
from minpy.core.errors import ArgumentError, ShapeError
from minpy.ops.contrib.box_encoding import is_center
from minpy.ops.dtype_attributes import require_floats
from minpy.ops.inference.partial_shapes import same_shape
from minpy.ops.inference.rule_parts import numbered
from minpy.ops.kernels.box_suppression import as_corners, kept_boxes
from minpy.ops.kernels.matrix_products import widened
from minpy.ops.registry import operator
from minpy.ops.tensor.indexing import index

__all__ = ["box_nms"]

# From (x1, y1, x2, y2) to (x, y, width, height), for rows from the right.
_TO_CENTER = np.array([[0.5, 0, -1, 0], [0, 0.5, 0, -1], [0.5, 0, 1, 0], [0, 0.5, 0, 1]])
_TO_CORNER = np.array([[1, 0, 1, 0], [0, 1, 0, 1], [-0.5, 0, 0.5, 0], [0, -0.5, 0, 0.5]])


@operator(
    name="_contrib_box_nms",
    aliases=("_contrib_box_non_maximum_suppression",),
    visible_outputs=1,
    outputs=numbered(1),
    shape_only=(0,),
    saved_outputs=lambda attributes: 2,
)
def box_nms(
    data: np.ndarray,
    *,
    overlap_thresh: float = 0.5,
    valid_thresh: float = 0.0,
    topk: int = -1,
    coord_start: int = 2,
    score_index: int = 1,
    id_index: int = -1,
    background_id: int = -1,
    force_suppress: bool = False,
    in_format: Literal["corner", "center"] = "corner",
    out_format: Literal["corner", "center"] = "corner",
) -> Any:
    """Return the boxes that greedy non-maximum suppression keeps, best first, followed by rows of -1.

    The box with the highest score stays, and those that overlap it too much go; then the best of those that are left,
    and so on.

    {data_parameter}
        Of shape (..., n, k), floating point: n boxes in rows of k numbers, among which are the score and four
        coordinates, side by side. Axes in front are a batch.
    overlap_thresh : float
        A box goes if its intersection with a better one, over their union, is larger.
    valid_thresh : float
        Boxes with no larger score are left out.
    topk : int
        How many boxes, the best ones, take part; all if it is negative. With 0 the data are returned as they are.
    coord_start, score_index : int
        Where in a row the coordinates begin, and where the score is.
    id_index : int
        Where in a row the class is; negative if there is none.
    background_id : int
        The class that is left out, if rows have one.
    force_suppress : bool
        Whether boxes of different classes suppress each other, too.
    in_format, out_format : {'corner', 'center'}
        Whether coordinates are (x1, y1, x2, y2) or (x, y, width, height), in the data and in the result.

    {returns_array}
        Of the data's shape. The gradient of a row goes to the row that it was.

    {raises_shape_error}
        If the data have one axis only.
    ArgumentError
        If a position does not lie in a row, the score lies among the coordinates, or for another format.
    DTypeError
        If the data hold integers.

    {examples}
    >>> boxes = nd.array([[0, 0.5, 0, 0, 2, 2], [1, 0.4, 0, 0, 2, 1.8], [0, 0.7, 5, 5, 6, 6]])
    >>> nd.contrib.box_nms(boxes).asnumpy()
    array([[ 0. ,  0.7,  5. ,  5. ,  6. ,  6. ],
           [ 0. ,  0.5,  0. ,  0. ,  2. ,  2. ],
           [-1. , -1. , -1. , -1. , -1. , -1. ]], dtype=float32)
    """
    require_floats("box_nms", data)
    _check_positions(data.shape, coord_start, score_index, id_index)
    from_center, to_center = (
        is_center("box_nms", in_format, "in_format"),
        is_center("box_nms", out_format, "out_format"),
    )
    if topk == 0 or not data.size:
        return data.copy(), np.broadcast_to(np.arange(data.shape[-2]), data.shape[:-1]).copy()
    rows = data.reshape(math.prod(data.shape[:-2]), *data.shape[-2:])
    sources = _kept_rows(
        rows,
        overlap_thresh,
        valid_thresh,
        topk,
        coord_start,
        score_index,
        id_index,
        background_id,
        force_suppress or id_index < 0,
        from_center,
    )
    result = np.take_along_axis(rows, np.maximum(sources, 0)[..., None], 1)
    if from_center != to_center:
        coordinates = result[..., coord_start : coord_start + 4]
        coordinates[...] = _converted(coordinates, to_center)
    result[sources < 0] = -1
    return result.reshape(data.shape), sources.reshape(data.shape[:-1])


def _check_positions(shape: tuple[int, ...], coord_start: int, score_index: int, id_index: int) -> None:
    if len(shape) < 2:
        raise ShapeError(f"box_nms: data has shape {shape}; expected (..., n, k): n boxes in rows of k numbers.")
    width, last = shape[-1], coord_start + 3
    if not 0 <= coord_start <= width - 4:
        raise ArgumentError(
            f"box_nms: the coordinates are numbers {coord_start} to {last} of a row; rows of data {shape} have {width}."
        )
    for name, position in (("score_index", score_index), ("id_index", id_index)):
        if name == "id_index" and position < 0:
            continue
        if not 0 <= position < width:
            raise ArgumentError(f"box_nms: {name} is {position}; expected 0 <= {name} < {width} for data {shape}.")
        if coord_start <= position <= last:
            raise ArgumentError(
                f"box_nms: {name} is {position}, which is one of the coordinates: these are {coord_start} to {last}."
            )


def _kept_rows(
    rows: np.ndarray,
    overlap_thresh: float,
    valid_thresh: float,
    topk: int,
    coord_start: int,
    score_index: int,
    id_index: int,
    background_id: int,
    force_suppress: bool,
    from_center: bool,
) -> np.ndarray:
    """Return, of shape (batch, n), the positions of the boxes that stay, best first, and -1 behind them."""
    batch, count, _ = rows.shape
    score = rows[..., score_index]
    valid = score > valid_thresh
    if id_index >= 0:
        valid &= rows[..., id_index] != background_id
    sources = np.full((batch, count), -1)
    most = int(valid.sum(1).max())
    order = np.argsort(np.where(valid, -score, np.inf), axis=1, kind="stable")[
        :, : min(most, topk) if topk > 0 else most
    ]
    if not order.shape[1]:
        return sources
    alive = np.take_along_axis(valid, order, 1)
    boxes = np.take_along_axis(rows[..., coord_start : coord_start + 4], order[..., None], 1)
    groups = None if force_suppress else np.take_along_axis(rows[..., id_index], order, 1)
    corners = [np.ascontiguousarray(widened(part)) for part in as_corners(boxes, from_center)]
    keep = kept_boxes(corners, alive, overlap_thresh, groups=groups)
    first = np.argsort(~keep, axis=1, kind="stable")
    kept_positions = np.take_along_axis(order, first, 1)
    sources[:, : order.shape[1]] = np.where(np.take_along_axis(keep, first, 1), kept_positions, -1)
    return sources


def _converted(coordinates: np.ndarray, to_center: bool) -> np.ndarray:
    if not to_center:
        return np.stack(as_corners(coordinates, True), -1)
    low, high = coordinates[..., :2], coordinates[..., 2:]
    return np.concatenate([(low + high) * 0.5, high - low], -1)


@box_nms.def_grad()
def _box_nms_gradient(ans: Any, data: Any, *, topk: int, coord_start: int, in_format: str, out_format: str) -> Any:
    shape = np.shape(data)
    count, width = shape[-2:]
    sources = raw_of(ans[1]).reshape(math.prod(shape[:-2]), count)
    batch, rows = np.nonzero(sources >= 0)
    target = batch * count + sources[batch, rows]
    position = np.zeros(sources.size, np.intp)
    position[target] = batch * count + rows
    stays = np.zeros((sources.size, 1), data.dtype)
    stays[target] = 1

    def gradient(g: Any) -> Any:
        part = index(np.reshape(g[0], (math.prod(shape[:-1]), width)), key=position) * stays
        if in_format != out_format and topk:
            change = np.eye(width, dtype=data.dtype)
            four = slice(coord_start, coord_start + 4)
            change[four, four] = (_TO_CENTER if out_format == "center" else _TO_CORNER).T
            part = part @ change
        return np.reshape(part, shape)

    return gradient


@box_nms.def_infer_shape
def _box_nms_shapes(inputs: Any, outputs: Any, *, coord_start: int, score_index: int, id_index: int) -> Any:
    inputs, [data] = same_shape(inputs, outputs[:1])
    if data is not None and len(data) and data[-1] > 0:
        _check_positions(data, coord_start, score_index, id_index)
    return inputs, [data, *([None if data is None else data[:-1]] * (len(outputs) - 1))]


@box_nms.def_infer_type
def _box_nms_dtypes(inputs: Any, outputs: Any) -> Any:
    dtype = inputs[0] if inputs[0] is not None else outputs[0]
    return [dtype], [dtype, np.dtype(np.intp)][: len(outputs)]
