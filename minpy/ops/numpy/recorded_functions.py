"""What NumPy's functions mean on recorded arrays, where `mx.nd` has no operator with the same semantics.

Functions that are absent here take their gradient from autograd's tables. Where several elements are the largest,
`numpy.max` shares the gradient among them, as autograd does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minpy.core.sums import mean_over, sum_over
from minpy.ops.registry import operator
from minpy.ops.tensor.reduction import expand, product_of_others, raw_product_of_others, resolve_axes

__all__ = ["numpy_clip", "numpy_max", "numpy_mean", "numpy_min", "numpy_prod", "numpy_sum", "numpy_where"]

_add: Any = np.add.reduce
_multiply: Any = np.multiply.reduce
_maximum: Any = np.maximum.reduce
_minimum: Any = np.minimum.reduce


def _axes(axis: Any, a: Any) -> tuple[int, ...]:
    if axis == () or (axis in (0, -1) and not np.ndim(a)):  # NumPy's ufuncs reduce a number along its axis 0, too
        return ()
    return resolve_axes("reduction", axis, np.shape(a))


def _with_axes(value: Any, a: Any, axis: Any, keepdims: bool) -> Any:
    """Return a reduction's result or gradient with its reduced axes back, of length 1."""
    if axis is None or keepdims:
        return value
    axes = _axes(axis, a)
    return np.reshape(value, tuple(1 if position in axes else length for position, length in enumerate(np.shape(a))))


# -- reductions --------------------------------------------------------------------------------------------------------


@operator(name="_numpy_sum", implements=np.sum, public=False, shape_only=(0,))
def numpy_sum(a: Any, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """Return `numpy.sum`."""
    if type(a) is np.ndarray and a.dtype.kind in "fc" and dtype in (None, a.dtype):
        return sum_over(a, axis, keepdims)
    return _add(a, axis=axis, dtype=dtype, keepdims=keepdims)


numpy_sum.def_grad(lambda ans, a, *, axis, keepdims: lambda g: expand(_with_axes(g, a, axis, keepdims), np.shape(a)))


@operator(name="_numpy_mean", implements=np.mean, public=False, shape_only=(0,))
def numpy_mean(a: Any, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """Return `numpy.mean`."""
    if type(a) is np.ndarray and a.dtype.kind in "fc" and dtype in (None, a.dtype):
        return mean_over(a, axis, keepdims)
    mean: Any = np.mean  # its types know keepdims=True and False, but no bool
    return mean(a, axis=axis, dtype=dtype, keepdims=keepdims)


@numpy_mean.def_grad()
def _mean_gradient(ans: Any, a: Any, *, axis: Any, keepdims: bool) -> Callable[[Any], Any]:
    def gradient(g: Any) -> Any:
        count = np.size(a) // max(np.size(g), 1)
        return expand(_with_axes(g / count, a, axis, keepdims), np.shape(a))

    return gradient


@operator(name="_numpy_prod", implements=np.prod, public=False)
def numpy_prod(a: Any, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """Return `numpy.prod`."""
    return _multiply(a, axis=axis, dtype=dtype, keepdims=keepdims)


@numpy_prod.def_grad()
def _prod_gradient(ans: Any, a: Any, *, axis: Any, keepdims: bool) -> Callable[[Any], Any]:
    return lambda g: product_of_others(a, _axes(axis, a)) * _with_axes(g, a, axis, keepdims)


@numpy_prod.def_grad_kernel()
def _raw_prod_gradient(ans: Any, a: Any, *, axis: Any, keepdims: bool) -> Callable[[Any], Any]:
    return lambda g: raw_product_of_others(a, _axes(axis, a)) * _with_axes(g, a, axis, keepdims)


@operator(name="_numpy_max", implements=(np.max, np.amax), public=False)
def numpy_max(a: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
    """Return `numpy.max`."""
    return _maximum(a, axis=axis, keepdims=keepdims)


@operator(name="_numpy_min", implements=(np.min, np.amin), public=False)
def numpy_min(a: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
    """Return `numpy.min`."""
    return _minimum(a, axis=axis, keepdims=keepdims)


def _extreme_gradient(ans: Any, a: Any, *, axis: Any, keepdims: bool) -> Callable[[Any], Any]:
    def gradient(g: Any) -> Any:
        chosen = a == _with_axes(ans, a, axis, keepdims)
        return chosen * (_with_axes(g, a, axis, keepdims) / np.sum(chosen, axis=axis, keepdims=True))

    return gradient


numpy_max.def_grad(_extreme_gradient)
numpy_min.def_grad(_extreme_gradient)

# -- choice ------------------------------------------------------------------------------------------------------------


@operator(name="_numpy_where", implements=np.where, public=False, zero=(0,))
def numpy_where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """Return `numpy.where`: with one argument the indices of what is not 0."""
    return np.where(condition) if x is None and y is None else np.where(condition, x, y)


numpy_where.def_grad(lambda ans, condition, x, y: lambda g: np.where(condition, g, 0), 1)
numpy_where.def_grad(lambda ans, condition, x, y: lambda g: np.where(condition, 0, g), 2)


@operator(name="_numpy_clip", implements=np.clip, public=False)
def numpy_clip(a: Any, a_min: Any = None, a_max: Any = None) -> Any:
    """Return `numpy.clip`."""
    return np.clip(a, a_min, a_max)


numpy_clip.def_grad(lambda ans, a, a_min, a_max: lambda g: g * (ans == a), 0)
numpy_clip.def_grad(lambda ans, a, a_min, a_max: lambda g: g * ((ans == a_min) & (ans != a)), 1)
numpy_clip.def_grad(lambda ans, a, a_min, a_max: lambda g: g * ((ans == a_max) & (ans != a)), 2)


# -- piecewise constant ------------------------------------------------------------------------------------------------


_CONSTANT = """
    equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor logical_not isfinite
    isinf isnan signbit rint floor_divide
"""  # ufuncs whose result is not differentiable, or has a gradient of zero
for _name in _CONSTANT.split():
    _ufunc: np.ufunc = getattr(np, _name)
    _inputs = ("x",) if _ufunc.nin == 1 else ("x1", "x2")
    operator(_ufunc, public=False, inputs=_inputs, doc=f"Return `numpy.{_name}`.", zero="all")


@operator(name="_numpy_round", implements=(np.round, np.around), public=False, zero="all")
def numpy_round(a: Any, *, decimals: int = 0) -> Any:
    """Return `numpy.round`; its gradient is zero."""
    return np.round(a, decimals)


positive = operator(np.positive, public=False, inputs=("x",), doc="Return `numpy.positive`: a copy.")
positive.def_grad(lambda ans, x: lambda g: g)
