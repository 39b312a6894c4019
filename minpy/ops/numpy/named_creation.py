"""NumPy's functions that make arrays of numbers, under MXNet's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minpy.core.base_operator import Shapes
from minpy.ops.inference.partial_shapes import as_dtype
from minpy.ops.numpy.named import named

__all__ = ["shape_of"]

LENGTHS = int | tuple[int, ...]


def shape_of(value: Any) -> tuple[int, ...]:
    """Return a shape that is given as lengths, one of them, or None for none."""
    return () if value is None else (int(value),) if isinstance(value, (int, np.integer)) else tuple(value)


def _dtype(value: Any, default: Any = "float32") -> np.dtype:
    return np.dtype(default) if value in (None, "None") else np.dtype(value)


def _dtype_rule(default: Any) -> Callable[..., np.dtype]:
    return lambda **attributes: as_dtype(attributes.get("dtype")) or np.dtype(default)


def _creation(name: str, default: str = "float32") -> Any:
    """Define an operator without inputs: its shape is that of what it makes."""

    def define(function: Callable[..., Any]) -> Any:
        operator = named(name, dtype=_dtype_rule(default), zero=True)(function)

        @operator.def_infer_shape
        def shapes(inputs: Shapes, outputs: Shapes, **attributes: Any) -> tuple[Shapes, Shapes]:
            return inputs, [function(**attributes).shape]

        return operator

    return define


@_creation("_npi_identity")
def npi_identity(*, shape: tuple[int, ...], ctx: str | None = None, dtype: str | None = "float32") -> Any:
    """Return the identity matrix."""
    return np.identity(shape[0], _dtype(dtype))


@_creation("_npi_eye")
def npi_eye(*, N: int, M: int | None = None, k: int = 0, ctx: str | None = None, dtype: str | None = "float32") -> Any:
    """Return a matrix with ones on its k-th diagonal."""
    return np.eye(N, M, k, _dtype(dtype))


@_creation("_npi_arange")
def npi_arange(
    *,
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: int = 1,
    infer_range: bool = False,
    ctx: str | None = None,
    dtype: str | None = "float32",
) -> Any:
    """Return evenly spaced values in [start, stop), or in [0, start)."""
    first, last = (0, start) if stop is None else (start, stop)
    return np.repeat(np.arange(first, last, step).astype(_dtype(dtype)), repeat)


@_creation("_npi_logspace")
def npi_logspace(
    *,
    start: float,
    stop: float,
    num: int,
    endpoint: bool = True,
    base: float = 10.0,
    ctx: str | None = None,
    dtype: str | None = "float32",
) -> Any:
    """Return values from base**start to base**stop, in equal ratios."""
    return np.logspace(start, stop, num, endpoint, base).astype(_dtype(dtype))


@_creation("_npi_indices", "int32")
def npi_indices(*, dimensions: tuple[int, ...], ctx: str | None = None, dtype: str | None = "int32") -> Any:
    """Return the indices of the elements of a grid, one array for each axis."""
    return np.indices(dimensions, _dtype(dtype, "int32"))


def _filled(name: str, fill: Callable[..., Any]) -> None:
    def definition(*, shape: LENGTHS, ctx: str | None = None, dtype: str | None = "float32") -> Any:
        return fill(shape_of(shape), _dtype(dtype))

    definition.__doc__ = f"Return an array of {name}."
    _creation(f"_npi_{name}")(definition)


def _window(name: str, window: Callable[..., Any]) -> None:
    def definition(*, M: int, ctx: str | None = None, dtype: str | None = "float32") -> Any:
        return window(M).astype(_dtype(dtype))

    definition.__doc__ = f"Return the {name.title()} window of M points."
    _creation(f"_npi_{name}")(definition)


_filled("zeros", np.zeros)
_filled("ones", np.ones)
_window("hanning", np.hanning)
_window("hamming", np.hamming)
_window("blackman", np.blackman)
