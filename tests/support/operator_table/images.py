"""Rows of `minpy.ops.nn.channel_norm`, `upsampling`, `cropping`, `flat_index` and `splitting`."""

from __future__ import annotations

from typing import Any

import numpy as np

from operator_table.row import Row, Spec, integers, real


def _l2(x: np.ndarray, axes: tuple[int, ...], eps: float = 1e-10) -> np.ndarray:
    return x / np.sqrt((x**2).sum(axes, keepdims=True) + eps)


def _group_norm(x: np.ndarray, g: np.ndarray, b: np.ndarray, groups: int, eps: float) -> tuple[Any, Any, Any]:
    normal, means, deviations = np.empty_like(x), np.empty((len(x), groups)), np.empty((len(x), groups))
    for example in range(len(x)):
        for group, channels in enumerate(np.split(np.arange(x.shape[1]), groups)):
            part = x[example, channels]
            means[example, group], deviations[example, group] = part.mean(), np.sqrt(part.var() + eps)
            normal[example, channels] = (part - part.mean()) / deviations[example, group] * g[group] + b[group]
    return normal, means, deviations


def _lrn(x: np.ndarray, nsize: int, alpha: float, beta: float, knorm: float) -> np.ndarray:
    result = np.empty_like(x)
    beside = (nsize - 1) // 2
    for channel in range(x.shape[1]):
        squares = (x[:, max(channel - beside, 0) : channel + beside + 1] ** 2).sum(1)
        result[:, channel] = x[:, channel] / (knorm + alpha / nsize * squares) ** beta
    return result


def _nearest(x: np.ndarray, scale: int) -> np.ndarray:
    return np.kron(x, np.ones((1, 1, scale, scale)))


def _bilinear(x: np.ndarray, w: np.ndarray, scale: int, **_: Any) -> np.ndarray:
    kernel = w.shape[2]
    pad = scale // 2
    full = np.zeros((*x.shape[:2], *((n - 1) * scale + kernel for n in x.shape[2:])))
    for row, column in np.ndindex(*x.shape[2:]):
        at = (slice(row * scale, row * scale + kernel), slice(column * scale, column * scale + kernel))
        full[(..., *at)] += x[:, :, row, column, None, None] * w[:, 0]
    return full[:, :, pad : pad + x.shape[2] * scale, pad : pad + x.shape[3] * scale]


_IMAGE = real(2, 4, 2, 3)
_LRN = {"nsize": 3, "alpha": 0.8, "beta": 0.75, "knorm": 1.5}
_GROUPS = (_IMAGE, real(2), real(2))

ROWS = (
    Row("L2Normalization", real(2, 3, 4), {}, lambda x: _l2(x, (1, 2))),
    Row("L2Normalization", real(2, 3, 4), {"mode": "channel"}, lambda x, mode: _l2(x, (1,)), label="channel"),
    Row(
        "L2Normalization",
        real(2, 3, 2, 2),
        {"mode": "spatial", "eps": 0.5},
        lambda x, mode, eps: _l2(x, (2, 3), eps),
        label="spatial",
    ),
    Row("L2Normalization", real(4), {"eps": 0.5}, lambda x, eps: x / np.sqrt(x**2 + eps), label="vector"),
    Row(
        "InstanceNorm",
        (_IMAGE, real(4), real(4)),
        {"eps": 0.1},
        lambda x, g, b, eps: _group_norm(x, g, b, 4, eps)[0],
    ),
    Row(
        "GroupNorm",
        _GROUPS,
        {"num_groups": 2},
        lambda x, g, b, num_groups: _group_norm(x, g, b, 2, 1e-5)[0],
    ),
    Row(
        "GroupNorm",
        _GROUPS,
        {"num_groups": 2, "eps": 0.1, "output_mean_var": True},
        lambda x, g, b, num_groups, eps, output_mean_var: _group_norm(x, g, b, 2, eps),
        label="statistics",
    ),
    Row("LRN", _IMAGE, _LRN, _lrn),
    Row("LRN", _IMAGE, {**_LRN, "nsize": 4}, _lrn, label="even"),
    Row(
        "UpSampling",
        _IMAGE,
        {"scale": 2, "sample_type": "nearest"},
        lambda x, scale, sample_type: _nearest(x, scale),
    ),
    Row(
        "UpSampling",
        (real(2, 1, 2, 2), real(2, 2, 4, 4)),
        {"scale": 2, "sample_type": "nearest"},
        lambda x, y, scale, sample_type: np.concatenate([_nearest(x, 2), y], 1),
        label="concat",
    ),
    Row(
        "UpSampling",
        (real(2, 1, 1, 2), real(2, 1, 3, 6), real(2, 1, 1, 1)),
        {"scale": 3, "sample_type": "nearest", "multi_input_mode": "sum"},
        lambda x, y, z, **_: _nearest(x, 3) + y + z,
        label="sum",
    ),
    Row(
        "UpSampling",
        (real(2, 2, 2, 3), real(2, 1, 4, 4)),
        {"scale": 2, "sample_type": "bilinear", "num_filter": 2},
        _bilinear,
        label="bilinear",
    ),
    Row(
        "UpSampling",
        (real(1, 2, 2, 2), real(2, 1, 5, 5)),
        {"scale": 3, "sample_type": "bilinear"},
        _bilinear,
        label="odd",
    ),
    Row(
        "Crop",
        real(1, 2, 3, 4),
        {"offset": (1, 2), "h_w": (2, 1)},
        lambda x, offset, h_w: x[:, :, 1:3, 2:3],
    ),
    Row(
        "Crop",
        (real(1, 2, 3, 4), real(1, 1, 2, 2)),
        {"center_crop": True},
        lambda x, y, center_crop: x[:, :, :2, 1:3],
        label="like",
    ),
    Row(
        "ravel_multi_index",
        integers(2, 5, high=3),
        {"shape": (3, 4)},
        lambda x, shape: x[0] * 4 + x[1],
        order=0,
        reason="piecewise constant",
    ),
    Row(
        "unravel_index",
        Spec((2, 2), values=[[0, 23], [7, 12]]),
        {"shape": (2, 3, 4)},
        lambda x, shape: np.array([[[0.0, 1], [0, 1]], [[0, 2], [1, 0]], [[0, 3], [3, 0]]]),
        order=0,
        reason="piecewise constant",
    ),
    Row(
        "_split_v2",
        real(3, 4),
        {"indices": (0, 1, 3)},
        lambda x, indices: (x[:, :1], x[:, 1:3], x[:, 3:]),
    ),
    Row(
        "_split_v2",
        real(3, 2),
        {"sections": 3, "axis": 0, "squeeze_axis": True},
        lambda x, **_: tuple(x),
        label="sections",
    ),
)
