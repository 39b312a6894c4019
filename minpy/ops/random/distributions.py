"""Random arrays. Operators without inputs make NumPy arrays here; `minpy.nd.random` places them on a context."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minpy.core.errors import ArgumentError, DTypeError, ShapeError
from minpy.ops.dtypes import dtype_or
from minpy.ops.inference.partial_shapes import as_dtype, same_dtype, same_shape
from minpy.ops.inference.rules import forwards, numbered
from minpy.ops.random.generator import generator
from minpy.ops.registry import operator

__all__ = ["DISTRIBUTIONS", "draw", "multinomial", "shuffle"]


def _float_dtype(name: str, dtype: Any) -> np.dtype:
    found = dtype_or(dtype, np.float32)
    if found.kind != "f":
        raise DTypeError(f"{name}: dtype {found} is not floating point; expected 'float16', 'float32' or 'float64'.")
    return found


def _integer_dtype(name: str, dtype: Any) -> np.dtype:
    found = dtype_or(dtype, np.int32)
    if found.kind not in "iu":
        raise DTypeError(f"{name}: dtype {found} does not hold integers; expected 'int32' or 'int64'.")
    return found


def _require(condition: Any, name: str, text: str, *values: Any) -> None:
    if not np.all(condition):
        raise ArgumentError(f"{name}: {text.format(*values)}.")


def _uniform(low: Any, high: Any, shape: Any, dtype: Any) -> Any:
    _require(np.less_equal(low, high), "uniform", "low {} is greater than high {}", low, high)
    if dtype == np.float32 and np.ndim(low) == np.ndim(high) == 0:
        result = generator().random(shape, np.float32)
        result *= np.float32(high - low)
        result += np.float32(low)
        return result
    return generator().uniform(low, high, shape)


def _normal(loc: Any, scale: Any, shape: Any, dtype: Any) -> Any:
    _require(np.greater_equal(scale, 0), "normal", "scale {} is negative", scale)
    if dtype == np.float32 and np.ndim(loc) == np.ndim(scale) == 0:
        result = generator().standard_normal(shape, np.float32)
        result *= np.float32(scale)
        result += np.float32(loc)
        return result
    return generator().normal(loc, scale, shape)


def _gamma(alpha: Any, beta: Any, shape: Any, dtype: Any) -> Any:
    _require(np.greater(alpha, 0) & np.greater(beta, 0), "gamma", "alpha {} and beta {} must be positive", alpha, beta)
    return generator().gamma(alpha, beta, shape)


def _exponential(lam: Any, shape: Any, dtype: Any) -> Any:
    _require(np.greater(lam, 0), "exponential", "the rate lam {} must be positive", lam)
    return generator().exponential(np.true_divide(1, lam), shape)


def _poisson(lam: Any, shape: Any, dtype: Any) -> Any:
    _require(np.greater_equal(lam, 0), "poisson", "lam {} is negative", lam)
    return generator().poisson(lam, shape)


def _negative_binomial(k: Any, p: Any, shape: Any, dtype: Any) -> Any:
    _require(np.greater(k, 0), "negative_binomial", "k {} must be positive", k)
    _require(np.greater(p, 0) & np.less_equal(p, 1), "negative_binomial", "p {} is not in (0, 1]", p)
    return generator().negative_binomial(k, p, shape)


def _generalized_negative_binomial(mu: Any, alpha: Any, shape: Any, dtype: Any) -> Any:
    # A Poisson variable whose rate is drawn from a gamma distribution of mean mu and variance alpha · mu².
    name = "generalized_negative_binomial"
    _require(np.greater_equal(mu, 0) & np.greater_equal(alpha, 0), name, "mu {} or alpha {} is negative", mu, alpha)
    mu, alpha = np.broadcast_arrays(np.asarray(mu, float), np.asarray(alpha, float))
    spread = np.where(alpha > 0, alpha, 1)
    rate = generator().gamma(1 / spread, spread, shape) * mu
    return generator().poisson(np.where(alpha > 0, rate, mu))


# Name: the parameters with their defaults, and the function that draws.
DISTRIBUTIONS: dict[str, tuple[dict[str, float], Callable[..., Any]]] = {
    "uniform": ({"low": 0.0, "high": 1.0}, _uniform),
    "normal": ({"loc": 0.0, "scale": 1.0}, _normal),
    "gamma": ({"alpha": 1.0, "beta": 1.0}, _gamma),
    "exponential": ({"lam": 1.0}, _exponential),
    "poisson": ({"lam": 1.0}, _poisson),
    "negative_binomial": ({"k": 1, "p": 1.0}, _negative_binomial),
    "generalized_negative_binomial": ({"mu": 1.0, "alpha": 1.0}, _generalized_negative_binomial),
}


def as_shape(shape: Any) -> tuple[int, ...]:
    """Return a shape as a tuple: None is one element, a number one axis."""
    if shape is None:
        return (1,)
    return (int(shape),) if isinstance(shape, (int, np.integer)) else tuple(shape)


def draw(name: str, parameters: Any, shape: Any, dtype: Any = None) -> np.ndarray:
    """Return an array drawn from one of `DISTRIBUTIONS`, with numbers as parameters."""
    dtype = _float_dtype(name, dtype)
    return np.asarray(DISTRIBUTIONS[name][1](*parameters, as_shape(shape), dtype)).astype(dtype, copy=False)


def draw_each(name: str, parameters: Any, shape: Any, dtype: Any = None) -> np.ndarray:
    """Return, for each element of the parameters (arrays of equal shapes), an array of `shape` drawn with it."""
    dtype = _float_dtype(name, dtype)
    parameters = [np.asarray(value) for value in parameters]
    if len({value.shape for value in parameters}) > 1:
        shapes = " and ".join(str(value.shape) for value in parameters)
        raise ShapeError(f"sample_{name}: the parameters have shapes {shapes}; they must be equal.")
    inner = as_shape(shape) if shape is not None else ()
    expanded = [value.reshape(value.shape + (1,) * len(inner)) for value in parameters]
    drawn = DISTRIBUTIONS[name][1](*expanded, parameters[0].shape + inner, dtype)
    return np.asarray(drawn).astype(dtype, copy=False)


def draw_integers(low: int, high: int, shape: Any, dtype: Any = None) -> np.ndarray:
    """Return integers in [low, high)."""
    dtype = _integer_dtype("randint", dtype)
    _require(low < high, "randint", "low {} is not below high {}; numbers lie in [low, high)", low, high)
    return generator().integers(low, high, as_shape(shape), dtype)


@operator(name="_shuffle", aliases=("shuffle",), random=True)
def shuffle(data: np.ndarray) -> np.ndarray:
    """Return the data with its elements along the first axis in random order.

    Parameters
    ----------
    data : NDArray
        With one axis or more.

    Returns
    -------
    NDArray

    Examples
    --------
    >>> from minpy import nd
    >>> sorted(nd.shuffle(nd.array([3, 1, 2])).asnumpy().tolist())
    [1.0, 2.0, 3.0]
    """
    return generator().permutation(data, axis=0)


@operator(
    name="sample_multinomial",
    aliases=("_sample_multinomial",),
    outputs=lambda attributes: numbered(2) if attributes.get("get_prob") else ("output",),
    random=True,
)
def multinomial(
    data: np.ndarray, *, shape: int | tuple[int, ...] = (), get_prob: bool = False, dtype: str = "int32"
) -> Any:
    """Return category numbers drawn with given probabilities.

    Parameters
    ----------
    data : NDArray
        Probabilities, which sum to 1 along the last axis; with one axis, or a batch of them.
    shape : int or tuple of int
        How many to draw for each; one if left out.
    get_prob : bool
        Whether to return the logarithms of the drawn categories' probabilities too.
    dtype : str
        Of the result.

    Returns
    -------
    NDArray, or two of them
        Of shape data.shape[:-1] + shape; (1,) if that has no axis.

    Raises
    ------
    ArgumentError
        If a probability is negative, or all are 0.

    Examples
    --------
    >>> from minpy import nd
    >>> nd.sample_multinomial(nd.array([[0, 1], [1, 0]]), shape=2).asnumpy()
    array([[1, 1],
           [0, 0]], dtype=int32)
    """
    if not data.ndim:
        raise ShapeError("sample_multinomial: data has shape (); expected probabilities along the last axis.")
    inner = as_shape(shape)
    rows = data.reshape(-1, data.shape[-1]).astype(np.float64)
    totals = np.cumsum(rows, axis=1)
    if (rows < 0).any() or not (totals[:, -1:] > 0).all():
        raise ArgumentError("sample_multinomial: each row of data must hold probabilities: none negative, not all 0.")
    count = int(np.prod(inner, dtype=np.int64))
    uniform = generator().random((len(rows), count)) * totals[:, -1:]
    drawn = np.array([np.searchsorted(t, u, side="right") for t, u in zip(totals, uniform, strict=True)], np.intp)
    drawn = drawn.reshape(len(rows), count)
    result = drawn.astype(dtype).reshape((data.shape[:-1] + inner) or (1,))
    if not get_prob:
        return result
    logarithms = np.log(np.take_along_axis(rows, drawn, 1)).astype(data.dtype)
    return result, logarithms.reshape(result.shape)


@multinomial.def_grad()
def _multinomial_gradient(ans: Any, data: Any, *, get_prob: bool) -> Any:
    size = np.shape(data)
    if not get_prob:
        return lambda g: np.zeros(size)
    drawn, logarithms = (getattr(value, "_data", value) for value in ans)
    rows = (-1, size[-1])

    def gradient(g: Any) -> Any:
        positions = drawn.astype(np.intp).reshape(-1, max(logarithms.size // max(np.prod(size[:-1], dtype=int), 1), 1))
        hot = positions[..., None] == np.arange(size[-1])
        weights = np.reshape(g[1], positions.shape)[..., None] / np.reshape(data, rows)[:, None, :]
        return np.reshape(np.sum(np.where(hot, weights, 0), axis=1), size)

    return gradient


shuffle.def_grad_zero()
shuffle.def_infer_shape(same_shape)


@multinomial.def_infer_shape
@forwards
def _multinomial_shape(data: Any, *, shape: Any = (), **_: Any) -> Any:
    if not data:
        raise ShapeError("data has shape (); expected probabilities along the last axis.")
    return data[:-1] + as_shape(shape) or (1,)


@multinomial.def_infer_type
def _multinomial_dtypes(inputs: Any, outputs: Any, *, dtype: Any) -> Any:
    data, logarithms = same_dtype(inputs, outputs[1:])
    return data, [as_dtype(dtype), *logarithms]


multinomial.saved_name = "_sample_multinomial"
