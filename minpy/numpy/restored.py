"""Names that `mx.np` has and NumPy removed or renamed: what MXNet 1.9.1 scripts use of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from minpy.core.errors import MissingPartError

__all__ = [
    "CONSTANTS",
    "FINANCIAL",
    "FUNCTIONS",
    "TYPES",
    "alltrue",
    "in1d",
    "msort",
    "product",
    "round_",
    "row_stack",
    "sometrue",
    "trapz",
]

# NumPy's old names of numbers.
CONSTANTS = {
    "Inf": float("inf"),
    "Infinity": float("inf"),
    "NAN": float("nan"),
    "NINF": float("-inf"),
    "NZERO": -0.0,
    "NaN": float("nan"),
    "PINF": float("inf"),
    "PZERO": 0.0,
    "infty": float("inf"),
}

# Types that NumPy had under further names, its own and Python's; MinPy's programs use them as dtypes.
TYPES: dict[str, type] = {
    "bool": bool,
    "bool8": numpy.bool_,
    "complex": complex,
    "complex_": numpy.complex128,
    "float": float,
    "float_": numpy.float64,
    "int": int,
    "int0": numpy.intp,
    "long": int,
    "object": object,
    "object0": numpy.object_,
    "str": str,
    "string_": numpy.bytes_,
    "uint0": numpy.uintp,
    "unicode": str,
    "unicode_": numpy.str_,
}

# They left NumPy for the package numpy_financial, and raise in MXNet, too.
FINANCIAL = ("mirr", "npv", "ppmt", "pv", "rate")


def alltrue(a: Any, axis: Any = None, keepdims: bool = False, out: Any = None) -> Any:
    """Tell whether all elements over axes are true: `np.all`.

    Examples
    --------
    >>> from minpy import np
    >>> np.alltrue(np.array([1, 0]))
    array(False)
    """
    return numpy.all(a, axis=axis, keepdims=keepdims, out=out)


def sometrue(a: Any, axis: Any = None, keepdims: bool = False, out: Any = None) -> Any:
    """Tell whether any element over axes is true: `np.any`.

    Examples
    --------
    >>> from minpy import np
    >>> np.sometrue(np.array([1, 0]))
    array(True)
    """
    return numpy.any(a, axis=axis, keepdims=keepdims, out=out)


def product(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """Return the product over axes, of all elements by default: `np.prod`.

    Examples
    --------
    >>> from minpy import np
    >>> np.product(np.array([2, 3]))
    array(6., dtype=float32)
    """
    return numpy.prod(a, axis=axis, dtype=dtype, out=out, keepdims=keepdims)


def round_(a: Any, decimals: int = 0, out: Any = None) -> Any:
    """Return numbers rounded to some decimals: `np.round`.

    Examples
    --------
    >>> from minpy import np
    >>> np.round_(np.array([1.26]), 1)
    array([1.3], dtype=float32)
    """
    return numpy.round(a, decimals=decimals, out=out)


def row_stack(tup: Any) -> Any:
    """Return arrays as rows, one below the other: `np.vstack`.

    Examples
    --------
    >>> from minpy import np
    >>> np.row_stack([np.ones(2), np.zeros(2)]).shape
    (2, 2)
    """
    return numpy.vstack(tup)


def msort(a: Any) -> Any:
    """Return an array sorted along its first axis: `np.sort(a, axis=0)`.

    Examples
    --------
    >>> from minpy import np
    >>> np.msort(np.array([[2, 1], [1, 3]]))
    array([[1., 1.],
           [2., 3.]], dtype=float32)
    """
    return numpy.sort(a, axis=0)


def in1d(ar1: Any, ar2: Any, assume_unique: bool = False, invert: bool = False) -> Any:
    """Tell which elements of the flattened ar1 are in ar2: `np.isin`.

    Examples
    --------
    >>> from minpy import np
    >>> np.in1d(np.array([1, 5]), np.array([5, 6]))
    array([False,  True])
    """
    return numpy.isin(numpy.ravel(ar1), ar2, assume_unique=assume_unique, invert=invert)


def trapz(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> Any:
    """Return the integral by the trapezoidal rule, of points at x, or with distances dx: `np.trapezoid`.

    Examples
    --------
    >>> from minpy import np
    >>> np.trapz(np.array([1, 3, 2]))
    array(4.5, dtype=float32)
    """
    function: Any = vars(numpy).get("trapezoid") or vars(numpy)["trapz"]
    return function(y, x, dx, axis)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    function.__name__: function for function in (alltrue, in1d, msort, product, round_, row_stack, sometrue, trapz)
}


def financial(name: str) -> Callable[..., Any]:
    """Return what stands for a function that left NumPy for another package."""

    def function(*arguments: Any, **keywords: Any) -> Any:
        raise MissingPartError(
            f"np.{name} left NumPy with version 1.20, and MXNet with it. The package numpy_financial has it: "
            f"numpy_financial.{name}(...), on x.asnumpy()."
        )

    function.__name__ = function.__qualname__ = name
    function.__module__ = "minpy.numpy"
    function.__doc__ = f"Raise: `{name}` is in the package numpy_financial."
    return function
