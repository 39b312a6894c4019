"""`minpy.sym.np.random`: symbols whose values are drawn anew at every run; parameters are numbers or symbols."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from minpy.core.numpy_semantics import default_float
from minpy.namespaces import module_functions
from minpy.symbol.numpy.creation import context_text
from minpy.symbol.numpy.elementwise import FUNCTIONS as _ELEMENTWISE
from minpy.symbol.numpy.symbol_class import call, is_symbol

__all__ = [
    "beta",
    "chisquare",
    "choice",
    "exponential",
    "gamma",
    "gumbel",
    "logistic",
    "lognormal",
    "multinomial",
    "normal",
    "pareto",
    "power",
    "rand",
    "randint",
    "randn",
    "rayleigh",
    "uniform",
    "weibull",
]
__dir__, __getattr__ = module_functions("minpy.sym.np.random", __all__, "function")


def drawn(kind: str, parameters: dict[str, Any], size: Any, ctx: Any, dtype: Any = None, typed: bool = True) -> Any:
    """Return the symbol of draws: parameters that are symbols are inputs, others attributes."""
    inputs = [value for value in parameters.values() if is_symbol(value)]
    numbers = {name: None if is_symbol(value) else value for name, value in parameters.items()}
    chosen = {"dtype": (default_float() if dtype is None else numpy.dtype(dtype)).name} if typed else {}
    lengths = tuple(size) if isinstance(size, list) else size
    hint = kind.removeprefix("_npi_")
    if kind != "_npi_powerd":  # the only one that is not told where
        chosen["ctx"] = context_text(ctx)
    return call(kind, inputs, hint, **numbers, size=lengths, **chosen)


def normal(
    loc: Any = 0.0, scale: Any = 1.0, size: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None
) -> Any:
    """Return the symbol of draws from normal distributions."""
    return drawn("_npi_normal", {"loc": loc, "scale": scale}, size, ctx, dtype)


def uniform(
    low: Any = 0.0, high: Any = 1.0, size: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None
) -> Any:
    """Return the symbol of draws from [low, high)."""
    return drawn("_npi_uniform", {"low": low, "high": high}, size, ctx, dtype)


def gamma(shape: Any, scale: Any = 1.0, size: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None) -> Any:
    """Return the symbol of draws from gamma distributions; they have no gradient."""
    return drawn("_npi_gamma", {"shape": shape, "scale": scale}, size, ctx, dtype)


def beta(a: Any, b: Any, size: Any = None, dtype: Any = None, ctx: Any = None) -> Any:
    """Return the symbol of draws from beta distributions, made of draws from two gamma distributions."""
    first, second = gamma(a, 1.0, size, "float64", ctx), gamma(b, 1.0, size, "float64", ctx)
    share = _ELEMENTWISE["divide"](first, _ELEMENTWISE["add"](first, second))
    return call("Cast", [share], "cast", dtype=(default_float() if dtype is None else numpy.dtype(dtype)).name)


def chisquare(df: Any, size: Any = None, dtype: Any = None, ctx: Any = None) -> Any:
    """Return the symbol of draws from chi-square distributions."""
    return gamma(df / 2, 2.0, size, dtype, ctx)


def lognormal(
    mean: Any = 0.0, sigma: Any = 1.0, size: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None
) -> Any:
    """Return the symbol of numbers whose logarithms are drawn from normal distributions."""
    return _ELEMENTWISE["exp"](normal(mean, sigma, size, dtype, ctx))


def _of(kind: str, names: tuple[str, ...], defaults: tuple[float, ...]) -> Callable[..., Any]:
    def draw(*parameters: Any, size: Any = None, ctx: Any = None, out: Any = None, **named: Any) -> Any:
        given = list(parameters)
        if len(given) > len(names):
            size = given.pop()
        values = dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))
        values.update(zip(names, given, strict=False))
        values.update(named)
        return drawn(kind, {name: values[name] for name in names}, size, ctx, typed=False)

    name = {"powerd": "power"}.get(kind.removeprefix("_npi_"), kind.removeprefix("_npi_"))
    draw.__name__ = draw.__qualname__ = name
    draw.__module__ = __name__
    draw.__doc__ = f"Return the symbol of draws from the distribution `{name}`({', '.join(names)}, size)."
    return draw


exponential = _of("_npi_exponential", ("scale",), (1.0,))
gumbel = _of("_npi_gumbel", ("loc", "scale"), (0.0, 1.0))
logistic = _of("_npi_logistic", ("loc", "scale"), (0.0, 1.0))
pareto = _of("_npi_pareto", ("a",), ())
power = _of("_npi_powerd", ("a",), ())
rayleigh = _of("_npi_rayleigh", ("scale",), (1.0,))
weibull = _of("_npi_weibull", ("a",), ())


def rand(*size: int, **kwargs: Any) -> Any:
    """Return the symbol of draws from [0, 1); the shape is given as separate numbers."""
    return uniform(0, 1, size, **kwargs)


def randn(*size: int, **kwargs: Any) -> Any:
    """Return the symbol of draws from the standard normal distribution; the shape is given as separate numbers."""
    return normal(0, 1, size, **kwargs)


def randint(
    low: int, high: int | None = None, size: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None
) -> Any:
    """Return the symbol of whole numbers in [low, high), or in [0, low)."""
    if high is None:
        low, high = 0, low
    shape = () if size is None else (size,) if isinstance(size, int) else tuple(size)
    chosen = "int64" if dtype is None or numpy.dtype(dtype) == numpy.int64 else numpy.dtype(dtype).name
    return call(
        "_random_randint", [], "random_randint", low=low, high=high, shape=shape, ctx=context_text(ctx), dtype=chosen
    )


def choice(a: Any, size: Any = None, replace: bool = True, p: Any = None, ctx: Any = None, out: Any = None) -> Any:
    """Return the symbol of elements drawn from an array, or of numbers below `a`."""
    inputs = [one for one in (a, p) if is_symbol(one)]
    given = {"size": size, "replace": replace, "weighted": p is not None}
    if not is_symbol(a):
        return call("_npi_choice", inputs, "choice", a=int(a), ctx=context_text(ctx), **given)
    where = call("_npi_choice", inputs, "choice", a=None, ctx="None", **given)
    return call("take", [a, where], "take")


def multinomial(n: int, pvals: Any, size: Any = None, **kwargs: Any) -> Any:
    """Return the symbol of how often each of several outcomes occurred in n draws."""
    if is_symbol(pvals):
        return call("_npi_multinomial", [pvals], "multinomial", n=n, pvals=None, size=size)
    return call("_npi_multinomial", [], "multinomial", n=n, pvals=tuple(pvals), size=size)
