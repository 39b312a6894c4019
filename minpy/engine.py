"""`mx.engine`: how many operations are handed to MXNet's engine at once. Here each runs when it is called.

The size is kept, so that programs which set and restore it find what they have set.
"""

from __future__ import annotations

from minpy.core.errors import ArgumentError, describe
from minpy.namespaces import listing

__all__ = ["bulk", "set_bulk_size"]
__dir__ = listing(__all__)


class _Bulk:
    size = 15


def set_bulk_size(size: int) -> int:
    """Set the size of bulks, which nothing here depends on.

    Parameters
    ----------
    size : int

    Returns
    -------
    int
        The size before.

    Raises
    ------
    ArgumentError
        If it is no integer.

    Examples
    --------
    >>> import minpy as mx
    >>> before = mx.engine.set_bulk_size(4)
    >>> mx.engine.set_bulk_size(before)
    4
    """
    if isinstance(size, bool) or not isinstance(size, int):
        raise ArgumentError(f"set_bulk_size: expected an integer, got {describe(size)}.")
    before, _Bulk.size = _Bulk.size, size
    return before


class _Scope:
    def __init__(self, size: int) -> None:
        self._size = size
        self._before = size

    def __enter__(self) -> None:
        self._before = set_bulk_size(self._size)

    def __exit__(self, *_: object) -> None:
        set_bulk_size(self._before)


def bulk(size: int) -> _Scope:
    """Return a scope in which the size of bulks is `size`: operations inside run one by one, as everywhere here.

    Parameters
    ----------
    size : int

    Returns
    -------
    context manager

    Examples
    --------
    >>> import minpy as mx
    >>> with mx.engine.bulk(10):
    ...     total = (mx.nd.ones(3) + 1).sum()
    >>> total.asscalar().item()
    6.0
    """
    return _Scope(size)
