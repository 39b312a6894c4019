"""Pictures enlarged and reduced: along each axis a product with a matrix of weights, or elements that are chosen."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from minpy import symbol as sym
from minpy.onnx.importing.calls import Call, row
from minpy.onnx.importing.refusals import Refusal

np = sym.np


@row("Resize", "Upsample")
def resize(call: Call) -> Any:
    """Axes one after the other."""
    axes = [axis % call.rank() for axis in call.get("axes", range(call.rank()))]
    scales, sizes = _scales_and_sizes(call, axes)
    mode = call.get("mode", "nearest")
    if call.operator == "Upsample" or call.opset < 11:
        rule, nearest = "asymmetric", "floor"
    else:
        rule = call.get("coordinate_transformation_mode", "half_pixel")
        nearest = call.get("nearest_mode", "round_prefer_floor")
    regions = _regions(call, axes) if rule == "tf_crop_and_resize" else None
    x, outside = call.symbol(), None
    for place, axis in enumerate(axes):
        if scales[place] == 1.0 and regions is None:
            continue
        (length,) = call.shape(0, [axis])
        region = None if regions is None else (regions[0][place], regions[1][place])
        points = _points(rule, length, sizes[place], scales[place], region)
        if mode == "nearest":
            chosen = numpy.clip(_NEAREST[nearest](points), 0, length - 1).astype(numpy.int64)
            x = np.take(x, call.parameter(chosen, f"places{axis}"), axis=axis)
        else:
            matrix = _matrix(call, mode, points, length, scales[place]).astype(call.dtype())
            moved = np.matmul(np.moveaxis(x, axis, -1), call.parameter(matrix.T, f"weights{axis}"))
            x = np.moveaxis(moved, -1, axis)
        if regions is not None:
            beyond = ((points < 0) | (points > length - 1)).reshape([-1] + [1] * (call.rank() - 1 - axis))
            outside = beyond if outside is None else outside | beyond
    if outside is not None and outside.any():
        value = float(call.get("extrapolation_value", 0.0))
        x = np.where(call.parameter(outside, "outside"), np.multiply(np.ones_like(x), value), x)
    return np.positive(x) if x is call.symbol() else x


def _scales_and_sizes(call: Call, axes: list[int]) -> tuple[list[float], list[int]]:
    """Return by which factor each axis grows, and to which length."""
    later = call.operator == "Resize" and call.opset >= 11
    lengths = list(call.shape(0, axes)) if later and call.has(3) else None
    if lengths is not None:
        sizes = call.ints(3, "sizes") or []
        policy = call.get("keep_aspect_ratio_policy", "stretch")
        scales = [size / length for size, length in zip(sizes, lengths, strict=True)]
        if policy != "stretch":
            scale = min(scales) if policy == "not_larger" else max(scales)
            scales = [scale] * len(scales)
            sizes = [math.floor(scale * length + 0.5) for length in lengths]
        return scales, sizes
    if "scales" in call.attributes:
        scales = [float(scale) for scale in call.get("scales")]
    else:
        scales = [float(scale) for scale in call.value(2 if later else 1, "scales").ravel()]
    if len(scales) != len(axes):
        raise Refusal(f"it has {len(scales)} scales for {len(axes)} axes")
    sizes = []
    for scale, axis in zip(scales, axes, strict=True):
        sizes.append(0 if scale == 1.0 else math.floor(scale * call.shape(0, [axis])[0]))
    return scales, sizes


def _regions(call: Call, axes: Sequence[int]) -> tuple[list[float], list[float]]:
    values = [float(value) for value in call.value(1, "regions").ravel()]
    for axis in axes:
        call.shape(0, [axis])
    return values[: len(axes)], values[len(axes) :]


def _points(rule: str, length: int, size: int, scale: float, region: tuple[float, float] | None) -> numpy.ndarray:
    """Return where in the data each element of the result lies."""
    size = size or length
    place = numpy.arange(size, dtype=numpy.float64)
    if rule == "asymmetric":
        return place / scale
    if rule == "align_corners":
        last = scale * length - 1  # of the length before it is rounded down
        return place * (length - 1) / last if size > 1 else numpy.zeros(1)
    if rule == "pytorch_half_pixel":
        return (place + 0.5) / scale - 0.5 if size > 1 else numpy.zeros(1)
    if rule == "half_pixel":
        return (place + 0.5) / scale - 0.5
    if rule == "half_pixel_symmetric":
        adjustment = size / (scale * length)
        center = length / 2
        return center * (1 - adjustment) + (place + 0.5) / scale - 0.5
    if rule == "tf_crop_and_resize" and region is not None:
        start, end = region
        if size == 1:
            return numpy.full(1, 0.5 * (start + end) * (length - 1))
        return start * (length - 1) + place * (end - start) * (length - 1) / (size - 1)
    raise Refusal(f"its coordinate_transformation_mode is {rule!r}, which is not known")


_NEAREST: dict[str, Callable[[numpy.ndarray], numpy.ndarray]] = {
    "round_prefer_floor": lambda points: numpy.ceil(points - 0.5),
    "round_prefer_ceil": lambda points: numpy.floor(points + 0.5),
    "floor": numpy.floor,
    "ceil": numpy.ceil,
}


def _matrix(call: Call, mode: str, points: numpy.ndarray, length: int, scale: float) -> numpy.ndarray:
    """Return what each element of the result takes of each element of the data; beyond the ends these are repeated."""
    stretch = min(scale, 1.0) if call.get("antialias", 0) else 1.0
    cubic = float(call.get("cubic_coeff_a", -0.75))
    reach = math.ceil((2 if mode == "cubic" else 1) / stretch) + 1
    matrix = numpy.zeros((len(points), length))
    for index, point in enumerate(points):
        first = math.floor(point)
        places = numpy.arange(first - reach + 1, first + reach + 1)
        distances = numpy.abs(places - point) * stretch
        weights = numpy.maximum(1 - distances, 0) if mode == "linear" else _cubic(distances, cubic)
        if call.get("exclude_outside", 0):
            weights = numpy.where((places < 0) | (places >= length), 0.0, weights)
        total = weights.sum()
        numpy.add.at(matrix[index], numpy.clip(places, 0, length - 1), weights / (total if total else 1.0))
    return matrix


def _cubic(distances: numpy.ndarray, a: float) -> numpy.ndarray:
    near = ((a + 2) * distances - (a + 3)) * distances**2 + 1
    far = a * (((distances - 5) * distances + 8) * distances - 4)
    return numpy.where(distances <= 1, near, numpy.where(distances < 2, far, 0.0))
