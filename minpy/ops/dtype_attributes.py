"""Dtypes that attributes ask for, and that operators take. Which dtypes there are is said in `minpy.core.dtypes`."""

from __future__ import annotations

from typing import Any

import numpy

from minpy.core.errors import DTypeError

__all__ = ["dtype_or", "require_floats"]


def dtype_or(dtype: Any, default: Any) -> numpy.dtype:
    """Return the dtype that an attribute asks for; `default` for None, and for 'None', as files write it.

    Examples
    --------
    >>> dtype_or('None', 'float32'), dtype_or(numpy.dtype('float64'), 'float32')
    (dtype('float32'), dtype('float64'))
    """
    # Not `dtype in (None, ...)`: numpy.dtype('float64') == None is True.
    is_given = dtype is not None and not (isinstance(dtype, str) and dtype == "None")
    return numpy.dtype(dtype if is_given else default)


def require_floats(name: str, data: Any, kinds: str = "f", argument: str = "data") -> None:
    """Raise, unless an array holds floating-point numbers.

    Raises
    ------
    DTypeError
        With the operator's name, and what to do.
    """
    if data.dtype.kind not in kinds:
        raise DTypeError(
            f"{name}: {argument} has dtype {data.dtype}; expected a floating-point dtype. "
            f"Use {argument}.astype('float32')."
        )
