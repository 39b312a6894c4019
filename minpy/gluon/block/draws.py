"""What differs from call to call (random numbers of NumPy and Python, the time) is noticed while a forward is traced.

A graph would hold what came out once. Generators that the forward can reach are compared before and after; calls of the
functions of C that give such values are seen by a profile function, where no other one is set.
"""

from __future__ import annotations

import datetime
import pickle
import random
import sys
import time
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy

__all__ = ["Draws"]

_GENERATORS: tuple[type, ...] = (
    numpy.random.Generator,
    numpy.random.RandomState,
    numpy.random.BitGenerator,
    random.Random,
)
_CLOCKS = frozenset(
    function
    for name in "time time_ns monotonic monotonic_ns perf_counter perf_counter_ns process_time process_time_ns".split()  # noqa: SIM905
    if (function := getattr(time, name, None)) is not None
)
_DEEPEST, _MOST = 3, 100
_OWN = "minpy"


class Draws:
    """A scope that notices what is drawn in it, by this thread.

    Parameters
    ----------
    functions : iterable of function
        What is called in it.
    holders : iterable of object
        Whose attributes it reads.
    calls : bool
        Whether calls are looked at, too, which takes time: for generators that are made in it, and clocks.

    Attributes
    ----------
    found : str
        What was noticed: '' if nothing was.
    is_random : bool
        Whether it was random numbers.
    """

    def __init__(self, functions: Iterable[Callable[..., Any]], holders: Iterable[Any], calls: bool) -> None:
        self.found = ""
        self.is_random = False
        reached = _Reached()
        for function in functions:
            reached.follow(function)
        for holder in holders:
            for value in [*vars(holder).values()]:
                reached.look_at(value, 1)
        # Where the clock may be asked: elsewhere it may be what runs when garbage is collected.
        self._spaces = reached.spaces
        self._before = [(one, _state(one)) for one in reached.generators.values()]
        self._global = numpy.random.get_state(), random.getstate()
        self._profiles = calls

    def __enter__(self) -> Draws:
        self._profiles = self._profiles and sys.getprofile() is None
        if self._profiles:
            sys.setprofile(self._seen)
        return self

    def __exit__(self, *_: Any) -> None:
        if self._profiles:
            sys.setprofile(None)
        if pickle.dumps((numpy.random.get_state(), random.getstate())) != pickle.dumps(self._global):
            self._note("draws with numpy.random or random", True)
        for one, state in self._before:
            if _state(one) != state:
                self._note(f"draws with a {type(one).__name__} of random numbers", True)

    def undo(self) -> None:
        """Let generators draw again what they have drawn."""
        numpy.random.set_state(self._global[0])
        random.setstate(self._global[1])
        for one, state in self._before:
            _restore(one, pickle.loads(state))

    def _note(self, what: str, is_random: bool) -> None:
        if is_random and not self.is_random:
            self.found, self.is_random = what, True
        elif not self.found:
            self.found = what

    def _seen(self, frame: types.FrameType, event: str, function: Any) -> None:
        if event != "c_call" or str(frame.f_globals.get("__name__", "")).partition(".")[0] == _OWN:
            return
        holder = getattr(function, "__self__", None)
        if holder is getattr(numpy.random.rand, "__self__", None) or holder is getattr(random.random, "__self__", None):
            return  # their states are compared
        if isinstance(holder, _GENERATORS) and not function.__name__.startswith("__"):
            self._note(f"draws with a {type(holder).__name__} of random numbers", True)
        elif function.__name__ in ("urandom", "getrandom"):
            self._note("draws random numbers of the system, or makes a generator that is seeded with them", True)
        elif id(frame.f_globals) in self._spaces and (function in _CLOCKS or _is_of_dates(holder, function)):
            self._note(f"asks for the time, with {function.__name__}()", False)


def _is_of_dates(holder: Any, function: Any) -> bool:
    """Tell whether a function is `datetime.now` or one of its kind."""
    return (
        isinstance(holder, type)
        and issubclass(holder, datetime.date)
        and function.__name__ in ("now", "utcnow", "today")
    )


class _Reached:
    """The generators that functions and values lead to."""

    def __init__(self) -> None:
        self.generators: dict[int, Any] = {}
        self.spaces: set[int] = set()  # the ids of the functions' globals
        self._seen: set[int] = set()

    def follow(self, function: Any, depth: int = 0) -> None:
        """Look at what a function's names stand for."""
        function = getattr(function, "__func__", function)
        if not isinstance(function, types.FunctionType) or id(function) in self._seen or len(self._seen) > _MOST:
            return
        self._seen.add(id(function))
        space = function.__globals__
        if str(space.get("__name__", "")).partition(".")[0] == _OWN:
            return
        self.spaces.add(id(space))
        for name in _names(function.__code__):
            if name in space:
                self.look_at(space[name], depth + 1)
        for cell in function.__closure__ or ():
            try:
                value = cell.cell_contents
            except ValueError:  # not set yet
                continue
            self.look_at(value, depth + 1)

    def look_at(self, value: Any, depth: int) -> None:
        """Look at a value, and at what it holds."""
        if isinstance(value, _GENERATORS):
            self.generators[id(value)] = value
        elif depth > _DEEPEST or isinstance(value, (type, types.ModuleType)) or id(value) in self._seen:
            return
        elif isinstance(value, (types.FunctionType, types.MethodType)):
            if isinstance(value, types.MethodType):
                self.look_at(value.__self__, depth + 1)
            self.follow(value, depth)
        elif type(value) in (list, tuple, dict):
            for one in [*(value.values() if type(value) is dict else value)][:_MOST]:
                self.look_at(one, depth + 1)
        elif not _is_ours(type(value).__module__) and isinstance(getattr(value, "__dict__", None), dict):
            self._seen.add(id(value))
            for one in [*vars(value).values()][:_MOST]:
                self.look_at(one, depth + 1)


def _is_ours(module: str) -> bool:
    """Tell whether a class is of those that hold no generators of users'."""
    return module.partition(".")[0] in (_OWN, "builtins", "numpy")


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for value in code.co_consts:
        if isinstance(value, types.CodeType):
            yield from _names(value)


def _state(generator: Any) -> bytes:
    if isinstance(generator, random.Random):
        try:
            return pickle.dumps(generator.getstate())
        except NotImplementedError:  # that of the system has none
            return pickle.dumps(None)
    if isinstance(generator, numpy.random.RandomState):
        return pickle.dumps(generator.get_state())
    bits = generator.bit_generator if isinstance(generator, numpy.random.Generator) else generator
    return pickle.dumps(bits.state)


def _restore(generator: Any, state: Any) -> None:
    if state is None:
        return
    if isinstance(generator, random.Random):
        generator.setstate(state)
    elif isinstance(generator, numpy.random.RandomState):
        generator.set_state(state)
    else:
        bits = generator.bit_generator if isinstance(generator, numpy.random.Generator) else generator
        bits.state = state
