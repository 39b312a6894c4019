"""Functions that draw random numbers, by the names of distributions. `samplers` makes operators of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from minpy.core.errors import ArgumentError, DTypeError, ShapeError
from minpy.ops.dtype_attributes import dtype_or
from minpy.ops.random.generator import generator

__all__ = ["DISTRIBUTIONS", "Distribution", "as_shape", "draw", "draw_each", "draw_integers"]


def _float_dtype(name: str, dtype: Any) -> np.dtype:
    resolved = dtype_or(dtype, np.float32)
    if resolved.kind != "f":
        raise DTypeError(f"{name}: dtype {resolved} is not floating point; expected 'float16', 'float32' or 'float64'.")
    return resolved


def _integer_dtype(name: str, dtype: Any) -> np.dtype:
    resolved = dtype_or(dtype, np.int32)
    if resolved.kind not in "iu":
        raise DTypeError(f"{name}: dtype {resolved} does not hold integers; expected 'int32' or 'int64'.")
    return resolved


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


@dataclass(frozen=True)
class Distribution:
    """A distribution, of which namespaces make their functions and operators.

    Attributes
    ----------
    parameters : dict of str to float
        With their defaults, as operators have them.
    draw : callable
        Returns an array, of parameters that broadcast, a shape and a dtype.
    result, error, documented, example : str
        For docstrings: what is drawn; when drawing raises; the parameters and arguments of an example.
    """

    parameters: dict[str, float]
    draw: Callable[..., Any]
    result: str
    example: str
    documented: str
    error: str = "For parameters that the distribution does not have."

    @property
    def arguments(self) -> dict[str, float]:
        """The parameters as functions for programs have them: of `exponential` that is the mean, and not the rate."""
        if self.draw is _exponential:
            return {"scale": 1}
        return {name: int(default) for name, default in self.parameters.items()}

    @property
    def names_of_arrays(self) -> list[str]:
        """What the parameters are called where they are arrays."""
        return ["mu", "sigma"] if self.draw is _normal else [*self.parameters]


DISTRIBUTIONS: dict[str, Distribution] = {
    "uniform": Distribution(
        {"low": 0.0, "high": 1.0},
        _uniform,
        "numbers drawn uniformly from [low, high)",
        "2, 3",
        "low, high : float or NDArray",
        "If `low` is greater than `high`.",
    ),
    "normal": Distribution(
        {"loc": 0.0, "scale": 1.0},
        _normal,
        "numbers drawn from the normal distribution of mean `loc` and standard deviation `scale`",
        "0, 1",
        "loc, scale : float or NDArray",
    ),
    "gamma": Distribution(
        {"alpha": 1.0, "beta": 1.0},
        _gamma,
        "numbers drawn from the gamma distribution of shape `alpha` and scale `beta`",
        "2, 1",
        "alpha, beta : float or NDArray",
    ),
    "exponential": Distribution(
        {"lam": 1.0},
        _exponential,
        "numbers drawn from the exponential distribution of mean `scale`",
        "2",
        "scale : float or NDArray",
    ),
    "poisson": Distribution(
        {"lam": 1.0},
        _poisson,
        "counts drawn from the Poisson distribution of mean `lam`, in a float dtype",
        "3",
        "lam : float or NDArray",
    ),
    "negative_binomial": Distribution(
        {"k": 1, "p": 1.0},
        _negative_binomial,
        "how many failures come before the k-th success of probability p, in a float dtype",
        "3, 0.5",
        "k : int or NDArray\np : float or NDArray",
    ),
    "generalized_negative_binomial": Distribution(
        {"mu": 1.0, "alpha": 1.0},
        _generalized_negative_binomial,
        "counts of mean `mu` and variance mu + alpha · mu², in a float dtype",
        "2, 0.5",
        "mu, alpha : float or NDArray",
    ),
}


def as_shape(shape: Any) -> tuple[int, ...]:
    """Return a shape as a tuple: None is one element, a number one axis."""
    if shape is None:
        return (1,)
    return (int(shape),) if isinstance(shape, (int, np.integer)) else tuple(shape)


def draw(name: str, parameters: Any, shape: Any, dtype: Any = None) -> np.ndarray:
    """Return an array drawn from one of `DISTRIBUTIONS`, with numbers as parameters."""
    dtype = _float_dtype(name, dtype)
    return np.asarray(DISTRIBUTIONS[name].draw(*parameters, as_shape(shape), dtype)).astype(dtype, copy=False)


def draw_each(name: str, parameters: Any, shape: Any, dtype: Any = None) -> np.ndarray:
    """Return, for each element of the parameters (arrays of equal shapes), an array of `shape` drawn with it."""
    dtype = _float_dtype(name, dtype)
    parameters = [np.asarray(value) for value in parameters]
    if len({value.shape for value in parameters}) > 1:
        shapes = " and ".join(str(value.shape) for value in parameters)
        raise ShapeError(f"sample_{name}: the parameters have shapes {shapes}; they must be equal.")
    inner = as_shape(shape) if shape is not None else ()
    expanded = [value.reshape(value.shape + (1,) * len(inner)) for value in parameters]
    drawn = DISTRIBUTIONS[name].draw(*expanded, parameters[0].shape + inner, dtype)
    return np.asarray(drawn).astype(dtype, copy=False)


def draw_integers(low: int, high: int, shape: Any, dtype: Any = None) -> np.ndarray:
    """Return integers in [low, high)."""
    dtype = _integer_dtype("randint", dtype)
    _require(low < high, "randint", "low {} is not below high {}; numbers lie in [low, high)", low, high)
    return generator().integers(low, high, as_shape(shape), dtype)
