"""Rows of `minpy.ops.nn.convolution`, `pooling` and `normalization`. The references go position by position."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from operator_table.row import Row, Spec, real

Ints = tuple[int, ...]


def _positions(lengths: Any) -> Any:
    return itertools.product(*map(range, lengths))


def _convolution(
    x: Any,
    w: Any,
    b: Any = None,
    *,
    kernel: Ints,
    num_filter: int,
    stride: Ints = (),
    dilate: Ints = (),
    pad: Ints = (),
    num_group: int = 1,
    no_bias: bool = False,
) -> Any:
    count = len(kernel)
    stride, dilate, pad = stride or (1,) * count, dilate or (1,) * count, pad or (0,) * count
    x = np.pad(x, ((0, 0), (0, 0), *((p, p) for p in pad)))
    reach = [d * (k - 1) + 1 for d, k in zip(dilate, kernel, strict=True)]
    lengths = [(n - r) // s + 1 for n, r, s in zip(x.shape[2:], reach, stride, strict=True)]
    y = np.zeros((len(x), num_filter, *lengths))
    for at in _positions(lengths):
        place = [slice(a * s, a * s + r, d) for a, s, r, d in zip(at, stride, reach, dilate, strict=True)]
        window = x[(slice(None), slice(None), *place)]
        for group in range(num_group):
            some = np.array_split(np.arange(num_filter), num_group)[group]
            part = np.split(window, num_group, axis=1)[group].reshape(len(x), -1)
            y[(slice(None), some, *at)] = part @ w[some].reshape(len(some), -1).T
    return y if b is None else y + b.reshape(-1, *(1,) * count)


def _deconvolution(
    x: Any,
    w: Any,
    b: Any = None,
    *,
    kernel: Ints,
    num_filter: int,
    stride: Ints = (),
    dilate: Ints = (),
    pad: Ints = (),
    adj: Ints = (),
    target_shape: Ints = (),
    num_group: int = 1,
    no_bias: bool = True,
) -> Any:
    count = len(kernel)
    stride, dilate, pad = stride or (1,) * count, dilate or (1,) * count, pad or (0,) * count
    full = [(n - 1) * s + d * (k - 1) + 1 for n, s, d, k in zip(x.shape[2:], stride, dilate, kernel, strict=True)]
    lengths = [n - 2 * p + a for n, p, a in zip(full, pad, adj or (0,) * count, strict=True)]
    if target_shape:
        lengths = list(target_shape)
        pad = tuple((n - t + 1) // 2 for n, t in zip(full, target_shape, strict=True))
    y = np.zeros((len(x), num_filter, *(n + 8 for n in full)))
    for at, offset in itertools.product(_positions(x.shape[2:]), _positions(kernel)):
        place = tuple(a * s + o * d for a, s, o, d in zip(at, stride, offset, dilate, strict=True))
        groups = zip(
            np.split(np.arange(x.shape[1]), num_group), np.split(np.arange(num_filter), num_group), strict=True
        )
        for given, made in groups:
            y[(slice(None), made, *place)] += x[(slice(None), given, *at)] @ w[(given, slice(None), *offset)]
    y = y[(slice(None), slice(None), *(slice(p, p + n) for p, n in zip(pad, lengths, strict=True)))]
    return y if b is None else y + b.reshape(-1, *(1,) * count)


def _pooling(
    x: Any,
    *,
    kernel: Ints = (),
    pool_type: str = "max",
    global_pool: bool = False,
    pooling_convention: str = "valid",
    stride: Ints = (),
    pad: Ints = (),
    p_value: int = 1,
    count_include_pad: bool = True,
    layout: str = "",
) -> Any:
    if layout.endswith("C"):
        options = {"kernel": kernel, "pool_type": pool_type, "stride": stride, "global_pool": global_pool}
        return np.moveaxis(_pooling(np.moveaxis(x, -1, 1), **options), 1, -1)
    lengths = x.shape[2:]
    count = len(lengths)
    if global_pool:
        kernel, stride, pad = lengths, (), ()
    stride, pad = stride or (1,) * count, pad or (0,) * count
    surplus = [n + 2 * p - k for n, p, k in zip(lengths, pad, kernel, strict=True)]
    windows = [n // s + 1 for n, s in zip(surplus, stride, strict=True)]
    if pooling_convention == "full":
        windows = [-(-n // s) + 1 for n, s in zip(surplus, stride, strict=True)]
    if pooling_convention == "same":
        windows = [-(-n // s) for n, s in zip(lengths, stride, strict=True)]
        pad = tuple(
            max(0, (c - 1) * s + k - n) // 2 for c, s, k, n in zip(windows, stride, kernel, lengths, strict=True)
        )
    y = np.zeros((*x.shape[:2], *windows))
    for at in _positions(windows):
        starts = [a * s - p for a, s, p in zip(at, stride, pad, strict=True)]
        place = [slice(max(a, 0), a + k) for a, k in zip(starts, kernel, strict=True)]
        window = x[(slice(None), slice(None), *place)].reshape(*x.shape[:2], -1)
        size = window.shape[-1]
        if count_include_pad:
            size = np.prod([min(a + k, n + p) - a for a, k, n, p in zip(starts, kernel, lengths, pad, strict=True)])
        y[(slice(None), slice(None), *at)] = {
            "max": lambda window=window: window.max(-1),
            "sum": lambda window=window: window.sum(-1),
            "avg": lambda window=window, size=size: window.sum(-1) / size,
            "lp": lambda window=window: np.sum(window**p_value, -1) ** (1 / p_value),
        }[pool_type]()
    return y


def _batch_norm(
    x: Any,
    g: Any,
    b: Any,
    mean: Any,
    variance: Any,
    *,
    axis: int = 1,
    eps: float = 1e-3,
    fix_gamma: bool = True,
    momentum: float = 0.9,
    use_global_stats: bool = False,
    output_mean_var: bool = False,
    training: bool = False,
) -> Any:
    rows = np.moveaxis(x, axis, -1)
    if training:
        flat = rows.reshape(-1, rows.shape[-1])
        mean, variance = flat.mean(0), flat.var(0)
    inverse = (variance + eps) ** -0.5
    y = np.moveaxis((rows - mean) * inverse * (1 if fix_gamma else g) + b, -1, axis)
    return (y, mean, inverse) if output_mean_var else y


# label, data, filters, attributes
_CONVOLUTION: list[tuple[str, Ints, int, dict[str, Any]]] = [
    ("1d", (2, 3, 5), 2, {"kernel": (3,)}),
    ("2d", (2, 2, 4, 5), 3, {"kernel": (2, 3)}),
    ("3d", (1, 2, 3, 3, 2), 2, {"kernel": (2, 2, 2), "pad": (1, 0, 0)}),
    ("stride", (1, 2, 5, 6), 2, {"kernel": (2, 2), "stride": (2, 3)}),
    ("dilate", (1, 2, 5, 5), 2, {"kernel": (2, 3), "dilate": (3, 2)}),
    (
        "everything",
        (2, 2, 5, 4),
        4,
        {"kernel": (3, 2), "stride": (2, 1), "dilate": (1, 2), "pad": (2, 1), "num_group": 2},
    ),
    ("depthwise", (2, 3, 3, 3), 3, {"kernel": (2, 2), "num_group": 3, "no_bias": True}),
    ("pointwise", (2, 3, 2, 2), 4, {"kernel": (1, 1)}),
    ("pointwise_padded", (1, 2, 2, 2), 2, {"kernel": (1, 1), "pad": (1, 1), "no_bias": True}),
    ("pointwise_stride", (1, 2, 3, 3), 2, {"kernel": (1, 1), "stride": (2, 2), "no_bias": True}),
]
_DECONVOLUTION: list[tuple[str, Ints, int, dict[str, Any]]] = [
    ("1d", (2, 3, 4), 2, {"kernel": (3,)}),
    ("2d", (2, 2, 2, 3), 3, {"kernel": (2, 3), "no_bias": False}),
    ("3d", (1, 2, 2, 1, 2), 2, {"kernel": (2, 2, 2), "stride": (2, 1, 1)}),
    ("adj", (1, 2, 2, 3), 2, {"kernel": (3, 3), "stride": (2, 3), "pad": (1, 1), "adj": (1, 2)}),
    ("target_shape", (1, 2, 3, 3), 1, {"kernel": (3, 3), "stride": (2, 2), "target_shape": (6, 5)}),
    (
        "everything",
        (2, 4, 2, 2),
        4,
        {"kernel": (2, 3), "stride": (2, 1), "dilate": (2, 1), "pad": (1, 0), "num_group": 2},
    ),
    ("pointwise", (1, 2, 2, 2), 3, {"kernel": (1, 1), "no_bias": False}),
]


def _parameters(data: Ints, weight: Ints, count: int, attributes: dict[str, Any], no_bias: bool) -> list[Spec]:
    bias = [] if attributes.get("no_bias", no_bias) else [real(count)]
    return [real(*data), real(*weight, *attributes["kernel"]), *bias]


ROWS = [
    *[
        Row(
            "Convolution",
            _parameters(data, (count, data[1] // attributes.get("num_group", 1)), count, attributes, False),
            {"num_filter": count, **attributes},
            _convolution,
            label=label,
        )
        for label, data, count, attributes in _CONVOLUTION
    ],
    *[
        Row(
            "Deconvolution",
            _parameters(data, (data[1], count // attributes.get("num_group", 1)), count, attributes, True),
            {"num_filter": count, **attributes},
            _deconvolution,
            label=label,
        )
        for label, data, count, attributes in _DECONVOLUTION
    ],
]

# label, data, attributes; each with every pool type
_POOLING: list[tuple[str, Ints, dict[str, Any]]] = [
    ("1d", (2, 2, 5), {"kernel": (2,)}),
    ("2d", (2, 2, 4, 4), {"kernel": (2, 2), "stride": (2, 2)}),
    ("3d", (1, 1, 3, 2, 3), {"kernel": (2, 2, 2), "stride": (1, 1, 2)}),
    ("overlap", (1, 2, 5, 5), {"kernel": (3, 3), "stride": (2, 2), "pad": (1, 1)}),
    ("apart", (1, 1, 7), {"kernel": (2,), "stride": (3,)}),
    ("full", (1, 1, 5, 4), {"kernel": (2, 3), "stride": (2, 2), "pooling_convention": "full"}),
    ("same", (1, 1, 5, 4), {"kernel": (3, 2), "stride": (2, 2), "pooling_convention": "same"}),
    ("global", (2, 2, 3, 3), {"global_pool": True}),
    ("channels_last", (1, 4, 3, 2), {"kernel": (2, 2), "layout": "NHWC"}),
]
_TYPES: list[tuple[str, dict[str, Any]]] = [
    ("max", {}),
    ("avg", {"pool_type": "avg"}),
    ("sum", {"pool_type": "sum"}),
    ("lp", {"pool_type": "lp", "p_value": 2}),
]
ROWS += [
    Row(
        "Pooling",
        real(*data, low=0.2, high=2.0, distinct=True) if "lp" in kind else real(*data, distinct=True),
        {**attributes, **options},
        _pooling,
        label=f"{label}_{kind}",
    )
    for label, data, attributes in _POOLING
    for kind, options in _TYPES
    if kind != "lp" or "layout" not in attributes
]
ROWS += [
    Row(
        "Pooling",
        real(1, 1, 5, 5),
        {"kernel": (3, 3), "stride": (2, 2), "pad": (1, 1), "pool_type": "avg", "count_include_pad": False},
        _pooling,
        label="without_padding_avg",
    ),
    Row("Pooling", real(1, 2, 6), {"kernel": (2,), "pool_type": "lp", "p_value": 1}, _pooling, label="lp1"),
    Row(
        "Pooling",
        real(1, 2, 6, low=0.2),
        {"kernel": (2,), "stride": (2,), "pool_type": "lp", "p_value": 3},
        _pooling,
        label="lp3",
    ),
]


def _statistics(count: int) -> tuple[Spec, ...]:
    return real(count), real(count), real(count), real(count, low=0.5)


def _in_training(*inputs: Any, **attributes: Any) -> Any:
    return _batch_norm(*inputs, **attributes, training=True)


_BATCH_NORM: dict[str, Any] = {"argnums": (0, 1, 2)}
ROWS += [
    Row("BatchNorm", (real(3, 2, 2), *_statistics(2)), {"fix_gamma": False}, _batch_norm, **_BATCH_NORM),
    Row("BatchNorm", (real(3, 2, 2), *_statistics(2)), {}, _batch_norm, label="fix_gamma", **_BATCH_NORM),
    Row(
        "BatchNorm",
        (real(3, 2, 2, 2), *_statistics(2)),
        {"fix_gamma": False, "momentum": 0.5},
        _in_training,
        training=True,
        label="training",
        **_BATCH_NORM,
    ),
    Row(
        "BatchNorm",
        (real(4, 3), *_statistics(3)),
        {"axis": -1, "eps": 0.1},
        _in_training,
        training=True,
        label="training_axis",
        **_BATCH_NORM,
    ),
    Row(
        "BatchNorm",
        (real(3, 2, 2), *_statistics(2)),
        {"fix_gamma": False, "output_mean_var": True},
        _in_training,
        training=True,
        label="training_statistics",
        **_BATCH_NORM,
    ),
    Row(
        "BatchNorm",
        (real(3, 2, 2), *_statistics(2)),
        {"fix_gamma": False, "use_global_stats": True},
        _batch_norm,
        training=True,
        label="global_statistics",
        **_BATCH_NORM,
    ),
]
