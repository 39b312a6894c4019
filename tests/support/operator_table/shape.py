"""Rows of `minpy.ops.tensor`: what reshapes, transposes, broadcasts, tiles, joins, splits and slices."""

from __future__ import annotations

from typing import Any

import numpy as np

from operator_table.row import Row, integers, real

CUBE = real(2, 3, 4)


def _zero(name: str, reference: Any, reason: str = "constant") -> Row:
    return Row(name, CUBE, {}, reference, order=0, reason=reason)


ROWS = [
    Row("_copy", CUBE, {}, lambda x: x),
    Row("cast_storage", CUBE, {"stype": "default"}, lambda x, stype: x),
    Row("cast", CUBE, {"dtype": "float64"}, lambda x, dtype: x.astype(dtype), dtypes=()),
    _zero("zeros_like", lambda x: x * 0),
    _zero("ones_like", lambda x: x * 0 + 1),
    _zero("shape_array", lambda x: np.array(x.shape), "integer answer"),
    _zero("size_array", lambda x: np.array([x.size]), "integer answer"),
    Row("reshape", CUBE, {"shape": (0, -1, 2)}, lambda x, shape: x.reshape(2, 6, 2)),
    Row(
        "reshape", CUBE, {"shape": (-1, 0), "reverse": True}, lambda x, shape, reverse: x.reshape(6, 4), label="reverse"
    ),
    Row("reshape_like", (CUBE, real(6, 4)), {}, lambda x, y: x.reshape(6, 4)),
    Row(
        "reshape_like",
        (CUBE, real(6, 5)),
        {"lhs_end": 2, "rhs_end": 1},
        lambda x, y, lhs_end, rhs_end: x.reshape(6, 4),
        label="some_axes",
    ),
    Row("flatten", CUBE, {}, lambda x: x.reshape(2, 12)),
    Row("expand_dims", CUBE, {"axis": -2}, lambda x, axis: x[:, :, None]),
    Row("squeeze", real(1, 3, 1), {}, lambda x: x[0, :, 0]),
    Row("squeeze", real(1, 3, 1), {"axis": (0,)}, lambda x, axis: x[0], label="axis"),
    Row("transpose", CUBE, {}, lambda x: np.einsum("ijk->kji", x)),
    Row("transpose", CUBE, {"axes": (1, 2, 0)}, lambda x, axes: np.einsum("ijk->jki", x), label="axes"),
    Row("swapaxes", CUBE, {"dim1": 0, "dim2": -1}, lambda x, dim1, dim2: np.einsum("ijk->kji", x)),
    Row("broadcast_to", real(1, 3), {"shape": (2, 0)}, lambda x, shape: np.concatenate([x, x])),
    Row("broadcast_axis", real(1, 3), {"axis": 0, "size": 2}, lambda x, axis, size: np.concatenate([x, x])),
    Row("broadcast_like", (real(1, 3), real(2, 3)), {}, lambda x, y: np.concatenate([x, x])),
    Row(
        "broadcast_like",
        (real(1, 3), real(4, 2)),
        {"lhs_axes": (0,), "rhs_axes": (-1,)},
        lambda x, y, lhs_axes, rhs_axes: np.concatenate([x, x]),
        label="axes",
    ),
    Row("tile", real(2, 3), {"reps": (2, 1, 2)}, lambda x, reps: np.stack([np.concatenate([x, x], 1)] * 2)),
    Row("tile", real(2, 3), {"reps": 2}, lambda x, reps: np.concatenate([x, x], 1), label="number"),
    Row("repeat", real(2, 3), {"repeats": 2}, lambda x, repeats: np.stack([x, x], -1).reshape(-1)),
    Row(
        "repeat",
        real(2, 3),
        {"repeats": 3, "axis": -1},
        lambda x, repeats, axis: np.stack([x] * 3, -1).reshape(2, 9),
        label="axis",
    ),
    Row("flip", CUBE, {"axis": (0, 2)}, lambda x, axis: x[::-1, :, ::-1]),
    *[
        Row(
            "pad",
            real(3, 4),
            {"mode": mode, "pad_width": (1, 2, 0, 3), **more},
            lambda x, mode, pad_width, constant_value=0: np.pad(
                x, ((1, 2), (0, 3)), mode, **({"constant_values": constant_value} if mode == "constant" else {})
            ),
            label=mode,
        )
        for mode, more in (("constant", {"constant_value": 2.5}), ("edge", {}), ("reflect", {}))
    ],
    Row(
        "depth_to_space",
        real(2, 8, 1, 3),
        {"block_size": 2},
        lambda x, block_size: np.einsum("nabchw->nchawb", x.reshape(2, 2, 2, 2, 1, 3)).reshape(2, 2, 2, 6),
    ),
    Row(
        "space_to_depth",
        real(2, 2, 2, 6),
        {"block_size": 2},
        lambda x, block_size: np.einsum("nchawb->nabchw", x.reshape(2, 2, 1, 2, 3, 2)).reshape(2, 8, 1, 3),
    ),
    Row("concat", (real(2, 1, 2), real(2, 3, 2)), {}, lambda x, y: np.concatenate([x, y], 1)),
    Row("concat", (real(2), real(3), real(1)), {"dim": -1}, lambda *x, dim: np.concatenate(x), label="three"),
    Row("stack", (real(2, 3), real(2, 3)), {"axis": -1}, lambda x, y, axis: np.stack([x, y], -1)),
    Row("SliceChannel", CUBE, {"num_outputs": 3}, lambda x, num_outputs: (x[:, :1], x[:, 1:2], x[:, 2:])),
    Row(
        "SliceChannel",
        CUBE,
        {"num_outputs": 2, "axis": 0, "squeeze_axis": True},
        lambda x, num_outputs, axis, squeeze_axis: (x[0], x[1]),
        label="squeezed",
    ),
    Row("SliceChannel", CUBE, {"num_outputs": 1}, lambda x, num_outputs: x, label="one"),
    Row(
        "split_v2",
        real(5, 2),
        {"indices_or_sections": (1, 3)},
        lambda x, indices_or_sections: (x[:1], x[1:3], x[3:]),
    ),
    Row(
        "split_v2",
        real(2, 2),
        {"indices_or_sections": 2, "squeeze_axis": True},
        lambda x, indices_or_sections, squeeze_axis: (x[0], x[1]),
        label="squeezed",
    ),
    Row("slice", CUBE, {"begin": (0, None), "end": (1, -1)}, lambda x, begin, end: x[0:1, :-1]),
    Row(
        "slice",
        CUBE,
        {"begin": (None, 2), "end": (None, None), "step": (None, -2)},
        lambda x, begin, end, step: x[:, 2::-2],
        label="step",
    ),
    Row("slice_axis", CUBE, {"axis": -1, "begin": -3, "end": None}, lambda x, axis, begin, end: x[..., 1:]),
    Row("slice_like", (CUBE, real(1, 2, 4)), {}, lambda x, y: x[:1, :2]),
    Row("slice_like", (CUBE, real(1, 2, 3)), {"axes": (-1,)}, lambda x, y, axes: x[..., :3], label="axes"),
    Row("diag", real(3), {"k": -1}, lambda x, k: np.diag(x, -1), label="vector"),
    Row("diag", real(3, 4), {}, lambda x: np.array([x[i, i] for i in range(3)]), label="matrix"),
    Row("diag", real(3, 4), {"k": -1}, lambda x, k: np.array([x[i + 1, i] for i in range(2)]), label="below"),
    Row(
        "diag",
        CUBE,
        {"k": 1, "axis1": -2, "axis2": 2},
        lambda x, k, axis1, axis2: np.stack([x[:, i, i + 1] for i in range(3)], -1),
        label="cube",
    ),
]

# -- order -------------------------------------------------------------------------------------------------------------

_ANY = real(3, 4, distinct=True)


def _top(x: np.ndarray, k: int) -> np.ndarray:
    return np.argsort(-x, axis=-1)[:, :k]


ROWS += [
    Row("sort", _ANY, {}, lambda x: np.sort(x)),
    Row("sort", _ANY, {"axis": 0, "is_ascend": False}, lambda x, axis, is_ascend: -np.sort(-x, 0), label="descending"),
    Row("sort", _ANY, {"axis": None}, lambda x, axis: np.sort(x, None), label="flat"),
    Row("argsort", _ANY, {}, lambda x: np.argsort(x).astype(float), order=0, reason="piecewise constant", dtypes=()),
    Row("topk", _ANY, {"k": 2}, lambda x, k: _top(x, k).astype(float), order=0, reason="positions", dtypes=()),
    Row(
        "topk",
        _ANY,
        {"k": 2, "ret_typ": "value"},
        lambda x, k, ret_typ: np.take_along_axis(x, _top(x, 2), -1),
        label="value",
    ),
    Row(
        "topk",
        _ANY,
        {"k": 2, "ret_typ": "both"},
        lambda x, k, ret_typ: (np.take_along_axis(x, _top(x, 2), -1), _top(x, 2).astype(float)),
        outputs=(0,),
        dtypes=(),
        label="both",
    ),
    Row(
        "topk",
        _ANY,
        {"k": 1, "axis": None, "ret_typ": "mask"},
        lambda x, k, axis, ret_typ: (x == x.max()) * 1.0,
        order=0,
        reason="piecewise constant",
        label="mask",
    ),
    Row("cumsum", real(2, 3), {}, lambda a: np.array([a.ravel()[: i + 1].sum() for i in range(6)])),
    Row(
        "cumsum",
        CUBE,
        {"axis": -2},
        lambda a, axis: np.stack([a[:, : i + 1].sum(1) for i in range(3)], 1),
        label="axis",
    ),
]

# -- by index ----------------------------------------------------------------------------------------------------------


def _scatter(x: np.ndarray, i: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    result = np.zeros(shape)
    for value, row, column in zip(x, *i.astype(int), strict=True):
        result[row, column] = value
    return result


_SPOTS = integers(2, 3, high=3, values=[[0, 2, 1], [1, 0, 3]])

ROWS += [
    Row("take", (real(3, 4), integers(2, 2, low=-1, high=5)), {}, lambda a, i: a[np.clip(i, 0, 2).astype(int)]),
    Row(
        "take",
        (CUBE, integers(4, low=-4, high=7)),
        {"axis": 1, "mode": "wrap"},
        lambda a, i, axis, mode: a[:, (i % 3).astype(int)],
        label="wrap",
    ),
    Row("pick", (real(3, 4), integers(3, high=4)), {}, lambda a, i: np.array([a[n, int(k)] for n, k in enumerate(i)])),
    Row(
        "pick",
        (real(3, 4), integers(4, low=-2, high=6)),
        {"axis": 0, "mode": "wrap", "keepdims": True},
        lambda a, i, axis, mode, keepdims: np.array([[a[int(k) % 3, n] for n, k in enumerate(i)]]),
        label="wrap",
    ),
    Row(
        "batch_take",
        (real(3, 4), integers(3, high=4)),
        {},
        lambda a, i: np.array([a[n, int(k)] for n, k in enumerate(i)]),
    ),
    Row(
        "one_hot",
        integers(2, 3, high=5),
        {"depth": 4, "on_value": 2.0, "off_value": -1.0},
        lambda i, depth, on_value, off_value: np.where(i[..., None] == np.arange(4), 2.0, -1.0),
        order=0,
        reason="piecewise constant",
        dtypes=(),
    ),
    Row("gather_nd", (real(3, 4), _SPOTS), {}, lambda a, i: np.array([a[0, 1], a[2, 0], a[1, 3]])),
    Row("gather_nd", (real(3, 4), integers(1, 4, high=3)), {}, lambda a, i: a[i[0].astype(int)], label="rows"),
    Row("scatter_nd", (real(3), _SPOTS), {"shape": (3, 4)}, _scatter),
    Row(
        "Embedding",
        (integers(2, 3, high=4), real(4, 2)),
        {"input_dim": 4, "output_dim": 2},
        lambda i, w, input_dim, output_dim: w[i.astype(int)],
    ),
]

_LENGTHS = integers(3, high=5, values=[1, 4, 2])
_STEPS = real(4, 3, 2)


def _mask(x: np.ndarray, n: np.ndarray, use_sequence_length: bool, value: float = 0.0) -> np.ndarray:
    result = x.copy()
    for column, length in enumerate(n):
        result[int(length) :, column] = value
    return result


def _reverse(x: np.ndarray, n: np.ndarray, use_sequence_length: bool) -> np.ndarray:
    result = x.copy()
    for column, length in enumerate(n):
        result[: int(length), column] = x[: int(length), column][::-1]
    return result


_USE = {"use_sequence_length": True}
ROWS += [
    Row("SequenceMask", (_STEPS, _LENGTHS), {**_USE, "value": 7.0}, _mask),
    Row("SequenceMask", _STEPS, {}, lambda x: x, label="full"),
    Row(
        "SequenceLast",
        (_STEPS, _LENGTHS),
        _USE,
        lambda x, n, **_: np.stack([x[int(k) - 1, i] for i, k in enumerate(n)]),
    ),
    Row("SequenceLast", _STEPS, {"axis": 1}, lambda x, axis: x[:, -1], label="full"),
    Row("SequenceReverse", (_STEPS, _LENGTHS), _USE, _reverse),
    Row("SequenceReverse", _STEPS, {}, lambda x: x[::-1], label="full"),
]
