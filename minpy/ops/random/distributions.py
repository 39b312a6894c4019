"""Random numbers from distributions: what draws them, by name. Operators are made of it in `samplers`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minpy.core.errors import ArgumentError, DTypeError, ShapeError
from minpy.ops.dtypes import dtype_or
from minpy.ops.random.generator import generator

__all__ = ["DISTRIBUTIONS", "as_shape", "draw", "draw_each", "draw_integers", "names_of_arrays"]


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
    beta_fits = np.greater(beta, 0) if np.ndim(beta) == 0 else np.greater_equal(beta, 0)  # in arrays 0 gives 0
    _require(np.greater(alpha, 0) & beta_fits, "gamma", "alpha {} and beta {} must be positive", alpha, beta)
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


# Where arrays as parameters have other names than numbers.
_NAMES_OF_ARRAYS = {"loc": "mu", "scale": "sigma"}


def names_of_arrays(name: str) -> list[str]:
    """Return what the parameters of a distribution are called where they are arrays."""
    return [_NAMES_OF_ARRAYS.get(key, key) for key in DISTRIBUTIONS[name][0]]


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
