"""Copies of an array, in another dtype or with other values, and what its shape is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minpy.core.errors import ArgumentError
from minpy.core.operator import Operator
from minpy.ops.inference.partial_shapes import same_shape
from minpy.ops.inference.rule_parts import dtype_attribute, forwards
from minpy.ops.registry import operator

__all__ = ["cast", "cast_storage", "identity", "ones_like", "shape_array", "size_array", "zeros_like"]


@operator(name="_copy", aliases=("identity", "_copyto"), elementwise=True, shapes=same_shape)
def identity(data: np.ndarray) -> np.ndarray:
    """Return a copy.

    {data_parameter}

    {returns_array}

    {examples}
    >>> nd.identity(nd.array([1, 2])).asnumpy()
    array([1., 2.], dtype=float32)
    """
    return data.copy()


identity.def_grad(lambda ans, data: lambda g: g)


@operator(name="cast_storage", elementwise=True, shapes=same_shape, grad=lambda ans, data: lambda g: g)
def cast_storage(data: np.ndarray, *, stype: str) -> np.ndarray:
    """Return a copy in a storage type, of which there is one: 'default', dense.

    {data_parameter}
    stype : str
        'default'.

    {returns_array}

    {raises_argument_error}
        For 'csr' and 'row_sparse', and what is no storage type.

    {examples}
    >>> nd.cast_storage(nd.array([1, 0]), 'default').asnumpy()
    array([1., 0.], dtype=float32)
    """
    if stype != "default":
        reason = "there are no sparse arrays" if stype in ("csr", "row_sparse") else "expected 'default'"
        raise ArgumentError(f"cast_storage: stype is {stype!r}; {reason}. Leave the array dense: stype='default'.")
    return data.copy()


@operator(name="cast", aliases=("Cast",), elementwise=True, shapes=same_shape, dtypes=dtype_attribute())
def cast(data: np.ndarray, *, dtype: str) -> np.ndarray:
    """Return the data with its elements converted; the gradient is converted back.

    {data_parameter}
    dtype : str or dtype

    {returns_like_data}

    {examples}
    >>> nd.cast(nd.array([1.7, -1.7]), dtype='int32').asnumpy()
    array([ 1, -1], dtype=int32)
    """
    return data.astype(dtype)


cast.def_grad(lambda ans, data: lambda g: g)


_LIKE = """Return {name} of the data's shape and dtype.

{{data_parameter}}
dtype : str or dtype, optional
    Not used: as in MXNet, the result has the data's dtype also where programs give another. `cast` converts it.

{{returns_array}}

{{examples}}
>>> nd.{name}_like(nd.array([1, 2])).asnumpy()
array({result}, dtype=float32)
"""


def _like(name: str, make: Callable[[Any], np.ndarray], result: str) -> Operator:
    def forward(data: np.ndarray, *, dtype: str | None = None) -> np.ndarray:
        return make(data)

    forward.__doc__ = _LIKE.format(name=name, result=result)
    op: Operator = operator(forward, name=f"{name}_like", bare=True, zero="all", elementwise=True, shapes=same_shape)
    return op


zeros_like = _like("zeros", np.zeros_like, "[0., 0.]")
ones_like = _like("ones", np.ones_like, "[1., 1.]")


@operator(name="shape_array", zero="all", shapes=forwards(lambda data, **_: (len(data),)))
def shape_array(data: np.ndarray) -> np.ndarray:
    """Return the shape as an array.

    {data_parameter}

    {returns_array}
        Of shape (number of axes,) and dtype int64.

    {examples}
    >>> nd.shape_array(nd.zeros((2, 3))).asnumpy()
    array([2, 3])
    """
    return np.array(data.shape, np.int64)


@operator(name="size_array", zero="all", shapes=lambda inputs, outputs: (inputs, [(1,)]))
def size_array(data: np.ndarray) -> np.ndarray:
    """Return the number of elements as an array.

    {data_parameter}

    {returns_array}
        Of shape (1,) and dtype int64.

    {examples}
    >>> nd.size_array(nd.zeros((2, 3))).asnumpy()
    array([6])
    """
    return np.array([data.size], np.int64)


# -- inference, and files ----------------------------------------------------------------------------------------------
for _operator in (shape_array, size_array):
    _operator.def_infer_type(dtype_attribute(np.int64))

cast.saved_name = "Cast"
identity.saved_aliases = frozenset({"_copyto"})
