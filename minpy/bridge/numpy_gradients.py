"""NumPy functions for which autograd has no rule, or not for all arguments: written with functions for which it has.

`call_function` takes them in preference to autograd's own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import autograd.numpy as anp
import numpy
from autograd.extend import defvjp, primitive
from autograd.tracer import isbox

from minpy.bridge.composition_values import COMPOSITIONS, composes, moved, positions, rows_of, value_of
from minpy.bridge.einsum import composed_einsum

__all__ = ["COMPOSITIONS"]

composes("einsum")(composed_einsum)
composes("outer")(lambda a, b: anp.ravel(a)[:, None] * anp.ravel(b)[None, :])
composes("vdot")(lambda a, b: anp.dot(anp.conj(anp.ravel(a)), anp.ravel(b)))
composes("diagflat")(lambda v, k=0: _diag(anp.ravel(v), k))
composes("linalg.eigvalsh")(lambda a, UPLO="L": anp.linalg.eigh(a, UPLO)[0])
composes("linalg.multi_dot")(lambda arrays: functools.reduce(anp.dot, arrays))


@composes("sort")
def _sort(a: Any, axis: int | None = -1, kind: Any = None, *, stable: bool | None = None) -> Any:
    order = numpy.argsort(value_of(a), axis=axis, kind="stable" if stable else kind)
    return COMPOSITIONS[numpy.take_along_axis](a, order, axis)


@composes("median")
def _median(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    if isinstance(axis, tuple):
        rows, reduced_shape = _rows(a, axis)
        result = _median(rows, -1)
        return anp.reshape(result, reduced_shape) if keepdims else result
    length = anp.size(a) if axis is None else anp.shape(a)[axis]
    middle = COMPOSITIONS[numpy.take](_sort(a, axis), [(length - 1) // 2, length // 2], axis)
    result = anp.mean(middle, axis=axis)
    unknown = numpy.isnan(value_of(a)).any(axis=axis)
    if unknown.any():
        result = anp.where(unknown, numpy.asarray(numpy.nan, anp.result_type(result)), result)
    if not keepdims:
        return result
    return anp.reshape(result, (1,) * anp.ndim(a)) if axis is None else anp.expand_dims(result, axis)


def _rows(a: Any, axes: tuple[int, ...]) -> tuple[Any, tuple[int, ...]]:
    """Return an array with several axes drawn together into its last one, and its shape with length 1 for each."""
    axes = tuple(axis % anp.ndim(a) for axis in axes)
    reduced_shape = tuple(1 if axis in axes else length for axis, length in enumerate(anp.shape(a)))
    return rows_of(a, axes)[0], reduced_shape


@composes("ptp")
def _ptp(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return anp.max(a, axis=axis, keepdims=keepdims) - anp.min(a, axis=axis, keepdims=keepdims)


@composes("linalg.matrix_power")
def _matrix_power(a: Any, n: int) -> Any:
    if n < 0:
        return _matrix_power(anp.linalg.inv(a), -n)
    result = numpy.broadcast_to(numpy.eye(anp.shape(a)[-1], dtype=anp.result_type(a)), anp.shape(a))
    for _ in range(n):
        result = anp.matmul(result, a)
    return result


@primitive
def _reduced_qr(a: Any) -> tuple[Any, Any]:
    return tuple(numpy.linalg.qr(a))  # type: ignore[return-value]


def _qr_gradient(ans: Any, a: Any) -> Callable[[Any], Any]:
    q, r = ans[0], ans[1]

    def gradient(g: Any) -> Any:
        # Walter and Lehmann, "Algorithmic differentiation of linear algebra functions with application in optimum
        # experimental design", 2010.
        m = anp.matmul(r, anp.swapaxes(g[1], -1, -2)) - anp.matmul(anp.swapaxes(g[0], -1, -2), q)
        symmetric = anp.tril(m) + anp.swapaxes(anp.tril(m, -1), -1, -2)
        return anp.swapaxes(anp.linalg.solve(r, anp.swapaxes(g[0] + anp.matmul(q, symmetric), -1, -2)), -1, -2)

    return gradient


defvjp(_reduced_qr, _qr_gradient)


@composes("linalg.qr")
def _qr(a: Any, mode: str = "reduced") -> Any:
    shape = anp.shape(a)
    if mode not in ("reduced", "r") or shape[-2] < shape[-1]:
        raise NotImplementedError("only mode='reduced' and 'r' of matrices with no more columns than rows")
    q, r = (lambda pair: (pair[0], pair[1]))(_reduced_qr(a))
    return r if mode == "r" else (q, r)


@composes("insert")
def _insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    places = numpy.insert(positions(arr), obj, positions(values) + anp.size(arr), axis)
    inserted = anp.ravel(values).astype(anp.result_type(arr))
    return anp.concatenate([anp.ravel(arr), inserted])[places]


@composes("diag")
def _diag(v: Any, k: int = 0) -> Any:
    if anp.ndim(v) == 2:
        return moved(v, numpy.diag(positions(v), k))
    where = numpy.diag(numpy.arange(1, anp.size(v) + 1), k)
    return anp.concatenate([numpy.zeros(1, anp.result_type(v)), v])[where]


@composes("dstack")
def _dstack(tup: Any) -> Any:
    return anp.concatenate([_atleast_3d(array) for array in tup], axis=2)


def _atleast_3d(array: Any) -> Any:
    shape = anp.shape(array)
    if len(shape) > 2:
        return array
    return anp.reshape(array, (1, *shape, 1) if len(shape) == 1 else (*shape, 1) if shape else (1, 1, 1))


# -- sums of products --------------------------------------------------------------------------------------------------


@composes("average")
def _average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False) -> Any:
    if weights is None:
        mean = anp.mean(a, axis=axis, keepdims=keepdims)
        count = anp.size(a) // max(anp.size(mean), 1)
        return (mean, numpy.full(anp.shape(mean), count, anp.result_type(mean))) if returned else mean
    if anp.shape(weights) != anp.shape(a):
        if not isinstance(axis, int) or anp.ndim(weights) != 1:
            raise NotImplementedError("only weights of the array's shape, or a vector along one axis")
        weights = anp.reshape(weights, [-1 if position == axis % anp.ndim(a) else 1 for position in range(anp.ndim(a))])
        weights = weights * numpy.ones(anp.shape(a), anp.result_type(weights))
    total = anp.sum(weights, axis=axis, keepdims=keepdims)
    if (value_of(total) == 0).any():
        raise ZeroDivisionError("np.average: the weights sum to 0, and cannot be normalized.")
    mean = anp.sum(a * weights, axis=axis, keepdims=keepdims) / total
    return (mean, total) if returned else mean


@composes("ediff1d")
def _ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    flat = anp.ravel(ary)
    parts = [flat[1:] - flat[:-1]]
    kind = anp.result_type(ary)
    if to_begin is not None:
        parts.insert(0, anp.ravel(to_begin if isbox(to_begin) else numpy.asarray(to_begin, kind)))
    if to_end is not None:
        parts.append(anp.ravel(to_end if isbox(to_end) else numpy.asarray(to_end, kind)))
    return anp.concatenate(parts)


@composes("polyval")
def _polyval(p: Any, x: Any) -> Any:
    value = numpy.zeros(anp.shape(x), anp.result_type(p, x))
    for position in range(anp.shape(p)[0]):
        value = value * x + p[position]
    return value


@composes("trapezoid", "trapz")
def _trapezoid(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> Any:
    last = anp.moveaxis(y, axis, -1)
    if x is not None:
        x = x if isbox(x) else numpy.asarray(x)
        dx = (
            x[1:] - x[:-1]
            if anp.ndim(x) == 1
            else anp.moveaxis(x, axis, -1)[..., 1:] - anp.moveaxis(x, axis, -1)[..., :-1]
        )
    return anp.sum(dx * (last[..., 1:] + last[..., :-1]) / 2.0, axis=-1)


@composes("cumprod")
def _cumprod(a: Any, axis: int | None = None, dtype: Any = None) -> Any:
    if dtype is not None:
        a = a.astype(dtype)
    if axis is None:
        a, axis = anp.ravel(a), 0
    parts: list[Any] = []
    rows = anp.moveaxis(a, axis, 0)
    for position in range(anp.shape(rows)[0]):
        parts.append(rows[position] if not parts else parts[-1] * rows[position])
    return anp.moveaxis(anp.stack(parts), 0, axis) if parts else a


@composes("interp")
def _interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    if period is not None:
        raise NotImplementedError("only without period")
    points, places = numpy.asarray(value_of(x)), numpy.asarray(value_of(xp))
    upper = numpy.clip(numpy.searchsorted(places, points, side="right"), min(1, len(places) - 1), len(places) - 1)
    lower = numpy.maximum(upper - 1, 0)
    xp = xp.astype("float64") if isbox(xp) else numpy.asarray(xp, "float64")
    fp = fp.astype("float64") if isbox(fp) else numpy.asarray(fp, "float64")
    width = xp[upper] - xp[lower]
    # A point that is known is taken as it is, also beside an infinite one.
    share = (x - xp[lower]) / (width + (value_of(width) == 0))
    rise = fp[upper] - fp[lower]
    value = fp[lower] + share * anp.where((value_of(share) == 0) & ~numpy.isfinite(value_of(rise)), 0.0, rise)
    value = anp.where((points == places[-1]) & ~numpy.isfinite(value_of(rise)), fp[upper], value)
    zeros = numpy.zeros(points.shape)
    first = fp[zeros.astype(int)] if left is None else left + zeros
    last = fp[zeros.astype(int) - 1] if right is None else right + zeros
    return anp.where(points > places[-1], last, anp.where(points < places[0], first, value))


# -- NaN is not counted ------------------------------------------------------------------------------------------------


def _without_nan(a: Any, value: float) -> Any:
    return anp.where(numpy.isnan(value_of(a)), numpy.asarray(value, anp.result_type(a)), a)


@composes("nansum")
def _nansum(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    return anp.sum(_without_nan(a, 0.0), axis=axis, dtype=dtype, keepdims=keepdims)


@composes("nanprod")
def _nanprod(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    a = a if dtype is None else a.astype(dtype)
    return anp.prod(_without_nan(a, 1.0), axis=axis, keepdims=keepdims)


@composes("nancumsum")
def _nancumsum(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    a = a if dtype is None else a.astype(dtype)
    return anp.cumsum(_without_nan(a, 0.0), axis=axis)


@composes("nanmean")
def _nanmean(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    count = numpy.sum(~numpy.isnan(value_of(a)), axis=axis, keepdims=keepdims)
    return _nansum(a, axis, dtype, keepdims) / numpy.asarray(count, anp.result_type(a))


@composes("nanvar")
def _nanvar(a: Any, axis: Any = None, dtype: Any = None, ddof: int = 0, keepdims: bool = False) -> Any:
    counted = ~numpy.isnan(value_of(a))
    centred = _without_nan(a - _nanmean(a, axis, dtype, True), 0.0)
    squares = anp.sum(_squares(centred), axis=axis, keepdims=keepdims)
    count = numpy.asarray(numpy.sum(counted, axis=axis, keepdims=keepdims) - ddof, anp.result_type(squares))
    return squares / numpy.where(count > 0, count, numpy.asarray(numpy.nan, count.dtype))


@composes("nanstd")
def _nanstd(a: Any, axis: Any = None, dtype: Any = None, ddof: int = 0, keepdims: bool = False) -> Any:
    return _root(_nanvar(a, axis, dtype, ddof, keepdims))


@composes("nanmax")
def _nanmax(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return _nan_of_nothing(anp.max(_without_nan(a, -numpy.inf), axis=axis, keepdims=keepdims), a, axis, keepdims)


@composes("nanmin")
def _nanmin(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return _nan_of_nothing(anp.min(_without_nan(a, numpy.inf), axis=axis, keepdims=keepdims), a, axis, keepdims)


def _nan_of_nothing(result: Any, a: Any, axis: Any, keepdims: bool) -> Any:
    """Return a result with NaN where there is nothing else."""
    unknown = numpy.isnan(value_of(a)).all(axis=axis, keepdims=keepdims)
    return anp.where(unknown, numpy.asarray(numpy.nan, anp.result_type(a)), result) if unknown.any() else result


# -- spread ------------------------------------------------------------------------------------------------------------


@composes("var")
def _var(a: Any, axis: Any = None, dtype: Any = None, ddof: float = 0, *, keepdims: bool = False) -> Any:
    # Of deviations from the mean: autograd's rule divides the gradient's large parts by each other.
    if dtype is not None:
        a = a.astype(dtype)
    centred = a - anp.mean(a, axis=axis, keepdims=True)
    squares = anp.sum(_squares(centred), axis=axis, keepdims=keepdims)
    count = max(anp.size(a) // max(anp.size(squares), 1) - ddof, 0)
    return squares / numpy.asarray(count, anp.result_type(squares))


def _squares(a: Any) -> Any:
    """Return the squares of absolute values."""
    return anp.real(a * anp.conj(a)) if anp.result_type(a).kind == "c" else a * a


@composes("std")
def _std(a: Any, axis: Any = None, dtype: Any = None, ddof: float = 0, *, keepdims: bool = False) -> Any:
    return _root(_var(a, axis, dtype, ddof, keepdims=keepdims))


def _root(squares: Any) -> Any:
    """Return the root of a sum of squares; its gradient at 0, where it has a kink, is 0, its smallest subgradient."""
    return _without_kink(anp.sqrt, squares)


def _without_kink(power: Callable[[Any], Any], total: Any) -> Any:
    """Return a power below 1 of what is not negative: where that is 0, it is 0, and so is its gradient."""
    is_zero, dtype = numpy.equal(value_of(total), 0), anp.result_type(total)  # no `1 - x`: NumPy 1 promotes scalars
    return power(total + is_zero.astype(dtype)) * numpy.logical_not(is_zero).astype(dtype)


# -- elementwise and matrices ------------------------------------------------------------------------------------------


@composes("copysign")
def _copysign(x1: Any, x2: Any) -> Any:
    turned = numpy.copysign(1.0, value_of(x2)) * numpy.copysign(1.0, value_of(x1))
    return x1 * turned.astype(anp.result_type(x1))


@composes("linalg.tensorinv")
def _tensorinv(a: Any, ind: int = 2) -> Any:
    shape = anp.shape(a)
    rows = int(numpy.prod(shape[:ind]))
    return anp.reshape(anp.linalg.inv(anp.reshape(a, (rows, -1))), (*shape[ind:], *shape[:ind]))


@composes("linalg.tensorsolve")
def _tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    order = list(range(anp.ndim(a)))
    for axis in axes or ():
        order.remove(axis)
        order.append(axis)
    a = anp.transpose(a, order)
    shape = anp.shape(a)[anp.ndim(b) :]
    return anp.reshape(anp.linalg.solve(anp.reshape(a, (anp.size(b), -1)), anp.ravel(b)), shape)


@composes("linalg.pinv")
def _pinv(a: Any, rcond: Any = None, hermitian: bool = False) -> Any:
    if rcond not in (None, 1e-15):
        raise NotImplementedError("only without rcond")
    return anp.linalg.pinv(a)


@composes("linalg.norm")
def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    axes: Any = axis if axis is None or isinstance(axis, (int, numpy.integer)) else tuple(axis)
    if isinstance(axes, tuple) and len(axes) == 1:
        axes = axes[0]
    of_matrices = isinstance(axes, tuple) or (axes is None and ord is not None and anp.ndim(x) == 2)
    if ord is None or (not of_matrices and ord == 2) or (of_matrices and ord == "fro"):
        return _root(anp.sum(anp.abs(x) ** 2, axis=axes, keepdims=keepdims))
    if not of_matrices:
        return _norm_of_vectors(x, ord, axes, keepdims)
    rows, columns = (axis % anp.ndim(x) for axis in ((-2, -1) if axes is None else axes))
    matrices = anp.moveaxis(x, (rows, columns), (-2, -1))
    if ord in (1, -1, numpy.inf, -numpy.inf):
        sums = anp.sum(anp.abs(matrices), axis=-2 if abs(ord) == 1 else -1)
        value = anp.max(sums, axis=-1) if ord > 0 else anp.min(sums, axis=-1)
    elif ord in (2, -2, "nuc"):
        values = anp.linalg.svd(matrices, full_matrices=False)[1]
        value = anp.sum(values, axis=-1) if ord == "nuc" else anp.max(values, -1) if ord == 2 else anp.min(values, -1)
    else:
        raise NotImplementedError(f"no matrix norm of order {ord!r}")
    if not keepdims:
        return value
    return anp.reshape(
        value, [1 if position in (rows, columns) else length for position, length in enumerate(anp.shape(x))]
    )


def _norm_of_vectors(x: Any, ord: Any, axis: Any, keepdims: bool) -> Any:
    sizes = anp.abs(x)
    if ord == numpy.inf:
        return anp.max(sizes, axis=axis, keepdims=keepdims)
    if ord == -numpy.inf:
        return anp.min(sizes, axis=axis, keepdims=keepdims)
    if ord == 1:
        return anp.sum(sizes, axis=axis, keepdims=keepdims)
    if ord == 0:
        raise NotImplementedError("the number of elements that are not 0 has no gradient")
    total = anp.sum(sizes**ord, axis=axis, keepdims=keepdims)
    exponent = numpy.asarray(1.0 / ord, numpy.result_type(anp.result_type(total), "float16"))  # no whole number
    if ord < 1:
        return total**exponent
    return _without_kink(lambda positive: positive**exponent, total)
