"""NumPy functions for which autograd has no rule, or not for all arguments: written with functions for which it has.

`call_function` takes them in preference to autograd's own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import autograd.numpy as anp
import numpy
from autograd.extend import defvjp, primitive
from autograd.tracer import getval

__all__ = ["COMPOSITIONS"]

COMPOSITIONS: dict[Any, Callable[..., Any]] = {}


def _composes(function: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(composition: Callable[..., Any]) -> Callable[..., Any]:
        COMPOSITIONS[function] = composition
        return composition

    return register


@_composes(numpy.copy)
def _copy(a: Any) -> Any:
    return anp.array(a)


@_composes(numpy.broadcast_to)
def _broadcast_to(array: Any, shape: Any) -> Any:
    return array + numpy.zeros(shape, anp.result_type(array))


@_composes(numpy.outer)
def _outer(a: Any, b: Any) -> Any:
    return anp.ravel(a)[:, None] * anp.ravel(b)[None, :]


@_composes(numpy.flip)
def _flip(m: Any, axis: Any = None) -> Any:
    chosen = range(anp.ndim(m)) if axis is None else (axis,) if isinstance(axis, (int, numpy.integer)) else axis
    axes = {int(each) % anp.ndim(m) for each in chosen}
    return m[tuple(slice(None, None, -1 if each in axes else None) for each in range(anp.ndim(m)))]


@_composes(numpy.take)
def _take(a: Any, indices: Any, axis: int | None = None) -> Any:
    if axis is None:
        return anp.ravel(a)[numpy.asarray(indices)]
    return a[(slice(None),) * (axis % anp.ndim(a)) + (numpy.asarray(indices),)]


@_composes(numpy.take_along_axis)
def _take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Any:
    if axis is None:
        return anp.ravel(arr)[indices]
    axis = axis % anp.ndim(arr)
    grid = list(numpy.ogrid[tuple(slice(length) for length in indices.shape)])
    grid[axis] = indices
    return arr[tuple(grid)]


@_composes(numpy.sort)
def _sort(a: Any, axis: int | None = -1, kind: Any = None, *, stable: bool | None = None) -> Any:
    order = numpy.argsort(getval(a), axis=axis, kind="stable" if stable else kind)
    return _take_along_axis(a, order, axis)


@_composes(numpy.median)
def _median(a: Any, axis: int | None = None, *, keepdims: bool = False) -> Any:
    length = anp.size(a) if axis is None else anp.shape(a)[axis]
    middle = _take(_sort(a, axis), [(length - 1) // 2, length // 2], axis)
    result = anp.mean(middle, axis=axis)
    if not keepdims:
        return result
    return anp.reshape(result, (1,) * anp.ndim(a)) if axis is None else anp.expand_dims(result, axis)


@_composes(numpy.ptp)
def _ptp(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return anp.max(a, axis=axis, keepdims=keepdims) - anp.min(a, axis=axis, keepdims=keepdims)


@_composes(numpy.diagonal)
def _diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    last = anp.moveaxis(a, (axis1, axis2), (-2, -1))
    rows = max(0, min(anp.shape(last)[-2] + min(offset, 0), anp.shape(last)[-1] - max(offset, 0)))
    index = numpy.arange(rows)
    return last[..., index + max(-offset, 0), index + max(offset, 0)]


@_composes(numpy.vdot)
def _vdot(a: Any, b: Any) -> Any:
    return anp.dot(anp.conj(anp.ravel(a)), anp.ravel(b))


@_composes(numpy.linalg.matrix_power)
def _matrix_power(a: Any, n: int) -> Any:
    if n < 0:
        return _matrix_power(anp.linalg.inv(a), -n)
    result = numpy.broadcast_to(numpy.eye(anp.shape(a)[-1], dtype=anp.result_type(a)), anp.shape(a))
    for _ in range(n):
        result = anp.matmul(result, a)
    return result


@_composes(numpy.linalg.multi_dot)
def _multi_dot(arrays: Any) -> Any:
    result = arrays[0]
    for array in arrays[1:]:
        result = anp.dot(result, array)
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


@_composes(numpy.linalg.qr)
def _qr(a: Any, mode: str = "reduced") -> Any:
    shape = anp.shape(a)
    if mode not in ("reduced", "r") or shape[-2] < shape[-1]:
        raise NotImplementedError("only mode='reduced' and 'r' of matrices with no more columns than rows")
    q, r = (lambda pair: (pair[0], pair[1]))(_reduced_qr(a))
    return r if mode == "r" else (q, r)
