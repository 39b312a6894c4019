"""`minpy.sym.random`: symbols whose values are drawn anew at every run."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from minpy.core.attributes import REQUIRED
from minpy.core.errors import ArgumentError
from minpy.namespaces import listing, missing
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

# `exponential_like` takes the rate, as its operator does.
_LIKE_DEFAULTS: dict[str, dict[str, float]] = {"exponential": {"lam": 1}}

__all__ = [*_DISTRIBUTIONS, *(f"{name}_like" for name in _DISTRIBUTIONS), "multinomial", "randint", "randn", "shuffle"]
__dir__ = listing(__all__)
__getattr__ = missing("minpy.sym.random", "name", __all__)

_DOC = """Return the symbol of draws from a distribution, as `minpy.nd.random.{name}` makes them.

Numbers as parameters give an array of `shape`; symbols give `shape` draws for each of their elements.
"""


def _distribution(name: str, defaults: dict[str, float]) -> Callable[..., Any]:
    def draw(shape: Any, dtype: Any, ctx: Any, name_: str | None, attr: Any, **values: Any) -> Symbol:
        if name == "exponential":  # MXNet's operators take the rate
            values["lam"] = 1.0 / values.pop("scale")
        options = {"shape": shape, "dtype": dtype, "name": name_, "attr": attr}
        given = {key: value for key, value in options.items() if value is not None}
        sampled = any(isinstance(value, Symbol) for value in values.values())
        kind = f"_{'sample' if sampled else 'random'}_{name}"
        if sampled and name == "normal":  # as the operator calls them that draws for each element
            values = {"mu": values["loc"], "sigma": values["scale"]}
        return compose(find_operator(kind), kind, (), {**values, **given})

    parameters = {**defaults, "shape": None, "dtype": None, "ctx": None, "name": None, "attr": None}
    return _with_signature(name, parameters, draw, _DOC.format(name=name))


def _like(name: str, defaults: dict[str, float]) -> Callable[..., Any]:
    kind = f"_random_{name}_like"

    def draw(data: Any, name_: str | None, attr: Any, **values: Any) -> Symbol:
        options = {key: value for key, value in (("name", name_), ("attr", attr)) if value is not None}
        return compose(find_operator(kind), kind, (data,), {**values, **options}, f"{name}_like")

    parameters = {"data": REQUIRED, **defaults, "name": None, "attr": None}
    doc = f"Return the symbol of draws of the shape of `data`; see `{name}`."
    return _with_signature(f"{name}_like", parameters, draw, doc)


def _with_signature(
    name: str, parameters: dict[str, Any], function: Callable[..., Any], doc: str
) -> Callable[..., Any]:
    """Return a function of parameters with defaults, which calls another with all of them by keyword."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    signature = inspect.Signature([inspect.Parameter(key, kind, default=value) for key, value in parameters.items()])

    def call(*arguments: Any, **keywords: Any) -> Any:
        try:
            bound = signature.bind(*arguments, **keywords)
        except TypeError as error:
            raise ArgumentError(f"sym.random.{name}: {error}; it takes {', '.join(parameters)}.") from None
        bound.apply_defaults()
        given = bound.arguments
        given["name_"] = given.pop("name")
        return function(**given)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = doc
    vars(call)["__signature__"] = signature
    return call


for _name, _defaults in _DISTRIBUTIONS.items():
    globals()[_name] = _distribution(_name, _defaults)
    if f"_random_{_name}_like" in OPERATORS:
        globals()[f"{_name}_like"] = _like(_name, _LIKE_DEFAULTS.get(_name, _defaults))


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
    data: Symbol, shape: Any = None, get_prob: bool = True, dtype: str = "int32", **keywords: Any
) -> Symbol:
    """Return the symbol of class numbers, drawn by the probabilities in `data`; and of the logarithms of theirs.

    As in MXNet `get_prob` is True here, and False in `nd.random.multinomial`.
    """
    extra = {} if shape is None else {"shape": shape}
    attributes = {"get_prob": get_prob, "dtype": dtype, **extra, **keywords}
    return compose(find_operator("_sample_multinomial"), "_sample_multinomial", (data,), attributes)


def shuffle(data: Symbol, **keywords: Any) -> Symbol:
    """Return the symbol of the rows of `data` in a random order."""
    return compose(find_operator("_shuffle"), "_shuffle", (data,), keywords)
