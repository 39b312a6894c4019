"""Random initializers, which draw from mx.random's generator."""

from __future__ import annotations

from math import prod, sqrt
from typing import Any

import numpy

from minpy.core.array import Array
from minpy.core.errors import ArgumentError, ArgumentValueError, ShapeError, describe, nearest
from minpy.initializer.initializer import Initializer, register
from minpy.ndarray import random

__all__ = ["MSRAPrelu", "Normal", "Orthogonal", "Uniform", "Xavier"]


def _draw(initializer: Initializer, kind: str, scale: float, name: str, arr: Any) -> None:
    """Fill an array from the uniform distribution between -scale and scale, or the normal one of that deviation."""
    if not isinstance(arr, Array):
        raise ArgumentError(
            f"{type(initializer).__name__}: what is to be initialized as {str(name)!r} must be an NDArray, got "
            f"{describe(arr)}."
        )
    if kind == "uniform":
        random.uniform(-scale, scale, shape=arr.shape, dtype=arr.dtype, out=arr)
    else:
        random.normal(0, scale, shape=arr.shape, dtype=arr.dtype, out=arr)


def _one_of(initializer: Initializer, name: str, value: Any, choices: tuple[str, ...]) -> Any:
    if not isinstance(value, str) or value not in choices:
        raise ArgumentValueError(
            f"{type(initializer).__name__}: {name} must be {' or '.join(map(repr, choices))}, got {describe(value)}."
            f"{nearest(value, choices) if isinstance(value, str) else ''}"
        )
    return value


@register
class Uniform(Initializer):
    """Weights drawn uniformly from [-scale, scale).

    Parameters
    ----------
    scale : float

    Examples
    --------
    >>> import minpy as mx
    >>> weight = mx.nd.zeros((2, 3))
    >>> mx.init.Uniform(0.1)(mx.init.InitDesc('dense0_weight'), weight)
    >>> bool((weight.abs() <= 0.1).min())
    True
    """

    def __init__(self, scale: float = 0.07) -> None:
        super().__init__(scale=scale)
        self.scale = scale

    def _init_weight(self, name: str, arr: Any) -> None:
        _draw(self, "uniform", self.scale, name, arr)


@register
class Normal(Initializer):
    """Weights drawn from the normal distribution around 0.

    Parameters
    ----------
    sigma : float
        Its standard deviation.

    Examples
    --------
    >>> import minpy as mx
    >>> weight = mx.nd.zeros((100, 100))
    >>> mx.init.Normal(0.5)(mx.init.InitDesc('dense0_weight'), weight)
    >>> round(float(weight.asnumpy().std()), 1)
    0.5
    """

    def __init__(self, sigma: float = 0.01) -> None:
        super().__init__(sigma=sigma)
        self.sigma = sigma

    def _init_weight(self, name: str, arr: Any) -> None:
        _draw(self, "normal", self.sigma, name, arr)


@register
class Xavier(Initializer):
    """Weights whose scale keeps the variance of activations, and of gradients, from layer to layer.

    Drawn uniformly between -s and s, or from the normal distribution of deviation s, with s = √(magnitude / n) and n
    the number of a unit's inputs, of its outputs, or their mean (Glorot, Bengio, "Understanding the difficulty of
    training deep feedforward neural networks", 2010, equation 16).

    Parameters
    ----------
    rnd_type : {'uniform', 'gaussian'}
    factor_type : {'avg', 'in', 'out'}
        What n is.
    magnitude : float

    Raises
    ------
    ArgumentValueError
        If a type is none of these.
    ShapeError
        When it is called, for arrays of less than two axes: they have no inputs and outputs to count.

    Examples
    --------
    >>> import minpy as mx
    >>> weight = mx.nd.zeros((20, 10))
    >>> mx.init.Xavier()(mx.init.InitDesc('dense0_weight'), weight)
    >>> bool((weight.abs() <= (3 / 15) ** 0.5).min())
    True
    """

    def __init__(self, rnd_type: str = "uniform", factor_type: str = "avg", magnitude: float = 3) -> None:
        super().__init__(rnd_type=rnd_type, factor_type=factor_type, magnitude=magnitude)
        self.rnd_type = _one_of(self, "rnd_type", rnd_type, ("uniform", "gaussian"))
        self.factor_type = _one_of(self, "factor_type", factor_type, ("avg", "in", "out"))
        self.magnitude = float(magnitude)

    def _init_weight(self, name: str, arr: Any) -> None:
        shape = arr.shape
        if len(shape) < 2:
            raise ShapeError(
                f"{type(self).__name__}: {str(name)!r} has shape {shape}; at least two axes are needed, outputs and "
                f"inputs, from whose numbers the scale follows. Give it another initializer, such as mx.init.Uniform()."
            )
        if prod(shape) == 0:
            return
        each = prod(shape[2:])
        inputs, outputs = shape[1] * each, shape[0] * each
        count = {"avg": (inputs + outputs) / 2, "in": inputs, "out": outputs}[self.factor_type]
        _draw(self, self.rnd_type, sqrt(self.magnitude / count), name, arr)


@register
class MSRAPrelu(Xavier):
    """Weights whose scale keeps the variance of activations through layers of rectifiers.

    `Xavier` with the normal distribution and the magnitude 2 / (1 + slope²) (He, Zhang, Ren, Sun, "Delving deep into
    rectifiers", 2015, equation 15).

    Parameters
    ----------
    factor_type : {'avg', 'in', 'out'}
    slope : float
        The rectifiers' slope for negative inputs: 0 for ReLU.

    Examples
    --------
    >>> import minpy as mx
    >>> mx.init.MSRAPrelu(slope=0).magnitude
    2.0
    """

    def __init__(self, factor_type: str = "avg", slope: float = 0.25) -> None:
        super().__init__("gaussian", factor_type, 2.0 / (1 + slope**2))
        self._kwargs = {"factor_type": factor_type, "slope": slope}


@register
class Orthogonal(Initializer):
    """Weights whose rows, or columns, whichever are fewer, are orthogonal and of length `scale`.

    The singular vectors of a matrix drawn at random; axes after the first are taken as one (Saxe, McClelland, Ganguli,
    "Exact solutions to the nonlinear dynamics of learning in deep linear neural networks", 2013).

    Parameters
    ----------
    scale : float
    rand_type : {'uniform', 'normal'}
        How the matrix is drawn.

    Raises
    ------
    ArgumentValueError
        If `rand_type` is none of these.
    ShapeError
        When it is called, for arrays of less than two axes.

    Examples
    --------
    >>> import minpy as mx
    >>> weight = mx.nd.zeros((2, 3))
    >>> mx.init.Orthogonal(1)(mx.init.InitDesc('dense0_weight'), weight)
    >>> abs(mx.nd.dot(weight, weight.T).asnumpy().round(5))
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """

    def __init__(self, scale: float = 1.414, rand_type: str = "uniform") -> None:
        super().__init__(scale=scale, rand_type=rand_type)
        self.scale = scale
        self.rand_type = _one_of(self, "rand_type", rand_type, ("uniform", "normal"))

    def _init_weight(self, name: str, arr: Any) -> None:
        shape = arr.shape
        if len(shape) < 2:
            raise ShapeError(
                f"Orthogonal: {str(name)!r} has shape {shape}; at least two axes are needed, for rows and columns."
            )
        if prod(shape) == 0:
            return
        rows, columns = shape[0], prod(shape[1:])
        dtype = "float64" if arr.dtype == numpy.float64 else "float32"
        draw = {"uniform": (random.uniform, -1, 1), "normal": (random.normal, 0, 1)}[self.rand_type]
        matrix = draw[0](*draw[1:], shape=(rows, columns), dtype=dtype)
        left, _, right = numpy.linalg.svd(matrix.asnumpy(), full_matrices=False)
        arr[...] = (self.scale * (left if rows > columns else right)).reshape(shape)
