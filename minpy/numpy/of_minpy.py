"""Functions that MinPy has in `minpy.numpy` beside NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from minpy.core.array import raw_of
from minpy.core.customop import customop
from minpy.core.errors import ShapeError
from minpy.numpy.wrapping import wrap_function
from minpy.ops.registry import OPERATORS

__all__ = ["onehot_encode", "sigmoid", "softmax_output"]


def onehot_encode(indices: Any, out: Any) -> Any:
    """Write a one into each row of a matrix, at an index, and zeros elsewhere; return the matrix.

    Parameters
    ----------
    indices : array, (n,)
        Whole numbers below the number of columns.
    out : array, (n, classes)
        What is written to.

    Returns
    -------
    array
        `out`.

    Raises
    ------
    ShapeError
        If the two do not have as many rows.

    Examples
    --------
    >>> import minpy.numpy as np
    >>> np.onehot_encode(np.array([2, 0]), np.zeros((2, 3)))
    array([[0., 0., 1.],
           [1., 0., 0.]], dtype=float32)
    """
    rows = numpy.asarray(raw_of(indices)).astype(numpy.int64)
    if rows.shape != out.shape[:1] or len(out.shape) != 2:
        raise ShapeError(f"onehot_encode: indices of shape {rows.shape} and a matrix of shape {tuple(out.shape)}.")
    out[:] = numpy.eye(out.shape[1], dtype=raw_of(out).dtype)[rows]
    return out


@customop("numpy")
def _softmax_output(x: Any, label: Any) -> Any:
    """Return the softmax of each row, whose gradient is that of the mean cross entropy with labels.

    Parameters
    ----------
    x : array, (n, classes)
    label : array, (n, classes)
        The probabilities that the softmax is to become. The upstream gradient is not used.

    Examples
    --------
    >>> import minpy
    >>> import minpy.numpy as np
    >>> x, label = np.zeros((1, 2)), np.array([[1.0, 0.0]])
    >>> np.softmax_output(x, label)
    array([[0.5, 0.5]], dtype=float32)
    >>> minpy.core.grad(lambda x: np.softmax_output(x, label))(x)
    array([[-0.5,  0.5]], dtype=float32)
    """
    powers = numpy.exp(x - numpy.max(x, axis=1, keepdims=True))
    return powers / numpy.sum(powers, axis=1, keepdims=True)


@_softmax_output.def_grad
def _of_scores(ans: Any, x: Any, label: Any) -> Callable[[Any], Any]:
    return lambda g: (ans - label) / x.shape[0]


_softmax_output.def_grad_zero(1)


def _function(operator: Any, name: str) -> Callable[..., Any]:
    """Return an operator as a function of the namespace, which returns arrays of the tape."""
    function = wrap_function(operator, name)
    function.__doc__ = operator.__doc__
    return function


sigmoid = _function(OPERATORS["sigmoid"], "sigmoid")
softmax_output = _function(_softmax_output, "softmax_output")
