"""Rows of the operators that sample, resize or pool images at positions. The references go point by point."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from operator_table.row import Row, Spec, real

# -- references --------------------------------------------------------------------------------------------------------


def _at(image: np.ndarray, y: float, x: float) -> np.ndarray:
    """The value of (channels, height, width) at (y, x), by the sum over all points that bilinear sampling is."""
    _, height, width = image.shape
    down = np.maximum(0, 1 - np.abs(y - np.arange(height)))
    across = np.maximum(0, 1 - np.abs(x - np.arange(width)))
    return np.einsum("chw,h,w->c", image, down, across)


def _sampler(x: np.ndarray, grid: np.ndarray) -> np.ndarray:
    height, width = x.shape[2:]
    y = np.zeros((*x.shape[:2], *grid.shape[2:]))
    for n, i, j in np.ndindex(len(x), *grid.shape[2:]):
        across, down = grid[n, :, i, j]
        y[n, :, i, j] = _at(x[n], (down + 1) * (height - 1) / 2, (across + 1) * (width - 1) / 2)
    return y


def _affine(matrices: np.ndarray, target_shape: Any, **_: Any) -> np.ndarray:
    y, x = np.meshgrid(*(np.linspace(-1, 1, n) for n in target_shape), indexing="ij")
    return np.einsum("nij,jhw->nihw", matrices.reshape(-1, 2, 3), np.stack([x, y, np.ones_like(x)]))


def _warp(flow: np.ndarray, **_: Any) -> np.ndarray:
    _, _, height, width = flow.shape
    y, x = np.mgrid[:height, :width]
    return np.stack([2 * (flow[:, 0] + x) / (width - 1) - 1, 2 * (flow[:, 1] + y) / (height - 1) - 1], 1)


def _clamped(image: np.ndarray, y: float, x: float, margin: float = 1) -> np.ndarray:
    _, height, width = image.shape
    low, high = -margin, margin - 1
    if not (low <= y <= height + high and low <= x <= width + high):
        return np.zeros(len(image))
    return _at(image, min(max(y, 0), height - 1), min(max(x, 0), width - 1))


def _roi_align(
    x: np.ndarray,
    rois: np.ndarray,
    pooled_size: Any,
    spatial_scale: float,
    sample_ratio: int = -1,
    position_sensitive: bool = False,
    aligned: bool = False,
) -> np.ndarray:
    tall, wide = pooled_size
    channels = x.shape[1] // (tall * wide) if position_sensitive else x.shape[1]
    answer = np.zeros((len(rois), channels, tall, wide))
    for r, (image, *box) in enumerate(rois):
        if image < 0:
            continue
        x0, y0, x1, y1 = (value * spatial_scale - 0.5 * aligned for value in box)
        height, width = (y1 - y0, x1 - x0) if aligned else (max(y1 - y0, 1), max(x1 - x0, 1))
        down = sample_ratio if sample_ratio > 0 else math.ceil(height / tall)
        across = sample_ratio if sample_ratio > 0 else math.ceil(width / wide)
        for i, j in np.ndindex(tall, wide):
            places = [
                (y0 + height / tall * (i + (a + 0.5) / down), x0 + width / wide * (j + (b + 0.5) / across))
                for a, b in np.ndindex(down, across)
            ]
            samples = [_clamped(x[int(image)], *place) for place in places]
            mean = np.mean(samples, 0)
            answer[r, :, i, j] = mean[i * wide + j :: tall * wide] if position_sensitive else mean
    return answer


def _rotated(
    x: np.ndarray, rois: np.ndarray, pooled_size: Any, spatial_scale: float, sampling_ratio: int = -1
) -> np.ndarray:
    tall, wide = pooled_size
    answer = np.zeros((len(rois), x.shape[1], tall, wide))
    for r, (image, *box) in enumerate(rois):
        middle_x, middle_y, width, height = (value * spatial_scale for value in box[:4])
        width, height, angle = max(width, 1), max(height, 1), math.radians(box[4])
        down = sampling_ratio if sampling_ratio > 0 else math.ceil(height / tall)
        across = sampling_ratio if sampling_ratio > 0 else math.ceil(width / wide)
        for i, j in np.ndindex(tall, wide):
            samples = []
            for a, b in np.ndindex(down, across):
                v = (i + (a + 0.5) / down) * height / tall - height / 2
                u = (j + (b + 0.5) / across) * width / wide - width / 2
                turned = (v * math.cos(angle) - u * math.sin(angle), u * math.cos(angle) + v * math.sin(angle))
                samples.append(_clamped(x[int(image)], turned[0] + middle_y, turned[1] + middle_x))
            answer[r, :, i, j] = np.mean(samples, 0)
    return answer


def _half_up(value: float) -> float:
    return math.copysign(math.floor(abs(value) + 0.5), value)


def _roi_pooling(x: np.ndarray, rois: np.ndarray, pooled_size: Any, spatial_scale: float) -> np.ndarray:
    tall, wide = pooled_size
    height, width = x.shape[2:]
    answer = np.zeros((len(rois), x.shape[1], tall, wide))
    for r, (image, *box) in enumerate(rois):
        x0, y0, x1, y1 = (_half_up(value * spatial_scale) for value in box)
        size = max(y1 - y0 + 1, 1) / tall, max(x1 - x0 + 1, 1) / wide
        for i, j in np.ndindex(tall, wide):
            rows = range(max(math.floor(i * size[0] + y0), 0), min(math.ceil((i + 1) * size[0] + y0), height))
            columns = range(max(math.floor(j * size[1] + x0), 0), min(math.ceil((j + 1) * size[1] + x0), width))
            if rows and columns:
                answer[r, :, i, j] = x[int(image)][:, rows][:, :, columns].max((1, 2))
    return answer


def _channels_of(image: np.ndarray, dim: int, size: int, place: tuple[int, int], pooled: int) -> np.ndarray:
    """The channels of an image that a bin of position-sensitive pooling takes."""
    i, j = (min(part * size // pooled, size - 1) for part in place)
    return image.reshape(dim, size, size, *image.shape[1:])[:, i, j]


def _psroi(
    x: np.ndarray, rois: np.ndarray, spatial_scale: float, output_dim: int, pooled_size: int, group_size: int = 0
) -> np.ndarray:
    height, width = x.shape[2:]
    answer = np.zeros((len(rois), output_dim, pooled_size, pooled_size))
    for r, (image, *box) in enumerate(rois):
        x0, y0 = (_half_up(value) * spatial_scale for value in box[:2])
        x1, y1 = ((_half_up(value) + 1) * spatial_scale for value in box[2:])
        size = max(y1 - y0, 0.1) / pooled_size, max(x1 - x0, 0.1) / pooled_size
        for i, j in np.ndindex(pooled_size, pooled_size):
            rows = range(max(math.floor(i * size[0] + y0), 0), min(math.ceil((i + 1) * size[0] + y0), height))
            columns = range(max(math.floor(j * size[1] + x0), 0), min(math.ceil((j + 1) * size[1] + x0), width))
            if rows and columns:
                part = _channels_of(x[int(image)], output_dim, group_size or pooled_size, (i, j), pooled_size)
                answer[r, :, i, j] = part[:, rows][:, :, columns].mean((1, 2))
    return answer


def _deformable_psroi(
    x: np.ndarray,
    rois: np.ndarray,
    trans: np.ndarray | None = None,
    *,
    spatial_scale: float,
    output_dim: int,
    group_size: int,
    pooled_size: int,
    part_size: int = 0,
    sample_per_part: int = 1,
    trans_std: float = 0.0,
    no_trans: bool = False,
) -> np.ndarray:
    part_size = part_size or pooled_size
    answer = np.zeros((len(rois), output_dim, pooled_size, pooled_size))
    moved = np.zeros((len(rois), 2, part_size, part_size)) if trans is None else trans
    classes = moved.shape[1] // 2
    height, width = x.shape[2:]
    for r, (image, *box) in enumerate(rois):
        x0, y0 = (_half_up(value) * spatial_scale - 0.5 for value in box[:2])
        x1, y1 = ((_half_up(value) + 1) * spatial_scale - 0.5 for value in box[2:])
        tall, wide = max(y1 - y0, 0.1), max(x1 - x0, 0.1)
        for c, i, j in np.ndindex(output_dim, pooled_size, pooled_size):
            kind, at = c * classes // output_dim, (i * part_size // pooled_size, j * part_size // pooled_size)
            y = i * tall / pooled_size + y0 + moved[r, 2 * kind + 1][at] * trans_std * tall
            left = j * wide / pooled_size + x0 + moved[r, 2 * kind][at] * trans_std * wide
            part = _channels_of(x[int(image)], output_dim, group_size, (i, j), pooled_size)[c : c + 1]
            step = tall / pooled_size / sample_per_part, wide / pooled_size / sample_per_part
            places = [(y + a * step[0], left + b * step[1]) for a, b in np.ndindex(sample_per_part, sample_per_part)]
            inside = [p for p in places if -0.5 <= p[0] <= height - 0.5 and -0.5 <= p[1] <= width - 0.5]
            answer[r, c, i, j] = sum(_clamped(part, *p)[0] for p in inside) / max(len(inside), 1)
    return answer


def _deformable(
    x: np.ndarray,
    offset: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray | None = None,
    *,
    mask: np.ndarray | None = None,
    kernel: Any,
    num_filter: int,
    stride: Any = (1, 1),
    dilate: Any = (1, 1),
    pad: Any = (0, 0),
    num_group: int = 1,
    num_deformable_group: int = 1,
    no_bias: bool = False,
) -> np.ndarray:
    height, width = x.shape[2:]
    size = kernel[0] * kernel[1]
    answer = np.zeros((len(x), num_filter, *offset.shape[2:]))
    moved = offset.reshape(len(x), num_deformable_group, size, 2, *offset.shape[2:])
    for n, i, j in np.ndindex(len(x), *offset.shape[2:]):
        column = np.zeros((x.shape[1], size))
        for group, channels in enumerate(np.split(np.arange(x.shape[1]), num_deformable_group)):
            for k, (a, b) in enumerate(np.ndindex(*kernel)):
                y = i * stride[0] - pad[0] + a * dilate[0] + moved[n, group, k, 0, i, j]
                z = j * stride[1] - pad[1] + b * dilate[1] + moved[n, group, k, 1, i, j]
                if mask is not None:
                    factor = mask.reshape(len(x), num_deformable_group, size, *offset.shape[2:])[n, group, k, i, j]
                    column[channels, k] = factor * _at(x[n, channels], y, z)
                elif 0 <= y < height and 0 <= z < width:
                    column[channels, k] = _at(x[n, channels], min(y, height - 1), min(z, width - 1))
        for group, channels in enumerate(np.split(np.arange(x.shape[1]), num_group)):
            filters = np.split(np.arange(num_filter), num_group)[group]
            answer[n, filters, i, j] = np.einsum("fcab,cab->f", weight[filters], column[channels].reshape(-1, *kernel))
    return answer if bias is None else answer + bias[:, None, None]


def _modulated(x: Any, offset: Any, mask: Any, weight: Any, bias: Any = None, **attributes: Any) -> np.ndarray:
    return _deformable(x, offset, weight, bias, mask=mask, **attributes)


def _correlation(
    one: np.ndarray,
    two: np.ndarray,
    kernel_size: int = 1,
    max_displacement: int = 1,
    stride1: int = 1,
    stride2: int = 1,
    pad_size: int = 0,
    is_multiply: bool = True,
) -> np.ndarray:
    one, two = (np.pad(x, ((0, 0), (0, 0), (pad_size,) * 2, (pad_size,) * 2)) for x in (one, two))
    border = max_displacement + kernel_size // 2
    tall, wide = (math.ceil((n - 2 * border) / stride1) for n in one.shape[2:])
    around = max_displacement // stride2
    answer = np.zeros((len(one), (2 * around + 1) ** 2, tall, wide))
    for q, i, j in np.ndindex(*answer.shape[1:]):
        down, across = ((part - around) * stride2 for part in divmod(q, 2 * around + 1))
        y, x = i * stride1 + max_displacement, j * stride1 + max_displacement
        a = one[:, :, y : y + kernel_size, x : x + kernel_size]
        b = two[:, :, y + down : y + down + kernel_size, x + across : x + across + kernel_size]
        answer[:, q, i, j] = (a * b if is_multiply else np.abs(a - b)).mean((1, 2, 3))
    return answer


def _adaptive(x: np.ndarray, output_size: Any = (1, 1)) -> np.ndarray:
    tall, wide = output_size if isinstance(output_size, tuple) else (output_size, output_size)
    height, width = x.shape[2:]
    answer = np.zeros((*x.shape[:2], tall, wide))
    for i, j in np.ndindex(tall, wide):
        rows = slice(i * height // tall, -(-(i + 1) * height // tall))
        answer[:, :, i, j] = x[:, :, rows, j * width // wide : -(-(j + 1) * width // wide)].mean((2, 3))
    return answer


def _resized(x: np.ndarray, tall: int, wide: int, align_corners: bool = True) -> np.ndarray:
    height, width = x.shape[2:]

    def place(index: int, count: int, length: int) -> float:
        if count == 1:
            return 0
        if align_corners:
            return index * (length - 1) / (count - 1)
        return min(max((index + 0.5) * length / count - 0.5, 0), length - 1)

    answer = np.zeros((*x.shape[:2], tall, wide))
    for n, i, j in np.ndindex(len(x), tall, wide):
        answer[n, :, i, j] = _at(x[n], place(i, tall, height), place(j, wide, width))
    return answer


# -- rows --------------------------------------------------------------------------------------------------------------

_IMAGE = real(2, 2, 4, 5)
# Positions away from points, where the slope of interpolation changes.
_X = [[[-0.9, -0.1], [0.4, 1.2]], [[0.2, 0.6], [-0.7, 1.6]]]
_Y = [[[-0.6, 0.7], [-1.2, 0.1]], [[0.5, -0.2], [0.9, 0.1]]]
_GRID = Spec((2, 2, 2, 2), values=np.stack([_X, _Y], 1))
_MATRICES = Spec((2, 6), values=[[0.7, 0.2, -0.1, -0.3, 0.6, 0.05], [0.4, -0.5, 0.3, 0.8, 0.3, -0.2]])
_ROIS = Spec(
    (4, 5), values=[[0, 0.3, 0.7, 4.2, 3.1], [1, -1.5, 2, 6.5, 7], [1, 2, 1, 2.2, 1.1], [0, -30, -30, -20, -20]]
)
_MISSING = Spec((3, 5), values=[[0, 0.3, 0.7, 4.2, 3.1], [-1, 0, 0, 2, 2], [1, 0.6, 0.2, 3.1, 2.4]])
_TURNED = Spec((3, 6), values=[[0, 2, 2, 4, 3, 30], [1, 3, 1, 2, 5, -70], [1, -3, 1, 2, 5, 10]])
# Two products of matrices in another order: sums of numbers of either sign.
_ULPS = 256
_ALIGN = {"pooled_size": (2, 3), "spatial_scale": 0.5}
_TRANS = {"spatial_scale": 0.5, "output_dim": 2, "group_size": 2, "pooled_size": 2, "sample_per_part": 2}


def _offsets(*shape: int) -> Spec:
    """Offsets whose distance from whole numbers is at least 0.1."""
    random = np.random.RandomState(4)
    values = random.randint(-2, 3, shape) + random.uniform(0.1, 0.9, shape)
    return Spec(shape, values=values)


_DEFORMABLE = {"kernel": (2, 2), "num_filter": 3}
_GROUPED = {
    "kernel": (2, 3),
    "num_filter": 2,
    "stride": (2, 1),
    "dilate": (1, 2),
    "pad": (1, 1),
    "num_group": 2,
    "num_deformable_group": 2,
    "no_bias": True,
}
_GROUPED_INPUTS = (real(1, 4, 4, 5), _offsets(1, 24, 3, 3), real(1, 12, 3, 3, low=0), real(2, 2, 2, 3))

ROWS = (
    Row("BilinearSampler", (_IMAGE, _GRID), {}, _sampler),
    Row("GridGenerator", real(2, 6), {"transform_type": "affine", "target_shape": (2, 3)}, _affine),
    Row("GridGenerator", real(2, 2, 3, 2), {"transform_type": "warp"}, _warp, label="warp"),
    Row(
        "SpatialTransformer",
        (_IMAGE, _MATRICES),
        {"target_shape": (2, 3), "transform_type": "affine", "sampler_type": "bilinear"},
        lambda x, loc, target_shape, **_: _sampler(x, _affine(loc, target_shape)),
    ),
    Row(
        "ROIPooling",
        (real(2, 2, 4, 5, distinct=True), _ROIS),
        _ALIGN,
        _roi_pooling,
        argnums=(0,),
    ),
    Row("_contrib_ROIAlign", (_IMAGE, _ROIS), {**_ALIGN, "sample_ratio": 2}, _roi_align, argnums=(0,)),
    Row("_contrib_ROIAlign", (_IMAGE, _ROIS), _ALIGN, _roi_align, argnums=(0,), label="adaptive"),
    Row(
        "_contrib_ROIAlign", (_IMAGE, _MISSING), {**_ALIGN, "aligned": True}, _roi_align, argnums=(0,), label="aligned"
    ),
    Row(
        "_contrib_ROIAlign",
        (real(2, 8, 4, 5), _ROIS),
        {"pooled_size": (2, 2), "spatial_scale": 0.5, "sample_ratio": 2, "position_sensitive": True},
        _roi_align,
        argnums=(0,),
        label="position_sensitive",
    ),
    Row("_contrib_RROIAlign", (_IMAGE, _TURNED), {**_ALIGN, "sampling_ratio": 2}, _rotated, argnums=(0,)),
    Row("_contrib_RROIAlign", (_IMAGE, _TURNED), _ALIGN, _rotated, argnums=(0,), label="adaptive"),
    Row(
        "_contrib_PSROIPooling",
        (real(2, 8, 4, 5), _ROIS),
        {"spatial_scale": 0.5, "output_dim": 2, "pooled_size": 2},
        _psroi,
        argnums=(0,),
    ),
    Row(
        "_contrib_PSROIPooling",
        (real(2, 4, 4, 5), _ROIS),
        {"spatial_scale": 1.0, "output_dim": 1, "pooled_size": 3, "group_size": 2},
        _psroi,
        argnums=(0,),
        label="groups",
    ),
    Row(
        "_contrib_DeformablePSROIPooling",
        (real(2, 8, 4, 5), _ROIS, real(4, 2, 2, 2, low=-0.9, high=0.9)),
        {**_TRANS, "trans_std": 0.1},
        _deformable_psroi,
        argnums=(0, 2),
    ),
    Row(
        "_contrib_DeformablePSROIPooling",
        (real(2, 8, 4, 5), _ROIS, real(4, 4, 2, 2, low=-0.9, high=0.9)),
        {**_TRANS, "pooled_size": 3, "part_size": 2, "trans_std": 0.1},
        _deformable_psroi,
        argnums=(0, 2),
        label="classes",
    ),
    Row(
        "_contrib_DeformablePSROIPooling",
        (real(2, 8, 4, 5), _ROIS),
        {**_TRANS, "no_trans": True},
        _deformable_psroi,
        argnums=(0,),
        label="unmoved",
    ),
    Row(
        "_contrib_DeformableConvolution",
        (real(1, 2, 3, 4), _offsets(1, 8, 2, 3), real(3, 2, 2, 2), real(3)),
        _DEFORMABLE,
        _deformable,
    ),
    Row(
        "_contrib_DeformableConvolution",
        (_GROUPED_INPUTS[0], _GROUPED_INPUTS[1], _GROUPED_INPUTS[3]),
        _GROUPED,
        _deformable,
        label="groups",
    ),
    Row(
        "_contrib_ModulatedDeformableConvolution",
        (real(1, 2, 3, 4), _offsets(1, 8, 2, 3), real(1, 4, 2, 3, low=0), real(3, 2, 2, 2), real(3)),
        _DEFORMABLE,
        _modulated,
    ),
    Row("_contrib_ModulatedDeformableConvolution", _GROUPED_INPUTS, _GROUPED, _modulated, label="groups"),
    Row("Correlation", (real(2, 2, 3, 4), real(2, 2, 3, 4)), {}, _correlation),
    Row(
        "Correlation",
        (real(1, 2, 4, 5), real(1, 2, 4, 5)),
        {"kernel_size": 3, "max_displacement": 2, "stride1": 2, "stride2": 2, "pad_size": 3},
        _correlation,
        label="kernel",
    ),
    Row(
        "Correlation",
        (real(1, 2, 3, 4, distinct=True), real(1, 2, 3, 4, low=-1.95, high=2.05, distinct=True)),
        {"max_displacement": 1, "pad_size": 1, "is_multiply": False},
        _correlation,
        label="differences",
    ),
    Row("_contrib_AdaptiveAvgPooling2D", _IMAGE, {}, _adaptive, ulps=_ULPS),
    Row("_contrib_AdaptiveAvgPooling2D", _IMAGE, {"output_size": (3, 7)}, _adaptive, label="sizes", ulps=_ULPS),
    Row(
        "_contrib_BilinearResize2D",
        _IMAGE,
        {"height": 3, "width": 7},
        lambda x, height, width: _resized(x, height, width),
        ulps=_ULPS,
    ),
    Row(
        "_contrib_BilinearResize2D",
        _IMAGE,
        {"height": 6, "width": 2, "align_corners": False},
        lambda x, height, width, align_corners: _resized(x, height, width, align_corners),
        ulps=_ULPS,
        label="edges",
    ),
    Row(
        "_contrib_BilinearResize2D",
        _IMAGE,
        {"scale_height": 0.5, "scale_width": 1.5},
        lambda x, **_: _resized(x, 2, 7),
        ulps=_ULPS,
        label="scale",
    ),
    Row(
        "_contrib_BilinearResize2D",
        _IMAGE,
        {"scale_height": 2.0, "scale_width": 2.0, "mode": "odd_scale"},
        lambda x, **_: _resized(x, 8, 9),
        ulps=_ULPS,
        label="odd_scale",
    ),
    Row(
        "_contrib_BilinearResize2D",
        (_IMAGE, real(2, 1, 3, 3)),
        {"mode": "like"},
        lambda x, like, mode: _resized(x, 3, 3),
        ulps=_ULPS,
        label="like",
    ),
    *(
        Row(
            "_contrib_BilinearResize2D",
            _IMAGE,
            {"mode": mode},
            lambda x, mode, shape=shape: _resized(x, *shape),
            label=mode,
            ulps=_ULPS,
        )
        for mode, shape in {
            "to_even_down": (4, 4),
            "to_even_up": (4, 6),
            "to_odd_down": (3, 5),
            "to_odd_up": (5, 5),
        }.items()
    ),
)

# What becomes of the definitions when they are traced.
KINDS_OF_STEPS = {
    "elementwise reduce view product call": "Correlation",
    "elementwise view call": "BilinearSampler",
    "elementwise view product": "GridGenerator",
    "elementwise view product call": (
        "SpatialTransformer _contrib_DeformableConvolution _contrib_ModulatedDeformableConvolution"
    ),
    "product": "_contrib_AdaptiveAvgPooling2D _contrib_BilinearResize2D",
}
CALLED = {
    "*ROIPooling*": "refuses boxes of images that are not there",
    "*ROIAlign*": "refuses boxes of images that are not there",
}
