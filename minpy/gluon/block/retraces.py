"""Why a block was traced to a graph of symbols, each time: its part of `explain_retraces`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from minpy.capture.reads import ArrayKind
from minpy.core.numpy_semantics import is_np_array
from minpy.core.state import state
from minpy.jit.guards import kind_difference
from minpy.jit.history import History, argument_names, described

__all__ = ["GraphHistory"]

_MOST_CALLS = 32
_FORGOTTEN = "hybridize() or cast() was called, or a block or a parameter inside was set"
_DROPPED = "its graph was dropped, as there were too many others"
_OF_SHAPES = ("rank", "shape", "dtype", "context")
_MODES = ("`is_np_array()`", "`is_training()`", "`is_recording()`")


class _Call(NamedTuple):
    """The call for which a graph was traced."""

    form_key: Any
    modes: tuple[bool | None, ...]  # as `_MODES`; None: tracing has not asked for it
    kinds: list[tuple[ArrayKind, Any] | None]  # of each leaf, with its context


class GraphHistory(History):
    """The graphs that one block was traced to, and why."""

    def __init__(self) -> None:
        super().__init__()
        # What has changed that the graphs were valid for; None: nothing has, or there were no graphs.
        self.failure: str | None = None
        self._calls: list[_Call] = []  # of the graphs that there are

    def note_trace(
        self,
        block: Any,
        args: Sequence[Any],
        leaves: Sequence[Any],
        form_key: Any,
        asked_modes: tuple[bool, ...],
        is_first: bool,
        seconds: float,
    ) -> None:
        """Note that a graph was traced for a call with `args`, which are `leaves` in a flat list.

        `asked` says whether tracing has asked for training, and for recording; `is_first`, that the block had no graph.
        """
        training, recording = bool(state.training), state.recording == 1
        modes = is_np_array(), training if asked_modes[0] else None, recording if asked_modes[1] else None
        kinds = [
            None if leaf is None else (ArrayKind(type(leaf), leaf.shape, leaf.dtype), leaf.context) for leaf in leaves
        ]
        call = _Call(form_key, modes, kinds)
        names = argument_names(getattr(block, "hybrid_forward", block.forward), len(args) + 1)
        names = names[1:] if not block._is_written_as_forward else names[:-1]  # F
        paths = [path for name, value in zip(names, args, strict=True) for path in _paths(value, name)]
        if len(paths) != len(leaves):
            paths = [f"input {position}" for position in range(len(leaves))]
        reason, self.failure = self.failure, None
        if not self.count:
            reason = "first call"
        elif reason is None and is_first:
            reason = _FORGOTTEN
        elif reason is None:
            alike = [before for before in self._calls if before.form_key == form_key]
            reason = _difference((alike or self._calls)[-1], call, paths, leaves)
        self._calls = [call] if is_first else [*self._calls[-_MOST_CALLS:], call]
        self.note(reason, described(paths, leaves), seconds)


def _paths(value: Any, path: str) -> Iterator[str]:
    """Yield what a user calls the leaves of an argument."""
    if isinstance(value, (list, tuple, dict)):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _paths(part, f"{path}[{key!r}]")
    else:
        yield path


def _difference(before: _Call, call: _Call, paths: Sequence[str], leaves: Sequence[Any]) -> str:
    """Return how a call is another than the one before it for which a graph was traced."""
    if before.form_key != call.form_key:
        if type(before.form_key) is int and type(call.form_key) is int:
            return f"the arguments by position were {before.form_key}, are {call.form_key}"
        return "the arguments were nested in another way"
    for name, was_on, is_on in zip(_MODES, before.modes, call.modes, strict=True):
        if was_on is not None and is_on is not None and was_on != is_on:
            return f"{name} was {was_on}, is {is_on}"
    texts = [_kind_difference(*row) for row in zip(before.kinds, leaves, strict=True)]
    differing = [(path, text) for path, text in zip(paths, texts, strict=True) if text is not None]
    # Shapes are no reason where tracing has not asked for them: a class is, and whether there is an array.
    differing.sort(key=lambda row: row[1].startswith(_OF_SHAPES))
    return f"argument {differing[0][0]}: {differing[0][1]}" if differing else _DROPPED


def _kind_difference(was: tuple[ArrayKind, Any] | None, leaf: Any) -> str | None:
    """Return in words how a leaf is another than it was."""
    if was is None or leaf is None:
        texts = ["None" if leaf_or_none is None else "an array" for leaf_or_none in (was, leaf)]
        return None if was is leaf else f"was {texts[0]}, is {texts[1]}"
    kind, context = was
    difference = kind_difference(kind, leaf)
    return difference or (None if context == leaf.context else f"context was {context}, is {leaf.context}")
