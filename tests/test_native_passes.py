"""Passes: what they find, and that routines compute the same after them."""

from __future__ import annotations

import pytest
from random_routines import assert_same, random_inputs, random_routine

from minpy.graph.native import passes
from minpy.graph.native.evaluating import evaluate
from minpy.graph.native.fusing.checking import check
from minpy.graph.native.fusing.grouping import scheduled
from minpy.graph.native.verifying import verify


@pytest.mark.parametrize("mood", ["exact", "smooth"])
@pytest.mark.parametrize("seed", range(100))
def test_random_routines(seed: int, mood: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINPY_VERIFY", "1")
    routine = random_routine(seed, mood)
    text = str(routine)
    found = passes.optimized(routine)
    assert str(routine) == text
    verify(found, "all passes")
    inputs, again = random_inputs(routine, seed, mood), random_inputs(routine, seed, mood)
    assert_same(evaluate(found, again), evaluate(routine, inputs), mood)
    assert_same(again, inputs, mood)
    check(found, scheduled(found))
