"""Why a block was traced to a graph of symbols, each time: its part of `explain_retraces`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from minpy.capture.reads import ArrayKind
from minpy.core.state import state
from minpy.core.switches import is_np_array
from minpy.jit.guards import kind_difference
from minpy.jit.history import History, argument_names, described

__all__ = ["GraphHistory"]

_MOST_CALLS = 32
_FORGOTTEN = "hybridize() or cast() was called, or a block or a parameter inside was set"
_DROPPED = "its graph was dropped, as there were too many others"
_MODES = ("`is_np_array()`", "`is_training()`", "`is_recording()`")


class _Call(NamedTuple):
    """The call for which a graph was traced.

    Attributes
    ----------
    form : hashable
        How its arguments are nested; their number, where they are not.
    modes : tuple of bool
        NumPy's semantics, training, recording.
    kinds : list of (ArrayKind, Context) or None
        Of each leaf.
    """

    form: Any
    modes: tuple[bool, bool, bool]
    kinds: list[tuple[ArrayKind, Any] | None]


class GraphHistory(History):
    """The graphs that one block was traced to, and why.

    Attributes
    ----------
    failure : str or None
        What has changed that the graphs had held for; None: nothing has, or there were no graphs.
    """

    def __init__(self) -> None:
        super().__init__()
        self.failure: str | None = None
        self._calls: list[_Call] = []  # of the graphs that there are

    def note_trace(
        self, block: Any, args: Sequence[Any], leaves: Sequence[Any], form: Any, is_first: bool, seconds: float
    ) -> None:
        """Note that a graph was traced for a call.

        Parameters
        ----------
        block : HybridBlock
        args : sequence
            What it was called with.
        leaves : sequence of NDArray or None
            The same in a flat list.
        form : hashable
            As the keys of graphs have it.
        is_first : bool
            Whether the block has no graph.
        seconds : float
            How long it took.
        """
        modes = is_np_array(), bool(state.training), state.recording == 1
        kinds = [None if leaf is None else (_kind(leaf), leaf.context) for leaf in leaves]
        call = _Call(form, modes, kinds)
        names = argument_names(getattr(block, "hybrid_forward", block.forward), len(args) + 1)
        names = names[1:] if not block._is_written_as_forward else names[:-1]  # F
        paths = [path for name, value in zip(names, args, strict=True) for path in _paths(value, name)]
        if len(paths) != len(leaves):
            paths = [f"input {place}" for place in range(len(leaves))]
        reason, self.failure = self.failure, None
        if not self.count:
            reason = "first call"
        elif reason is None and is_first:
            reason = _FORGOTTEN
        elif reason is None:
            alike = [before for before in self._calls if before.form == form]
            reason = _difference((alike or self._calls)[-1], call, paths, leaves)
        self._calls = [call] if is_first else [*self._calls[-_MOST_CALLS:], call]
        self.note(reason, described(paths, leaves), seconds)


def _kind(leaf: Any) -> ArrayKind:
    return ArrayKind(type(leaf), leaf.shape, leaf.dtype)


def _paths(value: Any, path: str) -> Iterator[str]:
    """Yield what a user calls the leaves of an argument."""
    if isinstance(value, (list, tuple, dict)):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _paths(part, f"{path}[{key!r}]")
    else:
        yield path


def _difference(before: _Call, call: _Call, paths: Sequence[str], leaves: Sequence[Any]) -> str:
    """Return how a call is another than the one before it for which a graph was traced."""
    if type(before.form) is int and type(call.form) is int and before.form != call.form:
        return f"the arguments by position were {before.form}, are {call.form}"
    if before.form != call.form:
        return "the arguments were nested in another way"
    for name, was, is_now in zip(_MODES, before.modes, call.modes, strict=True):
        if was != is_now:
            return f"{name} was {was}, is {is_now}"
    for path, was, leaf in zip(paths, before.kinds, leaves, strict=True):
        if was is None or leaf is None:
            if was is not leaf:
                was_there, is_there = ("None" if one is None else "an array" for one in (was, leaf))
                return f"argument {path} was {was_there}, is {is_there}"
            continue
        kind, context = was
        difference = kind_difference(kind, leaf)
        if difference is not None:
            return f"argument {path}: {difference}"
        if context != leaf.context:
            return f"argument {path}: context was {context}, is {leaf.context}"
    return _DROPPED
