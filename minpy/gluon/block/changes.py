"""`Changes`: the arguments that a compiled function changes in place, and how they get their new values.

Its graph has these values as further heads. What is asked of the arguments for that is looked at before anything runs:
that nobody else's memory is theirs, as a graph knows its variables apart, that they can be written to, and that no tape
is involved. Where it is not so, a call goes as the function is written, and has NumPy's meaning.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence, Set
from typing import Any

import numpy

from minpy.core.array import FRONT_ENDS, memory_of, note_writes
from minpy.core.nodes import Leaf
from minpy.core.state import state
from minpy.differentiation.trees import map_tree
from minpy.gluon.block.guards import Guards

__all__ = ["Changes", "NotOwnError", "Returned", "forbidden", "of_numpy", "overlaps_itself"]

_WORK = 1000  # what NumPy may spend on finding out whether two strided arrays have an element in common


class _Forbidden(threading.local):
    """Whether no compiled function may change anything in this thread now: those that would end with `NotOwnError`."""

    changes = False


forbidden = _Forbidden()


class _OfNumPy(threading.local):
    """The ids of NumPy's arrays that the compiled function was given that this thread is calling; others are ours."""

    ids: Set[int] = frozenset()


of_numpy = _OfNumPy()


class NotOwnError(Exception):
    """A call whose arguments a graph cannot change: the function is to run as it is written."""


class Returned:
    """Stands for an argument that the function changes and returns: that very array."""

    __slots__ = ("position",)

    def __init__(self, position: int) -> None:
        self.position = position


class Changes:
    """The arguments that a function changes.

    Parameters
    ----------
    given : sequence of Traced
        The stand-ins for all arguments, when the function has run on them.
    inputs : sequence of Symbol
        What they were before.

    Attributes
    ----------
    positions : list of int
        Of the arguments that it changes.
    guards : Guards or None
        What the trace holds for.
    places : list of (bool, int)
        For all that it returns: whether that is an argument, and the position of that or of the head that it is.
    """

    def __init__(self, given: Sequence[Any], inputs: Sequence[Any]) -> None:
        pairs = list(enumerate(zip(given, inputs, strict=True)))
        self.positions = [index for index, (one, first) in pairs if one.symbol is not first]
        self.guards: Guards | None = None
        self._given = {id(given[index]): index for index in self.positions}
        self._finals = [given[index].symbol for index in self.positions]
        self._variables = [inputs[index].values[0].node for index in self.positions]
        self._count = 0
        self.places: list[tuple[bool, int]] = []

    def __bool__(self) -> bool:
        return bool(self.positions)

    # -- at the trace ------------------------------------------------------------------------------------------------

    def marked(self, out: Any) -> Any:
        """Return what the function returned with marks in the place of arguments that it has changed."""
        if not self.positions:
            return out
        return map_tree(lambda leaf, _: Returned(self._given[id(leaf)]) if id(leaf) in self._given else leaf, out)

    def heads(self, found: Sequence[Any]) -> list[Any]:
        """Return the heads of the graph, given what is returned: symbols and marks.

        The same symbol is the same stand-in, and one array; two of the same value may be two arrays.
        """
        symbols = {id(one): one for one in found if not isinstance(one, Returned)}
        self._count = len(symbols)
        numbers = {key: number for number, key in enumerate(symbols)}
        self.places = [
            (True, one.position) if isinstance(one, Returned) else (False, numbers[id(one)]) for one in found
        ]
        self._given = {}  # stand-ins are gone with the trace
        return [*symbols.values(), *self._finals]

    def stores(self) -> dict[int, Any]:
        """Return the variables of the arguments by the positions of the heads that they are to become."""
        return dict(enumerate(self._variables, self._count))

    # -- at calls ----------------------------------------------------------------------------------------------------

    def require_own(self, arrays: Sequence[Any], variables: Sequence[int]) -> None:
        """Raise `NotOwnError` where the graph would not do what the function does.

        Parameters
        ----------
        arrays : sequence of Array
            Of all variables.
        variables : sequence of int
            The positions of those that are changed.
        """
        if state.recording or forbidden.changes:
            raise NotOwnError
        raws = [array._data for array in arrays]
        others = [] if self.guards is None else self.guards.arrays()
        for position in variables:
            array, raw = arrays[position], raws[position]
            if type(array) not in FRONT_ENDS.values() or not raw.flags.writeable or overlaps_itself(raw):
                raise NotOwnError
            if (array._node is not None and type(array._node) is not Leaf) or memory_of(raw).taped:
                raise NotOwnError
            for other in (*raws[:position], *raws[position + 1 :], *others):
                if _may_meet(raw, other):
                    raise NotOwnError

    def store(self, heads: Sequence[Any], arrays: Sequence[numpy.ndarray], stored: Mapping[int, int]) -> None:
        """Put heads in the place of the variables' values, where native code has not done so, and note the writes."""
        for head, position in stored.items():
            if heads[head] is not arrays[position]:
                numpy.copyto(arrays[position], heads[head])
        note_writes(arrays, tuple(stored.values()))

    def returned(self, heads: Sequence[Any], leaves: Sequence[Any]) -> list[Any]:
        """Return the arrays that the function returns, among the heads and the arguments."""
        return [leaves[position] if is_given else heads[position] for is_given, position in self.places]


def _may_meet(one: numpy.ndarray, other: Any) -> bool:
    """Tell whether two arrays have an element in common, or may have."""
    try:
        return bool(numpy.shares_memory(one, other, max_work=_WORK))  # type: ignore[arg-type]
    except (numpy.exceptions.TooHardError, TypeError):
        return True


def overlaps_itself(array: numpy.ndarray) -> bool:
    """Tell whether some elements of an array may be one, as those of a broadcast array are.

    >>> overlaps_itself(numpy.zeros((2, 3)).T), overlaps_itself(numpy.broadcast_to(numpy.zeros(3), (2, 3)))
    (False, True)
    """
    if array.flags.c_contiguous or not array.size:
        return False
    reach = array.itemsize
    for stride, length in sorted(zip(map(abs, array.strides), array.shape, strict=True)):
        if length > 1:
            if stride < reach:
                return True
            reach += stride * (length - 1)
    return False
