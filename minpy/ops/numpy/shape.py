"""NumPy's functions that rearrange axes, for arrays of the tape. Gradient rules are written with them."""

from __future__ import annotations

from typing import Any

import numpy as np

from minpy.ops.registry import operator

__all__ = ["numpy_reshape", "numpy_swapaxes", "numpy_transpose"]


@operator(name="_numpy_reshape", implements=np.reshape, public=False, shape_only=(0,))
def numpy_reshape(a: Any, *, shape: Any, order: Any = "C") -> Any:
    """Return `numpy.reshape`."""
    return np.reshape(a, shape, order=order)


@operator(name="_numpy_ravel", implements=np.ravel, public=False, shape_only=(0,))
def numpy_ravel(a: Any, *, order: Any = "C") -> Any:
    """Return `numpy.ravel`."""
    return np.ravel(a, order=order)


@operator(name="_numpy_expand_dims", implements=np.expand_dims, public=False)
def numpy_expand_dims(a: Any, *, axis: Any) -> Any:
    """Return `numpy.expand_dims`."""
    return np.expand_dims(a, axis)


@operator(name="_numpy_squeeze", implements=np.squeeze, public=False)
def numpy_squeeze(a: Any, *, axis: Any = None) -> Any:
    """Return `numpy.squeeze`."""
    return np.squeeze(a, axis)


@operator(name="_numpy_transpose", implements=np.transpose, public=False)
def numpy_transpose(a: Any, *, axes: Any = None) -> Any:
    """Return `numpy.transpose`."""
    return np.transpose(a, axes)


@operator(name="_numpy_swapaxes", implements=np.swapaxes, public=False)
def numpy_swapaxes(a: Any, *, axis1: int, axis2: int) -> Any:
    """Return `numpy.swapaxes`."""
    return np.swapaxes(a, axis1, axis2)


@operator(name="_numpy_moveaxis", implements=np.moveaxis, public=False)
def numpy_moveaxis(a: Any, *, source: Any, destination: Any) -> Any:
    """Return `numpy.moveaxis`."""
    return np.moveaxis(a, source, destination)


@operator(name="_numpy_broadcast_to", implements=np.broadcast_to, public=False)
def numpy_broadcast_to(array: Any, *, shape: Any) -> Any:
    """Return `numpy.broadcast_to`: a view that cannot be written."""
    return np.broadcast_to(array, shape)


@operator(name="_numpy_flip", implements=np.flip, public=False, grad=lambda ans, m, *, axis: lambda g: np.flip(g, axis))
def numpy_flip(m: Any, *, axis: Any = None) -> Any:
    """Return `numpy.flip`."""
    return np.flip(m, axis)


@operator(name="_numpy_roll", implements=np.roll, public=False)
def numpy_roll(a: Any, *, shift: Any, axis: Any = None) -> Any:
    """Return `numpy.roll`."""
    return np.roll(a, shift, axis)


@operator(name="_numpy_copy", implements=np.copy, public=False, grad=lambda ans, a: lambda g: g)
def numpy_copy(a: Any, *, order: Any = "K") -> Any:
    """Return `numpy.copy`."""
    return np.copy(a, order=order)


def _back_to_shape(g: Any, a: Any) -> Any:
    return np.reshape(g, np.shape(a))


numpy_reshape.def_grad(lambda ans, a, *, shape, order: lambda g: np.reshape(g, np.shape(a), order=order))
numpy_ravel.def_grad(lambda ans, a, *, order: lambda g: np.reshape(g, np.shape(a), order=order))
numpy_expand_dims.def_grad(lambda ans, a, *, axis: lambda g: _back_to_shape(g, a))
numpy_squeeze.def_grad(lambda ans, a, *, axis: lambda g: _back_to_shape(g, a))
numpy_swapaxes.def_grad(lambda ans, a, *, axis1, axis2: lambda g: np.swapaxes(g, axis1, axis2))
numpy_moveaxis.def_grad(lambda ans, a, *, source, destination: lambda g: np.moveaxis(g, destination, source))
numpy_broadcast_to.def_grad(lambda ans, array, *, shape: lambda g: g)


@numpy_transpose.def_grad()
def _transpose_gradient(ans: Any, a: Any, *, axes: Any) -> Any:
    back = None if axes is None else tuple(int(axis) for axis in np.argsort([axis % len(axes) for axis in axes]))
    return lambda g: np.transpose(g, back)


@numpy_roll.def_grad()
def _roll_gradient(ans: Any, a: Any, *, shift: Any, axis: Any) -> Any:
    back = tuple(-step for step in shift) if isinstance(shift, (tuple, list)) else -shift
    return lambda g: np.roll(g, back, axis)
