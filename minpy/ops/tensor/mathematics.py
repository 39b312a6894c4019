"""Mathematics of one array, elementwise: powers, exponentials, trigonometry, activations."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from minpy.core.operator import Operator
from minpy.ops.dtype_attributes import require_floats
from minpy.ops.inference.partial_shapes import same_shape
from minpy.ops.kernels.selecting import LARGE
from minpy.ops.registry import operator
from minpy.ops.shared_docstrings import unary_doc

__all__ = ["hard_sigmoid", "negative", "relu", "sigmoid", "smooth_l1", "softrelu", "softsign", "tanh", "unary"]


def _ufunc(ufunc: np.ufunc, sentence: str, example: str, result: str, notes: str = "", name: str = "") -> Operator:
    name = name or ufunc.__name__
    op: Operator = operator(ufunc, name=name, doc=unary_doc(name, sentence, example, result, notes))
    return op


def unary(forward: Callable[[Any], Any], name: str, sentence: str, example: str, result: str, notes: str = "") -> Any:
    """Define an operator of one array, elementwise, that is no ufunc; the rest is as for `unary_doc`."""
    return operator(forward, name=name, like_ufunc=True, doc=unary_doc(name, sentence, example, result, notes))


# -- signs and powers --------------------------------------------------------------------------------------------------

negative = _ufunc(np.negative, "Return -data.", "[1, -2]", "[-1.,  2.]")
negative.def_grad(lambda ans, data: lambda g: -g)

reciprocal = _ufunc(np.reciprocal, "Return 1 / data.", "[1, 4]", "[1.  , 0.25]")
reciprocal.def_grad(lambda ans, data: lambda g: -(g * ans * ans))

absolute = _ufunc(
    np.absolute,
    "Return the absolute value of each element.",
    "[-1, 0, 2]",
    "[1., 0., 2.]",
    "Its gradient at 0 is 0.",
    "abs",
)


@absolute.def_grad()
def _abs_gradient(ans: Any, data: Any) -> Callable[[Any], Any]:
    if data.dtype.kind == "c":  # in autograd's convention, whose functions make the complex arrays
        return lambda g: g * np.conj(data) / np.where(ans == 0, 1, ans)
    return lambda g: g * (data if data.dtype.kind == "b" else np.sign(data))  # NumPy has no sign of booleans


square = _ufunc(np.square, "Return the square of each element.", "[-1, 3]", "[1., 9.]")
square.def_grad(lambda ans, data: lambda g: g * (data + data))

sqrt = _ufunc(np.sqrt, "Return the square root of each element; NaN for negative ones.", "[4, 2]", "[2.    , 1.4142]")
sqrt.def_grad(lambda ans, data: lambda g: g / (ans + ans))

rsqrt = unary(
    lambda data: np.reciprocal(np.sqrt(data)), "rsqrt", "Return 1 / sqrt(data).", "[4, 2]", "[0.5   , 0.7071]"
)
rsqrt.def_grad(lambda ans, data: lambda g: g * (ans * ans * ans) * -0.5)

cbrt = _ufunc(np.cbrt, "Return the cube root of each element.", "[8, -27]", "[ 2., -3.]")
cbrt.def_grad(lambda ans, data: lambda g: g / (ans * ans * 3))

rcbrt = unary(lambda data: np.reciprocal(np.cbrt(data)), "rcbrt", "Return 1 / cbrt(data).", "[8, -1]", "[ 0.5, -1. ]")
rcbrt.def_grad(lambda ans, data: lambda g: g * ans / (data * -3))

# -- exponentials and logarithms ---------------------------------------------------------------------------------------

exp = _ufunc(np.exp, "Return e to the power of each element.", "[0, 1]", "[1.    , 2.7183]")
exp.def_grad(lambda ans, data: lambda g: g * ans)

expm1 = _ufunc(np.expm1, "Return exp(data) - 1, accurate near 0.", "[0, 1]", "[0.    , 1.7183]")
expm1.def_grad(lambda ans, data: lambda g: g + g * ans)

log = _ufunc(np.log, "Return the natural logarithm of each element.", "[1, 2]", "[0.    , 0.6931]")
log.def_grad(lambda ans, data: lambda g: g / data)

log10 = _ufunc(np.log10, "Return the logarithm of each element to base 10.", "[1, 100]", "[0., 2.]")
log10.def_grad(lambda ans, data: lambda g: g / data * (1 / math.log(10)))

log2 = _ufunc(np.log2, "Return the logarithm of each element to base 2.", "[1, 8]", "[0., 3.]")
log2.def_grad(lambda ans, data: lambda g: g / data * (1 / math.log(2)))

log1p = _ufunc(np.log1p, "Return log(1 + data), accurate near 0.", "[0, 1]", "[0.    , 0.6931]")
log1p.def_grad(lambda ans, data: lambda g: g / (data + 1))

# -- trigonometry ------------------------------------------------------------------------------------------------------

sin = _ufunc(np.sin, "Return the sine of each element, an angle in radians.", "[0, 1]", "[0.    , 0.8415]")
sin.def_grad(lambda ans, data: lambda g: g * np.cos(data))

cos = _ufunc(np.cos, "Return the cosine of each element, an angle in radians.", "[0, 1]", "[1.    , 0.5403]")
cos.def_grad(lambda ans, data: lambda g: -(g * np.sin(data)))

tan = _ufunc(np.tan, "Return the tangent of each element, an angle in radians.", "[0, 1]", "[0.    , 1.5574]")
tan.def_grad(lambda ans, data: lambda g: g + g * ans * ans)

arcsin = _ufunc(np.arcsin, "Return the angle in [-pi/2, pi/2] whose sine is the element.", "[0, 1]", "[0.    , 1.5708]")
arcsin.def_grad(lambda ans, data: lambda g: g / np.sqrt(1 - data * data))

arccos = _ufunc(np.arccos, "Return the angle in [0, pi] whose cosine is the element.", "[0, 1]", "[1.5708, 0.    ]")
arccos.def_grad(lambda ans, data: lambda g: -(g / np.sqrt(1 - data * data)))

arctan = _ufunc(
    np.arctan, "Return the angle in (-pi/2, pi/2) whose tangent is the element.", "[0, 1]", "[0.    , 0.7854]"
)
arctan.def_grad(lambda ans, data: lambda g: g / (data * data + 1))

sinh = _ufunc(np.sinh, "Return the hyperbolic sine of each element.", "[0, 1]", "[0.    , 1.1752]")
sinh.def_grad(lambda ans, data: lambda g: g * np.cosh(data))

cosh = _ufunc(np.cosh, "Return the hyperbolic cosine of each element.", "[0, 1]", "[1.    , 1.5431]")
cosh.def_grad(lambda ans, data: lambda g: g * np.sinh(data))

tanh = _ufunc(np.tanh, "Return the hyperbolic tangent of each element.", "[0, 1]", "[0.    , 0.7616]")
tanh.def_grad(lambda ans, data: lambda g: g - g * ans * ans)

arcsinh = _ufunc(np.arcsinh, "Return the inverse hyperbolic sine of each element.", "[0, 1]", "[0.    , 0.8814]")
arcsinh.def_grad(lambda ans, data: lambda g: g / np.sqrt(data * data + 1))

arccosh = _ufunc(
    np.arccosh, "Return the inverse hyperbolic cosine of each element; NaN below 1.", "[1, 2]", "[0.   , 1.317]"
)
arccosh.def_grad(lambda ans, data: lambda g: g / np.sqrt(data * data - 1))

arctanh = _ufunc(
    np.arctanh,
    "Return the inverse hyperbolic tangent of each element; NaN outside [-1, 1].",
    "[0, 0.5]",
    "[0.    , 0.5493]",
)
arctanh.def_grad(lambda ans, data: lambda g: g / (1 - data * data))

degrees = _ufunc(np.degrees, "Return angles in degrees of angles in radians.", "[0, 1]", "[ 0.    , 57.2958]")
degrees.def_grad(lambda ans, data: lambda g: g * (180 / math.pi))

radians = _ufunc(np.radians, "Return angles in radians of angles in degrees.", "[0, 90]", "[0.    , 1.5708]")
radians.def_grad(lambda ans, data: lambda g: g * (math.pi / 180))

# -- activations -------------------------------------------------------------------------------------------------------


# Neither exponential overflows: one is of the negative part, the other of minus the absolute value.
sigmoid = unary(
    lambda data: np.exp(np.minimum(data, 0)) / (np.exp(-np.absolute(data)) + 1),
    "sigmoid",
    "Return 1 / (1 + exp(-data)), the logistic function.",
    "[-100, 0, 1]",
    "[0.    , 0.5   , 0.7311]",
)
sigmoid.def_grad(lambda ans, data: lambda g: g * (ans - ans * ans))


@sigmoid.def_kernel
def _sigmoid_kernel(data: Any) -> Any:
    with np.errstate(over="ignore"):  # exp(-data) may be inf: its reciprocal is right, 0
        if type(data) is not np.ndarray or data.size < LARGE or data.dtype.kind != "f":
            return np.reciprocal(np.exp(-data) + 1)
        result = np.negative(data)
        np.exp(result, result)
        result += 1
        return np.reciprocal(result, result)


@sigmoid.def_into
def _sigmoid_into(out: np.ndarray, data: np.ndarray) -> None:
    np.negative(data, out)
    with np.errstate(over="ignore"):
        np.exp(out, out)
    out += 1
    np.reciprocal(out, out)


relu = unary(
    lambda data: np.maximum(data, 0),
    "relu",
    "Return max(data, 0).",
    "[-1, 0, 2]",
    "[0., 0., 2.]",
    "Its gradient at 0 is 0.",
)
relu.def_grad(lambda ans, data: lambda g: g * (ans > 0))


@relu.def_kernel
def _relu_kernel(data: Any) -> Any:
    if type(data) is not np.ndarray or data.size < LARGE or data.dtype.kind != "f":
        return np.maximum(data, 0)
    return np.clip(data, 0, np.inf)  # four times as fast as the maximum with a number


@relu.def_into
def _relu_into(out: np.ndarray, data: np.ndarray) -> None:
    if data.size < LARGE or data.dtype.kind != "f":
        np.maximum(data, 0, out=out)
    else:
        np.clip(data, 0, np.inf, out=out)


softrelu = operator(
    lambda data: np.logaddexp(data, 0),
    name="softrelu",
    like_ufunc=True,
    public=False,
    doc="Return log(1 + exp(data)), elementwise.",
)
softrelu.def_grad(lambda ans, data: lambda g: g * -np.expm1(-ans))

softsign = unary(
    lambda data: data / (np.absolute(data) + 1),
    "softsign",
    "Return data / (1 + abs(data)).",
    "[-1, 0, 3]",
    "[-0.5 ,  0.  ,  0.75]",
)


@softsign.def_grad()
def _softsign_gradient(ans: Any, data: Any) -> Callable[[Any], Any]:
    def gradient(g: Any) -> Any:
        divisor = np.absolute(data) + 1
        return g / (divisor * divisor)

    return gradient


@operator(name="hard_sigmoid", elementwise=True, shapes=same_shape)
def hard_sigmoid(data: np.ndarray, *, alpha: float = 0.2, beta: float = 0.5) -> np.ndarray:
    """Return alpha * data + beta, limited to [0, 1].

    {data_parameter}
        Of any shape and floating dtype.
    alpha, beta : float
        Slope, and value at 0.

    {returns_array}
        Of the shape and dtype of `data`. The gradient at both kinks is 0.

    Raises
    ------
    {or_integers}

    {examples}
    >>> nd.hard_sigmoid(nd.array([-3, 0, 1, 3])).asnumpy()
    array([0. , 0.5, 0.7, 1. ], dtype=float32)
    """
    require_floats("hard_sigmoid", data)
    return np.minimum(np.maximum(data * alpha + beta, 0), 1)


hard_sigmoid.def_grad(lambda ans, data, *, alpha: lambda g: g * (((ans > 0) & (ans < 1)) * alpha))


@operator(name="smooth_l1", elementwise=True, shapes=same_shape)
def smooth_l1(data: np.ndarray, *, scalar: float = 1.0) -> np.ndarray:
    """Return a loss that is quadratic near 0 and linear beyond: Huber's, scaled.

    With s = `scalar`, it is (s * x) ** 2 / 2 where abs(x) < 1 / s ** 2, and abs(x) - 1 / (2 * s ** 2) elsewhere
    (Girshick, Fast R-CNN, 2015, equation 3, with s = 1).

    {data_parameter}
        Of any shape and floating dtype.
    scalar : float
        Where the parts meet: at 1 / scalar ** 2.

    {returns_array}
        Of the shape and dtype of `data`.

    {examples}
    >>> nd.smooth_l1(nd.array([-2, 0, 0.5, 2])).asnumpy()
    array([1.5  , 0.   , 0.125, 1.5  ], dtype=float32)
    """
    slope = np.minimum(np.maximum(data * scalar**2, -1), 1)
    return (slope * (data - slope * (0.5 / scalar**2))).astype(data.dtype, copy=False)


smooth_l1.def_grad(lambda ans, data, *, scalar: lambda g: g * np.clip(data * scalar**2, -1, 1))


for _operator in (relu, sigmoid, tanh):
    _operator.category = "activation"
