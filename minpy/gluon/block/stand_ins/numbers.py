"""Numbers beside the stand-ins of a trace: which calls MXNet's operators with numbers answer as NumPy does.

MXNet's operators hold a number as a float, which takes the dtype of the array. NumPy's scalars have their own dtypes, a
Python number may change the kind (`np.where(mask, 1.5, 0)`), and integers above 2**53 are no floats. Such calls are
recorded as NumPy's functions, with the numbers as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy

from minpy.core.errors import NotTraceableError
from minpy.numpy_table.table import function_named, named
from minpy.symbol.numpy.methods import COMPARISONS, SIGNS

__all__ = ["METHODS", "differs_for_complex", "need_numpy"]

# The functions that operators of Python are.
METHODS = SIGNS | COMPARISONS
# Integers between these are floats, too.
_EXACT = 2**53


def need_numpy(name: str, operands: Sequence[Any], keywords: Mapping[str, Any]) -> bool:
    """Tell whether a call has numbers with which only the function of NumPy itself gives NumPy's answer.

    Parameters
    ----------
    name : str
        Of a function of NumPy.
    operands : sequence of object
        Its positional arguments: stand-ins, arrays and numbers.
    keywords : mapping of str to object
        Its other arguments.

    Examples
    --------
    >>> array = numpy.ones(3, 'float32')
    >>> [need_numpy('multiply', [array, number], {}) for number in (0.5, numpy.float64(0.5))]
    [False, True]
    """
    row = named(name)
    names = row.mixes.split() if row is not None else []
    if not names and not isinstance(function_named(name), numpy.ufunc):
        return False
    positions = slice(name == "where", 3) if names else slice(None)
    given = [*operands[positions], *(keywords[key] for key in names if key in keywords)]
    numbers = [one for one in given if isinstance(one, (bool, int, float, complex, numpy.generic))]
    if any(isinstance(one, (int, numpy.integer)) and abs(int(one)) > _EXACT for one in numbers):
        return True
    typed = [one for one in numbers if isinstance(one, numpy.generic)]
    has_bool = any(isinstance(one, (bool, numpy.bool_)) for one in numbers)
    if not typed and not has_bool and (not names or not numbers):
        return False
    try:
        dtypes = [
            numpy.dtype(one.dtype)
            for one in given
            if not isinstance(one, numpy.generic) and hasattr(type(one), "dtype")
        ]
    except NotTraceableError:  # it is not known yet, and MXNet's operators ask for none
        return False
    if not dtypes or any(one.dtype not in dtypes for one in typed) or (has_bool and numpy.dtype(bool) in dtypes):
        return True
    try:
        return bool(names) and numpy.result_type(*dtypes, *numbers) != numpy.result_type(*dtypes)
    except OverflowError:  # the dtype does not hold the number: the error is NumPy's
        return True


def differs_for_complex(name: str, operands: Sequence[Any], keywords: Mapping[str, Any]) -> bool:
    """Tell whether an array is complex, and MXNet's operator is not what NumPy's function is for complex numbers.

    Examples
    --------
    >>> [differs_for_complex('var', [numpy.ones(3, dtype)], {}) for dtype in ('float32', 'complex64')]
    [False, True]
    """
    row = named(name)
    return row is not None and row.differs == "c" and "c" in _kinds(operands, keywords)


def _kinds(operands: Sequence[Any], keywords: Mapping[str, Any]) -> set[str]:
    """Return the kinds of the arrays of a call; none if one is not known yet."""
    given = [one for one in (*operands, *keywords.values()) if hasattr(type(one), "dtype")]
    try:
        return {numpy.dtype(one.dtype).kind for one in given}
    except NotTraceableError:
        return set()
