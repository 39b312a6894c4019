"""The ways in which a function is captured, each beside the same function as written: for tests of captures.

A *scenario* is a generator that is given a `Way`: it makes arguments by `way.array`, wraps functions by calling the
way, calls them, changes what they refer to, and yields all that can be seen from outside: results, errors, objects. It
is run twice, as written and captured, and what it yields has to be alike: see `require_alike` of `observing`.
"""

from __future__ import annotations

import collections
import contextlib
import fnmatch
import gc
import itertools
import textwrap
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pytest
from observing import picture, require_alike

import minpy as mx
from minpy import customop, gluon
from minpy.compiling import CompileWarning

__all__ = [
    "CALLS",
    "WAYS",
    "Owner",
    "Scenario",
    "Way",
    "cells",
    "namespace",
    "numbers",
    "outcome",
    "require_as_written",
    "require_written_runs",
    "scenarios",
    "tells_of_captures",
]

# A program is native code from the third call on.
CALLS = 4

# What chooses whether something runs captured, by module and name; and what lets all run captured that can.
_CHOICES = [
    ("minpy.jit.compiled_operators", "_MIN_SPEEDUP", 0.0),
    ("minpy.graph.allowance", "_FREE", 1_000_000),
    ("minpy.jit.trial", "trials.enabled", False),
]

Scenario = Callable[["Way"], Iterator[Any]]


class Way(NamedTuple):
    """One way to run a function: captured, or as written.

    Attributes
    ----------
    name : str
    wrap : callable
        Takes a function, returns what is called instead.
    array : callable
        Takes numbers, and a dtype, returns an array to call that with.
    is_captured : bool
    """

    name: str
    wrap: Callable[[Callable[..., Any]], Callable[..., Any]]
    array: Callable[..., Any]
    is_captured: bool

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return self.wrap(function)


def _as_written(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


def _block(is_hybridized: bool) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def wrap(function: Callable[..., Any]) -> Callable[..., Any]:
        class Net(gluon.HybridBlock):
            def forward(self, *arguments: Any, **keywords: Any) -> Any:
                return function(*arguments, **keywords)

        net = Net()
        if is_hybridized:
            net.hybridize()
        return net

    return wrap


def _operator(is_compiled: bool) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return lambda function: customop("numpy", compile=True)(function) if is_compiled else customop("numpy")(function)


def _numpys(values: Any, dtype: Any = None) -> Any:
    return np.array(values, dtype=dtype)


def _minpys(values: Any, dtype: Any = None) -> Any:
    return mx.np.array(values, dtype=dtype or np.asarray(values).dtype)


# As written, and captured.
WAYS = {
    "compiled": (
        Way("compiled", _as_written, _numpys, False),
        Way("compiled", mx.compile, _numpys, True),
    ),
    "compiled_arrays": (
        Way("compiled_arrays", _as_written, _minpys, False),
        Way("compiled_arrays", mx.compile, _minpys, True),
    ),
    "hybridized": (
        Way("hybridized", _block(False), _minpys, False),
        Way("hybridized", _block(True), _minpys, True),
    ),
    "alone": (
        Way("alone", _operator(False), _numpys, False),
        Way("alone", _operator(True), _numpys, True),
    ),
}


class Owner:
    """An object with a value, of which functions read."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:  # messages show no address
        return "<an owner>"


def numbers(count: int = 6, first: float = 0.5) -> Any:
    """Return numbers from `first` to `first` + 1."""
    return np.linspace(first, first + 1.0, count)


def scenarios() -> tuple[dict[str, Scenario], Callable[[Scenario], Scenario]]:
    """Return a table of scenarios, and a decorator that adds one under its name."""
    table: dict[str, Scenario] = {}

    def scenario(function: Scenario) -> Scenario:
        assert function.__name__ not in table
        table[function.__name__] = function
        return function

    return table, scenario


def cells(table: Mapping[str, Scenario], unsound: Mapping[str, str], ways: str) -> list[Any]:
    """Return parameters (way, name) for all scenarios, with those marked that are known to fail.

    Parameters
    ----------
    table : mapping
        The scenarios.
    unsound : mapping of str to str
        By the name of the way: the names of the scenarios that give something else than the function as written, or
        patterns of names (`add_*`).
    ways : str
        The names of the ways.
    """
    failing = set()
    for way, patterns in unsound.items():
        assert way in ways.split(), f"{way} is none of the ways"
        for pattern in patterns.split():
            names = fnmatch.filter(table, pattern)
            assert names, f"{way}: there is no {pattern}"
            failing |= {(way, name) for name in names}

    def parameters(way: str, name: str) -> Any:
        marks = [pytest.mark.xfail(reason=f"{way}: {name}: unlike the function as written", strict=True)]
        return pytest.param(way, name, marks=marks if (way, name) in failing else [])

    return [parameters(way, name) for way, name in itertools.product(ways.split(), table)]


def require_as_written(scenario: Scenario, way: str) -> list[str]:
    """Run a scenario as written, then captured, and require that both yield what is alike.

    The collector of garbage does not run meanwhile: what is seen must not depend on it.

    Returns
    -------
    list of str
        The warnings of the captured run that it runs as it is written.

    Raises
    ------
    AssertionError
        If what is yielded differs; the message says which step.
    """
    written, captured = WAYS[way]
    with warnings.catch_warnings(record=True) as caught, _surroundings():
        warnings.simplefilter("always")
        expected = [picture(value) for value in scenario(written)]
        steps = 0
        for steps, value in enumerate(scenario(captured), 1):
            assert steps <= len(expected), "more steps than as written"
            require_alike(picture(value), expected[steps - 1], f"step {steps}")
        assert steps == len(expected), "fewer steps than as written"
    return [str(warning.message) for warning in caught if tells_of_captures(warning)]


def tells_of_captures(warning: warnings.WarningMessage) -> bool:
    """Tell whether a warning says that something runs as it is written: no effect of the function's own."""
    return issubclass(warning.category, CompileWarning) or "as it is written" in str(warning.message)


def require_written_runs(table: Mapping[str, Scenario], ways: str) -> None:
    """Run all scenarios as written, so that those that are known to fail do so because of what is captured.

    Raises
    ------
    AssertionError
        If a scenario itself raises.
    """
    with warnings.catch_warnings(), _surroundings():
        warnings.simplefilter("ignore")
        for way, (name, scenario) in itertools.product(ways.split(), table.items()):
            try:
                collections.deque(scenario(WAYS[way][0]), maxlen=0)
            except Exception as error:
                raise AssertionError(f"{way}: {name}, as written: {type(error).__name__}: {error}") from error


@contextlib.contextmanager
def _surroundings() -> Iterator[None]:
    """Let operators that compile alone run what is compiled, and let the collector of garbage not run."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        with pytest.MonkeyPatch.context() as patched:
            for module, name, value in _CHOICES:
                with contextlib.suppress(ImportError):
                    patched.setattr(f"{module}.{name}", value)
            yield
    finally:
        if was_enabled:
            gc.enable()


def outcome(function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    """Return what a function returns, or the class and the arguments of the error that it raises."""
    try:
        return function(*arguments, **keywords)
    except Exception as error:
        return type(error).__name__, error.args


def namespace(source: str, **names: Any) -> dict[str, Any]:
    """Run source text in new globals, and return them.

    Parameters
    ----------
    source : str
        Statements, indented or not.
    **names
        Further globals.
    """
    names = {"np": np, "mx": mx, "__name__": "namespace_of_a_test", **names}
    exec(compile(textwrap.dedent(source), "<namespace of a test>", "exec"), names)
    return names
