"""NumPy's reductions, accumulations and orders of symbols."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from minpy.symbol.numpy.symbol_class import as_tuple, call, generic, is_symbol, named

__all__ = ["FUNCTIONS"]


def _dtype(value: Any) -> dict[str, str]:
    return {} if value is None else {"dtype": numpy.dtype(value).name}


def _not_at_defaults(attributes: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes of a call that are not at their defaults: all that files hold of some operators."""
    return {key: value for key, value in attributes.items() if value is not defaults[key]}


def _plain(name: str, kind: str, *, typed: bool, initial: bool = True) -> Callable[..., Any]:
    """Return a reduction of which files hold what is not at its default."""
    defaults: dict[str, Any] = {"axis": None, "keepdims": False, "initial": None}

    def function(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = None,
        **others: Any,
    ) -> Any:
        if others or (dtype is not None and not typed):
            return generic(name, (a,), {**_not_at_defaults({"axis": axis, "keepdims": keepdims}, defaults), **others})
        attributes = _not_at_defaults({"axis": as_tuple(axis), "keepdims": keepdims, "initial": initial}, defaults)
        return call(kind, [a], name, **attributes, **_dtype(dtype))

    def untyped(a: Any, axis: Any = None, keepdims: bool = False, out: Any = None, **others: Any) -> Any:
        return function(a, axis, None, out, keepdims, **others)

    return function if typed else untyped


def mean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, **others: Any) -> Any:
    """Return the symbol of the mean over axes, of all elements by default."""
    if others:
        return generic("mean", (a,), {"axis": axis, "keepdims": keepdims, **others})
    return call("_npi_mean", [a], "mean", axis=as_tuple(axis), keepdims=keepdims, **_dtype(dtype))


def _spread(name: str) -> Callable[..., Any]:
    def function(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        ddof: int = 0,
        keepdims: bool = False,
        **others: Any,
    ) -> Any:
        if others:
            return generic(name, (a,), {"axis": axis, "ddof": ddof, "keepdims": keepdims, **others})
        return call(f"_npi_{name}", [a], name, axis=as_tuple(axis), ddof=ddof, keepdims=keepdims, **_dtype(dtype))

    return function


def _extreme_place(name: str) -> Callable[..., Any]:
    def function(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        return call(f"_npi_{name}", [a], name, axis=axis, keepdims=keepdims)

    return function


def argsort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None) -> Any:
    """Return the symbol of the positions that sort an array along an axis."""
    return call("argsort", [a], "argsort", axis=axis, is_ascend=True, dtype="int64")


def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None) -> Any:
    """Return the symbol of an array sorted along an axis."""
    return call("sort", [a], "sort", axis=axis, is_ascend=True)


def cumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """Return the symbol of sums of the elements so far, of the flattened array by default."""
    return call("_np_cumsum", [a], "cumsum", **({} if axis is None else {"axis": axis}), **_dtype(dtype))


def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, out: Any = None) -> Any:
    """Return the symbol of the weighted mean over axes; with `returned` also that of the sums of the weights."""
    if weights is None:
        return call("_npi_average", [a], "average", axis=as_tuple(axis), returned=returned, weighted=False)
    return call("_npi_average", [a, weights], "average", axis=as_tuple(axis), returned=returned)


def percentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: Any = None,
    interpolation: str = "linear",
    keepdims: bool = False,
    **others: Any,
) -> Any:
    """Return the symbol of percentiles over axes; it has no gradient, as in MXNet."""
    options = {"axis": as_tuple(axis), "interpolation": others.get("method", interpolation), "keepdims": keepdims}
    if is_symbol(q):
        return call("_npi_percentile", [a, q], "percentile", q_scalar=None, **options)
    if isinstance(q, (list, tuple)):
        return generic("percentile", (a, q), {"axis": axis, "keepdims": keepdims, "method": options["interpolation"]})
    return call("_npi_percentile", [a], "percentile", q_scalar=q, **options)


def quantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: Any = None,
    interpolation: str = "linear",
    keepdims: bool = False,
    **others: Any,
) -> Any:
    """Return the symbol of quantiles over axes; it has no gradient, as in MXNet."""
    levels = [100 * level for level in q] if isinstance(q, (list, tuple)) else q * 100
    return percentile(a, levels, axis, out, overwrite_input, interpolation, keepdims, **others)


_MADE: dict[str, Callable[..., Any]] = {
    "all": _plain("all", "_np_all", typed=False),
    "alltrue": _plain("alltrue", "_np_all", typed=False),
    "amax": _plain("amax", "_np_max", typed=False),
    "amin": _plain("amin", "_np_min", typed=False),
    "any": _plain("any", "_np_any", typed=False),
    "argmax": _extreme_place("argmax"),
    "argmin": _extreme_place("argmin"),
    "max": _plain("max", "_np_max", typed=False),
    "min": _plain("min", "_np_min", typed=False),
    "prod": _plain("prod", "_np_prod", typed=True),
    "product": _plain("product", "_np_prod", typed=True),
    "sometrue": _plain("sometrue", "_np_any", typed=False),
    "std": _spread("std"),
    "sum": _plain("sum", "_np_sum", typed=True),
    "var": _spread("var"),
}
for _name, _function in _MADE.items():
    named(_name, _function, f"Return the symbol of `numpy.{_name}` over axes, of all elements by default.")

FUNCTIONS = {
    **_MADE,
    **{function.__name__: function for function in (mean, argsort, sort, cumsum, average, percentile, quantile)},
}
