"""NumPy's functions that make arrays, as symbols without inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from minpy.context import Context, current_context
from minpy.core.numpy_semantics import default_float
from minpy.symbol.numpy.symbol_class import as_lengths, call, generic, named

__all__ = ["FUNCTIONS", "context_text"]


def context_text(ctx: Context | None) -> str:
    """Return a context as files hold it, by default this thread's."""
    return str(current_context() if ctx is None else ctx)


def _created(name: str, ctx: Any, dtype: Any, **attributes: Any) -> Any:
    kind = {"full": "_full", "linspace": "_linspace"}.get(name, f"_npi_{name}")
    chosen = default_float() if dtype is None else numpy.dtype(dtype)
    typed = {"dtype": chosen.name}
    if name.endswith("space") and dtype is None and chosen == numpy.float32:
        typed = {}  # as MXNet leaves it out
    return call(kind, [], name, ctx=context_text(ctx), **typed, **attributes)


def zeros(shape: Any, dtype: Any = None, order: str = "C", ctx: Any = None) -> Any:
    """Return the symbol of an array of zeros."""
    return _created("zeros", ctx, dtype, shape=as_lengths(shape))


def ones(shape: Any, dtype: Any = None, order: str = "C", ctx: Any = None) -> Any:
    """Return the symbol of an array of ones."""
    return _created("ones", ctx, dtype, shape=as_lengths(shape))


def full(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", ctx: Any = None, out: Any = None) -> Any:
    """Return the symbol of an array in which all elements are one number."""
    lengths = as_lengths(shape)
    lengths = (lengths,) if isinstance(lengths, int) else lengths
    return _created("full", ctx, dtype, shape=lengths, value=float(fill_value))


empty = zeros


def identity(n: int, dtype: Any = None, ctx: Any = None) -> Any:
    """Return the symbol of the identity matrix."""
    return _created("identity", ctx, dtype, shape=(n, n))


def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = None, **kwargs: Any) -> Any:
    """Return the symbol of a matrix with ones on its k-th diagonal."""
    return _created("eye", kwargs.get("ctx"), dtype, N=N, M=M, k=k)


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None, ctx: Any = None) -> Any:
    """Return the symbol of evenly spaced values in [start, stop), or in [0, start)."""
    if stop is None:
        start, stop = 0, start
    return _created("arange", ctx, dtype, start=start, stop=stop, step=step)


def linspace(
    start: float,
    stop: float,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    ctx: Any = None,
) -> Any:
    """Return the symbol of `num` evenly spaced values; with `retstep` their distance too, a number."""
    values = _created("linspace", ctx, dtype, start=start, stop=stop, num=num, endpoint=endpoint)
    return (values, (stop - start) / max(num - bool(endpoint), 1)) if retstep else values


def logspace(
    start: float,
    stop: float,
    num: int = 50,
    endpoint: bool = True,
    base: float = 10.0,
    dtype: Any = None,
    axis: int = 0,
    ctx: Any = None,
) -> Any:
    """Return the symbol of values from base**start to base**stop, in equal ratios."""
    return _created("logspace", ctx, dtype, start=start, stop=stop, num=num, endpoint=endpoint, base=base)


def indices(dimensions: Any, dtype: Any = numpy.int32, ctx: Any = None) -> Any:
    """Return the symbol of the indices of the elements of a grid, one array for each axis."""
    return _created("indices", ctx, dtype, dimensions=tuple(dimensions))


def _window(name: str) -> Callable[..., Any]:
    def window(M: int, dtype: Any = None, ctx: Any = None) -> Any:
        return _created(name, ctx, dtype, M=M)

    return named(name, window)


def full_like(a: Any, fill_value: Any, dtype: Any = None, order: str = "C", ctx: Any = None, out: Any = None) -> Any:
    """Return the symbol of an array of the shape of another in which all elements are one number."""
    chosen = {} if dtype is None else {"dtype": numpy.dtype(dtype).name}
    return call("_npi_full_like", [a], "full_like", ctx=context_text(ctx), fill_value=fill_value, **chosen)


def zeros_like(a: Any, dtype: Any = None, order: str = "C", ctx: Any = None, out: Any = None) -> Any:
    """Return the symbol of zeros in the shape of another array."""
    return full_like(a, 0, dtype, order, ctx)


def ones_like(a: Any, dtype: Any = None, order: str = "C", ctx: Any = None, out: Any = None) -> Any:
    """Return the symbol of ones in the shape of another array."""
    return full_like(a, 1, dtype, order, ctx)


def empty_like(prototype: Any, dtype: Any = None, order: str = "C", subok: bool = False, shape: Any = None) -> Any:
    """Return the symbol of an array of the shape of another, whose elements may be anything: zeros here."""
    return full_like(prototype, 0, dtype, order)


def meshgrid(*xi: Any, **kwargs: Any) -> Any:
    """Return the symbols of the coordinates of a grid, one for each axis, as a list."""
    grids = generic("meshgrid", xi, kwargs, len(xi))
    return grids if isinstance(grids, list) else [grids]


_PLAIN = (
    zeros, ones, full, identity, eye, arange, linspace, logspace, indices, full_like, zeros_like, ones_like, empty_like,
    meshgrid,
)  # fmt: skip

FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{function.__name__: function for function in _PLAIN},
    **{name: _window(name) for name in ("hanning", "hamming", "blackman")},
    "empty": empty,
}
