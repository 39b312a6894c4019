"""Free memory of C's allocator, given back to the system.

Large arrays that are freed leave holes between what is still in use. glibc keeps those, to give them out again, and
what is made in one piece, such as the memory of a native program, does not fit in: the process would hold both. Other
allocators give back by themselves, or have no function for it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache

__all__ = ["release"]


@cache
def _trim() -> Callable[[int], int] | None:
    """Return `malloc_trim`, if the C library has one."""
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):  # TypeError: Windows wants the name of a library
        return None
    trim.argtypes, trim.restype = [ctypes.c_size_t], ctypes.c_int
    function: Callable[[int], int] = trim
    return function


def release() -> bool:
    """Give what the allocator holds free back to the system, as far as these are whole pages.

    Returns
    -------
    bool
        Whether there was some; False also where the C library cannot do so.

    Examples
    --------
    >>> release() in (True, False)
    True
    """
    trim = _trim()
    return trim is not None and bool(trim(0))
