"""`Specialized`: a function with its specializations: it finds the one for a call, makes it, or runs as written."""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import numpy

from minpy.backends.switches import keeps_bits
from minpy.capture.places import CaptureRefused
from minpy.capture.reads import CONSTANT_TYPES
from minpy.capture.scalars import is_dynamic
from minpy.core.array import FRONT_ENDS, Array, raw_of
from minpy.core.errors import is_quitting
from minpy.core.floating_point import is_calm
from minpy.jit.argument_writes import MustRunEagerly
from minpy.jit.budget import budget_of
from minpy.jit.captured_call import CapturedCall, capture_call
from minpy.jit.entry import MISS, RUN_EAGERLY, Entry, make_entry
from minpy.jit.guards import GONE, where
from minpy.jit.history import History, argument_paths, changed_numbers, described, miss_reason
from minpy.jit.pytrees import Nest, flatten
from minpy.jit.specialization import Specialization
from minpy.jit.trial import Candidate

__all__ = ["Specialized"]

# Beyond this many specializations the least recently used one is dropped.
_MAX_SPECIALIZATIONS = 128
# After this many captures that did not hold for their own calls, the function runs eagerly.
_MAX_MISSES_AT_ONCE = 8
# Of the tables of all functions: held while they are changed.
_lock = threading.RLock()
_numbers = itertools.count()


class _Kind(NamedTuple):
    """What a leaf of the call was that was captured."""

    cls: type
    shape: tuple[int, ...] | None
    dtype: Any
    value: Any


class Specialized:
    """A function that is captured for what it is called with.

    `eager` runs the function as it is written, on (arguments, keywords). `refused` is called with the reason, once,
    when the function is to run as it is written from now on.
    """

    errors_are_eager = True  # whether a call that fails runs as it is written instead

    def __init__(
        self,
        function: Callable[..., Any],
        name: str,
        fast_math: bool,
        eager: Callable[[Any, Any], Any],
        refused: Callable[[str], None],
    ) -> None:
        self.function = function
        self.name = name
        self.fast_math = fast_math
        self.latest: Entry = _holds_never  # that of the last call
        self.history = History()
        self.eager, self._refused = eager, refused
        self.signature: Callable[..., Any] = function  # whose parameters messages name
        self.budget = budget_of(function)
        self._misses_at_once = 0
        self._number = next(_numbers)  # tells it apart in the budget, also from those that are gone
        # By the kind of call: those that differ in what the function read.
        self._candidates: OrderedDict[Any, list[Candidate]] = OrderedDict()
        self._last: Specialization | None = None
        # Numbers that have changed between calls: by the spec of a call, the positions of its leaves; and places.
        self._dynamic: dict[Nest, frozenset[int]] = {}
        self._dynamic_reads: frozenset[Any] = frozenset()
        self._gradients: dict[tuple[int, ...], Entry] = {}

    @property
    def specializations(self) -> list[Specialization]:
        """All that there are, the latest first."""
        with _lock:
            return [row.specialization for rows in reversed(self._candidates.values()) for row in reversed(rows)]

    def call(self, arguments: tuple[Any, ...], keywords: dict[str, Any], spec: Nest, leaves: Sequence[Any]) -> Any:
        """Return what the function returns, for a call for which `latest` does not hold."""
        self.history.calls += 1
        if self.history.refusal is not None or not is_calm():
            return self.eager(arguments, keywords)
        try:
            key = self._key_of(spec, leaves)
            rows = self._candidates.get(key, ())
        except TypeError:  # there is something without a hash among them
            key, rows = None, ()
        for candidate in reversed(rows):
            if candidate.runs_eagerly:
                self.budget.skip_lookups()
                return self._timed(arguments, keywords)
            began = perf_counter()
            try:
                result = candidate.entry(arguments, keywords)
            except Exception as error:
                if is_quitting(error) or isinstance(error, MustRunEagerly) or not self.errors_are_eager:
                    raise
                result = RUN_EAGERLY  # its own error says more, and comes after what it does before
            if result is RUN_EAGERLY:
                return self.eager(arguments, keywords)
            if result is not MISS:
                self._last = candidate.specialization
                self._candidates.move_to_end(key)
                self.budget.note_use()
                if not candidate.is_decided and not keeps_bits():  # both ways differ in the last bits
                    candidate.note(perf_counter() - began, lambda: self.function(*arguments, **keywords))
                if candidate.is_decided:
                    self.latest = candidate.entry
                return result
        if not self.budget.allows(None if key is None else (self._number, key), bool(rows)):
            if self.budget.lookups_to_skip > 0:
                self.latest = _holds_never  # a call that rests does not even look whether anything holds
            return self._timed(arguments, keywords)
        return self._captured(key, arguments, keywords, spec, leaves)

    def _key_of(self, spec: Nest, leaves: Sequence[Any]) -> Any:
        """Return what tells calls apart that need captures of their own."""
        dynamic = self._dynamic.get(spec, frozenset())
        return spec, *[_key(leaf, position in dynamic) for position, leaf in enumerate(leaves)], *_pattern(leaves)

    def call_eagerly(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Return what the function as written returns, without looking for a specialization."""
        self.history.calls += 1
        self.budget.lookups_to_skip -= 1
        return self._timed(arguments, keywords)

    def _timed(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        began = perf_counter()
        result = self.eager(arguments, keywords)
        self.budget.eager_seconds += perf_counter() - began
        return result

    def _captured(
        self, key: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], spec: Nest, leaves: Sequence[Any]
    ) -> Any:
        began = perf_counter()
        paths = argument_paths(self.signature, spec)
        reason = "first call" if self._last is None else miss_reason(self._last, spec, leaves, paths, self.signature)
        changed = None if self._last is None else changed_numbers(self._last, spec, leaves)
        if changed is not None:
            self._dynamic[spec] = self._dynamic.get(spec, frozenset()) | changed[0]
            self._dynamic_reads |= changed[1]
            key = self._key_of(spec, leaves)
        dynamic = self._dynamic.get(spec, frozenset())
        try:
            captured = capture_call(self.function, self.name, arguments, keywords, dynamic, self._dynamic_reads)
            specialization = self.specialized(captured)
            specialization.note_call(spec, _pattern(leaves), [_kind(leaf) for leaf in leaves])
            entry = make_entry(specialization, spec, leaves, dynamic)
            result = entry(arguments, keywords)
        except (CaptureRefused, Exception) as error:
            if is_quitting(error) or isinstance(error, MustRunEagerly):
                raise
            result = self.eager(arguments, keywords)  # an error of its own says more
            if isinstance(error, CaptureRefused):
                self.refuse(error.reason + where(error.place))
            else:
                self.refuse(f"{type(error).__name__}: {error}")
            return result
        seconds = perf_counter() - began
        self.budget.charge(seconds)
        refusal = specialization.contradiction()
        if result is MISS:  # another thread has changed something meanwhile, or something is not even like itself
            self._misses_at_once += 1
            if self._misses_at_once < _MAX_MISSES_AT_ONCE:
                return self.eager(arguments, keywords)
            refusal = "what it refers to cannot be compared with what it was"
        if refusal is not None:
            result = self.eager(arguments, keywords)
            self.refuse(refusal)
            return result
        with _lock:
            note = described(paths, leaves) if self._last is None else "→ dynamic" if changed is not None else ""
            self.history.note(reason, note, seconds)
            rows = self._candidates.setdefault(key, [])
            candidate = Candidate(entry, specialization)
            rows.append(candidate)
            del rows[:-_MAX_SPECIALIZATIONS]
            self._candidates.move_to_end(key)
            while len(self._candidates) > _MAX_SPECIALIZATIONS:
                self._candidates.popitem(last=False)
            # The next call for which it holds finds it in the table, which notes that it is of use.
            self.latest, self._last = _holds_never, specialization
        return self.eager(arguments, keywords) if result is RUN_EAGERLY else result

    def specialized(self, captured: CapturedCall) -> Specialization:
        """Return the specialization of a captured call."""
        return Specialization(captured, self.name, self.fast_math)

    def refuse(self, reason: str) -> None:
        """Run the function as it is written from now on."""
        with _lock:
            if self.history.refusal is not None:
                return
            self.history.refuse(reason)
            self._candidates.clear()
            self.latest, self._last = _holds_never, None
            self._gradients = {}
        self._refused(reason)

    # -- derivatives -------------------------------------------------------------------------------------------------

    def gradients(self, arguments: tuple[Any, ...], argnums: tuple[int, ...]) -> Any:
        """Return (result, gradients of its sum) for NumPy's arrays, where native code is there; else `MISS`."""
        entry = self._gradients.get(argnums)
        if entry is None:
            return MISS
        result = entry(arguments, {})
        return MISS if result is NotImplemented else result

    def note_gradients(self, arguments: tuple[Any, ...], argnums: tuple[int, ...]) -> None:
        """Look for native code for NumPy's arrays with which the function has just been differentiated."""
        if self.history.refusal is not None or not all(type(argument) is numpy.ndarray for argument in arguments):
            return
        # Derivatives are asked of arrays of ours, with NumPy's beside them.
        ours = FRONT_ENDS["numpy"]
        classes = [ours if position in argnums else numpy.ndarray for position in range(len(arguments))]
        keys = [(cls, array.shape, array.dtype) for cls, array in zip(classes, arguments, strict=True)]
        spec = flatten((arguments, {}), [])
        assert spec is not None
        if len({id(argument) for argument in arguments}) != len(arguments):
            return
        for candidate in reversed(self._candidates.get((spec, *keys, *range(len(arguments))), ())):
            specialization = candidate.specialization
            try:
                reads = [row.source(row.container, row.key) for row in specialization.arrays_read]
            except GONE:
                continue
            if all(type(array) is numpy.ndarray or array._node is None for array in reads):
                numbers = [numpy.zeros((), row.dtype) for row in specialization.scalars.inputs]
                run = specialization.gradients([*arguments, *map(raw_of, reads), *numbers], argnums)
                if run is not None:
                    self._gradients[argnums] = make_entry(specialization, spec, arguments, run=run)
                return


def _holds_never(arguments: Any, keywords: Any) -> Any:
    """Return that there is no specialization."""
    return MISS


def _key(leaf: Any, dynamic: bool = False) -> Any:
    """Return what tells leaves apart that need captures of their own."""
    if dynamic and is_dynamic(leaf):
        return type(leaf), "dynamic"
    if isinstance(leaf, (numpy.ndarray, Array)):
        buffer = leaf if isinstance(leaf, numpy.ndarray) else leaf._data
        return type(leaf), buffer.shape, buffer.dtype
    if isinstance(leaf, (float, complex, numpy.inexact)):
        return type(leaf), repr(leaf)
    if isinstance(leaf, CONSTANT_TYPES):
        return type(leaf), leaf
    return type(leaf), id(leaf)


def _kind(leaf: Any) -> _Kind:
    if isinstance(leaf, (numpy.ndarray, Array)):
        cls, shape, dtype = _key(leaf)
        return _Kind(cls, shape, dtype, None)
    return _Kind(type(leaf), None, None, leaf)


def _pattern(leaves: Sequence[Any]) -> list[int]:
    arrays = [id(leaf) for leaf in leaves if isinstance(leaf, (numpy.ndarray, Array))]
    return [arrays.index(key) for key in arrays]
