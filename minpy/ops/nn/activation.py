"""Activation functions chosen by name: `Activation` and `LeakyReLU`."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from minpy.core.errors import ArgumentError, ShapeError, nearest
from minpy.core.operator import Operator
from minpy.core.sums import sum_over
from minpy.ops.dtype_attributes import require_floats
from minpy.ops.inference.partial_shapes import is_known, merge_shapes, same_shape
from minpy.ops.inference.rule_parts import booleans_give, like_data, with_followers
from minpy.ops.kernels.error_function import float32_gelu, float32_gelu_gradient
from minpy.ops.kernels.selecting import LARGE, select
from minpy.ops.random.generator import generator
from minpy.ops.registry import operator
from minpy.ops.tensor.mathematics import relu, sigmoid, softrelu, softsign, tanh
from minpy.ops.tensor.special import erf

__all__ = ["activation", "leaky_relu", "slopes_shape"]


# Each is an operator of its own, too, whose forms are used here.
_CHOICES: dict[str, Operator] = {
    "relu": relu,
    "sigmoid": sigmoid,
    "tanh": tanh,
    "softrelu": softrelu,
    "softsign": softsign,
}


@operator(name="Activation", elementwise=True, shapes=same_shape, dtypes=booleans_give(np.int64))
def activation(data: np.ndarray, *, act_type: Literal["relu", "sigmoid", "softrelu", "softsign", "tanh"]) -> np.ndarray:
    """Return an activation function of each element.

    {data_parameter}
        Floating point, of any shape.
    act_type : {'relu', 'sigmoid', 'tanh', 'softrelu', 'softsign'}
        max(x, 0), 1 / (1 + exp(-x)), tanh(x), log(1 + exp(x)), or x / (1 + abs(x)).

    {returns_like_data}

    {raises_argument_error}
        For another `act_type`.
    DTypeError
        For integers, except with 'relu'.

    {examples}
    >>> nd.Activation(nd.array([-1, 0, 2]), act_type='relu').asnumpy()
    array([0., 0., 2.], dtype=float32)
    """
    chosen = _CHOICES.get(act_type)
    if chosen is None:
        raise ArgumentError(
            f"Activation: unknown act_type {act_type!r}; expected one of {', '.join(map(repr, _CHOICES))}."
            + nearest(str(act_type), _CHOICES)
        )
    if act_type != "relu":  # which is exact
        require_floats("Activation", data, "fc")
    return chosen.definition(data)


@activation.def_kernel
def _activation_kernel(data: Any, *, act_type: str) -> Any:
    if type(data) is not np.ndarray or data.dtype.kind not in "fc" or act_type not in _CHOICES:
        return activation.definition(np.asarray(data), act_type=act_type)
    return _CHOICES[act_type].forward(data)


activation.def_grad(lambda ans, data, *, act_type: _CHOICES[act_type].rules[0](ans, data))


@activation.def_into
def _activation_into(out: Any, data: Any, *, act_type: str) -> None:
    chosen = _CHOICES[act_type]
    if chosen.into is not None:
        chosen.into(data, out) if isinstance(chosen.into, np.ufunc) else chosen.into(out, data)
    else:
        np.copyto(out, chosen.forward(data))


# Self-normalizing networks (Klambauer et al., 2017): with these two, mean 0 and variance 1 are a fixed point.
_SELU_ALPHA = 1.6732632423543772
_SELU_SCALE = 1.0507009873554805

_LEAKY_TYPES = ("leaky", "prelu", "rrelu", "elu", "selu", "gelu")


def slopes_shape(gamma: tuple[int, ...], data: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape, with as many axes as the data, in which slopes broadcast against it.

    They are one for all, one for each channel (axis 1), or one for each example, or each channel of each example: axes
    of `gamma`, from the last to the first, are those of the data's first two that are as long.
    """
    ones, lengths = [1] * len(data), list(gamma)
    shape = list(ones)
    for axis in range(min(len(data), 2))[::-1]:
        if lengths and lengths[-1] in (1, data[axis]):
            shape[axis] = lengths.pop()
    if math.prod(lengths) == 1:
        return tuple(shape)
    channels = data[min(1, len(data) - 1)] if data else 1
    if math.prod(gamma) != channels:
        raise ShapeError(
            f"LeakyReLU: gamma has shape {gamma}; expected (1,) or ({channels},), one slope a channel"
            + (f", or {tuple(data[:2])}, one for each example too." if len(data) > 1 else ".")
        )
    ones[min(1, len(data) - 1)] = channels
    return tuple(ones)


def _normal_cdf(data: Any) -> Any:
    return erf(data * math.sqrt(0.5)) * 0.5 + 0.5


@operator(
    name="LeakyReLU",
    optional_inputs={"gamma": lambda attributes: attributes.get("act_type") == "prelu"},
    random=True,
    draws=lambda attributes: attributes.get("act_type") == "rrelu" and attributes.get("training") is not False,
    dtypes=with_followers,
    initializers={"gamma": '["Constant", {"value": 0.25}]'},
    saved_outputs=lambda attributes: 2 if attributes.get("act_type") == "rrelu" else 1,
)
def leaky_relu(
    data: np.ndarray,
    gamma: np.ndarray | None = None,
    *,
    act_type: Literal["leaky", "elu", "gelu", "prelu", "rrelu", "selu"] = "leaky",
    slope: float = 0.25,
    lower_bound: float = 0.125,
    upper_bound: float = 0.334,
    training: bool | None = None,
) -> np.ndarray:
    """Return an activation that lets a part of negative elements through.

    {data_parameter}
        Floating point, of any shape; axis 1 holds the channels.
    gamma : NDArray, optional
        The slopes of 'prelu': one for each channel, or one for all; of shape data.shape[:2], one for each channel of
        each example.
    act_type : {'leaky', 'prelu', 'rrelu', 'elu', 'selu', 'gelu'}
        What becomes of x < 0: slope · x; gamma · x; a random slope · x; slope · (exp(x) - 1); the same with the
        constants of self-normalizing networks. 'gelu' is x times the probability that a standard normal is below x.
    slope : float
        For 'leaky' and 'elu'.
    lower_bound, upper_bound : float
        Between which 'rrelu' draws each element's slope in training; otherwise their mean is the slope.
    training : bool, optional
        Whether this is training; by default what `autograd.is_training()` says.

    {returns_like_data}

    {raises_argument_error}
        For another `act_type`, or if 'prelu' has no `gamma`.
    ShapeError
        If `gamma` does not fit the channels.

    {examples}
    >>> nd.LeakyReLU(nd.array([-1, 0, 2]), act_type='leaky', slope=0.1).asnumpy()
    array([-0.1,  0. ,  2. ], dtype=float32)
    """
    require_floats("LeakyReLU", data)
    real = data.dtype.type
    if act_type == "leaky":
        return np.where(data > 0, data, data * real(slope))
    if act_type == "elu":
        return np.where(data > 0, data, real(slope) * np.expm1(np.minimum(data, 0)))
    if act_type == "selu":
        return real(_SELU_SCALE) * np.where(data > 0, data, real(_SELU_ALPHA) * np.expm1(np.minimum(data, 0)))
    if act_type == "gelu":
        return data * _normal_cdf(data).astype(data.dtype, copy=False)
    if act_type == "rrelu":
        if training:
            slopes = generator().uniform(lower_bound, upper_bound, data.shape).astype(data.dtype)
        else:
            slopes = real((lower_bound + upper_bound) / 2)
        return np.where(data > 0, data, data * slopes)
    if act_type != "prelu":
        raise ArgumentError(
            f"LeakyReLU: unknown act_type {act_type!r}; expected one of {', '.join(map(repr, _LEAKY_TYPES))}."
            + nearest(str(act_type), _LEAKY_TYPES)
        )
    if gamma is None:
        raise ArgumentError("LeakyReLU: act_type='prelu' needs gamma, the slopes for negative elements.")
    return np.where(data > 0, data, data * np.reshape(gamma, slopes_shape(gamma.shape, data.shape)))


@leaky_relu.def_kernel
def _leaky_relu_kernel(data: Any, gamma: Any, *, act_type: str, slope: float, **attributes: Any) -> Any:
    if data.size >= LARGE and data.dtype.kind == "f":
        if act_type == "leaky":
            scaled = data * data.dtype.type(slope)
            # The larger one of x and slope x, where this is no more than x itself.
            return np.maximum(data, scaled, out=scaled) if 0 < slope <= 1 else select(data > 0, data, scaled)
        if act_type == "elu":
            below = np.minimum(data, 0)
            np.expm1(below, out=below)
            below *= data.dtype.type(slope)
            return select(data > 0, data, below)
        if act_type == "gelu" and data.dtype.char == "f":
            return float32_gelu(data)
    return leaky_relu.definition(data, gamma, act_type=act_type, slope=slope, **attributes)


@leaky_relu.def_grad(argnum=0)
def _leaky_relu_gradient(ans: Any, data: Any, gamma: Any, *, act_type: str, slope: float) -> Any:
    if act_type == "leaky":
        return lambda g: np.where(data > 0, g, g * slope)
    if act_type == "elu":
        return lambda g: np.where(data > 0, g, g * (ans + slope))
    if act_type == "selu":
        return lambda g: np.where(data > 0, g * _SELU_SCALE, g * (ans + _SELU_SCALE * _SELU_ALPHA))
    if act_type == "gelu":
        density = np.exp(data * data * -0.5) * (1 / math.sqrt(2 * math.pi))
        return lambda g: g * (_normal_cdf(data) + data * density)
    if act_type == "rrelu":  # the slopes that were drawn are ans / data
        return lambda g: np.where(data >= 0, g, g * (ans / np.where(data < 0, data, 1)))
    slopes = np.reshape(gamma, slopes_shape(np.shape(gamma), np.shape(data)))
    return lambda g: np.where(data > 0, g, g * slopes)


@leaky_relu.def_grad_kernel(argnum=0)
def _leaky_relu_raw_gradient(ans: Any, data: Any, gamma: Any, *, act_type: str, slope: float) -> Any:
    if data.size < LARGE or data.dtype.char not in {"leaky": "efd", "elu": "efd", "gelu": "f"}.get(act_type, ""):
        return _leaky_relu_gradient(ans, data, gamma, act_type=act_type, slope=slope)
    if act_type == "leaky":
        return lambda g: select(data > 0, g, g * g.dtype.type(slope))
    if act_type == "elu":
        return lambda g: select(data > 0, g, g * (ans + ans.dtype.type(slope)))

    return lambda g: float32_gelu_gradient(data, g)


@leaky_relu.def_grad(argnum=1)
def _slopes_gradient(ans: Any, data: Any, gamma: Any, *, act_type: str) -> Any:
    shape = np.shape(gamma)
    if act_type != "prelu":
        return lambda g: np.zeros(shape)
    axes = tuple(axis for axis, length in enumerate(slopes_shape(shape, np.shape(data))) if length == 1)

    def gradient(g: Any) -> Any:
        slope_gradients = np.minimum(data, 0) * g
        return np.reshape(sum_over(slope_gradients, axis=axes) if axes else slope_gradients, shape)

    return gradient


@leaky_relu.def_infer_shape
def _leaky_relu_shapes(inputs: Any, outputs: Any, *, act_type: str) -> Any:
    inputs, outputs = like_data(inputs, outputs)
    data, *slopes = inputs
    if act_type == "prelu" and data is not None and slopes:
        channels = (*data, 1)[len(data) > 1]
        if not is_known(slopes[0]):
            slopes = [merge_shapes(slopes[0], (channels,))]  # or one for all, if that is given
        elif is_known(data):
            slopes_shape(slopes[0], data)
    return [data, *slopes], outputs


activation.category = leaky_relu.category = "activation"
activation.caption = leaky_relu.caption = lambda attributes: str(attributes.get("act_type", "leaky"))
