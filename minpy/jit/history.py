"""Why a function was captured, each time: what `explain_retraces` prints."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy

from minpy.capture.reads import PLAIN, length, same_value
from minpy.capture.scalars import is_dynamic
from minpy.core.array import Array
from minpy.jit.guards import GONE, array_failure, failure
from minpy.jit.pytrees import Nest

__all__ = ["Capture", "History", "argument_paths", "miss_reason"]

_LONGEST_TEXT = 60
_MOST_CAPTURES = 100


class Capture(NamedTuple):
    """One capture of a function.

    Attributes
    ----------
    reason : str
        Why none of those before held.
    note : str
        What came of it, or what it was called with.
    seconds : float
    """

    reason: str
    note: str
    seconds: float


class History:
    """The captures of one function, and since when it runs as it is written.

    Attributes
    ----------
    captures : list of Capture
        The latest ones.
    count : int
        How many there were.
    seconds : float
        What all of them took.
    calls : int
        How many calls did not find a specialization at once.
    refusal : str or None
        Why it runs as it is written.
    """

    def __init__(self) -> None:
        self.captures: list[Capture] = []
        self.count = 0
        self.seconds = 0.0
        self.calls = 0
        self.refusal: str | None = None
        self._refused_at = 0

    def note(self, reason: str, note: str, seconds: float) -> None:
        """Note a capture."""
        self.count += 1
        self.seconds += seconds
        self.captures.append(Capture(reason, note, seconds))
        del self.captures[:-_MOST_CAPTURES]

    def refuse(self, reason: str) -> None:
        """Note that the function runs as it is written from now on."""
        self.refusal, self._refused_at = reason, self.calls

    def text(self, name: str, specializations: int) -> str:
        """Return it as a table of lines."""
        counts = f"{_counted(specializations, 'specialization')}, {_counted(self.count, 'capture')}"
        lines = [f"{name}: {counts}, {self.seconds * 1e3:.0f} ms"]
        first = self.count - len(self.captures) + 1
        width = max([len(capture.reason) for capture in self.captures if capture.note], default=0)
        for number, capture in enumerate(self.captures, first):
            lines.append(f"{number}  {capture.reason:{width if capture.note else 0}}  {capture.note}".rstrip())
        if self.refusal is not None:
            lines.append(f"as written since call {self._refused_at}: {self.refusal}")
        return "\n".join(lines)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"


def argument_paths(function: Callable[..., Any], spec: Nest) -> list[str]:
    """Return what a user calls the leaves of a call: 'x', "params['w'][0]"."""
    positional, keywords = spec.parts
    assert positional is not None
    assert keywords is not None
    assert keywords.keys is not None
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names = [parameter.name for parameter in parameters if parameter.kind in (0, 1)]
    variadic = [parameter.name for parameter in parameters if parameter.kind is inspect.Parameter.VAR_POSITIONAL]
    rest = variadic[0] if variadic else "argument"
    found: list[str] = []
    for position, part in enumerate(positional.parts):
        _paths(part, names[position] if position < len(names) else f"{rest}[{position - len(names)}]", found)
    for key, part in zip(keywords.keys, keywords.parts, strict=True):
        _paths(part, str(key), found)
    return found


def _paths(spec: Nest | None, path: str, found: list[str]) -> None:
    if spec is None:
        found.append(path)
        return
    keys = spec.keys if spec.keys is not None else range(len(spec.parts))
    for key, part in zip(keys, spec.parts, strict=True):
        _paths(part, f"{path}[{key!r}]", found)


def described(paths: Sequence[str], leaves: Sequence[Any]) -> str:
    """Return the arrays of a call: 'x float64 (64, 100)'."""
    texts = [
        f"{path} {numpy.dtype(leaf.dtype)} {tuple(leaf.shape)}"
        for path, leaf in zip(paths, leaves, strict=True)
        if isinstance(leaf, (numpy.ndarray, Array))
    ]
    return ", ".join(texts)


def miss_reason(specialization: Any, spec: Nest, leaves: Sequence[Any], paths: Sequence[str]) -> str:
    """Return why a specialization does not hold for a call."""
    return (
        _structure(specialization.call_spec, spec)
        or _arguments(specialization, leaves, paths)
        or _reads(specialization)
        or "NumPy's switches, or what is done about floating-point errors, are others than before"
    )


def changed_numbers(
    specialization: Any, spec: Nest, leaves: Sequence[Any]
) -> tuple[frozenset[int], frozenset[Any]] | None:
    """Return the numbers that are all that has changed, as (positions of leaves, places that were read); else None."""
    if specialization.call_spec != spec:
        return None
    positions = set()
    for position, (kind, leaf) in enumerate(zip(specialization.kinds, leaves, strict=True)):
        if kind.cls is not type(leaf):
            return None
        if kind.shape is None and leaf is not kind.value and not same_value(leaf, kind.value):
            if not is_dynamic(leaf):
                return None
            positions.add(position)
    places = set()
    for read in specialization.reads.rows:
        if not read.holds():
            try:
                value = read.fetch(read.container, read.key)
            except GONE:
                return None
            if type(value) is not type(read.expected) or not is_dynamic(value) or read.fetch is length:
                return None
            places.add((read.fetch, id(read.container), read.key))
    if not positions and not places:
        return None
    return frozenset(positions), frozenset(places)


def _structure(before: Nest, now: Nest) -> str | None:
    if before == now:
        return None
    counts = [len(nest.parts[0].parts) for nest in (before, now)]  # type: ignore[union-attr]
    if counts[0] != counts[1]:
        return f"the arguments by position were {counts[0]}, are {counts[1]}"
    names = [nest.parts[1].keys for nest in (before, now)]  # type: ignore[union-attr]
    if names[0] != names[1]:
        return f"the arguments by keyword were {_listed(names[0])}, are {_listed(names[1])}"
    return "the arguments are nested in another way than before"


def _listed(names: Any) -> str:
    return ", ".join(map(str, names)) or "none"


def _arguments(specialization: Any, leaves: Sequence[Any], paths: Sequence[str]) -> str | None:
    for path, kind, leaf in zip(paths, specialization.kinds, leaves, strict=True):
        is_array = isinstance(leaf, (numpy.ndarray, Array))
        if kind.cls is not type(leaf):
            return f"argument {path}: was of type {_class(kind.cls)}, is of type {_class(type(leaf))}"
        if is_array:
            raw = leaf if isinstance(leaf, numpy.ndarray) else leaf._data
            if kind.shape is not None and len(kind.shape) != raw.ndim:
                return f"argument {path}: had {len(kind.shape)} axes, has {raw.ndim}"
            if kind.shape != raw.shape:
                return f"argument {path}: shape was {kind.shape}, is {raw.shape}"
            if kind.dtype != raw.dtype:
                return f"argument {path}: dtype was {kind.dtype}, is {raw.dtype}"
        elif leaf is not kind.value and not (isinstance(leaf, PLAIN) and same_value(leaf, kind.value)):
            if not isinstance(leaf, PLAIN):
                return f"argument {path} is another {type(leaf).__name__} than before"
            return f"argument {path} was {_text(kind.value)}, is {_text(leaf)}"
    arrays = [id(leaf) for leaf in leaves if isinstance(leaf, (numpy.ndarray, Array))]
    if [arrays.index(key) for key in arrays] != specialization.pattern:
        return "which of the arguments are one array is another than before"
    return None


def _class(cls: type) -> str:
    return cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"


def _reads(specialization: Any) -> str | None:
    for read in specialization.reads.rows:
        reason = failure(read)
        if reason is not None:
            return reason
    for row in specialization.arrays_read:
        reason = array_failure(row)
        if reason is not None:
            return reason
    return None if specialization.group is None else specialization.group.failure()


def _text(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}..."
