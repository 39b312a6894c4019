"""Inputs drawn for models, and what they compute compared: how far two arrays differ, and where most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy

__all__ = ["Difference", "OutputRow", "difference", "drawn_input", "tolerances"]

# What two results of a network may differ by, (relative, absolute), by dtype; what is no floating point may not differ.
_TOLERANCES = {"float16": (2e-2, 2e-3), "bfloat16": (5e-2, 1e-2), "float32": (1e-4, 1e-5), "float64": (1e-8, 1e-10)}


class Difference(NamedTuple):
    """How far an array is from what was expected.

    Attributes
    ----------
    absolute, relative : float
        The largest differences, wherever they are; infinite where shapes or dtypes differ, or one side is not finite.
        Relative differences are those in terms of the largest expected magnitude.
    position : tuple of int
        Where the difference is the furthest beyond what is tolerated.
    expected, actual : scalar
        The two numbers there; the arrays' shapes and dtypes as texts, if these differ.
    is_close : bool
        Whether all elements are within the tolerances.
    """

    absolute: float
    relative: float
    position: tuple[int, ...]
    expected: Any
    actual: Any
    is_close: bool

    def __str__(self) -> str:
        if isinstance(self.expected, str):
            return f"expected {self.expected}, got {self.actual}"
        where = f" at {list(self.position)}" if self.position else ""
        return f"expected {self.expected!s}{where}, got {self.actual!s} (largest difference {self.absolute:.3g})"


class OutputRow(NamedTuple):
    """How far an output differs.

    Attributes
    ----------
    output : str
    shape : tuple of int
        At the last of the sizes that were tried.
    dtype : str
    absolute, relative : float
        The largest differences, of all sizes; the relative ones in terms of the largest expected magnitude.
    sizes : int
        How many sizes of the inputs were tried.
    """

    output: str
    shape: tuple[int, ...]
    dtype: str
    absolute: float
    relative: float
    sizes: int


def tolerances(dtype: Any) -> tuple[float, float]:
    """Return the relative and the absolute tolerance for a dtype.

    >>> tolerances('float32'), tolerances('int64')
    ((0.0001, 1e-05), (0.0, 0.0))
    """
    name = numpy.dtype(dtype).name
    return _TOLERANCES.get({"complex64": "float32", "complex128": "float64"}.get(name, name), (0.0, 0.0))


def drawn_input(shape: Sequence[int], dtype: Any, seed: int = 0, high: int | None = None) -> numpy.ndarray:
    """Return an array to try a model on: the same for the same arguments.

    Parameters
    ----------
    shape : sequence of int
    dtype : dtype
        Floating point is drawn from a standard normal distribution, booleans evenly, and integers from 0 to below
        `high`, where they may be indices.
    seed : int
    high : int, optional
        By default 4.

    Examples
    --------
    >>> drawn_input((2, 3), 'int32', seed=1, high=9)
    array([[4, 4, 6],
           [8, 0, 1]], dtype=int32)
    >>> drawn_input((), 'float32').dtype
    dtype('float32')
    """
    generator, dtype = numpy.random.default_rng(seed), numpy.dtype(dtype)
    if dtype.kind == "b":
        return generator.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        return generator.integers(0, 4 if high is None else max(high, 1), shape).astype(dtype)
    if dtype.kind == "c":
        return numpy.asarray(generator.standard_normal(shape) + 1j * generator.standard_normal(shape)).astype(dtype)
    return numpy.asarray(generator.standard_normal(shape)).astype(dtype)


def difference(expected: Any, actual: Any, relative: float | None = None, absolute: float | None = None) -> Difference:
    """Return how far `actual` is from `expected`: infinities and NaN have to stand at the same places.

    Parameters
    ----------
    expected, actual : array_like
    relative, absolute : float, optional
        What is tolerated; by default `tolerances` of the expected dtype. A difference is tolerated up to
        `absolute + relative * abs(expected)`.

    Examples
    --------
    >>> import numpy
    >>> print(difference(numpy.float32([1, 2]), numpy.float32([1, 2.5])))
    expected 2.0 at [1], got 2.5 (largest difference 0.5)
    >>> print(difference(numpy.zeros(2), numpy.zeros(3)))
    expected float64 of shape (2,), got float64 of shape (3,)
    """
    expected, actual = numpy.asarray(expected), numpy.asarray(actual)
    if expected.shape != actual.shape or expected.dtype != actual.dtype:
        texts = [f"{array.dtype} of shape {array.shape}" for array in (expected, actual)]
        return Difference(numpy.inf, numpy.inf, (), texts[0], texts[1], False)
    if expected.size == 0:
        return Difference(0.0, 0.0, (), expected.dtype.type(), expected.dtype.type(), True)
    default = tolerances(expected.dtype)
    relative, absolute = default[0] if relative is None else relative, default[1] if absolute is None else absolute
    if expected.dtype.kind not in "biufcV":  # texts and objects are equal, or are not
        return _of_objects(expected, actual)
    wide = numpy.complex128 if expected.dtype.kind == "c" else numpy.float64
    if expected.dtype.kind in "biu" and expected.dtype.itemsize == 8:
        equal = expected == actual  # float64 has not all of their digits
    else:
        equal = numpy.zeros(expected.shape, bool)
    first, second = expected.astype(wide), actual.astype(wide)
    with numpy.errstate(all="ignore"):
        same = equal | (first == second) | (numpy.isnan(first) & numpy.isnan(second))
        if expected.dtype.kind in "biu" and expected.dtype.itemsize == 8:
            same = equal
        distance = numpy.where(same, 0.0, numpy.abs(first - second))
        distance = numpy.where(~same & ~(numpy.isfinite(first) & numpy.isfinite(second)), numpy.inf, distance)
        magnitude = numpy.abs(numpy.where(numpy.isfinite(first), first, 0.0))
        tolerated = absolute + relative * magnitude
        excess = numpy.where(same, -1.0, distance - tolerated)
    position = tuple(int(index) for index in numpy.unravel_index(int(excess.argmax()), expected.shape))
    largest = float(distance.max())
    scale = float(magnitude.max())
    share = largest / scale if scale else (0.0 if largest == 0 else float("inf"))
    return Difference(largest, share, position, expected[position], actual[position], bool((excess <= 0).all()))


def _of_objects(expected: numpy.ndarray, actual: numpy.ndarray) -> Difference:
    same = numpy.asarray(expected == actual)
    flat = int(numpy.argmin(same))
    position = tuple(int(index) for index in numpy.unravel_index(flat, expected.shape))
    far = 0.0 if same.all() else float("inf")
    return Difference(far, far, position, expected[position], actual[position], bool(same.all()))
