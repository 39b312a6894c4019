"""Operators that rearrange axes, and copy or convert elements."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minpy.core.errors import ShapeError
from minpy.ops.axes import one_axis, several_axes
from minpy.ops.inference.reshaping import resolve_shape
from minpy.ops.registry import operator
from minpy.ops.tensor.broadcasting import broadcast_to

__all__ = [
    "broadcast_to",
    "cast",
    "expand_dims",
    "flatten",
    "identity",
    "ones_like",
    "reshape",
    "reshape_exactly",
    "reshape_like",
    "shape_array",
    "size_array",
    "squeeze",
    "swapaxes",
    "transpose",
    "zeros_like",
]

# -- copies ------------------------------------------------------------------------------------------------------------


@operator(name="_copy", aliases=("identity",), implements=np.copy)
def identity(data: np.ndarray) -> np.ndarray:
    """Return a copy.

    Parameters
    ----------
    data : NDArray

    Returns
    -------
    NDArray

    Examples
    --------
    >>> from minpy import nd
    >>> nd.identity(nd.array([1, 2])).asnumpy()
    array([1., 2.], dtype=float32)
    """
    return data.copy()


identity.def_grad(lambda ans, data: lambda g: g)


@operator(name="cast", aliases=("Cast", "amp_cast"))
def cast(data: np.ndarray, *, dtype: str) -> np.ndarray:
    """Return the data with its elements converted; the gradient is converted back.

    Parameters
    ----------
    data : NDArray
    dtype : str or dtype

    Returns
    -------
    NDArray
        Of the data's shape.

    Examples
    --------
    >>> from minpy import nd
    >>> nd.cast(nd.array([1.7, -1.7]), dtype='int32').asnumpy()
    array([ 1, -1], dtype=int32)
    """
    return data.astype(dtype)


cast.def_grad(lambda ans, data: lambda g: g)


@operator(name="zeros_like")
def zeros_like(data: np.ndarray) -> np.ndarray:
    """Return zeros of the data's shape and dtype.

    Parameters
    ----------
    data : NDArray

    Returns
    -------
    NDArray

    Examples
    --------
    >>> from minpy import nd
    >>> nd.zeros_like(nd.array([1, 2])).asnumpy()
    array([0., 0.], dtype=float32)
    """
    return np.zeros_like(data)


@operator(name="ones_like")
def ones_like(data: np.ndarray) -> np.ndarray:
    """Return ones of the data's shape and dtype.

    Parameters
    ----------
    data : NDArray

    Returns
    -------
    NDArray

    Examples
    --------
    >>> from minpy import nd
    >>> nd.ones_like(nd.array([1, 2])).asnumpy()
    array([1., 1.], dtype=float32)
    """
    return np.ones_like(data)


@operator(name="shape_array")
def shape_array(data: np.ndarray) -> np.ndarray:
    """Return the shape as an array.

    Parameters
    ----------
    data : NDArray

    Returns
    -------
    NDArray
        Of shape (number of axes,) and dtype int64.

    Examples
    --------
    >>> from minpy import nd
    >>> nd.shape_array(nd.zeros((2, 3))).asnumpy()
    array([2, 3])
    """
    return np.array(data.shape, np.int64)


@operator(name="size_array")
def size_array(data: np.ndarray) -> np.ndarray:
    """Return the number of elements as an array.

    Parameters
    ----------
    data : NDArray

    Returns
    -------
    NDArray
        Of shape (1,) and dtype int64.

    Examples
    --------
    >>> from minpy import nd
    >>> nd.size_array(nd.zeros((2, 3))).asnumpy()
    array([6])
    """
    return np.array([data.size], np.int64)


for _operator in (zeros_like, ones_like, shape_array, size_array):
    _operator.def_grad_zero()


# -- reshaping ---------------------------------------------------------------------------------------------------------


@operator(name="_reshape_exactly", public=False)
def reshape_exactly(data: np.ndarray, *, shape: tuple[int, ...]) -> np.ndarray:
    """Return `data` in a shape given without codes; a view."""
    return data.reshape(shape)


reshape_exactly.def_grad(lambda ans, data: lambda g: np.reshape(g, np.shape(data)))
reshape_exactly.may_alias = False  # `x.reshape` shares memory, also while recording


@operator(name="reshape", aliases=("Reshape",))
def reshape(data: np.ndarray, *, shape: tuple[int, ...], reverse: bool = False) -> np.ndarray:
    """Return the data in another shape.

    Parameters
    ----------
    data : NDArray
    shape : tuple of int
        Lengths, and codes: 0 copies an axis, -1 is inferred, -2 copies all remaining axes, -3 merges two into one,
        -4 splits one into the two lengths that follow.
    reverse : bool
        Whether codes are matched with axes from the right.

    Returns
    -------
    NDArray

    Raises
    ------
    ShapeError
        If the number of elements would change, or a code does not fit.

    Examples
    --------
    >>> from minpy import nd
    >>> nd.reshape(nd.zeros((2, 3, 4)), shape=(0, -1)).shape
    (2, 12)
    """
    return data.reshape(resolve_shape(data.shape, (shape,) if isinstance(shape, int) else tuple(shape), reverse))


reshape.def_grad(lambda ans, data: lambda g: np.reshape(g, np.shape(data)))


@operator(name="reshape_like")
def reshape_like(
    lhs: np.ndarray,
    rhs: np.ndarray,
    *,
    lhs_begin: int | None = None,
    lhs_end: int | None = None,
    rhs_begin: int | None = None,
    rhs_end: int | None = None,
) -> np.ndarray:
    """Return an array in the shape of another, or with some of its axes replaced by some of the other's.

    Parameters
    ----------
    lhs : NDArray
    rhs : NDArray
        Only its shape is read.
    lhs_begin, lhs_end : int, optional
        The axes of `lhs` to replace; all if left out.
    rhs_begin, rhs_end : int, optional
        The axes of `rhs` to put there; all if left out.

    Returns
    -------
    NDArray

    Raises
    ------
    ShapeError
        If the number of elements would change.

    Examples
    --------
    >>> from minpy import nd
    >>> nd.reshape_like(nd.zeros((6,)), nd.zeros((2, 3))).shape
    (2, 3)
    >>> nd.reshape_like(nd.zeros((6, 7)), nd.zeros((2, 3, 4)), lhs_begin=0, lhs_end=1, rhs_begin=0, rhs_end=2).shape
    (2, 3, 7)
    """
    replaced = slice(lhs_begin, lhs_end).indices(lhs.ndim)
    shape = lhs.shape[: replaced[0]] + rhs.shape[rhs_begin:rhs_end] + lhs.shape[max(replaced[0], replaced[1]) :]
    if math.prod(shape) != lhs.size:
        raise ShapeError(f"reshape_like: lhs has shape {lhs.shape}, which has not as many elements as {shape}.")
    return lhs.reshape(shape)


@reshape_like.def_grad()
def _reshape_like_gradient(ans: Any, lhs: Any, rhs: Any) -> Any:
    return lambda g: np.reshape(g, np.shape(lhs))


reshape_like.def_grad_zero(1)


@operator(name="flatten", aliases=("Flatten",))
def flatten(data: np.ndarray) -> np.ndarray:
    """Return the data as a matrix: the first axis stays, the others become one.

    Parameters
    ----------
    data : NDArray
        With one axis or more.

    Returns
    -------
    NDArray
        With two axes.

    Raises
    ------
    ShapeError
        If the data has no axis.

    Examples
    --------
    >>> from minpy import nd
    >>> nd.flatten(nd.zeros((2, 3, 4))).shape
    (2, 12)
    """
    if not data.ndim:
        raise ShapeError("flatten: data has shape (); expected at least one axis.")
    return data.reshape(data.shape[0], math.prod(data.shape[1:]))


flatten.def_grad(lambda ans, data: lambda g: np.reshape(g, np.shape(data)))


@operator(name="expand_dims")
def expand_dims(data: np.ndarray, *, axis: int) -> np.ndarray:
    """Return the data with a new axis of length 1.

    Parameters
    ----------
    data : NDArray
    axis : int
        Where the new axis stands in the result.

    Returns
    -------
    NDArray

    Raises
    ------
    ShapeError
        If the result has no such axis.

    Examples
    --------
    >>> from minpy import nd
    >>> nd.expand_dims(nd.zeros((2, 3)), axis=1).shape
    (2, 1, 3)
    """
    axis = one_axis("expand_dims", axis, data.ndim + 1)
    return data.reshape(*data.shape[:axis], 1, *data.shape[axis:])


expand_dims.def_grad(lambda ans, data: lambda g: np.reshape(g, np.shape(data)))


@operator(name="squeeze")
def squeeze(data: np.ndarray, *, axis: int | tuple[int, ...] | None = None) -> np.ndarray:
    """Return the data without axes of length 1.

    Parameters
    ----------
    data : NDArray
    axis : int or tuple of int, optional
        The axes to remove; all of length 1 if left out.

    Returns
    -------
    NDArray
        With one axis at least.

    Raises
    ------
    ShapeError
        If an axis does not have length 1.

    Examples
    --------
    >>> from minpy import nd
    >>> nd.squeeze(nd.zeros((1, 2, 1)), axis=0).shape
    (2, 1)
    """
    ones = tuple(position for position, length in enumerate(data.shape) if length == 1)
    removed = ones if axis is None else several_axes("squeeze", axis, data.ndim)
    for position in removed:
        if position not in ones:
            raise ShapeError(
                f"squeeze: axis {position} of data {data.shape} has length {data.shape[position]}; expected 1."
            )
    return data.reshape(tuple(n for position, n in enumerate(data.shape) if position not in removed) or (1,))


squeeze.def_grad(lambda ans, data: lambda g: np.reshape(g, np.shape(data)))

# -- permuting axes ----------------------------------------------------------------------------------------------------


@operator(name="transpose")
def transpose(data: np.ndarray, *, axes: tuple[int, ...] = ()) -> np.ndarray:
    """Return the data with its axes permuted.

    Parameters
    ----------
    data : NDArray
    axes : tuple of int
        The axes in their new order; reversed if left out.

    Returns
    -------
    NDArray

    Raises
    ------
    ShapeError
        If `axes` is no permutation of the data's.

    Examples
    --------
    >>> from minpy import nd
    >>> nd.transpose(nd.zeros((2, 3, 4)), axes=(1, 0, 2)).shape
    (3, 2, 4)
    """
    if axes and len(several_axes("transpose", axes, data.ndim)) != data.ndim:
        raise ShapeError(
            f"transpose: axes {tuple(axes)} are no permutation of the {data.ndim} axes of data {data.shape}."
        )
    return np.transpose(data, axes or None)


@transpose.def_grad()
def _transpose_gradient(ans: Any, data: Any, *, axes: tuple[int, ...]) -> Any:
    back = tuple(int(axis) for axis in np.argsort([axis % len(axes) for axis in axes])) if axes else None
    return lambda g: np.transpose(g, back)


@operator(name="swapaxes", aliases=("SwapAxis",))
def swapaxes(data: np.ndarray, *, dim1: int = 0, dim2: int = 0) -> np.ndarray:
    """Return the data with two axes exchanged.

    Parameters
    ----------
    data : NDArray
    dim1, dim2 : int

    Returns
    -------
    NDArray

    Raises
    ------
    ShapeError
        If there is no such axis.

    Examples
    --------
    >>> from minpy import nd
    >>> nd.swapaxes(nd.zeros((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """
    return np.swapaxes(data, one_axis("swapaxes", dim1, data.ndim), one_axis("swapaxes", dim2, data.ndim))


swapaxes.def_grad(lambda ans, data, *, dim1, dim2: lambda g: np.swapaxes(g, dim1, dim2))

# Their rules read no values of the data, only its shape.
for _operator in (expand_dims, flatten, reshape, reshape_exactly, reshape_like, squeeze):
    _operator.keep_shape_only(0)

# MXNet's files write these names, not the ones of the functions.
cast.saved_name, cast.saved_aliases = "Cast", frozenset({"amp_cast"})
flatten.saved_name, reshape.saved_name, swapaxes.saved_name = "Flatten", "Reshape", "SwapAxis"
for _operator in (flatten, reshape, expand_dims, squeeze, transpose, swapaxes):
    _operator.category = "shape"
