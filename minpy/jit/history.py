"""Why a function was captured, each time: what `explain_retraces` prints.

Why a block that defines `hybrid_forward` was traced is in `minpy.gluon.block.retraces`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy

from minpy.capture.guard_sources import own_constant
from minpy.capture.reads import CONSTANT_TYPES, ArrayKind, length, same_value
from minpy.capture.scalars import is_dynamic
from minpy.core.array import Array
from minpy.jit.guards import GONE, array_failure, failure, kind_difference, shortened, where
from minpy.jit.pytrees import Nest

__all__ = ["Capture", "History", "argument_paths", "miss_reason"]

_MAX_CAPTURES = 100


class Capture(NamedTuple):
    """One capture of a function."""

    reason: str  # why none of those before held
    note: str  # what came of it, or what it was called with
    seconds: float


class History:
    """The captures of one function, and since when it runs as it is written."""

    def __init__(self) -> None:
        self.captures: list[Capture] = []  # the latest ones
        self.count = 0  # how many there were
        self.seconds = 0.0  # what all of them took
        self.calls = 0  # how many calls did not find a specialization at once
        self.refusal: str | None = None  # why it runs as it is written
        self._refused_at = 0

    def note(self, reason: str, note: str, seconds: float) -> None:
        """Note a capture."""
        self.count += 1
        self.seconds += seconds
        self.captures.append(Capture(reason, note, seconds))
        del self.captures[:-_MAX_CAPTURES]

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
    names = argument_names(function, len(positional.parts))
    paths: list[str] = []
    for position, part in enumerate(positional.parts):
        _paths(part, names[position], paths)
    for key, part in zip(keywords.keys, keywords.parts, strict=True):
        _paths(part, str(key), paths)
    return paths


def argument_names(function: Callable[..., Any], count: int) -> list[str]:
    """Return what a function calls its first arguments by position."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names = [parameter.name for parameter in parameters if parameter.kind in (0, 1)]
    variadic = [parameter.name for parameter in parameters if parameter.kind is inspect.Parameter.VAR_POSITIONAL]
    collects = variadic[0] if variadic else "argument"
    return [names[place] if place < len(names) else f"{collects}[{place - len(names)}]" for place in range(count)]


def _paths(spec: Nest | None, path: str, paths: list[str]) -> None:
    if spec is None:
        paths.append(path)
        return
    keys = spec.keys if spec.keys is not None else range(len(spec.parts))
    for key, part in zip(keys, spec.parts, strict=True):
        _paths(part, f"{path}[{key!r}]", paths)


def described(paths: Sequence[str], leaves: Sequence[Any]) -> str:
    """Return the arrays of a call: 'x float64 (64, 100)'."""
    texts = [
        f"{path} {numpy.dtype(leaf.dtype)} {tuple(leaf.shape)}"
        for path, leaf in zip(paths, leaves, strict=True)
        if isinstance(leaf, (numpy.ndarray, Array))
    ]
    return ", ".join(texts)


def miss_reason(
    specialization: Any, spec: Nest, leaves: Sequence[Any], paths: Sequence[str], function: Callable[..., Any]
) -> str:
    """Return why a specialization does not hold for a call."""
    return (
        _structure(specialization.call_spec, spec, function)
        or _arguments(specialization, leaves, paths)
        or _reads(specialization)
        or _with_reads(specialization, leaves, paths)
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
                value = read.source(read.container, read.key)
            except GONE:
                return None
            if type(value) is not type(read.expected) or not is_dynamic(value) or read.source in (length, own_constant):
                return None
            places.add((read.source, id(read.container), read.key))
    if not positions and not places:
        return None
    return frozenset(positions), frozenset(places)


def _structure(before: Nest, now: Nest, function: Callable[..., Any]) -> str | None:
    """Return how the arguments of a call are nested in another way than those of another one."""
    if before == now:
        return None
    counts = [len(nest.parts[0].parts) for nest in (before, now)]
    if counts[0] != counts[1]:
        return f"the arguments by position were {counts[0]}, are {counts[1]}"
    names = [nest.parts[1].keys for nest in (before, now)]
    if names[0] != names[1]:
        return f"the arguments by keyword were {_listed(names[0])}, are {_listed(names[1])}"
    first = argument_names(function, counts[0])
    for name, was, is_now in zip((*first, *names[0]), _parts(before), _parts(now), strict=True):
        difference = _nest_difference(was, is_now, f"argument {name}")
        if difference is not None:
            return difference
    return None


def _parts(call: Nest) -> Iterator[Nest | None]:
    for half in call.parts:
        assert half is not None
        yield from half.parts


def _nest_difference(before: Nest | None, now: Nest | None, path: str) -> str | None:
    if before == now:
        return None
    if before is None or now is None or before.kind is not now.kind:
        was, is_now = ("no nest" if nest is None else nest.kind.__name__ for nest in (before, now))
        return f"{path}: class was {was}, is {is_now}"
    if before.twin != now.twin:
        was, is_now = ("an object of its own" if nest.twin is None else "one that is there" for nest in (before, now))
        return f"{path} was {was}, is {is_now}"
    if before.key_kinds != now.key_kinds or before.keys != now.keys:
        was, is_now = (", ".join(map(repr, nest.keys or ())) or "none" for nest in (before, now))
        return f"{path}: keys were {was}, are {is_now}"
    if len(before.parts) != len(now.parts):
        return f"{path}: length was {len(before.parts)}, is {len(now.parts)}"
    keys = before.keys if before.keys is not None else range(len(before.parts))
    for key, was_part, part in zip(keys, before.parts, now.parts, strict=True):
        difference = _nest_difference(was_part, part, f"{path}[{key!r}]")
        if difference is not None:
            return difference
    return None


def _listed(names: Any) -> str:
    return ", ".join(map(str, names)) or "none"


def _arguments(specialization: Any, leaves: Sequence[Any], paths: Sequence[str]) -> str | None:
    for path, kind, leaf in zip(paths, specialization.kinds, leaves, strict=True):
        if isinstance(leaf, (numpy.ndarray, Array)) and kind.shape is not None:
            difference = kind_difference(ArrayKind(*kind[:3]), leaf)
            if difference is not None:
                return f"argument {path}: {difference}"
        elif kind.cls is not type(leaf) and not (
            isinstance(leaf, CONSTANT_TYPES) and isinstance(kind.value, CONSTANT_TYPES)
        ):
            return f"argument {path}: class was {kind.cls.__name__}, is {type(leaf).__name__}"
        elif leaf is not kind.value and not (isinstance(leaf, CONSTANT_TYPES) and same_value(leaf, kind.value)):
            if not isinstance(leaf, CONSTANT_TYPES):
                return f"argument {path} is another {type(leaf).__name__}"
            return f"argument {path}: was {shortened(repr(kind.value))}, is {shortened(repr(leaf))}"
    places = [place for place, leaf in enumerate(leaves) if isinstance(leaf, (numpy.ndarray, Array))]
    identities = [id(leaves[place]) for place in places]
    pattern = [identities.index(identity) for identity in identities]
    for place, before, now in zip(places, specialization.pattern, pattern, strict=True):
        if before != now:
            twin = paths[places[min(before, now)]]
            was, is_now = ("one", "two arrays") if before < now else ("two arrays", "one")
            return f"arguments {twin} and {paths[place]} were {was}, are {is_now}"
    return None


def _with_reads(specialization: Any, leaves: Sequence[Any], paths: Sequence[str]) -> str | None:
    """Return which argument is an array that the function refers to, and was not; or is not, and was."""
    for path, leaf in zip(paths, leaves, strict=True):
        for row in specialization.arrays_read:
            if isinstance(leaf, (numpy.ndarray, Array)) and row.source(row.container, row.key) is leaf:
                return f"argument {path} and `{row.path}` were two arrays, are one{where(row.place)}"
    return None


def _reads(specialization: Any) -> str | None:
    failures = chain(map(failure, specialization.reads.rows), map(array_failure, specialization.arrays_read))
    reason = next((text for text in failures if text is not None), None)
    if reason is not None:
        return reason
    return None if specialization.group is None else specialization.group.failure()
