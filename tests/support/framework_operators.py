"""Operators that all bridges to other frameworks are tried with: every way of writing one, many kinds of functions.

Tests walk `ROWS`; `row.inputs(seed)` gives fresh arrays in float64 (and integers), at which all derivatives exist.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from native.building import build, compiler

import minpy as mx
from minpy import customop
from minpy.frameworks import as_operator

__all__ = ["ROWS", "ROWS_BY_NAME", "Row", "differentiable"]


class NativeOperator(NamedTuple):
    """An operator of the native library, which is loaded when one is asked for: namespaces are listed before."""

    name: str
    attributes: Mapping[str, Any] = MappingProxyType({})

    def loaded(self) -> Any:
        """Return the operator."""
        return _native_operator(self.name, **self.attributes)


@cache
def _load_library() -> None:
    mx.library.load(build("framework_rows.cc", include=[mx.library.include_dir()]), verbose=False)


@cache
def _native_operator(name: str, **attributes: Any) -> Any:
    _load_library()
    function = getattr(mx.nd, name)
    return as_operator(partial(function, **attributes) if attributes else function)


class Row(NamedTuple):
    """One operator, and a call of it.

    `source`: the operator, or a `NativeOperator`. `shapes`: those of the inputs; a dtype beside one that is not
    float64. `order`: how often it can be differentiated. `traces`: whether it is a graph of steps, or its function is
    called. `grows`: whether lengths of 4 may be others.
    """

    source: Any
    shapes: Sequence[Any]
    attributes: Mapping[str, Any] = MappingProxyType({})
    num_outputs: int = 1
    order: int = 3
    traces: bool = True
    grows: bool = True

    @property
    def operator(self) -> Any:
        return self.source.loaded() if isinstance(self.source, NativeOperator) else self.source

    @property
    def name(self) -> str:
        return self.source.name if isinstance(self.source, NativeOperator) else self.source.__name__

    def inputs(self, seed: int = 0, length: int | None = None) -> list[np.ndarray]:
        """Return arrays for a call; `length` takes the place of a leading length of 4."""
        random = np.random.default_rng(seed)
        arrays = []
        for entry in self.shapes:
            shape, dtype = entry if entry and isinstance(entry[-1], str) else (entry, "float64")
            shape = tuple(length if length is not None and lead == 4 else lead for lead in shape)
            if dtype == "float64":
                arrays.append(random.uniform(0.5, 1.5, shape))
            elif dtype == "bool":
                arrays.append(random.uniform(size=shape) < 0.5)
            else:
                arrays.append(random.integers(0, 3, shape).astype(dtype))
        return arrays


def differentiable(arrays: Sequence[np.ndarray]) -> list[int]:
    """Return the positions of arrays of floating-point numbers."""
    return [position for position, array in enumerate(arrays) if array.dtype.kind == "f"]


# -- elementwise -------------------------------------------------------------------------------------------------------


@customop("numpy")
def softplus(x, *, beta: float = 1.0):
    """Attributes; the rule reads the input."""
    return np.logaddexp(0, beta * x) / beta


softplus.def_grad(lambda ans, x, *, beta: lambda g: g / (1 + np.exp(-beta * x)))


@customop("numpy")
def sigmoid(x):
    """The rule reads the answer only."""
    return 1 / (1 + np.exp(-x))


sigmoid.def_grad(lambda ans, x: lambda g: g * ans * (1 - ans))


@customop("numpy")
def shaped(x):
    """A rule of shapes."""
    return np.sin(x) * x


shaped.def_grad(lambda ans, x: lambda g: g * (np.cos(x) * x + np.sin(x)))
shaped.def_shape(lambda x: x)


@customop("numpy")
def pushed(x):
    """A rule of forward mode."""
    return np.exp(x) - 1


pushed.def_grad(lambda ans, x: lambda g: g * np.exp(x))
pushed.def_jvp(lambda ans, x: lambda t: t * np.exp(x))


@customop("numpy")
def cube_in_place(x):
    """Writes into its own array."""
    y = x.copy()
    y *= x
    y *= x
    return y


cube_in_place.def_grad(lambda ans, x: lambda g: 3 * x * x * g)


@customop("numpy")
def leaky(x, *, slope: float = 0.1, limits: tuple[float, float] = (0.6, 1.4)):
    """Chooses by masks; a tuple of numbers as attribute."""
    low, high = limits
    return np.where((x > low) & (x < high), x * x, slope * x)


@leaky.def_grad
def _leaky_gradient(ans, x, *, slope, limits):
    low, high = limits
    return lambda g: g * np.where((x > low) & (x < high), 2 * x, slope)


WEIGHTS = np.array([0.5, -0.25, 2.0])


@customop("numpy")
def weighted(x):
    """Refers to an array outside."""
    return x * WEIGHTS + WEIGHTS[0]


weighted.def_grad(lambda ans, x: lambda g: g * WEIGHTS)


@customop("mxnet")
def swish(x):
    """Written with NDArrays."""
    return x * mx.nd.sigmoid(x)


@swish.def_grad
def _swish_gradient(ans, x):
    def pull(g):
        s = mx.nd.sigmoid(x)
        return g * (s + x * s * (1 - s))

    return pull


# -- broadcasting, several inputs --------------------------------------------------------------------------------------


@customop("numpy")
def scaled(x, w, *, power: int = 2):
    """Broadcasts its second input."""
    return x * w**power


scaled.def_grad(lambda ans, x, w, *, power: lambda g: g * w**power)
scaled.def_grad(lambda ans, x, w, *, power: lambda g: g * x * power * w ** (power - 1), argnum=1)


@customop("numpy")
def distance(row, column):
    """Broadcasts both inputs."""
    return np.sqrt(row * row + column * column)


distance.def_grad(lambda ans, row, column: lambda g: g * row / ans)
distance.def_grad(lambda ans, row, column: lambda g: g * column / ans, argnum=1)


@customop("numpy")
def affine(x, scale, shift):
    """Three inputs, one without axes."""
    return x * scale + shift


affine.def_grad(lambda ans, x, scale, shift: lambda g: g * scale)
affine.def_grad(lambda ans, x, scale, shift: lambda g: g * x, argnum=1)
affine.def_grad(lambda ans, x, scale, shift: lambda g: g, argnum=2)


@customop("numpy")
def multiplied(a, b):
    """A product of matrices."""
    return a @ b


multiplied.def_grad(lambda ans, a, b: lambda g: g @ b.T)
multiplied.def_grad(lambda ans, a, b: lambda g: a.T @ g, argnum=1)


@customop("numpy")
def outer(a, b):
    """An outer product."""
    return a[:, None] * b[None, :]


outer.def_grad(lambda ans, a, b: lambda g: np.sum(g * b[None, :], axis=1))
outer.def_grad(lambda ans, a, b: lambda g: np.sum(g * a[:, None], axis=0), argnum=1)


@customop("numpy")
def gated(x, gate):
    """No gradient for the second input, which is zero."""
    return np.where(gate > 1, x * x, -x)


gated.def_grad(lambda ans, x, gate: lambda g: g * np.where(gate > 1, 2 * x, -1.0))
gated.def_grad_zero(1)


# -- several outputs ---------------------------------------------------------------------------------------------------


@customop("numpy")
def to_polar(x, y):
    """Two outputs, one rule for both inputs."""
    return np.hypot(x, y), np.arctan2(y, x)


@to_polar.def_multiple_grad
def _polar_gradients(ans, x, y):
    r = ans[0]
    return lambda g: (g[0] * x / r - g[1] * y / r**2, g[0] * y / r + g[1] * x / r**2)


@customop("numpy")
def parts(x):
    """Two outputs of different shapes, which are views."""
    return x[:, :1], x[:, 1:]


parts.def_grad(lambda ans, x: lambda g: np.concatenate([g[0], g[1]], axis=1))


@customop("numpy")
def largest(x):
    """An output of integers beside one of numbers."""
    return np.max(x, axis=1), np.argmax(x, axis=1)


@largest.def_grad
def _largest_gradient(ans, x):
    return lambda g: np.where(np.arange(x.shape[1]) == ans[1][:, None], g[0][:, None], 0.0)


# -- reductions, axes --------------------------------------------------------------------------------------------------


@customop("numpy")
def sum_of_squares(x, *, axis: int = -1):
    """A reduction over an axis."""
    return np.sum(x * x, axis=axis)


sum_of_squares.def_grad(lambda ans, x, *, axis: lambda g: 2 * x * np.expand_dims(g, axis))


@customop("numpy")
def mean_over(x, *, axis=None):
    """An axis that may be None, an integer or a tuple."""
    return np.mean(x, axis=axis, keepdims=True)


@mean_over.def_grad
def _mean_gradient(ans, x, *, axis):
    return lambda g: np.broadcast_to(g, x.shape) * (ans.size / x.size)


@customop("numpy")
def log_sum_exp(x):
    """Everything to one number."""
    return np.log(np.sum(np.exp(x)))


log_sum_exp.def_grad(lambda ans, x: lambda g: g * np.exp(x - ans))


@customop("numpy")
def running_sum(x):
    """Cumulated."""
    return np.cumsum(x, axis=0)


running_sum.def_grad(lambda ans, x: lambda g: np.flip(np.cumsum(np.flip(g, 0), axis=0), 0))


@customop("numpy")
def normalized(x):
    """A norm along an axis, kept."""
    return x / np.sqrt(np.sum(x * x, axis=1, keepdims=True))


@normalized.def_grad
def _normalized_gradient(ans, x):
    def pull(g):
        norm = np.sqrt(np.sum(x * x, axis=1, keepdims=True))
        return (g - ans * np.sum(g * ans, axis=1, keepdims=True)) / norm

    return pull


# -- views and shapes --------------------------------------------------------------------------------------------------


@customop("numpy")
def transposed(x):
    """Returns a view in Fortran order."""
    return x.T


transposed.def_grad(lambda ans, x: lambda g: g.T)


@customop("numpy")
def same(x):
    """Returns its input, and its rule the gradient."""
    return x


same.def_grad(lambda ans, x: lambda g: g)


@customop("numpy")
def flat(x):
    """Makes one axis of all."""
    return x.reshape(-1) * 2


flat.def_grad(lambda ans, x: lambda g: 2 * g.reshape(x.shape))


@customop("numpy")
def padded(x):
    """Writes into a slice of a new array."""
    y = np.zeros((x.shape[0] + 2, x.shape[1]), x.dtype)
    y[1:-1] = x
    return y


padded.def_grad(lambda ans, x: lambda g: g[1:-1])


# -- integers ----------------------------------------------------------------------------------------------------------


@customop("numpy")
def pick(scores, classes):
    """Integers as positions."""
    return scores[np.arange(scores.shape[0]), classes]


@pick.def_grad
def _pick_gradient(ans, scores, classes):
    return lambda g: np.where(np.arange(scores.shape[1]) == classes[:, None], g[:, None], 0)


pick.def_grad_zero(1)


@customop("numpy")
def masked(x, mask):
    """Booleans as input."""
    return np.where(mask, x * x, 0.0)


masked.def_grad(lambda ans, x, mask: lambda g: np.where(mask, 2 * x * g, 0.0))
masked.def_grad_zero(1)


# -- what is no graph --------------------------------------------------------------------------------------------------


@customop("numpy")
def smoothed(x):
    """A loop in Python that reads values; its shape is said."""
    y = np.empty_like(x)
    carry = 0.0 * x[0]
    for index in range(len(x)):
        carry = 0.5 * carry + x[index] if float(np.sum(x[index])) > -1e300 else carry
        y[index] = carry
    return y


@smoothed.def_grad
def _smoothed_gradient(ans, x):
    def pull(g):
        carry, rows = 0.0 * g[0], []
        for index in reversed(range(len(x))):
            carry = 0.5 * carry + g[index]
            rows.append(carry)
        return np.stack(rows[::-1])

    return pull


smoothed.def_shape(lambda x: x)


class _Square(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] * in_data[0])

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], 2 * in_data[0] * out_grad[0])


@mx.operator.register("square_of_frameworks")
class SquareProp(mx.operator.CustomOpProp):
    """A prop, and an operator with methods."""

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return _Square()


class _Rising(mx.operator.CustomOp):
    """Keeps for `backward` what it computes, as operators of MXNet may."""

    def __init__(self, rate: float) -> None:
        self.rate = rate

    def forward(self, is_train, req, in_data, out_data, aux):
        self.growth = mx.nd.exp(self.rate * in_data[0])
        self.assign(out_data[0], req[0], self.growth * in_data[1])
        self.assign(out_data[1], req[1], self.growth)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        slope = self.rate * self.growth
        self.assign(in_grad[0], req[0], slope * (out_grad[0] * in_data[1] + out_grad[1]))
        self.assign(in_grad[1], req[1], self.growth * out_grad[0])


@mx.operator.register("rising_of_frameworks")
class RisingProp(mx.operator.CustomOpProp):
    """A prop with a parameter, two inputs and two outputs."""

    def __init__(self, rate="1.0"):
        super().__init__()
        self.rate = float(rate)

    def list_arguments(self):
        return ["exponent", "factor"]

    def list_outputs(self):
        return ["product", "growth"]

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return _Rising(self.rate)


@customop("numpy")
def summed(*arrays):
    """Any number of inputs."""
    return sum(array * array for array in arrays)


@summed.def_multiple_grad
def _summed_gradients(ans, *arrays):
    return lambda g: tuple(2 * array * g for array in arrays)


ROWS: list[Row] = [
    Row(softplus, [(4, 3)], {"beta": 2.0}),
    Row(sigmoid, [(4, 3)]),
    Row(shaped, [(4, 3)]),
    Row(pushed, [(4, 3)]),
    Row(cube_in_place, [(4, 3)]),
    Row(leaky, [(4, 3)], {"slope": 0.25}),
    Row(weighted, [(4, 3)]),
    Row(swish, [(4, 3)], traces=False),
    Row(scaled, [(4, 3), (3,)], {"power": 3}),
    Row(distance, [(1, 3), (4, 1)]),
    Row(affine, [(4, 3), (), (3,)]),
    Row(multiplied, [(4, 3), (3, 2)]),
    Row(outer, [(4,), (3,)]),
    Row(gated, [(4, 3), (4, 3)]),
    Row(to_polar, [(4, 3), (4, 3)], num_outputs=2),
    Row(parts, [(4, 3)], num_outputs=2),
    Row(largest, [(4, 3)], num_outputs=2),
    Row(sum_of_squares, [(4, 3)], {"axis": 0}),
    Row(mean_over, [(4, 3)], {"axis": (0, 1)}),
    Row(log_sum_exp, [(4, 3)]),
    Row(running_sum, [(4, 3)]),
    Row(normalized, [(4, 3)]),
    Row(transposed, [(4, 3)]),
    Row(same, [(4, 3)]),
    Row(flat, [(4, 3)]),
    Row(padded, [(4, 3)]),
    Row(pick, [(4, 3), ((4,), "int64")]),
    Row(masked, [(4, 3), ((4, 3), "bool")]),
    Row(smoothed, [(4, 3)], traces=False),
    Row(summed, [(4, 3), (4, 3), (3,)], traces=False),
    Row(as_operator("square_of_frameworks"), [(4, 3)], order=1, traces=False),
    Row(as_operator(RisingProp), [(4, 3), (4, 3)], {"rate": 0.5}, num_outputs=2, order=1, traces=False),
    *(
        [
            Row(NativeOperator("framework_moment", {"power": 3}), [(4, 3), (3,)], order=1, traces=False),
            Row(NativeOperator("framework_remembered"), [(4, 3)], order=1, traces=False),
        ]
        if compiler() is not None
        else []
    ),
    Row(mx.nd.tanh, [(4, 3)], traces=False),
    Row(mx.nd.broadcast_mul, [(4, 3), (1, 3)], traces=False),
    Row(mx.nd.LayerNorm, [(4, 3), (3,), (3,)], {"eps": 0.01}, traces=False),
    Row(mx.nd.softmax, [(4, 3)], {"axis": 0, "temperature": 2.0}, traces=False),
]
ROWS_BY_NAME = {row.name: row for row in ROWS}
