"""Symbols with MXNet's semantics and with NumPy's: the same values, of another class."""

from __future__ import annotations

from typing import Any

from minpy.symbol.symbol import Symbol, method

__all__ = ["as_nd_ndarray", "as_np_ndarray"]


@method
def as_np_ndarray(self: Symbol) -> Any:
    """Return the same value with NumPy's semantics: see `minpy.sym.np`.

    Examples
    --------
    >>> import minpy as mx
    >>> mx.sym.var('x').as_np_ndarray()
    <_Symbol x>
    """
    from minpy.symbol.numpy.symbol_class import as_np  # most programs have no such symbols

    return as_np(self)


@method
def as_nd_ndarray(self: Symbol) -> Any:
    """Return the symbol itself: it has MXNet's semantics."""
    return self
