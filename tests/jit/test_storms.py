"""Calls of ever new kinds: most of them rest, and one that rests costs a check, however many captures were in vain.

What they cost is counted here, in look-ups, captures and frames; `benchmarks/run_storms.py` takes the time.
"""

from __future__ import annotations

import functools
import gc
import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from frame_counts import counting

import minpy as mx
from minpy import compiling
from minpy.graph import allowance
from minpy.jit import budget as budgets
from minpy.jit.budget import Budget, budget_of
from minpy.jit.entry import MISS
from minpy.jit.specialized import Specialized

X = np.linspace(-1, 1, 6)


@pytest.fixture
def _without_credit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allowance, "_SHARE", -1.0)


@pytest.fixture
def looked_up(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return the calls that looked for a specialization."""
    calls: list[Any] = []
    call = Specialized.call

    def noting(jit: Any, *arguments: Any) -> Any:
        calls.append(arguments)
        return call(jit, *arguments)

    monkeypatch.setattr(Specialized, "call", noting)
    return calls


def _searches(budget: Budget, keys: Iterator[Any], count: int, is_known: bool = False) -> int:
    """Return how many of so many calls look for a specialization, where none holds."""
    searches = 0
    for key in keys:
        count -= 1
        if count < 0:
            break
        if budget.lookups_to_skip:
            budget.lookups_to_skip -= 1
            continue
        searches += 1
        assert not budget.allows(key, is_known)
    return searches


def _spent(captures: int = 8, seconds: float = 1.0) -> Budget:
    budget = Budget()
    for _ in range(captures):
        budget.charge(seconds)
    return budget


# -- what may be captured ----------------------------------------------------------------------------------------------


def test_ever_new_kinds_rest_ever_longer() -> None:
    budget = _spent()
    budget.note_use()
    assert _searches(budget, iter(range(100_000)), 1000) < 30
    assert budget.lookups_to_skip <= 256
    assert _searches(budget, iter(range(100_000, 200_000)), 10_000) < 50


def test_one_kind_for_which_nothing_ever_holds_rests_as_long() -> None:
    budget = _spent()
    budget.note_use()
    assert _searches(budget, iter([0] * 2000), 1000, is_known=True) < 30


def test_kinds_that_come_back_are_looked_at_often() -> None:
    budget = _spent()
    budget.note_use()
    _searches(budget, iter(range(200)), 200)
    kinds = iter([number % 40 for number in range(3000)])
    _searches(budget, kinds, 600)
    assert 2000 / 10 < _searches(budget, kinds, 2000) < 2000 / 8
    budget.eager_seconds = 1e9
    budget.lookups_to_skip = 0
    assert budget.allows(0, False)


def test_what_comes_back_is_not_trusted_after_captures_in_vain() -> None:
    budget = _spent()
    assert budget.unused_captures == 8
    assert _searches(budget, iter([number % 40 for number in range(2000)]), 1000) < 30


def test_use_ends_a_rest_that_was_long() -> None:
    budget = _spent()
    _searches(budget, iter(range(5000)), 5000)
    budget.note_use()
    assert budget.misses == budget.unused_captures == 0
    budget.lookups_to_skip = 0
    assert _searches(budget, iter(range(5000, 5016)), 16) == 16


def test_captures_in_vain_make_the_next_one_dearer() -> None:
    budget = _spent(8, 0.25)
    for _ in range(2):
        assert not budget.allows("key", False)
    budget.eager_seconds = 0.25 * 2**8 / allowance._SHARE - 1
    assert not budget.allows("key", False)
    budget.eager_seconds += 2
    assert budget.allows("key", False)
    budget.charge(0.25)
    assert not budget.allows("key", False)
    budget.note_use()
    assert budget.allows("key", False)


def test_prices_and_rests_stay_numbers() -> None:
    budget = _spent(3000)
    budget.misses = 10**9
    assert not budget.allows("key", False)
    assert budget.lookups_to_skip == 256


# -- functions ---------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("_without_credit")
def test_a_list_that_grows(looked_up: list[Any]) -> None:
    history: list[float] = []
    function = mx.compile(lambda x: x * len(history) + history[0])
    for number in range(600):
        history.append(1.0)
        np.testing.assert_array_equal(function(X), X * (number + 1) + 1.0)
    jit = function._specialized
    assert jit.history.count == 8
    assert jit.history.calls == 600
    assert len(looked_up) < 40
    assert jit.latest(None, None) is MISS  # contents are not compared while calls rest


@pytest.mark.usefixtures("_without_credit")
def test_a_call_that_rests_goes_through_few_frames() -> None:
    pytest.importorskip("llvmlite")
    count_frames = counting()

    history: list[float] = []
    function = mx.compile(lambda x: x * len(history))
    for _ in range(100):
        history.append(1.0)
        function(X)
    assert function._specialized.budget.lookups_to_skip > 20
    resting = count_frames.frames_of(lambda: function(X))
    made_anew = count_frames.frames_of(lambda: mx.compile(function.__wrapped__)(X))
    # The lambda, the call, no entry, the look at the budget, the call as written, and the function itself.
    assert len(resting) == 6, "\n".join(resting)
    assert len(made_anew) <= len(resting) + 3, "\n".join(made_anew)


@pytest.mark.usefixtures("_without_credit")
def test_functions_made_anew(monkeypatch: pytest.MonkeyPatch, looked_up: list[Any]) -> None:
    prepared: list[Any] = []

    class Counted(Specialized):
        def __init__(self, *arguments: Any) -> None:
            prepared.append(arguments)
            super().__init__(*arguments)

    monkeypatch.setattr(compiling, "Specialized", Counted)
    for number in range(600):
        function = mx.compile(lambda x, number=number: x + number)
        np.testing.assert_array_equal(function(X), X + number)
    assert len(prepared) == len(looked_up) < 40
    budget = budget_of(function.__wrapped__)
    assert budget.count == 8
    with pytest.raises(mx.MXNetError, match="its calls ran as it is written so far"):
        function.explain()
    assert function.explain_retraces() == "<lambda>: 0 specializations, 0 captures, 0 ms"


@pytest.mark.usefixtures("_without_credit")
def test_functions_made_anew_that_rest_leave_nothing_to_collect() -> None:
    def call() -> None:
        mx.compile(lambda x: x + 1)(X)

    for _ in range(100):
        call()
    gc.collect()
    gc.disable()
    try:
        call()
        assert gc.collect() == 0
    finally:
        gc.enable()


@pytest.mark.usefixtures("_without_credit")
def test_functions_given_anew(looked_up: list[Any]) -> None:
    apply = mx.compile(lambda function, x: function(x) + 1)
    for number in range(600):
        np.testing.assert_array_equal(apply(lambda x, number=number: x * number, X), X * number + 1)
    assert apply._specialized.history.count == 8
    assert len(looked_up) < 40


def test_one_that_is_gone_is_not_taken_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allowance, "_FREE", 0)
    for _ in range(50):  # at the same address, mostly
        mx.compile(lambda x: x + 1)(X)
    budget = next(iter(budgets._budgets.values()))
    assert len(budgets._budgets) == 1
    assert {*budget._seen.values()} == {1}
    assert budget.count == 0


def test_code_that_is_made_anew_shares_its_budget_and_goes() -> None:
    def made() -> Any:
        names: dict[str, Any] = {}
        exec("def function(x):\n    return x + 1", names)
        return names["function"]

    first, second = made(), made()
    assert first.__code__ is not second.__code__
    assert budget_of(first) is budget_of(second) is budget_of(first)
    assert budget_of(len) is not budget_of(len)
    keys = {id(first.__code__), id(second.__code__)}
    assert keys <= {*budgets._by_id}
    del first, second
    gc.collect()
    assert not keys & {*budgets._by_id}


# -- what is found in the table ----------------------------------------------------------------------------------------


def test_errors_of_calls_of_kinds_that_alternate_are_the_functions_own() -> None:
    seen: list[str] = []

    def function(m: Any, positions: Any) -> None:
        m += 1
        m += np.take(m, positions)

    compiled = mx.compile(function)
    for length in (3, 4, 3, 4, 3, 4):
        m, expected = np.arange(float(length)), np.arange(float(length))
        compiled(m, np.arange(length))
        function(expected, np.arange(length))
        np.testing.assert_array_equal(m, expected)
        other = 7 - length  # of the other kind, which was not the last one
        m, expected = np.arange(float(other)), np.arange(float(other))
        for each, target in ((compiled, m), (function, expected)):
            with pytest.raises(IndexError) as caught:
                each(target, np.full(other, 9))
            seen.append(str(caught.value))
        np.testing.assert_array_equal(m, expected)
    assert len({*seen[::2], *seen[1::2]}) == 2


# -- names -------------------------------------------------------------------------------------------------------------


def test_a_compiled_function_has_what_the_function_has() -> None:
    def scaled(x: Any, factor: float = 2.0) -> Any:
        """Return a multiple."""
        return x * factor

    scaled.unit = "m"  # type: ignore[attr-defined]
    compiled = mx.compile(scaled)
    for name in functools.WRAPPER_ASSIGNMENTS:
        assert getattr(compiled, name) == getattr(scaled, name)
    assert compiled.__wrapped__ is scaled
    assert compiled.unit == "m"
    assert inspect.signature(compiled) == inspect.signature(scaled)
    assert inspect.getdoc(compiled) == "Return a multiple."
    compiled.unit = "km"
    assert (compiled.unit, scaled.unit) == ("km", "m")  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="'CompiledFunction' object has no attribute 'metre'"):
        _ = compiled.metre
    around = functools.wraps(compiled)(lambda x: compiled(x))
    assert around.__name__ == "scaled"
    nameless = mx.compile(functools.partial(scaled, factor=3.0))
    assert not hasattr(nameless, "__name__")
    np.testing.assert_array_equal(nameless(X), X * 3)


def test_a_compiled_function_around_another_has_captures_of_its_own() -> None:
    inner = mx.compile(lambda x: x * 2)
    np.testing.assert_array_equal(inner(X), X * 2)
    shifted = functools.wraps(inner)(lambda x: inner(x) + 1)
    for outer, shift in ((mx.compile(inner), 0), (mx.compile(shifted), 1)):
        np.testing.assert_array_equal(outer(X), X * 2 + shift)
        assert outer._specialized is not inner._specialized
