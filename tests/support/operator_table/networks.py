"""Rows of `minpy.ops.contrib.attention` and `batch_norm`, `minpy.ops.nn.im2col`, `pooling_v1`,
`sparse_regularization`, and `minpy.ops.tensor.assigning` and `mixed_precision`."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from operator_table.row import Row, Spec, real

KINDS_OF_STEPS = {
    "elementwise": "IdentityAttachKLSparseReg amp_cast amp_multicast",
    "elementwise call": "_slice_assign _slice_assign_scalar",
    "elementwise reduce": "Pooling_v1",
    "elementwise reduce view": "all_finite",
    "elementwise reduce view call": "multi_all_finite",
    "elementwise view product call": "multi_sum_sq",
    "view call": "im2col",
    "elementwise view": "_contrib_BatchNormWithReLU _contrib_SyncBatchNorm BatchNorm_v1 fill_element_0index",
    "elementwise view product": "_contrib_interleaved_matmul_encdec_qk _contrib_interleaved_matmul_selfatt_qk",
    "view product": "_contrib_interleaved_matmul_encdec_valatt _contrib_interleaved_matmul_selfatt_valatt",
}
CALLED = {
    "*BatchNorm*-training": "training moves the states",
    "IdentityAttachKLSparseReg-training": "training moves the states",
    "Pooling_v1-[!g]*": "heavy: it works window by window, in memory of its own",  # but global pooling
    "_scatter_set_nd*": "refuses indices that are out of range",
    "col2im*": "adds up in memory of its own",
}


def _split(x: np.ndarray, heads: int, parts: int) -> list[np.ndarray]:
    """Each part of a projection as (batch, heads, time, length), taken out by slices."""
    length = x.shape[2] // (heads * parts)
    found = []
    for part in range(parts):
        each = [
            x[:, :, (head * parts + part) * length : (head * parts + part + 1) * length].transpose(1, 0, 2)
            for head in range(heads)
        ]
        found.append(np.stack(each, axis=1))
    return found


def _products(q: np.ndarray, k: np.ndarray) -> np.ndarray:
    found = np.einsum("bhqd,bhkd->bhqk", q, k) / np.sqrt(q.shape[-1])
    return found.reshape(-1, *found.shape[2:])


def _values(v: np.ndarray, a: np.ndarray) -> np.ndarray:
    batch, heads = v.shape[:2]
    found = np.einsum("bhqk,bhkd->qbhd", a.reshape(batch, heads, *a.shape[1:]), v)
    return found.reshape(*found.shape[:2], -1)


_QK = "_contrib_interleaved_matmul_{}_qk"
_VALATT = "_contrib_interleaved_matmul_{}_valatt"
ROWS = [
    Row(
        _QK.format("selfatt"),
        real(3, 2, 12),
        {"heads": 2},
        lambda x, heads: _products(*_split(x, heads, 3)[:2]),
        ulps=64,
    ),
    Row(
        _QK.format("encdec"),
        (real(2, 2, 4), real(3, 2, 8)),
        {"heads": 2},
        lambda q, kv, heads: _products(_split(q, heads, 1)[0], _split(kv, heads, 2)[0]),
        ulps=64,
    ),
    Row(
        _VALATT.format("selfatt"),
        (real(3, 2, 12), real(4, 2, 3)),
        {"heads": 2},
        lambda x, a, heads: _values(_split(x, heads, 3)[2], a),
    ),
    Row(
        _VALATT.format("encdec"),
        (real(3, 2, 8), real(4, 2, 3)),
        {"heads": 2},
        lambda x, a, heads: _values(_split(x, heads, 2)[1], a),
    ),
]

# -- batch normalizations ----------------------------------------------------------------------------------------------


def _normalized(x: np.ndarray, g: np.ndarray, b: np.ndarray, mean: Any, var: Any, eps: float) -> np.ndarray:
    shape = (1, -1) + (1,) * (x.ndim - 2)
    return (x - mean.reshape(shape)) / np.sqrt(var.reshape(shape) + eps) * g.reshape(shape) + b.reshape(shape)


def _batch_norm(training: bool, relu: bool = False) -> Any:
    def reference(
        x: Any, g: Any, b: Any, m: Any, v: Any, fix_gamma: bool = True, output_mean_var: bool = False, **_: Any
    ) -> Any:
        axes = (0, *range(2, x.ndim))
        mean, var = (x.mean(axes), x.var(axes)) if training else (m, v)
        result = _normalized(x, np.ones_like(g) if fix_gamma else g, b, mean, var, 1e-3)
        result = np.maximum(result, 0) if relu else result
        return (result, mean, 1 / np.sqrt(var + 1e-3) if relu else var) if output_mean_var else result

    return reference


_STATISTICS = (real(2), real(2), real(2), real(2, low=0.5))
ROWS += [
    Row(
        name,
        (real(3, 2, 2), *_STATISTICS),
        {**given, **options},
        _batch_norm(training, relu),
        label=label,
        training=training,
        argnums=(0, 1, 2),
        ulps=32,
    )
    for name, given, relu in (
        ("_contrib_SyncBatchNorm", {"key": "a"}, False),
        ("BatchNorm_v1", {}, False),
        ("_contrib_BatchNormWithReLU", {}, True),
    )
    for label, training, options in (
        ("", False, {}),
        ("scaled", False, {"fix_gamma": False}),
        ("training", True, {"fix_gamma": False, "output_mean_var": True}),
    )
]

# -- what convolutions and poolings see --------------------------------------------------------------------------------


def _im2col(x: np.ndarray, kernel: Any, stride: Any = (), dilate: Any = (), pad: Any = ()) -> np.ndarray:
    count = len(kernel)
    stride, dilate, pad = stride or (1,) * count, dilate or (1,) * count, pad or (0,) * count
    x = np.pad(x, ((0, 0), (0, 0), *((p, p) for p in pad)))
    reach = [d * (k - 1) + 1 for d, k in zip(dilate, kernel, strict=True)]
    columns = []
    for at in itertools.product(*(range(0, n - r + 1, s) for n, r, s in zip(x.shape[2:], reach, stride, strict=True))):
        block = x[(..., *(slice(a, a + r, d) for a, r, d in zip(at, reach, dilate, strict=True)))]
        columns.append(block.reshape(len(x), -1))
    return np.stack(columns, axis=2)


def _col2im(x: np.ndarray, output_size: Any, kernel: Any, **window: Any) -> np.ndarray:
    """The transpose of im2col, as a matrix."""
    channels = x.shape[1] // int(np.prod(kernel))
    size = channels * int(np.prod(output_size))
    matrix = _im2col(np.eye(size).reshape(size, channels, *output_size), kernel, **window).reshape(size, -1)
    return (x.reshape(len(x), -1) @ matrix.T).reshape(len(x), channels, *output_size)


_WINDOW = {"kernel": (2, 3), "stride": (2, 1), "dilate": (1, 2), "pad": (1, 2)}


def _pooling(x: np.ndarray, pool_type: str, kernel: Any = (), stride: Any = (), pad: Any = (), **o: Any) -> Any:
    if o.get("global_pool"):
        kernel, stride, pad = x.shape[2:], (1, 1), (0, 0)
    stride, pad = stride or (1, 1), pad or (0, 0)
    counts = []
    for n, k, s, p in zip(x.shape[2:], kernel, stride, pad, strict=True):
        steps = (n + 2 * p - k) / s
        counts.append(int(np.ceil(steps) if o.get("pooling_convention") == "full" else np.floor(steps)) + 1)
    y = np.zeros((*x.shape[:2], *counts))
    x = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in pad)])
    for at in itertools.product(*map(range, counts)):
        block = x[(..., *(slice(a * s, a * s + k) for a, s, k in zip(at, stride, kernel, strict=True)))]
        found = block.max((2, 3)) if pool_type == "max" else block.sum((2, 3))
        y[(..., *at)] = found / np.prod(kernel) if pool_type == "avg" else found
    return y


ROWS += [
    Row("im2col", real(2, 2, 4, 5), _WINDOW, _im2col),
    Row("im2col", real(2, 3, 5), {"kernel": (2,), "stride": (2,)}, _im2col, label="width"),
    Row("im2col", real(1, 2, 3, 2, 3), {"kernel": (2, 2, 2)}, _im2col, label="depth"),
    Row("col2im", real(2, 12, 15), {"output_size": (4, 5), **_WINDOW}, _col2im),
    Row("col2im", real(2, 4, 3), {"output_size": (4,), "kernel": (2,)}, _col2im, label="width"),
    *[
        Row("Pooling_v1", real(2, 1, 5, 4, distinct=True), {"pool_type": kind, **window}, _pooling, label=name + kind)
        for kind in ("max", "avg", "sum")
        for name, window in (
            ("", {"kernel": (2, 2), "stride": (2, 2), "pooling_convention": "full"}),
            ("pad-", {"kernel": (3, 2), "stride": (2, 1), "pad": (1, 1)}),
            ("global-", {"global_pool": True}),
        )
    ],
    *[
        Row(
            "IdentityAttachKLSparseReg",
            (real(3, 2, low=0.1, high=0.9), Spec((2,), values=[0.2, 0.4])),
            {"penalty": 0.0},  # the gradient of the penalty is not that of the answer; test_networks.py has it
            lambda x, m, penalty: x,
            label=label,
            training=bool(label),
            argnums=(0,),
        )
        for label in ("", "training")
    ],
]

# -- assignments, and what looks at many arrays ------------------------------------------------------------------------


def _assigned(x: np.ndarray, value: Any, key: Any) -> np.ndarray:
    result = x.copy()
    result[key] = value
    return result


_PART = {"begin": (0, 1), "end": (2, None), "step": (1, 2)}
_KEY = (slice(0, 2), slice(1, None, 2))
ROWS += [
    Row("_slice_assign", (real(3, 4), real(2, 2)), _PART, lambda x, v, **_: _assigned(x, v, _KEY)),
    Row(
        "_slice_assign_scalar", real(3, 4), {"scalar": 7.0, **_PART}, lambda x, scalar, **_: _assigned(x, scalar, _KEY)
    ),
    Row(
        "_scatter_set_nd",
        (real(3, 4), real(3), Spec((2, 3), values=[[0, 2, 0], [1, 3, 1]], integers=True)),
        {"shape": (3, 4)},
        lambda x, v, i, shape: _assigned(_assigned(x, v[1], (2, 3)), v[2], (0, 1)),
    ),
    Row(
        "_scatter_set_nd",
        (real(3, 4), real(2, 4), Spec((1, 2), values=[[2, 0]], integers=True)),
        {"shape": (3, 4)},
        lambda x, v, i, shape: _assigned(x, v, [2, 0]),
        label="rows",
    ),
    Row(
        "fill_element_0index",
        (real(3, 4), real(3), Spec((3,), values=[3, 0, 5], integers=True)),
        {},
        lambda x, v, i: _assigned(_assigned(x, v[0], (0, 3)), v[1], (1, 0)),
    ),
    Row("amp_cast", real(2, 3), {"dtype": "float32"}, lambda x, **_: x.astype("float32"), dtypes=()),
    Row("amp_multicast", (real(2), real(2, 3)), {"num_outputs": 2}, lambda x, y, num_outputs: (x, y)),
    Row("amp_multicast", real(2), {"num_outputs": 1, "cast_narrow": True}, lambda x, **_: x, label="one"),
    Row("all_finite", real(3), {}, lambda x: np.ones(1), order=0, reason="piecewise constant", dtypes=()),
    Row(
        "all_finite",
        Spec((2,), values=[1, np.nan]),
        {},
        lambda x: np.zeros(1),
        order=0,
        reason="piecewise constant",
        dtypes=(),
        label="nan",
    ),
    Row(
        "multi_all_finite",
        (real(3), Spec((2,), values=[1, np.nan])),
        {"num_arrays": 2},
        lambda x, y, num_arrays: np.zeros(1),
        order=0,
        reason="piecewise constant",
        dtypes=(),
    ),
    Row(
        "multi_sum_sq",
        (real(3), real(2, 2)),
        {"num_arrays": 2},
        lambda x, y, num_arrays: np.array([(x**2).sum(), (y**2).sum()]),
        order=0,
        reason="its answer is float32: central differences of it are not precise",
        dtypes=(),
        argnums=(),
    ),
]
