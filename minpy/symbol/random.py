"""`minpy.sym.random`: symbols whose values are drawn anew at every run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minpy.namespaces import listing
from minpy.ops.registry import OPERATORS, find_operator
from minpy.symbol.composing import compose
from minpy.symbol.symbol import Symbol

# By name: the parameters, as MXNet calls and orders them, and their defaults.
_DISTRIBUTIONS: dict[str, dict[str, float]] = {
    "uniform": {"low": 0, "high": 1},
    "normal": {"loc": 0, "scale": 1},
    "gamma": {"alpha": 1, "beta": 1},
    "exponential": {"scale": 1},
    "poisson": {"lam": 1},
    "negative_binomial": {"k": 1, "p": 1},
    "generalized_negative_binomial": {"mu": 1, "alpha": 1},
}

__all__ = [*_DISTRIBUTIONS, *(f"{name}_like" for name in _DISTRIBUTIONS), "multinomial", "randint", "randn", "shuffle"]
__dir__ = listing(__all__)

_DOC = """Return the symbol of draws from a distribution, as `minpy.nd.random.{name}` makes them.

Numbers as parameters give an array of `shape`; symbols give `shape` draws for each of their elements.
"""


def _distribution(name: str, defaults: dict[str, float]) -> Callable[..., Symbol]:
    def draw(*arguments: Any, shape: Any = None, dtype: Any = None, ctx: Any = None, **keywords: Any) -> Symbol:
        values = dict(zip([*defaults, "shape", "dtype"], arguments, strict=False))
        shape, dtype = values.pop("shape", shape), values.pop("dtype", dtype)
        for parameter in defaults:
            values[parameter] = keywords.pop(parameter, values.get(parameter, defaults[parameter]))
        if name == "exponential":  # MXNet's operators take the rate
            values["lam"] = 1.0 / values.pop("scale")
        extra = {key: value for key, value in (("shape", shape), ("dtype", dtype)) if value is not None}
        sampled = any(isinstance(value, Symbol) for value in values.values())
        kind = f"_{'sample' if sampled else 'random'}_{name}"
        return compose(find_operator(kind), kind, (), {**values, **extra, **keywords})

    draw.__name__ = draw.__qualname__ = name
    draw.__doc__ = _DOC.format(name=name)
    return draw


def _like(name: str) -> Callable[..., Symbol]:
    kind = f"_random_{name}_like"

    def draw(data: Symbol, **keywords: Any) -> Symbol:
        return compose(find_operator(kind), kind, (data,), keywords, f"{name}_like")

    draw.__name__ = draw.__qualname__ = f"{name}_like"
    draw.__doc__ = f"Return the symbol of draws of the shape of `data`; see `{name}`."
    return draw


for _name, _defaults in _DISTRIBUTIONS.items():
    globals()[_name] = _distribution(_name, _defaults)
    if f"_random_{_name}_like" in OPERATORS:
        globals()[f"{_name}_like"] = _like(_name)


def randint(low: int, high: int, shape: Any = None, dtype: Any = None, **keywords: Any) -> Symbol:
    """Return the symbol of whole numbers in [low, high)."""
    extra = {key: value for key, value in (("shape", shape), ("dtype", dtype)) if value is not None}
    return compose(
        find_operator("_random_randint"), "_random_randint", (), {"low": low, "high": high, **extra, **keywords}
    )


def randn(*shape: int, **keywords: Any) -> Symbol:
    """Return the symbol of normal draws of a shape; `loc` and `scale` by keyword."""
    drawn: Symbol = globals()["normal"](shape=shape, **keywords)
    return drawn


def multinomial(
    data: Symbol, shape: Any = None, get_prob: bool = False, dtype: str = "int32", **keywords: Any
) -> Symbol:
    """Return the symbol of class numbers, drawn by the probabilities in `data`."""
    extra = {} if shape is None else {"shape": shape}
    attributes = {"get_prob": get_prob, "dtype": dtype, **extra, **keywords}
    return compose(find_operator("_sample_multinomial"), "_sample_multinomial", (data,), attributes)


def shuffle(data: Symbol, **keywords: Any) -> Symbol:
    """Return the symbol of the rows of `data` in a random order."""
    return compose(find_operator("_shuffle"), "_shuffle", (data,), keywords)
