"""`minpy.numpy.random`: arrays drawn by minpy's own generator, float32 unless a dtype is given.

The functions are those of `numpy.random.Generator`, and the older ones of `numpy.random` that scripts still use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy

from minpy.context import Context
from minpy.core.array import raw_of
from minpy.core.errors import ArgumentError
from minpy.core.extensions import extension, is_provided
from minpy.core.followed import holds_followed
from minpy.core.numpy_semantics import default_float
from minpy.core.state import TRACES, tracing
from minpy.namespaces import listing, missing
from minpy.numpy.array_class import ndarray
from minpy.numpy.reparametrised import INTEGERS, followed_draw
from minpy.ops.random.generator import generator, seed

_DISTRIBUTIONS = """
    beta binomial chisquare choice dirichlet exponential f gamma geometric gumbel hypergeometric laplace logistic
    lognormal logseries multinomial multivariate_normal negative_binomial noncentral_chisquare noncentral_f normal
    pareto permutation poisson power random rayleigh standard_cauchy standard_exponential standard_gamma
    standard_normal standard_t triangular uniform vonmises wald weibull zipf
"""

__all__ = [*_DISTRIBUTIONS.split(), "rand", "randint", "randn", "random_sample", "seed", "shuffle"]
__dir__ = listing(__all__)


def finished(value: Any, dtype: Any, context: Context | None) -> Any:
    """Return what was drawn as an array: of floating point in the default dtype, unless one is given."""
    from minpy.context import resolve_context
    from minpy.ndarray.placement import place

    data = numpy.asarray(value)
    if dtype is not None or data.dtype == numpy.float64:
        data = data.astype(default_float() if dtype is None else dtype)
    return place(ndarray, data, resolve_context(context))


def on_device(samples: Any, dtype: Any, context: Context | None) -> Any:
    """Return what was drawn with recorded parameters in a dtype, on a device."""
    from minpy.context import resolve_context

    if samples.dtype != (dtype or samples.dtype) or samples.dtype == numpy.float64:
        samples = samples.astype(default_float() if dtype is None else dtype)
    return samples if context is None else samples.as_in_context(resolve_context(context))


def _function(name: str) -> Callable[..., Any]:
    def draw(*arguments: Any, dtype: Any = None, ctx: Context | None = None, **keywords: Any) -> Any:
        if TRACES and tracing.trace is not None:
            return tracing.trace.draw(name, arguments, {**keywords, "dtype": dtype})
        if name not in INTEGERS and holds_followed((*arguments, *keywords.values())):
            return on_device(followed_draw(name, arguments, keywords), dtype, ctx)
        method = getattr(generator(), name)
        keywords = {key: raw_of(value) for key, value in keywords.items()}
        return finished(method(*map(raw_of, arguments), **keywords), dtype, ctx)

    draw.__name__ = draw.__qualname__ = name
    draw.__doc__ = (
        f"Return what `numpy.random.Generator.{name}` draws, from minpy's own generator; `dtype` and `ctx` are the "
        "result's."
    )
    return draw


for _name in _DISTRIBUTIONS.split():
    globals()[_name] = _function(_name)
random_sample = globals()["random"]

if TYPE_CHECKING:  # those

    def __getattr__(name: str) -> Any: ...

else:

    def __getattr__(name):
        if is_provided(f"minpy.numpy.random.{name}"):  # MinPy's policies
            return extension(f"minpy.numpy.random.{name}")
        return missing("minpy.numpy.random", "function", __all__)(name)


def rand(*shape: int, dtype: Any = None, ctx: Context | None = None) -> Any:
    """Return numbers drawn uniformly from [0, 1); the shape is given as separate numbers."""
    if TRACES and tracing.trace is not None:
        return tracing.trace.draw("rand", shape, {"dtype": dtype})
    return finished(generator().random(shape), dtype, ctx)


def randn(*shape: int, dtype: Any = None, ctx: Context | None = None) -> Any:
    """Return numbers drawn from the standard normal distribution; the shape is given as separate numbers."""
    if TRACES and tracing.trace is not None:
        return tracing.trace.draw("randn", shape, {"dtype": dtype})
    return finished(generator().standard_normal(shape), dtype, ctx)


def randint(low: int, high: int | None = None, size: Any = None, dtype: Any = None, ctx: Context | None = None) -> Any:
    """Return integers drawn uniformly from [low, high), or from [0, low) if `high` is left out."""
    if high is None:
        low, high = 0, low
    if low >= high:
        raise ArgumentError(f"randint: low {low} is not below high {high}; numbers lie in [low, high).")
    if TRACES and tracing.trace is not None:
        return tracing.trace.draw("randint", (low, high), {"size": size, "dtype": dtype})
    return finished(generator().integers(low, high, size, numpy.int64 if dtype is None else dtype), None, ctx)


def shuffle(x: Any) -> None:
    """Put the elements along the first axis into random order, in place."""
    x[...] = x[generator().permutation(len(x))]
