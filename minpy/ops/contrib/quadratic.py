"""Elementwise operators on trial: a quadratic function, the scaling of attention, and a comparison of arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minpy.core.errors import ShapeError
from minpy.ops.inference.partial_shapes import merge_shapes, same_dtype, same_shape
from minpy.ops.registry import operator

__all__ = ["allclose", "div_sqrt_dim", "quadratic"]


@operator(name="_contrib_quadratic", elementwise=True, shapes=same_shape, dtypes=same_dtype)
def quadratic(data: np.ndarray, *, a: float = 0.0, b: float = 0.0, c: float = 0.0) -> np.ndarray:
    """Return a · data² + b · data + c.

    {data_parameter}
        Of any shape and dtype. The result of an integer array is truncated to its dtype.
    a, b, c : float
        The coefficients.

    {returns_array}
        Of the shape and dtype of `data`.

    {examples}
    >>> nd.contrib.quadratic(nd.array([1, 2, 3]), a=1, b=2, c=3).asnumpy()
    array([ 6., 11., 18.], dtype=float32)
    """
    return ((a * data + b) * data + c).astype(data.dtype, copy=False)


quadratic.def_grad(lambda ans, data, *, a, b: lambda g: g * (2 * a * data + b))


@operator(name="_contrib_div_sqrt_dim", shape_only=(0,), shapes=same_shape, dtypes=same_dtype)
def div_sqrt_dim(data: np.ndarray) -> np.ndarray:
    """Return the data divided by the square root of the length of its last axis.

    {data_parameter}
        With one axis or more. Of an integer array, the root and the result are truncated to its dtype.

    {returns_array}
        Of the shape and dtype of `data`.

    {raises_shape_error}
        If `data` has no axis.

    Notes
    -----
    The scaling of attention in Vaswani et al., "Attention is all you need" (2017), section 3.2.1.

    {examples}
    >>> nd.contrib.div_sqrt_dim(nd.array([[2, 4, 6, 8]])).asnumpy()
    array([[1., 2., 3., 4.]], dtype=float32)
    """
    if not data.ndim:
        raise ShapeError(
            "contrib.div_sqrt_dim: data has shape (); expected at least one axis, the one that is counted."
        )
    return (data / data.dtype.type(_root(data))).astype(data.dtype, copy=False)


def _root(data: Any) -> float:
    return math.sqrt(max(np.shape(data)[-1], 1))


div_sqrt_dim.def_grad(lambda ans, data: lambda g: g / g.dtype.type(_root(data)))


@operator(name="_contrib_allclose", zero="all", dtypes=lambda inputs, outputs, **_: (inputs, [np.dtype(np.uint8)]))
def allclose(
    a: np.ndarray, b: np.ndarray, *, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = True
) -> np.ndarray:
    """Return 1 if all elements of two arrays are close, |a - b| <= atol + rtol · |b|, and 0 otherwise.

    Parameters
    ----------
    a, b : NDArray
        Of the same shape.
    rtol, atol : float
        The tolerances, relative and absolute.
    equal_nan : bool
        Whether NaN is equal to NaN.

    {returns_array}
        Of shape () and dtype uint8. It has no gradient.

    {raises_shape_error}
        If the shapes differ.

    {examples}
    >>> nd.contrib.allclose(nd.array([1, 2]), nd.array([1, 2.1]), atol=0.2).asnumpy()
    array(1, dtype=uint8)
    """
    if a.shape != b.shape:
        raise ShapeError(f"contrib.allclose: a has shape {a.shape}, b has {b.shape}; they must be equal.")
    close = np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)
    return np.reshape(np.all(close), ()).astype(np.uint8)


@allclose.def_infer_shape
def _allclose_shapes(inputs: Any, outputs: Any, **_: Any) -> Any:
    shape = merge_shapes(*inputs)
    return [shape, shape], [()]
