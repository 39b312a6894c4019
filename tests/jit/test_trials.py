"""Which is faster, what was captured or what was written: what a trial counts, and when it is over."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from minpy.jit import trial
from minpy.jit.trial import Candidate


class _Specialization:
    may_run_twice = True
    is_settled: bool | None = False


@pytest.fixture(autouse=True)
def _there_are_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial.trials, "enabled", True)


def _eager(monkeypatch: pytest.MonkeyPatch, *seconds: float) -> Callable[[], None]:
    """Return a function that takes so long at each call, as far as the trial can see."""
    moments: Iterator[float] = iter([moment for each in seconds for moment in (0.0, each)])
    monkeypatch.setattr(trial, "perf_counter", lambda: next(moments))
    return lambda: None


def test_the_call_that_compiles_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    specialization = _Specialization()
    candidate, eager = Candidate(None, specialization), _eager(monkeypatch, 2.0)
    candidate.note(0.001, eager)
    specialization.is_settled = True  # in this call
    candidate.note(60.0, eager)
    assert not candidate.is_decided
    assert not candidate.runs_eagerly
    candidate.note(1.0, eager)
    assert candidate.is_decided
    assert not candidate.runs_eagerly


def test_one_slow_call_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    specialization = _Specialization()
    specialization.is_settled = True
    candidate, eager = Candidate(None, specialization), _eager(monkeypatch, 2.0, 2.0)
    candidate.note(0.0, eager)  # which compiles it
    candidate.note(9.0, eager)  # the machine was busy
    assert not candidate.is_decided
    assert not candidate.runs_eagerly
    candidate.note(1.0, eager)
    assert candidate.is_decided


@pytest.mark.parametrize(("captured", "loses"), [(0.0010, False), (0.0021, False), (0.0023, True), (9.0, True)])
def test_what_is_slower_loses_after_three_calls(captured: float, loses: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    specialization = _Specialization()
    specialization.is_settled = True
    candidate, eager = Candidate(None, specialization), _eager(monkeypatch, 0.002, 0.002, 0.002)
    candidate.note(0.0, eager)  # which compiles it
    for _ in range(3):
        assert not candidate.runs_eagerly
        candidate.note(captured, eager)
    assert candidate.runs_eagerly == loses
    assert candidate.is_decided == (not loses)


def test_what_will_never_be_settled_is_not_timed() -> None:
    specialization = _Specialization()
    specialization.is_settled = None
    candidate = Candidate(None, specialization)
    candidate.note(1.0, lambda: pytest.fail("it ran twice"))
    assert candidate.is_decided
