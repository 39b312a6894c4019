"""`minpy.sym.npx.random`: symbols of draws, with a batch of them for each element of the parameters."""

from __future__ import annotations

from typing import Any

from minpy.core.errors import ArgumentError
from minpy.core.numpy_semantics import default_float
from minpy.namespaces import listing
from minpy.symbol.numpy.creation import context_text
from minpy.symbol.numpy.random import drawn
from minpy.symbol.numpy.symbol_class import call, is_symbol

__all__ = ["bernoulli", "normal_n", "uniform_n"]
__dir__ = listing(__all__)


def bernoulli(
    prob: Any = None,
    logit: Any = None,
    size: Any = None,
    dtype: Any = None,
    ctx: Any = None,
    out: Any = None,
) -> Any:
    """Return the symbol of ones with a probability, and zeros; the probability may be given as its log odds."""
    if (prob is None) == (logit is None):
        raise ArgumentError("sym.npx.random.bernoulli: give one of prob= and logit=, not both.")
    inputs = [value for value in (prob, logit) if is_symbol(value)]
    return call(
        "_npi_bernoulli",
        inputs,
        "bernoulli",
        prob=None if is_symbol(prob) else prob,
        logit=None if is_symbol(logit) else logit,
        is_logit=prob is None,
        size=size,
        ctx=context_text(ctx),
        dtype=(default_float() if dtype is None else dtype),
    )


def normal_n(loc: Any = 0.0, scale: Any = 1.0, batch_shape: Any = None, dtype: Any = None, ctx: Any = None) -> Any:
    """Return the symbol of draws from normal distributions, a batch for each element of the parameters."""
    return drawn("_npi_normal_n", {"loc": loc, "scale": scale}, batch_shape, ctx, dtype)


def uniform_n(low: Any = 0.0, high: Any = 1.0, batch_shape: Any = None, dtype: Any = None, ctx: Any = None) -> Any:
    """Return the symbol of draws from [low, high), a batch for each element of the parameters."""
    return drawn("_npi_uniform_n", {"low": low, "high": high}, batch_shape, ctx, dtype)
