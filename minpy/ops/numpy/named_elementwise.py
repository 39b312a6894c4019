"""NumPy's elementwise functions under MXNet's names; and with a number in place of one array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minpy.numpy_table.table import ROWS, functions
from minpy.ops.inference.partial_shapes import broadcasting, same_shape
from minpy.ops.numpy.named import elementwise, named

__all__ = ["REFLECTED", "WITH_NUMBERS", "number_of"]

for _ufunc, _row in functions("ufunc"):
    if _row.mxnet == f"_npi_{_row.name}":
        elementwise(
            _row.mxnet,
            _ufunc,
            zero=_row.gradient == "zero",
            dtype="bool" if _row.name.startswith(("is", "logical")) else "computed",
        )
elementwise("_npi_bitwise_not", np.bitwise_not, zero=True)


elementwise("_npi_fix", np.trunc)
elementwise("_npi_isneginf", lambda x: np.isinf(x) & (x < 0), zero=True, dtype="bool")
elementwise("_npi_isposinf", lambda x: np.isinf(x) & (x > 0), zero=True, dtype="bool")
elementwise("_npx_relu", lambda x: np.maximum(x, 0))
elementwise("_npx_sigmoid", lambda x: 0.5 * np.tanh(0.5 * x) + 0.5)

_UFUNCS = """
    add subtract multiply true_divide mod power arctan2 hypot copysign lcm bitwise_and bitwise_or bitwise_xor equal
    not_equal greater greater_equal less less_equal
"""
_BINARY: dict[str, Any] = {
    **{name: getattr(np, name) for name in _UFUNCS.split()},
    "ldexp": lambda x1, x2: x1 * np.power(2.0, x2).astype(np.result_type(x1)),
}
_RELATIONS = {name for name in _BINARY if "equal" in name or name in ("greater", "less")}
_CONSTANT = {name for name in _BINARY if name in ROWS and ROWS[name].gradient == "zero"}
# The operators of an array and a number, by the plain names of those of two arrays; and of a number and an array.
WITH_NUMBERS = {name: f"_npi_{name}_scalar" for name in _BINARY if name != "hypot"}
_SYMMETRIC = {"add", "multiply", "lcm", "bitwise_and", "bitwise_or", "bitwise_xor", "equal", "not_equal"}
_MIRRORED = {"greater": "less", "greater_equal": "less_equal", "less": "greater", "less_equal": "greater_equal"}
REFLECTED = {
    name: f"_npi_{name}_scalar"
    if name in _SYMMETRIC
    else f"_npi_{_MIRRORED[name]}_scalar"
    if name in _MIRRORED
    else f"_npi_r{name}_scalar"
    for name in WITH_NUMBERS
}


def number_of(scalar: float, is_int: bool) -> Any:
    """Return a number as it was given: files hold a floating-point one, and whether it is whole."""
    return int(scalar) if is_int and np.isfinite(scalar) else scalar


def _number_on_right(function: Callable[..., Any]) -> Callable[..., Any]:
    def definition(data: Any, *, scalar: float = 1.0, is_int: bool = True) -> Any:
        return function(data, number_of(scalar, is_int))

    return definition


def _number_on_left(function: Callable[..., Any]) -> Callable[..., Any]:
    def definition(data: Any, *, scalar: float = 1.0, is_int: bool = True) -> Any:
        return function(number_of(scalar, is_int), data)

    return definition


for _name, _function in _BINARY.items():
    _dtype = "bool" if _name in _RELATIONS else "computed"
    _operator = elementwise(f"_npi_{_name}", _function, zero=_name in _CONSTANT, dtype=_dtype)
    _operator.__doc__ = f"Return `numpy.{_name}` of two arrays, which are broadcast."
    for _kinds, _form in ((WITH_NUMBERS, _number_on_right), (REFLECTED, _number_on_left)):
        _kind = _kinds.get(_name, "")
        if _kind and (_kinds is WITH_NUMBERS or _kind.startswith(f"_npi_r{_name}")):
            _operator = named(_kind, dtype=_dtype, shape=same_shape, zero=_name in _CONSTANT)(_form(_function))
            _operator.__doc__ = f"Return `numpy.{_name}` of an array and a number."


# -- choice ------------------------------------------------------------------------------------------------------------


def _where_dtype(*dtypes: np.dtype, **attributes: Any) -> np.dtype:
    return np.result_type(*dtypes[1:])


@named("_npi_where", dtype=_where_dtype, shape=broadcasting)
def npi_where(condition: Any, x: Any, y: Any) -> Any:
    """Return elements of x where the condition is true, and of y elsewhere."""
    return np.where(condition, x, y)


@named("_npi_where_rscalar", dtype=_where_dtype, shape=broadcasting)
def npi_where_rscalar(condition: Any, x: Any, *, scalar: float) -> Any:
    """Return elements of x where the condition is true, and a number elsewhere."""
    return np.where(condition, x, np.asarray(scalar, np.result_type(x)))


@named("_npi_where_lscalar", dtype=_where_dtype, shape=broadcasting)
def npi_where_lscalar(condition: Any, x: Any, *, scalar: float) -> Any:
    """Return a number where the condition is true, and elements of x elsewhere."""
    return np.where(condition, np.asarray(scalar, np.result_type(x)), x)


@named("_npi_where_scalar2", dtype="float32", shape=same_shape, zero=True)
def npi_where_scalar2(condition: Any, *, x: float, y: float) -> Any:
    """Return one number where the condition is true, and another elsewhere."""
    return np.where(condition, np.float32(x), np.float32(y))


# -- rounding ----------------------------------------------------------------------------------------------------------


@named("_npi_around", shape=same_shape, zero=True)
def npi_around(x: Any, *, decimals: int = 0) -> Any:
    """Return `numpy.around`."""
    return np.round(x, decimals)


@named("_npi_nan_to_num", shape=same_shape)
def npi_nan_to_num(
    data: Any, *, copy: bool = True, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Any:
    """Return numbers for what is none: `nan` for NaN, and by default the largest ones for the infinities."""
    if np.result_type(data).kind != "f":
        return np.where(True, data, data)
    bounds = np.finfo(np.result_type(data))
    kind = np.result_type(data).type
    x = np.where(np.isnan(data), kind(nan), data)
    x = np.where(np.isinf(x) & (x > 0), kind(bounds.max if posinf is None else posinf), x)
    return np.where(np.isinf(x) & (x < 0), kind(bounds.min if neginf is None else neginf), x)
