"""Random numbers of NumPy and Python that are drawn while `hybrid_forward` is traced are noticed.

A graph holds what came out once. Generators that it can reach are compared before and after.
"""

from __future__ import annotations

import pickle
import random
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

    Attributes
    ----------
    found : str
        What was noticed: '' if nothing was.
    """

    def __init__(self, functions: Iterable[Callable[..., Any]], holders: Iterable[Any]) -> None:
        self.found = ""
        reached = _Reached()
        for function in functions:
            reached.follow(function)
        for holder in holders:
            for value in [*vars(holder).values()]:
                reached.look_at(value, 1)
        self._before = [(generator, _state(generator)) for generator in reached.generators.values()]
        self._global = numpy.random.get_state(), random.getstate()

    def __enter__(self) -> Draws:
        return self

    def __exit__(self, *_: Any) -> None:
        if pickle.dumps((numpy.random.get_state(), random.getstate())) != pickle.dumps(self._global):
            self._note("draws with numpy.random or random")
        for generator, state in self._before:
            if _state(generator) != state:
                self._note(f"draws with a {type(generator).__name__} of random numbers")

    def _note(self, what: str) -> None:
        self.found = self.found or what


class _Reached:
    """The generators that functions and values lead to."""

    def __init__(self) -> None:
        self.generators: dict[int, Any] = {}
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
            for part in [*(value.values() if type(value) is dict else value)][:_MOST]:
                self.look_at(part, depth + 1)
        elif not _is_ours(type(value).__module__) and isinstance(getattr(value, "__dict__", None), dict):
            self._seen.add(id(value))
            for part in [*vars(value).values()][:_MOST]:
                self.look_at(part, depth + 1)


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
