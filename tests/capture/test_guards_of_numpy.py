"""What compiled functions and blocks refer to is changed behind their back: answers are the function's as written."""

from __future__ import annotations

import functools
import itertools
import types
from typing import Any, NamedTuple

import numpy as np
import pytest
from compiling import both_kinds_of_program

import minpy as mx
from minpy import gluon
from minpy.compiling import CompileWarning

COMPILES = True
ROUNDS = 5

native = both_kinds_of_program(autouse=True)


def _require_live(function: Any, change: Any) -> None:
    compiled = mx.compile(function)
    x = np.arange(3.0)
    for _ in range(ROUNDS):
        for _ in range(2):
            np.testing.assert_allclose(compiled(x), function(x), rtol=1e-12)
        change()
    assert compiled.reason is None


def test_what_is_computed_of_arrays_of_numpy() -> None:
    weights = np.array([1.0, 4.0, 9.0])
    _require_live(lambda x: x * np.sqrt(weights) + weights[1] + weights[:1], lambda: weights.__imul__(4))


def test_what_changes_before_each_call_is_an_input() -> None:
    step = np.array([0.0])
    compiled = mx.compile(lambda x: x * np.exp(step))
    for _ in range(40):
        step += 0.1
        np.testing.assert_allclose(compiled(np.ones(3)), np.exp(step) * np.ones(3), rtol=1e-6)
    assert compiled.reason is None
    assert "1 specialization, 1 capture" in compiled.explain_retraces()


def test_texts_that_change_before_each_call_are_captured_eight_times() -> None:
    names = ["a"]
    compiled = mx.compile(lambda x: x * len(names[0]))
    for number in range(1, 40):
        names[0] = "a" * number
        np.testing.assert_array_equal(compiled(np.ones(3)), np.full(3, number))
    assert compiled.reason is None
    assert "8 captures" in compiled.explain_retraces()
    assert "`names[0]` was 'a', is 'aa'" in compiled.explain_retraces()


def test_a_large_array_of_numpy_and_one_that_is_not_contiguous() -> None:
    large = np.ones((40000, 3))
    part = large.T[:, ::7]
    _require_live(lambda x: x * large.sum() + part.mean(), lambda: large.__iadd__(1))


def test_members_of_objects() -> None:
    class Settings:
        factor = 2.0

        def __init__(self) -> None:
            self.scale, self.weights, self.inner = 1.0, np.ones(2), types.SimpleNamespace()

        @property
        def doubled(self) -> float:
            return self.hidden * 2

        hidden = 1.0

        def applied(self, x: Any) -> Any:
            return x * self.factor + self.weights[1]

    settings = Settings()

    def change() -> None:
        settings.scale += 1
        settings.weights += 1
        settings.hidden = settings.hidden + 3

    _require_live(lambda x: settings.applied(x) * settings.scale + settings.doubled, change)
    settings = Settings()
    changes = iter([lambda: setattr(settings, "factor", 5.0), lambda: setattr(Settings, "hidden", 7.0)] * ROUNDS)
    _require_live(lambda x: settings.applied(x) + settings.doubled, lambda: next(changes)())


def test_members_of_modules() -> None:
    module = types.ModuleType("settings_of_a_user")
    vars(module).update(scale=1.0, weights=np.ones(3))
    _require_live(
        lambda x: x * module.scale + module.weights.sum(),
        lambda: (setattr(module, "scale", module.scale + 1), module.weights.__iadd__(1)),
    )


def test_a_block_that_is_referred_to() -> None:
    class Scaled(gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.scale = 1.0

        def forward(self, x: Any) -> Any:
            return x * self.scale

    block = Scaled()
    compiled = mx.compile(lambda x: block(x) + 1)
    x = mx.np.arange(3.0)
    for scale in (1.0, 2.0, 3.0, 4.0):
        block.scale = scale
        for _ in range(2):
            np.testing.assert_array_equal(compiled(x).asnumpy(), np.arange(3.0) * scale + 1)


def test_an_object_and_an_array_that_a_block_holds() -> None:
    class Scaled(gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.settings = types.SimpleNamespace(scale=1.0)
            self.weights = np.ones(3, "float32")

        def forward(self, x: Any) -> Any:
            return x * self.settings.scale + self.weights.max()

    block = Scaled()
    block.hybridize()
    x = mx.np.arange(3.0)
    for scale in (1.0, 2.0, 3.0, 4.0):
        block.settings.scale = scale
        if scale == 3.0:
            block.weights += 1
        for _ in range(2):
            expected = np.arange(3.0) * scale + block.weights.max()
            np.testing.assert_array_equal(block(x).asnumpy(), expected)


class _Settings:
    shared = 2.0

    def __init__(self, k: float) -> None:
        self.k = k

    @staticmethod
    def scaled(x: Any) -> Any:
        return x * _SCALE[0]

    def times(self, x: Any) -> Any:
        return x * self.k


class _Pair(NamedTuple):
    a: float
    b: float


_SCALE = [2.0]
_settings = _Settings(2.0)
_pair: Any = _Pair(1.0, 2.0)
_members: Any = {1.0, 2.0}
_long = [float(number) for number in range(100)]
_inside = [_Settings(2.0)]


def _factor() -> float:
    return _SCALE[0]


def _with_default(x: Any, factors: Any = (2.0,)) -> Any:
    return x * factors[0]


_partial = functools.partial(_with_default, factors=[5.0])
_table = {"scaled": lambda x: x * _SCALE[0]}
_inner = mx.compile(lambda x: x * _SCALE[0])
_cached = functools.lru_cache(lambda: _SCALE[0])


_numbers = itertools.count(20.0)


def _rebind(name: str, make: Any) -> Any:
    return lambda: globals().__setitem__(name, make(next(_numbers)))


def _store(values: Any, key: Any) -> Any:
    return lambda: values.__setitem__(key, next(_numbers))


SURROUNDINGS: dict[str, tuple[Any, Any]] = {
    "a global bound to another object": (lambda x: x * _settings.k, _rebind("_settings", _Settings)),
    "a named tuple": (lambda x: x * _pair.a, _rebind("_pair", lambda number: _Pair(number, 2.0))),
    "a set": (lambda x: x * len(_members), lambda: _members.add(next(_numbers))),
    "an attribute of a class": (lambda x: x * _Settings.shared, lambda: setattr(_Settings, "shared", next(_numbers))),
    "a static method": (lambda x: _Settings.scaled(x), _store(_SCALE, 0)),
    "a partial": (lambda x: _partial(x), _store(_partial.keywords["factors"], 0)),
    "a bound method": (_Settings(2.0).times, None),
    "an inner compiled function": (lambda x: _inner(x), _store(_SCALE, 0)),
    "a default": (lambda x: _with_default(x), lambda: setattr(_with_default, "__defaults__", ((next(_numbers),),))),
    "a function in a dict": (lambda x: _table["scaled"](x), _store(_SCALE, 0)),
    "an element of a long list": (lambda x: x * _long[80], _store(_long, 80)),
    "an object in a list": (lambda x: x * _inside[0].k, lambda: setattr(_inside[0], "k", next(_numbers))),
    "a builtin that is hidden": (lambda x: abs(x - 1), _rebind("abs", lambda number: lambda x: x * number)),
}


@pytest.mark.parametrize("name", SURROUNDINGS)
def test_a_change_of_surroundings(name: str) -> None:
    function, change = SURROUNDINGS[name]
    compiled = mx.compile(function)
    x = np.arange(3.0)
    before = dict(globals())
    if change is None:
        change = lambda: setattr(function.__self__, "k", next(_numbers))
    try:
        for _ in range(ROUNDS):
            np.testing.assert_allclose(compiled(x), function(x), rtol=1e-12)
        old = function(x)
        change()
        assert (function(x) != old).any()
        for _ in range(ROUNDS):
            np.testing.assert_allclose(compiled(x), function(x), rtol=1e-12)
        assert compiled.reason is None
    finally:
        for key in ("_settings", "_pair"):
            globals()[key] = before[key]
        globals().pop("abs", None)


WRITTEN = {
    "an instance made inside": (
        lambda x: _Settings(2.0).times(x) + _factor(),
        _store(_SCALE, 0),
        "it makes or asks instances of the class _Settings",
    ),
    "a cached function": (
        lambda x: x * _cached(),
        lambda: (_store(_SCALE, 0)(), _cached.cache_clear()),
        "_cached is a functools._lru_cache_wrapper",
    ),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_what_is_not_known_to_stay_runs_as_written(name: str) -> None:
    function, change, reason = WRITTEN[name]
    compiled = mx.compile(function)
    x = np.arange(3.0)
    with pytest.warns(CompileWarning, match=rf"{reason}.*numpy.py:\d+"):
        compiled(x)
    for _ in range(3):
        old = function(x)
        np.testing.assert_array_equal(compiled(x), old)
        change()
        assert (function(x) != old).any()


def test_a_global_that_is_deleted() -> None:
    space: dict[str, Any] = {"nothing": None, "np": np}
    exec("def function(x):\n    return x * (2 if nothing is None else 3)", space)
    compiled = mx.compile(space["function"])
    for _ in range(ROUNDS):
        compiled(np.ones(2))
    del space["nothing"]
    with pytest.raises(NameError, match="nothing"):
        compiled(np.ones(2))


@pytest.mark.parametrize("how", ["global", "closure", "array", "default"])
def test_what_functions_refer_to_that_are_arguments(how: str) -> None:
    shift, table = 1.0, np.ones(3)

    def moved(x: Any, by: float = 1.0) -> Any:
        return x * (GIVEN if how == "global" else shift if how == "closure" else np.sqrt(table) + by)

    @mx.compile
    def call(function: Any, x: Any, parts: Any = None) -> Any:
        return function(x) if parts is None else parts["of"][0](x) + function(x)

    x = np.arange(3.0)
    for number in range(ROUNDS):
        for _ in range(3):
            np.testing.assert_allclose(call(moved, x), moved(x), rtol=1e-12)
            np.testing.assert_allclose(call(np.sin, x, {"of": [moved]}), moved(x) + np.sin(x), rtol=1e-12)
        shift = globals()["GIVEN"] = float(number)
        table *= 4
        if how == "default":
            moved.__defaults__ = (float(number),)


GIVEN = 1.0


def test_many_functions_that_are_arguments() -> None:
    call, x = mx.compile(lambda function, x: function(x)), np.arange(3.0)
    factors = [[float(number)] for number in range(120)]
    functions = [lambda x, factor=factor: x * factor[0] for factor in factors]
    for _ in range(2):
        for function, factor in zip(functions, factors, strict=True):
            np.testing.assert_array_equal(call(function, x), x * factor[0])
        for factor in factors:
            factor[0] += 1


class Scale:
    """Something whose attributes change."""

    factor = 1.0

    @classmethod
    @mx.compile
    def times(cls, x: Any) -> Any:
        return x * cls.factor


class Larger(Scale):
    """The same, with a value of its own."""

    factor = 100.0


def test_classes_that_are_arguments() -> None:
    x = np.arange(3.0)
    for number in range(ROUNDS):
        Scale.factor = float(number)
        for _ in range(2):
            np.testing.assert_array_equal(Scale.times(x), x * number)
            np.testing.assert_array_equal(Larger.times(x), x * 100)


class Slotted:
    """An object without a dict."""

    __slots__ = ("factor", "table")

    def __init__(self) -> None:
        self.factor, self.table = 1.0, np.ones(3)

    def times(self, x: Any) -> Any:
        return x * self.factor + self.table.sum()


def test_slots_of_objects() -> None:
    slotted = Slotted()
    _require_live(lambda x: slotted.times(x) * slotted.factor, lambda: setattr(slotted, "factor", slotted.factor + 1))
    _require_live(lambda x: slotted.times(x), lambda: slotted.table.__iadd__(1))
    _require_live(lambda x: x * np.sum(slotted.table), lambda: setattr(slotted, "table", slotted.table + 1))


def test_values_of_long_dicts() -> None:
    numbers = {f"number{place}": float(place) for place in range(200)}
    _require_live(
        lambda x: x * numbers["number100"], lambda: numbers.__setitem__("number100", numbers["number100"] + 1)
    )


def test_arrays_of_long_lists() -> None:
    arrays = [np.ones(3) for _ in range(100)]
    _require_live(lambda x: x * np.sqrt(arrays[70]) + arrays[99].sum(), lambda: arrays[99].__iadd__(1))


def test_objects_that_lie_deep() -> None:
    top = types.SimpleNamespace(leaf=1.0)
    lowest = top
    for _ in range(8):
        top = types.SimpleNamespace(leaf=1.0, below=top)
    _require_live(
        lambda x: x * top.below.below.below.below.below.below.below.below.leaf,
        lambda: setattr(lowest, "leaf", lowest.leaf + 1),
    )
