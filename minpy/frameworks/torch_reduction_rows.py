"""Rows of PyTorch for reductions, accumulations, products and linear algebra."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from minpy.frameworks.dialects import Call, Operand
from minpy.frameworks.row_parts import Rows, axes_of, computes_in, only, torch_reshaped

__all__ = ["ROWS"]

ROWS = Rows()
_row = ROWS.enter


def _reduced(name: str, text: str, axes: Sequence[int], keepdims: bool, more: str = "") -> str:
    return f"torch.{name}({text}, {tuple(axes)!r}, keepdim={bool(keepdims)!r}{more})"


@_row("sum nansum mean nanmean add.reduce")
def _sum(call: Call, a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> str:
    name = {"add.reduce": "sum"}.get(call.key, call.key)
    text = call.array(a, computes_in(call, a, dtype))
    axes = axes_of(axis, a.ndim)
    return _reduced(name, text, axes, keepdims) if axes else text


@_row("amax amin max min maximum.reduce minimum.reduce")
def _extreme(call: Call, a: Any, axis: Any = None, keepdims: bool = False) -> str:
    name = "amax" if "max" in call.key else "amin"
    return _reduced(name, call.array(a), axes_of(axis, a.ndim), keepdims) if a.ndim else call.array(a)


@_row("ptp")
def _ptp(call: Call, a: Any, axis: Any = None, keepdims: bool = False) -> str:
    return f"{_extreme_of('amax', call, a, axis, keepdims)} - {_extreme_of('amin', call, a, axis, keepdims)}"


def _extreme_of(name: str, call: Call, a: Any, axis: Any, keepdims: bool) -> str:
    return _reduced(name, call.array(a), axes_of(axis, a.ndim), keepdims)


@_row("nanmax nanmin")
def _nan_extreme(call: Call, a: Any, axis: Any = None, keepdims: bool = False) -> str:
    name = call.key.removeprefix("nan")
    return f"functions.nan_extreme({call.array(a)}, {axes_of(axis, a.ndim)!r}, {bool(keepdims)!r}, {name!r})"


@_row("all any logical_and.reduce logical_or.reduce alltrue sometrue")
def _truth(call: Call, a: Any, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> str:
    name = "all" if call.key in ("all", "logical_and.reduce", "alltrue") else "any"
    text, axes = call.array(a, bool), axes_of(axis, a.ndim)
    return _reduced(name, text, axes, keepdims) if axes else text


@_row("prod nanprod multiply.reduce product")
def _prod(call: Call, a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> str:
    text = call.array(a, computes_in(call, a, dtype))
    if call.key == "nanprod":
        text = f"functions.without_nan({text}, 1)"
    for each in sorted(axes_of(axis, a.ndim), reverse=True):
        text = f"torch.prod({text}, {each}, keepdim={bool(keepdims)!r})"
    return text


@_row("argmax argmin")
def _argmax(call: Call, a: Any, axis: Any = None, keepdims: bool = False) -> str:
    text = call.array(a, numpy.uint8 if a.dtype.kind == "b" else None)
    if axis is None:
        where = f"torch.{call.key}({text})"
        return torch_reshaped(call, where) if keepdims else where
    return f"torch.{call.key}({text}, {axis!r}, keepdim={bool(keepdims)!r})"


@_row("std var nanstd nanvar")
def _var(
    call: Call,
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    ddof: Any = 0,
    keepdims: bool = False,
    correction: Any = None,
) -> str:
    text = call.array(a, a.dtype if a.dtype.kind == "c" else computes_in(call, a, dtype))
    taken = ddof if correction is None else correction
    axes = axes_of(axis, a.ndim)
    return f"functions.{call.key}({text}, {axes!r}, {call.text(taken)}, {bool(keepdims)!r})"


@_row("median nanmedian")
def _median(call: Call, a: Any, axis: Any = None, keepdims: bool = False) -> str:
    name = "nanquantile" if call.key == "nanmedian" else "quantile"
    return _quantiles(call, name, a, Operand("", (), numpy.dtype(float), numpy.asarray(0.5)), axis, keepdims)


@_row("quantile nanquantile percentile nanpercentile")
def _quantile(call: Call, a: Any, q: Any, axis: Any = None, method: str = "linear", keepdims: bool = False) -> str:
    only(call, "method", method, ("linear", "lower", "higher", "midpoint", "nearest"))
    levels = q.value if isinstance(q, Operand) else numpy.asarray(q)
    if levels is None:
        raise call.refuse("q= that is not constant")
    if "percentile" in call.key:
        levels = levels / 100
    name = "nanquantile" if call.key.startswith("nan") else "quantile"
    return _quantiles(call, name, a, Operand("", levels.shape, levels.dtype, levels), axis, keepdims, method)


def _quantiles(call: Call, name: str, a: Any, q: Operand, axis: Any, keepdims: bool, method: str = "linear") -> str:
    assert q.value is not None
    levels, axes = q.value.reshape(-1).tolist(), axes_of(axis, a.ndim)
    text = call.array(a, call.result_dtype)
    kept = [at for at in range(a.ndim) if at not in axes]
    shape = [a.shape[at] for at in kept]
    moved = f"torch.reshape({text}.permute({(*kept, *axes)!r}), {call.text((*shape, -1))})"
    found = (
        f"torch.{name}({moved}, {call.array(numpy.asarray(levels), call.result_dtype)}, -1, interpolation={method!r})"
    )
    return torch_reshaped(call, found)


@_row("count_nonzero")
def _count_nonzero(call: Call, a: Any, axis: Any = None, keepdims: bool = False) -> str:
    return _reduced("sum", f"({call.array(a)} != 0)", axes_of(axis, a.ndim), keepdims)


@_row("cumsum cumprod nancumsum nancumprod add.accumulate multiply.accumulate cumproduct")
def _accumulate(call: Call, a: Any, axis: Any = None, dtype: Any = None) -> str:
    text = call.array(a, computes_in(call, a, dtype))
    is_sum = "sum" in call.key or call.key == "add.accumulate"
    if call.key.startswith("nan"):
        text = f"functions.without_nan({text}, {0 if is_sum else 1})"
    if axis is None and "." not in call.key:
        text, axis = f"torch.reshape({text}, (-1,))", 0
    return f"torch.{'cumsum' if is_sum else 'cumprod'}({text}, {axis or 0!r})"


@_row("maximum.accumulate minimum.accumulate")
def _extreme_so_far(call: Call, a: Any, axis: int = 0) -> str:
    return f"torch.{'cummax' if 'max' in call.key else 'cummin'}({call.array(a)}, {axis!r})[0]"


@_row("cumulative_sum cumulative_prod")
def _cumulative(call: Call, x: Any, axis: Any = None, dtype: Any = None, include_initial: bool = False) -> str:
    only(call, "include_initial", include_initial, (False,))
    name = call.key.replace("cumulative_", "cum")
    return f"torch.{name}({call.array(x, computes_in(call, x, dtype))}, {axis or 0!r})"


@_row("sum_to")
def _sum_to(call: Call, data: Operand, shape: Any) -> str:
    return f"{data.text}.sum_to_size({call.text(tuple(shape))})"


@_row("average")
def _average(call: Call, a: Any, axis: Any = None, weights: Any = None, keepdims: bool = False) -> str:
    values, axes = call.array(a, call.result_dtype), axes_of(axis, a.ndim)
    if weights is None:
        return _reduced("mean", values, axes, keepdims)
    if call.spec(weights).shape != a.shape:
        raise call.refuse("weights= of another shape than the array's")
    factors = call.array(weights, call.result_dtype)
    return f"{_reduced('sum', f'{values} * {factors}', axes, keepdims)} / {_reduced('sum', factors, axes, keepdims)}"


@_row("dot")
def _dot(call: Call, a: Any, b: Any) -> str:
    first, second = call.spec(a), call.spec(b)
    left, right = (call.array(value, call.result_dtype) for value in (a, b))
    if not first.shape or not second.shape:
        return f"{left} * {right}"
    if len(second.shape) <= 2:
        return f"torch.matmul({left}, {right})"
    return f"torch.tensordot({left}, {right}, (({len(first.shape) - 1},), ({len(second.shape) - 2},)))"


@_row("inner")
def _inner(call: Call, a: Any, b: Any) -> str:
    left, right = (call.array(value, call.result_dtype) for value in (a, b))
    if not call.spec(a).shape or not call.spec(b).shape:
        return f"{left} * {right}"
    return f"torch.inner({left}, {right})"


@_row("vdot")
def _vdot(call: Call, a: Any, b: Any) -> str:
    left, right = (f"torch.reshape({call.array(value, call.result_dtype)}, (-1,))" for value in (a, b))
    return f"torch.vdot({left}, {right})" if call.result_dtype.kind in "fc" else f"torch.dot({left}, {right})"


@_row("outer linalg.outer")
def _outer(call: Call, a: Any = None, b: Any = None, x1: Any = None, x2: Any = None) -> str:
    values = (a, b) if x1 is None else (x1, x2)
    left, right = (f"torch.reshape({call.array(value, call.result_dtype)}, (-1,))" for value in values)
    return f"torch.outer({left}, {right})"


@_row("tensordot linalg.tensordot")
def _tensordot(call: Call, a: Any = None, b: Any = None, axes: Any = 2, x1: Any = None, x2: Any = None) -> str:
    values = (a, b) if x1 is None else (x1, x2)
    if not isinstance(axes, int):
        axes = tuple(tuple(each) if isinstance(each, (list, tuple)) else (each,) for each in axes)
    left, right = (call.array(value, call.result_dtype) for value in values)
    return f"torch.tensordot({left}, {right}, {axes!r})"


@_row("einsum")
def _einsum(call: Call, operands: Any, optimize: Any = False) -> str:
    text, *values = operands
    arrays = ", ".join(call.array(value, call.result_dtype) for value in values)
    return f"torch.einsum({text.replace(' ', '')!r}, {arrays})"


@_row("linalg.matmul")
def _matmul(call: Call, x1: Any, x2: Any) -> str:
    return f"torch.matmul({call.array(x1, call.result_dtype)}, {call.array(x2, call.result_dtype)})"


@_row("kron")
def _kron(call: Call, a: Any, b: Any) -> str:
    return f"torch.kron({call.array(a, call.result_dtype)}, {call.array(b, call.result_dtype)})"


@_row("cross linalg.cross")
def _cross(
    call: Call, a: Any = None, b: Any = None, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Any = None,
    x1: Any = None, x2: Any = None,
) -> str:  # fmt: skip
    values = (a, b) if x1 is None else (x1, x2)
    if any(call.spec(value).shape[-1] != 3 for value in values) or (axisa, axisb, axisc, axis or -1) != (-1,) * 4:
        raise call.refuse("vectors that are not of three elements in the last axis")
    left, right = (call.array(value, call.result_dtype) for value in values)
    return f"torch.linalg.cross({left}, {right})"


@_row("trace")
def _trace(call: Call, a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> str:
    text = call.array(a, computes_in(call, a, dtype))
    return f"torch.sum(torch.diagonal({text}, {offset!r}, {axis1!r}, {axis2!r}), -1)"


@_row("linalg.trace")
def _linalg_trace(call: Call, x: Any, offset: int = 0, dtype: Any = None) -> str:
    return f"torch.sum(torch.diagonal({call.array(x, call.result_dtype)}, {offset!r}, -2, -1), -1)"


@_row("linalg.norm")
def _norm(call: Call, x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> str:
    text = call.array(x, x.dtype if x.dtype.kind == "c" else call.result_dtype)
    axes = tuple(axis) if isinstance(axis, (tuple, list)) else axis
    return f"torch.linalg.norm({text}, {call.text(ord)}, {axes!r}, {bool(keepdims)!r})"


@_row("linalg.vector_norm linalg.matrix_norm")
def _norm_of(call: Call, x: Any, axis: Any = None, keepdims: bool = False, ord: Any = None) -> str:
    text = call.array(x, x.dtype if x.dtype.kind == "c" else call.result_dtype)
    if call.key == "linalg.matrix_norm":
        order = call.text("fro" if ord is None else ord)
        return f"torch.linalg.matrix_norm({text}, {order}, (-2, -1), {bool(keepdims)!r})"
    return f"torch.linalg.vector_norm({text}, {call.text(2 if ord is None else ord)}, {axis!r}, {bool(keepdims)!r})"


@_row(
    "linalg.cholesky linalg.inv linalg.det linalg.svdvals linalg.eigvalsh linalg.slogdet "
    "linalg.eigh linalg.eig linalg.eigvals linalg.pinv"
)
def _of_matrix(call: Call, a: Any = None, x: Any = None, UPLO: str = "L", upper: bool = False, **_: Any) -> str:
    matrix = x if a is None else a
    dtype = matrix.dtype if matrix.dtype.kind in "fc" else numpy.dtype(float)
    if _:
        raise call.refuse(f"{', '.join(_)}=")
    more = f", {UPLO!r}" if UPLO != "L" else ", upper=True" if upper else ""
    return f"torch.{call.key}({call.array(matrix, dtype)}{more})"


@_row("linalg.solve")
def _solve(call: Call, a: Any, b: Any) -> str:
    left, right = (call.array(value, call.result_dtype) for value in (a, b))
    if len(call.spec(b).shape) == 1:
        return f"torch.linalg.solve({left}, {right}.unsqueeze(-1)).squeeze(-1)"
    return f"torch.linalg.solve({left}, {right})"


@_row("linalg.matrix_power")
def _matrix_power(call: Call, a: Any, n: int) -> str:
    return f"torch.linalg.matrix_power({call.array(a, call.result_dtype)}, {n!r})"


@_row("linalg.multi_dot")
def _multi_dot(call: Call, arrays: Any) -> str:
    return f"torch.linalg.multi_dot([{', '.join(call.array(each, call.result_dtype) for each in arrays)}])"


@_row("linalg.qr")
def _qr(call: Call, a: Any, mode: str = "reduced") -> str:
    only(call, "mode", mode, ("reduced", "complete"))
    return f"torch.linalg.qr({call.array(a, call.result_dtype)}, {mode!r})"


@_row("linalg.svd")
def _svd(call: Call, a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> str:
    only(call, "hermitian", hermitian, (False,))
    if not compute_uv:
        return f"torch.linalg.svdvals({call.array(a, call.result_dtype)})"
    return f"torch.linalg.svd({call.array(a, call.result_dtype)}, full_matrices={full_matrices!r})"


@_row("linalg.tensorinv")
def _tensorinv(call: Call, a: Any, ind: int = 2) -> str:
    return f"torch.linalg.tensorinv({call.array(a, call.result_dtype)}, {ind!r})"


@_row("linalg.tensorsolve")
def _tensorsolve(call: Call, a: Any, b: Any, axes: Any = None) -> str:
    left, right = (call.array(value, call.result_dtype) for value in (a, b))
    return f"torch.linalg.tensorsolve({left}, {right}, {call.text(axes)})"


@_row("nanargmax nanargmin")
def _nan_argmax(call: Call, a: Any, axis: Any = None, keepdims: bool = False) -> str:
    name = call.key.removeprefix("nan")
    fill = "-inf" if name == "argmax" else "inf"
    call.source.literal(float("inf"))
    text = f"torch.nan_to_num({call.array(a)}, {fill}, inf, -inf)" if a.dtype.kind == "f" else call.array(a)
    if axis is None:
        where = f"torch.{name}({text})"
        return torch_reshaped(call, where) if keepdims else where
    return f"torch.{name}({text}, {axis!r}, keepdim={bool(keepdims)!r})"


@_row("cov corrcoef")
def _cov(
    call: Call, m: Any = None, x: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None,
) -> str:  # fmt: skip
    samples = m if x is None else x
    text = call.array(samples, call.result_dtype)
    if not rowvar and len(call.spec(samples).shape) > 1:
        text = f"{text}.transpose(0, 1)"
    if call.key == "corrcoef":
        return f"torch.corrcoef({text})"
    correction = (0 if bias else 1) if ddof is None else ddof
    if correction not in (0, 1):
        raise call.refuse(f"ddof={ddof!r}")
    return f"torch.cov({text}, correction={correction!r})"
