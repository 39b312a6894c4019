"""`minpy.sym.random`: symbols whose values are drawn anew at every run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minpy.core.signatures import REQUIRED
from minpy.namespaces import module_functions
from minpy.ndarray.random import function_of
from minpy.ops.random.distributions import DISTRIBUTIONS
from minpy.ops.registry import find_operator
from minpy.symbol.composition import compose
from minpy.symbol.symbol import Symbol

__all__ = [*DISTRIBUTIONS, *(f"{name}_like" for name in DISTRIBUTIONS), "multinomial", "randint", "randn", "shuffle"]
__dir__, __getattr__ = module_functions("minpy.sym.random", __all__)

_DOC = """Return the symbol of draws from a distribution, as `minpy.nd.random.{name}` makes them.

Numbers as parameters give an array of `shape`; symbols give `shape` draws for each of their elements.
"""


def _distribution(name: str) -> Callable[..., Any]:
    distribution = DISTRIBUTIONS[name]

    def draw(*values: Any) -> Symbol:
        *parameters, shape, dtype, _ctx, name_, attr = values
        sampled = any(isinstance(value, Symbol) for value in parameters)
        if name == "exponential":  # MXNet's operators take the rate
            parameters = [1.0 / parameters[0]]
        names = distribution.names_of_arrays if sampled else distribution.parameters
        attributes = dict(zip(names, parameters, strict=True))
        kind = f"_{'sample' if sampled else 'random'}_{name}"
        options = {"shape": shape, "dtype": dtype, "name": name_, "attr": attr}
        return compose(find_operator(kind), kind, (), {**attributes, **_set(options)})

    options = {"shape": None, "dtype": None, "ctx": None, "name": None, "attr": None}
    parameters = {**distribution.arguments, **options}
    return _function(name, parameters, draw, _DOC.format(name=name))


def _like(name: str) -> Callable[..., Any]:
    kind = f"_random_{name}_like"
    defaults = {key: int(default) for key, default in DISTRIBUTIONS[name].parameters.items()}

    def draw(data: Any, *values: Any) -> Symbol:
        *parameters, name_, attr = values
        attributes = {**dict(zip(defaults, parameters, strict=True)), **_set({"name": name_, "attr": attr})}
        return compose(find_operator(kind), kind, (data,), attributes, f"{name}_like")

    parameters = {"data": REQUIRED, **defaults, "name": None, "attr": None}
    doc = f"Return the symbol of draws of the shape of `data`; see `{name}`."
    return _function(f"{name}_like", parameters, draw, doc)


def _function(name: str, parameters: dict[str, Any], draw: Callable[..., Any], doc: str) -> Callable[..., Any]:
    function = function_of("sym.random", name, parameters, draw, doc, returns="Symbol")
    function.__module__ = __name__
    return function


def _set(options: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in options.items() if value is not None}


for _name in DISTRIBUTIONS:
    globals()[_name] = _distribution(_name)
    globals()[f"{_name}_like"] = _like(_name)


def randint(low: int, high: int, shape: Any = None, dtype: Any = None, **keywords: Any) -> Symbol:
    """Return the symbol of whole numbers in [low, high)."""
    attributes = {"low": low, "high": high, **_set({"shape": shape, "dtype": dtype}), **keywords}
    return compose(find_operator("_random_randint"), "_random_randint", (), attributes)


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
    attributes = {"get_prob": get_prob, "dtype": dtype, **_set({"shape": shape}), **keywords}
    return compose(find_operator("_sample_multinomial"), "_sample_multinomial", (data,), attributes)


def shuffle(data: Symbol, **keywords: Any) -> Symbol:
    """Return the symbol of the rows of `data` in a random order."""
    return compose(find_operator("_shuffle"), "_shuffle", (data,), keywords)
