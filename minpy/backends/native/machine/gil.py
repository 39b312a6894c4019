"""Python's global lock, let go and taken again by native code around what takes long, so that other threads run.

Between the two no object of Python may be touched; memory of arrays may, which callers hold. In free-threaded builds
the same calls let the interpreter pause all threads, to collect garbage, without waiting for this one.
"""

from __future__ import annotations

import ctypes

__all__ = ["acquire", "addresses", "release"]


def addresses() -> tuple[int, int]:
    """Return where `PyEval_SaveThread` and `PyEval_RestoreThread` begin, for a table that native code reads.

    Examples
    --------
    >>> all(addresses())
    True
    """
    functions = (ctypes.pythonapi.PyEval_SaveThread, ctypes.pythonapi.PyEval_RestoreThread)
    save, restore = (ctypes.cast(function, ctypes.c_void_p).value or 0 for function in functions)
    return save, restore


def release(save: str, state: str) -> str:
    """Return LLVM IR that lets go of the lock.

    Parameters
    ----------
    save : str
        A value that points to `PyEval_SaveThread`.
    state : str
        The value that `acquire` needs, named here.

    Examples
    --------
    >>> release("%save", "%state")
    '%state = call ptr %save()'
    """
    return f"{state} = call ptr {save}()"


def acquire(restore: str, state: str) -> str:
    """Return LLVM IR that takes the lock again, and waits for it.

    Parameters
    ----------
    restore : str
        A value that points to `PyEval_RestoreThread`.
    state : str
        What `release` has named.

    Examples
    --------
    >>> acquire("%restore", "%state")
    'call void %restore(ptr %state)'
    """
    return f"call void {restore}(ptr {state})"
