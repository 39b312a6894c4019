"""Comparisons of arrays, whose errors name the worst element."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from minpy.core.array import as_raw
from minpy.core.errors import ArgumentError, CheckError, describe
from minpy.ndarray.ndarray import NDArray
from minpy.test_utils.defaults import get_atol, get_rtol

__all__ = [
    "almost_equal",
    "assert_allclose",
    "assert_almost_equal",
    "assert_almost_equal_ignore_nan",
    "assert_almost_equal_with_err",
    "assert_exception",
    "checkShapes",
    "compare_ndarray_tuple",
    "locationError",
    "same",
    "same_array",
]


def raw_value(value: Any, name: str = "a") -> numpy.ndarray:
    """Return the values of an array or a number; `name` is its name in an error."""
    raw = as_raw(value)
    if raw.dtype.kind not in "biufc":
        raise ArgumentError(f"{name} is {describe(value)}; expected an array of numbers.")
    return raw


def same(a: Any, b: Any) -> bool:
    """Tell whether two arrays have the same shape and equal elements.

    Examples
    --------
    >>> import minpy as mx
    >>> same(mx.nd.ones((2,)), [1, 1]), same([1, 1], [1])
    (True, False)
    """
    return numpy.array_equal(raw_value(a), raw_value(b, "b"))


def same_array(array1: NDArray, array2: NDArray) -> bool:
    """Tell whether two arrays of the same shape share memory.

    Examples
    --------
    >>> import minpy as mx
    >>> x = mx.nd.zeros((3,))
    >>> same_array(x, x[:]), same_array(x, x.copy())
    (True, False)
    """
    return array1.shape == array2.shape and numpy.shares_memory(array1._data, array2._data)


def almost_equal(
    a: Any,
    b: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    use_broadcast: bool = True,
) -> bool:
    """Tell whether two arrays are equal up to a tolerance; see `assert_almost_equal`.

    Returns
    -------
    bool
        False also where the shapes do not fit.

    Examples
    --------
    >>> almost_equal([1.0, 2.0], [1.0, 2.000001]), almost_equal([1.0, 2.0], [1.0, 2.1])
    (True, False)
    """
    return not difference(a, b, rtol, atol, ("a", "b"), equal_nan, use_broadcast)


def assert_almost_equal(
    a: Any,
    b: Any,
    rtol: float | None = None,
    atol: float | None = None,
    names: Sequence[str] = ("a", "b"),
    equal_nan: bool = False,
    use_broadcast: bool = True,
    mismatches: tuple[int, int] = (10, 10),
) -> None:
    """Raise an AssertionError unless two arrays are equal up to a tolerance: |a - b| <= atol + rtol * |b|.

    Parameters
    ----------
    a, b : array_like
    rtol, atol : float, optional
        By default the larger ones of the two dtypes: 1e-2 and 1e-1 for float16, 1e-4 and 1e-3 for float32, 1e-5 and
        1e-20 for float64, 0 for integers.
    names : pair of str
        The names of the arrays in the message.
    equal_nan : bool
        Whether NaN equals NaN.
    use_broadcast : bool
        Whether shapes may differ where they broadcast.
    mismatches : pair of int
        How many elements the message lists. All are counted, so the second number does nothing.

    Raises
    ------
    CheckError
        An AssertionError with the worst elements, their indices, and the tolerance.
    ArgumentError
        For what is no array of numbers.

    Examples
    --------
    >>> assert_almost_equal([1.0, 2.0], [1.0, 2.5], rtol=1e-3, atol=0)
    Traceback (most recent call last):
        ...
    minpy.core.errors.CheckError: a and b differ in 1 of 2 elements (50%), at worst at (1,): a is 2.0, b is 2.5. The
    difference of 0.5 exceeds the tolerance atol 0 + rtol 0.001 * |b| = 0.0025 by a factor of 200.
      a: array([1., 2.])
      b: array([1. , 2.5])
    """
    problem = difference(a, b, rtol, atol, names, equal_nan, use_broadcast, mismatches[0])
    if problem:
        raise CheckError(problem)


def assert_almost_equal_ignore_nan(
    a: Any, b: Any, rtol: float | None = None, atol: float | None = None, names: Sequence[str] = ("a", "b")
) -> None:
    """Raise an AssertionError unless two arrays are equal up to a tolerance wherever neither is NaN.

    Parameters are those of `assert_almost_equal`.

    Examples
    --------
    >>> assert_almost_equal_ignore_nan([1.0, float('nan')], [1.0, 2.0])
    """
    first, second = raw_value(a, names[0]), raw_value(b, names[1])
    unknown = numpy.isnan(first) | numpy.isnan(second)
    assert_almost_equal(numpy.where(unknown, 0, first), numpy.where(unknown, 0, second), rtol, atol, names)


def assert_allclose(a: Any, b: Any, rtol: float = 1e-7, atol: float = 0, equal_nan: bool = True) -> None:
    """Raise an AssertionError unless two arrays are equal up to a small tolerance; see `assert_almost_equal`."""
    assert_almost_equal(a, b, rtol, atol, equal_nan=equal_nan)


def assert_almost_equal_with_err(
    a: Any,
    b: Any,
    rtol: float | None = None,
    atol: float | None = None,
    etol: float | None = None,
    names: Sequence[str] = ("a", "b"),
    equal_nan: bool = False,
    mismatches: tuple[int, int] = (10, 10),
) -> None:
    """Raise an AssertionError unless two arrays are equal up to a tolerance, but for a share of elements.

    Parameters
    ----------
    etol : float, optional
        The share that may be wrong; none by default.
    a, b, rtol, atol, names, equal_nan, mismatches
        As for `assert_almost_equal`.

    Examples
    --------
    >>> assert_almost_equal_with_err([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 5.0], etol=0.3)
    """
    first, second = raw_value(a, names[0]), raw_value(b, names[1])
    if etol and first.shape == second.shape:
        relative = get_rtol(dtype=first.dtype) if rtol is None else rtol
        absolute = get_atol(dtype=first.dtype) if atol is None else atol
        close = numpy.isclose(first, second, relative, absolute, equal_nan)
        if (~close).sum() <= etol * first.size:
            return
    assert_almost_equal(a, b, rtol, atol, names, equal_nan, mismatches=mismatches)


def checkShapes(a: Any, b: Any) -> None:
    """Raise an AssertionError unless two arrays have the same shape."""
    if numpy.shape(a) != numpy.shape(b):
        raise CheckError(f"a has shape {numpy.shape(a)}, b has shape {numpy.shape(b)}; they must be equal.")


def compare_ndarray_tuple(t1: Any, t2: Any, rtol: float | None = None, atol: float | None = None) -> None:
    """Raise an AssertionError unless two arrays, or nested tuples of them, are equal up to a tolerance.

    Where one of two is None, they are not compared.

    Examples
    --------
    >>> import minpy as mx
    >>> compare_ndarray_tuple((mx.nd.ones(2), (mx.nd.zeros(1), None)), (mx.nd.ones(2), (mx.nd.zeros(1), None)))
    """
    if t1 is None or t2 is None:
        return
    if not isinstance(t1, tuple):
        assert_almost_equal(t1, t2, rtol, atol)
        return
    if not isinstance(t2, tuple) or len(t1) != len(t2):
        raise CheckError(f"t1 is {describe(t1)}, t2 is {describe(t2)}; expected tuples of the same length.")
    for item1, item2 in zip(t1, t2, strict=True):
        compare_ndarray_tuple(item1, item2, rtol, atol)


def assert_exception(f: Callable[..., Any], exception_type: type[BaseException], *args: Any, **kwargs: Any) -> None:
    """Raise an AssertionError unless `f(*args, **kwargs)` raises an exception of a type.

    Examples
    --------
    >>> assert_exception(int, ValueError, 'one')
    """
    try:
        f(*args, **kwargs)
    except exception_type:
        return
    raise CheckError(f"{getattr(f, '__name__', f)} did not raise {exception_type.__name__}.")


def difference(
    a: Any,
    b: Any,
    rtol: float | None,
    atol: float | None,
    names: Sequence[str],
    equal_nan: bool,
    use_broadcast: bool = True,
    listed: int = 10,
) -> str:
    """Return in words how two arrays differ; an empty text if they do not."""
    name1, name2 = names
    first, second = raw_value(a, name1), raw_value(b, name2)
    shapes = f"{name1} has shape {first.shape}, {name2} has shape {second.shape}"
    if not use_broadcast and first.shape != second.shape:
        return f"{shapes}; they must be equal, as use_broadcast is False."
    rtol = rtol if rtol is not None else max(get_rtol(dtype=first.dtype), get_rtol(dtype=second.dtype))
    atol = atol if atol is not None else max(get_atol(dtype=first.dtype), get_atol(dtype=second.dtype))
    if rtol == atol == 0 and first.shape == second.shape and numpy.array_equal(first, second, equal_nan):
        return ""
    exact = [raw if raw.dtype.kind in "fc" else raw.astype(numpy.float64) for raw in (first, second)]
    wide = numpy.result_type(*exact, numpy.float64)
    try:
        left, right = numpy.broadcast_arrays(*(raw.astype(wide) for raw in exact))
    except ValueError:
        return f"{shapes}; these do not broadcast."
    with numpy.errstate(all="ignore"):
        error = numpy.abs(left - right)
        allowed = atol + rtol * numpy.abs(right)
        equal = (left == right) | (equal_nan & numpy.isnan(left) & numpy.isnan(right))
        wrong = ~(equal | (numpy.isfinite(left) & numpy.isfinite(right) & (error <= allowed)))
        excess = error / allowed
    count = int(wrong.sum())
    if not count:
        return ""
    # Worst first: by how far the tolerance is exceeded, and where that is infinite, by how much.
    excess = numpy.where(numpy.isnan(excess), numpy.inf, excess)
    ranks = [numpy.where(wrong, rank, -1.0).ravel() for rank in (numpy.nan_to_num(error, nan=numpy.inf), excess)]
    worst = numpy.lexsort([-rank for rank in ranks])[: max(1, min(count, listed))]
    indices = [tuple(map(int, numpy.unravel_index(position, wrong.shape))) for position in worst]
    full = [numpy.broadcast_to(raw, wrong.shape) for raw in (first, second)]
    index = indices[0]
    factor = f" by a factor of {excess[index]:.3g}" if numpy.isfinite(excess[index]) else ""
    where = f" at worst at {index}:" if index else ""
    text = (
        f"{name1} and {name2} differ in {count} of {wrong.size} elements ({100 * count / wrong.size:.3g}%),{where} "
        f"{name1} is {full[0][index].item()!r}, {name2} is {full[1][index].item()!r}. The difference of "
        f"{error[index]:.6g} exceeds the tolerance atol {atol:g} + rtol {rtol:g} * |{name2}| = {allowed[index]:.6g}"
        f"{factor}."
    )
    rows = [f"  {at}: {name1} {full[0][at].item()!r}, {name2} {full[1][at].item()!r}" for at in indices]
    arrays = [f"  {name}: {_array_text(raw)}" for name, raw in ((name1, first), (name2, second))]
    return "\n".join([text, *(rows if len(rows) > 1 else []), *arrays])


def _array_text(raw: numpy.ndarray) -> str:
    with numpy.printoptions(threshold=60, edgeitems=3):
        return repr(raw).replace("\n", "\n    ")


def locationError(a: Any, b: Any, index: Any, names: Sequence[str], maxError: bool = False) -> str:
    """Return where two arrays differ, and their values there, as a line of text.

    Parameters
    ----------
    a, b : numpy.ndarray
    index : tuple of int
    names : sequence of str
        The names of the arrays.
    maxError : bool
        Whether the text says that this is the largest difference.

    Examples
    --------
    >>> locationError(numpy.zeros(3), numpy.ones(3), (1,), ('got', 'wanted'))
    'Location of error: (1,), got=0.00000000, wanted=1.00000000'
    """
    which = "maximum " if maxError else ""
    values = ", ".join(f"{name}={array[index]:.8f}" for name, array in zip(names, (a, b), strict=False))
    return f"Location of {which}error: {index}, {values}"
