"""Draws whose parameters are recorded: functions of the parameters and of noise that does not depend on them.

Their gradients are those of these functions. What is drawn from the same seed is what it is without recording, within
rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy

from minpy.core.array import Array, raw_of
from minpy.core.errors import ArgumentError, NoGradientError
from minpy.core.followed import is_followed
from minpy.numpy.creation import array, asarray
from minpy.numpy.wrapping import wrap_function
from minpy.ops.random.generator import generator
from minpy.ops.registry import operator

__all__ = ["INTEGERS", "RECIPES", "followed_draw", "standard_normal"]

# What they draw are whole numbers: they have no gradient.
INTEGERS = frozenset(
    "binomial geometric hypergeometric logseries multinomial negative_binomial poisson zipf".split()  # noqa: SIM905
)

_exp, _expm1, _sqrt, _where, _power, _take = (
    wrap_function(function, function.__name__)
    for function in (numpy.exp, numpy.expm1, numpy.sqrt, numpy.where, numpy.power, numpy.take)
)


@operator(name="_draws_of", public=False)
def draws_of(*parameters: Any, draws: Any) -> Any:
    """Return numbers that were drawn with parameters by which they are not differentiated: the gradient is zero."""
    return numpy.array(draws)


draws_of.def_grad_zero()
draws_of.may_alias = False


class Recipe(NamedTuple):
    """How a distribution is drawn from: its parameters with their defaults, and a function of a shape and of them."""

    parameters: Mapping[str, Any]
    draw: Callable[..., Any]


def standard_normal(shape: Any) -> numpy.ndarray:
    """Return draws from the standard normal distribution, as a float64 array."""
    return numpy.asarray(generator().standard_normal(shape))


def _moved(noise: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Return the function that draws `loc + scale * noise`."""
    return lambda shape, loc, scale: loc + scale * numpy.asarray(noise(generator(), shape))


def _exponential(shape: Any) -> numpy.ndarray:
    return numpy.asarray(generator().standard_exponential(shape))


def _triangular(shape: Any, left: Any, mode: Any, right: Any) -> Any:
    share = numpy.asarray(generator().random(shape))
    width, below = right - left, mode - left
    low = left + _sqrt(share * below * width)
    high = right - _sqrt((1.0 - share) * (right - mode) * width)
    return _where(share <= raw_of(below) / raw_of(width), low, high)


def _multivariate(shape: Any, mean: Any, cov: Any) -> Any:
    if is_followed(cov):
        raise NoGradientError(
            "np.random.multivariate_normal has no gradient with respect to cov. Write mean + L @ np.random.normal(size="
            "n) with L = np.linalg.cholesky(cov), or call it with cov.detach()."
        )
    zeros = numpy.zeros(numpy.shape(mean))
    return mean + generator().multivariate_normal(zeros, raw_of(cov), shape)


def _gamma(shape: Any, form: Any, scale: Any = 1.0) -> Any:
    return scale * _without(lambda form: generator().standard_gamma(form, shape), form)


def _without(draw: Callable[..., Any], *parameters: Any) -> Any:
    """Return draws by whose parameters they are not differentiated."""
    return draws_of(*parameters, draws=numpy.asarray(draw(*map(_raw, parameters))))


def _raw(value: Any) -> Any:
    while hasattr(value, "_value"):  # a box of HIPS autograd
        value = value._value
    return raw_of(value)


_LOCATED = {"loc": 0.0, "scale": 1.0}
RECIPES: dict[str, Recipe] = {
    "beta": Recipe(
        {"a": ..., "b": ...}, lambda shape, a, b: _without(lambda a, b: generator().beta(a, b, shape), a, b)
    ),
    "chisquare": Recipe({"df": ...}, lambda shape, df: _without(lambda df: generator().chisquare(df, shape), df)),
    "exponential": Recipe({"scale": 1.0}, lambda shape, scale: scale * _exponential(shape)),
    "gamma": Recipe({"shape": ..., "scale": 1.0}, _gamma),
    "gumbel": Recipe(_LOCATED, _moved(lambda draw, shape: draw.gumbel(0.0, 1.0, shape))),
    "laplace": Recipe(_LOCATED, _moved(lambda draw, shape: draw.laplace(0.0, 1.0, shape))),
    "logistic": Recipe(_LOCATED, _moved(lambda draw, shape: draw.logistic(0.0, 1.0, shape))),
    "lognormal": Recipe(
        {"mean": 0.0, "sigma": 1.0}, lambda shape, mean, sigma: _exp(mean + sigma * standard_normal(shape))
    ),
    "multivariate_normal": Recipe({"mean": ..., "cov": ...}, _multivariate),
    "normal": Recipe(_LOCATED, _moved(lambda draw, shape: draw.standard_normal(shape))),
    "pareto": Recipe({"a": ...}, lambda shape, a: _expm1(_exponential(shape) / a)),
    "power": Recipe({"a": ...}, lambda shape, a: _power(-numpy.expm1(-_exponential(shape)), 1.0 / a)),
    "rayleigh": Recipe({"scale": 1.0}, lambda shape, scale: scale * numpy.sqrt(2.0 * _exponential(shape))),
    "standard_gamma": Recipe({"shape": ...}, _gamma),
    "triangular": Recipe({"left": ..., "mode": ..., "right": ...}, _triangular),
    "uniform": Recipe(
        {"low": 0.0, "high": 1.0},
        lambda shape, low, high: low + (high - low) * numpy.asarray(generator().random(shape)),
    ),
    "weibull": Recipe({"a": ...}, lambda shape, a: _power(_exponential(shape), 1.0 / a)),
}


def followed_draw(name: str, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
    """Return what a function of `np.random` draws, some of whose parameters are recorded or traced.

    Raises
    ------
    NoGradientError
        If what it draws has no gradient with respect to them that is known.
    ArgumentError
        If a parameter is missing, or there is no such one.
    """
    if name in ("choice", "permutation"):
        return (_choice if name == "choice" else _permutation)(*arguments, **keywords)
    if name not in RECIPES:
        raise NoGradientError(
            f"np.random.{name} has no gradient with respect to its parameters, and one of them is recorded. Call it "
            "with x.detach() if no gradient shall flow."
        )
    recipe = RECIPES[name]
    values = {**recipe.parameters, "size": None}
    if len(arguments) > len(values):
        raise ArgumentError(f"np.random.{name}: got {len(arguments)} arguments; expected {', '.join(values)}.")
    passed = {**dict(zip(values, arguments, strict=False)), **keywords}
    for key in passed:
        if key not in values:
            raise ArgumentError(f"np.random.{name}: it has no argument {key!r}; expected {', '.join(values)}.")
    values.update(passed)
    size = values.pop("size")
    for key, value in values.items():
        if value is ...:
            raise ArgumentError(f"np.random.{name}: the argument {key!r} is missing.")
        if isinstance(value, (list, tuple)):
            values[key] = asarray(value) if is_followed(value) else numpy.asarray(value)
        elif isinstance(value, Array):
            values[key] = value.as_np_ndarray()
    parameters = values.values()
    if name != "multivariate_normal" and size is None:
        size = numpy.broadcast_shapes(*(numpy.shape(_raw(value)) for value in parameters))
    return recipe.draw(size, *parameters)


def _permutation(x: Any, axis: int = 0) -> Any:
    """Return an array in random order along an axis."""
    x = asarray(x)
    return _take(x, generator().permutation(numpy.shape(_raw(x))[axis]), axis=axis)


def _choice(a: Any, size: Any = None, replace: bool = True, p: Any = None, axis: int = 0, shuffle: bool = True) -> Any:
    """Return elements of an array at positions that are drawn; these are constants, also where `p` is recorded."""
    if is_followed(p) and not isinstance(p, Array):
        p = asarray(p)
    shape = numpy.shape(_raw(a))
    positions = generator().choice(shape[axis] if shape else a, size, replace, _raw(p), shuffle=shuffle)
    return _take(asarray(a), positions, axis=axis) if shape else array(positions, dtype="int64")
