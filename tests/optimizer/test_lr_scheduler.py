"""Learning-rate schedules beyond the numbers of `golden/training_updates_cases.py`: pickles, properties, bad input."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minpy import lr_scheduler
from minpy.core.errors import ArgumentError, ArgumentValueError
from minpy.lr_scheduler import CosineScheduler, FactorScheduler, LRScheduler, MultiFactorScheduler, PolyScheduler

MAKERS: dict[str, Callable[..., Any]] = {
    "factor": lambda **kw: FactorScheduler(5, 0.5, **kw),
    "multi": lambda **kw: MultiFactorScheduler([4, 9, 20], 0.5, **kw),
    "poly": lambda **kw: PolyScheduler(40, **kw),
    "cosine": lambda **kw: CosineScheduler(40, **kw),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@given(
    base=st.floats(0.01, 10),
    begin=st.floats(0, 0.01),
    warmup=st.integers(0, 30),
    mode=st.sampled_from(["linear", "constant"]),
)
def test_rates_rise_to_the_base_and_fall_from_there(make, base, begin, warmup, mode):
    schedule = make(base_lr=base, warmup_begin_lr=begin, warmup_steps=warmup, warmup_mode=mode)
    rates = [schedule(update) for update in range(60)]
    assert rates[:warmup] == sorted(rates[:warmup])
    assert rates[warmup:] == sorted(rates[warmup:], reverse=True)
    assert all(0 <= rate <= base for rate in rates)
    if warmup:
        assert rates[0] == begin


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_copies_go_on_where_the_schedule_was(make):
    schedule = make(base_lr=0.3)
    schedule(13)
    others = [copy.deepcopy(schedule), pickle.loads(pickle.dumps(schedule))]
    expected = [schedule(update) for update in range(14, 50)]
    for other in others:
        assert [other(update) for update in range(14, 50)] == expected


def test_a_warm_up_as_long_as_the_schedule_ends_at_the_final_rate():
    """MXNet divides by zero there."""
    schedule = PolyScheduler(5, base_lr=1, final_lr=0.25, warmup_steps=5)
    assert [schedule(update) for update in (0, 4, 5, 6)] == [0, 0.8, 0.25, 0.25]
    assert CosineScheduler(5, base_lr=1, final_lr=0.25, warmup_steps=5)(5) == 0.25


def test_changes_are_logged(caplog):
    with caplog.at_level("INFO"):
        FactorScheduler(2, 0.5, base_lr=1.0, stop_factor_lr=0.4)(5)
        MultiFactorScheduler([1], 0.5, base_lr=1.0)(2)
    assert [record.message for record in caplog.records] == [
        "update 5: the learning rate is 5.00000e-01",
        "update 5: the learning rate is 4.00000e-01, and stays",
        "update 2: the learning rate is 5.00000e-01",
    ]


def test_the_module_lists_its_schedules():
    assert dir(lr_scheduler) == sorted(lr_scheduler.__all__)
    with pytest.raises(AttributeError, match=r"minpy.lr_scheduler has no schedule 'CosinScheduler'. .*CosineScheduler"):
        lr_scheduler.CosinScheduler  # noqa: B018


BAD: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (
        lambda: LRScheduler(0.1, 4, 0.2),
        ArgumentValueError,
        ("LRScheduler: warmup_begin_lr=0.2 is above base_lr=0.1; a warm-up raises the learning rate to base_lr."),
    ),
    (lambda: LRScheduler("fast"), ArgumentError, "LRScheduler: base_lr is str 'fast'; expected a number."),
    (lambda: LRScheduler(0.1, -1), ArgumentValueError, "LRScheduler: warmup_steps is -1; expected 0 or more."),
    (
        lambda: PolyScheduler(9, warmup_steps=1.5),
        ArgumentError,
        "PolyScheduler: warmup_steps is float 1.5; expected an integer, a number of updates.",
    ),
    (
        lambda: LRScheduler(0.1, 4, 0.02, "exponential"),
        ArgumentValueError,
        "LRScheduler: warmup_mode is 'exponential'; expected 'linear' or 'constant'.",
    ),
    (
        lambda: LRScheduler(0.1, 4).get_warmup_lr(4),
        ArgumentValueError,
        "LRScheduler: get_warmup_lr(4): the warm-up ends after 4 updates. Call the schedule itself.",
    ),
    (lambda: LRScheduler()(1), NotImplementedError, "LRScheduler has no __call__(num_update): write one."),
    (lambda: FactorScheduler(0), ArgumentValueError, "FactorScheduler: step is 0; expected 1 update or more."),
    (
        lambda: FactorScheduler([3]),
        ArgumentError,
        "FactorScheduler: step is list of 1: [int 3]; expected an integer, a number of updates.",
    ),
    (
        lambda: FactorScheduler(1, 1.5),
        ArgumentValueError,
        "FactorScheduler: factor is 1.5; expected no more than 1, so that the learning rate falls.",
    ),
    (
        lambda: MultiFactorScheduler((3, 5)),
        ArgumentError,
        (
            "MultiFactorScheduler: step is tuple of 2: [int 3, int 5]; expected a list of numbers of "
            "updates. Make it a list: [3, 5]."
        ),
    ),
    (
        lambda: MultiFactorScheduler([3, 5, 5]),
        ArgumentValueError,
        "MultiFactorScheduler: step is [3, 5, 5]; expected increasing numbers, but 5 follows 5.",
    ),
    (
        lambda: MultiFactorScheduler([0]),
        ArgumentValueError,
        "MultiFactorScheduler: step[0] is 0; expected 1 update or more.",
    ),
    (
        lambda: MultiFactorScheduler([1, 2.5]),
        ArgumentError,
        "MultiFactorScheduler: step[1] is float 2.5; expected an integer, a number of updates.",
    ),
    (lambda: CosineScheduler(0), ArgumentValueError, "CosineScheduler: max_update is 0; expected 1 update or more."),
    (
        lambda: CosineScheduler(1.5),
        ArgumentError,
        "CosineScheduler: max_update is float 1.5; expected an integer, a number of updates.",
    ),
    (lambda: PolyScheduler(5, pwr="2"), ArgumentError, "PolyScheduler: pwr is str '2'; expected a number."),
]


@pytest.mark.parametrize(("call", "kind", "text"), BAD, ids=[text[:50] for _, _, text in BAD])
def test_bad_input(call, kind, text):
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == text
